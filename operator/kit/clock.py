"""The two clocks of the outside world: the time of day for stamps, and one that never goes back."""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Wall-clock time for stamps, monotonic time for ages."""

    def now(self) -> datetime:
        """The present time, in UTC."""

    def monotonic(self) -> float:
        """Seconds that never go backwards."""


class SystemClock:
    """The machine's clocks."""

    def now(self) -> datetime:
        """The present time, in UTC."""
        return datetime.now(tz=UTC)

    def monotonic(self) -> float:
        """Seconds that never go backwards."""
        return time.monotonic()
