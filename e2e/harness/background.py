"""Work that a thread repeats while a block of a scenario runs."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self


@dataclass(slots=True)
class Background:
    """Does `work` every `pause_s` until the block ends. An error ends the work, and is raised at that end."""

    work: Callable[[], None]
    pause_s: float
    end_s: float
    """How long the present work may take at the end of the block (AssertionError after that)."""
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _error: BaseException | None = None

    def __enter__(self) -> Self:
        """Begin."""
        self._thread = threading.Thread(target=self._repeat, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End after the present work. An error of the block itself comes first."""
        self._ended.set()
        if self._thread is None:
            return
        self._thread.join(self.end_s)
        if error is not None:
            return
        if self._error is not None:
            raise self._error
        assert not self._thread.is_alive(), f"the work in the background did not end within {self.end_s:g} s"

    def _repeat(self) -> None:
        while not self._ended.wait(self.pause_s):
            try:
                self.work()
            except BaseException as error:  # noqa: BLE001 - raised where the block ends
                self._error = error
                return
