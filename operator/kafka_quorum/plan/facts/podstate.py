"""The state of a pod that does not run, in words for the person who reads it."""

from typing import Final

from kafka_quorum.model.identity import NodeIdentity
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.pods import CRASHED, STUCK, Pod, Terminated, Waiting

_LONG_S: Final = 60.0
"""A container that ran for this long until it ended can start."""


def is_stuck(pod: Pod) -> bool:
    """Whether this pod will not run without a change of the spec, the cluster or the disk."""
    if pod.deleting or pod.running:
        return False
    match pod.container:
        case Waiting(reason=reason):
            return reason in STUCK or bool(pod.unschedulable)
        case Terminated(exit_code=exit_code):
            return exit_code != 0
        case _:
            return False


def has_crashed(pod: Pod) -> bool:
    """Whether its Kafka has just ended, or ran for long until it ended: then its revision is not the reason.

    The kubelet starts it again; because of earlier crashes it may pause before that.
    """
    match pod.container:
        case Terminated():
            return True
        case Waiting(last_exit=Terminated(ran_s=ran_s)):
            return ran_s >= _LONG_S
        case _:
            return False


def waiting_pod(pod: Pod, reason: str, message: str, *, otherwise: str) -> Wait:
    """Why a pod does not run: `PodStuck` with the kubelet's or the scheduler's words, else `otherwise`."""
    if pod.unschedulable:
        text = f"pod {pod.name} cannot be scheduled: {pod.unschedulable}"
        return Wait(severity=Severity.DEGRADED, reason="PodUnschedulable", message=text, node_id=pod.node_id)
    if reason in STUCK:
        said = f": {message}" if message else ""
        if isinstance(pod.container, Waiting) and pod.container.init:
            way_out = f"Read kubectl logs {pod.name} -c {pod.container.init}. Correct the spec, or what added it"
            text = f"pod {pod.name} does not start: {pod.container.words}. {way_out}"
            return Wait(severity=Severity.DEGRADED, reason="PodStuck", message=text, node_id=pod.node_id)
        text = f"pod {pod.name} does not start ({reason}{said}). Correct the spec, and the pod is recreated"
        if reason == CRASHED:
            way_out = f"Read kubectl logs {pod.name} --previous. If the spec is wrong, correct it"
            text = f"pod {pod.name} starts, and ends again ({reason}{said}). {way_out}"
        return Wait(severity=Severity.DEGRADED, reason="PodStuck", message=text, node_id=pod.node_id)
    text = f"Waiting for pod {pod.name} to start ({reason})" if reason else f"Waiting for pod {pod.name} to start"
    return Wait(severity=Severity.PROGRESS, reason=otherwise, message=text, node_id=pod.node_id)


def unreadable_disk(node: NodeIdentity, pod: Pod, said: str) -> Wait:
    """A script cannot read the disk: what is on it is unknown, and it is neither formatted nor given up."""
    text = f"pod {pod.name} cannot read the disk of controller {node.node_id}, and tries again: {said}"
    text = f"{text}. If this continues, repair the volume or its mount"
    return Wait(severity=Severity.DEGRADED, reason="DiskUnreadable", message=text, node_id=node.node_id)
