"""Time and randomness of a simulated run: both are values of the run, so that a run can be replayed exactly."""

import asyncio
import hashlib
from collections.abc import Callable
from concurrent.futures import Executor
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


class InlineLoop(asyncio.SelectorEventLoop):
    """A loop that does the work of threads itself: it has a time of its own, and its process may be forked."""

    def run_in_executor(
        self,
        executor: Executor | None,  # noqa: ARG002 - there are no threads
        func: Callable[[*Ts], T],
        *args: *Ts,
    ) -> asyncio.Future[T]:
        """The result, at once."""
        done: asyncio.Future[T] = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - as a thread hands over whatever was raised
            done.set_exception(error)
        return done


class VirtualLoop(InlineLoop):
    """An event loop whose timers use the run's clock: the same timeouts happen in every replay, on any machine.

    No task waits for a timer alone: time does not pass while the loop is idle.
    """

    def __init__(self, clock: VirtualClock) -> None:
        """A loop of this run."""
        self._virtual = clock
        super().__init__()

    def time(self) -> float:
        """The run's monotonic seconds."""
        return self._virtual.monotonic()


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
