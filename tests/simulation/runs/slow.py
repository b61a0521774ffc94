"""Calls that take their time before they have an effect: in storms by chance, in a scenario one that it chooses.

The rules judge a request as it is sent. What a call takes after that is nothing that the operator could bound; what the
calls before it took makes the look older that the request was decided on, and that the operator must notice.
"""

import random
from asyncio import Future
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from tests.simulation.model.world import World
from tests.simulation.runs.faults import Call

Turn: TypeAlias = Future[None]

_CHANCES: Final = (0.0, 0.0, 0.01, 0.04)
_SECONDS: Final = (1.0, 2.0, 3.0, 5.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hitch:
    """A call of a scenario that arrives late: the first `verb` once `when` holds takes so many `steps` to arrive.

    `meanwhile` happens as these steps begin: it is what the answers that the operator has by then do not tell.
    """

    verb: str
    when: Callable[[World], bool]
    steps: int
    meanwhile: Callable[[World], None]


class Hitches:
    """The hitches of one run that are still to come."""

    def __init__(self, hitches: tuple[Hitch, ...], world: World) -> None:
        """Wait for the calls."""
        self._left, self._world = list(hitches), world

    @property
    def left(self) -> bool:
        """Whether one of them has not come yet."""
        return bool(self._left)

    def strike(self, call: Call) -> None:
        """Hold a call up, if it is the one that the next hitch is for."""
        found = next((one for one in self._left if one.verb == call.verb and one.when(self._world)), None)
        if found is None:
            return
        self._left.remove(found)
        found.meanwhile(self._world)
        for _ in range(found.steps):
            self._world.step()


class Slowness:
    """Of a storm: calls that arrive late, each by some seconds, while everything else goes on."""

    def __init__(self, seed: int) -> None:
        """Draw how often that is so; the storm's own sequence is left as it is."""
        self._draw = random.Random(f"slow {seed}")
        self.chance = self._draw.choice(_CHANCES)
        self._held: list[tuple[float, Turn]] = []
        self.count = 0

    def holds(self, turn: Turn, now_s: float) -> bool:
        """Whether this call is one of them; then it is kept until its time has come."""
        if self._draw.random() >= self.chance:
            return False
        self.count += 1
        self._held.append((now_s + self._draw.choice(_SECONDS), turn))
        return True

    def due(self, now_s: float) -> list[Turn]:
        """The calls whose time has come."""
        found = [turn for at_s, turn in self._held if at_s <= now_s]
        self._held = [entry for entry in self._held if entry[0] > now_s and not entry[1].done()]
        return found

    def all(self) -> list[Turn]:
        """Every call that is still held, which is let go at once."""
        found = [turn for _, turn in self._held]
        self._held = []
        return found

    def end(self) -> None:
        """From now on every call arrives at once."""
        self.chance = 0.0

    @property
    def waits(self) -> bool:
        """Whether a call is held that somebody still waits for."""
        return any(not turn.done() for _, turn in self._held)
