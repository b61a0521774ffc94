"""What a fleet consists of: KWOK with its nodes, the processes that stand for kubelets and Kafka, and quorums."""

import contextlib
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench.fleet.control_plane import ADDRESS, ControlPlane, listed, process
from bench.fleet.world import CONTROL_PORT, LABEL, PROXY_PORT, STORAGE_CLASS
from harness.shell import Json, kubectl, run, wait_until

HERE: Final = Path(__file__).resolve().parent
PER_NAMESPACE: Final = 50
AT_ONCE: Final = 40
"""So many quorums begin at once: the fleet is made before anything is measured."""
_TOLD_EVERY_S: Final = 10.0
_PER_NODE: Final = 170
"""Pods of a Kubernetes node: it has 254 addresses, and an address is not used again at once."""
_SPARE_NODES: Final = 3
_NODE_TIMEOUT_S: Final = 90.0


def log(text: str) -> None:
    """One line of progress."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def namespace_of(number: int) -> str:
    """The namespace of a quorum."""
    return f"fleet-{number // PER_NAMESPACE:03d}"


def name_of(number: int) -> str:
    """The name of a quorum, which no other one of the fleet has."""
    return f"q{number:04d}"


def quorum(namespace: str, name: str, *, tls: bool = False) -> Json:
    """A quorum of three controllers on KWOK's nodes."""
    listeners = {} if tls else {"listeners": [{"name": "CONTROLLER", "port": 9093, "protocol": "PLAINTEXT"}]}
    controllers = {
        "replicas": 3,
        "storage": {"size": "1Gi", "storageClassName": STORAGE_CLASS},
        **listeners,
    }
    return {
        "apiVersion": "kafkaquorum.io/v1alpha1",
        "kind": "KafkaQuorum",
        "metadata": {"name": name, "namespace": namespace, "labels": {LABEL: "true"}},
        "spec": {"kafka": {"version": "4.4.0"}, "controllers": controllers},
    }


@contextlib.contextmanager
def staged(plane: ControlPlane, quorums: int) -> Iterator[None]:
    """Nodes for this many quorums, and the processes that stand for them, while this lasts."""
    logs = plane.folder
    with contextlib.ExitStack() as processes:
        proxy = ("kubectl", "proxy", f"--port={PROXY_PORT}", "--disable-filter=true")
        processes.enter_context(process(proxy, logs / "proxy.log"))
        _storage_class()
        processes.enter_context(process(_kwok(), logs / "kwok.log"))
        _make_nodes(-(-3 * (quorums + 2) // _PER_NODE) + _SPARE_NODES)
        processes.enter_context(process((sys.executable, "-m", "bench.fleet.world"), logs / "world.log"))
        wait_until("the world answers", state, _NODE_TIMEOUT_S, 0.5)
        yield


def _kwok() -> tuple[str, ...]:
    return (
        *("kwok", "--config", str(HERE / "stages.yaml"), "--manage-nodes-with-label-selector", f"{LABEL}=true"),
        *("--node-ip", ADDRESS, "--node-lease-duration-seconds", "120", "--server-address", "127.0.0.1:8972"),
    )


def _storage_class() -> None:
    body = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": STORAGE_CLASS, "labels": {LABEL: "true"}},
        "provisioner": "kafkaquorum.io/fleet",
        "volumeBindingMode": "Immediate",
    }
    kubectl("apply", "-f", "-", stdin=json.dumps(body))


def _make_nodes(count: int) -> None:
    """Create nodes, and wait until each is ready and has a network for its pods."""
    size = {"cpu": "1000", "memory": "4Ti", "pods": "220", "ephemeral-storage": "4Ti"}
    items = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"fleet-{number:03d}", "labels": {LABEL: "true"}},
            "status": {"allocatable": size, "capacity": size},
        }
        for number in range(count)
    ]
    kubectl("create", "-f", "-", stdin=json.dumps(listed(items)))

    def ready() -> bool:
        found: list[Json] = json.loads(kubectl("get", "nodes", "-l", LABEL, "-o", "json"))["items"]
        rows = ((row["spec"].get("podCIDR"), row["status"].get("conditions") or []) for row in found)
        return count == sum(bool(network) and any(map(_is_ready, conditions)) for network, conditions in rows)

    wait_until(f"{count} nodes of KWOK are ready", ready, _NODE_TIMEOUT_S, 1.0)


def _is_ready(condition: Json) -> bool:
    return bool(condition["type"] == "Ready" and condition["status"] == "True")


def apply(numbers: range, *, tls: bool = False, timeout_s: float) -> float:
    """Apply these quorums, at most `AT_ONCE` that are not ready yet, until all are: seconds. Shows progress."""
    apply_namespaces(sorted({namespace_of(number) for number in numbers}))
    began_s, told_s, applied = time.monotonic(), 0.0, numbers.start
    while True:
        found = state()
        ready, passed_s = int(found.get("ready", 0)), time.monotonic() - began_s
        if ready >= numbers.stop:
            return round(passed_s, 1)
        if passed_s > timeout_s:
            raise AssertionError(f"after {timeout_s:.0f} s not {numbers.stop} quorums are ready: {found}")
        upto = min(numbers.stop, ready + AT_ONCE)
        if upto > applied:
            items = [quorum(namespace_of(number), name_of(number), tls=tls) for number in range(applied, upto)]
            kubectl("create", "-f", "-", stdin=json.dumps(listed(items)))
            applied = upto
        if passed_s - told_s > _TOLD_EVERY_S:
            told_s = passed_s
            log(f"{ready} of {numbers.stop} quorums are ready, {applied} applied")
        time.sleep(0.5)


def apply_namespaces(spaces: list[str]) -> None:
    """Create those of these namespaces that are missing."""
    items = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in spaces]
    kubectl("apply", "-f", "-", stdin=json.dumps(listed(items)))


def state(since_s: float = 0.0) -> Json:
    """What the world reports; see `world.World.state`."""
    address = f"http://127.0.0.1:{CONTROL_PORT}/state?since={since_s}"
    code, output, _ = run("curl", "-s", "-m", "20", address)
    return dict(json.loads(output)) if not code else {}
