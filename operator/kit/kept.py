"""Results of pure functions, kept within a limit: those that were not used for the longest time go first.

What is kept here is small. A key is the digest of what a result depends on, so that neither texts nor keys stay.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Kept(Generic[K, V]):
    """At most `most` results. Threads may share it: two of them may work out the same result at once."""

    def __init__(self, most: int) -> None:
        """Nothing is kept yet."""
        self._most = most
        self._found: OrderedDict[K, V] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._found)

    def of(self, key: K, work: Callable[[], V]) -> V:
        """The result for this key; `work` works it out if it is not kept. What it raises is not kept."""
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]
        found = work()
        with self._lock:
            self._found[key] = found
            while len(self._found) > self._most:
                self._found.popitem(last=False)
        return found
