"""Memory that is not used goes back to the kernel."""

import ctypes
import subprocess
import sys

import pytest

from kit.memory import give_back

_GROWN_AND_FREED = """
import ctypes
from kit.memory import give_back

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]

def resident_kib():
    return sum(int(row.split()[1]) for row in open("/proc/self/status") if row.startswith("RssAnon"))

blocks = [libc.malloc(4096) for _ in range(10_000)]
for block in blocks:
    ctypes.memset(block, 1, 4096)
kept = libc.malloc(64)  # the last block of the heap stays in use
for block in blocks:
    libc.free(block)
before = resident_kib()
assert give_back()
print(before - resident_kib())
"""


def test_freed_memory_goes_back() -> None:
    """Of 40 MB that were freed behind a block in use, nearly all goes back."""
    if not hasattr(ctypes.CDLL(None), "malloc_trim"):
        pytest.skip("this C library keeps nothing, or has no such call")
    ended = subprocess.run([sys.executable, "-c", _GROWN_AND_FREED], capture_output=True, text=True, check=True)
    assert int(ended.stdout) > 30_000


def test_a_c_library_without_it_is_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another C library is left alone."""
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    assert not give_back()
