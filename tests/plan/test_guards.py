"""No guard can be omitted: each is registered once, in the file of its rule, and gives its action's only permit."""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from mypy import api
from tests.model.values import bound, permit, write
from tests.plan.source import OPERATOR, ROOT, document

import kafka_quorum.plan.planner  # noqa: F401 - registers every guard
from kafka_quorum.model import actions
from kafka_quorum.model.permit import Guard, Permit, Refusal, RunImage, WrongPermitError, required
from kafka_quorum.model.recovery_guards import StopForRecovery
from kafka_quorum.plan.guards.registry import GUARDS, Answer, allowed, guard, no, unless, yes

OF_QUORUMS = {Permit.__module__, StopForRecovery.__module__}
EVERY = {kind.id: kind for kind in Guard.__subclasses__() if kind.__module__ in OF_QUORUMS}
"""Those of quorums; pools have guards of their own (`tests/brokers/plan/guards`)."""
PERMITTED = [kind for kind in get_args(actions.Action) if any(each.name == "permit" for each in fields(kind))]
NOT_DEMANDED = {
    "3-remove-leader": {"voters.changes.removal"},
    "7-image": {
        "brokers.contract.contract",
        "brokers.turn._running",
        "releases.refused._moved",
        "releases.revisions._adopt_revision",
        "releases.revisions._correct_format",
        "releases.revisions._correct_pods",
        "releases.rolls._back",
        "releases.rolls.roll",
    },
}
"""The guards whose permit no action takes, with all functions that ask them.

3-remove-leader: the removal of a voter takes the permit of 3-remove-voter. This guard is asked in the same place, and a
change with any refusal is neither begun nor sent (`Change.refusal`): it only tells the leader of a pair, which can hand
over, from other refusals. 7-image: it decides which revision pods are made from, before there is an action to
construct. A revision stops nothing by itself: each stop takes its own permit. `tests.plan.reading` checks of every plan
that neither guard has refused what the plan does.
"""


@pytest.mark.parametrize("id_", EVERY)
def test_every_guard_is_registered_in_the_file_of_its_rule(id_: str) -> None:
    """A guard is a function of the file whose name has the number of its safety rule."""
    assert GUARDS[id_].rsplit(".", 1)[1].startswith(f"rule{id_.split('-', maxsplit=1)[0]}_")


def test_no_guard_is_registered_without_a_class() -> None:
    """Every guard class has a registered function, and docs/safety.md names exactly these guards."""
    assert GUARDS.keys() == EVERY.keys()
    documented = set(re.findall(r"`((?:[1-8]|13|14)-[a-z-]+)`", document("safety.md")))
    assert documented == GUARDS.keys()


def test_a_guard_is_registered_once() -> None:
    """A second function for the same guard is refused at once."""
    with pytest.raises(ValueError, match="5-restart"):
        guard(EVERY["5-restart"])(lambda: yes("again"))


def calls(tree: ast.AST, *names: str) -> Iterator[str]:
    """Which of these names the module or function calls, also as a class with brackets."""
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
    """No action can be constructed with the permit of another guard, or without a permit."""
    given: dict[str, Any] = {each.name: None for each in fields(kind) if each.name != "permit"}
    if kind is actions.DecideRecord:
        given["change"] = actions.RecordChange.STARTED
    with pytest.raises(WrongPermitError, match="7-image"):
        kind(**given, permit=permit(RunImage))
    with pytest.raises(TypeError):
        kind(**given)


@pytest.mark.parametrize("change", actions.DECISIONS, ids=lambda change: change.value)
def test_a_decision_takes_its_permit(change: actions.RecordChange) -> None:
    """A change that cannot be undone is never written as a plain change of the record."""
    assert isinstance(write(bound(), change), actions.DecideRecord)
    with pytest.raises(WrongPermitError, match=actions.DECISIONS[change].id):
        actions.WriteRecord(record=bound(), change=change, message="m")


def test_acts_on_the_quorum_and_on_what_holds_its_data_take_a_permit() -> None:
    """Every action that creates an identity, or formats, runs, stops, deletes or changes the quorum, needs a permit."""
    assert {kind.__name__ for kind in PERMITTED} == {
        "AddRaftVoter",
        "BeginFeatureStep",
        "BeginOperation",
        "ComposeLeaf",
        "CreateCopier",
        "CreateCopy",
        "CreateFormatter",
        "CreatePod",
        "CreateRewriter",
        "CureGhost",
        "DecideRecord",
        "DeleteClaim",
        "DeleteCopy",
        "DeletePod",
        "GiveBackNodes",
        "MakeUsers",
        "MintIdentity",
        "PromoteAuthority",
        "ReloadListener",
        "RemoveRaftVoter",
        "RemoveScramUser",
        "RestartPod",
        "SetScramUser",
        "StepFeature",
        "TakeToken",
    }


def test_every_guard_is_demanded_by_an_action() -> None:
    """Each guard's permit is required by an action, or the guard is listed here with all functions that call it."""
    hints = [get_type_hints(kind)["permit"] for kind in PERMITTED]
    permits = [one for hint in hints for one in ((hint,) if get_origin(hint) is Permit else get_args(hint))]
    demanded = {get_args(one)[0].id for one in permits}
    assert demanded.isdisjoint(NOT_DEMANDED)
    assert demanded | NOT_DEMANDED.keys() == EVERY.keys()


@pytest.mark.parametrize(("id_", "function"), [("3-remove-leader", "may_remove_leader"), ("7-image", "may_run_image")])
def test_who_asks_a_guard_that_no_action_demands(id_: str, function: str) -> None:
    """The functions that ask a guard without an action of its own are those that are named."""
    asks = {
        f"{'.'.join(path.relative_to(OPERATOR / 'plan').with_suffix('').parts)}.{node.name}"
        for path in OPERATOR.rglob("plan/**/*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and function in calls(node, function)
    }
    assert asks == NOT_DEMANDED[id_]


def test_mypy_refuses_an_action_without_its_permit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The type checker reports an action without a permit, with a refusal, or with the permit of another guard."""
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
    """The first condition that is true refuses, and its sentence is the reason; a permit is passed on unchanged."""
    assert unless(((False, "a"), (True, "b"), (True, "c")), "fine") == no("b") == Answer(allowed=False, reason="b")
    assert unless(((False, "a"),), "fine") == yes("fine")
    given = permit(EVERY["5-restart"])
    assert allowed(given) is given
    with pytest.raises(WrongPermitError, match="held"):
        allowed(Refusal(rule="5-restart", reason="held"))
    with pytest.raises(WrongPermitError, match=r": the guard was not asked$"):
        allowed(None)
    required(Permit(rule="5-restart", reason=""), EVERY["5-restart"])


def test_majorities_are_counted_in_one_place() -> None:
    """Only the module that counts majorities divides by two."""
    halves = {
        path.name
        for path in OPERATOR.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv)
        if isinstance(node.right, ast.Constant) and node.right.value == 2
    }
    assert halves == {"voters.py"}
