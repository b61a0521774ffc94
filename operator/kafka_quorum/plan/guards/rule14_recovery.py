"""Rule 14: no second quorum, no record lost that was not announced, no disk changed that was not copied.

A recovery takes a quorum away from the voters that its log lists. So each step needs what a person approved, and what
the look shows now; a fact that has changed since stops it. Nothing that is decided here depends on an answer that did
not come: an unknown disk is neither lost nor worse.
"""

from collections.abc import Iterator

from kafka_quorum.model.disk import Claimed, is_gone
from kafka_quorum.model.disk_work import CopyDisk, InspectDisk, RewriteDisk, Worker, copy_name, report_of
from kafka_quorum.model.identity import BootstrapPhase, NodeIdentity
from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.journal import Candidate, Journal, RecoveryStage
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.names import RELEASE, RETIRED, claim_name
from kafka_quorum.model.nodes import has_disk_of, is_down
from kafka_quorum.model.observed import Claim
from kafka_quorum.model.pods import Pod
from kafka_quorum.model.proposal import Proposal
from kafka_quorum.model.recovery_guards import (
    BeginRecovery,
    CopyDisks,
    Recovered,
    ReleaseDisks,
    RetireOthers,
    Rewrite,
    StartSurvivor,
    StopForRecovery,
)
from kafka_quorum.model.situation import Situation
from kafka_quorum.model.surveyed import Found, LogRead
from kafka_quorum.plan.facts.configs import needed_configs, present_configs
from kafka_quorum.plan.facts.held import why_held, why_some_held
from kafka_quorum.plan.facts.kept import is_going
from kafka_quorum.plan.facts.reach import because, returned, unread, why_no_seed
from kafka_quorum.plan.facts.verdict import LEADER_EPOCH_MAX
from kafka_quorum.plan.facts.writers import why_others_may_write, why_ours_may_write
from kafka_quorum.plan.guards.registry import Answer, guard, no, unless, yes

WRITES_MIN = 4
"""How far behind the rewritten log the high watermark must be: the election and the controller's registration are one
record each, and a leader that serves writes two empty records a second."""


@guard(BeginRecovery)
def may_begin_recovery(situation: Situation, planned: Proposal) -> Answer:
    """Rule 14: a recovery begins only without a leader, and only by the plan that a person approved by its hash."""
    record, observed, asked = situation.record, situation.observed, situation.desired.recovery
    first = "Did not begin the recovery"
    loss = f"the verdict is {planned.verdict.kind.value}. Set spec.recovery.acceptLoss to true to accept it"
    held = why_some_held(situation)
    early = f"annotation {RELEASE} names recovery {asked.released}, which has not begun. Remove it"
    changed = f"the plan is {planned.hash} now. Read status.recovery again, and approve that plan in spec.recovery.plan"
    return unless(
        (
            (record.phase is not BootstrapPhase.STARTED, f"{first}: the quorum has not started"),
            (record.recovery is not None, f"{first}: recovery {record.recovery_epoch} is open"),
            (asked.released > record.recovery_epoch, f"{first}: {early}"),
            (isinstance(observed.quorum, Known), f"{first}: the quorum has a leader"),
            (bool(observed.unreadable), f"{first}: an object of the quorum cannot be read"),
            (bool(held), f"{first}: {held}"),
            (situation.repair_only, f"{first}: the spec is not valid. Correct it first"),
            (asked.plan != planned.hash, f"{first}: a fact has changed, and {changed}"),
            (planned.verdict.kind.needs_word and not asked.accept_loss, f"{first}: {loss}"),
            (
                planned.verdict.kind.recoverable is False or bool(planned.verdict.unreachable),
                f"{first}: the verdict is {planned.verdict.kind.value}",
            ),
        ),
        f"plan {planned.hash} was approved: {planned.verdict.message}",
    )


