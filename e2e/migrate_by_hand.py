"""Migrate a filled cluster from ZooKeeper to KRaft by hand, and print figures: what the operator's migration replaces.

`python3 e2e/testbed exec -- .venv/bin/python e2e/migrate_by_hand.py` with `PYTHONPATH=operator:e2e`. It makes the
namespace and deletes it. It ends with 1 if a record was lost, or if the metadata differs afterwards.
"""

import argparse
import json
import sys
import time

from harness import clients
from harness.by_hand_migration import DUAL_WRITTEN, Controllers, migrate
from harness.shell import kubectl, run, succeed
from harness.zookeeper import VERSION
from scenarios.zookeeper_world import zookeeper_world
from testbed.config import SOURCE


def main() -> None:
    """Make the world, migrate it, compare."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--namespace", default="migration-by-hand")
    arguments.add_argument("--topics", type=int, default=220)
    chosen = arguments.parse_args()
    succeed(sys.executable, str(SOURCE), "base-images", "--kafka", VERSION, timeout_s=1200)
    succeed(sys.executable, str(SOURCE), "load", f"testbed/kafka:{VERSION}", timeout_s=300)
    labels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
    metadata = {"name": chosen.namespace, "labels": labels}
    kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}))
    try:
        ended = _migrate(chosen.namespace, chosen.topics)
    finally:
        run("kubectl", "delete", "namespace", chosen.namespace, "--wait=false")
    sys.exit(ended)


def _migrate(namespace: str, topics: int) -> int:
    """The whole run; 1 if anything is different or lost."""
    with zookeeper_world(namespace, clients.image(), topics) as world:
        print(f"{world.filled}\n{world.before}", flush=True)
        controllers = Controllers(namespace=namespace, connect=world.ensemble.connect, cluster_id=world.cluster_id)
        began_s = time.monotonic()
        migrate(controllers, world.brokers, world.ensemble, world.users)
        print(f"migrated in {time.monotonic() - began_s:.0f} s")
        different = world.differences((DUAL_WRITTEN,))
        print("differences:", *(different or ["none"]), sep="\n  ")
        print(f"a SCRAM user sees {len(world.visible())} topics, {len(world.readable)} before")
        offline, verdict = world.users.offline(), world.users.finish()
        print(f"offline: {offline or 'never'}", *world.users.gaps, sep="\n")
        return int(bool(different or verdict.faults or offline or world.visible() != world.readable))


if __name__ == "__main__":
    main()
