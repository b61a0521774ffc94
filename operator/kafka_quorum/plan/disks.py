"""Claims, formatters and the barrier: how each node gets the disk that is its own, and what happens when it is lost.

Before the barrier a lost disk is formatted again with the same pre-made directory id, for it never ran. Behind it the
directory id is retired, and every format is without initial controllers.
"""

from dataclasses import replace

from kafka_quorum.model.actions import (
    AnnotateClaim,
    CreateClaim,
    CreateFormatter,
    DeletePod,
    RecordChange,
    SetRecordOwner,
    WriteRecord,
)
from kafka_quorum.model.desired import VolumeFate
from kafka_quorum.model.identity import (
    BootstrapPhase,
    FormatMode,
    IdentityRecord,
    NodeIdentity,
    with_claim,
    with_report,
    with_started,
    without_claim,
)
from kafka_quorum.model.ids import DirectoryID
from kafka_quorum.model.known import Known
from kafka_quorum.model.names import RETIRED, claim_name, config_name, format_config_name
from kafka_quorum.model.nodes import claim_of, initial_nodes, is_down, is_outdated, is_retired_disk, revision_of
from kafka_quorum.model.observed import (
    Claim,
    DiskFound,
    DiskReport,
    Observed,
    Pod,
    PodRole,
    Running,
    Terminated,
    Waiting,
)
from kafka_quorum.model.plan import Severity, Verdict, Wait
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.admission import before_create
from kafka_quorum.plan.kept_disks import goes_with
from kafka_quorum.plan.part import Part, merged
from kafka_quorum.plan.podstate import waiting_pod
from kafka_quorum.plan.safety import (
    may_format_initial,
    may_format_newcomer,
    may_replace_pod,
    may_start,
)

_RETRY_FORMAT_AFTER_S = 20.0


def claims(situation: Situation) -> Part:
    """Every node has its claim, the record knows its uid, and the claim carries a copy of the identity.

    One that is on its way out gets no claim any more, unless the quorum cannot start without it.
    """
    record = situation.record
    unbound = [
        (node, claim)
        for node in record.nodes
        if node.claim_uid is None and (claim := _claim(situation, node)) is not None
    ]
    for node, claim in unbound:
        if claim.phase == RETIRED and not node.formatted:
            message = f"claim {claim.name} is retired: controller {node.node_id} gets the next one"
            skipped = without_claim(record, node.node_id)
            return Part(exclusive=WriteRecord(record=skipped, change=RecordChange.CLAIM_LOST, message=message))
    for node in record.nodes:
        claim = _claim(situation, node)
        if claim is not None and claim.uid == node.claim_uid and not node.formatted and claim.phase == RETIRED:
            text = f"claim {claim.name} holds retired directory id {claim.directory_id}"
            message = f"{text}: it is kept, and controller {node.node_id} gets the next one"
            skipped = without_claim(record, node.node_id)
            return Part(exclusive=WriteRecord(record=skipped, change=RecordChange.CLAIM_LOST, message=message))
    if usable := [(node, claim) for node, claim in unbound if not claim.deleting]:
        bound = record
        for node, claim in usable:
            bound = with_claim(bound, node.node_id, claim.uid)
        names = ", ".join(claim.name for _, claim in usable)
        return Part(exclusive=WriteRecord(record=bound, change=RecordChange.CLAIMS_BOUND, message=f"bound {names}"))
    parts = (
        _claim_part(situation, node)
        for node in record.nodes
        if node.node_id in situation.wanted or node.claim_uid is not None or _starts_with(record, node)
    )
    return merged((_owner(situation), *parts))


