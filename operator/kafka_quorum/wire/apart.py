"""Large answers are read in threads of their own: one takes seconds, and the event loop serves every quorum meanwhile.

Without them, the lease of this operator would run out while it reads what one server of one namespace sent.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from kafka_quorum.wire.bounds import MAX_ANSWER_BYTES

A = TypeVar("A")
_THREADS: Final = ThreadPoolExecutor(max_workers=2, thread_name_prefix="large-answer")
"""Their own, so that no server keeps those of the event loop busy, which look up names of hosts."""


async def apart(size_bytes: int, work: Callable[[], A]) -> A:
    """The result of `work`, which reads that many bytes and is pure; with its errors."""
    return work() if size_bytes <= MAX_ANSWER_BYTES else await aside(work)


async def aside(work: Callable[[], A]) -> A:
    """The result of `work`, always in such a thread: for what a server can make expensive with few bytes."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, work)
