"""Runs that are forked from the one without a fault: they are the same as from their beginning, and none gets lost."""

import os
import random
from collections.abc import Callable

import pytest
from tests.simulation.runs.branches import BranchError, forked, grown
from tests.simulation.runs.driver import Driver
from tests.simulation.runs.explore import explore, faults_of, replay, scenario, shares
from tests.simulation.runs.tally import Tally


@pytest.mark.simulation
@pytest.mark.parametrize("name", ["scale-3-to-5", "lost-node", "refused-pod-set-back-1"])
def test_a_forked_run_is_the_run_from_its_beginning(name: str) -> None:
    """Steps, passes, calls, actions, verdicts and the end are the same, whatever order the faults are in."""
    faults = list(faults_of(Driver(scenario(name)).run()))
    drawn = random.Random(f"forked {name}").sample(faults, 6)
    for fault, tally in zip(sorted(drawn, key=_step_of(name)), grown(scenario(name), drawn), strict=True):
        wanted = Tally()
        wanted.add(replay(f"{name}/{fault}"))
        assert tally == wanted, f"{name}/{fault}"


def _step_of(name: str) -> Callable[[object], int]:
    moments = Driver(scenario(name)).run().moments
    steps = {f"call:{call}:": moment.step for moment in moments for call in moment.calls}

    def step(fault: object) -> int:
        kind, number, _ = str(fault).split(":", 2)
        return steps[f"call:{number}:"] if kind == "call" else int(number)

    return step


def test_what_a_forked_run_raises_names_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that ends in an exception is no run that went well: the exploration ends, and says which it was."""
    fault = next(faults_of(Driver(scenario("initial-1")).run()))
    monkeypatch.setattr(Driver, "end_with", _raises)
    with pytest.raises(BranchError, match=f"initial-1/{fault}: (?s:.*)ValueError: nobody expects this"):
        list(grown(scenario("initial-1"), [fault]))


def _raises(_: Driver, __: object) -> None:
    raise ValueError("nobody expects this")


def test_a_process_that_says_nothing_is_no_result() -> None:
    """A forked process that dies half-way is an error with its status."""
    with pytest.raises(BranchError, match="status 7 and said nothing"):
        forked(lambda: os._exit(7))


def test_shares_hold_every_run_once() -> None:
    """However runs are divided among processes, each of them is performed exactly once."""
    texts = [f"s{number % 7}/{number}" for number in range(2000)]
    divided = shares(texts)
    assert sorted(text for share in divided for text in share) == sorted(texts)
    assert all(len({text.partition("/")[0] for text in share}) == 1 for share in divided)


@pytest.mark.simulation
@pytest.mark.timeout(300)
def test_parts_together_are_the_whole() -> None:
    """Each run belongs to one of the parts, and their counts add up to those of the whole."""
    whole = explore(["initial-1"], one_in=20, storms=1)
    parts = [explore(["initial-1"], one_in=20, storms=1, part=(number, 3)) for number in (1, 2, 3)]
    added = Tally()
    for part in parts:
        added.join(part)
    assert added == whole
    assert all(part.runs > 10 for part in parts)
