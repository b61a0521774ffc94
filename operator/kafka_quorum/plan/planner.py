"""The plan of one pass: the identity is settled, the situation is computed, and the table of concerns decides.

An exclusive action stands alone; independent creations go together. The order is in `order`, and so is what runs while
the resource is paused, with an invalid spec (`repair_only`), and during an open operation. Before the identity is
settled, the table is not asked: only the identity is decided then, and nothing at all while the resource is paused.
"""

from dataclasses import replace

from kafka_quorum.model.actions import stamped
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.known import Known
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Plan, Severity, Wait
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.preflight import in_the_way
from kafka_quorum.plan.facts.proposal import judged_loss, proposal
from kafka_quorum.plan.facts.token import WAITS_FOR_TOKEN, has_token
from kafka_quorum.plan.identity.assess import unsettled
from kafka_quorum.plan.later import later_version
from kafka_quorum.plan.migrations.engine import migration_plan
from kafka_quorum.plan.order import ordered, together
from kafka_quorum.plan.part import Part, merged
from kafka_quorum.plan.releases.levels import SOAKING, soak_left_s
from kafka_quorum.plan.releases.wants import plans

_SOON_S = 0.4
"""The pause while something is under way: two no-op records come every second, so each look sees the log move."""
_LATER_S = 5.0
"""The pause if a person, or the cluster, must do something first; a watch event ends it earlier."""
_TICK_S = 10.0


def plan(desired: Desired, observed: Observed, *, now_s: float, repair_only: bool = False) -> Plan:
    """What to do now. `now_s` is wall-clock seconds since the epoch, compared with the kubelet's stamps only."""
    situation = None
    if observed.record is not None:
        situation = Situation(
            desired=desired, observed=observed, record=observed.record, now_s=now_s, repair_only=repair_only
        )
    planned = _plan(desired, observed, situation, repair_only=repair_only)
    shown = None if situation is None else migration_plan(situation)
    planned = replace(planned, situation=situation, migration=shown, preflight=in_the_way(desired, observed))
    if situation is None or (loss := judged_loss(situation)) is None:
        return planned
    return replace(planned, loss=loss, proposal=proposal(situation, loss))


def _plan(desired: Desired, observed: Observed, situation: Situation | None, *, repair_only: bool) -> Plan:
    paused = Part(waits=_paused(desired))
    if later := later_version(observed):
        return _finished(merged((paused, Part(waits=later))), observed)
    first = unsettled(desired, observed, repair_only=repair_only)
    if first is not None or situation is None:
        return _finished(paused if desired.paused else first or Part(), observed)
    planned = _finished(merged((paused, ordered(situation))), observed, soaks_s=soak_left_s(situation))
    if has_token(situation):  # pools wait for it: the looks that show every voter caught up follow soon
        planned = replace(planned, requeue_s=min(planned.requeue_s, _SOON_S))
    return planned if desired.paused else replace(planned, features=plans(situation))


def _paused(desired: Desired) -> tuple[Wait, ...]:
    text = "Did not change or repair anything: spec.paused is true. Set it to false to continue"
    return (Wait(severity=Severity.HELD, reason="Paused", message=text),) if desired.paused else ()


def _finished(part: Part, observed: Observed, soaks_s: float = 0.0) -> Plan:
    """The plan, in which each guarded action carries the time of the look that it was judged by."""
    # An exclusive action decides on the whole quorum: it waits while an object cannot be read, and delays nothing else.
    exclusive = None if observed.unreadable else part.exclusive
    chosen = together(part.actions) if exclusive is None else (exclusive,)
    return Plan(
        actions=tuple(stamped(action, observed.looked_at_s) for action in chosen),
        waits=part.waits,
        verdicts=part.verdicts,
        requeue_s=_requeue_s(part.waits, soaks_s, unproven=_unproven(observed)),
        questions=part.questions,
    )


def _unproven(observed: Observed) -> bool:
    return isinstance(observed.quorum, Known) and bool(observed.quorum.value.unproven)


def _requeue_s(waits: tuple[Wait, ...], soaks_s: float, *, unproven: bool) -> float:
    """When to look again. A soak may take days: then the looks are less frequent, and one follows at its end."""
    if unproven:
        return _SOON_S
    moving = {wait.reason for wait in waits if wait.severity is Severity.PROGRESS and not wait.delayed}
    if moving == {SOAKING}:
        return min(max(soaks_s, _SOON_S), _LATER_S)
    if moving == {WAITS_FOR_TOKEN}:
        return _LATER_S
    if moving:
        return _SOON_S
    return _LATER_S if waits else _TICK_S
