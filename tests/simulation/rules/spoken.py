"""The request of a resource and its operator's report, read as a person would read them."""

from typing import Any

from tests.simulation.model.kubernetes.kube_model import seen
from tests.simulation.model.world import World

from kafka_quorum.kind import QUORUMS
from kit.kube.protocol import Json


def resource_of(world: World, quorum: str) -> Json:
    """The resource of this name; empty if it is gone."""
    return next((body for body in world.kube.all(QUORUMS) if body["metadata"]["name"] == quorum), {})


def changed_meanwhile(world: World, quorum: str) -> bool:
    """Whether the spec has changed since the operator's last report, or is gone."""
    body = resource_of(world, quorum)
    told = (body.get("status") or {}).get("observedGeneration")
    return not body or bool(told != body["metadata"]["generation"])


def spec_changed_s(world: World, quorum: str) -> float:
    """When the spec got its present generation, in simulated seconds; -1 if the resource is gone."""
    for written in reversed(world.kube.writes):
        if (written.key[0], written.key[2]) == (QUORUMS.plural, quorum):
            after, before = (_generation(raw) for raw in (written.after, written.before))
            if after != before:
                return -1.0 if after is None else written.at_s
    return -1.0


def _generation(raw: bytes | None) -> int | None:
    body = seen(raw)
    return None if body is None else body["metadata"]["generation"]


def asked(world: World, quorum: str, *path: str) -> Any:  # noqa: ANN401 - JSON
    """A field of the spec; None if it is not set."""
    found: Any = resource_of(world, quorum).get("spec")
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def operation_of(world: World, quorum: str) -> str:
    """The type of the open operation; empty if there is none."""
    operation = (resource_of(world, quorum).get("status") or {}).get("operation") or {}
    return str(operation.get("type") or "")
