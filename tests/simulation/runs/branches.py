"""Runs of one scenario that differ only in their fault: each is forked from the run without a fault.

The part before the fault is the same in each run, and is about half of it. It runs once. Before each step the process
forks for every fault that is injected in that step, and the child runs to the end.
"""

import logging
import os
import pickle
import traceback
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeVar

from tests.simulation.runs.choose import driver_of
from tests.simulation.runs.driver import Driver, Run
from tests.simulation.runs.faults import Fault, Injection
from tests.simulation.runs.scenarios.scenes import Scenario
from tests.simulation.runs.tally import Tally

T = TypeVar("T")


class BranchError(Exception):
    """A forked run raised an unexpected exception; the text names the run, and has its traceback."""


def grown(scenario: Scenario, faults: Iterable[Fault], plain: Run | None = None) -> Iterator[Tally]:
    """The runs of a scenario with each of these faults, counted (BranchError). The faults may come in any order.

    `plain` is the run of the scenario without a fault, if it is at hand.
    """
    yield from grown_as(scenario, faults, plain or driver_of(scenario).run(), _counted)


def grown_as(
    scenario: Scenario, faults: Iterable[Fault], plain: Run, count: Callable[[Driver, Fault], T]
) -> Iterator[T]:
    """The same; `count` ends each run in a process of its own, and its result must be picklable."""
    moments = plain.moments
    step_of = {call: moment.step for moment in moments for call in moment.calls}
    dated = [(step_of[fault.call] if isinstance(fault, Injection) else fault.step, fault) for fault in faults]
    stem = driver_of(scenario)
    try:
        stem.begin()
        for step, fault in sorted(dated, key=lambda one: one[0]):
            stem.go_on(step)
            try:
                yield forked(partial(count, stem, fault))
            except BranchError as error:
                raise BranchError(f"{scenario.name}/{fault}: {error}") from None
    finally:
        stem.close()


def _counted(stem: Driver, fault: Fault) -> Tally:
    tally, begun = Tally(), stem.world.steps
    tally.add(stem.end_with(fault), begun=begun)
    return tally


def forked(act: Callable[[], T]) -> T:
    """The result of `act` in a copy of this process, which ends afterwards (BranchError if `act` raises)."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _perform(act, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        content = pipe.read()
    _, status = os.waitpid(child, 0)
    if not content:
        raise BranchError(f"its process ended with status {os.waitstatus_to_exitcode(status)} and said nothing")
    done, value = pickle.loads(content)  # noqa: S301 -- from our own child
    if not done:
        raise BranchError(str(value))
    result: T = value
    return result


def _perform(act: Callable[[], object], writer: int) -> None:
    """The child: it ends through `_exit`, so that nothing of the parent is flushed or ended twice."""
    logging.disable(logging.CRITICAL)
    try:
        try:
            told = pickle.dumps((True, act()))
        except BaseException:  # noqa: BLE001 -- the parent raises it
            told = pickle.dumps((False, traceback.format_exc()))
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(told)
    finally:
        os._exit(0)
