"""A soak: its pieces are every fault once, it goes on where it ended, and its summary says what it has not covered."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import cast

import pytest
from tests.simulation.runs.choose import driver_of
from tests.simulation.runs.explore import STORMS, faults_of, scenario
from tests.simulation.runs.soaking import STORMS_AT_ONCE, Piece, carry_out, pieces_of
from tests.simulation.runs.states import Distinct, state_of
from tests.simulation.runs.summary import markdown, summary
from tests.simulation.runs.tally import Tally, kind_of
from tests.simulation.shares import room_of, sampled
from tests.simulation.soak import FAULTS, PLAIN, STORMY, Progress, Work

pytestmark = pytest.mark.simulation


def piece(name: str, *, cpu_s: float = 1.0, faults: int = 0, tally: Tally | None = None) -> Piece:
    """A piece that is done."""
    states = Distinct().registers
    return Piece(name=name, tally=tally or Tally(), states=states, cpu_s=cpu_s, faults=faults, at_once=4)


@pytest.mark.timeout(600)
def test_the_pieces_of_a_scenario_are_all_of_its_faults() -> None:
    """The pieces of a scenario count each of its single faults once, and no step of the part that their runs share."""
    plain = carry_out("initial-1")
    run = driver_of(scenario("initial-1")).run()
    faults = list(faults_of(run))
    assert plain.faults == len(faults)
    assert (plain.tally.runs, plain.tally.steps, plain.tally.performed) == (1, run.steps, run.steps)
    names = pieces_of("initial-1", len(faults), plain.at_once)
    assert len(names) == -(-len(faults) // plain.at_once)
    done = carry_out(names[-1])
    last = len(faults) % plain.at_once or plain.at_once
    assert done.tally.runs == sum(done.tally.faults.values()) == last
    assert set(done.tally.faults) <= {kind_of(fault) for fault in faults}
    assert 0 < done.tally.performed < done.tally.steps
    assert done.cpu_s > 0


def test_shares_tell_the_operator_from_the_models() -> None:
    """Work in a rule counts for the rules, work in the standard library for who called it, and no timer is left."""

    def frame(path: str, back: FrameType | None) -> FrameType:
        return cast("FrameType", SimpleNamespace(f_code=SimpleNamespace(co_filename=path), f_back=back))

    def seen_from(path: str) -> str:
        return room_of(frame("/usr/lib/python3/json.py", frame(path, None)))

    root = Path(__file__).resolve().parents[3]
    assert seen_from(f"{root}/operator/kit/turns.py") == "operator"
    assert seen_from(f"{root}/tests/simulation/rules/book.py") == "rules"
    assert seen_from(f"{root}/tests/simulation/model/world.py") == "models"
    assert seen_from(f"{root}/tests/simulation/runs/driver.py") == "driver"
    with sampled() as samples:
        until_s = time.process_time() + 0.2
        while time.process_time() < until_s:
            pass
    assert samples["driver"] == samples.total() > 0
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_equal_states_have_equal_texts() -> None:
    """Two runs of a scenario have the same state at their end, and another one has another: ids do not count."""
    texts = []
    for name in ("initial-1", "initial-1", "initial-3"):
        driver = driver_of(scenario(name))
        driver.run()
        texts.append(state_of(driver.world))
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize("number", [0, 1, 500, 60_000])
def test_the_estimate_is_near_the_number(number: int) -> None:
    """The estimate differs by less than five per cent, repetitions do not count, and joined counts count once."""
    one, other = Distinct(), Distinct()
    for index in range(number):
        one.add(str(index))
        one.add(str(index))
        other.add(str(index + number // 2))
    assert abs(one.number() - number) <= number * 0.05
    one.join(other.registers)
    assert abs(one.number() - number * 1.5) <= number * 0.075 + 1
    assert Distinct(one.registers).number() == one.number()


def test_the_three_kinds_of_work_get_the_same_time(tmp_path: Path) -> None:
    """The kind with the least processor time is next; a fault only once its scenario is done; nothing comes twice."""
    progress = Progress.of(tmp_path)
    work = Work(progress, storms=0)
    first = work.next(endless=True)
    assert first is not None
    assert "#" not in first
    assert "@" not in first
    progress.add(done := piece(first, cpu_s=5.0, faults=9))
    work.learn(done)
    progress.add(piece("storm@0", cpu_s=7.0))
    assert work.next(endless=True) == f"{first}#0"
    progress.kinds_s |= {FAULTS: 9.0, PLAIN: 9.0}
    found = [work.next(endless=True) for _ in range(2 * len(STORMS) - 1)]
    left = [f"{kind}@0" for kind in STORMS if kind != "storm"]
    assert found == [*left, *(f"{kind}@{STORMS_AT_ONCE}" for kind in STORMS)]


def test_a_soak_goes_on_where_it_ended(tmp_path: Path) -> None:
    """After a save nothing is lost, what is done is not done again, and without hours enough storms are enough."""
    progress = Progress.of(tmp_path)
    tally = Tally(runs=1, steps=9, performed=7)
    tally.verdicts["1-start no"] += 3
    progress.add(piece("initial-1", cpu_s=2.5, faults=9, tally=tally))
    progress.add(piece("initial-1#4"))
    progress.states.add("a state")
    progress.save()
    again = Progress.of(tmp_path)
    assert (again.tally, again.done, again.sizes) == (progress.tally, progress.done, {"initial-1": (9, 4)})
    assert again.states.number() == 1
    assert again.covered().faults == {"initial-1": 4}
    assert again.kinds_s == {PLAIN: 2.5, FAULTS: 1.0, STORMY: 0.0}
    work = Work(again, storms=0)
    names = []
    while (name := work.next(endless=False)) is not None:
        names.append(name)
    assert "initial-1" not in names
    assert [name for name in names if "#" in name] == ["initial-1#0", "initial-1#8"]
    assert not any("@" in name for name in names)
    assert len(set(names)) == len(names)


@pytest.mark.timeout(300)
def test_a_soak_that_is_ended_leaves_no_process_and_a_summary(tmp_path: Path) -> None:
    """SIGTERM ends a soak as Ctrl-C does: its processes end with it, and the summary is of what is done."""
    command = (sys.executable, "-m", "tests.simulation.soak", "--keep", str(tmp_path), "--processes", "1")
    with (tmp_path / "told").open("w") as told, subprocess.Popen(command, stderr=told, stdout=told) as soak:
        while not (workers := _children(soak.pid)):
            assert soak.poll() is None
            time.sleep(0.1)
        soak.terminate()
        soak.wait()
    end_s = time.monotonic() + 20.0
    while left := [pid for pid in workers if Path(f"/proc/{pid}").exists()]:
        if time.monotonic() > end_s:
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            pytest.fail(f"{len(left)} of {len(workers)} processes stayed")
        time.sleep(0.1)
    assert soak.returncode == 0
    assert f"kept in {tmp_path}" in (tmp_path / "told").read_text()


def _children(pid: int) -> list[int]:
    """The processes that do the work of a soak, and the one that tracks what they share."""
    found = [int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return found if len(found) >= 2 else []


def test_the_summary_names_what_was_not_covered(tmp_path: Path) -> None:
    """The summary names guards that never refused or never permitted, and how much of everything is done."""
    progress = Progress.of(tmp_path)
    tally = Tally(runs=1, performed=100)
    tally.verdicts.update({"1-start no": 3, "2-run yes": 1})
    tally.failures.append("initial-1/no-fault: it failed")
    progress.add(piece("initial-1", faults=9, tally=tally))
    told = summary(progress.tally, 5, progress.covered(), wall_s=2.0, cpu_s=4.0)
    assert told["single_faults"] == [0, 9]
    assert told["scenarios"][0] == 1 < told["scenarios"][1]
    assert told["steps_per_cpu_second"] == 25
    assert "1-start" not in told["never_refused"]
    assert "1-start" in told["never_permitted"]
    text = markdown(told)
    assert "| single faults | 0 of 9 |" in text
    assert "| 1-start | 0 | 3 |" in text
    assert "initial-1/no-fault: it failed" in text
