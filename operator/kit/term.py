"""Since when this operator looks at resources: all of them are looked at in the first minute of a term of its lease.

What follows such a look after an interval is spread over it in the minutes after that, because the same load would come
again at the end of each interval otherwise.
"""

from typing import Final

from kit.clock import Clock

STARTING_S: Final = 120.0
"""For how long after its beginning a term has resources that it sees for the first time, in seconds."""


class Term:
    """The present term of the lease, or the time since the start of the process."""

    def __init__(self, clock: Clock) -> None:
        """It begins now."""
        self._clock, self._began_s = clock, clock.monotonic()

    def begin(self) -> None:
        """Another term begins: every resource is looked at as after a start."""
        self._began_s = self._clock.monotonic()

    def began_lately(self, at_s: float) -> bool:
        """Whether a look at this time (monotonic seconds) is one of the first."""
        return at_s - self._began_s < STARTING_S
