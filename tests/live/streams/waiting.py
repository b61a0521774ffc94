"""Waiting for a condition with a deadline, without an event loop: the processes do the work, and tests only look."""

import time
from collections.abc import Callable
from typing import TypeVar

from tests.live.waiting import DEADLINE_S, NeverHappenedError

T = TypeVar("T")
_PAUSE_S = 0.05


def until(what: str, look: Callable[[], T | None], *, deadline_s: float = DEADLINE_S, pause_s: float = _PAUSE_S) -> T:
    """The first result of `look` that is not None (NeverHappenedError)."""
    end_s = time.monotonic() + deadline_s
    while True:
        seen = look()
        if seen is not None:
            return seen
        if time.monotonic() > end_s:
            raise NeverHappenedError(f"{what}: not within {deadline_s:g} s")
        time.sleep(pause_s)
