"""Scenarios of a lost majority in which something comes back, stays away for good, or is lost in the middle."""

from typing import Final

from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.faults import FINAL_LOSSES, Loss
from tests.simulation.runs.scenarios.recovery_scenarios import (
    TWO_LOST_AND_APPROVED,
    approves,
    asks,
    is_proposed,
    is_recovered,
    joined,
    loses,
    recovery_of,
    says,
    untouched,
)
from tests.simulation.runs.scenarios.scenes import (
    Act,
    Scenario,
    When,
    annotates,
    applies,
    is_ready,
    spec_of,
    turn,
)

from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.names import HOLD
from kit.kube.protocol import CLAIMS, PODS, Json

_STEPS: Final = 900
_LAG_STEPS: Final = 30


def _node_of(world: World, node_id: int) -> str:
    """The Kubernetes node of a controller's pod."""
    pods = (pod for pod in world.kube.all(PODS) if pod["metadata"]["labels"].get("kafkaquorum.io/node-id"))
    (name,) = (
        pod["spec"]["nodeName"] for pod in pods if pod["metadata"]["labels"]["kafkaquorum.io/node-id"] == str(node_id)
    )
    return str(name)


def _cuts_off(world: World, _: Checker) -> None:
    """Controller 3000 is cut off from the others, which go on."""
    world.kraft.cut.add(_node_of(world, 3000))


def _has_lagged(world: World) -> bool:
    """Once the others have records that 3000 does not have."""
    ends = {one.key.node_id: one.disk.end for one in world.kraft.processes}
    return max(ends.values()) - ends[NodeID(3000)] > _LAG_STEPS // 2


def _off(*node_ids: int, gone: tuple[int, ...] = ()) -> Act:
    """These machines lose their power, these disks are gone, and 3000 is reachable again."""

    def act(world: World, checker: Checker) -> None:
        for node_id in node_ids:
            world.switch_off(_node_of(world, node_id))
        loses(Loss.CLAIM_DELETED, *gone)(world, checker)
        world.kraft.cut.clear()

    return act


def _on(world: World, _: Checker) -> None:
    """Every machine has power again."""
    for name, machine in world.machines.by_name.items():
        if not machine.alive:
            world.switch_on(name)


def _forces(world: World, _: Checker) -> None:
    """A person deletes by force what cannot terminate."""
    for pod in world.kube.all(PODS):
        if "deletionTimestamp" in pod["metadata"]:
            world.kube.remove(PODS, NAMESPACE, pod["metadata"]["name"])


def _cannot_stop(world: World) -> bool:
    """Once the recovery says that a pod of a controller cannot terminate."""
    return recovery_of(world).get("stage") == "Stop" and "terminate" in str(recovery_of(world).get("message"))


def _machines_off(world: World, _: Checker) -> None:
    """The machines of two controllers lose their power, and never get it back."""
    for pod in world.kube.all(PODS):
        if pod["metadata"]["labels"].get("kafkaquorum.io/node-id") in ("3001", "3002"):
            world.switch_off(pod["spec"]["nodeName"])


def _newcomer_has_no_record(world: World) -> bool:
    """Once the new disk of 3001 is formatted, before it has fetched anything."""
    disks = (volume for volume in world.volumes.by_claim.values() if "3001-g2" in volume.claim)
    return any(volume.disk.meta is not None and volume.disk.end == 0 for volume in disks)


def _tells(stage: str, text: str) -> When:
    """Once an open recovery waits in this stage, with this in its message."""
    return lambda world: recovery_of(world).get("stage") == stage and text in recovery_of(world).get("message", "")


def _has_no_leader(world: World) -> bool:
    return not is_ready(world) and not any(one.leads for one in world.kraft.processes)


def _loses_the_survivor(world: World, _: Checker) -> None:
    """The claim of the disk that the quorum is to continue with is deleted, and not its copy."""
    world.kube.remove(CLAIMS, NAMESPACE, f"{NAME}-3000-g1")


