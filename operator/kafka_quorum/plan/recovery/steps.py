"""The steps of an open recovery. The record says which one is next; the look shows whether it is done already."""

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from kafka_quorum.model.actions import (
    AnnotateClaim,
    CreateCopier,
    CreateCopy,
    CreateInspector,
    CreateRewriter,
    DecideRecord,
    DeletePod,
    DeleteWorker,
    FinishOperation,
    RecordChange,
    WriteRecord,
)
from kafka_quorum.model.disk import is_gone
from kafka_quorum.model.disk_work import InspectDisk, RewriteDisk, Worker, report_of
from kafka_quorum.model.ids import DirectoryID
from kafka_quorum.model.journal import Journal, RecoveryStage
from kafka_quorum.model.known import Known
from kafka_quorum.model.names import all_advertised
from kafka_quorum.model.nodes import is_down, revision_of
from kafka_quorum.model.operation import UnknownOperation
from kafka_quorum.model.permit import Refusal
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.pods import Pod, PodRole
from kafka_quorum.model.recovery import REVERSIBLE, abandoned, moved, recovered, retired, rewritten
from kafka_quorum.model.situation import Situation
from kafka_quorum.model.surveyed import Source
from kafka_quorum.plan.facts.reach import given_up, place_of, revision_for
from kafka_quorum.plan.guards.rule14_recovery import (
    changes,
    copies_of,
    former_claims,
    highest_epoch,
    is_marked,
    may_copy,
    may_end_recovery,
    may_force,
    may_retire_others,
    may_rewrite,
    may_start_survivor,
    may_stop_for_recovery,
    rewritten_log,
    seeds_of,
)
from kafka_quorum.plan.part import Part, merged
from kafka_quorum.plan.recovery.gone import survivor_gone

AGAIN_AFTER_S: Final = 15.0
"""After this time work on a disk is done again that has failed, or that found no log: its volume may be back."""


def continued(situation: Situation, journal: Journal) -> Part:
    """The next act of the open recovery, or what it waits for."""
    if (why := _why_abandoned(situation, journal)) is not None:
        write = WriteRecord(
            record=abandoned(situation.record),
            change=RecordChange.RECOVERY_ABANDONED,
            message=f"recovery {journal.epoch} is given up, and no disk was changed: {why}",
        )
        return Part(exclusive=write)
    return survivor_gone(situation, journal) or _late(situation, journal) or _STEPS[journal.stage](situation, journal)


def _why_abandoned(situation: Situation, journal: Journal) -> str | None:
    """Why this recovery leads back to where it began; None if it goes on."""
    if journal.stage not in REVERSIBLE:
        return None
    if isinstance(situation.observed.quorum, Known):
        return f"controller {situation.observed.quorum.value.answer.leader_id} leads again"
    if situation.desired.recovery.plan != journal.plan:
        return f"spec.recovery.plan is not {journal.plan} any more"
    return next(changes(situation, journal), None) or next(_lost(situation, journal), None)


def _lost(situation: Situation, journal: Journal) -> Iterator[str]:
    """The disks that the plan relies on, and that are lost by now."""
    for each in journal.disks:
        node = None if each.source.node_id is None else situation.record.node(each.source.node_id)
        if node is None or is_gone(situation.observed, situation.disk(node)):
            yield f"{each.source} is lost"


def _wait(journal: Journal, text: str, severity: Severity = Severity.PROGRESS) -> Wait:
    """One of the waits of an open recovery; its stage comes first."""
    reason = "RecoveryStuck" if severity is Severity.DEGRADED else "Recovering"
    message = f"Recovery {journal.epoch}, stage {journal.stage.value}: {text}"
    return Wait(severity=severity, reason=reason, message=message)


def _refused(journal: Journal, verdict: Refusal) -> Part:
    """A guard refuses the next step: what needs time is progress, and the rest is for a person."""
    severity = Severity.PROGRESS if verdict.reason.startswith("Waiting") else Severity.DEGRADED
    return Part(verdicts=(verdict,), waits=(_wait(journal, verdict.reason, severity),))


# Stop


