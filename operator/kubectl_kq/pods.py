"""What is wrong with a pod, by Kubernetes' own word. Pure."""

from datetime import datetime
from typing import Any, Final, TypeAlias

from kubectl_kq import reading
from kubectl_kq.ages import seconds_since, span

Json: TypeAlias = dict[str, Any]

_RECENT_S: Final = 3600.0
_BROKEN: Final = frozenset(
    {
        *("CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull"),
        *("CreateContainerConfigError", "CreateContainerError", "RunContainerError"),
    }
)
"""Reasons of a waiting container that time alone does not end."""


def is_broken(pod: Json) -> str | None:
    """Why a pod cannot run; None if it runs, ends or is on its way."""
    scheduled = _condition(pod, "PodScheduled")
    if reading.text(scheduled, "status") == "False":
        return f"no Kubernetes node takes it: {reading.text(scheduled, 'message')}"
    for row in _containers(pod):
        waiting = reading.at(row, "state", "waiting")
        reason = reading.text(waiting, "reason")
        if reason in _BROKEN:
            return f"container {reading.text(row, 'name')}: {reason}: {reading.text(waiting, 'message')}"
    if reading.text(pod, "status", "phase") == "Failed":
        return f"it has failed: {reading.text(pod, 'status', 'message') or reading.text(pod, 'status', 'reason')}"
    if reading.text(pod, "status", "phase") == "Unknown" or reading.text(pod, "status", "reason") == "NodeLost":
        return "its Kubernetes node does not report"
    return None


def is_ending(pod: Json) -> bool:
    """Whether it is being deleted."""
    return reading.text(pod, "metadata", "deletionTimestamp") is not None


def not_ready(pod: Json) -> str | None:
    """Why a pod is not ready; None if it is."""
    ready = _condition(pod, "Ready")
    if reading.text(ready, "status") == "True":
        return None
    words = reading.text(ready, "message") or reading.text(ready, "reason")
    return words or f"its phase is {reading.text(pod, 'status', 'phase')}"


def restarted(pod: Json, now: datetime) -> str | None:
    """A sentence about the last restart of a container, if it was within the last hour."""
    for row in _containers(pod):
        ended = reading.at(row, "lastState", "terminated")
        age_s = seconds_since(reading.text(ended, "finishedAt"), now)
        if age_s is not None and age_s < _RECENT_S:
            count, name = reading.number(row, "restartCount"), reading.text(row, "name")
            why, code = reading.text(ended, "reason"), reading.number(ended, "exitCode")
            return f"container {name} ended {span(age_s)} ago ({why}, exit code {code}); {count} restarts in all"
    return None


def node_of(pod: Json) -> str | None:
    """The Kubernetes node that the pod is on."""
    return reading.text(pod, "spec", "nodeName")


def _condition(pod: Json, kind: str) -> Json:
    rows = reading.rows(pod, "status", "conditions")
    return next((row for row in rows if reading.text(row, "type") == kind), {})


def _containers(pod: Json) -> tuple[Json, ...]:
    return (*reading.rows(pod, "status", "initContainerStatuses"), *reading.rows(pod, "status", "containerStatuses"))
