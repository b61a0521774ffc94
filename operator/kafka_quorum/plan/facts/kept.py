"""Disks that are gone with their pods: the claim is being deleted, lost or gone; only the pod still holds the volume.

Kubernetes keeps a deleted claim while a pod uses it, and never undoes the deletion. Stopping that pod gives up the
disk, whatever the reason for the stop. So such a stop is judged like a lost disk: it needs the policy, a leader, a
committed voter set, and a caught-up majority of the other voters on disks that stay.
"""

from collections.abc import Set as AbstractSet

from kafka_quorum.model.desired import Cure
from kafka_quorum.model.disk import why_going
from kafka_quorum.model.identity import NodeIdentity
from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.known import Unknown
from kafka_quorum.model.pods import Pod
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.static import STATIC, takes_empty_disks


def why_kept(situation: Situation, node: NodeIdentity) -> str:
    """Why nothing may stop the pod that holds this controller's disk; empty if the disk stays, or is not needed."""
    fate = why_going(situation.disk(node), node)
    needed = _why_needed(situation, node) if fate else ""
    return f"{fate}, so its disk is lost as soon as its pod stops. {needed}" if needed else ""


def is_going(situation: Situation, node: NodeIdentity) -> bool:
    """Whether only the pod of this controller still holds its disk."""
    return bool(why_going(situation.disk(node), node))


def goes_with(situation: Situation, node: NodeIdentity, pod: Pod) -> str:
    """What a person needs to read about a disk that is gone with this pod, including the way out."""
    needed, fate = _why_needed(situation, node), why_going(situation.disk(node), node)
    way_out = "It is not needed now: delete that pod, and the operator replaces the disk. The next roll does the same"
    if needed:
        way_out = f"Do not delete that pod. {needed}"
    elif situation.desired.replacement.lost_disk is Cure.MANUAL:
        way_out = (
            "To have the disk replaced, set spec.controllers.replacement.lostDisk to Automatic, and delete that pod"
        )
    return f"{fate}, so the disk of controller {node.node_id} is lost as soon as pod {pod.name} stops. {way_out}"


def _why_needed(situation: Situation, node: NodeIdentity) -> str:
    """Why the quorum needs a controller's disk now, or may need it; empty if it does not."""
    observed = situation.observed
    if takes_empty_disks(situation):
        return f"The disk is needed: {STATIC}"
    if isinstance(observed.quorum, Unknown):
        return f"The disk is needed, because the quorum has no leader ({observed.quorum.reason})"
    view = observed.quorum.value
    if node.key not in view.voters | (view.committed_voters or view.voters):
        return ""
    staying = staying_of(situation, view.voters - {node.key})
    votes = view.votes.only(staying)
    healthy, majority = len(votes.healthy), votes.majority
    least = 2 * (len(view.voters) - len(staying)) + 1
    more = f"Set spec.controllers.replicas to {least}, and wait until the new controllers are voters"
    way_out = "Wait for the others" if len(staying) >= majority else more
    rows = (
        (
            situation.desired.replacement.lost_disk is Cure.MANUAL,
            "The disk is not replaced: set spec.controllers.replacement.lostDisk to Automatic",
        ),
        (not view.committed, "The disk is needed until the present voter set is committed"),
        (
            not votes.carries,
            f"Too few other voters are caught up on disks that stay ({healthy} of the {majority} needed). {way_out}",
        ),
    )
    return next((text for holds, text in rows if holds), "")


def staying_of(situation: Situation, keys: AbstractSet[ReplicaKey]) -> frozenset[ReplicaKey]:
    """Those of these voters whose disks stay when their pods stop, as far as they are controllers of ours."""
    return frozenset(key for key in keys if _stays(situation, key))


def _stays(situation: Situation, key: ReplicaKey) -> bool:
    node = situation.record.node(key.node_id)
    return node is None or (node.key == key and not why_going(situation.disk(node), node))