def _stop(situation: Situation, journal: Journal) -> Part:
    observed = situation.observed
    opened = observed.status.open
    if opened is not None and not isinstance(opened, UnknownOperation):
        text = f"the operation is given up, because recovery {journal.epoch} began without a leader"
        return Part(exclusive=FinishOperation(id=opened.id, reason="GivenUp", message=text))
    if observed.pods:
        return merged(_stopped(situation, journal, pod) for pod in observed.pods)
    if situation.observed.workers:
        return _cleared(situation, journal)
    verdict = may_copy(situation)
    if isinstance(verdict, Refusal):
        return _refused(journal, verdict)
    write = DecideRecord(
        record=moved(situation.record, RecoveryStage.COPY),
        change=RecordChange.RECOVERY_COPIES,
        message=f"every controller is stopped: {verdict.reason}",
        permit=verdict,
    )
    return Part(exclusive=write, verdicts=(verdict,))


def _late(situation: Situation, journal: Journal) -> Part | None:
    """The end of pods that were requested before the stop and came after it; None without one."""
    if journal.stage in (RecoveryStage.STOP, RecoveryStage.START):
        return None
    formats = journal.stage is RecoveryStage.FORMAT
    late = [pod for pod in situation.observed.pods if pod.role is PodRole.KAFKA or not formats]
    return merged(_stopped(situation, journal, pod) for pod in late) if late else None


def _stopped(situation: Situation, journal: Journal, pod: Pod) -> Part:
    force = pod.deleting and may_force(situation, pod)
    if pod.deleting and not force:
        return Part(waits=(_ending(situation, journal, pod),))
    verdict = may_stop_for_recovery(situation, pod)
    if isinstance(verdict, Refusal):
        return _refused(journal, verdict)
    how = f", by force: its Kubernetes node {pod.node_name} is down" if force else ""
    text = f"pod {pod.name} is removed{how}: {verdict.reason}"
    delete = DeletePod(pod=pod, reason="StoppedForRecovery", message=text, force=force, permit=verdict)
    return Part(actions=(delete,), verdicts=(verdict,))


def _ending(situation: Situation, journal: Journal, pod: Pod) -> Wait:
    """What is waited for while a pod of a controller ends."""
    if is_down(situation.observed, pod.node_name):
        return _cannot_end(journal, pod.name, pod.node_name)
    return _wait(journal, f"Waiting for pod {pod.name} to terminate")


def _cannot_end(journal: Journal, pod: str, kube_node: str) -> Wait:
    """The same for a pod on a Kubernetes node that is down, which only a person can remove."""
    way_out = "If the machine is off for good, delete the pod with kubectl delete pod --force"
    text = f"pod {pod} cannot terminate: its Kubernetes node {kube_node} is down. {way_out}"
    return _wait(journal, text, Severity.DEGRADED)


# Copy


def _copy(situation: Situation, journal: Journal) -> Part:
    verdict = may_retire_others(situation)
    if not isinstance(verdict, Refusal):
        write = DecideRecord(
            record=retired(situation.record, highest_epoch(situation, journal)),
            change=RecordChange.RECOVERY_RETIRES,
            message=f"every disk but that of controller {journal.node_id} is given up: {verdict.reason}"
            + "".join(_left_out(situation, journal)),
            permit=verdict,
        )
        return Part(exclusive=write, verdicts=(verdict,))
    return merged((_copied(situation), _refused(journal, verdict)))


def _left_out(situation: Situation, journal: Journal) -> Iterator[str]:
    """The files that a copy does not have, and that a log does not need: they are on the old disk alone."""
    for _, work, worker in copies_of(situation, journal):
        report = report_of(worker)
        if report is not None and report.message:
            yield f". Claim {work.copy}: {report.message}"


def _copied(situation: Situation) -> Part:
    """The claims and the pods that are missing."""
    journal, allowed = situation.record.recovery, may_copy(situation)
    if journal is None or isinstance(allowed, Refusal):
        return Part(verdicts=(allowed,))
    present = {copy.name for copy in situation.observed.copies}
    parts = [Part(verdicts=(allowed,)), *_seeds_read(situation, journal), *_others_read(situation, journal)]
    for each, work, worker in copies_of(situation, journal):
        node = None if each.source.node_id is None else situation.record.node(each.source.node_id)
        claim = None if node is None else situation.disk(node).claim
        revision = None if node is None else revision_of(situation.observed, situation.record, node)
        if node is None or claim is None or revision is None:
            continue
        if work.copy not in present and worker is not None:
            # What it reported is about a claim that is gone.
            text = f"pod {worker.name} is removed: claim {work.copy} is gone"
            parts.append(_removed(situation, worker, text))
            continue
        if work.copy not in present:
            create = CreateCopy(name=work.copy, claim=claim, node_id=node.node_id, epoch=journal.epoch, permit=allowed)
            parts.append(Part(actions=(create,)))
        if worker is None:
            parts.append(Part(actions=(CreateCopier(work=work, revision=revision, permit=allowed),)))
        else:
            parts.append(_tended(situation, worker))
    return merged(parts)


