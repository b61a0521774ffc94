"""What may still write to the disks of a quorum, while a recovery needs them unchanged."""

from kafka_quorum.model.known import Known
from kafka_quorum.model.observed import Observed


def why_ours_may_write(observed: Observed) -> str:
    """A leader that answers, or a pod that the operator ends by itself; empty if there is neither."""
    if isinstance(observed.quorum, Known):
        return f"controller {observed.quorum.value.answer.leader_id} leads a quorum"
    if observed.pods:
        return f"pod {observed.pods[0].name} still exists"
    return ""


def why_others_may_write(observed: Observed) -> str:
    """A pod that only a person can end, or give its labels back; empty if there is none.

    A copy of a pod, as `kubectl debug --copy-to` makes it, has its volumes.
    """
    if unread := [item.name for item in observed.unreadable if item.kind == "Pod"]:
        return f"pod {unread[0]} cannot be read"
    if others := [item.name for item in observed.strangers if item.on_disk]:
        return f"pod {others[0]}, which the operator did not create, uses a disk of this quorum: delete it"
    return ""
