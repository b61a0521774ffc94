"""Keeps what is remembered of quorums at rest fresh: what all of them have is listed together, again and again."""

import asyncio
from collections.abc import Callable
from typing import Final

from kafka_quorum.kind import QUORUMS
from kafka_quorum.model.names import LABEL_QUORUM
from kafka_quorum.observe.remembered import RememberedObjects
from kafka_quorum.observe.snapshot import KINDS
from kit.clock import Clock
from kit.kube import inventory

EVERY_S: Final = 100.0
"""The time between the starts of two of them. Objects are trusted a little longer (`Settings.resync_s`)."""
_REST_S: Final = 50.0
"""The least pause between two of them, if an inventory takes long."""


async def once(kube: inventory.Lists, clock: Clock, objects: RememberedObjects, namespaces: tuple[str, ...]) -> None:
    """One inventory. `namespaces` is empty for all; one that cannot be listed keeps no other from being confirmed."""
    for namespace in namespaces or ("",):
        wanted = objects.keys(namespace)
        if wanted:
            found = await inventory.take(kube, clock, QUORUMS, KINDS, LABEL_QUORUM, namespace, wanted)
            if found is not None:
                objects.confirm(found)


async def keep(
    kube: inventory.Lists,
    clock: Clock,
    objects: RememberedObjects,
    namespaces: tuple[str, ...],
    may_act: Callable[[], bool],
) -> None:
    """An inventory again and again, for ever, while this operator acts."""
    took_s = 0.0
    while True:
        await asyncio.sleep(max(EVERY_S - took_s, _REST_S))
        began_s = clock.monotonic()
        if may_act():
            await once(kube, clock, objects, namespaces)
        took_s = clock.monotonic() - began_s