def _seeds_read(situation: Situation, journal: Journal) -> Iterator[Part]:
    """Read the seed again: what it holds may have changed since the plan was approved."""
    for _, work, worker in seeds_of(situation, journal):
        yield _read(situation, work) if worker is None else _tended(situation, worker)


def _others_read(situation: Situation, journal: Journal) -> Iterator[Part]:
    """Read every disk that is to be given up once more: its machine may be back."""
    for work, worker in given_up(situation, journal):
        yield _read(situation, work) if worker is None else _tended(situation, worker)


def _read(situation: Situation, work: InspectDisk) -> Part:
    """The pod that reads a disk."""
    revision, where = revision_for(situation, work.source), place_of(situation, work.source)
    return Part(actions=() if revision is None else (CreateInspector(work=work, revision=revision, kube_node=where),))


def _tended(situation: Situation, worker: Worker) -> Part:
    """A pod that ended without having done its work is removed, so that another one tries again.

    One that cannot end, because its machine is down, is removed by force if it only reads; else a person is told.
    """
    journal, cut_off = situation.record.recovery, not worker.finished and is_down(situation.observed, worker.place)
    if cut_off and not worker.only_reads and journal is not None:
        return Part(waits=(_cannot_end(journal, worker.name, worker.place),))
    failed = worker.finished and (worker.report is None or not worker.report.done)
    if not worker.deleting and not (failed and is_due(situation, worker)):
        return Part()
    return _removed(situation, worker, f"pod {worker.name} did not end its work, and is recreated")


def is_due(situation: Situation, worker: Worker) -> bool:
    """Whether a pod has ended long enough ago to be made again. One from the future has a wrong clock: it is due."""
    ended_at_s = worker.created_at_s if worker.never_ran else worker.finished_at_s
    return not 0 <= situation.now_s - ended_at_s <= AGAIN_AFTER_S


def _removed(situation: Situation, worker: Worker, text: str) -> Part:
    """Remove a pod that works on a disk; without waiting for its end if it only reads, and its machine is down."""
    force = worker.only_reads and is_down(situation.observed, worker.place)
    if worker.deleting and not force:
        return Part()
    how = f", by force: its Kubernetes node {worker.place} is down, and it only reads" if force else ""
    return Part(actions=(DeleteWorker(worker=worker, message=f"{text}{how}", force=force),))


# Retire, format, rewrite


def _retire(situation: Situation, journal: Journal) -> Part:
    marks = tuple(
        AnnotateClaim(
            claim=claim,
            directory_id=DirectoryID(claim.directory_id) if claim.directory_id else None,
            grow_to=None,
            retired=True,
            kept=True,
            recovery=journal.epoch,
        )
        for claim in former_claims(situation, journal)
        if not is_marked(claim, journal)
    )
    if marks:
        return Part(actions=marks, waits=(_wait(journal, "Waiting for the old claims to be marked as retired"),))
    if not journal.survivor.source.is_seed:
        return _to_rewrite(situation, journal)
    write = WriteRecord(
        record=moved(situation.record, RecoveryStage.FORMAT),
        change=RecordChange.RECOVERY_FORMATS,
        message=f"a new disk of controller {journal.node_id} is formatted for the log of {journal.survivor.source}",
    )
    return Part(exclusive=write)


def _to_rewrite(situation: Situation, journal: Journal) -> Part:
    verdict = may_rewrite(situation)
    if isinstance(verdict, Refusal):
        return _refused(journal, verdict)
    if situation.observed.workers:
        return _cleared(situation, journal)
    write = DecideRecord(
        record=moved(situation.record, RecoveryStage.REWRITE),
        change=RecordChange.RECOVERY_REWRITES,
        message=f"controller {journal.node_id} becomes the only voter: {verdict.reason}",
        permit=verdict,
    )
    return Part(exclusive=write, verdicts=(verdict,))


