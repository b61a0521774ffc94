"""The parts of a storm: its weather, its operators with their own clocks, the wire, and the result."""

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from tests.simulation.model.clock import VirtualClock
from tests.simulation.rules.invariants import Violation
from tests.simulation.runs.driver import Operator
from tests.simulation.runs.edges import Life, Wire
from tests.simulation.runs.endings import Ending
from tests.simulation.runs.faults import Call, Strike
from tests.simulation.runs.slow import Slowness
from tests.simulation.runs.tenure import Tenure

from kafka_brokers.reconcile import PoolReconciler
from kafka_streams.reconcile import ApplicationReconciler
from kit.key import ObjectKey
from kit.turns import Rest, Turns

_CHANGES: Final = (
    "AddRaftVoter",
    "RemoveRaftVoter",
    "UpdateFeatures",
    "ControllerRegistration",
    "UnregisterController",
)
Served: TypeAlias = Operator | PoolReconciler | ApplicationReconciler
"""Whatever runs the passes of a resource."""
_LATE: Final = (Strike.LATE_EFFECT, Strike.LONG_AFTER, Strike.DOUBLED)


class OwnClock:
    """An operator's clock: its wall time may be wrong, and its monotonic time is that of its machine."""

    def __init__(self, clock: VirtualClock) -> None:
        """Right at first."""
        self._clock = clock
        self.off_s = 0.0
        self.zero_s, self.rate = 0.0, 1.0

    def now(self) -> datetime:
        """Wall time as this machine has it."""
        return self._clock.now() + timedelta(seconds=self.off_s)

    def monotonic(self) -> float:
        """Monotonic seconds of this machine: with its own zero, and not exactly at the world's rate."""
        return self.zero_s + self._clock.monotonic() * self.rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Weather:
    """The weather of a storm: chances for a call, and for a step of the world."""

    steps: int
    operators: int
    strike: float
    accident: float
    crash: float
    suspend: float
    cut: float
    change: float
    losses: int
    """How many disks may be lost permanently."""


@dataclass(slots=True, kw_only=True, eq=False)
class Round:
    """The passes of one resource that an operator serves, and its calls that wait for their turn."""

    key: ObjectKey
    operator: Served
    turns: Turns[Any]
    slowness: Slowness
    task: asyncio.Task[Rest] | None = None
    waiting: list[asyncio.Future[None]] = field(default_factory=list)
    due_s: float = 0.0
    deaf_until_s: float = 0.0
    woken: bool = True
    anew: bool = False
    """Whether the next pass begins with nothing that earlier ones remembered."""

    @property
    def goes_on(self) -> bool:
        """Whether its pass can continue now."""
        return self.task is not None and (bool(self.waiting) or not self.slowness.waits)

    def changed(self) -> None:
        """Something that its watches report has happened."""
        self.operator.changed(self.key)
        self.woken = True


@dataclass(slots=True, kw_only=True)
class Hand:
    """One operator in a storm: its incarnation, and its passes."""

    clock: OwnClock
    slowness: dict[ObjectKey, Slowness] = field(default_factory=dict)
    """How late the calls for each resource are: the same sequence in every incarnation."""
    life: Life = field(default_factory=Life)
    rounds: list[Round] = field(default_factory=list)
    asleep_until_s: float = 0.0
    slept_s: float = -1.0
    """When it was last suspended."""
    stalled: bool = False
    """Whether the present call waited during a suspension."""
    held: bool = True
    """Whether it held the lease when the present call was sent."""
    tenure: Tenure | None = None

    @property
    def holds(self) -> bool:
        """Whether it holds the lease by its own state."""
        return self.tenure is not None and self.tenure.lease.held()

    @property
    def acts(self) -> bool:
        """Whether a pass of it is under way."""
        return any(one.task is not None for one in self.rounds)


class StormWire(Wire):
    """Injects random faults into calls."""

    chance: float = 0.0
    draw: random.Random
    late: bool = False
    """Whether a change of the quorum got a fault by which it takes effect late."""

    def strike(self, call: Call) -> Strike | None:
        """Count a call, and draw what happens to it."""
        self.calls.append(call)
        if self.chance <= 0 or self.draw.random() >= self.chance:
            return None
        # The storm itself draws slowness, and a crash may come before any call.
        strike = self.draw.choice([*(one for one in call.strikes() if one is not Strike.SLOW), Strike.CRASH_BEFORE])
        self.late = self.late or (self.matters(call) and strike in _LATE)
        self.struck = True
        self.strikes[strike.value] += 1
        return strike

    strikes: Counter[str]

    def matters(self, call: Call) -> bool:
        """Whether a late effect of this call excuses what is by knowledge."""
        return call.verb in _CHANGES


@dataclass(slots=True, kw_only=True)
class Weathered:
    """The result of a storm."""

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
        """No rule was broken, and what the resource reports at the end is true."""
        return not self.violations and self.ending.honest

    @property
    def replay(self) -> str:
        """The name that replays this storm."""
        return f"{self.kind}/{self.seed}"
