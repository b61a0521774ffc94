"""Formats and the barrier: every first controller is formatted before any of them starts."""

from dataclasses import replace

from kafka_quorum.model.actions import CreateFormatter, DecideRecord, RecordChange, WriteRecord
from kafka_quorum.model.identity import (
    BootstrapPhase,
    FormatMode,
    IdentityRecord,
    NodeIdentity,
    with_report,
    with_started,
)
from kafka_quorum.model.ids import DirectoryID
from kafka_quorum.model.journal import FORMATS
from kafka_quorum.model.known import Known
from kafka_quorum.model.nodes import config_of, initial_nodes, is_outdated
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.permit import Refusal, Verdict
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.pods import Pod, PodRole
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.disks.formatters import given_up_formatter, leftover_formatter, progress, tend_formatter
from kafka_quorum.plan.facts.admission import before_create
from kafka_quorum.plan.facts.formats import format_pending, is_mirrored
from kafka_quorum.plan.facts.held import unless_held
from kafka_quorum.plan.facts.preflight import why_not_beside
from kafka_quorum.plan.guards.rule1_formats import may_format_initial, may_format_newcomer, may_start
from kafka_quorum.plan.part import Part, merged


def formatting(situation: Situation) -> Part:
    """Record reports, delete formatters that are done, pass the barrier, and create formatters for unformatted disks.

    If the format itself is about to be corrected, no formatter is created, and those that did nothing are deleted.
    """
    create = situation.repair_only or not format_pending(situation)
    observed, record = situation.observed, situation.record
    if record.recovery is not None and record.recovery.stage not in FORMATS:
        return Part()  # what stops and fences the controllers alone acts on pods
    if (reports := _reports(situation)) is not None:
        return Part(exclusive=reports)
    barrier = _barrier(situation)
    if barrier.exclusive is not None:
        return barrier
    tended = (
        _tended(situation, node, pod, outdated=not create or is_outdated(observed, record, node, pod.revision))
        for node in record.nodes
        for pod in observed.pods_of(node.node_id, PodRole.FORMATTER)
    )
    created = (_format(situation, node) for node in record.nodes if create)
    left = (pod for pod in observed.pods if pod.role is PodRole.FORMATTER and record.node(pod.node_id) is None)
    leftovers = (leftover_formatter(situation, pod) for pod in left if record.phase is BootstrapPhase.STARTED)
    return merged((barrier, *tended, *created, *leftovers))


def _reports(situation: Situation) -> WriteRecord | None:
    """The record with every format that a formatter reported, and that it still lacks; None if there is none."""
    record, messages = situation.record, list[str]()
    for node in situation.record.nodes:
        for pod in situation.observed.pods_of(node.node_id, PodRole.FORMATTER):
            if (directory_id := _reported(record, node, pod)) is not None:
                messages.append(f"controller {node.node_id} is formatted with directory id {directory_id}")
                record = with_report(record, node.node_id, directory_id)
                break  # a second report would be of the disk that the first one is of
    if not messages:
        return None
    return WriteRecord(record=record, change=RecordChange.FORMATTED, message="; ".join(messages))


def _tended(situation: Situation, node: NodeIdentity, pod: Pod, *, outdated: bool) -> Part:
    given_up = given_up_formatter(situation, pod)
    return given_up if given_up.actions else merged((given_up, tend_formatter(situation, node, pod, outdated=outdated)))


def _reported(record: IdentityRecord, node: NodeIdentity, pod: Pod) -> DirectoryID | None:
    """The directory id that a formatter reported for the node's present disk, if the record still lacks it."""
    report = pod.report
    if node.formatted or report is None or not report.accepted or report.directory_id is None:
        return None
    if pod.claim_uid != node.claim_uid or pod.mode is not node.mode:
        return None
    if (report.cluster_id, report.node_id) != (record.cluster_id, node.node_id):
        return None
    if node.directory_id not in (None, report.directory_id) or report.directory_id in node.retired:
        return None
    return DirectoryID(report.directory_id)


def _barrier(situation: Situation) -> Part:
    record = situation.record
    if record.phase is BootstrapPhase.STARTED:
        return Part()
    verdict = may_start(situation, initial_nodes(record), situation.desired.name)
    if isinstance(verdict, Refusal):
        return Part(verdicts=(verdict,), waits=_preflight(situation, verdict))
    message = f"every initial controller is formatted, so cluster {record.cluster_id} may start"
    write = DecideRecord(
        record=with_started(record, situation.runtime.listener),
        change=RecordChange.STARTED,
        message=message,
        permit=verdict,
    )
    return Part(exclusive=write, verdicts=(verdict,))


def _preflight(situation: Situation, verdict: Refusal) -> tuple[Wait, ...]:
    """What the preflight of a migration from ZooKeeper found, when nothing else is left to do before the start."""
    if not all(node.formatted for node in initial_nodes(situation.record)):
        return ()
    found = why_not_beside(situation)
    return (Wait(severity=Severity.HELD, reason="Preflight", message=verdict.reason),) if found else ()


def _format(situation: Situation, node: NodeIdentity) -> Part:
    observed, record = situation.observed, situation.record
    revision = situation.revision_of(node)
    if node.formatted or revision is None or observed.pods_of(node.node_id, PodRole.FORMATTER):
        return Part()
    initial = node.mode is not FormatMode.NO_INITIAL_CONTROLLERS
    verdict = may_format_initial(situation, node) if initial else may_format_newcomer(situation, node)
    if isinstance(verdict, Refusal):
        return Part(verdicts=(verdict,), waits=(_format_wait(situation, node, verdict),))
    if not is_mirrored(situation, node):
        first = "the operator has to copy its directory id into the status and its claim first"
        message = f"Waiting to format controller {node.node_id}: {first}"
        return Part(verdicts=(verdict,), waits=(progress(node, "Formatting", message),))
    if (refused := before_create(observed, node, revision.name, formatter=True)) is not None:
        return replace(refused, verdicts=(verdict,))
    siblings = {c.selected_node for c in observed.claims if c.node_id != node.node_id and c.selected_node}
    action = CreateFormatter(
        node_id=node.node_id,
        revision=revision,
        config_name=config_of(situation.desired.name, record, revision, initial=initial),
        avoid_nodes=tuple(sorted(siblings)),
        permit=verdict,
    )
    return Part(actions=(action,), verdicts=(verdict,))


def _format_wait(situation: Situation, node: NodeIdentity, verdict: Verdict) -> Wait:
    """Before the barrier no disk was lost: one of an earlier attempt was retired on purpose."""
    started = situation.record.phase is BootstrapPhase.STARTED
    lost = started and _votes_still(situation.observed, node)
    severity = Severity.DEGRADED if lost else Severity.PROGRESS
    reason = "LostDisk" if lost else "Formatting"
    text = f"controller {node.node_id} lost its disk. {verdict.reason}" if lost else verdict.reason
    wait = Wait(severity=severity, reason=reason, message=text, node_id=node.node_id)
    return wait if lost else unless_held(situation, wait)


def _votes_still(observed: Observed, node: NodeIdentity) -> bool:
    """Whether a disk of this controller was lost, and not only retired before its node id was requested again.

    A removed controller is removed from the voters first. So a retired disk that is still a voter was lost. If no look
    showed a voter set, the disk counts as lost.
    """
    match observed.quorum:
        case Known(value=view):
            voters = view.voters | (view.committed_voters or frozenset())
        case _ if observed.memory.committed_voters is not None:
            voters = observed.memory.committed_voters
        case _:
            return bool(node.retired)
    return any(key.directory_id in node.retired for key in voters)
