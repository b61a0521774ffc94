"""Scenarios of a lost majority whose survivor lags behind: what comes back has more records, and must count."""

from typing import Final

from tests.simulation.model.place import NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.faults import Loss
from tests.simulation.runs.scenarios.recovery_scenarios import (
    approves,
    asks,
    is_proposed,
    loses,
    recovery_of,
    says,
    untouched,
)
from tests.simulation.runs.scenarios.scenes import (
    Act,
    Scenario,
    is_ready,
    spec_of,
    turn,
)

from kafka_quorum.model.ids import NodeID
from kit.kube.protocol import PODS

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


RETURNS: Final = tuple(
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
