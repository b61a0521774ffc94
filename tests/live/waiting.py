"""Waiting for a condition with a deadline; the error has the last observation."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from kafka_quorum.errors import KafkaError

T = TypeVar("T")

DEADLINE_S = 60.0
"""Generous: a server starts in two seconds on an idle machine and in twenty on a busy one."""
_PAUSE_S = 0.05


class NeverHappenedError(AssertionError):
    """A condition did not come true in time."""


async def wait_for(
    what: str, look: Callable[[], Awaitable[T | None]], *, deadline_s: float = DEADLINE_S, pause_s: float = _PAUSE_S
) -> T:
    """The first result of `look`; an error of Kafka counts as no result."""
    clock = asyncio.get_running_loop().time
    end_s, last = clock() + deadline_s, "nothing"
    while clock() < end_s:
        try:
            seen = await look()
        except KafkaError as error:
            last = str(error)
        else:
            if seen is not None:
                return seen
            last = "the condition was not met"
        await asyncio.sleep(pause_s)
    raise NeverHappenedError(f"{what}: not within {deadline_s:g} s; at last: {last}")
