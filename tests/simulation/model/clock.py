"""Time and randomness of a simulated run: both are values of the run, so that a run can be replayed exactly."""

import asyncio
import hashlib
import heapq
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from contextvars import Context
from datetime import UTC, datetime, timedelta
from typing import TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)


class VirtualClock:
    """A clock that only the world moves. Wall and monotonic time start apart, so that a mix-up shows."""

    def __init__(self) -> None:
        """Start at the first moment of the run."""
        self.elapsed_s = 0.0

    def now(self) -> datetime:
        """Wall time in UTC."""
        return _BEGINNING + timedelta(seconds=self.elapsed_s)

    def monotonic(self) -> float:
        """Seconds since a moment that has no relation to wall time."""
        return 5000.0 + self.elapsed_s

    def now_ms(self) -> int:
        """Wall time in milliseconds since 1970, as a Kafka server stamps it."""
        return int(self.now().timestamp() * 1000)

    def stamp(self) -> str:
        """Wall time as Kubernetes writes it."""
        return self.stamp_of(self.elapsed_s)

    def stamp_of(self, elapsed_s: float) -> str:
        """A moment of the run as Kubernetes writes it."""
        return (_BEGINNING + timedelta(seconds=elapsed_s)).strftime("%Y-%m-%dT%H:%M:%SZ")

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.elapsed_s += seconds


_RESOLUTION_S = 1e-9
"""How much earlier than its time a timer may fire, as in the event loops of the standard library."""


def at_once(loop: asyncio.AbstractEventLoop, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
    """What a thread would hand over, as a future that is done."""
    done: asyncio.Future[T] = loop.create_future()
    try:
        done.set_result(func(*args))
    except Exception as error:  # noqa: BLE001 - as a thread hands over whatever was raised
        done.set_exception(error)
    return done


class InlineLoop(asyncio.SelectorEventLoop):
    """A loop that does the work of threads itself: it has a time of its own, and its process may be forked."""

    def run_in_executor(
        self,
        executor: Executor | None,  # noqa: ARG002 - there are no threads
        func: Callable[[*Ts], T],
        *args: *Ts,
    ) -> asyncio.Future[T]:
        """The result, at once."""
        return at_once(self, func, *args)


class VirtualLoop(asyncio.BaseEventLoop):
    """An event loop whose timers use the run's clock: the same timeouts happen in every replay, on any machine.

    It has no sockets, no threads and no signals, so it never asks the system whether something has come: a turn of it
    costs a tenth of a usual one. No task waits for a timer alone: time does not pass while the loop is idle.
    """

    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]
    _stopping: bool

    def __init__(self, clock: VirtualClock) -> None:
        """A loop of this run."""
        self._virtual = clock
        super().__init__()

    def time(self) -> float:
        """The run's monotonic seconds."""
        return self._virtual.monotonic()

    def idle(self) -> bool:
        """Whether no callback is due: another turn of this loop would run none, unless this callback leaves some."""
        return not self._ready and not (self._scheduled and self._scheduled[0].when() < self.time() + _RESOLUTION_S)

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Call this in the next turn; without the checks for other threads."""
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def run_in_executor(
        self,
        executor: Executor | None,  # noqa: ARG002 - there are no threads
        func: Callable[[*Ts], T],
        *args: *Ts,
    ) -> asyncio.Future[T]:
        """The result, at once: there are no threads."""
        return at_once(self, func, *args)

    def _run_once(self) -> None:
        """One turn: the timers that are due, and the callbacks that were there at its beginning (`RuntimeError`).

        `BaseEventLoop` calls it until it is stopped. It waits for nothing: a loop with nothing to do would never end.
        """
        ready, scheduled = self._ready, self._scheduled
        while scheduled and scheduled[0].cancelled():
            heapq.heappop(scheduled)
        if scheduled:
            end_s = self.time() + _RESOLUTION_S
            while scheduled and scheduled[0].when() < end_s:
                ready.append(heapq.heappop(scheduled))
        if not ready and not self._stopping:
            raise RuntimeError("the loop of a run has nothing to do: a task waits for something that never comes")
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle.cancelled():
                handle._run()

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """A timer ended early: it is dropped when its time comes."""


class SeededIds:
    """Sixteen bytes at a time, the same ones in every run of the same seed."""

    def __init__(self, seed: int) -> None:
        """Begin the sequence of this seed."""
        self._seed = seed
        self._count = 0

    def uuid_bytes(self) -> bytes:
        """The next sixteen bytes."""
        self._count += 1
        return hashlib.sha256(f"{self._seed}:{self._count}".encode()).digest()[:16]
