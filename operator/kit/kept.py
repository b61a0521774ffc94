"""Results of pure functions, kept within a limit: those that were not used for the longest time go first.

The limit is a number of results. Where keys or results may be large, it is a weight: what all of them hold together.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def _one(_key: object, _found: object) -> int:
    return 1


class Kept(Generic[K, V]):
    """Results that weigh at most `most` together; without `weight` each of them weighs one.

    The newest one is kept even if it weighs more. Threads may share it: two may work out the same result at once.
    """

    def __init__(self, most: int, weight: Callable[[K, V], int] = _one) -> None:
        """Nothing is kept yet."""
        self._most, self._weigh = most, weight
        self._found: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._weight = 0
        self._lock = Lock()

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._found)

    @property
    def weight(self) -> int:
        """What all of them weigh together."""
        return self._weight

    def of(self, key: K, work: Callable[[], V]) -> V:
        """The result for this key; `work` works it out if it is not kept. What it raises is not kept."""
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key][0]
        found = work()
        weight = self._weigh(key, found)
        with self._lock:
            _, before = self._found.pop(key, (found, 0))
            self._found[key] = found, weight
            self._weight += weight - before
            while self._weight > self._most and len(self._found) > 1:
                _, (_, gone) = self._found.popitem(last=False)
                self._weight -= gone
        return found
