"""The pods that run Kafka: created on the right disk, replaced if Kafka does not run, marked as the voters they are."""

from dataclasses import replace

from kafka_quorum.model.actions import CreatePod, DeletePod
from kafka_quorum.model.disk import found_empty
from kafka_quorum.model.identity import BootstrapPhase, IdentityRecord, NodeIdentity
from kafka_quorum.model.journal import RecoveryStage
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.nodes import config_of, has_disk_of, is_down
from kafka_quorum.model.observed import Observed, Revision
from kafka_quorum.model.permit import Permit, Refusal
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.pods import DiskFound, Pod, PodRole, Running, Terminated, Waiting
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.admission import before_create
from kafka_quorum.plan.facts.configs import is_of_earlier_identity, lacks_config
from kafka_quorum.plan.facts.formats import is_mirrored
from kafka_quorum.plan.facts.held import held_back, is_held, unless_held
from kafka_quorum.plan.facts.kept import is_going, why_kept
from kafka_quorum.plan.facts.podstate import unreadable_disk, waiting_pod
from kafka_quorum.plan.facts.static import would_vote_at_once
from kafka_quorum.plan.guards.rule2_disks import is_look_due, may_run
from kafka_quorum.plan.guards.rule3_voters import may_replace_pod, may_stop_retired
from kafka_quorum.plan.part import Part, merged


def pods(situation: Situation) -> Part:
    """Every formatted node has one pod, of the record's identity and of the node's revision.

    A controller that is being removed is not started again, unless it is still a voter.
    """
    record = situation.record
    if record.phase is not BootstrapPhase.STARTED:
        return Part()
    if not _may_exist(record):
        return Part()
    nodes = (_node(situation, node) for node in record.nodes)
    left = (pod for pod in situation.observed.pods if pod.role is PodRole.KAFKA and record.node(pod.node_id) is None)
    leftovers = (_leftover(situation, pod) for pod in left)
    return merged((*nodes, *leftovers))


def _may_exist(record: IdentityRecord) -> bool:
    """Whether a pod may run Kafka at all: an open recovery stops all of them, until it starts one."""
    return record.recovery is None or record.recovery.stage is RecoveryStage.START


def _leftover(situation: Situation, pod: Pod) -> Part:
    """The pod of a controller that was removed."""
    if is_down(situation.observed, pod.node_name):
        return _stranded(situation, pod)
    if pod.deleting:
        return Part(waits=(_ends(situation.observed, pod),))
    verdict = may_stop_retired(situation, pod)
    if isinstance(verdict, Refusal):
        known = pod.directory_id in situation.record.retired
        severity = Severity.PROGRESS if known else Severity.DEGRADED  # time alone does not make it ours
        wait = Wait(severity=severity, reason="RemovingPod", message=verdict.reason, node_id=pod.node_id)
        return Part(verdicts=(verdict,), waits=(unless_held(situation, wait),))
    message = f"pod {pod.name} is removed with its controller: {verdict.reason}"
    return Part(
        actions=(DeletePod(pod=pod, reason="PodRemoved", message=message, permit=verdict),), verdicts=(verdict,)
    )


def _ends(observed: Observed, pod: Pod) -> Wait:
    if is_down(observed, pod.node_name):
        way_out = "Start the node again. If the machine is off for good, delete the pod with kubectl delete pod --force"
        text = f"pod {pod.name} cannot terminate: its Kubernetes node {pod.node_name} is down. {way_out}"
        return Wait(severity=Severity.DEGRADED, reason="NodeDown", message=text, node_id=pod.node_id)
    text = f"Waiting for pod {pod.name} to terminate"
    return Wait(severity=Severity.PROGRESS, reason="PodEnds", message=text, node_id=pod.node_id)


