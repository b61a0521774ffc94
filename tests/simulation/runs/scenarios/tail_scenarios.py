"""The tables about leaders that lost a tail of their log: they miss voter changes, and lead again.

What is written below the end of a lost tail is never read by that process (`model/kafka/voter_history.py`). The first
leader is cut off just before a controller is added, and writes on. Its successor is killed as soon as that controller
is not requested any more. Then the first one leads again. It does not show the new voter, which its log lists.
"""

from collections.abc import Callable
from typing import Final

from tests.simulation.model.kafka.process import Process
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.accidents import happen
from tests.simulation.runs.faults import Accident, Loss
from tests.simulation.runs.scenarios.scenes import Scenario, applies, is_ready, spec_of, turn

_CUT_STEPS: Final = 12
_ADDED: Final = 3003
_THREE: Final = spec_of("InitialControllers", 3)
_FOUR: Final = spec_of("InitialControllers", 4)
_ANOTHER: Final = spec_of("InitialControllers", 4, controllers={"nodeIDs": [3000, 3001, 3002, 3004]})


def _leader(world: World) -> Process | None:
    leaders = (one for one in world.kraft.processes if one.leads)
    return max(leaders, key=lambda one: one.disk.epoch, default=None)


def _fetches(world: World) -> bool:
    """Once the new controller fetches: the operator is about to add it."""
    leader = _leader(world)
    return leader is not None and any(key.node_id == _ADDED for key in leader.rows)


def _cut_off(more: int) -> Callable[[World, Checker], None]:
    """The leader has no connection to the others for some seconds, and writes so many more records than they do."""

    def act(world: World, _: Checker) -> None:
        leader, kraft = _leader(world), world.kraft
        assert leader is not None
        kraft.cut.add(leader.node)
        world.later(_CUT_STEPS, lambda: kraft.cut.discard(leader.node))
        for _each in range(more):
            kraft.append(leader, "of a request")

    return act


def _is_added(world: World) -> bool:
    """Once the controller is a voter, and the first leader is back, and follows."""
    leader = _leader(world)
    if leader is None or world.kraft.cut or leader.high_watermark < leader.disk.end - 1:
        return False
    return any(key.node_id == _ADDED for key in leader.disk.voter_set)


def _asks_and_kills(spec: dict[str, object]) -> Callable[[World, Checker], None]:
    """Another spec, and the death of the leader."""

    def act(world: World, checker: Checker) -> None:
        applies(spec)(world, checker)
        leader = _leader(world)
        assert leader is not None
        happen(world, Accident(step=0, loss=Loss.PROCESS, node_id=leader.meta.node_id))

    return act


def _scenario(name: str, more: int, spec: dict[str, object]) -> Scenario:
    return Scenario(
        name=name,
        spec=_THREE,
        turns=(
            turn("a controller is requested", is_ready, applies(_FOUR)),
            turn("the leader is cut off", _fetches, _cut_off(more)),
            turn("another spec, and the leader is killed", _is_added, _asks_and_kills(spec)),
        ),
    )


TAILS: Final = (
    _scenario("lost-tail-and-one-fewer", 12, _THREE),
    _scenario("long-lost-tail-and-another", 40, _ANOTHER),
)
"""In the first one the lost tail is as long as a busy leader's; in the second one no wait is long enough for it."""