def _claim_part(situation: Situation, node: NodeIdentity) -> Part:
    record = situation.record
    claim = _claim(situation, node)
    if claim is not None and claim.deleting:
        return Part(waits=(_claim_deleting(situation, node, claim),))
    if claim is not None and not (claim.lost and _never_ran(record, node)):
        return Part(actions=_annotations(situation, node, claim))
    if node.claim_uid is None and node.mode is FormatMode.ADOPTED:
        name = claim_name(situation.desired.name, node)
        text = f"claim {name}, whose disk is to be taken over, is not there: bring it back under this name"
        return Part(waits=(Wait(severity=Severity.DEGRADED, reason="AdoptWaits", message=text, node_id=node.node_id),))
    if node.claim_uid is None:
        return Part(actions=(CreateClaim(node_id=node.node_id, generation=node.generation),))
    if _never_ran(record, node):
        name = claim_name(situation.desired.name, node)
        message = f"claim {name} or its volume is gone, and its disk never ran: the next one takes its place"
        without = without_claim(record, node.node_id)
        return Part(exclusive=WriteRecord(record=without, change=RecordChange.CLAIM_LOST, message=message))
    return Part()  # lost(), below, judges what has run


def _starts_with(record: IdentityRecord, node: NodeIdentity) -> bool:
    """Whether this is one of the first controllers, all of which are formatted before any of them starts."""
    return record.phase is BootstrapPhase.FORMATTING and node.mode is not FormatMode.NO_INITIAL_CONTROLLERS


def _never_ran(record: IdentityRecord, node: NodeIdentity) -> bool:
    return record.phase is BootstrapPhase.FORMATTING or not node.formatted


def _claim_deleting(situation: Situation, node: NodeIdentity, claim: Claim) -> Wait:
    pods = (pod for pod in situation.observed.pods_of(node.node_id, PodRole.KAFKA) if pod.claim_uid == claim.uid)
    message = f"claim {claim.name} is being deleted: the disk of controller {node.node_id} is gone once its pod stops"
    if (pod := next(pods, None)) is not None and claim.uid == node.claim_uid:
        message = goes_with(situation, node, pod)
    return Wait(severity=Severity.DEGRADED, reason="ClaimDeleting", message=message, node_id=node.node_id)


def _annotations(situation: Situation, node: NodeIdentity, claim: Claim) -> tuple[AnnotateClaim, ...]:
    owner = situation.desired.uid if situation.desired.storage.when_deleted is VolumeFate.DELETE else None
    mirrored = (claim.cluster_id, claim.directory_id, claim.phase, claim.owner_uid)
    labelled = claim.labelled or claim.uid != node.claim_uid  # no other claim of that name becomes ours
    if labelled and mirrored == (situation.record.cluster_id, node.directory_id, situation.record.phase.value, owner):
        return ()
    return (AnnotateClaim(claim=claim, directory_id=node.directory_id, grow_to=None),)


def _owner(situation: Situation) -> Part:
    owner = situation.desired.uid if situation.desired.storage.when_deleted is VolumeFate.DELETE else None
    if situation.observed.record_owner_uid == owner:
        return Part()
    return Part(actions=(SetRecordOwner(resource_version=situation.record.resource_version),))


def is_mirrored(situation: Situation, node: NodeIdentity) -> bool:
    """Whether the status and the claim carry what the record says of this node: the identity stands in three places."""
    record = situation.record
    claim, status = _claim(situation, node), situation.observed.status
    entry = next((entry for entry in status.controllers if entry.node_id == node.node_id), None)
    if claim is None or entry is None:
        return False
    initial = {key.node_id: key.directory_id for key in record.initial}
    in_status = {entry.node_id: entry.directory_id for entry in status.initial}
    return (
        (claim.cluster_id, claim.directory_id, claim.phase)
        == (record.cluster_id, node.directory_id, record.phase.value)
        and (entry.directory_id, entry.claim_uid) == (node.directory_id, node.claim_uid)
        and (status.cluster_id, status.phase) == (record.cluster_id, record.phase)
        and in_status == initial
    )


