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
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from tests.simulation.runs.branches import grown
from tests.simulation.runs.disk_storm import DiskStorm
from tests.simulation.runs.driver import Driver, Make, Moment, Run, real
from tests.simulation.runs.faults import Accident, Fault, Injection, parse_fault
from tests.simulation.runs.rolling_storm import RollingStorm
from tests.simulation.runs.scenarios.scenarios import ALL
from tests.simulation.runs.scenarios.scenes import Scenario
from tests.simulation.runs.storm import Storm
from tests.simulation.runs.tally import Tally, kind_of
from tests.simulation.runs.weather import Weathered

_AT_ONCE: Final = 80
"""So many runs are one share: a hundredth of them is spent on what its faults have in common."""


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
            drawn.update(map(kind_of, share))
            spare.update({kind_of(fault): f"{name}/{fault}" for fault in faults if kind_of(fault) not in spare})
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
    part: tuple[int, int] = (1, 1),
    tell: Callable[[str], None] = lambda _: None,
) -> Tally:
    """Every run of these scenarios, or a seeded share of them, and so many storms of each kind, on every core.

    `part`: (2, 12) is the second of twelve parts, which together are the whole; each has some of everything. `tell`
    gets a line about how far it is whenever some of them are done.
    """
    texts = runs_of(names, one_in=one_in, seed=seed)
    for kind, wanted in ((Storm.kind, storms), (RollingStorm.kind, rolling), (DiskStorm.kind, disks)):
        texts += [f"{kind}/{number}" for number in range(seed * wanted, seed * wanted + wanted)]
    number, parts = part
    random.Random(seed).shuffle(texts)
    texts = texts[number - 1 :: parts]
    tally = Tally()
    with multiprocessing.get_context("spawn").Pool(os.cpu_count() or 1) as pool:
        for done in pool.imap_unordered(_share, shares(texts)):
            tally.join(done)
            failed = "".join(f"\n{text}" for text in done.failures)
            tell(f"{tally.runs + tally.storms} of {len(texts)} runs, {len(tally.failures)} failures{failed}")
    tally.failures.sort()
    return tally


def shares(texts: list[str]) -> list[list[str]]:
    """What one process does at a time: faults of the same scenario together, and no share much longer than another."""
    by_name: dict[str, list[str]] = {}
    for text in texts:
        by_name.setdefault(text.partition("/")[0], []).append(text)
    found = [each[start : start + _AT_ONCE] for each in by_name.values() for start in range(0, len(each), _AT_ONCE)]
    random.Random(len(texts)).shuffle(found)  # so that no core is left with the longest scenario
    return found


def _share(texts: list[str]) -> Tally:
    logging.disable(logging.CRITICAL)
    gc.disable()  # every run is thrown away as a whole
    tally = Tally()
    faults: list[Fault] = []
    for text in texts:
        name, _, fault = text.partition("/")
        if ":" in fault:
            faults.append(parse_fault(fault))
        else:
            tally.add(any_replay(text))
    if faults:
        for one in grown(scenario(name), faults):
            tally.join(one)
    gc.collect()
    return tally
