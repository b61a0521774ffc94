"""Scenarios of a lost majority: the disks are read, a person approves the plan, a survivor starts, the others join."""

from collections.abc import Callable
from typing import Final

from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.accidents import happen
from tests.simulation.runs.faults import FINAL_LOSSES, Accident, Loss
from tests.simulation.runs.scenarios.scenes import Act, Scenario, When, applies, is_ready, resource, spec_of, turn

from kafka_quorum.kind import QUORUMS
from kit.kube.protocol import CLAIMS, PODS, Json

_THREE: Final = spec_of("InitialControllers", 3)
_FIVE: Final = spec_of("InitialControllers", 5)
_LATE_STEPS: Final = 400


def _loses(loss: Loss, *node_ids: int) -> Act:
    """These controllers lose their disks, all at once."""

    def act(world: World, _: Checker) -> None:
        for node_id in node_ids:
            happen(world, Accident(step=0, loss=loss, node_id=node_id))

    return act


def _recovery(world: World) -> Json:
    found: Json = ((resource(world) or {}).get("status") or {}).get("recovery") or {}
    return found


def _says(field: str, value: str) -> When:
    """Once `status.recovery` has this."""
    return lambda world: _recovery(world).get(field) == value


def _asks(**more: object) -> Act:
    """A person has the disks read."""
    return applies({"recovery": {"inspect": True, **more}})


def _approves(world: World, checker: Checker) -> None:
    """A person approves the plan that the status shows, and whatever it says is lost."""
    plan = _recovery(world)["plan"]
    applies({"recovery": {"plan": plan, "acceptLoss": True}})(world, checker)


def _is_proposed(world: World) -> bool:
    return _recovery(world).get("stage") == "Proposed" and "plan" in _recovery(world)


def _is_recovered(world: World) -> bool:
    return is_ready(world) and _recovery(world).get("stage") == "Recovered"


def _releases(world: World, _: Checker) -> None:
    """A person releases what the recovery kept."""
    epoch = str(_recovery(world)["epoch"])
    annotations = {"kafkaquorum.io/release-recovery": epoch}
    body = {"metadata": {"annotations": annotations}, "spec": {"recovery": {"inspect": False, "plan": ""}}}
    world.kube.patch(QUORUMS, NAMESPACE, NAME, body)


def _is_released(world: World) -> bool:
    """Once no claim of before is left."""
    names = [claim["metadata"]["name"] for claim in world.kube.all(CLAIMS)]
    return is_ready(world) and not any("-copy-" in name for name in names)


def _joined(count: int, survivor: int) -> Callable[[World], str]:
    """Every voter runs on a disk of this recovery, and none but the survivor on its first one."""

    def holds(world: World) -> str:
        leader = next((one for one in world.kraft.processes if one.leads), None)
        if leader is None:
            return "there is no leader"
        marks = {one.disk.recovery for one in world.kraft.processes}
        if marks != {1}:
            return f"Kafka runs on disks of recoveries {sorted(marks)}"
        generations = {
            int(pod["metadata"]["labels"]["kafkaquorum.io/node-id"]): pod["metadata"]["name"].rsplit("-g", 1)[1]
            for pod in world.kube.all(PODS)
            if "kafkaquorum.io/node-id" in pod["metadata"]["labels"]
        }
        wrong = {node: g for node, g in generations.items() if g == "1" and node != survivor}
        return (
            f"generations {wrong}" if wrong else "" if len(leader.voters) == count else f"{len(leader.voters)} voters"
        )

    return holds


RECOVERIES: Final = (
    Scenario(
        name="majority-lost-3",
        spec=_THREE,
        turns=(
            turn("loses two disks", is_ready, _loses(Loss.CLAIM_DELETED, 3001, 3002)),
            turn("has them read", lambda world: not is_ready(world), _asks()),
            turn("approves", _is_proposed, _approves),
            turn("releases", _is_recovered, _releases),
        ),
        until=_is_released,
        holds=_joined(3, 3000),
        bound=_LATE_STEPS,
        exhaustive=True,
        long=True,
        spares=FINAL_LOSSES,
    ),
    Scenario(
        name="majority-lost-5",
        spec=_FIVE,
        turns=(
            turn("loses three disks", is_ready, _loses(Loss.VOLUME_LOST, 3001, 3002, 3003)),
            turn("has them read", lambda world: not is_ready(world), _asks()),
            turn("approves", _is_proposed, _approves),
        ),
        until=_is_recovered,
        bound=_LATE_STEPS,
    ),
    Scenario(
        name="majority-lost-after-changes",
        spec=spec_of("Standalone", 3),
        turns=(
            turn("loses two disks", is_ready, _loses(Loss.CLAIM_DELETED, 3001, 3002)),
            turn("has them read", lambda world: not is_ready(world), _asks()),
            turn("approves", _is_proposed, _approves),
        ),
        until=_is_recovered,
        holds=_joined(3, 3000),
        bound=_LATE_STEPS,
    ),
    Scenario(
        name="majority-returns-while-approved",
        spec=_THREE,
        turns=(
            turn("loses two machines", is_ready, _loses(Loss.NODE_OFF, 3001, 3002)),
            turn("gives them up", lambda world: not is_ready(world), _asks(without=[3001, 3002])),
            turn("approves", _is_proposed, _approves),
        ),
        until=is_ready,
        bound=_LATE_STEPS,
    ),
    Scenario(
        name="majority-returns",
        spec=_THREE,
        turns=(
            turn("loses power", is_ready, _loses(Loss.NODE_OFF, 3001, 3002)),
            turn("has them read", lambda world: not is_ready(world), _asks()),
        ),
        until=is_ready,
        bound=_LATE_STEPS,
    ),
)
"""Each without a fault; the single faults beside them are those of every scenario."""
