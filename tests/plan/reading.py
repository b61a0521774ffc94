"""Short ways to describe and read a plan, and the checks that hold for every plan."""

import re
from dataclasses import replace
from typing import Any, Final, TypeVar

from tests.model.values import NOW_S, desired

from kafka_quorum.model.actions import EXCLUSIVE, CreateRevision, DeletePod, RemoveRaftVoter, RestartPod
from kafka_quorum.model.admission import Admission, merged
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.known import Known
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.permit import Verdict
from kafka_quorum.model.plan import Plan, Severity, Wait
from kafka_quorum.plan.guards.registry import GUARDS
from kafka_quorum.plan.part import Part
from kafka_quorum.plan.planner import plan

T = TypeVar("T")
_CAMEL_CASE: Final = re.compile(r"([A-Z][a-z]+)+")
_NODE: Final = re.compile(r"\b(?:controller |claim alpha-|pod alpha-|formatter alpha-|voter |replica )(\d+)\b")
_REFUSED: Final = {"RemovingPod", "OlderImage", "LostNode", "LostDisk", "DowngradeRefused", "Soaking"}
"""A wait with one of these reasons repeats the words of a guard."""
_OF_THE_QUORUM: Final = {
    "AfterMigration",
    "DowngradeRefused",
    "EarlierResourceEnds",
    "FeatureBlocked",
    "IdentityConflict",
    "IdentityLost",
    "Migrating",
    "MigrationHeld",
    "NoLeader",
    "Recovering",
    "RecoveryHeld",
    "RecoveryProposed",
    "RecoveryReads",
    "RecoveryStuck",
    "SteppingFeature",
}
"""A wait with one of these reasons concerns the quorum, even if it names a single controller."""


def planned(observed: Observed, wanted: Desired | None = None, **how: Any) -> Plan:  # noqa: ANN401 - the planner's own options
    """The plan of one look, with an API server that accepts every pod that it is asked about."""
    said = plan(wanted or desired(), observed, **{"now_s": NOW_S, **how})
    if said.questions:
        accepted = ((question, Known(value=Admission(allowed=True))) for question in said.questions)
        observed = replace(observed, admissions=merged(observed.admissions, accepted))
        said = plan(wanted or desired(), observed, **{"now_s": NOW_S, **how})
    return checked(said)


def checked(said: Plan) -> Plan:
    """The same plan, after the checks that hold for every plan."""
    _check_waits(said)
    _check_actions(said)
    return said


def _check_waits(said: Plan) -> None:
    """A wait has a CamelCase reason, names its controller, and quotes a guard only if that guard is in the plan."""
    for one in said.waits:
        assert _CAMEL_CASE.fullmatch(one.reason), one
        assert isinstance(one.severity, Severity), one
        named = set(_NODE.findall(one.message))
        assert len(named) != 1 or one.reason in _OF_THE_QUORUM or {str(one.node_id)} == named, one
        refused = (verdict.reason for verdict in said.verdicts if not verdict.allowed)
        assert one.reason not in _REFUSED or any(reason in one.message for reason in refused), said
        _check_text(one.message)


def _check_actions(said: Plan) -> None:
    """The permit of every action that needs one is among the verdicts of the plan, and no other guard refuses it.

    An exclusive action is alone in its plan.
    """
    assert len(said.actions) == 1 or not any(isinstance(action, EXCLUSIVE) for action in said.actions), said
    for action in said.actions:
        _check_text(getattr(action, "message", "a change without words"))
        if isinstance(action, DeletePod):
            assert _CAMEL_CASE.fullmatch(action.reason), action
        permit = getattr(action, "permit", None)
        assert permit is None or permit in said.verdicts, said
        for refused in (verdict for verdict in said.verdicts if not verdict.allowed):
            assert refused.rule != "7-image" or not isinstance(action, CreateRevision | RestartPod), said
            if refused.rule == "3-remove-leader" and isinstance(action, RemoveRaftVoter):
                assert str(action.request.voter) not in refused.reason, said
    assert {verdict.rule for verdict in said.verdicts} <= set(GUARDS)


def _check_text(text: str) -> None:
    """A text for a person is not empty, is one line, and has no empty placeholder."""
    assert text == text.strip() != ""
    assert "\n" not in text
    assert not re.search(r"\bNone\b|\(\)|: $|  ", text), text


def only(said: Plan, kind: type[T]) -> T:
    """The one action of a plan, which is of this kind."""
    (action,) = said.actions
    assert isinstance(action, kind), said
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
    """The reasons of the waits for what is lost or broken."""
    return {one.reason for one in said.waits if one.severity is Severity.DEGRADED}


def verdict(said: Plan | Part, rule: str) -> Verdict:
    """The last verdict of this guard."""
    found = [one for one in said.verdicts if one.rule == rule]
    assert found, said.verdicts
    return found[-1]
