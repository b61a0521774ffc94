"""The recovery of a quorum whose majority of disks is lost: read the disks, propose a plan, carry the approved one out.

While a leader leads, the quorum works: nothing is read, no recovery begins, and none is waited for. Pods that read
disks are removed then, because what they found may be out of date.
"""

from kafka_quorum.model.actions import (
    CreateInspector,
    DecideRecord,
    DeleteClaim,
    DeleteCopy,
    RecordChange,
)
from kafka_quorum.model.disk_work import CompareDisk, DiskCopy, InspectDisk, Worker, work_name
from kafka_quorum.model.known import Unknown
from kafka_quorum.model.observed import Claim
from kafka_quorum.model.permit import Refusal
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.proposal import LossVerdict, VerdictKind
from kafka_quorum.model.recovery import begun
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.proposal import journal_of, judged_loss, proposal
from kafka_quorum.plan.facts.reach import revision_for
from kafka_quorum.plan.facts.verdict import places
from kafka_quorum.plan.guards.rule14_recovery import left_claims, may_begin_recovery, may_release
from kafka_quorum.plan.part import Part, merged
from kafka_quorum.plan.recovery.steps import AGAIN_AFTER_S, continued, is_due, without_workers

_PROGRESSING = frozenset({VerdictKind.READING})


def recovery(situation: Situation) -> Part:
    """What a recovery does now: nothing, unless a person requests it or one is open."""
    record = situation.record
    if record.recovery is not None:
        return continued(situation, record.recovery)
    released = _released(situation)
    judged = judged_loss(situation)
    if judged is None:
        return merged((released, without_workers(situation, frozenset())))
    return merged((released, _inspected(situation, judged), _proposed(situation, judged)))


def _inspected(situation: Situation, judged: LossVerdict) -> Part:
    """One pod for each disk that is read, and for each one that is compared with the best log.

    A pod is removed if its work is not wanted any more, or must be done again.
    """
    quorum, at = situation.desired.name, dict(places(situation))
    works: tuple[InspectDisk | CompareDisk, ...]
    works = (*(InspectDisk(source=source) for source in at), *(tail.work for tail in judged.tails))
    wanted = {work_name(quorum, work): work for work in works}
    present = {worker.name: worker for worker in situation.observed.workers}
    due = frozenset(
        name
        for name, work in wanted.items()
        if name not in present
        or not (_is_due(situation, present[name]) or _is_elsewhere(situation, present[name], at[work.source]))
    )
    created = tuple(
        CreateInspector(work=work, revision=revision, kube_node=at[work.source])
        for name, work in wanted.items()
        if name not in present and (revision := revision_for(situation, work.source)) is not None
    )
    return merged((Part(actions=created), without_workers(situation, due)))


def _is_due(situation: Situation, worker: Worker) -> bool:
    """Whether a pod ended some time ago, and neither read nor compared a log, so that another one tries again.

    One that is being deleted has the name of the next one: on a machine that is down, nothing else would remove it.
    """
    report = worker.report
    done = report is not None and (report.log is not None or report.beyond is not None)
    return worker.deleting or (worker.finished and not done and is_due(situation, worker))


def _is_elsewhere(situation: Situation, worker: Worker, place: str) -> bool:
    """Whether a pod waits for another Kubernetes node than the one where its disk is now."""
    waits = not worker.finished and not worker.running
    return waits and worker.bound_to not in ("", place) and situation.now_s - worker.created_at_s > AGAIN_AFTER_S


def _proposed(situation: Situation, judged: LossVerdict) -> Part:
    """The verdict as a wait; with a plan and its approval, the beginning of the recovery."""
    asked, planned = situation.desired.recovery, proposal(situation, judged)
    if planned is None:
        severity = Severity.PROGRESS if judged.kind in _PROGRESSING else Severity.HELD
        reason = "RecoveryReads" if judged.kind in _PROGRESSING else "RecoveryHeld"
        return Part(waits=(Wait(severity=severity, reason=reason, message=judged.message),))
    if not asked.plan:
        ask = f"To recover with plan {planned.hash}, read status.recovery and set spec.recovery.plan to this hash"
        loss = ", and spec.recovery.acceptLoss to true" if planned.verdict.kind.needs_word else ""
        text = f"{judged.message}. {ask}{loss}"
        return Part(waits=(Wait(severity=Severity.HELD, reason="RecoveryProposed", message=text),))
    allowed = may_begin_recovery(situation, planned)
    if isinstance(allowed, Refusal):
        held = Wait(severity=Severity.HELD, reason="RecoveryHeld", message=allowed.reason)
        return Part(verdicts=(allowed,), waits=(held,))
    journal = journal_of(situation, planned)
    write = DecideRecord(
        record=begun(situation.record, journal),
        change=RecordChange.RECOVERY_BEGUN,
        message=f"recovery {journal.epoch} begins with {journal.survivor.source}: {allowed.reason}",
        permit=allowed,
    )
    return Part(exclusive=write, verdicts=(allowed,))


def _released(situation: Situation) -> Part:
    """Delete what a recovery kept, if a person released it."""
    epoch = situation.desired.recovery.released
    if not epoch or situation.repair_only or isinstance(situation.observed.quorum, Unknown):
        return Part()
    old = [claim for claim in left_claims(situation) if claim.kept and claim.recovery == epoch]
    copies = [copy for copy in situation.observed.copies if copy.epoch == epoch and not copy.deleting]
    kept: tuple[Claim | DiskCopy, ...] = (*old, *copies)
    return merged(_deleted(situation, epoch, each) for each in kept)


def _deleted(situation: Situation, epoch: int, kept: Claim | DiskCopy) -> Part:
    """Delete one claim that a recovery kept."""
    used = tuple(pod.name for pod in situation.observed.pods if pod.claim_name == kept.name)
    allowed = may_release(situation, epoch, kept.name, used)
    if isinstance(allowed, Refusal):
        return Part(verdicts=(allowed,))
    text = f"claim {kept.name} is deleted: {allowed.reason}"
    match kept:
        case Claim():
            delete: DeleteClaim | DeleteCopy = DeleteClaim(claim=kept, message=text, permit=allowed)
        case DiskCopy():
            delete = DeleteCopy(copy=kept, message=text, permit=allowed)
    return Part(actions=(delete,), verdicts=(allowed,))