def _node(situation: Situation, node: NodeIdentity) -> Part:
    observed, record = situation.observed, situation.record
    present = observed.pods_of(node.node_id, PodRole.KAFKA)
    revision = situation.revision_of(node)
    if present:
        tended = merged(_present(situation, node, pod, revision) for pod in present)
        again = (_looks_again(situation, node, pod) for pod in present if node.node_id in situation.wanted)
        return tended if tended.actions else merged((tended, *again))
    if not node.formatted or not _needed(situation, node):
        return Part()
    verdict = may_run(situation, node, mirrored=is_mirrored(situation, node))
    if isinstance(verdict, Refusal):
        wait = Wait(severity=Severity.PROGRESS, reason="Starting", message=verdict.reason, node_id=node.node_id)
        return Part(verdicts=(verdict,), waits=(unless_held(situation, wait),))
    if revision is None:
        name = node.revision or record.applied_revision
        text = f"Did not create controller {node.node_id}: ControllerRevision {name} is missing, or cannot be read"
        wait = Wait(severity=Severity.DEGRADED, reason="RevisionMissing", message=text, node_id=node.node_id)
        return Part(verdicts=(verdict,), waits=(wait,))
    if would_vote_at_once(node, revision.runtime):
        text = f"Waiting to start controller {node.node_id} from the next revision, without controller.quorum.voters"
        wait = Wait(severity=Severity.PROGRESS, reason="Starting", message=text, node_id=node.node_id)
        return Part(verdicts=(verdict,), waits=(wait,))
    config = config_of(situation.desired.name, record, revision)
    create = CreatePod(node_id=node.node_id, revision=revision, config_name=config, permit=verdict)
    part = before_create(observed, node, revision.name) or Part(actions=(create,))
    return replace(part, verdicts=(verdict,))


def _needed(situation: Situation, node: NodeIdentity) -> bool:
    """Whether this controller must run: it is wanted, or still a voter; without an answer that is unknown."""
    match situation.observed.quorum:
        case Known(value=view):
            return node.node_id in situation.wanted or node.key in view.voters
        case Unknown():
            return True


def _present(situation: Situation, node: NodeIdentity, pod: Pod, revision: Revision | None) -> Part:
    observed = situation.observed
    if pod.directory_id in situation.record.retired and is_down(observed, pod.node_name):
        return _stranded(situation, pod)
    if pod.deleting:
        return Part(waits=(_ends(observed, pod),))
    reason = _why_replace(situation, node, pod, revision)
    if reason is not None:
        retired = pod.directory_id in situation.record.retired
        verdict = (
            may_stop_retired(situation, pod)
            if pod.running and retired
            else may_replace_pod(situation, pod, kept=_why_kept(situation, node, pod))
        )
        if isinstance(verdict, Permit):
            code, text = reason
            takes = has_disk_of(pod, node) and is_going(situation, node)
            delete = DeletePod(pod=pod, reason=code, message=text, takes_disk=takes, permit=verdict)
            return Part(actions=(delete,), verdicts=(verdict,))
        held = Wait(severity=Severity.PROGRESS, reason="RemovingPod", message=verdict.reason, node_id=node.node_id)
        if is_held(situation, node.node_id):
            return Part(verdicts=(verdict,), waits=(held_back(held),))
        return Part(verdicts=(verdict,), waits=(held,) if pod.running and retired else ())
    return Part(waits=_waits(observed, node, pod))


def _looks_again(situation: Situation, node: NodeIdentity, pod: Pod) -> Part:
    """Replace a pod whose next look at its empty disk is minutes away (kubelet's pauses): a new one looks at once."""
    revision = situation.revision_of(node)
    if revision is None or before_create(situation.observed, node, revision.name) is not None:
        return Part()  # it could not be recreated
    if not is_look_due(situation, node, pod):
        return Part()
    verdict = may_replace_pod(situation, pod)  # its disk stays: no look is due on a disk that is gone with its pod
    text = f"pod {pod.name} did not find its data some time ago, and is recreated to look again now"
    if isinstance(verdict, Refusal):
        return Part(verdicts=(verdict,))
    delete = DeletePod(pod=pod, reason="DiskLooksEmpty", message=text, permit=verdict)
    return Part(actions=(delete,), verdicts=(verdict,))


