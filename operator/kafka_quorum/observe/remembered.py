"""The Kubernetes objects of quorums at rest, remembered between passes, and for how long they are used.

A watch that reports an event makes a pass forget them. Without one they are used for `resync_s`, because some kinds
may not be watched; while every watch is open without a gap they stay true, and are read again once a day all the same.
"""

import zlib
from collections.abc import Callable

from kafka_quorum.observe.snapshot import Snapshot
from kafka_quorum.settings import Settings
from kit.clock import Clock
from kit.key import ObjectKey


class RememberedObjects:
    """By quorum. All of it may be lost at any time: it only saves requests."""

    def __init__(self, clock: Clock, settings: Settings, watched: Callable[[], bool]) -> None:
        """`watched` says whether every watch is open."""
        self._clock, self._settings, self._watched = clock, settings, watched
        self._taken: dict[ObjectKey, Snapshot] = {}

    def of(self, key: ObjectKey) -> Snapshot | None:
        """The remembered objects of this quorum, unless they are too old."""
        taken = self._taken.get(key)
        if taken is None or self._clock.monotonic() - taken.taken_at_s > self._trusted_s(key):
            return None
        return taken

    def keep(self, key: ObjectKey, taken: Snapshot) -> None:
        """Remember them."""
        self._taken[key] = taken

    def forget(self, key: ObjectKey) -> None:
        """The next pass lists them again."""
        self._taken.pop(key, None)

    def _trusted_s(self, key: ObjectKey) -> float:
        """For how long they are used, in seconds: long while all is watched, and spread over the keys."""
        if not self._watched():
            return self._settings.resync_s
        share = zlib.crc32(str(key).encode()) / 2**32
        return self._settings.watched_s * (1 + share) / 2