@guard(StopForRecovery)
def may_stop_for_recovery(situation: Situation, pod: Pod) -> Answer:
    """Rule 14: every controller stops before a disk is copied, except one whose disk would be gone with its pod.

    A pod that comes later stops as well, until the recovery itself starts one.
    """
    journal, observed = situation.record.recovery, situation.observed
    kept = f"Did not stop pod {pod.name}"
    node = situation.record.node(pod.node_id)
    own = node is not None and has_disk_of(pod, node)
    goes = node is not None and own and is_going(situation, node) and not is_gone(observed, situation.disk(node))
    only = "only this pod still holds the disk, which is gone when it stops"
    way_out = "Copy what is on it, or set the reclaim policy of its volume to Retain, and delete the pod"
    return unless(
        (
            (journal is None or journal.stage is RecoveryStage.START, f"{kept}: no recovery stops the controllers"),
            (isinstance(observed.quorum, Known), f"{kept}: the quorum has a leader"),
            (goes, f"{kept}: {only}. {way_out}"),
            (bool(held := why_held(situation, pod.node_id)), f"{kept}: {held}"),
        ),
        f"nothing may run on a disk before recovery {journal.epoch} starts the survivor" if journal else "",
    )


def may_force(situation: Situation, pod: Pod) -> bool:
    """Whether the end of this pod is not waited for: its Kubernetes node is down, and a person gave its disk up.

    A disk that is lost by evidence says nothing of its process, which may run on, cut off from Kubernetes.
    """
    journal = situation.record.recovery
    key = ReplicaKey(node_id=pod.node_id, directory_id=pod.directory_id)
    said = pod.node_id in situation.desired.recovery.without
    return journal is not None and said and key in journal.lost and is_down(situation.observed, pod.node_name)


def _stage(situation: Situation, *stages: RecoveryStage) -> Journal | None:
    """The open recovery, if it is at one of these stages."""
    journal = situation.record.recovery
    return journal if journal is not None and journal.stage in stages else None


@guard(CopyDisks)
def may_copy(situation: Situation) -> Answer:
    """Rule 14: disks are copied when no pod exists that formats a disk or runs Kafka."""
    journal = _stage(situation, RecoveryStage.STOP, RecoveryStage.COPY)
    if journal is None:
        return no("Did not copy a disk: no recovery is at that stage")
    if why := why_ours_may_write(situation.observed):
        return no(f"Waiting to copy the surviving disks: {why}")
    if why := why_others_may_write(situation.observed):
        return no(f"Did not copy the surviving disks: {why}")
    for each in journal.disks:
        node = situation.record.node(each.source.node_id) if each.source.node_id is not None else None
        disk = None if node is None else situation.disk(node)
        if not isinstance(disk, Claimed) or disk.claim.uid != each.source.claim_uid:
            return no(f"Did not copy the surviving disks: {each.source} is gone, or is being deleted")
    return yes(f"recovery {journal.epoch}: nothing runs on the disks")


@guard(RetireOthers)
def may_retire_others(situation: Situation) -> Answer:
    """Rule 14: disks are given up when every surviving one has a copy, and the logs end where the plan says."""
    journal = _stage(situation, RecoveryStage.COPY)
    if journal is None:
        return no("Did not give up a disk: no recovery has copied the surviving ones")
    if why := why_ours_may_write(situation.observed):
        return no(f"Waiting to give up the other disks: {why}")
    if why := why_others_may_write(situation.observed):
        return no(f"Did not give up the other disks: {why}")
    if changed := next(changes(situation, journal), ""):
        return no(
            f"Did not give up the other disks: {changed}. Empty spec.recovery.plan, and read status.recovery again"
        )
    missing = (*unread(situation, journal), *uncopied(situation, journal))
    if missing:
        return no(f"Waiting to give up the other disks: {missing[0]}")
    kept, asked = "Did not give up the other disks", situation.desired.recovery
    high = max(journal.leader_epoch, highest_epoch(situation, journal)) > LEADER_EPOCH_MAX
    return unless(
        (
            (high, f"{kept}: a disk has a leader epoch above {LEADER_EPOCH_MAX}, and no higher one can be written"),
            (asked.plan != journal.plan, f"{kept}: spec.recovery.plan is not {journal.plan} any more"),
            (situation.repair_only, f"{kept}: the spec is not valid, so an earlier one counts. Correct it first"),
            (bool(held := why_some_held(situation)), f"{kept}: {held}"),
        ),
        f"recovery {journal.epoch}: every surviving disk is copied, and ends where the plan says",
    )


