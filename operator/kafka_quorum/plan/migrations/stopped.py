"""What a roll back to ZooKeeper does with the controllers: they stop, and at its end their volumes are retired."""

from collections.abc import Sequence

from kafka_quorum.model.actions import AnnotateClaim, DeleteClaim, DeletePod
from kafka_quorum.model.beside import keeper
from kafka_quorum.model.desired import VolumeFate
from kafka_quorum.model.ids import DirectoryID, NodeID
from kafka_quorum.model.known import Known
from kafka_quorum.model.names import RETIRED
from kafka_quorum.model.nodes import is_down
from kafka_quorum.model.observed import Claim
from kafka_quorum.model.permit import Refusal
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.pods import Pod, PodRole
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.guards.rule3_voters import may_replace_pod
from kafka_quorum.plan.guards.rule6_volumes import may_delete_claim
from kafka_quorum.plan.guards.rule7_zookeeper import may_stop_controllers
from kafka_quorum.plan.part import Part, merged


def stopped(situation: Situation) -> Part:
    """Delete every pod: first those of followers, so that the leader commits nothing any more, then the leader's.

    Until it resigns the leader goes on to write to ZooKeeper what is committed.
    """
    if not situation.record.overlay.stopped:
        return Part()
    pods = situation.observed.pods
    formatters = (_formatter(situation, pod) for pod in pods if pod.role is PodRole.FORMATTER and not pod.deleting)
    kafka = [pod for pod in pods if pod.role is PodRole.KAFKA]
    leader = _leader(situation)
    followers = [pod for pod in kafka if pod.node_id != leader]
    due = followers or kafka
    stops = (_held(situation, due), *(_stop(situation, pod) for pod in due))
    return merged((*formatters, *stops, *(_retired(situation, claim) for claim in situation.observed.claims)))


def _leader(situation: Situation) -> NodeID | None:
    """Who leads, or led last, as ZooKeeper has it: a leader that does not answer may still commit."""
    quorum, seen = situation.observed.quorum, keeper(situation)
    if isinstance(quorum, Known):
        return quorum.value.answer.leader_id
    return seen.controller.node_id if not isinstance(seen, str) and seen.controller is not None else None


def _formatter(situation: Situation, pod: Pod) -> Part:
    verdict = may_replace_pod(situation, pod)
    if isinstance(verdict, Refusal):
        return Part(verdicts=(verdict,))
    text = f"formatter {pod.name} is removed: the controllers stop"
    delete = DeletePod(pod=pod, reason="FormatterDone", message=text, permit=verdict)
    return Part(actions=(delete,), verdicts=(verdict,))


def _held(situation: Situation, due: Sequence[Pod]) -> Part:
    """Why none of these stops, once for all of them."""
    verdict = may_stop_controllers(situation) if any(not pod.deleting for pod in due) else None
    if not isinstance(verdict, Refusal):
        return Part()
    return Part(waits=(Wait(severity=Severity.PROGRESS, reason="ControllersStop", message=verdict.reason),))


def _stop(situation: Situation, pod: Pod) -> Part:
    if pod.deleting:
        text, severity = f"Waiting for pod {pod.name} to terminate", Severity.PROGRESS
        if is_down(situation.observed, pod.node_name):
            way_out = "If the machine is off for good, delete the pod with kubectl delete pod --force"
            text = f"pod {pod.name} cannot terminate: its Kubernetes node {pod.node_name} is down. {way_out}"
            severity = Severity.DEGRADED
        return Part(waits=(Wait(severity=severity, reason="ControllersStop", message=text, node_id=pod.node_id),))
    verdict = may_stop_controllers(situation)
    if isinstance(verdict, Refusal):
        return Part(verdicts=(verdict,))
    text = f"pod {pod.name} is removed: the cluster goes back to ZooKeeper"
    delete = DeletePod(pod=pod, reason="ControllerStopped", message=text, permit=verdict)
    return Part(actions=(delete,), verdicts=(verdict,))


def _retired(situation: Situation, claim: Claim) -> Part:
    """At the end a claim is marked as retired, and deleted if the policy says so."""
    if not situation.record.has_ended or claim.deleting:
        return Part()
    if claim.phase != RETIRED:
        directory_id = DirectoryID(claim.directory_id) if claim.directory_id else None
        return Part(actions=(AnnotateClaim(claim=claim, directory_id=directory_id, grow_to=None, retired=True),))
    fate = situation.desired.storage.when_scaled
    if situation.repair_only or claim.kept or fate is VolumeFate.RETAIN:
        return Part()
    verdict = may_delete_claim(situation, claim)
    if isinstance(verdict, Refusal):
        return Part(verdicts=(verdict,))
    message = f"claim {claim.name} is deleted: {verdict.reason}"
    return Part(actions=(DeleteClaim(claim=claim, message=message, permit=verdict),), verdicts=(verdict,))
