"""Passes from the planner itself, so that a condition is tested with real input."""

from tests.model.values import NOW_S, at_rest, desired

from kafka_quorum.model.desired import Desired, FieldFault
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Outcome
from kafka_quorum.plan.planner import plan
from kafka_quorum.status.finding import Pass

FAULT = FieldFault(field="spec.kafka.version", message="'4.x' is no release: write 4.4.0")


def done(
    observed: Observed | None = None, wanted: Desired | None = None, *, faults: tuple[FieldFault, ...] = ()
) -> Pass:
    """A pass over this look whose actions all succeeded."""
    seen, asked = observed or at_rest(), wanted or desired()
    planned = plan(asked, seen, now_s=NOW_S, repair_only=bool(faults))
    outcomes = tuple(Outcome(action=action, done=True, unknown=False, message="did it") for action in planned.actions)
    return Pass(desired=asked, observed=seen, plan=planned, outcomes=outcomes, faults=faults)


def failed(of: Pass, *, unknown: bool) -> Pass:
    """The same pass, whose actions all failed."""
    outcomes = tuple(
        Outcome(action=action, done=False, unknown=unknown, message="the server said no") for action in of.plan.actions
    )
    return Pass(desired=of.desired, observed=of.observed, plan=of.plan, outcomes=outcomes, faults=of.faults)
