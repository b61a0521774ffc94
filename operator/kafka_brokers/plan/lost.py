"""Volumes and Kubernetes nodes that are lost: what shows it, and what is given up (B7). Pure."""

from collections.abc import Iterator
from typing import Final

from kafka_brokers.model import names
from kafka_brokers.model.actions import DeletePod, NoteEmpty, RecordChange, WriteRecord
from kafka_brokers.model.disks import BrokerIdentity, DiskIdentity, adopts, changed, with_disk, without_data
from kafka_brokers.model.evidence import empty_for_s, empty_in, is_news
from kafka_brokers.model.observed import Observed, Pod
from kafka_brokers.model.plan import Part, Severity, Wait, merged
from kafka_brokers.model.pool import Cure
from kafka_brokers.plan.facts import Situation
from kafka_brokers.plan.guards.rule2_disks import may_replace_pod
from kafka_brokers.plan.guards.rule10_records import may_retire_disk, may_retire_node
from kafka_quorum.model.known import Known
from kafka_quorum.model.permit import Permit, Verdict

BLANK_FOR_S: Final = 15.0
"""How far apart two runs of a script must be that found a volume empty, if none between them found anything else."""


def lost(situation: Situation) -> Part:
    """Give up what is lost, one broker at a time, as the policy says."""
    brokers = situation.record.brokers
    looks = (_look(situation, broker) for broker in brokers)
    return merged((*looks, *(_of(situation, broker) for broker in brokers if not broker.leaving)))


def _of(situation: Situation, broker: BrokerIdentity) -> Part:
    if not broker.ran and adopts(broker, wanted=situation.desired.adopt):
        return Part()  # its volumes are a person's until they are adopted
    gone = tuple(_gone(situation, broker))
    if gone:
        return _disks(situation, broker, gone)
    return _node(situation, broker)


def _gone(situation: Situation, broker: BrokerIdentity) -> Iterator[tuple[DiskIdentity, bool, str]]:
    """Volumes without their data: the volume, whether it needs a new claim, and how that was found."""
    for disk in broker.disks:
        claim = situation.observed.claim(broker.node_id, disk.index, disk.generation)
        name = f"volume {disk.index} of broker {broker.node_id}"
        if claim is None and _is_unreadable(situation, broker, disk):
            continue
        if disk.claim_uid is None:
            if disk.unproven and claim is None:
                yield disk, True, f"the record was rebuilt, and there is no claim of {name}, which may have had data"
        elif claim is None:
            yield disk, True, f"the claim of {name} is gone"
        elif claim.uid != disk.claim_uid:
            continue
        elif claim.volume_gone:
            yield disk, True, f"Kubernetes reports that {name} does not exist"
        elif claim.deleting:
            yield disk, True, f"claim {claim.name} is being deleted, and {name} is gone with its pod"
        elif disk.formatted and is_blank(situation, broker, disk):
            yield disk, False, f"{name} was found empty in two runs"


def _is_unreadable(situation: Situation, broker: BrokerIdentity, disk: DiskIdentity) -> bool:
    """Whether the claim of a volume exists and cannot be read: then it is not gone."""
    name = names.claim_name(situation.desired.name, broker.node_id, disk.index, disk.generation)
    return any(one.name == name for one in situation.observed.unreadable)


def is_blank(situation: Situation, broker: BrokerIdentity, disk: DiskIdentity) -> bool:
    """Whether the scripts found a volume empty in two runs that are far enough apart, and nothing else between."""
    pod = situation.observed.broker_pod(broker.node_id)
    if pod is not None and pod.running:
        return False
    if pod is not None and _was_made_for(pod, disk) and empty_for_s(pod, disk.index) >= BLANK_FOR_S:
        return True
    keys = {one.claim_uids for one in situation.observed.formatter_pods(broker.node_id)}
    rows = (row for row in situation.observed.memory.blank if row.claim_uids in keys and row.index == disk.index)
    return any(row.last_s - row.first_s >= BLANK_FOR_S for row in rows)


