"""Secrets with certificates are judged in threads of their own: their owners choose how much there is to read.

One is read within milliseconds, or within seconds if its owner means it. Without threads, the lease of this operator
could run out meanwhile. Nothing that is judged holds the interpreter's lock for more than some milliseconds: `kit.pki`
refuses keys with which it would.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

A = TypeVar("A")
_THREADS: Final = ThreadPoolExecutor(max_workers=2, thread_name_prefix="secrets")
"""Not those of `wire.apart`, which a listener keeps busy, and not those of the event loop, which look up hosts."""


async def judged(work: Callable[[], A]) -> A:
    """The result of `work`, which is pure and reads what Secrets have; with its errors."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, work)
