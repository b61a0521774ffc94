"""The plan of one pass over a pool. Pure: no clock, no random number, no I/O."""

from dataclasses import replace
from typing import Final

from kafka_brokers.model.actions import stamped
from kafka_brokers.model.observed import Observed
from kafka_brokers.model.plan import Part, Plan, Severity, Wait, merged
from kafka_brokers.model.pool import PoolDesired
from kafka_brokers.plan.facts import Situation, owns_token
from kafka_brokers.plan.members import unsettled
from kafka_brokers.plan.order import key_of, ordered
from kafka_brokers.plan.rolls import given_away, given_back
from kafka_quorum.model.plan import LATER_FORMAT

_SOON_S: Final = 0.5
"""The pause while something is under way."""
_LATER_S: Final = 5.0
"""The pause if a person, or the cluster, must do something first; a watch event ends it earlier."""
_TICK_S: Final = 10.0
_UNHURRIED: Final = frozenset({"ClaimKept"})
"""What may last for ever, and holds nothing else up."""


def plan(
    desired: PoolDesired,
    observed: Observed,
    *,
    image: str,
    now_s: float,
    repair_only: bool = False,
    failed: frozenset[str] = frozenset(),
) -> Plan:
    """What to do now. `image` is the resolved image of the release, `now_s` wall-clock seconds since the epoch."""
    paused = _paused(desired, observed)
    first = unsettled(desired, observed)
    if first is not None or observed.record is None:
        return _finished(_if_readable(paused if desired.paused else first or Part(), observed), observed)
    situation = Situation(
        desired=desired,
        observed=observed,
        record=observed.record,
        image=image,
        now_s=now_s,
        repair_only=repair_only,
    )
    part = ordered(situation, failed)
    if desired.paused:
        # A paused pool that has stopped nothing must not keep the quorum and the other pools from restarting servers.
        token = given_back(situation).exclusive
        part = Part(exclusive=token, waits=(*paused.waits, *part.waits), verdicts=part.verdicts)
    part = _if_readable(merged((_unreadable(observed), part)), observed)
    last = given_away(situation)
    if last is not None and (observed.unreadable or key_of(last) not in failed):
        part = replace(part, exclusive=last)  # no object that cannot be read could change this decision
    return _finished(part, observed)


def _paused(desired: PoolDesired, observed: Observed) -> Part:
    if not desired.paused:
        return Part()
    text = (
        f"Did not change or repair anything: spec.paused is true{_kept(desired, observed)}. Set it to false to continue"
    )
    return Part(waits=(Wait(severity=Severity.HELD, reason="Paused", message=text),))


def _kept(desired: PoolDesired, observed: Observed) -> str:
    """What else does not go on, as a clause: a pool that was paused in the middle of a stop keeps the token."""
    brokers = observed.record.brokers if observed.record is not None else ()
    stopped = ", ".join(str(one.node_id) for one in brokers if one.stopped or one.empty)
    if not stopped or not owns_token(desired, observed):
        return ""
    return (
        f", in the middle of a stop of brokers {stopped}. Until it ends, this pool keeps the disruption token, and no "
        f"other server of quorum {desired.quorum} restarts"
    )


def _unreadable(observed: Observed) -> Part:
    rows = (
        Wait(
            severity=Severity.DEGRADED,
            reason=LATER_FORMAT if one.later else "Unreadable",
            message=f"{one.kind} {one.name} cannot be read: {one.why}. It counts neither as there nor as gone",
        )
        for one in observed.unreadable
    )
    return Part(waits=tuple(rows))


def _if_readable(part: Part, observed: Observed) -> Part:
    """The same without its acts, if an object cannot be read: that could change any decision."""
    return replace(part, actions=(), exclusive=None) if observed.unreadable else part


def _finished(part: Part, observed: Observed) -> Plan:
    """The plan, in which each guarded action carries the time of the look that it was judged by."""
    chosen = part.actions if part.exclusive is None else (part.exclusive,)
    return Plan(
        actions=tuple(stamped(action, observed.looked_at_s) for action in chosen),
        waits=part.waits,
        verdicts=part.verdicts,
        requeue_s=requeue_s(part.waits),
    )


def requeue_s(waits: tuple[Wait, ...]) -> float:
    """How many seconds later to look again, if nothing happens before."""
    if any(wait.severity is Severity.PROGRESS and wait.reason not in _UNHURRIED for wait in waits):
        return _SOON_S
    return _LATER_S if waits else _TICK_S
