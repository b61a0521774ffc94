"""The status of a pod as the kubelet writes it, in the few values that decisions need. Pure, and for every kind."""

from dataclasses import replace
from ipaddress import ip_address
from typing import Final

from kafka_quorum.model.pods import ContainerState, Running, Terminated, Waiting
from kit.kube.protocol import Json
from kit.stamps import seconds_of
from kit.text import WORDS_MAX_CHARS, clean, cleaned

REPORT_MAX_CHARS: Final = 4096
"""The longest possible termination message."""
FINISHED: Final = ("Succeeded", "Failed")
"""The phases of a pod that has ended."""
_IN_TURN: Final = ("", "PodInitializing", "ContainerCreating")
"""The kubelet's words for a container whose turn has not come, or has just come."""


def status_of(item: Json) -> Json:
    """An object's status, cleaned: its texts come from kubelets, which may copy them from the user's image."""
    return object_of(cleaned(item.get("status"), max_chars=REPORT_MAX_CHARS))


def object_of(value: object) -> Json:
    """The value if it is a JSON object; else an empty one."""
    return value if isinstance(value, dict) else {}


def row_named(rows: list[Json] | None, name: str) -> Json | None:
    """The status of the container of this name; None if there is none yet."""
    return next((row for row in rows or [] if row.get("name") == name), None)


def condition(status: Json, type_: str) -> Json:
    """The condition of this type; empty if there is none."""
    return next((row for row in status.get("conditions") or [] if row.get("type") == type_), {})


def unschedulable(status: Json) -> str:
    """Why the scheduler finds no Kubernetes node for a pod; empty if nothing is wrong, or nothing is known."""
    row = condition(status, "PodScheduled")
    return str(row.get("message", "")) if row.get("reason") == "Unschedulable" else ""


def unplaced(status: Json) -> str:
    """As `unschedulable`, and also what keeps the scheduler from looking: a tool's scheduling gates (Kueue)."""
    row = condition(status, "PodScheduled")
    gated = row.get("status") == "False" and row.get("reason") == "SchedulingGated"
    return str(row.get("message") or row["reason"]) if gated else unschedulable(status)


def why_ended(status: Json) -> str:
    """Why Kubernetes ended a pod, as a clause in brackets: an eviction, or a machine that refused it. Else empty."""
    if status.get("phase") != "Failed" or not status.get("reason"):
        return ""
    said = ": ".join(str(status[field]) for field in ("reason", "message") if status.get(field))
    return f" ({clean(said, max_chars=WORDS_MAX_CHARS)})"


def address(text: object) -> str:
    """A pod's address; empty if it is not one, so that nothing is sent there."""
    try:
        return str(ip_address(text)) if isinstance(text, str) else ""
    except ValueError:
        return ""


def runs(row: Json | None) -> bool:
    """Whether a container runs."""
    return row is not None and "running" in (row.get("state") or {})


def effective_state(status: Json, main: Json | None, init: Json | None) -> ContainerState:
    """The main container's state; while the init container of ours runs before it, the init container's.

    A pod may have init containers of a person, or of a tool that changes pods, such as a service mesh. While one of
    them does not start, or ends again and again, all others only say that they wait.
    """
    held = init is not None and not _succeeded(init)
    row = init if held else main
    if held and row is not None and "running" in row.get("state", {}):
        return Waiting(reason="PodInitializing", message="the disk is being compared", last_exit=None)
    state = state_of(row)
    if not isinstance(state, Waiting) or state.reason not in _IN_TURN:
        return state
    rows = status.get("initContainerStatuses") or []
    others = ((str(other.get("name", "")), state_of(other)) for other in rows if other is not init)
    before = ((name, one) for name, one in others if isinstance(one, Waiting) and one.reason not in _IN_TURN)
    name, kept = next(before, ("", state))
    return replace(state, reason=kept.reason, message=kept.message, init=name)


def _succeeded(row: Json) -> bool:
    return bool(row.get("state", {}).get("terminated", {}).get("exitCode") == 0)


def state_of(row: Json | None) -> ContainerState:
    """The state of a container, by its row in the pod's status."""
    state = (row or {}).get("state") or {}
    if "running" in state:
        container = f"{(row or {}).get('restartCount', 0)} {(row or {}).get('containerID', '')}"
        restarted = bool(((row or {}).get("lastState") or {}).get("terminated"))
        return Running(started_at=state["running"].get("startedAt") or "", container=container, restarted=restarted)
    if "terminated" in state:
        return _terminated(state["terminated"])
    waiting = state.get("waiting", {})
    last = ((row or {}).get("lastState") or {}).get("terminated")
    return Waiting(
        reason=waiting.get("reason", ""),
        message=waiting.get("message", ""),
        last_exit=_terminated(last) if last else None,
    )


def _terminated(row: Json) -> Terminated:
    return Terminated(
        exit_code=row.get("exitCode", -1),
        reason=row.get("reason", ""),
        message=row.get("message", ""),
        finished_at=row.get("finishedAt") or "",
        ran_s=_span_s(row.get("startedAt"), row.get("finishedAt")),
    )


def _span_s(began: object, ended: object) -> float:
    """The seconds between two stamps of one clock; 0 if one of them is missing."""
    first_s, last_s = seconds_of(began), seconds_of(ended)
    return max(last_s - first_s, 0.0) if first_s and last_s else 0.0
