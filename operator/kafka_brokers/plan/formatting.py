"""Volumes without a directory id are formatted, all of a broker by one pod that never runs Kafka. Pure."""

from dataclasses import replace

from kafka_brokers.model.actions import Action, CreateFormatter, DeletePod, RecordChange, WriteRecord
from kafka_brokers.model.disks import BrokerIdentity, adopts, changed, with_disk
from kafka_brokers.model.observed import Pod
from kafka_brokers.model.plan import Part, Severity, Wait
from kafka_brokers.plan.facts import Situation
from kafka_brokers.plan.guards.rule2_disks import came_back, may_format, may_replace_pod
from kafka_brokers.plan.lost import BLANK_FOR_S
from kafka_brokers.plan.revisions import config_of
from kafka_quorum.model.ids import DirectoryID
from kafka_quorum.model.known import Unknown
from kafka_quorum.model.permit import Permit, Verdict
from kafka_quorum.model.pods import DiskFound

_NOT_NEEDED = Unknown(reason="a formatter runs no Kafka")


def formatting(situation: Situation) -> Part:
    """Create formatters, note what they report, and delete them when that is done."""
    reported = _reported(situation)
    if reported is not None:
        return Part(exclusive=reported)
    actions: list[Action] = []
    waited: list[Wait] = []
    verdicts: list[Verdict] = []
    for broker in situation.record.brokers:
        pods = situation.observed.formatter_pods(broker.node_id)
        for pod in pods:
            actions.extend(_ended(situation, broker, pod))
            waited.extend(_refused(broker, pod))
        if broker.formatted or pods or _is_dropped(broker):
            if not broker.formatted and not _is_dropped(broker):
                waited.append(_formats(situation, broker))
            continue
        verdict = may_format(situation.observed, broker, adopts=adopts(broker, wanted=situation.desired.adopt))
        verdicts.append(verdict)
        revision = situation.observed.revision(situation.target) or situation.revision_of(broker)
        config = None if revision is None else config_of(situation, revision)
        if isinstance(verdict, Permit) and revision is not None and config is not None:
            actions.append(
                CreateFormatter(
                    node_id=broker.node_id,
                    revision=revision,
                    config_name=config,
                    avoid_nodes=_avoided(situation, broker),
                    permit=verdict,
                )
            )
        waited.append(_held(situation, broker, verdict))
    return Part(actions=tuple(actions), waits=tuple(waited), verdicts=tuple(verdicts))


def _is_dropped(broker: BrokerIdentity) -> bool:
    """Whether a broker leaves before it ever ran: it needs no volumes any more."""
    return broker.leaving and not broker.ran


def _avoided(situation: Situation, broker: BrokerIdentity) -> tuple[str, ...]:
    """Where volumes of other brokers are. The scheduler does not see pods that have ended, so it is told."""
    claims = (claim for claim in situation.observed.claims if claim.node_id != broker.node_id and not claim.retired)
    return tuple(sorted({claim.selected_node for claim in claims if claim.selected_node}))


def _formats(situation: Situation, broker: BrokerIdentity) -> Wait:
    """A formatter looks at the volumes. What it formatted is not used if what was given up is needed after all."""
    if back := came_back(situation.observed, broker):
        text = f"Did not start broker {broker.node_id} on its new volumes: {back}"
        return Wait(severity=Severity.DEGRADED, reason="LostDisk", message=text, node_id=broker.node_id)
    return _progress(broker, f"The volumes of broker {broker.node_id} are being formatted")


def _held(situation: Situation, broker: BrokerIdentity, verdict: Verdict) -> Wait:
    """What a format waits for. A volume that may have had data needs a person if the guard refuses it."""
    if verdict.allowed:
        return _progress(broker, f"Broker {broker.node_id} gets its volumes")
    doubtful = any(disk.unproven and disk.claim_uid is not None for disk in broker.disks)
    if doubtful or came_back(situation.observed, broker):
        text = f"Did not format a volume of broker {broker.node_id}: {verdict.reason}"
        return Wait(severity=Severity.DEGRADED, reason="LostDisk", message=text, node_id=broker.node_id)
    return _progress(broker, f"Waiting to format the volumes of broker {broker.node_id}: {verdict.reason}")


