"""One task per resource, woken by watches and by its own tick, with its own back-off. Nothing here uses Kopf.

An event only means "look again": the wake-up is cleared before reading, so that none is lost. The pass itself finds
deletions that a watch missed. A task that ends with an error is a fault of this operator; another one replaces it.
While a pass waits for others, it holds nothing that another resource waits for.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from kit.key import ObjectKey
from kit.turns import PassEnd, Passes, Rest, Turns

_RESTART_S = 5.0

logger = logging.getLogger(__name__)


class Reconciles(Passes[PassEnd], Protocol):
    """What the loops need from the reconciler."""

    def changed(self, key: ObjectKey, resource_version: str = "") -> bool:
        """Note an event of a watch; False if it only echoes our own write."""

    def forget(self, key: ObjectKey) -> None:
        """Forget a resource that is gone."""


@dataclass(slots=True)
class _Loop:
    task: "asyncio.Task[None]"
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    begun_s: float | None = None
    """When the pass that runs began (monotonic seconds); None between passes."""
    woken_s: float | None = field(default_factory=time.monotonic)
    """When the first event came that no pass has seen yet (monotonic seconds); None if there is none."""
    anew: bool = False
    """Whether the next pass begins with nothing that earlier ones remembered."""

    def wake_up(self) -> None:
        """Something changed."""
        self.wake.set()
        if self.woken_s is None:
            self.woken_s = time.monotonic()


class Loops:
    """The tasks of all resources of a kind."""

    def __init__(self, reconciler: Reconciles) -> None:
        """Take the reconciler that runs the passes."""
        self._reconciler = reconciler
        self._loops: dict[ObjectKey, _Loop] = {}
        self._stopping = False

    def wake(self, key: ObjectKey, *, create: bool, resource_version: str = "") -> None:
        """Something about this resource changed. `create`: it is the resource itself, so a loop must run for it.

        `resource_version` is the resource's own: with it, the echo of our own write wakes nothing.
        """
        loop = self._loops.get(key)
        if self._stopping or (loop is None and not create):  # a label may hold any name: it is not kept
            return
        news = self._reconciler.changed(key, resource_version)
        if loop is not None:
            if news:
                loop.wake_up()
        else:
            event = asyncio.Event()
            task = asyncio.create_task(self._supervised(key, event), name=f"loop of {key}")
            self._loops[key] = _Loop(task=task, wake=event)

    def wake_all(self, *, anew: bool) -> None:
        """This operator may act from now on: look at every resource, and use no object that was remembered.

        `anew`: another operator may have acted meanwhile. So what several looks have shown is forgotten as well: it
        would count as if this operator had looked all the time.
        """
        for key, loop in self._loops.items():
            self._reconciler.changed(key)
            loop.anew = loop.anew or anew
            loop.wake_up()

    def drop(self, key: ObjectKey) -> None:
        """End the loop of a resource that is gone, unless a pass is under way, which finds that out itself.

        It is for an operator without the lease: its passes look at nothing.
        """
        loop = self._loops.get(key)
        if loop is not None and loop.begun_s is None:
            del self._loops[key]
            loop.task.cancel()
            self._reconciler.forget(key)

    def keys(self) -> Iterable[ObjectKey]:
        """The resources that have a loop."""
        return tuple(self._loops)

    def longest_pass_s(self) -> float:
        """For how long the oldest pass has been running, in seconds; 0 if none is."""
        now_s = time.monotonic()
        return max((now_s - loop.begun_s for loop in self._loops.values() if loop.begun_s is not None), default=0.0)

    def longest_wait_s(self) -> float:
        """For how long the oldest event has waited for a pass that sees it, in seconds; 0 if none waits."""
        now_s = time.monotonic()
        return max((now_s - loop.woken_s for loop in self._loops.values() if loop.woken_s is not None), default=0.0)

    async def stop(self, grace_s: float = 0.0) -> None:
        """Let passes end for `grace_s`, begin no other, cancel the rest, and wait until every task has ended."""
        self._stopping = True
        loops = list(self._loops.values())
        self._loops.clear()
        for loop in loops:
            if loop.begun_s is None or grace_s <= 0:
                loop.task.cancel()
        if loops and grace_s > 0:
            await asyncio.wait([loop.task for loop in loops], timeout=grace_s)
        for loop in loops:
            loop.task.cancel()
        for loop in loops:
            with contextlib.suppress(asyncio.CancelledError):
                await loop.task

    async def _supervised(self, key: ObjectKey, wake: asyncio.Event) -> None:
        """The loop of one resource. An error that escapes it is logged, and the loop goes on."""
        while True:
            try:
                await self._run(key, wake)
            except Exception:
                logger.exception("%s: a fault of this operator ended its loop; it starts again", key)
                await asyncio.sleep(_RESTART_S)
            else:
                return

    async def _run(self, key: ObjectKey, wake: asyncio.Event) -> None:
        turns = Turns(self._reconciler, key)
        while not self._stopping:
            wake.clear()
            self._begin_anew(key)
            self._mark(key, time.monotonic())
            try:
                rest = await turns.take(wake.is_set)
            finally:
                self._mark(key, None)
            if turns.result is not None and turns.result.gone:
                self._reconciler.forget(key)
                if not wake.is_set():  # else it may exist again, applied while this pass asked for it
                    self._loops.pop(key, None)
                    return
                continue
            if rest.seconds > 0:
                await _pause(wake, rest)

    def _begin_anew(self, key: ObjectKey) -> None:
        """Forget what earlier passes remembered, if another operator may have acted since then."""
        loop = self._loops.get(key)
        if loop is not None and loop.anew:
            loop.anew = False
            self._reconciler.forget(key)
            self._reconciler.changed(key)

    def _mark(self, key: ObjectKey, begun_s: float | None) -> None:
        """Note that a pass begins, or has ended. One that begins sees every event that came before."""
        loop = self._loops.get(key)
        if loop is not None:
            loop.begun_s = begun_s
            if begun_s is not None:
                loop.woken_s = None


async def _pause(wake: asyncio.Event, rest: Rest) -> None:
    """Wait this long, or until a watch wakes us."""
    await asyncio.sleep(rest.deaf_s)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(rest.seconds - rest.deaf_s):  # `wait_for` of 3.11 can lose a cancel
            await wake.wait()
