"""The table about a resource's own status: specs that are refused, and a requested restart."""

from typing import Final

from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.faults import Loss
from tests.simulation.runs.scenarios.scenes import (
    Act,
    Scenario,
    Turn,
    applies,
    is_ready,
    loses,
    resource,
    says,
    spec_of,
)

from kafka_quorum.kind import QUORUMS
from kafka_quorum.model.names import RESTARTED_AT
from kit.kube.protocol import PODS

_THREE: Final = spec_of("InitialControllers", 3)
_RIGHT: Final = {"kafka": {"version": "4.4.0"}}
_WRONG: Final = {"kafka": {"version": "4.x"}}
_AT: Final = "2026-01-31T12:00:00Z"


def annotates(value: str | None) -> Act:
    """Ask for a restart, or remove the annotation."""

    def act(world: World, _: Checker) -> None:
        world.kube.patch(QUORUMS, NAMESPACE, NAME, {"metadata": {"annotations": {RESTARTED_AT: value}}})

    return act


def is_restarted(world: World) -> bool:
    """Once the resource is Ready and reports that every controller has had its restart."""
    status = (resource(world) or {}).get("status") or {}
    return is_ready(world) and status.get("restartedAt") == _AT


def ends_restarted_once(world: World) -> str:
    """Every pod was created for this restart, also after the annotation was removed."""
    stamps = [pod["metadata"]["annotations"].get(RESTARTED_AT) for pod in world.kube.all(PODS)]
    return "" if stamps == [_AT] * 3 else f"the pods were made for {stamps}"


STATUS_SCENARIOS: Final = (
    Scenario(
        name="spec-never-valid",
        spec={**_THREE, **_WRONG},
        turns=(Turn(what="corrects the release", when=says("Ready", "InvalidSpec"), act=applies(_RIGHT)),),
    ),
    Scenario(
        name="spec-invalid-while-a-disk-is-lost",
        spec=_THREE,
        turns=(
            Turn(what="loses a disk", when=is_ready, act=loses(Loss.EMPTIED_AND_KILLED, "follower")),
            Turn(what="breaks the spec", when=says("Ready", "ControllersMissing"), act=applies(_WRONG)),
            Turn(what="corrects the spec", when=says("Ready", "InvalidSpec"), act=applies(_RIGHT)),
        ),
    ),
    Scenario(
        name="restarted-by-annotation",
        spec=_THREE,
        turns=(
            Turn(what="asks for a restart", when=is_ready, act=annotates(_AT)),
            Turn(what="removes the annotation", when=is_restarted, act=annotates(None)),
        ),
        holds=ends_restarted_once,
    ),
)
