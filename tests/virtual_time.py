"""An event loop whose time passes at once when nothing is left to do: a test of minutes takes milliseconds.

For tests without sockets, threads and processes only: what those would bring, this loop never waits for.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):
    """Does not wait: it lets the loop's time pass instead."""

    passed_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready now; else so much time has passed."""
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "nothing will ever happen again"
            self.passed_s += max(timeout, 0.0)
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A loop with a time of its own."""

    def __init__(self) -> None:
        """Begin at some moment."""
        self.selector = _Selector()
        super().__init__(self.selector)

    def time(self) -> float:
        """Seconds of this loop."""
        return 1000.0 + self.selector.passed_s


def run(made: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in virtual time, and nothing after it."""
    loop = VirtualTimeLoop()
    try:
        return loop.run_until_complete(made)
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
