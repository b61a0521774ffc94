"""Racks: the test-bed's workers get a zone each, as in a cluster over three zones."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from harness.shell import get, items, kubectl

ZONE: Final = "topology.kubernetes.io/zone"
_CONTROL_PLANE: Final = "node-role.kubernetes.io/control-plane"


def workers() -> list[str]:
    """The names of the workers, sorted."""
    rows = (row["metadata"] for row in items("default", "nodes"))
    return sorted(row["name"] for row in rows if _CONTROL_PLANE not in row["labels"])


@contextmanager
def zoned() -> Iterator[dict[str, str]]:
    """While this lasts each worker is in a zone of its own; yields the zone of each."""
    found = {name: f"zone-{number}" for number, name in enumerate(workers())}
    for name, zone in found.items():
        kubectl("label", "node", name, f"{ZONE}={zone}", "--overwrite")
    try:
        yield found
    finally:
        for name in found:
            kubectl("label", "node", name, f"{ZONE}-")


def zone_of(node: str) -> str:
    """The zone of a Kubernetes node; empty without one."""
    return str(get("default", "node", node)["metadata"]["labels"].get(ZONE, ""))
