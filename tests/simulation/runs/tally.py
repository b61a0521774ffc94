"""Counts over many runs, and the failed ones."""

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import Any

from tests.simulation.runs.driver import Run
from tests.simulation.runs.faults import Fault, Injection
from tests.simulation.runs.weather import Weathered


@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts over many runs, and the failed ones."""

    runs: int = 0
    steps: int = 0
    performed: int = 0
    """The steps that were carried out: what a forked run shares with the others counts in none of them."""
    passes: int = 0
    calls: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    idle: int = 0
    """Faults without an effect: at that moment nothing could be lost."""
    actions: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    endings: Counter[str] = field(default_factory=Counter)
    storms: int = 0
    events: int = 0
    """The number of random draws: what continues, with which fault."""
    tolerated: Counter[str] = field(default_factory=Counter)
    """How often each rule was broken without a fault of the operator: not observed yet, or a late request."""
    failures: list[str] = field(default_factory=list)

    def add(self, run: Run | Weathered, *, begun: int = 0) -> None:
        """Count one run, which was carried out from this step on."""
        if isinstance(run, Weathered):
            self._add_storm(run)
            return
        self.runs += 1
        self.steps += run.steps
        self.performed += run.steps - begun
        self.passes += run.passes
        self.calls += len(run.calls)
        if run.fault is not None:
            self.faults[kind_of(run.fault)] += 1
            self.idle += not run.struck
        self._add_end(run)

    def _add_storm(self, storm: Weathered) -> None:
        self.storms += 1
        self.events += storm.events
        self.steps += storm.steps
        self.performed += storm.steps
        self.passes += storm.passes
        self.faults.update(storm.faults)
        self.tolerated.update(storm.tolerated)
        self._add_end(storm)

    def _add_end(self, run: Run | Weathered) -> None:
        self.actions.update(run.actions)
        self.verdicts.update(run.verdicts)
        self.endings[run.ending.says] += 1
        if not run.ok:
            why = "; ".join(map(str, run.violations)) or run.ending.why
            self.failures.append(f"{run.replay}: {why}")

    def join(self, other: "Tally") -> None:
        """Add another tally's counts."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))

    def as_json(self) -> dict[str, Any]:
        """Every field, as `of` takes it."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @classmethod
    def of(cls, found: dict[str, Any]) -> "Tally":
        """A tally that was written as JSON."""
        counts = {name: Counter(value) for name, value in found.items() if isinstance(value, dict)}
        return cls(**(found | counts))

    def report(self) -> str:
        """Every count, in lines."""
        return "\n".join(
            (
                f"storms {self.storms}, random events {self.events}, excused: {_told(self.tolerated)}",
                f"runs {self.runs}, passes {self.passes}, calls {self.calls}",
                f"steps {self.steps}, {self.performed} of them carried out",
                f"faults {sum(self.faults.values())} ({self.idle} struck nothing): {_told(self.faults)}",
                f"actions: {_told(self.actions)}",
                f"guards: {_told(self.verdicts)}",
                f"endings: {_told(self.endings)}",
                f"failures: {len(self.failures)}",
                *self.failures,
            )
        )


def kind_of(fault: Fault) -> str:
    """The word for a fault, as `Strike` and `Loss` have it."""
    return fault.strike.value if isinstance(fault, Injection) else fault.loss.value


def _told(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