def copies_of(situation: Situation, journal: Journal) -> Iterator[tuple[Candidate, CopyDisk, Worker | None]]:
    """The copy of each surviving disk, and the pod that makes it."""
    for each in journal.disks:
        copy = copy_name(each.source.claim, journal.plan)
        work = CopyDisk(source=each.source, copy=copy, epoch=journal.epoch)
        yield each, work, situation.worker(work)


def seeds_of(situation: Situation, journal: Journal) -> Iterator[tuple[Candidate, InspectDisk, Worker | None]]:
    """The seed that survives, and the pod that reads it again after everything has stopped; nothing without a seed."""
    if journal.survivor.source.is_seed:
        work = InspectDisk(source=journal.survivor.source)
        yield journal.survivor, work, situation.worker(work)


def _read_again(situation: Situation, journal: Journal) -> Iterator[tuple[Candidate, Found]]:
    """What was found on each disk of the plan after everything had stopped, as far as it was read."""
    for each, _, worker in (*copies_of(situation, journal), *seeds_of(situation, journal)):
        if worker is not None and worker.report is not None and isinstance(worker.report.found, Known):
            yield each, worker.report.found.value


def rewritten_log(situation: Situation, work: RewriteDisk) -> LogRead | None:
    """The survivor's log as it was read after the rewrite; None before that."""
    report = report_of(situation.worker(work))
    return None if report is None or not report.done else report.log


def changes(situation: Situation, journal: Journal) -> Iterator[str]:
    """The logs that are not those of the plan any more, by what was read after everything had stopped."""
    yield from returned(situation, journal)
    for each, found in _read_again(situation, journal):
        if not isinstance(found, LogRead):
            yield f"{each.source} holds no log any more"
        elif found.node_id != each.server_id:
            yield f"{each.source} is of server {found.node_id}, and of {each.server_id} in the plan"
        elif found.directory_id != each.directory_id:
            yield f"{each.source} has directory id {found.directory_id}, and {each.directory_id} in the plan"
        elif found.end != each.end:
            yield f"the log on {each.source} ends at {found.end}, and at {each.end} in the plan"
        elif found.checkpoint != each.checkpoint:
            yield f"the newest checkpoint on {each.source} is another one than in the plan"


def highest_epoch(situation: Situation, journal: Journal) -> int:
    """The highest leader epoch that the disks of the plan have seen, after everything had stopped."""
    logs = (found for _, found in _read_again(situation, journal) if isinstance(found, LogRead))
    return max((log.highest_epoch for log in logs), default=0)


def uncopied(situation: Situation, journal: Journal) -> Iterator[str]:
    """The surviving disks without a verified copy, or the seed that was not read again, and why."""
    for each, _, worker in seeds_of(situation, journal):
        report = report_of(worker)
        if report is None:
            yield why_no_seed(situation, journal) or f"{each.source} is read again{because(worker)}"
        elif isinstance(report.found, Unknown):
            yield f"{each.source} cannot be read ({report.found.reason})"
    present = {copy.name for copy in situation.observed.copies if copy.bound and not copy.deleting}
    for each, work, worker in copies_of(situation, journal):
        report = report_of(worker)
        if report is None:
            yield f"{each.source} is being copied to claim {work.copy}{because(worker)}"
        elif work.copy not in present:
            yield f"claim {work.copy} for the copy of {each.source} is not there, or has no volume"
        elif not report.done or not isinstance(report.found, Known):
            yield f"the copy of {each.source} was not made ({report.message or 'it is not complete'})"


