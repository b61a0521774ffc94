"""The Kubernetes objects of quorums at rest, remembered between passes, and confirmed by inventories."""

from dataclasses import replace

from kafka_quorum.observe.snapshot import Snapshot
from kit.key import ObjectKey
from kit.kube.inventory import Inventory
from kit.remembered import Remembered


class RememberedObjects(Remembered[Snapshot]):
    """By quorum. An inventory that confirms objects makes them as fresh as it is."""

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