def formatting(situation: Situation, *, create: bool) -> Part:
    """Reports are recorded, done formatters removed, the barrier falls, and unformatted disks get their formatter.

    Without `create` the format itself is about to be corrected: no formatter is made, and those that did nothing go.
    """
    observed, record = situation.observed, situation.record
    for node in record.nodes:
        for pod in observed.pods_of(node.node_id, PodRole.FORMATTER):
            if (directory_id := _reported(record, node, pod)) is not None:
                message = f"controller {node.node_id} is formatted with directory id {directory_id}"
                reported = with_report(record, node.node_id, directory_id)
                write = WriteRecord(record=reported, change=RecordChange.FORMATTED, message=message)
                return Part(exclusive=write)
    barrier = _barrier(situation)
    if barrier.exclusive is not None:
        return barrier
    tended = (
        given_up_formatter(situation, pod)
        or _tend_formatter(
            situation, node, pod, outdated=not create or is_outdated(observed, record, node, pod.revision)
        )
        for node in record.nodes
        for pod in observed.pods_of(node.node_id, PodRole.FORMATTER)
    )
    created = (_format(situation, node) for node in record.nodes if create)
    return merged((barrier, *tended, *created))


def _reported(record: IdentityRecord, node: NodeIdentity, pod: Pod) -> DirectoryID | None:
    """The directory id that a formatter reported for the node's present disk, if it did, and is still needed."""
    report = pod.report
    if node.formatted or report is None or not report.accepted or report.directory_id is None:
        return None
    if pod.claim_uid != node.claim_uid or pod.mode is not node.mode:
        return None
    if (report.cluster_id, report.node_id) != (record.cluster_id, node.node_id):
        return None
    if node.directory_id not in (None, report.directory_id) or report.directory_id in node.lost:
        return None
    return DirectoryID(report.directory_id)


def _barrier(situation: Situation) -> Part:
    record = situation.record
    if record.phase is BootstrapPhase.STARTED:
        return Part()
    verdict = may_start(situation, initial_nodes(record), situation.desired.name)
    if not verdict.allowed:
        return Part(verdicts=(verdict,))
    message = f"every initial controller is formatted: cluster {record.cluster_id} may start"
    write = WriteRecord(record=with_started(record), change=RecordChange.STARTED, message=message)
    return Part(exclusive=write, verdicts=(verdict,))


def _format(situation: Situation, node: NodeIdentity) -> Part:
    observed, record = situation.observed, situation.record
    revision = revision_of(observed, record, node)
    if node.formatted or revision is None or observed.pods_of(node.node_id, PodRole.FORMATTER):
        return Part()
    initial = node.mode is not FormatMode.NO_INITIAL_CONTROLLERS
    guard = may_format_initial if initial else may_format_newcomer
    verdict = guard(situation, node)
    if not verdict.allowed:
        return Part(verdicts=(verdict,), waits=(_format_wait(observed, node, verdict),))
    if not is_mirrored(situation, node):
        message = f"the identity of controller {node.node_id} is being written to status and claim"
        return Part(verdicts=(verdict,), waits=(_progress(node, "Formatting", message),))
    naming = format_config_name if initial else config_name
    if (refused := before_create(observed, node, revision.name, formatter=True)) is not None:
        return replace(refused, verdicts=(verdict,))
    siblings = {c.selected_node for c in observed.claims if c.node_id != node.node_id and c.selected_node}
    action = CreateFormatter(
        node_id=node.node_id,
        revision=revision,
        config_name=naming(situation.desired.name, revision.inputs_hash, record.node_ids),
        avoid_nodes=tuple(sorted(siblings)),
    )
    return Part(actions=(action,), verdicts=(verdict,))


def _format_wait(observed: Observed, node: NodeIdentity, verdict: Verdict) -> Wait:
    lost = _votes_still(observed, node)
    severity = Severity.DEGRADED if lost else Severity.PROGRESS
    reason = "LostDisk" if lost else "Formatting"
    text = f"controller {node.node_id} lost its disk: {verdict.reason}" if lost else verdict.reason
    return Wait(severity=severity, reason=reason, message=text, node_id=node.node_id)


