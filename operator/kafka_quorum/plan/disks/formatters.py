"""The pods that format: done, failed, outdated, or left over from a controller that was removed."""

from kafka_quorum.model.actions import AnnotateClaim, DeletePod
from kafka_quorum.model.identity import NodeIdentity
from kafka_quorum.model.ids import DirectoryID
from kafka_quorum.model.nodes import claim_of, is_down, is_retired_disk
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.permit import Refusal
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.pods import DiskFound, DiskReport, Pod, Running, Terminated, Waiting
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.configs import lacks_config
from kafka_quorum.plan.facts.held import held_back, is_held
from kafka_quorum.plan.facts.podstate import unreadable_disk, waiting_pod
from kafka_quorum.plan.guards.rule2_disks import may_give_up_formatter
from kafka_quorum.plan.guards.rule3_voters import may_replace_pod
from kafka_quorum.plan.part import Part

_RETRY_FORMAT_AFTER_S = 20.0


def tend_formatter(situation: Situation, node: NodeIdentity, pod: Pod, *, outdated: bool) -> Part:
    """Wait for a formatter of a controller, delete it, or recreate it if it is `outdated`."""
    if pod.deleting and is_down(situation.observed, pod.node_name):
        way_out = f"delete claim {pod.claim_name}, and the pod by force, to format on another Kubernetes node"
        down = f"its Kubernetes node {pod.node_name} is down"
        text = f"formatter pod {pod.name} cannot terminate: {down}. Bring the node back, or {way_out}"
        return Part(waits=(Wait(severity=Severity.DEGRADED, reason="NodeDown", message=text, node_id=node.node_id),))
    if pod.deleting:
        return Part(waits=(progress(node, "Formatting", f"Waiting for formatter pod {pod.name} to terminate"),))
    if node.formatted or pod.claim_uid != node.claim_uid or pod.mode is not node.mode:
        return _remove_formatter(situation, pod, "FormatterDone", f"formatter {pod.name} has done its work")
    match pod.container:
        case Waiting(reason=reason, message=message):
            wait = waiting_pod(pod, reason, message, otherwise="Formatting")
            return _waiting_formatter(situation, pod, wait, outdated=outdated)
        case Running():
            return Part(
                waits=(progress(node, "Formatting", f"Waiting for formatter pod {pod.name} to format its disk"),)
            )
        case Terminated():
            return _failed_formatter(situation, node, pod, outdated=outdated)


def _waiting_formatter(situation: Situation, pod: Pod, wait: Wait, *, outdated: bool) -> Part:
    """A formatter that never started. If it was evicted, or refused by its node, no container reports its end."""
    if pod.finished:
        text = f"formatter {pod.name} ended without a report{pod.why_ended}, and is recreated"
        return _remove_formatter(situation, pod, "FormatterFailed", text)
    if outdated:
        return _remove_formatter(
            situation, pod, "FormatterOutdated", f"formatter {pod.name} is recreated from the new spec"
        )
    if lacks_config(situation, pod):
        text = f"formatter {pod.name} waits for config map {pod.config_name}, which is gone, and is recreated"
        return _remove_formatter(situation, pod, "FormatterOutdated", text)
    return Part(waits=(wait,))


def _failed_formatter(situation: Situation, node: NodeIdentity, pod: Pod, *, outdated: bool) -> Part:
    """Foreign files are left for a person; anything else is tried again, and at once if the spec was corrected."""
    observed = situation.observed
    report, ended_s = pod.report, pod.finished_at_s
    # The node's clock may be wrong: a stamp that is far from now, in either direction, delays nothing.
    pauses = not outdated and abs(situation.now_s - ended_s) < _RETRY_FORMAT_AFTER_S
    if report is not None and is_retired_disk(observed.record, pod, report):
        return _returned(observed, node, pod, report)
    if report is not None and pauses and report.found is DiskFound.UNREADABLE:
        return Part(waits=(unreadable_disk(node, pod, report.message),))
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
        return _remove_formatter(
            situation, pod, "FormatterFailed", f"formatter {pod.name} failed, and is recreated: {said}"
        )
    text = f"formatter {pod.name} failed, and is recreated in {_RETRY_FORMAT_AFTER_S:.0f} s: {report.message}"
    return Part(waits=(Wait(severity=Severity.DEGRADED, reason="FormatFailed", message=text, node_id=node.node_id),))