def _why_kept(situation: Situation, node: NodeIdentity, pod: Pod) -> str:
    """Why this pod must stay, as the last that holds its controller's disk; empty if it holds another, or may stop."""
    return why_kept(situation, node) if has_disk_of(pod, node) else ""


def _stranded(situation: Situation, pod: Pod) -> Part:
    """A pod on a lost node, on a retired disk: its end cannot be confirmed there, so it is not waited for."""
    verdict = may_stop_retired(situation, pod)
    if isinstance(verdict, Refusal):
        wait = Wait(severity=Severity.DEGRADED, reason="LostNode", message=verdict.reason, node_id=pod.node_id)
        return Part(verdicts=(verdict,), waits=(wait,))
    message = (
        f"pod {pod.name} is deleted by force, because its Kubernetes node {pod.node_name} is down: {verdict.reason}"
    )
    delete = DeletePod(pod=pod, reason="PodGivenUp", message=message, force=True, permit=verdict)
    return Part(actions=(delete,), verdicts=(verdict,))


def _why_replace(
    situation: Situation, node: NodeIdentity, pod: Pod, revision: Revision | None
) -> tuple[str, str] | None:
    """The first reason for another pod in its place, as code and text; None if it stays."""
    report, known, name = pod.report, revision is not None, pod.name
    script_is_old = report is not None and report.outdated and not pod.running
    again = f"and is recreated from revision {node.revision or pod.revision}"
    old_script = f"pod {name} examines its disk with the script of an earlier operator version"
    unknown_disk = f"pod {name} does not know its disk, and was made before the present identity"
    reasons = (
        (
            not has_disk_of(pod, node),
            "PodOutdated",
            f"pod {name} was made for another disk than controller {node.node_id} has now",
        ),
        (pod.finished, "PodFinished", f"pod {name} has ended{pod.why_ended}, {again}"),
        (
            script_is_old,
            "PodOutdated",
            f"{old_script}, which reports an unreadable disk as empty: the pod is recreated",
        ),
        (
            revision is not None and pod.revision != revision.name,
            "PodCorrected",
            f"pod {name} did not start, and is recreated from the corrected spec",
        ),
        (
            known and is_of_earlier_identity(situation, pod),
            "PodOutdated",
            f"{unknown_disk} (config map {pod.config_name}): it is recreated",
        ),
        (
            known and lacks_config(situation, pod),
            "PodOutdated",
            f"pod {name} waits for config map {pod.config_name}, which is gone, and is recreated",
        ),
    )
    return next(((code, text) for holds, code, text in reasons if holds), None)


def _waits(observed: Observed, node: NodeIdentity, pod: Pod) -> tuple[Wait, ...]:
    report = pod.report
    if report is not None and not report.accepted and not pod.running:
        if found_empty(observed, pod, node):
            return ()  # `disks.lost` judges it
        if report.found is DiskFound.UNREADABLE:
            return (unreadable_disk(node, pod, report.message),)
        what = "it has files, and no meta.properties" if report.found is DiskFound.PARTIAL else report.message
        text = f"Did not start Kafka in pod {pod.name}: the disk is not its own ({what})"
        return (Wait(severity=Severity.DEGRADED, reason="ForeignDisk", message=text, node_id=node.node_id),)
    match pod.container:
        case Running():
            return ()
        case Waiting(reason=reason, message=message, last_exit=last_exit):
            said = message or (last_exit.message if last_exit else "")
            return (waiting_pod(pod, reason, said, otherwise="Starting"),)
        case Terminated(exit_code=exit_code, reason=reason):
            ended = f"which ended ({reason}, exit code {exit_code})"
            text = f"Waiting for the kubelet to restart Kafka in pod {pod.name}, {ended}"
            return (Wait(severity=Severity.PROGRESS, reason="Starting", message=text, node_id=node.node_id),)
