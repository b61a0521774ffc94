"""Passes over pools, for tests of what their status says."""

from collections.abc import Iterable
from typing import Any

from tests.brokers.looks import planned
from tests.brokers.values import POOL, desired

from kafka_brokers.api.status import KafkaBrokerPoolStatus
from kafka_brokers.model.actions import GiveToken
from kafka_brokers.model.observed import Observed
from kafka_brokers.model.plan import Outcome, Plan, Severity, Wait
from kafka_brokers.model.pool import PoolDesired
from kafka_brokers.plan.facts import requested_ids, target_name
from kafka_brokers.status.build import build
from kafka_brokers.status.conditions import findings
from kafka_brokers.status.finding import Pass
from kafka_quorum.model.desired import FieldFault
from kafka_quorum.model.ids import NodeID
from kit.conditions.finding import Truth
from kit.token import ABSENT

Json = dict[str, Any]
NOW = "2026-01-01T00:00:00Z"
FAULT = FieldFault(field="spec.replicas", message="replicas must be a number")


def done(
    of: Observed,
    by: PoolDesired | None = None,
    *,
    waits: Iterable[Wait] | None = None,
    outcomes: tuple[Outcome, ...] = (),
    faults: tuple[FieldFault, ...] = (),
    judged: bool = True,
) -> Pass:
    """The pass over this look. `waits` replace those of the plan; without `judged`, no spec could be judged."""
    asked = by or desired()
    plan = planned(of, asked, repair_only=bool(faults))
    if waits is not None:
        plan = Plan(actions=(), waits=tuple(waits), verdicts=(), requeue_s=1.0)
    known = judged and of.record is not None
    return Pass(
        name=POOL,
        desired=asked if judged else None,
        observed=of,
        plan=plan,
        outcomes=outcomes,
        faults=faults,
        target=target_name(asked) if judged else "",
        requested=requested_ids(asked, of.record, of) if known and of.record is not None else (),
        spec_replicas=asked.replicas,
    )


def status(of: Pass, old: Json | None = None) -> Json:
    """The whole status, which the schema allows."""
    found = build(of, old or {}, generation=4, now=NOW)
    KafkaBrokerPoolStatus.model_validate(found, by_alias=True, by_name=False, extra="forbid")
    return found


def truths(of: Pass) -> dict[str, tuple[str, str]]:
    """Status and reason of every condition."""
    return {one.type: (one.truth.value, one.reason) for one in findings(of)}


def wait(severity: Severity, reason: str, message: str = "m", node_id: int | None = None) -> Wait:
    """Something that is waited for."""
    return Wait(severity=severity, reason=reason, message=message, node_id=None if node_id is None else NodeID(node_id))


def outcome(message: str = "m", *, is_done: bool = False, unknown: bool = False, held: bool = False) -> Outcome:
    """The result of an action."""
    return Outcome(action=GiveToken(seen=ABSENT), done=is_done, unknown=unknown, held=held, message=message)


TRUE, FALSE, UNKNOWN = (truth.value for truth in (Truth.TRUE, Truth.FALSE, Truth.UNKNOWN))
