"""Every single fault of every scenario, and storms, in as many processes as there are cores, and what came of it.

The fault-free run of a scenario says which calls there are; each of them is struck by everything that can happen to it.
Calls that come only after a fault are not struck again: that would be two faults. Runs are independent and
deterministic, so that a failure is replayed by its own name alone.
"""

import gc
import logging
import multiprocessing
import os
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields

from tests.simulation.runs.disk_storm import DiskStorm
from tests.simulation.runs.driver import Driver, Make, Moment, Run, real
from tests.simulation.runs.faults import Accident, Fault, Injection, parse_fault
from tests.simulation.runs.rolling_storm import RollingStorm
from tests.simulation.runs.scenarios.scenarios import ALL
from tests.simulation.runs.scenarios.scenes import Scenario
from tests.simulation.runs.storm import Storm
from tests.simulation.runs.weather import Weathered


@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts over many runs, and those that went wrong."""

    runs: int = 0
    steps: int = 0
    passes: int = 0
    calls: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    idle: int = 0
    """Faults that struck nothing: there was nothing to lose at that moment."""
    actions: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    endings: Counter[str] = field(default_factory=Counter)
    storms: int = 0
    events: int = 0
    """What was drawn at random: who goes on, with which fault."""
    tolerated: Counter[str] = field(default_factory=Counter)
    """Rules by knowledge, broken where two operators or late requests excuse it."""
    failures: list[str] = field(default_factory=list)

    def add(self, run: Run | Weathered) -> None:
        """Count one run."""
        if isinstance(run, Weathered):
            self._add_storm(run)
            return
        self.runs += 1
        self.steps += run.steps
        self.passes += run.passes
        self.calls += len(run.calls)
        if run.fault is not None:
            self.faults[_kind(run.fault)] += 1
            self.idle += not run.struck
        self._add_end(run)

    def _add_storm(self, storm: Weathered) -> None:
        self.storms += 1
        self.events += storm.events
        self.steps += storm.steps
        self.passes += storm.passes
        self.faults.update(storm.faults)
        self.tolerated.update(storm.tolerated)
        self._add_end(storm)

    def _add_end(self, run: Run | Weathered) -> None:
        self.actions.update(run.actions)
        self.verdicts.update(run.verdicts)
        self.endings[run.ending.says] += 1
        if not run.ok:
            told = "; ".join(map(str, run.violations)) or run.ending.why
            self.failures.append(f"{run.replay}: {told}")

    def join(self, other: "Tally") -> None:
        """Add another tally's counts."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))

    def report(self) -> str:
        """Every count, in lines."""
        return "\n".join(
            (
                f"storms {self.storms}, random events {self.events}, excused: {_told(self.tolerated)}",
                f"runs {self.runs}, steps {self.steps}, passes {self.passes}, calls {self.calls}",
                f"faults {sum(self.faults.values())} ({self.idle} struck nothing): {_told(self.faults)}",
                f"actions: {_told(self.actions)}",
                f"guards: {_told(self.verdicts)}",
                f"endings: {_told(self.endings)}",
                f"failures: {len(self.failures)}",
                *self.failures,
            )
        )


def _kind(fault: Fault) -> str:
    return fault.strike.value if isinstance(fault, Injection) else fault.loss.value


def _told(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))


def scenario(name: str) -> Scenario:
    """The scenario of this name."""
    return next(one for one in ALL if one.name == name)


def faults_of(plain: Run) -> Iterator[Fault]:
    """Every single fault of a scenario, from its fault-free run.

    A moment like the one before it, in which nothing was done either, is not struck again. In a scenario with turns
    only what follows the last one is struck: what comes before is a scenario of its own.
    """
    before: Moment | None = None
    for moment in plain.moments:
        if not moment.turned or (before is not None and _alike(plain, before, moment)):
            continue
        before = moment
        for index in moment.calls:
            for strike in plain.calls[index].strikes():
                yield Injection(call=index, strike=strike)
        for loss, node_id in sorted(moment.losses, key=str):
            yield Accident(step=moment.step, loss=loss, node_id=node_id)


def _alike(plain: Run, one: Moment, other: Moment) -> bool:
    asked, asks = ([str(plain.calls[index]) for index in moment.calls] for moment in (one, other))
    return one.digest == other.digest and asked == asks and not one.acted and not other.acted


def runs_of(names: Iterable[str], *, one_in: int = 1, seed: int = 0) -> list[str]:
    """What replays every run of these scenarios: `scenario/fault`; of the faults a seeded share, with each kind."""
    found: list[str] = []
    drawn: set[str] = set()
    spare: dict[str, str] = {}
    for name in names:
        one = scenario(name)
        found.append(f"{name}/no-fault")
        if one.exhaustive:
            faults = list(faults_of(Driver(one).run()))
            share = random.Random(f"{seed} {name}").sample(faults, len(faults) // one_in)
            found.extend(f"{name}/{fault}" for fault in share)
            drawn.update(map(_kind, share))
            spare.update({_kind(fault): f"{name}/{fault}" for fault in faults if _kind(fault) not in spare})
    return [*found, *(text for kind, text in sorted(spare.items()) if kind not in drawn)]


def replay(text: str, make: Make = real) -> Run:
    """One run by its name: a scenario and a fault."""
    name, _, fault = text.partition("/")
    return Driver(scenario(name), None if fault in {"", "no-fault"} else parse_fault(fault), make=make).run()


def any_replay(text: str, make: Make = real) -> Run | Weathered:
    """One run or one storm by its name."""
    name, _, seed = text.partition("/")
    kinds = {kind.kind: kind for kind in (Storm, RollingStorm, DiskStorm)}
    return kinds[name](int(seed), make=make).run() if name in kinds else replay(text, make)


def explore(
    names: Iterable[str],
    *,
    one_in: int = 1,
    seed: int = 0,
    storms: int = 0,
    rolling: int = 0,
    disks: int = 0,
    tell: Callable[[str], None] = lambda _: None,
) -> Tally:
    """Every run of these scenarios, or a seeded share of them, and so many storms of each kind, on every core.

    `tell` gets a line about how far it is whenever some of them are done.
    """
    texts = runs_of(names, one_in=one_in, seed=seed)
    for kind, wanted in ((Storm.kind, storms), (RollingStorm.kind, rolling), (DiskStorm.kind, disks)):
        texts += [f"{kind}/{number}" for number in range(seed * wanted, seed * wanted + wanted)]
    workers = min(len(texts), os.cpu_count() or 1)
    if workers < 2:
        return _share(texts)
    tally = Tally()
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        random.Random(seed).shuffle(texts)  # so that no core is left with the longest scenario
        chunks = [texts[start : start + 50] for start in range(0, len(texts), 50)]
        for part in pool.imap_unordered(_share, chunks):
            tally.join(part)
            failed = "".join(f"\n{text}" for text in part.failures)
            tell(f"{tally.runs + tally.storms} of {len(texts)} runs, {len(tally.failures)} failures{failed}")
    tally.failures.sort()
    return tally


def _share(texts: list[str]) -> Tally:
    logging.disable(logging.CRITICAL)
    gc.disable()  # every run is thrown away as a whole
    tally = Tally()
    for text in texts:
        tally.add(any_replay(text))
    gc.collect()
    return tally
