"""One task per quorum, woken by watches and by its own tick, with its own back-off. Nothing here knows Kopf.

An event only says "look again": the wake-up is cleared before reading, so that none is lost. Deletions that a watch
missed are found by the pass itself, and by a sweep that drops tasks without a resource.
"""

import asyncio
import contextlib
import logging
from collections.abc import Iterable
from dataclasses import dataclass, field

from kafka_quorum.errors import OperatorError
from kafka_quorum.reconcile import PassResult, QuorumKey, Reconciler

_BACKOFF_FIRST_S = 0.5
_BACKOFF_LAST_S = 30.0
_BACKOFF_OPEN_S = 1.0
"""While a voter change is open: the quorum may be one voter short until it is done."""
_AT_ONCE_MAX = 50
"""So many passes in a row without a pause; then a breath, whatever there is to do."""
_BREATH_S = 1.0

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Loop:
    task: "asyncio.Task[None]"
    wake: asyncio.Event = field(default_factory=asyncio.Event)


class Loops:
    """The tasks of all quorums. At most `parallel` passes run at once."""

    def __init__(self, reconciler: Reconciler, parallel: int = 16) -> None:
        """Take what runs the passes."""
        self._reconciler = reconciler
        self._slots = asyncio.Semaphore(parallel)
        self._loops: dict[QuorumKey, _Loop] = {}
        self.last_pass_s: float = 0.0

    def wake(self, key: QuorumKey, *, create: bool) -> None:
        """Something about this quorum changed. `create`: it is the resource itself, so a loop must run for it."""
        self._reconciler.changed(key)
        loop = self._loops.get(key)
        if loop is not None:
            loop.wake.set()
        elif create:
            event = asyncio.Event()
            task = asyncio.create_task(self._run(key, event), name=f"quorum {key}")
            self._loops[key] = _Loop(task=task, wake=event)

    def wake_all(self) -> None:
        """This operator may act from now on: every quorum is looked at, and nothing that was remembered is used."""
        for key, loop in self._loops.items():
            self._reconciler.changed(key)
            loop.wake.set()

    def keys(self) -> Iterable[QuorumKey]:
        """The quorums that have a loop."""
        return tuple(self._loops)

    async def stop(self) -> None:
        """Cancel every task, and wait until it has ended."""
        loops = list(self._loops.values())
        self._loops.clear()
        for loop in loops:
            loop.task.cancel()
        for loop in loops:
            with contextlib.suppress(asyncio.CancelledError):
                await loop.task

    async def _run(self, key: QuorumKey, wake: asyncio.Event) -> None:
        backoff_s, at_once = _BACKOFF_FIRST_S, 0
        while True:
            wake.clear()
            result = await self._one(key)
            if result is None:
                await _pause(wake, backoff_s)
                backoff_s = min(backoff_s * 2, _BACKOFF_LAST_S)
                continue
            if result.gone:
                self._reconciler.forget(key)
                if not wake.is_set():  # else it may be there again, applied while this pass asked for it
                    self._loops.pop(key, None)
                    return
            if result.failed:
                await _pause(wake, backoff_s, deaf_s=_BACKOFF_FIRST_S)
                backoff_s = min(backoff_s * 2, _BACKOFF_OPEN_S if result.urgent else _BACKOFF_LAST_S)
                continue
            backoff_s = _BACKOFF_FIRST_S
            at_once = at_once + 1 if result.again else 0
            if at_once >= _AT_ONCE_MAX:
                at_once = 0
                await asyncio.sleep(_BREATH_S)
            elif not result.again:
                await _pause(wake, result.requeue_s)

    async def _one(self, key: QuorumKey) -> PassResult | None:
        """One pass; None if it could not be made. Exceptions end here: every one is ours to retry."""
        async with self._slots:
            try:
                result = await self._reconciler.run_pass(key)
            except OperatorError as error:
                logger.warning("%s: this pass ended early, another follows: %s", key, error)
                return None
            except Exception:
                logger.exception("%s: a fault of this operator ended the pass; another follows", key)
                return None
        self.last_pass_s = asyncio.get_running_loop().time()
        return result


async def _pause(wake: asyncio.Event, seconds: float, *, deaf_s: float = 0.0) -> None:
    """Wait so long, or until somebody wakes us; for the first `deaf_s` nobody does, for our own writes would."""
    await asyncio.sleep(deaf_s)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds - deaf_s):  # `wait_for` of 3.11 can lose a cancel
            await wake.wait()
