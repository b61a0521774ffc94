"""Guards cannot be forgotten: each is registered once, in the file of its rule, and gives its action's only permit."""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest
from mypy import api
from tests.model.values import bound, permit, write

from kafka_quorum.model import actions
from kafka_quorum.model.permit import Guard, Permit, Refusal, RunImage, WrongPermitError, required
from kafka_quorum.plan import planner
from kafka_quorum.plan.guards.registry import GUARDS, Answer, allowed, guard, no, unless, yes

ROOT = Path(planner.__file__).parents[3]
OPERATOR = ROOT / "operator" / "kafka_quorum"
EVERY = {kind.id: kind for kind in Guard.__subclasses__()}
PERMITTED = [kind for kind in get_args(actions.Action) if any(each.name == "permit" for each in fields(kind))]


@pytest.mark.parametrize("id_", EVERY)
def test_every_guard_is_registered_in_the_file_of_its_rule(id_: str) -> None:
    """A guard is a function of the file whose name has the number of its safety rule."""
    assert GUARDS[id_].rsplit(".", 1)[1].startswith(f"rule{id_[0]}_")


def test_no_guard_is_registered_without_a_class() -> None:
    """What is registered and what has a class are the same, and the safety rules name every one of them."""
    assert GUARDS.keys() == EVERY.keys()
    documented = set(re.findall(r"`([1-8]-[a-z-]+)`", (ROOT / "docs" / "safety.md").read_text()))
    assert documented == GUARDS.keys()


def test_a_guard_is_registered_once() -> None:
    """A second function under the same class is a mistake, and is refused at once."""
    with pytest.raises(ValueError, match="5-restart is registered twice"):
        guard(EVERY["5-restart"])(lambda: yes("again"))


def calls(tree: ast.Module, *names: str) -> Iterator[str]:
    """Which of these names the module calls, a class in brackets included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            of = node.func.value if isinstance(node.func, ast.Subscript) else node.func
            name = of.id if isinstance(of, ast.Name) else getattr(of, "attr", "")
            if name in names:
                yield name


def test_only_the_registry_makes_permits() -> None:
    """No other module of the operator constructs a permit or a refusal."""
    makers = {path for path in OPERATOR.rglob("*.py") if list(calls(ast.parse(path.read_text()), "Permit", "Refusal"))}
    assert {path.name for path in makers} == {"registry.py"}


@pytest.mark.parametrize("kind", PERMITTED, ids=lambda kind: kind.__name__)
def test_an_action_refuses_the_permit_of_another_guard(kind: type[Any]) -> None:
    """A permit that another guard gave constructs no action, and neither does none."""
    given: dict[str, Any] = {each.name: None for each in fields(kind) if each.name != "permit"}
    if kind is actions.DecideRecord:
        given["change"] = actions.RecordChange.STARTED
    with pytest.raises(WrongPermitError, match="is needed, and not one of 7-image"):
        kind(**given, permit=permit(RunImage))
    with pytest.raises(TypeError):
        kind(**given)


@pytest.mark.parametrize("change", actions.DECISIONS, ids=lambda change: change.value)
def test_a_decision_takes_its_permit(change: actions.RecordChange) -> None:
    """What decides for good is never written as a plain change of the record."""
    assert isinstance(write(bound(), change), actions.DecideRecord)
    with pytest.raises(WrongPermitError, match=actions.DECISIONS[change].id):
        actions.WriteRecord(record=bound(), change=change, message="m")


def test_acts_on_the_quorum_and_on_what_holds_its_data_take_a_permit() -> None:
    """Whatever makes an identity, formats, runs, stops, deletes or changes the quorum takes a permit."""
    assert {kind.__name__ for kind in PERMITTED} == {
        "AddRaftVoter",
        "BeginFeatureStep",
        "BeginOperation",
        "CreateFormatter",
        "CreatePod",
        "CureGhost",
        "DecideRecord",
        "DeleteClaim",
        "DeletePod",
        "MintIdentity",
        "RemoveRaftVoter",
        "RestartPod",
        "StepFeature",
    }


def test_mypy_refuses_an_action_without_its_permit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The type checker knows which permit an action needs: none, a refusal and another guard's are errors."""
    source = """
from kafka_quorum.model.actions import RestartPod
from kafka_quorum.model.pods import Pod
from kafka_quorum.model.permit import Permit, Refusal, Restart, Run

def all_of(pod: Pod, own: Permit[Restart], other: Permit[Run], verdict: Permit[Restart] | Refusal) -> None:
    RestartPod(pod=pod, evict=True, message="", permit=own)
    RestartPod(pod=pod, evict=True, message="")
    RestartPod(pod=pod, evict=True, message="", permit=other)
    RestartPod(pod=pod, evict=True, message="", permit=verdict)
"""
    sample = tmp_path / "sample.py"
    sample.write_text(source)
    monkeypatch.chdir(ROOT)
    out, _, _ = api.run(["--config-file", "pyproject.toml", str(sample)])
    found = re.findall(r"sample\.py:(\d+): error: .*\[([a-z-]+)\]", out)
    assert found == [("8", "call-arg"), ("9", "arg-type"), ("10", "arg-type")], out


def test_answers() -> None:
    """The first objection that is true refuses, and its sentence is the reason; a known permit is handed on."""
    assert unless(((False, "a"), (True, "b"), (True, "c")), "fine") == no("b") == Answer(allowed=False, reason="b")
    assert unless(((False, "a"),), "fine") == yes("fine")
    given = permit(EVERY["5-restart"])
    assert allowed(given) is given
    with pytest.raises(WrongPermitError, match="no permit was given: held"):
        allowed(Refusal(rule="5-restart", reason="held"))
    with pytest.raises(WrongPermitError, match="the guard was not asked"):
        allowed(None)
    required(Permit(rule="5-restart", reason=""), EVERY["5-restart"])


def test_majorities_are_counted_in_one_place() -> None:
    """No module of the operator halves a number but the one that counts majorities."""
    halves = {
        path.name
        for path in OPERATOR.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv)
        if isinstance(node.right, ast.Constant) and node.right.value == 2
    }
    assert halves == {"voters.py"}
