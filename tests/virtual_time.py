"""An event loop whose time passes at once when nothing is left to do: a test of minutes takes milliseconds.

Only for tests without sockets, threads and processes, because this loop never waits for them.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

from tests.simulation.model.clock import InlineLoop

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):
    """Does not wait, but lets the loop's time pass."""

    passed_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready now; if nothing is, the timeout passes."""
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "nothing will ever happen again"
            self.passed_s += max(timeout, 0.0)
        return ready


class VirtualTimeLoop(InlineLoop):
    """A loop with its own time."""

    def __init__(self) -> None:
        """Starts at a fixed time."""
        self.selector = _Selector()
        super().__init__(self.selector)

    def time(self) -> float:
        """Seconds of this loop."""
        return 1000.0 + self.selector.passed_s


def run(made: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine in virtual time, and cancels what is left after it."""
    loop = VirtualTimeLoop()
    try:
        return loop.run_until_complete(made)
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
