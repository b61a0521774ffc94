"""What a resource asks for and what its operator has told of it, read as a person would read them."""

from typing import Any

from tests.simulation.model.world import World

from kafka_quorum.kind import QUORUMS
from kit.kube.protocol import Json


def resource_of(world: World, quorum: str) -> Json:
    """The resource of this name; empty if it is gone."""
    return next((body for body in world.kube.all(QUORUMS) if body["metadata"]["name"] == quorum), {})


def changed_meanwhile(world: World, quorum: str) -> bool:
    """Whether the spec is another one by now than the operator has told of, or gone."""
    body = resource_of(world, quorum)
    told = (body.get("status") or {}).get("observedGeneration")
    return not body or bool(told != body["metadata"]["generation"])


def asked(world: World, quorum: str, *path: str) -> Any:  # noqa: ANN401 - JSON
    """A field of the spec; None where it is not given."""
    found: Any = resource_of(world, quorum).get("spec")
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def operation_of(world: World, quorum: str) -> str:
    """The type of the operation that is open; empty if none is."""
    operation = (resource_of(world, quorum).get("status") or {}).get("operation") or {}
    return str(operation.get("type") or "")
