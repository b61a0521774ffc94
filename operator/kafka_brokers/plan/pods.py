"""The pods that run brokers: created on their own volumes, marked, and replaced if no Kafka runs in them. Pure."""

from collections.abc import Iterator
from dataclasses import replace

from kafka_brokers.model.actions import Action, CreatePod, DeletePod, GiveLate, MarkPod, RecordChange, WriteRecord
from kafka_brokers.model.disks import BrokerIdentity, PoolRecord, changed
from kafka_brokers.model.observed import Observed, Pod
from kafka_brokers.model.plan import Part, Severity, Wait
from kafka_brokers.plan.facts import NO_SECRET, Situation, is_shut_out, lacks_secret
from kafka_brokers.plan.guards.availability import waits_for
from kafka_brokers.plan.guards.rule2_disks import goes_with, may_replace_pod, may_run
from kafka_brokers.plan.late import late_properties
from kafka_brokers.plan.lost import is_down
from kafka_brokers.plan.revisions import config_of
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.permit import Permit, Verdict
from kafka_quorum.model.pods import CRASHED, NEVER_MADE, NOT_PULLED, Running, Terminated, Waiting


def pods(situation: Situation) -> Part:
    """Each formatted broker has a pod, made from its revision; one that cannot start gets the present one."""
    chosen = _chosen(situation)
    if chosen is not None:
        return Part(exclusive=chosen)
    actions: list[Action] = []
    waited: list[Wait] = []
    verdicts: list[Verdict] = []
    for broker in situation.record.brokers:
        pod = situation.observed.broker_pod(broker.node_id)
        part = _created(situation, broker) if pod is None else _kept(situation, broker, pod)
        actions.extend(part.actions)
        waited.extend(part.waits)
        verdicts.extend(part.verdicts)
    return Part(actions=tuple(actions), waits=tuple(waited), verdicts=tuple(verdicts))


def _chosen(situation: Situation) -> WriteRecord | None:
    """Note, before their pods are created, that brokers may run, and from which revision.

    A broker that does not run is not available anyway: it starts from the present revision. Brokers that have run
    before do so one after the other: if a revision cannot start, only one of them shows it.
    """
    record, target, found = situation.record, situation.target, []
    if situation.observed.revision(target) is None:
        return None
    for broker in record.brokers:
        pod = situation.observed.broker_pod(broker.node_id)
        if not broker.formatted or broker.empty or (pod is not None and (pod.running or pod.deleting)):
            continue
        if broker.leaving and not broker.ran:
            continue  # it leaves before it ever ran
        keeps = _keeps_revision(situation, record, broker)
        if broker.ran and (broker.revision == target or keeps):
            continue
        record = changed(record, replace(broker, ran=True, revision=broker.revision if keeps else target))
        found.append(broker.node_id)
    if not found:
        return None
    message = f"brokers {', '.join(map(str, found))} start from revision {target}"
    return WriteRecord(record=record, change=RecordChange.REVISION, message=message)


def _keeps_revision(situation: Situation, record: PoolRecord, broker: BrokerIdentity) -> bool:
    """Whether a broker starts from its own revision again, although the present spec makes another one."""
    if broker.revision is None or situation.observed.revision(broker.revision) is None:
        return False
    trying = (
        other for other in record.brokers if other.node_id != broker.node_id and other.revision == situation.target
    )
    away = (other.stopped or situation.observed.fenced(other.node_id) is not False for other in trying)
    lacks = lacks_secret(situation.observed, situation.desired.runtime, (broker.node_id,))
    return situation.repair_only or any(away) or bool(lacks)


