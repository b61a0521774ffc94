"""The work of a soak, in pieces of some seconds: a share of the single faults of a scenario, or a few storms.

Every piece has a name, and the same name is the same work. The faults of a scenario are in a random order that never
changes, so that its first pieces are a random sample of all of them.
"""

import gc
import logging
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from tests.simulation.runs.branches import grown_as
from tests.simulation.runs.choose import driver_of
from tests.simulation.runs.driver import Driver, Run
from tests.simulation.runs.explore import STORMS, any_replay, faults_of, scenario
from tests.simulation.runs.faults import Fault
from tests.simulation.runs.states import States
from tests.simulation.runs.tally import Tally

STORMS_AT_ONCE: Final = 4
_STEPS_AT_ONCE: Final = 2500
"""A piece of a scenario's faults has about so many steps: some ten seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What was counted in a piece of work."""

    name: str
    tally: Tally
    states: bytes
    """The registers of `Distinct`, of all pieces that this process has carried out."""
    cpu_s: float
    faults: int = 0
    """Of a scenario without a fault: how many single faults it has."""
    at_once: int = 1
    """How many of them make a piece."""


def pieces_of(name: str, faults: int, at_once: int) -> list[str]:
    """The names of the pieces with the faults of a scenario."""
    return [f"{name}#{start}" for start in range(0, faults, at_once)]


def storm_piece(kind: str, first: int) -> str:
    """The name of a piece with the storms of this kind from this seed on."""
    return f"{kind}@{first}"


def prepare() -> None:
    """A process for pieces: it has no logs, and looks for garbage only between them."""
    logging.disable(logging.CRITICAL)
    gc.disable()
    gc.freeze()
    _states()


def carry_out(name: str) -> Piece:
    """Do a piece of work by its name: a `SCENARIO` without a fault, `SCENARIO#FIRST` faults, `KIND@FIRST` storms."""
    began_s, tally, faults, at_once = time.process_time(), Tally(), 0, 1
    if "@" in name:
        kind, _, first = name.partition("@")
        for seed in range(int(first), int(first) + STORMS_AT_ONCE):
            tally.add(any_replay(f"{kind}/{seed}"))
    elif "#" in name:
        of, _, first = name.partition("#")
        began_s -= _forked(of, int(first), tally)
    else:
        plain, every = _plain(name)
        tally.add(plain)
        faults, at_once = len(every), _at_once(plain)
    gc.collect()
    cpu_s = time.process_time() - began_s
    registers = _states().distinct.registers
    return Piece(name=name, tally=tally, states=registers, cpu_s=cpu_s, faults=faults, at_once=at_once)


def _forked(name: str, first: int, tally: Tally) -> float:
    """The runs with some faults of a scenario; returns the processor time of their own processes in seconds."""
    plain, every = _plain(name)
    chosen, spent_s = every[first : first + _at_once(plain)], 0.0
    for counted, registers, cpu_s in grown_as(scenario(name), chosen, plain, _counted):
        tally.join(counted)
        _states().distinct.join(registers)
        spent_s += cpu_s
    return spent_s


def _counted(stem: Driver, fault: Fault) -> tuple[Tally, bytes, float]:
    tally, begun, began_s = Tally(), stem.world.steps, time.process_time()
    tally.add(stem.end_with(fault), begun=begun)
    return tally, _states().distinct.registers, time.process_time() - began_s


def _at_once(plain: Run) -> int:
    return max(4, _STEPS_AT_ONCE // max(1, plain.steps))


@lru_cache(maxsize=2)
def _plain(name: str) -> tuple[Run, list[Fault]]:
    """The run of a scenario without a fault, and its faults in an order of their own."""
    one = scenario(name)
    run = driver_of(one).run()
    faults = list(faults_of(run)) if one.exhaustive else []
    random.Random(f"order {name}").shuffle(faults)
    return run, faults


@lru_cache(maxsize=1)
def _states() -> States:
    """The states that this process has seen."""
    return States()


class Storms:
    """The names of pieces with storms, kind by kind, without end; those that are done are left out."""

    def __init__(self, done: set[str]) -> None:
        """Begin with the first seeds."""
        self._done = done

    def __iter__(self) -> Iterator[str]:
        """Every kind in turn, with higher and higher seeds."""
        first = 0
        while True:
            yield from (name for kind in STORMS if (name := storm_piece(kind, first)) not in self._done)
            first += STORMS_AT_ONCE