@guard(Rewrite)
def may_rewrite(situation: Situation) -> Answer:
    """Rule 14: the log is rewritten when no other disk can start any more, whatever comes back and in whatever order.

    Every other disk is retired in the record and marked on its claim. Every config map of an earlier epoch is gone, so
    that a pod that was requested before waits for it for ever.
    """
    journal = _stage(situation, RecoveryStage.RETIRE, RecoveryStage.FORMAT, RecoveryStage.REWRITE)
    if journal is None:
        return no("Did not rewrite a log: no recovery is at that stage")
    node = situation.record.node(journal.node_id)
    if node is None:
        return no(f"Did not rewrite the voter set: the identity ConfigMap has no controller {journal.node_id}")
    if why := why_ours_may_write(situation.observed) or _why_not_fenced(situation, journal):
        return no(f"Waiting to rewrite the voter set: {why}")
    if why := why_others_may_write(situation.observed) or why_no_seed(situation, journal):
        return no(f"Did not rewrite the voter set: {why}")
    if held := why_held(situation, journal.node_id):
        return no(f"Did not rewrite the voter set on the disk of controller {journal.node_id}: {held}")
    return _has_disk_for(situation, journal, node)


def _has_disk_for(situation: Situation, journal: Journal, node: NodeIdentity) -> Answer:
    """Whether the disk that is rewritten is the one of the plan, or a new one for the log of a seed."""
    disk = f"the disk of controller {node.node_id}"
    other = not journal.survivor.source.is_seed and node.directory_id != journal.survivor.directory_id
    return unless(
        (
            (
                not node.formatted or node.directory_id is None,
                f"Waiting to rewrite the voter set: {disk} is not formatted",
            ),
            (other, f"Did not rewrite the voter set: {disk} is not the one of the plan"),
            (not isinstance(situation.disk(node), Claimed), f"Did not rewrite the voter set: {disk} is gone"),
        ),
        f"recovery {journal.epoch}: no disk of an earlier voter can start",
    )


def _why_not_fenced(situation: Situation, journal: Journal) -> str:
    """What could still start on an old disk; empty if nothing could."""
    record = situation.record
    own = {node.directory_id for node in record.nodes if node.directory_id is not None}
    if alive := [str(key) for key in journal.lost if key.directory_id in own]:
        return f"voter {alive[0]} is not retired"
    if unmarked := [claim.name for claim in former_claims(situation, journal) if not is_marked(claim, journal)]:
        return f"claim {unmarked[0]} is not marked as retired yet"
    if earlier := sorted(present_configs(situation.observed) - set(needed_configs(situation))):
        return f"config map {earlier[0]} of the time before the recovery still exists"
    return ""


def left_claims(situation: Situation) -> tuple[Claim, ...]:
    """The claims that no controller of the record has."""
    member = situation.desired.member
    own = {claim_name(member(node.node_id), node.generation) for node in situation.record.nodes}
    return tuple(claim for claim in situation.observed.claims if claim.name not in own and not claim.deleting)


def former_claims(situation: Situation, journal: Journal) -> tuple[Claim, ...]:
    """The claims that this recovery takes from controllers of the record; not those that were retired before it.

    Of those, it keeps what holds a voter of the best log, or that log itself: the records that are lost may be there.
    A claim that is kept for another reason stays as it is.
    """
    ids = frozenset(situation.record.node_ids)
    voters = {key.directory_id for key in journal.lost} | {journal.survivor.directory_id}

    def is_former(claim: Claim) -> bool:
        if claim.phase != RETIRED or claim.recovery == journal.epoch:
            return claim.node_id in ids or claim.recovery == journal.epoch
        return not claim.kept and bool(claim.directory_id) and claim.directory_id in voters

    return tuple(claim for claim in left_claims(situation) if is_former(claim))


