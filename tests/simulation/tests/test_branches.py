"""Forked runs: they equal runs from the beginning, and none is lost."""

import os
import random
import sys
from argparse import ArgumentTypeError
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from tests.simulation.runs.branches import BranchError, forked, grown
from tests.simulation.runs.driver import Driver
from tests.simulation.runs.explore import explore, faults_of, replay, run_name, scenario, shares
from tests.simulation.runs.kept import Kept
from tests.simulation.runs.tally import Tally


@pytest.mark.simulation
@pytest.mark.parametrize("name", ["scale-3-to-5", "lost-node", "refused-pod-set-back-1"])
def test_a_forked_run_is_the_run_from_its_beginning(name: str) -> None:
    """Steps, passes, calls, actions, verdicts and endings are the same, in any order of the faults.

    It carries out only the steps from that of its fault on.
    """
    faults = list(faults_of(Driver(scenario(name)).run()))
    drawn = random.Random(f"forked {name}").sample(faults, 6)
    step_of = _step_of(name)
    for fault, tally in zip(sorted(drawn, key=step_of), grown(scenario(name), drawn), strict=True):
        wanted = Tally()
        wanted.add(replay(f"{name}/{fault}"), begun=step_of(fault))
        assert tally == wanted, f"{name}/{fault}"


def _step_of(name: str) -> Callable[[object], int]:
    moments = Driver(scenario(name)).run().moments
    steps = {f"call:{call}:": moment.step for moment in moments for call in moment.calls}

    def step(fault: object) -> int:
        kind, number, _ = str(fault).split(":", 2)
        return steps[f"call:{number}:"] if kind == "call" else int(number)

    return step


def test_what_a_forked_run_raises_names_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A forked run that ends in an exception ends the exploration, and the error names the run."""
    fault = next(faults_of(Driver(scenario("initial-1")).run()))
    monkeypatch.setattr(Driver, "end_with", _raises)
    with pytest.raises(BranchError, match=f"initial-1/{fault}: (?s:.*)ValueError: an unexpected error"):
        list(grown(scenario("initial-1"), [fault]))


def _raises(_: Driver, __: object) -> None:
    raise ValueError("an unexpected error")


def test_a_process_that_says_nothing_is_no_result() -> None:
    """A forked process that ends without a result is an error with its status."""
    with pytest.raises(BranchError, match=r"\b7\b"):
        forked(lambda: os._exit(7))


def test_shares_hold_every_run_once() -> None:
    """Shares divide all runs among processes so that each run is performed exactly once."""
    texts = [f"s{number % 7}/{number}" for number in range(2000)]
    divided = shares(texts)
    assert sorted(text for share in divided for text in share) == sorted(texts)
    assert all(len({text.partition("/")[0] for text in share}) == 1 for share in divided)


@pytest.mark.simulation
@pytest.mark.timeout(300)
def test_an_exploration_goes_on_where_it_was(tmp_path: Path) -> None:
    """Kept shares are not run again, the sum is the same, and a lost share is run again."""
    whole = explore(["initial-1"], one_in=60, storms=1)
    assert explore(["initial-1"], one_in=60, storms=1, keep=tmp_path) == whole
    lost, *kept = sorted(tmp_path.glob("*/share-*.json"))
    before = {path: path.stat().st_mtime_ns for path in kept}
    lost.unlink()
    assert explore(["initial-1"], one_in=60, storms=1, keep=tmp_path) == whole
    assert lost.exists()
    assert {path: path.stat().st_mtime_ns for path in kept} == before


def test_another_question_finds_nothing_kept(tmp_path: Path) -> None:
    """The result for one seed is no answer for another one; a share that is not done differs from an empty one."""
    one, other = Kept(tmp_path, "seed 1"), Kept(tmp_path, "seed 2")
    wanted = Tally(runs=3, faults=Counter(error=2), failures=["initial-1/call:3:error: rule 3"])
    one.keep(0, wanted)
    assert one.counted(0) == wanted
    assert one.counted(1) is None
    assert other.counted(0) is None


def test_what_is_kept_is_of_one_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a change of any loaded module an exploration starts again."""
    module = tmp_path / "changes.py"
    module.write_text("A = 1")
    monkeypatch.setattr("tests.simulation.runs.kept._ROOT", tmp_path)
    loaded = ModuleType("changes")
    loaded.__file__ = str(module)
    monkeypatch.setitem(sys.modules, "changes", loaded)
    first = Kept(tmp_path, "seed 1")
    assert Kept(tmp_path, "seed 1").folder == first.folder
    module.write_text("A = 2")
    assert Kept(tmp_path, "seed 1").folder != first.folder


@pytest.mark.parametrize(
    "name",
    ["storm/7", "streams-scene/an-offline-way", "initial-3", "initial-3/no-fault", "initial-3/step:4:process:3000"],
)
def test_the_names_that_failures_print_are_names_of_runs(name: str) -> None:
    """A command line takes a storm, a scene, a scenario, and a scenario with its fault."""
    assert run_name(name) == name


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nosuch/1", "no scenario 'nosuch'"),
        ("storm/x", "a seed is a number"),
        ("streams-scene/x", "no scene 'x'"),
        ("initial-3/foo", "step:NUMBER:LOSS:NODE"),
        ("initial-3/step:1:bogus:1", "bogus"),
    ],
)
def test_what_is_wrong_with_the_name_of_a_run_is_said(name: str, says: str) -> None:
    """A command line ends with a sentence, and not with a traceback."""
    with pytest.raises(ArgumentTypeError, match=says):
        run_name(name)
