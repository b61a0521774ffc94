"""A clock for tests."""

from datetime import UTC, datetime, timedelta
from typing import Final

START: Final = datetime(2026, 1, 1, tzinfo=UTC)


class MovingClock:
    """A clock that moves when the test says, by `seconds`: wall time and monotonic time, from different beginnings."""

    def __init__(self, seconds: float = 0.0, *, start: datetime = START, zero_s: float = 0.0) -> None:
        """Begin at `start`, and at `zero_s` of monotonic time, `seconds` ago."""
        self.seconds = seconds
        self._start, self._zero_s = start, zero_s

    def now(self) -> datetime:
        """Wall time."""
        return self._start + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        """Seconds of no beginning that matters."""
        return self._zero_s + self.seconds