def _rewrite(situation: Situation, journal: Journal) -> Part:
    record, work = situation.record, rewrite_of(situation, journal)
    node = record.node(journal.node_id)
    revision = None if node is None else revision_of(situation.observed, record, node)
    if node is None or work is None or revision is None:
        text = f"the disk or the revision of controller {journal.node_id} is not known"
        return Part(waits=(_wait(journal, text, Severity.DEGRADED),))
    ready, found = may_start_survivor(situation, node, work), rewritten_log(situation, work)
    if not isinstance(ready, Refusal):
        write = DecideRecord(
            record=rewritten(record, 0 if found is None else found.end.offset),
            change=RecordChange.RECOVERY_STARTS,
            message=f"controller {node.node_id} starts alone: {ready.reason}",
            permit=ready,
        )
        return Part(exclusive=write, verdicts=(ready,))
    if (worker := situation.worker(work)) is not None:
        return merged((_tended(situation, worker), _refused(journal, ready)))
    allowed = may_rewrite(situation)
    if isinstance(allowed, Refusal):
        return _refused(journal, allowed)
    create = CreateRewriter(work=work, revision=revision, permit=allowed)
    return merged((Part(actions=(create,), verdicts=(allowed,)), _refused(journal, ready)))


def rewrite_of(situation: Situation, journal: Journal) -> RewriteDisk | None:
    """The work that makes the survivor the only voter; None while its disk or its listeners are not known."""
    node = situation.record.node(journal.node_id)
    claim = None if node is None else situation.disk(node).claim
    revision = None if node is None else revision_of(situation.observed, situation.record, node)
    if node is None or claim is None or revision is None or node.directory_id is None:
        return None
    member, namespace = situation.desired.member(node.node_id), situation.desired.namespace
    survivor = journal.survivor
    return RewriteDisk(
        source=Source(claim=claim.name, claim_uid=claim.uid, node_id=node.node_id),
        cluster_id=journal.cluster_id,
        node_id=node.node_id,
        directory_id=node.directory_id,
        epoch=journal.epoch,
        leader_epoch=journal.leader_epoch,
        end=survivor.end,
        checkpoint=survivor.checkpoint,
        listeners=all_advertised(namespace, member, revision.runtime),
        seed=survivor if survivor.source.is_seed else None,
    )


# Start


def _start(situation: Situation, journal: Journal) -> Part:
    if situation.observed.workers:
        return _cleared(situation, journal)
    node = situation.record.node(journal.node_id)
    if node is None:
        return Part(waits=(_wait(journal, f"controller {journal.node_id} is gone", Severity.DEGRADED),))
    verdict = may_end_recovery(situation, node)
    if isinstance(verdict, Refusal):
        return _refused(journal, verdict)
    text = f"recovery {journal.epoch} has ended: {verdict.reason}. The other controllers join on new disks"
    write = DecideRecord(
        record=recovered(situation.record), change=RecordChange.RECOVERED, message=text, permit=verdict
    )
    return Part(exclusive=write, verdicts=(verdict,))


def _cleared(situation: Situation, journal: Journal) -> Part:
    """Remove every pod that works on disks, and wait for its end."""
    waits = tuple(_working(situation, journal, worker) for worker in situation.observed.workers)
    return merged((without_workers(situation, frozenset()), Part(waits=waits)))


def _working(situation: Situation, journal: Journal, worker: Worker) -> Wait:
    """What is waited for while a pod that works on a disk ends."""
    if worker.deleting and not worker.only_reads and is_down(situation.observed, worker.place):
        return _cannot_end(journal, worker.name, worker.place)
    return _wait(journal, f"Waiting for pod {worker.name}, which works on a disk, to terminate")


def without_workers(situation: Situation, kept: AbstractSet[str]) -> Part:
    """Remove every pod that works on disks but these."""
    left = [worker for worker in situation.observed.workers if worker.name not in kept]
    text = "its work is not needed any more"
    return merged(_removed(situation, worker, f"pod {worker.name} is removed: {text}") for worker in left)


_STEPS: Final[Mapping[RecoveryStage, Callable[[Situation, Journal], Part]]] = {
    RecoveryStage.STOP: _stop,
    RecoveryStage.COPY: _copy,
    RecoveryStage.RETIRE: _retire,
    RecoveryStage.FORMAT: _to_rewrite,
    RecoveryStage.REWRITE: _rewrite,
    RecoveryStage.START: _start,
}