def is_marked(claim: Claim, journal: Journal) -> bool:
    """Whether an old claim says that it is retired, kept, and by which recovery; an earlier one counts as well."""
    return claim.phase == RETIRED and claim.kept and 0 < claim.recovery <= journal.epoch


@guard(StartSurvivor)
def may_start_survivor(situation: Situation, node: NodeIdentity, work: RewriteDisk) -> Answer:
    """Rule 14: the survivor starts when its log lists it as the only voter, behind the records that the plan names."""
    journal = _stage(situation, RecoveryStage.REWRITE)
    if journal is None:
        return no("Did not start the survivor: no recovery has rewritten its log")
    waiting = f"Waiting to start controller {node.node_id} alone"
    log = rewritten_log(situation, work)
    if log is None:
        worker = situation.worker(work)
        report = None if worker is None else worker.report
        why = because(worker) if report is None else f" ({report.message})" if report.message else ""
        return no(f"{waiting}: its log is being rewritten{why}")
    if log.voters != (node.key,) or log.directory_id != node.directory_id or log.end.offset <= work.end.offset:
        return no(f"Did not start controller {node.node_id}: the rewritten log does not list it as the only voter")
    return yes(f"the log of controller {node.node_id} ends at {log.end}, and lists it as the only voter")


@guard(Recovered)
def may_end_recovery(situation: Situation, node: NodeIdentity) -> Answer:
    """Rule 14: a recovery has ended when the survivor leads alone, and has committed records of its own."""
    journal, quorum = _stage(situation, RecoveryStage.START), situation.observed.quorum
    if journal is None:
        return no("Did not end the recovery: the survivor has not started")
    waiting = f"Waiting for controller {node.node_id} to lead alone"
    if isinstance(quorum, Unknown):
        return no(f"{waiting}: {quorum.reason}")
    view = quorum.value
    least = journal.rewritten_end + WRITES_MIN
    others = ", ".join(str(key) for key in sorted(view.voters - {node.key}, key=str))
    return unless(
        (
            (
                view.answer.leader_id != node.node_id or node.key not in view.voters,
                f"Did not end the recovery: controller {view.answer.leader_id} leads",
            ),
            (bool(others), f"Did not end the recovery: there are other voters ({others})"),
            (not view.committed, f"{waiting}: its voter set is not committed yet"),
            (
                view.answer.high_watermark < least,
                f"{waiting}: the high watermark must pass offset {least} before its writes count as committed",
            ),
        ),
        f"controller {node.node_id} leads alone, and committed records behind {journal.survivor.end}",
    )


@guard(ReleaseDisks)
def may_release(situation: Situation, epoch: int, name: str, used_by: tuple[str, ...]) -> Answer:
    """Rule 14: copies and old disks are deleted only as a person allowed, and only while the quorum is whole."""
    record, observed, kept = situation.record, situation.observed, f"Did not delete claim {name}"
    if isinstance(observed.quorum, Unknown):
        return no(f"{kept}: the quorum has no leader ({observed.quorum.reason})")
    view = observed.quorum.value
    wanted = [node.key for node in record.nodes if node.node_id in situation.wanted]
    behind = [str(key) for key in wanted if key not in view.voters & view.caught_up]
    return unless(
        (
            (record.recovery is not None, f"{kept}: recovery {record.recovery_epoch} is open"),
            (
                epoch == 0 or situation.desired.recovery.released != epoch or epoch > record.recovery_epoch,
                f"{kept}: no person has released recovery {epoch}",
            ),
            (not view.committed, f"{kept}: the present voter set is not committed yet"),
            (bool(behind), f"{kept}: not every controller is a caught-up voter ({', '.join(behind)})"),
            (bool(used_by), f"{kept}: pods {', '.join(used_by)} use it"),
        ),
        f"recovery {epoch} was released, and every controller is a caught-up voter",
    )
