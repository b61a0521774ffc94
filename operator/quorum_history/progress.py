"""Progress for people: a bar on a terminal, a line per step elsewhere, always on standard error."""

import sys
import time
from types import TracebackType
from typing import Self

_WIDTH = 30
_EVERY_S = 0.2


class Progress:
    """Steps towards `total`, or just steps if their number is unknown."""

    def __init__(self, title: str, total: int | None = None) -> None:
        """Show nothing before the first step."""
        self.title, self.total, self.done, self._shown_at = title, total, 0, 0.0
        self._terminal = sys.stderr.isatty()

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the last state on the screen."""
        if self._terminal and self.done:
            sys.stderr.write("\n")

    def step(self, name: object = "", number: int = 1) -> None:
        """One more is done, or several."""
        self.done += number
        now = time.monotonic()
        last = self.done == self.total
        if not self._terminal:
            if last or self.total is None:
                sys.stderr.write(f"{self.title}: {self.done} {name}\n")
        elif last or now - self._shown_at > _EVERY_S:
            self._shown_at = now
            sys.stderr.write(
                f"\r{self.title}: {self._bar()} {self.done}{f'/{self.total}' if self.total else ''} {name}\x1b[K"
            )
        sys.stderr.flush()

    def _bar(self) -> str:
        if not self.total:
            return ""
        filled = _WIDTH * min(self.done, self.total) // self.total
        return f"[{'#' * filled}{' ' * (_WIDTH - filled)}]"
