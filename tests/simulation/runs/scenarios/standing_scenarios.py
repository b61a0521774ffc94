"""The tables about standing still: rights that are missing for a while, and a program that undoes what is done."""

from functools import partial
from typing import Final

from tests.simulation.model.kubernetes.kube_model import Written
from tests.simulation.model.place import NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.scenarios.scenes import Scenario, Turn, condition, is_ready, spec_of

from kafka_quorum.status.cannot_look import REASON
from kit.kube.protocol import BUDGETS, SERVICES

_UNDOES_STEPS: Final = 120
_WRITES_MAX: Final = 20
"""A minute of pauses that double up to half a minute has place for about ten."""


def _refuses(world: World, _: Checker) -> None:
    world.refused.add(BUDGETS.plural)


def _grants(world: World, _: Checker) -> None:
    world.refused.clear()


def says_cannot_look(world: World) -> bool:
    """The status claims nothing that only a look can know."""
    ready, degraded = condition(world, "Ready"), condition(world, "Degraded")
    return ready.get("status") == "Unknown" and degraded.get("reason") == REASON


def _undoes(world: World, _: Checker) -> None:
    """A program changes the service back, half a second after each write of the operator."""
    until = world.steps + _UNDOES_STEPS

    def undo(name: str) -> None:
        if world.steps < until:
            world.kube.patch(SERVICES, NAMESPACE, name, {"spec": {"publishNotReadyAddresses": False}})

    def watch(written: Written) -> None:
        if written.key[0] == SERVICES.plural and written.by_operator:
            world.later(1, partial(undo, written.key[2]))

    world.kube.watchers.append(watch)
    for item in world.kube.list(SERVICES, NAMESPACE, {}):
        undo(item["metadata"]["name"])


def _few_writes(world: World) -> str:
    writes = sum(one.key[0] == SERVICES.plural and one.by_operator for one in world.kube.writes)
    return "" if writes <= _WRITES_MAX else f"the operator wrote the service {writes} times"


_THREE: Final = spec_of("InitialControllers", 3)
STANDING: Final = (
    Scenario(
        name="rights-removed",
        spec=_THREE,
        turns=(
            Turn(what="a right is removed", when=is_ready, act=_refuses),
            Turn(what="it is granted again", when=says_cannot_look, act=_grants),
        ),
    ),
    Scenario(
        name="undone-again-and-again",
        spec=_THREE,
        turns=(Turn(what="a program undoes the service", when=is_ready, act=_undoes),),
        holds=_few_writes,
    ),
)
