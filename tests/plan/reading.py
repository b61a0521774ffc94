"""Short ways to say what a plan is and to read it, and what holds for every plan."""

import re
from collections import Counter
from dataclasses import replace
from typing import Any, Final, TypeVar

from tests.model.values import NOW_S, desired

from kafka_quorum.model.actions import (
    Action,
    AddRaftVoter,
    BeginFeatureStep,
    BeginOperation,
    CreateFormatter,
    CreatePod,
    CureGhost,
    DeleteClaim,
    DeletePod,
    MintIdentity,
    RecordChange,
    RemoveRaftVoter,
    RestartPod,
    StepFeature,
    WriteRecord,
)
from kafka_quorum.model.admission import Admission, merged
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.known import Known
from kafka_quorum.model.observed import Observed, PodRole
from kafka_quorum.model.plan import Plan, Severity, Verdict, Wait
from kafka_quorum.plan.part import Part
from kafka_quorum.plan.planner import plan
from kafka_quorum.plan.safety import GUARDS

T = TypeVar("T")
_CAMEL_CASE: Final = re.compile(r"([A-Z][a-z]+)+")
_NODE: Final = re.compile(r"\b(?:controller |claim alpha-|pod alpha-|formatter alpha-|voter |replica )(\d+)\b")
_PERMITTED_BY: Final[dict[type[Action], set[str]]] = {
    MintIdentity: {"8-adopt", "8-mint"},
    CreateFormatter: {"1-initial-format", "1-format-newcomer"},
    CreatePod: {"2-run"},
    DeletePod: {"3-replace-pod", "3-stop-retired", "3-hand-over"},
    DeleteClaim: {"6-delete-volume"},
    BeginOperation: {"4-one-change"},
    AddRaftVoter: {"3-add-voter"},
    RemoveRaftVoter: {"3-remove-voter"},
    RestartPod: {"5-restart"},
    BeginFeatureStep: {"7-raise", "7-lower"},
    StepFeature: {"7-raise", "7-lower"},
    CureGhost: {"7-cure-ghost"},
}
_CHANGE_PERMITTED_BY: Final = {
    RecordChange.STARTED: {"1-start"},
    RecordChange.DISK_LOST: {"2-retire-disk"},
    RecordChange.NODE_LOST: {"2-retire-node"},
    RecordChange.NODES_REMOVED: {"4-drop-node"},
    RecordChange.DYNAMIC: {"7-drop-static"},
}
_REFUSED: Final = {"RemovingPod", "OlderImage", "LostNode", "LostDisk", "DowngradeRefused", "Soaking"}
"""Waits with these reasons say what a guard has said."""
_OF_THE_QUORUM: Final = {
    "DowngradeRefused",
    "EarlierResourceEnds",
    "FeatureBlocked",
    "IdentityConflict",
    "IdentityLost",
    "NoLeader",
    "SteppingFeature",
}
"""Waits with these reasons are no single controller's, whatever they name."""


def planned(observed: Observed, wanted: Desired | None = None, **how: Any) -> Plan:  # noqa: ANN401 - the planner's own options
    """The plan of one look, with an API server that accepts every pod that it is asked about."""
    said = plan(wanted or desired(), observed, **{"now_s": NOW_S, **how})
    if said.questions:
        accepted = ((question, Known(value=Admission(allowed=True))) for question in said.questions)
        observed = replace(observed, admissions=merged(observed.admissions, accepted))
        said = plan(wanted or desired(), observed, **{"now_s": NOW_S, **how})
    _check_waits(said)
    _check_actions(said)
    return said


def _check_waits(said: Plan) -> None:
    """A wait has a reason for a condition, its words name its controller, and a guard's words come with the guard."""
    for one in said.waits:
        assert _CAMEL_CASE.fullmatch(one.reason), one
        assert isinstance(one.severity, Severity), one
        named = set(_NODE.findall(one.message))
        assert len(named) != 1 or one.reason in _OF_THE_QUORUM or {str(one.node_id)} == named, one
        refused = (verdict.reason for verdict in said.verdicts if not verdict.allowed)
        assert one.reason not in _REFUSED or any(reason in one.message for reason in refused), said
        _check_text(one.message)


def _check_actions(said: Plan) -> None:
    """Whatever a guard must permit comes with a guard's yes, one for each such action."""
    permitted = [verdict.rule for verdict in said.verdicts if verdict.allowed]
    assert set(permitted) <= set(GUARDS)
    needed: Counter[frozenset[str]] = Counter()
    for action in said.actions:
        _check_text(getattr(action, "message", "a change without words"))
        if isinstance(action, DeletePod):
            assert _CAMEL_CASE.fullmatch(action.reason), action
            if action.force and action.pod.role is PodRole.FORMATTER:
                continue  # nobody uses what it writes, and its node cannot say that it ended
        rules = _PERMITTED_BY.get(type(action), set())
        if isinstance(action, WriteRecord):
            rules = _CHANGE_PERMITTED_BY.get(action.change, set())
        needed[frozenset(rules)] += 1
    for rules_, count in needed.items():
        assert not rules_ or sum(rule in rules_ for rule in permitted) >= count, said


def _check_text(text: str) -> None:
    """Words for a person: there, on one line, with nothing in them that was never filled in."""
    assert text == text.strip() != ""
    assert "\n" not in text
    assert not re.search(r"\bNone\b|\(\)|: $|  ", text), text


def only(said: Plan, kind: type[T]) -> T:
    """The one action of a plan, which is of this kind."""
    assert [type(action) for action in said.actions] == [kind], said
    (action,) = said.actions
    assert isinstance(action, kind)
    return action


def every(said: Plan | Part, kind: type[T]) -> list[T]:
    """The actions of this kind."""
    return [action for action in said.actions if isinstance(action, kind)]


def wait(said: Plan | Part, reason: str) -> Wait:
    """The one wait with this reason."""
    found = [one for one in said.waits if one.reason == reason]
    assert len(found) == 1, said.waits
    return found[0]


def reasons(said: Plan | Part) -> set[str]:
    """The reasons of everything that is waited for."""
    return {one.reason for one in said.waits}


def degraded(said: Plan | Part) -> set[str]:
    """The reasons of what is lost or broken."""
    return {one.reason for one in said.waits if one.severity is Severity.DEGRADED}


def verdict(said: Plan | Part, rule: str) -> Verdict:
    """What a guard said last."""
    found = [one for one in said.verdicts if one.rule == rule]
    assert found, said.verdicts
    return found[-1]
