"""The Kubernetes objects of quorums at rest, remembered between passes. A watch event makes a pass forget them."""

from dataclasses import replace

from kafka_quorum.observe.snapshot import Snapshot
from kit.clock import Clock
from kit.key import ObjectKey
from kit.kube.inventory import Inventory


class Remembered:
    """By quorum. All of it may be lost at any time: it only saves requests."""

    def __init__(self, clock: Clock, trusted_s: float) -> None:
        """Objects are used for `trusted_s` after they were read, or an inventory has confirmed them."""
        self._clock, self._trusted_s = clock, trusted_s
        self._taken: dict[ObjectKey, Snapshot] = {}

    def of(self, key: ObjectKey) -> Snapshot | None:
        """The remembered objects of this quorum, unless they are too old."""
        taken = self._taken.get(key)
        if taken is None or self._clock.monotonic() - taken.taken_at_s > self._trusted_s:
            return None
        return taken

    def keep(self, key: ObjectKey, taken: Snapshot) -> None:
        """Remember them."""
        self._taken[key] = taken

    def forget(self, key: ObjectKey) -> None:
        """The next pass lists them again."""
        self._taken.pop(key, None)

    def keys(self, namespace: str = "") -> frozenset[ObjectKey]:
        """What an inventory could confirm, in one namespace or in all (empty)."""
        return frozenset(
            key for key, taken in self._taken.items() if taken.parts is not None and namespace in ("", key.namespace)
        )

    def confirm(self, found: Inventory) -> None:
        """Those that exist exactly as they were read are as fresh as this inventory."""
        for key, taken in self._taken.items():
            if taken.parts is None or taken.taken_at_s >= found.began_s:
                continue
            if found.confirms(key, taken.resource, taken.parts):
                self._taken[key] = replace(taken, taken_at_s=found.began_s)
