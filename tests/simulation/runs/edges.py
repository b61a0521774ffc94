"""The common part of an operator's two edges: its calls are counted, get faults, and are reported to the rules.

An operator is one incarnation. Once it has crashed, none of its calls has an effect, whatever code of it is still on
the stack. `CrashedError` is no `Exception`, so that no code of the operator catches it by accident.
"""

import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from cryptography.hazmat.primitives.asymmetric import ec
from tests.simulation.model.clock import SeededIds
from tests.simulation.model.world import World
from tests.simulation.runs.faults import DELAY_STEPS, LONG_STEPS, Call, Injection, Strike
from tests.simulation.runs.slow import Hitches

from kafka_quorum.errors import KafkaError
from kit.errors import KubeError
from kit.pki.authority import Dice

T = TypeVar("T")


def seeded(seed: int = 11) -> Dice:
    """Keys and serial numbers that are the same in every run."""
    ids = SeededIds(seed)

    def number() -> int:
        return int.from_bytes(ids.uuid_bytes()) + 1

    return Dice(key=lambda: ec.derive_private_key(number(), ec.SECP256R1()), serial=number)


class CrashedError(BaseException):
    """The operator's process is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered:
    """A hitch: the operator sees a failure, and the call has its effect after these steps."""

    steps: int


@dataclass(slots=True, kw_only=True)
class Wire:
    """The path of an operator's calls. It outlives the operator: calls are numbered over all incarnations."""

    world: World
    injection: Injection | None = None
    calls: list[Call] = field(default_factory=list)
    fresh_pass: bool = True
    """Set at the beginning of a pass: the next call is its first."""
    hitches: Hitches | None = None
    dice: Dice = field(default_factory=seeded)
    """What is random in the operator's certificates: the same in each replay."""
    struck: bool = False

    @property
    def misled(self) -> bool:
        """Whether a read was answered with an outdated state."""
        return self.struck and self.injection is not None and self.injection.strike is Strike.STALE

    def strike(self, call: Call) -> Strike | Unanswered | None:
        """Count a call, and return what happens to it; a hitch of the scenario comes first."""
        steps = None if self.hitches is None else self.hitches.strike(call)
        self.calls.append(replace(call, first=True) if self.fresh_pass else call)
        self.fresh_pass = False
        if steps is not None:
            return Unanswered(steps=steps)
        injected = self.injection
        if injected is None or self.struck or len(self.calls) - 1 != injected.call:
            return None
        self.struck = True
        return injected.strike


@dataclass(slots=True, kw_only=True)
class Life:
    """Whether an operator process still runs, and what it reaches. Each of its calls passes `gate` first."""

    crashed: bool = False
    gate: Callable[[], Awaitable[None]] | None = None
    unreached: set[str] = field(default_factory=set)
    """`kube`, `kafka` or both, if it is cut off."""
    sent: Callable[[Call], None] | None = None
    """Called for each call at the moment when it takes effect, or fails."""

    async def turn(self) -> None:
        """Wait for the turn of this incarnation."""
        if self.gate is not None:
            await self.gate()

    def check(self) -> None:
        """Ends every attempt of an operator that was stopped."""
        if self.crashed:
            raise CrashedError

    def begin(self, call: Call) -> None:
        """A call of this incarnation takes effect, or fails."""
        self.check()
        if self.sent is not None:
            self.sent(call)

    def crash(self) -> CrashedError:
        """The end."""
        self.crashed = True
        return CrashedError()


class Edge:
    """The course of one call."""

    side = ""

    def __init__(self, wire: Wire, life: Life) -> None:
        """One incarnation's edge."""
        self.wire = wire
        self.life = life
        self.world = wire.world

    def course(
        self,
        call: Call,
        act: Callable[[], T],
        *,
        failure: Callable[[], Exception],
        stale: Callable[[], T] | None = None,
        touch: Callable[[], None] | None = None,
        stalled: Callable[[], T] | None = None,
    ) -> T:
        """Make the call, or let its injected fault happen."""
        self.life.begin(call)
        if self.side in self.life.unreached:
            self.wire.strike(call)
            raise failure()
        act = partial(self._marked, act)
        match self.wire.strike(call):
            case Strike.CRASH_BEFORE:
                raise self.life.crash()
            case Strike.CRASH_AFTER:
                _attempt(act)
                raise self.life.crash()
            case Strike.SLOW | Strike.DELAYED as slow:
                return self._slowly(act, arrives_late=slow is Strike.DELAYED)
            case Strike.STALE if stale is not None:
                return stale()
            case Strike.CONFLICT if touch is not None:
                touch()
            case Strike.APPENDED if stalled is not None:
                return stalled()
            case Strike.DOUBLED:
                self.world.later(DELAY_STEPS, lambda: _attempt(act))
            case None:
                pass
            case strike:
                self._without_answer(strike, act)
                raise failure()
        return act()

    def _without_answer(self, strike: Strike | Unanswered, act: Callable[[], object]) -> None:
        """The operator sees a failure; the call has its effect now, later, or never."""
        match strike:
            case Unanswered(steps=steps):
                self.world.later(steps, lambda: _attempt(act))
            case Strike.LOST_ANSWER:
                _attempt(act)
            case Strike.LATE_EFFECT:
                self.world.later(DELAY_STEPS, lambda: _attempt(act))
            case Strike.LONG_AFTER:
                self.world.later(LONG_STEPS, lambda: _attempt(act))
            case _:
                pass

    def _marked(self, act: Callable[[], T]) -> T:
        """Run it in the operator's name, at any time."""
        kube = self.world.kube
        kube.operator_writes = True
        try:
            return act()
        finally:
            kube.operator_writes = False

    def _slowly(self, act: Callable[[], T], *, arrives_late: bool) -> T:
        """Let three seconds pass before or after the effect; the rules check each of these steps."""
        if arrives_late:
            self._wait()
            return act()
        try:
            return act()
        finally:
            self._wait()

    def _wait(self) -> None:
        for _ in range(DELAY_STEPS):
            self.world.step()


def _attempt(act: Callable[[], Any]) -> None:
    with contextlib.suppress(KubeError, KafkaError):
        act()