def _progress(broker: BrokerIdentity, message: str) -> Wait:
    return Wait(severity=Severity.PROGRESS, reason="Formatting", message=message, node_id=broker.node_id)


def _reported(situation: Situation) -> WriteRecord | None:
    """The record with the directory ids that formatters of the present claims have reported, of all brokers at once."""
    record, done = situation.record, []
    for broker in situation.record.brokers:
        for pod in situation.observed.formatter_pods(broker.node_id):
            found = _with_report(situation, broker, pod)
            if found is not None and found != broker and not came_back(situation.observed, broker):
                record = changed(record, found)
                done.append(broker.node_id)
    if not done:
        return None
    message = f"the volumes of brokers {', '.join(map(str, done))} are formatted"
    return WriteRecord(record=record, change=RecordChange.FORMATTED, message=message)


def _with_report(situation: Situation, broker: BrokerIdentity, pod: Pod) -> BrokerIdentity | None:
    """The broker with the reported ids; None if the report is not about its present, unformatted volumes."""
    report = pod.report
    uids = tuple(disk.claim_uid or "" for disk in broker.disks)
    if broker.formatted or report is None or not report.accepted or not pod.finished or pod.claim_uids != uids:
        return None
    retired = {directory for disk in broker.disks for directory in disk.retired}
    for disk in broker.disks:
        row = report.disk(disk.index)
        good = row is not None and row.found is DiskFound.FORMATTED
        if row is None or not good or (row.cluster_id, row.node_id) != (situation.record.cluster_id, broker.node_id):
            return None
        if not row.directory_id or row.directory_id in retired:
            return None
        if disk.directory_id is not None and disk.directory_id != row.directory_id:
            return None
        broker = with_disk(broker, replace(disk, directory_id=DirectoryID(row.directory_id), unproven=False))
    return replace(broker, ran=True) if report.adopted else broker


def _ended(situation: Situation, broker: BrokerIdentity, pod: Pod) -> list[Action]:
    """Delete a formatter that is not needed any more, or that has failed and is to be tried again."""
    uids = tuple(disk.claim_uid or "" for disk in broker.disks)
    useless = _is_dropped(broker) or pod.claim_uids != uids  # a volume that does not exist lets no pod start
    if pod.deleting or not (pod.finished or (useless and not pod.running)):
        return []
    if not _is_dropped(broker) and not broker.formatted and pod.report is not None and not pod.report.accepted:
        directories = tuple(disk.directory_id or "" for disk in broker.disks)
        made_for_these = (pod.claim_uids, pod.directory_ids, pod.revision) == (uids, directories, situation.target)
        if made_for_these and not _looks_again(situation, pod):
            return []  # a person must look at what it found; another attempt would find the same
    verdict = may_replace_pod(pod, _NOT_NEEDED)
    if not isinstance(verdict, Permit):
        return []
    message = f"formatter pod {pod.name} {'has ended' if pod.finished else 'is not needed any more'}"
    return [DeletePod(pod=pod, reason="FormatterDeleted", message=message, permit=verdict)]


def _looks_again(situation: Situation, pod: Pod) -> bool:
    """Whether a formatter found a volume empty that has data by the record, long enough ago for a second look."""
    rows = (row for row in situation.observed.memory.blank if row.claim_uids == pod.claim_uids)
    return any(row.looked_s - row.last_s >= BLANK_FOR_S for row in rows)


def _refused(broker: BrokerIdentity, pod: Pod) -> list[Wait]:
    if broker.formatted or pod.report is None or pod.report.accepted or not pod.finished:
        return []
    text = (
        f"Did not format the volumes of broker {broker.node_id}: {pod.report.message}. When that is corrected, delete "
        f"pod {pod.name}: another one tries again"
    )
    return [Wait(severity=Severity.DEGRADED, reason="FormatRefused", message=text, node_id=broker.node_id)]
