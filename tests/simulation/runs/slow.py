"""Calls that arrive late, or have their effect late: by chance in storms, and a chosen call in a scenario.

The rules judge a request when it is sent. The operator cannot limit how long a call takes after that. Slow calls before
a request make the look behind it older, and the operator must notice that.
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
    """A late call of a scenario: the first `verb` once `when` holds takes this number of `steps` to arrive.

    With `what` it is the first one for this type of object. `meanwhile` happens as these steps begin: the operator's
    answers up to then do not show it. If it is `unanswered`, the operator sees a failure at once, and continues.
    """

    verb: str
    when: Callable[[World], bool]
    steps: int
    meanwhile: Callable[[World], None]
    what: str = ""
    unanswered: bool = False

    def fits(self, call: Call, world: World) -> bool:
        """Whether this call is the one."""
        return self.verb == call.verb and self.what in ("", call.what) and self.when(world)


class Hitches:
    """The remaining hitches of one run."""

    def __init__(self, hitches: tuple[Hitch, ...], world: World) -> None:
        """Wait for the calls."""
        self._left, self._world = list(hitches), world

    @property
    def left(self) -> bool:
        """Whether a hitch is still to come."""
        return bool(self._left)

    def strike(self, call: Call) -> int | None:
        """Delay a call, if the next hitch is for it; returns after how many steps an unanswered one has its effect."""
        found = next((one for one in self._left if one.fits(call, self._world)), None)
        if found is None:
            return None
        self._left.remove(found)
        found.meanwhile(self._world)
        if found.unanswered:
            return found.steps
        for _ in range(found.steps):
            self._world.step()
        return None


class Slowness:
    """Late calls in a storm: each is some seconds late, while all else continues."""

    def __init__(self, seed: object) -> None:
        """Draw how often a call is late; the storm's own sequence stays the same."""
        self._draw = random.Random(f"slow {seed}")
        self.chance = self._draw.choice(_CHANCES)
        self._held: list[tuple[float, Turn]] = []
        self.count = 0

    def holds(self, turn: Turn, now_s: float) -> bool:
        """Whether this call is late; if so, it is kept until its time."""
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
        """Every call that is still kept: all are released at once."""
        found = [turn for _, turn in self._held]
        self._held = []
        return found

    def end(self) -> None:
        """From now on every call arrives at once."""
        self.chance = 0.0

    @property
    def waits(self) -> bool:
        """Whether a task still waits for a kept call."""
        return any(not turn.done() for _, turn in self._held)
