"""The last pass over each quorum, as a subscriber of passes: what questions are answered from. In memory only."""

from dataclasses import dataclass, replace
from datetime import datetime

from kafka_quorum.model.observed import Observed
from kafka_quorum.report import Decided
from kit.clock import Clock
from kit.key import ObjectKey
from kit.report.report import PassReport
from kit.text import WORDS_MAX_CHARS, clean


@dataclass(frozen=True, slots=True, kw_only=True)
class LastPass:
    """The last pass that decided something, the time of its look, and why the pass after it ended early, if it did."""

    decided: Decided
    at: datetime
    error: str = ""


class LastPasses:
    """Remembers one pass for each quorum. All of it may be lost at any time: the next pass brings it again."""

    def __init__(self, clock: Clock) -> None:
        """Nothing was seen yet."""
        self._clock = clock
        self._last: dict[ObjectKey, LastPass] = {}

    def of(self, key: ObjectKey) -> LastPass | None:
        """The last pass over this quorum; None if this process has seen none."""
        return self._last.get(key)

    def clear(self) -> None:
        """Forget all: another operator may have acted meanwhile."""
        self._last.clear()

    async def take(self, report: PassReport[Observed]) -> None:
        """Remember a pass; of one that ended before it decided, only why."""
        error = "" if report.error is None else clean(str(report.error), max_chars=WORDS_MAX_CHARS)
        if isinstance(report.decided, Decided):
            at = report.seen_at or self._clock.now()
            self._last[report.key] = LastPass(decided=report.decided, at=at, error=error)
        elif error and (last := self._last.get(report.key)) is not None:
            self._last[report.key] = replace(last, error=error)

    def forget(self, key: ObjectKey) -> None:
        """The quorum is gone."""
        self._last.pop(key, None)