def _votes_still(observed: Observed, node: NodeIdentity) -> bool:
    """Whether a disk of this controller was lost, and not only retired before its node id was asked for again.

    A removed controller left the voters first, so a retired disk that is still a voter was lost. Without any look that
    showed a voter set, it counts as lost.
    """
    match observed.quorum:
        case Known(value=view):
            voters = view.voters | (view.committed_voters or frozenset())
        case _ if observed.memory.committed_voters is not None:
            voters = observed.memory.committed_voters
        case _:
            return bool(node.lost)
    return any(key.directory_id in node.lost for key in voters)


def _tend_formatter(situation: Situation, node: NodeIdentity, pod: Pod, *, outdated: bool) -> Part:
    if pod.deleting and is_down(situation.observed, pod.node_name):
        way_out = f"delete claim {pod.claim_name}, and the pod by force, to have it formatted on another node"
        text = f"pod {pod.name} cannot end: its node {pod.node_name} is down. Bring the node back, or {way_out}"
        return Part(waits=(Wait(severity=Severity.DEGRADED, reason="NodeDown", message=text, node_id=node.node_id),))
    if pod.deleting:
        return Part(waits=(_progress(node, "Formatting", f"waits until formatter {pod.name} is gone"),))
    if node.formatted or pod.claim_uid != node.claim_uid or pod.mode is not node.mode:
        return _remove_formatter(pod, "FormatterDone", f"formatter {pod.name} has done its work")
    match pod.container:
        case Waiting(reason=reason, message=message):
            return _waiting_formatter(pod, reason, message, outdated=outdated)
        case Running():
            return Part(waits=(_progress(node, "Formatting", f"formatter {pod.name} runs"),))
        case Terminated():
            return _failed_formatter(situation, node, pod, outdated=outdated)


def _waiting_formatter(pod: Pod, reason: str, message: str, *, outdated: bool) -> Part:
    """One that never started. Evicted, or refused by its node, it has ended, and no container tells of it."""
    if pod.finished:
        return _remove_formatter(pod, "FormatterFailed", f"formatter {pod.name} ended without a word, and is made anew")
    if outdated:
        return _remove_formatter(pod, "FormatterOutdated", f"formatter {pod.name} is made anew from the new spec")
    return Part(waits=(waiting_pod(pod, reason, message, otherwise="Formatting"),))


def _failed_formatter(situation: Situation, node: NodeIdentity, pod: Pod, *, outdated: bool) -> Part:
    """Foreign files are left alone for a person; anything else is tried again, at once where the spec was corrected."""
    observed = situation.observed
    report, ended_s = pod.report, pod.finished_at_s
    # The node's clock may be anywhere: a stamp that is far off, either way, is nothing to wait for.
    pauses = not outdated and abs(situation.now_s - ended_s) < _RETRY_FORMAT_AFTER_S
    if report is not None and is_retired_disk(observed.record, pod, report):
        return _returned(observed, node, pod, report)
    if report is not None and pauses and report.found is DiskFound.UNREADABLE:
        return Part(waits=(unreadable(node, pod, report.message),))
    if report is not None and not outdated and report.found not in (DiskFound.EMPTY, DiskFound.UNREADABLE):
        text = f"formatter {pod.name} refused the disk of controller {node.node_id}: {report.message}"
        return Part(
            waits=(
                _foreign(
                    node, text, ours=observed.record is not None and report.cluster_id == observed.record.cluster_id
                ),
            )
        )
    if report is None or not pauses:
        said = report.message if report else "it left no report"
        return _remove_formatter(pod, "FormatterFailed", f"formatter {pod.name} failed and is made anew: {said}")
    text = f"formatter {pod.name} failed, and is tried again in {_RETRY_FORMAT_AFTER_S:.0f} s: {report.message}"
    return Part(waits=(Wait(severity=Severity.DEGRADED, reason="FormatFailed", message=text, node_id=node.node_id),))


