"""Lost disks after the barrier: with evidence retired for ever, without it waited for, and always reported."""

from kafka_quorum.model.actions import DecideRecord, RecordChange
from kafka_quorum.model.disk import found_empty, has_earlier, is_blank, is_gone, looks_again
from kafka_quorum.model.identity import BootstrapPhase, IdentityRecord, NodeIdentity, with_disk_lost
from kafka_quorum.model.known import Known
from kafka_quorum.model.permit import Refusal
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.pods import PodRole
from kafka_quorum.model.situation import Situation
from kafka_quorum.model.voters import majority_of
from kafka_quorum.plan.facts.kept import goes_with
from kafka_quorum.plan.guards.rule2_disks import may_retire_disk
from kafka_quorum.plan.part import Part, merged


def lost(situation: Situation) -> Part:
    """After the barrier: a claim that is gone, or a volume without data. With evidence, the directory id is retired.

    The disk of a controller that is being removed is not replaced, only reported: its voter is removed in any case.
    """
    record = situation.record
    if record.phase is not BootstrapPhase.STARTED:
        return Part()
    unread = {item.node_id for item in situation.observed.unreadable}
    if None in unread:
        return Part()  # the lost disk may be the one that cannot be read
    known = [node for node in record.nodes if node.formatted and node.node_id not in unread]
    suspects = [node for node in known if _looks_lost(situation, node)]
    failed = _bootstrap_failed(record, [node for node in suspects if _is_lost(situation, node)])
    if failed is not None:
        return Part(waits=(failed,))
    retired = (_retire(situation, node) for node in suspects if node.node_id in situation.wanted)
    leaving = (_leaves(situation, node) for node in record.nodes if node.node_id not in situation.wanted)
    return merged((*retired, *leaving))


def _leaves(situation: Situation, node: NodeIdentity) -> Part:
    """The lost disk of a controller that is not requested: there may be no leader that could remove its voter."""
    if isinstance(situation.observed.quorum, Known) and node.key not in situation.observed.quorum.value.voters:
        return Part()
    if not node.formatted or not _is_lost(situation, node):
        return Part()
    text = f"controller {node.node_id} is being removed, so its lost disk is not replaced: voter {node.key} is removed"
    return Part(waits=(Wait(severity=Severity.DEGRADED, reason="DiskNotReplaced", message=text, node_id=node.node_id),))


def _is_lost(situation: Situation, node: NodeIdentity) -> bool:
    """Whether there is evidence. For an emptied disk, this means two runs of a script some seconds apart."""
    observed = situation.observed
    return is_gone(observed, situation.disk(node)) or is_blank(observed, node)


def _looks_lost(situation: Situation, node: NodeIdentity) -> bool:
    """Whether a single look shows a loss: it is reported, and looked at again."""
    observed = situation.observed
    claim = situation.disk(node).claim
    if claim is None or claim.volume_gone or looks_again(observed, node):
        return True
    return any(found_empty(observed, pod, node) for pod in observed.pods_of(node.node_id, PodRole.KAFKA))


def _bootstrap_failed(record: IdentityRecord, suspects: list[NodeIdentity]) -> Wait | None:
    """A majority of the first voters is lost before any leader was seen: no safe way leads on from there."""
    if record.had_leader or not record.initial:
        return None
    suspect_keys = {node.key for node in suspects}
    retired = {directory for node in record.nodes for directory in node.retired}
    gone = [key for key in record.initial if key in suspect_keys or key.directory_id in retired]
    if len(record.initial) - len(gone) >= majority_of(len(record.initial)):
        return None
    names = ", ".join(str(key) for key in gone)
    message = (
        f"Did not start the quorum: a majority of the initial controllers lost their disks before there was a leader "
        f"({names}). Bring these disks back. If they are gone and no broker ever joined, delete the resource, its "
        "claims and its identity ConfigMap, and apply the resource again"
    )
    return Wait(severity=Severity.DEGRADED, reason="BootstrapFailed", message=message)


def _retire(situation: Situation, node: NodeIdentity) -> Part:
    observed = situation.observed
    claim = situation.disk(node).claim
    verdict = may_retire_disk(situation, node)
    if isinstance(verdict, Refusal):
        running = next((pod for pod in observed.pods_of(node.node_id, PodRole.KAFKA) if pod.running), None)
        told = verdict.reason
        if running is not None:
            told = f"{told}, and {goes_with(situation, node, running)}"
        wait = Wait(severity=Severity.DEGRADED, reason="LostDisk", message=told, node_id=node.node_id)
        return Part(waits=(wait,), verdicts=(verdict,))
    new_claim = claim is None or claim.volume_gone
    on_it = "its volume holds an earlier, retired disk" if has_earlier(observed, node) else "its volume is empty"
    how = "its claim is gone" if claim is None else "its volume is gone" if claim.volume_gone else on_it
    message = f"controller {node.node_id} lost its disk ({how}): directory id {node.directory_id} is retired"
    retired = with_disk_lost(situation.record, node.node_id, new_claim=new_claim)
    write = DecideRecord(record=retired, change=RecordChange.DISK_LOST, message=message, permit=verdict)
    return Part(exclusive=write, verdicts=(verdict,))