def _was_made_for(pod: Pod, disk: DiskIdentity) -> bool:
    """Whether a pod mounts the present claim of a volume."""
    return pod.claim_uids[disk.index : disk.index + 1] == (disk.claim_uid,)


def _look(situation: Situation, broker: BrokerIdentity) -> Part:
    """Note what the newest run of a script found empty, so that the next run counts whatever becomes of this operator.

    A volume that is not formatted yet is empty, and no pod runs Kafka on it.
    """
    pod = situation.observed.broker_pod(broker.node_id)
    if pod is None or pod.deleting or pod.running or pod.report is None:
        return Part()
    known = [disk for disk in broker.disks if disk.formatted and _was_made_for(pod, disk)]
    empty = [disk for disk in known if disk.index in empty_in(pod.report)]
    if not empty:
        return Part()
    what = f"volume {', '.join(str(disk.index) for disk in empty)} of broker {broker.node_id}"
    text = (
        f"It looks as if {what} were empty. It counts as lost if the next run of the script in pod {pod.name} finds the"
        f" same, {BLANK_FOR_S:.0f} s later or more. Between two runs the kubelet pauses for up to five minutes"
    )
    wait = Wait(severity=Severity.DEGRADED, reason="LostDisk", message=text, node_id=broker.node_id)
    return Part(
        actions=(NoteEmpty(pod=pod),) if is_news(pod) else (),
        waits=() if any(is_blank(situation, broker, disk) for disk in empty) else (wait,),
    )


def _disks(situation: Situation, broker: BrokerIdentity, gone: tuple[tuple[DiskIdentity, bool, str], ...]) -> Part:
    evidence = "; ".join(why for _, _, why in gone)
    if broker.ran and situation.desired.lost_disk is Cure.MANUAL:
        text = f"Did not replace what is lost, because spec.replacement.lostDisk is Manual: {evidence}"
        return _waiting(broker, "LostDisk", text)
    pod = situation.observed.broker_pod(broker.node_id)
    if pod is not None and pod.running:
        text = f"{evidence}: Kafka still runs in pod {pod.name}. Delete that pod, and the volume is replaced"
        return _waiting(broker, "LostDisk", text)
    verdict = may_retire_disk(situation.observed, broker, tuple(disk for disk, _, _ in gone), evidence)
    if not isinstance(verdict, Permit):
        return _waiting(broker, "LostDisk", f"Did not replace a volume: {verdict.reason}", verdict)
    after = broker
    for disk, new_claim, _ in gone:
        after = with_disk(after, without_data(disk, new_claim=new_claim))
    message = f"broker {broker.node_id} gets new volumes: {verdict.reason}"
    write = WriteRecord(
        record=changed(situation.record, after), change=RecordChange.DISK_LOST, message=message, permit=verdict
    )
    return Part(exclusive=write, verdicts=(verdict,))


def _waiting(broker: BrokerIdentity, reason: str, text: str, *verdicts: Verdict) -> Part:
    wait = Wait(severity=Severity.DEGRADED, reason=reason, message=text, node_id=broker.node_id)
    return Part(waits=(wait,), verdicts=verdicts)


