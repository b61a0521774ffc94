"""What a storm is made of: its weather, its operators with clocks of their own, the wire, and what became of it."""

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from tests.simulation.model.clock import VirtualClock
from tests.simulation.rules.invariants import Violation
from tests.simulation.runs.driver import Operator
from tests.simulation.runs.edges import Life, Wire
from tests.simulation.runs.endings import Ending
from tests.simulation.runs.faults import Call, Strike
from tests.simulation.runs.slow import Slowness
from tests.simulation.runs.tenure import Tenure

from kafka_quorum.reconcile import PassResult
from kit.turns import Rest, Turns

_CHANGES: Final = (
    "AddRaftVoter",
    "RemoveRaftVoter",
    "UpdateFeatures",
    "ControllerRegistration",
    "UnregisterController",
)
_LATE: Final = (Strike.LATE_EFFECT, Strike.LONG_AFTER, Strike.DOUBLED)


class OwnClock:
    """An operator's clock: its wall time may be off, and its monotonic time is that of its machine."""

    def __init__(self, clock: VirtualClock) -> None:
        """Right at first."""
        self._clock = clock
        self.off_s = 0.0
        self.zero_s, self.rate = 0.0, 1.0

    def now(self) -> datetime:
        """Wall time as this machine has it."""
        return self._clock.now() + timedelta(seconds=self.off_s)

    def monotonic(self) -> float:
        """Monotonic seconds of this machine: with a zero of its own, and not quite as fast as the world's."""
        return self.zero_s + self._clock.monotonic() * self.rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Weather:
    """What a storm is like: chances for a call, and for a step of the world."""

    steps: int
    operators: int
    strike: float
    accident: float
    crash: float
    suspend: float
    cut: float
    change: float
    losses: int
    """How many disks may be lost for good."""


@dataclass(slots=True, kw_only=True)
class Hand:
    """One operator in a storm: its incarnation, its pass, and the calls of it that wait for their turn."""

    clock: OwnClock
    slowness: Slowness
    life: Life = field(default_factory=Life)
    operator: Operator | None = None
    round: Turns[PassResult] | None = None
    task: asyncio.Task[Rest] | None = None
    waiting: list[asyncio.Future[None]] = field(default_factory=list)
    due_s: float = 0.0
    deaf_until_s: float = 0.0
    woken: bool = True
    asleep_until_s: float = 0.0
    slept_s: float = -1.0
    """When it was last suspended."""
    stalled: bool = False
    """Whether the call that goes on now was waiting while it was suspended."""
    held: bool = True
    """Whether it held the lease when the call that goes on now was sent."""
    tenure: Tenure | None = None

    @property
    def holds(self) -> bool:
        """Whether it holds the lease, as far as it knows."""
        return self.tenure is not None and self.tenure.lease.held()


class StormWire(Wire):
    """Strikes calls by chance."""

    chance: float = 0.0
    draw: random.Random
    late: bool = False
    """Whether a change of the quorum was struck that will have its effect late."""

    def strike(self, call: Call) -> Strike | None:
        """Count a call, and draw what happens to it."""
        self.calls.append(call)
        if self.chance <= 0 or self.draw.random() >= self.chance:
            return None
        # Slowness is what the storm itself makes, and a crash may come before any call.
        strike = self.draw.choice([*(one for one in call.strikes() if one is not Strike.SLOW), Strike.CRASH_BEFORE])
        self.late = self.late or (call.verb in _CHANGES and strike in _LATE)
        self.struck = True
        self.strikes[strike.value] += 1
        return strike

    strikes: Counter[str]


@dataclass(slots=True, kw_only=True)
class Weathered:
    """What became of a storm."""

    seed: int
    ending: Ending
    events: int
    steps: int
    passes: int
    violations: list[Violation]
    tolerated: Counter[str]
    actions: Counter[str]
    verdicts: Counter[str]
    faults: Counter[str]
    kind: str = "storm"

    @property
    def ok(self) -> bool:
        """No rule was broken, and the ending is an honest one."""
        return not self.violations and self.ending.honest

    @property
    def replay(self) -> str:
        """What replays this storm."""
        return f"{self.kind}/{self.seed}"
