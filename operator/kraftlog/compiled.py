"""How this package's inner loops are compiled: by Numba, once per machine, kept on disk, without the interpreter lock.

A compiled function is ordinary Python that uses only integers and NumPy arrays. It never raises, but returns a code.
`NUMBA_DISABLE_JIT=1` runs the same code interpreted, for a debugger.
"""

from collections.abc import Callable
from typing import TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., object])

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

wide = cast("Callable[[object], int]", np.int64)
"""An integer of 64 bits: in compiled code bytes would otherwise be summed up as bytes."""


def compiled(function: Function) -> Function:
    """Compile at the first call, or load what an earlier process stored on disk."""
    return cast("Function", numba.njit(cache=True, nogil=True, boundscheck=False)(function))


def readable(data: bytes | bytearray | memoryview) -> Bytes:
    """Bytes as an array of one fixed type, so that everything is compiled once."""
    array = np.frombuffer(data, dtype=np.uint8)
    array.flags.writeable = False
    return array
