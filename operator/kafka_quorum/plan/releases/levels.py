"""Feature levels: which are requested, which step is next, and what blocks it (KIP-584).

One step of one feature at a time: first kraft.version, then metadata.version level by level, then the others as their
dependencies allow; downwards in the opposite order. Every step is an operation of its own. The intent is written. The
request is sent in a look in which the active controller answered that it would allow it. The next look shows the
result.
"""

from dataclasses import replace

from kafka_quorum.api.features import KRAFT, level_text
from kafka_quorum.model.actions import (
    BeginFeatureStep,
    FinishOperation,
    RecordChange,
    StepFeature,
    WriteRecord,
)
from kafka_quorum.model.conformance import are_being_asked, why_brokers_hold
from kafka_quorum.model.desired import Downgrade
from kafka_quorum.model.identity import BootstrapPhase, with_levels
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.operation import FeatureOperation
from kafka_quorum.model.permit import LowerLevel, Permit, RaiseLevel, Refusal
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.quorum import FeatureStep
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.leader import leader_endpoint
from kafka_quorum.plan.facts.migrating import may_step
from kafka_quorum.plan.guards.rule7_releases import LEAST_SOAK_S, blockers, may_lower, may_raise
from kafka_quorum.plan.part import Part, merged
from kafka_quorum.plan.releases.wants import Want, text_of, wants, what_is_missing

STEPPING, SOAKING, BLOCKED, REFUSED = "SteppingFeature", "Soaking", "FeatureBlocked", "DowngradeRefused"


def seen(situation: Situation) -> Part:
    """Remember the finalized levels: an image must support them while no controller answers."""
    record = situation.record
    levels = situation.observed.finalized  # none without a leader
    if record.phase is not BootstrapPhase.STARTED or not levels or levels == record.levels:
        return Part()
    told = ", ".join(f"{each.name} {level_text(each.name, each.level)}" for each in levels)
    write = WriteRecord(
        record=with_levels(record, levels), change=RecordChange.LEVELS_SEEN, message=f"the finalized levels are {told}"
    )
    return Part(exclusive=write)


def soak_left_s(situation: Situation) -> float:
    """How much of the soak is left, in seconds."""
    soak = situation.observed.memory.soak
    return max(max(situation.desired.soak_s, LEAST_SOAK_S) - (soak.healthy_s if soak else 0.0), 0.0)


def step(situation: Situation) -> Part:
    """The feature step that is open, or the next one. While a voter change is open, the table does not run this."""
    if situation.record.phase is not BootstrapPhase.STARTED:
        return Part()
    operation = situation.observed.status.feature_operation
    if situation.repair_only:
        return Part() if operation is None else _ended(situation, operation, "the spec is not valid")
    if operation is not None:
        return _continue(situation, operation)
    waiting = []
    for want in wants(situation):
        if not may_step(situation, want.name, rises=not want.next.downgrade):
            waiting.append(_after_migration(situation, want))
            continue
        part = _begin(situation, want)
        if part.exclusive is not None:
            return part  # a step that is held does not delay the next one
        waiting.append(part)
    return merged(waiting)


def _after_migration(situation: Situation, want: Want) -> Part:
    """A level that waits for the migration which is under way. The one that begins a migration is reported by that."""
    reached = situation.record.migration
    if reached is None:
        return Part()
    first = f"Waiting to change {want.name} to {level_text(want.name, want.level)}"
    text = f"{first}: the migration {reached.migration.title} is under way, and this follows then"
    return Part(waits=(replace(_wait(STEPPING, text), delayed=True),))


def _begin(situation: Situation, want: Want) -> Part:
    if (lacks := what_is_missing(situation, want)) is not None:
        return Part(waits=(_wait(BLOCKED, lacks, Severity.HELD),))
    verdict = _judge(situation, want.next, want)
    if isinstance(verdict, Refusal):
        return Part(verdicts=(verdict,), waits=(_why(situation, want, verdict),))
    begin = BeginFeatureStep(step=want.next, present=want.present, permit=verdict)
    return Part(exclusive=begin, verdicts=(verdict,))


