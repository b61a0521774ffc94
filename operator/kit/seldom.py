"""Lines of the log that a lasting trouble would repeat at every try: they are written now and then."""

from dataclasses import dataclass
from typing import Final

SILENCE_S: Final = 600.0


@dataclass(slots=True)
class Seldom:
    """Allows a line at once, and then at most each `SILENCE_S`."""

    _last_s: float | None = None

    def is_due(self, now_s: float) -> bool:
        """Whether a line is to be written at this moment, in monotonic seconds; a yes counts as written."""
        due = self._last_s is None or now_s - self._last_s >= SILENCE_S
        if due:
            self._last_s = now_s
        return due