def _created(situation: Situation, broker: BrokerIdentity) -> Part:
    if not broker.formatted or broker.empty:
        return Part()
    if why := _has_no_leader(situation):
        text = f"Broker {broker.node_id} starts when {why}"
        return Part(waits=(Wait(severity=Severity.PROGRESS, reason="Starting", message=text, node_id=broker.node_id),))
    verdict = may_run(situation.observed, broker)
    revision = situation.observed.revision(broker.revision)
    config = None if revision is None else config_of(situation, revision)
    if revision is not None and (lacks := lacks_secret(situation.observed, revision.runtime, (broker.node_id,))):
        text = f"Waiting to start broker {broker.node_id}: {lacks}"
        wait = Wait(severity=Severity.PROGRESS, reason=NO_SECRET, message=text, node_id=broker.node_id)
        return Part(waits=(wait,), verdicts=(verdict,))
    wait = Wait(
        severity=Severity.PROGRESS,
        reason="Starting",
        message=f"Broker {broker.node_id} starts" if verdict.allowed else f"Broker {broker.node_id}: {verdict.reason}",
        node_id=broker.node_id,
    )
    if not isinstance(verdict, Permit) or revision is None or config is None:
        return Part(waits=(wait,), verdicts=(verdict,))
    new = CreatePod(node_id=broker.node_id, revision=revision, config_name=config, permit=verdict)
    return Part(actions=(new,), waits=(wait,), verdicts=(verdict,))


def _has_no_leader(situation: Situation) -> str:
    """What a new quorum lacks before its brokers start, as a clause; empty if nothing.

    A broker that follows a first leader that is replaced at once cannot register for a minute (measured on 4.4.0). A
    quorum that is paused has an old contract, and may have brokers: then one of them shows the partitions.
    """
    contract = situation.observed.contract
    if not isinstance(contract, Known) or not contract.value.young or situation.view is not None:
        return ""
    match situation.observed.leader:
        case Unknown(reason=reason):
            return f"the quorum has its first leader ({reason})"
        case Known(value=leader):
            caught_up = f"{leader.voters_caught_up} of {leader.voters} have"
    return "" if leader.settled else f"every voter of the quorum has caught up with its first leader: {caught_up}"


def _kept(situation: Situation, broker: BrokerIdentity, pod: Pod) -> Part:
    if pod.deleting and is_down(situation, pod.node_name):
        return Part(actions=tuple(_marks(situation, pod)))  # nothing runs there: what is lost is reported elsewhere
    if pod.deleting:
        text = f"Broker {broker.node_id} is stopping: Kafka hands its partitions over first"
        wait = Wait(severity=Severity.PROGRESS, reason="Stopping", message=text, node_id=broker.node_id)
        return Part(actions=tuple(_marks(situation, pod)), waits=(wait,))
    replaced = _replaced(situation, broker, pod)
    if replaced is not None:
        return replaced
    return Part(actions=(*_late(situation, pod), *_marks(situation, pod)), waits=tuple(_waits(situation, broker, pod)))


def _replaced(situation: Situation, broker: BrokerIdentity, pod: Pod) -> Part | None:
    """Delete a pod that was made for other volumes, has ended, or cannot start from an old revision."""
    other = _of_other_volumes(situation, broker, pod)
    fenced = situation.observed.fenced(broker.node_id) is True
    # A running pod that is to be stopped is evicted under rule 11, even if it is fenced.
    # One that is fenced for a moment comes back sooner than one that restarts, while another is away.
    away = any(other.stopped for other in situation.record.brokers)
    waited = situation.view is not None and bool(waits_for(situation.view, broker.node_id))
    shut_out = is_shut_out(situation, pod)
    idle = not pod.running or (fenced and not away and not waited) or shut_out
    moved = idle and broker.revision not in (None, pod.revision)
    if not (other or moved or pod.finished):
        return None
    if not pod.finished and (going := goes_with(situation.observed, pod)):
        text = f"Did not delete pod {pod.name}: {going}, and the volume would be gone with the pod"
        return Part(waits=(Wait(severity=Severity.DEGRADED, reason="PodKept", message=text, node_id=broker.node_id),))
    verdict = may_replace_pod(pod, Known(value=True) if shut_out else situation.fenced(broker.node_id))
    why = (
        "it was made for other volumes"
        if other
        else f"it has ended{pod.why_ended}"
        if pod.finished
        else "it cannot start"
    )
    why = "its certificate has ended" if shut_out and not pod.finished else why
    if not isinstance(verdict, Permit):
        text = f"Did not delete pod {pod.name}, although {why}: {verdict.reason}"
        wait = Wait(severity=Severity.DEGRADED, reason="PodKept", message=text, node_id=broker.node_id)
        return Part(waits=(wait,), verdicts=(verdict,))
    message = f"pod {pod.name} is created again: {why}"
    return Part(
        actions=(DeletePod(pod=pod, reason="PodReplaced", message=message, permit=verdict),), verdicts=(verdict,)
    )