def _returned(observed: Observed, node: NodeIdentity, pod: Pod, report: DiskReport) -> Part:
    """A disk that was given up is there after all. It never runs again, and is not deleted: its claim is marked."""
    claim = claim_of(observed, node)
    text = f"formatter {pod.name} found retired directory id {report.directory_id}: claim {pod.claim_name} is kept"
    wait = _progress(node, "Formatting", f"{text}, and controller {node.node_id} gets the next one")
    if claim is None or claim.deleting or report.directory_id is None:
        return Part(waits=(wait,))
    mark = AnnotateClaim(
        claim=claim, directory_id=DirectoryID(report.directory_id), grow_to=None, retired=True, kept=True
    )
    return Part(actions=(mark,), waits=(wait,))


def given_up_formatter(situation: Situation, pod: Pod) -> Part | None:
    """A formatter on a lost node, of a claim that nobody uses: nobody there can confirm its end, nor is it waited for.

    None for any other. Whatever it still writes, it writes to a disk that no pod is ever made for.
    """
    if not is_down(situation.observed, pod.node_name) or any(
        node.claim_uid == pod.claim_uid for node in situation.record.nodes
    ):
        return None
    message = f"formatter {pod.name} is given up with node {pod.node_name}, and its claim with it"
    return Part(actions=(DeletePod(pod=pod, reason="PodGivenUp", message=message, force=True),))


def leftover_formatter(situation: Situation, pod: Pod) -> Part:
    """The formatter of a controller that was removed meanwhile: its claim is released once it is gone."""
    if (given_up := given_up_formatter(situation, pod)) is not None:
        return given_up
    removed = _remove_formatter(pod, "FormatterDone", f"formatter {pod.name} is removed with its controller")
    if not pod.deleting and removed.actions:
        return removed
    text = f"waits until formatter {pod.name} of a removed controller is gone"
    return Part(
        waits=(Wait(severity=Severity.PROGRESS, reason="PodEnds", message=text, node_id=pod.node_id),),
        verdicts=removed.verdicts,
    )


def _remove_formatter(pod: Pod, reason: str, message: str) -> Part:
    verdict = may_replace_pod(pod)
    if not verdict.allowed:
        return Part(verdicts=(verdict,))
    return Part(actions=(DeletePod(pod=pod, reason=reason, message=message),), verdicts=(verdict,))


def growth(situation: Situation) -> Part:
    """Claims that ask for less than the spec does."""
    actions = []
    for node in situation.record.nodes:
        claim = _claim(situation, node)
        if claim is not None and not claim.deleting and claim.requested_bytes < situation.desired.storage.size_bytes:
            grow = AnnotateClaim(claim=claim, directory_id=node.directory_id, grow_to=situation.desired.storage.size)
            actions.append(grow)
    return Part(actions=tuple(actions))


def _claim(situation: Situation, node: NodeIdentity) -> Claim | None:
    return situation.observed.claim(claim_name(situation.desired.name, node))


def _progress(node: NodeIdentity, reason: str, message: str) -> Wait:
    return Wait(severity=Severity.PROGRESS, reason=reason, message=message, node_id=node.node_id)


def _foreign(node: NodeIdentity, message: str, *, ours: bool) -> Wait:
    way_out = "It holds this quorum's data: do not empty it" if ours else "Restore the right volume, or empty this one"
    text = f"{message}. {way_out}"
    return Wait(severity=Severity.DEGRADED, reason="ForeignDisk", message=text, node_id=node.node_id)


def unreadable(node: NodeIdentity, pod: Pod, said: str) -> Wait:
    """A script cannot read the disk: what is on it is unknown, and it is neither formatted nor given up."""
    text = f"pod {pod.name} cannot read the disk of controller {node.node_id}: {said}. It tries again"
    text = f"{text}. If that lasts, repair the volume or its mount"
    return Wait(severity=Severity.DEGRADED, reason="DiskUnreadable", message=text, node_id=node.node_id)
