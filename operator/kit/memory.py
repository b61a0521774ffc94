"""Gives memory back to the kernel that the C library keeps after it was used, such as what pages of a list took.

glibc keeps freed blocks for later requests, and after a start that is a third of all memory (docs/performance.md). And
once it has freed a large block it takes even larger ones from the heap, where they stay.
"""

import asyncio
import ctypes
from typing import Final

EVERY_S: Final = 100.0
_LARGE_BYTES: Final = 128 * 1024
"""A block of this length has pages of its own, which are given back when it is freed."""
_M_MMAP_THRESHOLD: Final = -3


def large_blocks_apart() -> bool:
    """Let large blocks have pages of their own, always; False if this C library has no such choice."""
    choose = getattr(ctypes.CDLL(None), "mallopt", None)
    return choose is not None and bool(choose(_M_MMAP_THRESHOLD, _LARGE_BYTES))


def give_back() -> bool:
    """Give back what is not used; False if this C library has no such call. Takes up to 30 ms."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is None:
        return False
    trim(0)
    return True


async def keep_small() -> None:
    """Give it back again and again, for ever."""
    while True:
        await asyncio.sleep(EVERY_S)
        await asyncio.to_thread(give_back)
