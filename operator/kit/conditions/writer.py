"""Writes the status of a resource: at most one patch, and only if there is a change or the stamp is old.

The stamp is that of the last look (`last_look`). Another write that came first is no error: the next pass begins from
it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kit.clock import Clock
from kit.conditions.last_look import interval_s, is_due, stamped, stamps_of
from kit.conditions.patch import patch_of
from kit.errors import KubeConflict, KubeNotFound, NotActing
from kit.key import ObjectKey
from kit.kube.compact import compact, sharing
from kit.kube.protocol import Json, KubeApi, ResourceType

_EARLY_S: Final = 12.0
"""A look that comes so shortly before a stamp is due renews it: no other look has to follow for that alone."""
_AT_REST: Final = "Done"
"""What `doing` says of a resource for which nothing is done or waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The result of a write: the resource as it is now (empty if another write came first), and the whole status.

    `news` says that some of it changed, and was written.
    """

    resource: Json
    status: Json
    news: bool


class StatusWriter:
    """Writes the statuses of a kind. What it remembers only saves writes, and may be lost at any time."""

    def __init__(self, kube: KubeApi, clock: Clock, resource: ResourceType, may_act: Callable[[], bool]) -> None:
        """`may_act` says whether this operator holds the lease: without it, it writes nothing."""
        self._kube = kube
        self._clock = clock
        self._resource = resource
        self._may_act = may_act
        self._wrote: dict[ObjectKey, str] = {}

    def forget(self, key: ObjectKey) -> None:
        """Forget a resource that is gone."""
        self._wrote.pop(key, None)

    def is_echo(self, key: ObjectKey, resource_version: str) -> bool:
        """Whether a resource version is the one of our own last write of the status."""
        return bool(resource_version) and self._wrote.get(key) == resource_version

    def is_newest(self, key: ObjectKey, resource: Json) -> bool:
        """Whether a resource is no older than our own last write: an older one hides what the status says."""
        wrote = self._wrote.get(key)
        return wrote is None or wrote == resource["metadata"].get("resourceVersion")

    async def looked(self, key: ObjectKey, present: Json, new: Json, *, resources: int) -> Written:
        """Write what changed, with the stamp of this look; only the stamp if nothing changed and the last one is old.

        `resources` is how many this operator serves: it decides how often the stamp is renewed.
        """
        old: Json = present.get("status") or {}
        kept, now = new | stamps_of(old), self._clock.now()
        uid, at_rest = str(present["metadata"].get("uid", "")), new.get("doing") == _AT_REST
        after_s = interval_s(resources, uid, at_rest=at_rest)
        if patch_of(old, kept) or is_due(old, now=now, after_s=after_s, uid=uid, early_s=_EARLY_S):
            kept = new | stamped(now, after_s)
        return await self.write(key, present, kept)

    async def write(self, key: ObjectKey, present: Json, new: Json) -> Written:
        """Write a whole status over the present one. Raises `KubeError`, and `NotActing` without the lease."""
        changed = patch_of(present.get("status") or {}, new)
        written = await self._patch(key, present, changed) if changed else present
        return Written(resource=written, status=new, news=bool(written) and bool(changed))

    async def _patch(self, key: ObjectKey, resource: Json, changed: Json) -> Json:
        if not self._may_act():
            raise NotActing("the lease has lapsed: the status is its next holder's")
        metadata = resource["metadata"]
        body: Json = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "status": changed}
        try:
            written = await self._kube.patch(
                self._resource, metadata["namespace"], metadata["name"], body, subresource="status"
            )
        except (KubeConflict, KubeNotFound):
            return {}  # another write came first: the next pass starts from there
        self._wrote[key] = str(written["metadata"].get("resourceVersion", ""))
        return sharing(compact(written), resource)