def _asks_for_the_copy(world: World, checker: Checker) -> None:
    """A person lists the copy that the recovery made as a seed."""
    (copy,) = (claim for claim in world.kube.all(CLAIMS) if "-copy-" in claim["metadata"]["name"])
    seed = {"claimName": copy["metadata"]["name"], "path": "kraft"}
    applies({"recovery": {"inspect": True, "plan": "", "seeds": [seed]}})(world, checker)


def _second_ended(world: World) -> bool:
    return is_recovered(world) and recovery_of(world).get("epoch") == 2


_LAGGING: Final = tuple(
    Scenario(
        name=f"lagging-survivor-{stage.lower()}",
        spec=spec_of("InitialControllers", 3),
        turns=(
            turn("cuts 3000 off", is_ready, _cuts_off),
            turn("loses two machines", _has_lagged, _off(3001, 3002)),
            turn("gives them up", lambda world: not is_ready(world), asks(without=[3001, 3002])),
            turn("approves", is_proposed, approves),
            turn("deletes by force", _cannot_stop, _forces),
            turn("gets them back", says("stage", stage), _on),
        ),
        until=is_ready,
        holds=untouched,
        bound=_STEPS,
    )
    for stage in ("Stop", "Copy")
)

_TAKEN_BACK_WITH_A_FAULT: Final[Json] = {"recovery": {"plan": ""}, "controllers": {"config": {"node.id": "7"}}}
_CORRECTED: Final[Json] = {"controllers": {"config": {"node.id": None}}}

RETURNS: Final = (
    *_LAGGING,
    Scenario(
        name="held-in-a-recovery",
        spec=spec_of("InitialControllers", 3),
        turns=(
            *TWO_LOST_AND_APPROVED,
            turn("holds two", says("stage", "Copy"), annotates(HOLD, "3001,3002")),
            turn("ends the hold", _tells("Copy", HOLD), annotates(HOLD, None)),
        ),
        until=is_recovered,
        holds=joined(3, 3000),
        bound=_STEPS,
    ),
    Scenario(
        name="taken-back-in-an-invalid-spec",
        spec=spec_of("InitialControllers", 3),
        turns=(
            *TWO_LOST_AND_APPROVED,
            turn("takes it back, with a fault", says("stage", "Copy"), applies(_TAKEN_BACK_WITH_A_FAULT)),
            turn("corrects the fault", _tells("Copy", "the spec is not valid"), applies(_CORRECTED)),
        ),
        until=is_proposed,
        holds=untouched,
        bound=_STEPS,
    ),
    Scenario(
        name="machines-off-for-good",
        spec=spec_of("InitialControllers", 3),
        turns=(
            turn("loses two machines", is_ready, _machines_off),
            turn("gives them up", lambda world: not is_ready(world), asks(without=[3001, 3002])),
            turn("approves", is_proposed, approves),
        ),
        until=is_recovered,
        holds=joined(3, 3000),
        bound=_STEPS,
        exhaustive=True,
        long=True,
        spares=FINAL_LOSSES,
    ),
    Scenario(
        name="newcomer-without-records",
        spec=spec_of("InitialControllers", 3),
        turns=(
            turn("loses a disk", is_ready, loses(Loss.CLAIM_DELETED, 3001)),
            turn("loses another one", _newcomer_has_no_record, loses(Loss.CLAIM_DELETED, 3002)),
            turn("has them read", _has_no_leader, asks(without=[3001])),
            turn("approves", is_proposed, approves),
        ),
        until=is_recovered,
        bound=_STEPS,
    ),
    Scenario(
        name="survivor-is-lost",
        spec=spec_of("InitialControllers", 3),
        turns=(
            *TWO_LOST_AND_APPROVED,
            turn("loses the survivor", says("stage", "Rewrite"), _loses_the_survivor),
            turn("lists the copy", says("stage", "Inspecting"), _asks_for_the_copy),
            turn("approves again", is_proposed, approves),
        ),
        until=_second_ended,
        bound=_STEPS,
    ),
)
