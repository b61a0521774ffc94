"""Every single fault of every scenario, and storms, with one process per core, and their results.

The run of a scenario without a fault lists the calls; each of them gets every possible fault. Calls that come
only after a fault get no fault, because that would be two faults. Runs are independent and deterministic, so a
failure is replayed by its name alone.
"""

import contextlib
import functools
import gc
import logging
import multiprocessing
import os
import random
import tempfile
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Final

from tests.simulation.runs.branches import grown
from tests.simulation.runs.certificate_storm import CertificateStorm
from tests.simulation.runs.choose import driver_of
from tests.simulation.runs.disk_storm import DiskStorm
from tests.simulation.runs.driver import Make, Moment, Run, real
from tests.simulation.runs.faults import Accident, Fault, Injection, parse_fault
from tests.simulation.runs.kept import Kept
from tests.simulation.runs.pool_storm import PoolStorm, RivalStorm
from tests.simulation.runs.rolling_storm import RollingStorm
from tests.simulation.runs.scenarios.migration_scenarios import WITH_POOLS
from tests.simulation.runs.scenarios.pool_quorum_scenarios import TRUST_WITH_POOLS
from tests.simulation.runs.scenarios.pool_scenarios import POOL_SCENARIOS
from tests.simulation.runs.scenarios.scenarios import ALL
from tests.simulation.runs.scenarios.scenes import Scenario
from tests.simulation.runs.scenarios.streams_scenarios import STREAMS_SCENES
from tests.simulation.runs.scenarios.zookeeper_scenarios import BESIDE_STAGES
from tests.simulation.runs.storm import Storm
from tests.simulation.runs.streams_scenes import KIND, StreamsScene
from tests.simulation.runs.streams_storm import StreamsRivalStorm, StreamsRoughStorm, StreamsStorm
from tests.simulation.runs.tail_storm import TailStorm
from tests.simulation.runs.tally import Tally, kind_of
from tests.simulation.runs.weather import Weathered

_FAULTS_AT_ONCE: Final = 300
"""The number of single faults in one share: a thirtieth of its time goes to the part that they share."""
_STORMS_AT_ONCE: Final = 10
"""The number of storms in one share: they share no part."""
_PLAIN: Final = 99_999
"""The number under which the runs without a fault are kept: the draw makes them, because they list the faults."""
STORMS: Final = {
    kind.kind: kind
    for kind in (
        Storm,
        RollingStorm,
        DiskStorm,
        PoolStorm,
        RivalStorm,
        StreamsStorm,
        StreamsRivalStorm,
        StreamsRoughStorm,
        TailStorm,
        CertificateStorm,
    )
}


_LONG: Final = 10
"""In a share of all faults, a long scenario gets so many times fewer than the others; never if all are asked for."""
_MANY: Final = 6_000
"""A scenario with more faults than this is long: one run of it takes many times as long as the others' runs."""


def every_scenario() -> tuple[Scenario, ...]:
    """Every scenario there is; no two have the same name."""
    return (*ALL, *POOL_SCENARIOS, *WITH_POOLS, *TRUST_WITH_POOLS, *BESIDE_STAGES)


def scenario(name: str) -> Scenario:
    """The scenario of this name."""
    return next(one for one in every_scenario() if one.name == name)


