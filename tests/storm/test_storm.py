"""A storm with an error in its own program undoes its blows, reports, and fails."""

import re
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import storm.__main__ as program
from harness.quorum import Quorum
from harness.shell import CommandFailed
from storm import actions
from storm.checker import TOOL
from storm.report import Report
from storm.rounds import Blow, Kind, Round, rounds
from storm.stage import NoVictim


def made(where: Path, *, first: int = 1) -> program.Storm:
    """A storm of seed 1 that has not started."""
    return program.Storm(Report(seed=1, where=where), rounds(1), first=first, until_s=time.monotonic())


def round_of(*kinds: Kind) -> Round:
    """A round of these blows, all at once."""
    return Round(number=1, blows=tuple(Blow(kind=kind, at_s=0.0) for kind in kinds), found=3, replicas=3)


def failed(storm: program.Storm) -> list[str]:
    """The rules that are broken."""
    return [failure.rule for failure in storm._checker.failures]


@pytest.mark.parametrize("error", [AssertionError("no sandbox"), RuntimeError("x"), StopIteration()])
def test_a_blow_that_fails(error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a blow that fails, the round continues and the earlier blows are undone; the storm fails."""
    undone: list[Kind] = []

    def strike(_: object, blow: Blow) -> Any:  # noqa: ANN401 - what undoes it
        if blow.kind is Kind.SANDBOX:
            raise error
        return lambda: undone.append(blow.kind)

    monkeypatch.setattr(program, "strike", strike)
    storm = made(tmp_path)
    struck, missed = storm._strike(round_of(Kind.FROZEN, Kind.SANDBOX, Kind.CUT))
    assert (len(struck), missed, undone) == (2, 1, [Kind.FROZEN, Kind.CUT])
    assert failed(storm) == [TOOL]
    assert not storm._checker.fatal


@pytest.mark.parametrize("error", [NoVictim("nobody"), CommandFailed("gone"), KeyError("podName")])
def test_a_blow_that_finds_nobody(error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A victim that is already gone is counted, and is no failure."""

    def strike(_: object, __: Blow) -> None:
        raise error

    monkeypatch.setattr(program, "strike", strike)
    storm = made(tmp_path)
    assert storm._strike(round_of(Kind.POD)) == ((), 1)
    assert not failed(storm)


def test_an_undo_that_fails(tmp_path: Path) -> None:
    """After an undo that fails, all others are still undone, none twice; the storm fails."""
    storm, done = made(tmp_path), list[str]()

    def fails() -> None:
        done.append("node")
        raise AssertionError("after 180 s still not: node is ready")

    open_: list[Any] = [
        (0.0, Blow(kind=Kind.NODE_OFF, at_s=0.0), fails),
        (0.0, Blow(kind=Kind.BAD_SPEC, at_s=0.0), lambda: done.append("spec")),
    ]
    storm._undo(open_, time.monotonic(), None)
    storm._undo(open_, time.monotonic(), None)
    assert done == ["node", "spec"]
    assert failed(storm) == [TOOL]


def test_a_failure_of_the_program_ends_with_1(tmp_path: Path) -> None:
    """The report names a failure of the program, and the exit code is that of a broken rule."""
    storm = made(tmp_path)
    assert storm._attempt("a round", lambda: 1) == 1
    assert storm._attempt("a round", dict[str, int]().popitem) is None
    assert storm._report.end(storm._checker, "no writes") == 1  # type: ignore[arg-type]  # it is only printed
    assert re.search(f"{TOOL}.*KeyError", (tmp_path / "storm.log").read_text())


@pytest.mark.parametrize("first", [1, 2, 7, 20])
def test_the_quorum_is_made_as_the_first_round_finds_it(
    first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `--first-round` the quorum starts with as many controllers as the earlier rounds would have left."""
    storm, applied = made(tmp_path, first=first), list[dict[str, Any]]()
    monkeypatch.setattr(program, "kubectl", lambda *_, **__: "")
    monkeypatch.setattr(Quorum, "apply", lambda _, spec: applied.append(spec))
    monkeypatch.setattr(Quorum, "wait_ready", lambda _: None)
    left = 3
    for drawn in rounds(1):
        if drawn.number == first:
            break
        left = drawn.replicas
    storm._make(next(iter(storm._drawn)))
    assert [spec["controllers"]["replicas"] for spec in applied] == [left]
    assert applied[0]["controllers"]["replacement"] == {"lostNodeAfterSeconds": 45}


def test_a_controller_that_has_just_left_its_node_is_no_victim() -> None:
    """If the controller has left its Kubernetes node before the blow, no node is struck."""
    quorum = SimpleNamespace(status=dict, pods=dict)
    stage: Any = SimpleNamespace(worker=lambda *_, **__: "worker-1", quorum=quorum)
    blow: Any = None
    with pytest.raises(NoVictim, match="worker-1"):
        actions._node_lost(stage, blow)