def _returned(observed: Observed, node: NodeIdentity, pod: Pod, report: DiskReport) -> Part:
    """A disk that was given up exists after all. It never runs again, and is not deleted: its claim is marked."""
    claim = claim_of(observed, node)
    text = f"formatter {pod.name} found retired directory id {report.directory_id}: claim {pod.claim_name} is kept"
    wait = progress(node, "Formatting", f"{text}, and controller {node.node_id} gets a new claim")
    if claim is None or claim.deleting or report.directory_id is None:
        return Part(waits=(wait,))
    mark = AnnotateClaim(
        claim=claim, directory_id=DirectoryID(report.directory_id), grow_to=None, retired=True, kept=True
    )
    return Part(actions=(mark,), waits=(wait,))


def given_up_formatter(situation: Situation, pod: Pod) -> Part:
    """Delete a formatter on a lost node, of a claim that no controller uses, without waiting for its end.

    For any other formatter there is no action.
    """
    if not is_down(situation.observed, pod.node_name):
        return Part()
    verdict = may_give_up_formatter(situation, pod)
    if isinstance(verdict, Refusal):
        return Part(verdicts=(verdict,))
    down = f"its Kubernetes node {pod.node_name} is down"
    message = f"formatter {pod.name} is deleted by force: {down}, and no controller uses its claim {pod.claim_name}"
    delete = DeletePod(pod=pod, reason="PodGivenUp", message=message, force=True, permit=verdict)
    return Part(actions=(delete,), verdicts=(verdict,))


def leftover_formatter(situation: Situation, pod: Pod) -> Part:
    """The formatter of a controller that was removed meanwhile: its claim is released when the formatter is gone."""
    if (given_up := given_up_formatter(situation, pod)).actions:
        return given_up
    removed = _remove_formatter(situation, pod, "FormatterDone", f"formatter {pod.name} is removed with its controller")
    if not pod.deleting and removed.actions:
        return removed
    text = f"Waiting for formatter pod {pod.name} of a removed controller to terminate"
    return Part(
        waits=(Wait(severity=Severity.PROGRESS, reason="PodEnds", message=text, node_id=pod.node_id),),
        verdicts=removed.verdicts,
    )


def _remove_formatter(situation: Situation, pod: Pod, reason: str, message: str) -> Part:
    verdict = may_replace_pod(situation, pod)
    if isinstance(verdict, Refusal):
        wait = held_back(Wait(severity=Severity.HELD, reason=reason, message=verdict.reason, node_id=pod.node_id))
        return Part(verdicts=(verdict,), waits=(wait,) if is_held(situation, pod.node_id) else ())
    delete = DeletePod(pod=pod, reason=reason, message=message, permit=verdict)
    return Part(actions=(delete,), verdicts=(verdict,))


def progress(node: NodeIdentity, reason: str, message: str) -> Wait:
    """A wait for something of this controller that is under way."""
    return Wait(severity=Severity.PROGRESS, reason=reason, message=message, node_id=node.node_id)


def _foreign(node: NodeIdentity, message: str, *, ours: bool) -> Wait:
    way_out = (
        "It holds this quorum's data: do not empty it"
        if ours
        else "Attach the right volume. Empty this one only if nothing on it is needed"
    )
    text = f"{message}. {way_out}"
    return Wait(severity=Severity.DEGRADED, reason="ForeignDisk", message=text, node_id=node.node_id)