def _continue(situation: Situation, operation: FeatureOperation) -> Part:
    """Done if the leader shows the level; sent if it may still be sent; otherwise given up, and begun again later."""
    observed = situation.observed
    asked = operation.step
    if isinstance(observed.quorum, Unknown):
        text = f"Waiting to finish the step to {text_of(asked)}: the quorum has no leader ({observed.quorum.reason})"
        return Part(waits=(_wait("NoLeader", text),))
    levels = situation.present
    if not levels:
        leader_id = observed.quorum.value.answer.leader_id
        text = f"Waiting for controller {leader_id}, which leads, to report the level of {asked.name}"
        return Part(waits=(_wait(STEPPING, text),))
    if levels.get(asked.name, 0) == asked.level:
        text = f"{text_of(asked)} is finalized"
        return Part(exclusive=FinishOperation(id=operation.id, reason="Completed", message=text))
    want = next((each for each in wants(situation) if each.next == asked), None)
    leader = leader_endpoint(situation)
    if want is None or leader is None:
        return _ended(situation, operation, "it is not the next one any more")
    verdict = _judge(situation, asked, want)
    if isinstance(verdict, Refusal):
        text = f"the step is given up. {verdict.reason}"
        return replace(_given_up(situation, operation, text), verdicts=(verdict,))
    send = StepFeature(leader=leader, step=asked, judged_at_s=observed.quorum.value.taken_at_s, permit=verdict)
    return Part(exclusive=send, verdicts=(verdict,))


def _ended(situation: Situation, operation: FeatureOperation, why: str) -> Part:
    return _given_up(situation, operation, f"the step to {text_of(operation.step)} is given up: {why}")


def _given_up(situation: Situation, operation: FeatureOperation, text: str) -> Part:
    """End the open step where it is, once no request for it can have its effect any more.

    While it is open no image changes: an older one could not read the level that such a request brings.
    """
    observed = situation.observed
    if observed.looked_at_s < (observed.memory.step_until_s or 0.0):
        step_ = text_of(operation.step)
        waiting = (
            f"Waiting to give up the step to {step_}: a request for it got no answer, and may still have its effect"
        )
        return Part(waits=(_wait(STEPPING, waiting),))
    return Part(exclusive=FinishOperation(id=operation.id, reason="GivenUp", message=text))


def _judge(situation: Situation, asked: FeatureStep, want: Want) -> Permit[RaiseLevel] | Permit[LowerLevel] | Refusal:
    if asked.downgrade:
        return may_lower(situation, asked, want.whole)
    return may_raise(situation, asked, _not_rolled(situation))


def _not_rolled(situation: Situation) -> tuple[NodeID, ...]:
    return tuple(node.node_id for node in situation.older)


def _why(situation: Situation, want: Want, verdict: Refusal) -> Wait:
    """Which kind of wait it is: for a person, for time, or for the next look."""
    check = situation.observed.check(want.whole if want.next.downgrade else want.next)
    refused = isinstance(check, Known) and not check.value.allowed
    if want.next.downgrade and (refused or situation.desired.downgrade is not Downgrade.SAFE or want.name == KRAFT):
        return _wait(REFUSED, verdict.reason, Severity.HELD)
    if _not_rolled(situation):
        return _wait(STEPPING, verdict.reason)
    if refused or blockers(situation, want.next) or _brokers_hold(situation, verdict):
        return _wait(BLOCKED, verdict.reason, Severity.HELD)
    soak = situation.observed.memory.soak
    if soak is not None and soak.healthy_s < max(situation.desired.soak_s, LEAST_SOAK_S) and isinstance(check, Known):
        return _wait(SOAKING, verdict.reason)
    return _wait(STEPPING, verdict.reason)


def _brokers_hold(situation: Situation, verdict: Refusal) -> bool:
    """Whether brokers are what a guard waits for: their owner must act."""
    why = why_brokers_hold(situation)
    return bool(why) and why in verdict.reason and not are_being_asked(situation)


def _wait(reason: str, message: str, severity: Severity = Severity.PROGRESS) -> Wait:
    return Wait(severity=severity, reason=reason, message=message)
