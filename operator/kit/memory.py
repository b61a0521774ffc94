"""Gives memory back to the kernel that the C library keeps after it was used, such as what pages of a list took.

glibc keeps freed blocks for later requests, and after a start that is a third of all memory (docs/performance.md).
"""

import asyncio
import ctypes
from typing import Final

EVERY_S: Final = 100.0


def give_back() -> bool:
    """Give back what is not used; False if this C library has no such call. Takes milliseconds."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is None:
        return False
    trim(0)
    return True


async def keep_small() -> None:
    """Give it back again and again, for ever."""
    while True:
        await asyncio.sleep(EVERY_S)
        give_back()
