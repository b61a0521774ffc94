"""Short ways to say what a plan is and to read it."""

from typing import Any, TypeVar

from tests.model.values import NOW_S, desired

from kafka_quorum.model.desired import Desired
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Plan, Severity, Verdict, Wait
from kafka_quorum.plan.part import Part
from kafka_quorum.plan.planner import plan

T = TypeVar("T")


def planned(observed: Observed, wanted: Desired | None = None, **how: Any) -> Plan:  # noqa: ANN401 - the planner's own options
    """The plan of one look."""
    return plan(wanted or desired(), observed, **{"now_s": NOW_S, **how})


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