def _of_other_volumes(situation: Situation, broker: BrokerIdentity, pod: Pod) -> bool:
    """Whether a pod was made for other volumes than those that its revision uses of the present ones."""
    revision = situation.observed.revision(pod.revision)
    disks = [disk for disk in broker.disks if revision is None or disk.index < revision.runtime.volumes]
    uids = tuple(disk.claim_uid or "" for disk in disks)
    directories = tuple(disk.directory_id or "" for disk in disks)
    return (pod.claim_uids, pod.directory_ids) != (uids, directories)


def _late(situation: Situation, pod: Pod) -> Iterator[Action]:
    """What a scheduled pod needs to know about its place, once all of it is known."""
    if not pod.needs_late or pod.late is not None or not pod.node_name:
        return
    text = late_properties(situation, pod)
    if isinstance(text, Known):
        yield GiveLate(pod=pod, properties=text.value)


def _marks(situation: Situation, pod: Pod) -> Iterator[Action]:
    """The readiness gate: true if the broker is unfenced, in the metadata of a broker that is caught up."""
    gate, message = gate_of(situation.observed, pod)
    if gate != pod.gate:
        yield MarkPod(pod=pod, gate=gate, message=message)


def gate_of(observed: Observed, pod: Pod) -> tuple[str, str]:
    """The status of the readiness gate, and its sentence. What is not known changes nothing for a pod that serves."""
    if not pod.serves:
        return "False", "Kafka does not run"
    match observed.fenced(pod.node_id):
        case True:
            return "False", f"broker {pod.node_id} is fenced, or not registered yet"
        case False:
            return "True", f"broker {pod.node_id} is unfenced"
        case None:
            return pod.gate or "Unknown", f"it is not known whether broker {pod.node_id} is fenced"


def _waits(situation: Situation, broker: BrokerIdentity, pod: Pod) -> Iterator[Wait]:
    node_id = broker.node_id
    match pod.container:
        case Running():
            if situation.observed.fenced(node_id) is True:
                text = f"Broker {node_id} runs and is fenced: it recovers its logs, or catches up with the metadata"
                yield Wait(severity=Severity.PROGRESS, reason="Starting", message=text, node_id=node_id)
        case Waiting(reason=reason) as kept if kept.init or reason in NEVER_MADE:
            text = f"Broker {node_id} does not start: {kept.words}"
            yield Wait(severity=Severity.DEGRADED, reason="PodStuck", message=text, node_id=node_id)
        case Waiting(reason=reason, message=message) if reason in NOT_PULLED:
            text = f"Broker {node_id} does not start: its image cannot be pulled ({message or reason})"
            yield Wait(severity=Severity.DEGRADED, reason="ImagePullFailed", message=text, node_id=node_id)
        case Waiting(reason=reason, last_exit=last) if reason == CRASHED or last is not None:
            said = last.message.strip() if last is not None else ""
            said = pod.report.message if pod.report is not None and not pod.report.accepted else said
            text = f"Broker {node_id} does not start{': ' + said if said else f' ({reason})'}"
            yield Wait(severity=Severity.DEGRADED, reason="BrokerCrashes", message=text, node_id=node_id)
        case Waiting() if pod.unschedulable:
            text = f"Broker {node_id} is not scheduled: {pod.unschedulable}"
            yield Wait(severity=Severity.DEGRADED, reason="Unschedulable", message=text, node_id=node_id)
        case Waiting() if pod.needs_late and pod.late is None and pod.node_name:
            late = late_properties(situation, pod)
            why = late.reason if isinstance(late, Unknown) else "it gets them now"
            text = f"Broker {node_id} waits for its rack or its addresses: {why}"
            yield Wait(severity=Severity.PROGRESS, reason="Starting", message=text, node_id=node_id)
        case Waiting() | Terminated():
            yield Wait(
                severity=Severity.PROGRESS, reason="Starting", message=f"Broker {node_id} starts", node_id=node_id
            )