def _node(situation: Situation, broker: BrokerIdentity) -> Part:
    """A broker whose Kubernetes node is down, for longer than the policy waits, with volumes that only it can reach.

    A broker that has never run has no data: what was begun on such a node begins again on another one.
    """
    pod = situation.observed.broker_pod(broker.node_id)
    name = place_of(situation.observed, broker)
    if not is_down(situation, name):
        return Part()
    if how := _may_come_back(situation, broker):
        text = f"Broker {broker.node_id} is on Kubernetes node {name}, which is down: {how}"
        return _waiting(broker, "NodeDown", text)
    evidence = f"Kubernetes node {name} of broker {broker.node_id} is down, and the quorum has fenced the broker"
    bound = tuple(disk for disk in broker.disks if _bound_to(situation.observed, broker, disk) == name)
    verdict = may_retire_node(situation.observed, broker, bound or broker.disks, evidence)
    if not isinstance(verdict, Permit):
        return _waiting(broker, "NodeDown", f"Did not replace broker {broker.node_id}: {verdict.reason}", verdict)
    formatters = [one for one in situation.observed.formatter_pods(broker.node_id) if one.node_name in ("", name)]
    if pod is not None or formatters:
        return merged(_forced(situation, broker, one) for one in (*((pod,) if pod is not None else ()), *formatters))
    if not bound:
        return Part()
    after = broker
    for disk in bound:
        after = with_disk(after, without_data(disk, new_claim=True))
    message = f"broker {broker.node_id} gets volumes on another Kubernetes node: {verdict.reason}"
    write = WriteRecord(
        record=changed(situation.record, after),
        change=RecordChange.NODE_LOST,
        message=message,
        permit=verdict,
    )
    return Part(exclusive=write, verdicts=(verdict,))


def is_down(situation: Situation, name: str) -> bool:
    """Whether Kubernetes says that this node is not ready, or gone; False if the name is empty, or nothing is known."""
    node = situation.observed.kube_node(name) if name else None
    return isinstance(node, Known) and not node.value.ready


def _may_come_back(situation: Situation, broker: BrokerIdentity) -> str:
    """Why a Kubernetes node that is down is not lost yet, as a clause; empty if it is."""
    left_s = situation.desired.lost_node_after_s - situation.observed.memory.node_down_for_s(broker.node_id)
    if left_s > 0:
        return f"for {left_s:.0f} s more it may come back"
    return "spec.replacement.lostNode is Manual" if situation.desired.lost_node is Cure.MANUAL else ""


def stuck(situation: Situation, broker: BrokerIdentity, pod: Pod) -> Part:
    """A pod that is being deleted, of a broker that leaves, ends without its Kubernetes node if that is lost."""
    if not pod.deleting or not is_down(situation, pod.node_name):
        return Part()
    if how := _may_come_back(situation, broker):
        text = (
            f"Broker {broker.node_id} leaves, and pod {pod.name} cannot end: Kubernetes node {pod.node_name} is down: "
            f"{how}. If the machine is off for good, delete the pod with --force"
        )
        return _waiting(broker, "NodeDown", text)
    return _forced(situation, broker, pod)


def _forced(situation: Situation, broker: BrokerIdentity, pod: Pod) -> Part:
    """Delete the pod of a lost Kubernetes node without waiting for it; its volumes are given up after that."""
    verdict = may_replace_pod(pod, situation.fenced(broker.node_id), node_lost=True)
    if not isinstance(verdict, Permit):
        return _waiting(broker, "NodeDown", f"Did not delete pod {pod.name}: {verdict.reason}", verdict)
    message = f"pod {pod.name} is deleted without its Kubernetes node, which is lost"
    delete = DeletePod(pod=pod, reason="NodeLost", message=message, force=True, permit=verdict)
    return Part(actions=(delete,), verdicts=(verdict,))


def place_of(observed: Observed, broker: BrokerIdentity) -> str:
    """The Kubernetes node of a broker: of its pod, the only one that reaches a present volume of it, or of a formatter.

    Empty if there is none. Where volumes are that were given up says nothing about the broker any more.
    """
    pod = observed.broker_pod(broker.node_id)
    if pod is not None and pod.node_name:
        return pod.node_name
    formatters = (one.node_name for one in observed.formatter_pods(broker.node_id))
    return next(filter(None, (*(_bound_to(observed, broker, disk) for disk in broker.disks), *formatters)), "")


def _bound_to(observed: Observed, broker: BrokerIdentity, disk: DiskIdentity) -> str:
    claim = observed.claim(broker.node_id, disk.index, disk.generation)
    return claim.bound_to if claim is not None else ""
