"""The search for resources that no watch has reported: without a loop, or with another spec than the last time.

A Kopf watch that is refused once, because a right is missing for a minute, never begins again. The sweep finds what
that watch would have reported. Only metadata is read, so that a thousand resources cost little.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final, Protocol

from kit.clock import Clock
from kit.errors import KubeError
from kit.key import ObjectKey
from kit.kube.protocol import Json, ResourceType
from kit.selector import EVERYTHING, Selector

EVERY_S: Final = 30.0

logger = logging.getLogger(__name__)


class Lists(Protocol):
    """What lists metadata."""

    async def list_metadata(self, resource: ResourceType, namespace: str, selector: Selector) -> tuple[Json, ...]:
        """The identifying metadata of selected objects; without a namespace, of all namespaces. Raises `KubeError`."""


class Sweep:
    """Finds the resources of a type, again and again."""

    def __init__(
        self,
        kube: Lists,
        clock: Clock,
        resource: ResourceType,
        namespaces: tuple[str, ...],
        known: Callable[[], Iterable[ObjectKey]],
        wake: Callable[[ObjectKey], None],
        selector: Selector = EVERYTHING,
        lost: Callable[[ObjectKey], None] | None = None,
    ) -> None:
        """`namespaces` is empty for all; `known` are the resources that have a loop, `wake` begins one or wakes it.

        Only resources that `selector` selects are searched for. `lost` is called for those that have a loop and are not
        found any more; without it they are woken.
        """
        self._kube = kube
        self._clock = clock
        self._resource = resource
        self._namespaces = namespaces or ("",)
        self._known = known
        self._wake = wake
        self._selector = selector
        self._lost = lost or wake
        self._missing: set[ObjectKey] = set()
        """What has a loop, and was never found: it may have come after the last search."""
        self._seen: dict[ObjectKey, tuple[object, ...]] = {}
        self._ended_at_s = clock.monotonic()

    @property
    def age_s(self) -> float:
        """How long ago the last search ended, with any result, in seconds."""
        return self._clock.monotonic() - self._ended_at_s

    async def keep(self) -> None:
        """Search for ever."""
        while True:
            await self.once()
            await asyncio.sleep(EVERY_S)

    async def once(self) -> None:
        """One search. A failed one is logged; resources that were seen before stay known."""
        try:
            listed = [
                item
                for namespace in self._namespaces
                for item in await self._kube.list_metadata(self._resource, namespace, self._selector)
            ]
        except KubeError as error:
            logger.warning("the %s cannot be listed: %s", self._resource.plural, error)
            return
        finally:
            self._ended_at_s = self._clock.monotonic()
        before, looped = self._seen, set(self._known())
        self._seen = {}
        for metadata in listed:
            key = ObjectKey(namespace=str(metadata.get("namespace", "")), name=str(metadata.get("name", "")))
            now = tuple(metadata.get(name) for name in ("uid", "generation", "deletionTimestamp"))
            self._seen[key] = now
            if key not in looped or before.get(key, now) != now:
                self._wake(key)
        missing = looped - self._seen.keys()
        gone = missing & (before.keys() | self._missing)  # or not selected any more
        self._missing = missing - gone
        for key in gone:
            self._lost(key)
