"""Labels and readiness gates: which pods are shown as voters, and as caught up."""

from kafka_quorum.model.actions import MarkPod
from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.pods import Pod, PodRole
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.part import Part

UNKNOWN_AFTER_LOOKS = 3
"""After this many looks without an answer the readiness gates become Unknown."""


def marks(situation: Situation) -> Part:
    """Labels and readiness gates: ready means a caught-up voter, and only a voter counts in the disruption budget."""
    actions = [
        action
        for pod in situation.observed.pods
        if pod.role is PodRole.KAFKA and not pod.deleting and not pod.finished
        if (action := _mark(situation, pod)) is not None
    ]
    return Part(actions=tuple(actions))


def _mark(situation: Situation, pod: Pod) -> MarkPod | None:
    node = situation.record.node(pod.node_id)
    key = ReplicaKey(node_id=pod.node_id, directory_id=pod.directory_id)
    match situation.observed.quorum:
        case Unknown(reason=reason):
            if situation.observed.memory.unknown_looks < UNKNOWN_AFTER_LOOKS:
                return None
            if pod.gate in ("", "Unknown") and pod.owner_uid is not None:
                return None
            return MarkPod(
                pod=pod, voter=pod.marked_voter, gate="Unknown", message=f"not known to be a voter now ({reason})"
            )
        case Known(value=view):
            if key in view.unproven:
                return None  # the present mark stays until the next look
            voter = key in view.voters and node is not None and node.key == key
            gate = "True" if voter and key in view.caught_up and pod.running else "False"
    if (voter, gate) == (pod.marked_voter, pod.gate) and pod.owner_uid is not None:
        return None
    message = "a caught-up voter" if gate == "True" else "a lagging voter" if voter else "not a voter"
    return MarkPod(pod=pod, voter=voter, gate=gate, message=message)
