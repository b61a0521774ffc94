"""Actions that are done, and planned again at once: something undoes them, or other values are stored. Pure.

An action counts as repeated if it has the same words as one that was done a moment ago. The versions of its objects do
not matter, because the action itself may have changed them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Protocol

FREE: Final = 2
"""An action may be repeated this often without a pause: what was done twice may have been undone by chance."""
_FIRST_S: Final = 0.5
_LAST_S: Final = 30.0
_AT_ONCE_S: Final = 5.0
"""An action counts as the same one for this long after its pause."""


class Outcome(Protocol):
    """The result of one action."""

    @property
    def done(self) -> bool:
        """Whether it was done."""

    @property
    def message(self) -> str:
        """The action in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """The most repeated action of a pass: how often it was repeated in a row, in words, and the pause that follows."""

    times: int
    words: str
    pause_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Done:
    """How often an action was repeated in a row, and until when it counts (monotonic seconds)."""

    times: int
    until_s: float


@dataclass(slots=True)
class Repeats:
    """The actions of one resource that were done lately."""

    _lately: dict[str, _Done] = field(default_factory=dict)

    def note(self, outcomes: Iterable[Outcome], now_s: float) -> Repeated | None:
        """Count what a pass did at this moment (monotonic seconds); None if nothing was repeated too often."""
        self._lately = {words: done for words, done in self._lately.items() if now_s < done.until_s}
        worst: Repeated | None = None
        for words in sorted({outcome.message for outcome in outcomes if outcome.done}):
            before = self._lately.get(words)
            times = 0 if before is None else before.times + 1
            pause_s = _pause_s(times)
            self._lately[words] = _Done(times=times, until_s=now_s + _AT_ONCE_S + 2 * pause_s)
            if pause_s and (worst is None or times > worst.times):
                worst = Repeated(times=times, words=words, pause_s=pause_s)
        return worst


def _pause_s(times: int) -> float:
    over = times - FREE
    return 0.0 if over <= 0 else min(_FIRST_S * 2.0 ** min(over - 1, 10), _LAST_S)