def faults_of(plain: Run) -> Iterator[Fault]:
    """Every single fault of a scenario, from its fault-free run.

    A moment like the one before it, in which nothing was done either, gets no further fault. In a scenario with turns
    only the part after the last turn gets faults: another scenario covers the part before.
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
            if loss in plain.scenario.spares:
                continue
            yield Accident(step=moment.step, loss=loss, node_id=node_id)


def _alike(plain: Run, one: Moment, other: Moment) -> bool:
    asked, asks = ([str(plain.calls[index]) for index in moment.calls] for moment in (one, other))
    return one.digest == other.digest and asked == asks and not one.acted and not other.acted


def runs_of(names: Iterable[str], *, one_in: int = 1, seed: int = 0) -> list[str]:
    """The names of all runs of these scenarios, `scenario/fault`: a seeded share of the faults, with every kind."""
    names = list(names)
    drawn = [_drawn(name, one_in=one_in, seed=seed) for name in names]
    return [*(f"{name}/no-fault" for name in names), *_faults_of_all(drawn, every_kind=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawn:
    """The run of a scenario without a fault, a share of its faults, and the name of one run with each kind of fault."""

    name: str
    plain: Tally
    share: list[Fault]
    one_of_each_kind: dict[str, str]


def _drawn(name: str, *, one_in: int, seed: int) -> _Drawn:
    one, plain = scenario(name), Tally()
    run = driver_of(one).run()
    plain.add(run)
    faults = list(faults_of(run)) if one.exhaustive else []
    rarer = _LONG if one_in > 1 and (one.long or len(faults) > _MANY) else 1
    share = random.Random(f"{seed} {name}").sample(faults, len(faults) // (one_in * rarer))
    kinds = {kind_of(fault): f"{name}/{fault}" for fault in reversed(faults)}
    gc.collect()
    return _Drawn(name=name, plain=plain, share=share, one_of_each_kind=kinds)


def _faults_of_all(drawn: list[_Drawn], *, every_kind: bool) -> list[str]:
    """The names of the runs with a fault: all shares, and one run more for each kind that is in none of them."""
    found = [f"{one.name}/{fault}" for one in drawn for fault in one.share]
    if not every_kind:
        return found
    reached = {kind_of(fault) for one in drawn for fault in one.share}
    spare = {kind: text for one in reversed(drawn) for kind, text in one.one_of_each_kind.items()}
    return [*found, *(text for kind, text in sorted(spare.items()) if kind not in reached)]


def replay(text: str, make: Make = real) -> Run:
    """One run by its name: a scenario and a fault."""
    name, _, fault = text.partition("/")
    return driver_of(scenario(name), None if fault in {"", "no-fault"} else parse_fault(fault), make=make).run()


def any_replay(text: str, make: Make = real) -> Run | Weathered:
    """One run, one storm or one scene by its name."""
    name, _, seed = text.partition("/")
    if name == KIND:
        return StreamsScene(STREAMS_SCENES[seed]).run()
    return STORMS[name](int(seed), make=make).run() if name in STORMS else replay(text, make)


def run_name(text: str) -> str:
    """The name of a run, a storm or a scene, for a command line (`ArgumentTypeError` says what is wrong with it)."""
    name, _, rest = text.partition("/")
    if name in STORMS:
        if rest.isdecimal():
            return text
        raise ArgumentTypeError(f"{text!r}: a storm is KIND/SEED, and a seed is a number")
    if name == KIND:
        if rest in STREAMS_SCENES:
            return text
        raise ArgumentTypeError(f"{text!r}: there is no scene {rest!r}, only {', '.join(STREAMS_SCENES)}")
    if all(one.name != name for one in every_scenario()):
        raise ArgumentTypeError(f"{text!r}: there is no scenario {name!r}, and no kind of storm ({', '.join(STORMS)})")
    try:
        if rest not in {"", "no-fault"}:
            parse_fault(rest)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r}: {error}") from None
    return text


def explore(  # noqa: PLR0913 - one number for each kind of storm
    names: Iterable[str],
    *,
    one_in: int = 1,
    every_kind: bool = True,
    seed: int = 0,
    storms: int = 0,
    rolling: int = 0,
    disks: int = 0,
    pools: int = 0,
    rivals: int = 0,
    streams: int = 0,
    streams_rivals: int = 0,
    streams_rough: int = 0,
    tails: int = 0,
    certificates: int = 0,
    keep: Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Tally:
    """Every run of these scenarios, or a seeded share of them, and so many storms of each kind, on every core.

    `every_kind`: a share has one run at least with each kind of fault; that alone is some forty runs. `keep`: a folder
    for all completed shares, so that an interrupted exploration can continue. `tell` gets a line about the progress
    whenever some shares are done.
    """
    names = list(names)
    counts = (storms, rolling, disks, pools, rivals, streams, streams_rivals, streams_rough, tails, certificates)

    with contextlib.ExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kept = Kept(folder, repr((names, one_in, every_kind, seed, counts)))
        pool = stack.enter_context(multiprocessing.get_context("spawn").Pool(os.cpu_count() or 1, _prepare))

        def draw() -> list[list[str]]:
            drawn, plain = [], Tally()
            for one in pool.imap(functools.partial(_drawn, one_in=one_in, seed=seed), names):
                drawn.append(one)
                plain.join(one.plain)
                tell(f"{plain.runs} of {len(names)} scenarios without a fault{_failures(plain, one.plain)}")
            kept.keep(_PLAIN, plain)
            texts = _faults_of_all(drawn, every_kind=every_kind)
            for kind, wanted in zip(STORMS, counts, strict=True):
                texts += [f"{kind}/{number}" for number in range(seed * wanted, seed * wanted + wanted)]
            return shares(texts)

        return _explored(kept, draw, pool, tell)


def _explored(kept: Kept, draw: Callable[[], list[list[str]]], pool: Pool, tell: Callable[[str], None]) -> Tally:
    """The sum of all shares; those that are not kept yet are run now."""
    every, tally = kept.shares(draw), Tally()
    if kept.counted(_PLAIN) is None:
        draw()
    counted = {number: done for number in (_PLAIN, *range(len(every))) if (done := kept.counted(number)) is not None}
    for done in counted.values():
        tally.join(done)
    left = [(number, share) for number, share in enumerate(every) if number not in counted]
    total = tally.runs + tally.storms + sum(len(share) for _, share in left)
    tell(f"{tally.runs + tally.storms} of {total} runs are done")
    for number, done in pool.imap_unordered(_share, left):
        kept.keep(number, done)
        tally.join(done)
        tell(f"{tally.runs + tally.storms} of {total} runs{_failures(tally, done)}")
    tally.failures.sort()
    return tally


def _failures(tally: Tally, latest: Tally) -> str:
    """How many runs have failed, and the replay names of the latest ones."""
    return f", {len(tally.failures)} failures" + "".join(f"\n{text}" for text in latest.failures)


def shares(texts: list[str]) -> list[list[str]]:
    """The work of one process at a time: faults of one scenario together, and all shares of about equal length."""
    by_name: dict[str, list[str]] = {}
    for text in texts:
        by_name.setdefault(text.partition("/")[0], []).append(text)
    found = []
    for name, each in by_name.items():
        size = _STORMS_AT_ONCE if name in STORMS else _FAULTS_AT_ONCE
        found += [each[start : start + size] for start in range(0, len(each), size)]
    random.Random(len(texts)).shuffle(found)  # so that no core works alone on the longest scenario at the end
    return found


def _prepare() -> None:
    """A process of the pool: without logs, and without a search for garbage while a run goes on."""
    logging.disable(logging.CRITICAL)
    gc.disable()
    gc.freeze()


def _share(share: tuple[int, list[str]]) -> tuple[int, Tally]:
    number, texts = share
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
    return number, tally
