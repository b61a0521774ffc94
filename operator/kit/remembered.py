"""What was read of resources at rest, remembered between passes. A watch event makes a pass forget it."""

from typing import Generic, Protocol, TypeVar

from kit.clock import Clock
from kit.key import ObjectKey


class Taken(Protocol):
    """The objects of one resource."""

    @property
    def taken_at_s(self) -> float:
        """When they began to be read, in monotonic seconds."""


T = TypeVar("T", bound=Taken)


class Remembered(Generic[T]):
    """By resource. All of it may be lost at any time: it only saves requests."""

    def __init__(self, clock: Clock, trusted_s: float) -> None:
        """Objects are used for `trusted_s` after they were read."""
        self._clock, self._trusted_s = clock, trusted_s
        self._taken: dict[ObjectKey, T] = {}

    def of(self, key: ObjectKey) -> T | None:
        """The remembered objects of this resource, unless they are too old."""
        taken = self._taken.get(key)
        if taken is None or self._clock.monotonic() - taken.taken_at_s > self._trusted_s:
            return None
        return taken

    def keep(self, key: ObjectKey, taken: T) -> None:
        """Remember them."""
        self._taken[key] = taken

    def forget(self, key: ObjectKey) -> None:
        """The next pass lists them again."""
        self._taken.pop(key, None)
