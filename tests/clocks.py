"""A clock for tests."""

from datetime import UTC, datetime, timedelta
from typing import Final

START: Final = datetime(2026, 1, 1, tzinfo=UTC)


class MovingClock:
    """A clock that the test moves by `seconds`: wall time and monotonic time, with different starts."""

    def __init__(self, seconds: float = 0.0, *, start: datetime = START, zero_s: float = 0.0) -> None:
        """Starts at `start`, and at `zero_s` of monotonic time, `seconds` ago."""
        self.seconds = seconds
        self._start, self._zero_s = start, zero_s

    def now(self) -> datetime:
        """Wall time."""
        return self._start + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        """Monotonic seconds; their start has no meaning."""
        return self._zero_s + self.seconds
