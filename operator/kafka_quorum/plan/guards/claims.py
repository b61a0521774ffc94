"""Whether the disk that a pod would mount is the one in the record: several rules use this check."""

from kafka_quorum.model.disk import Another, Claimed, Deleting, Gone, Unclaimed, VolumeGone
from kafka_quorum.model.identity import NodeIdentity
from kafka_quorum.model.observed import Claim
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.guards.registry import Answer, no, yes


def claim_is_ours(situation: Situation, node: NodeIdentity) -> Answer:
    """Whether the disk that a pod would mount is the one in the record."""
    match situation.disk(node):
        case Unclaimed() | Gone():
            return no(f"Waiting for the claim of controller {node.node_id}: it does not exist yet")
        case Another(claim=claim):
            both = f"its uid is {claim.uid}, and the identity ConfigMap has {node.claim_uid}"
            return no(f"Did not use claim {claim.name}: {both}")
        case Deleting(claim=claim):
            return no(f"Did not use claim {claim.name}: it is being deleted")
        case VolumeGone(claim=claim):
            return no(f"Did not use claim {claim.name}: its volume is lost")
        case Claimed(claim=claim):
            return yes(
                f"claim {claim.name} is the one in the identity ConfigMap of cluster {situation.record.cluster_id}"
            )


def is_claim_of(claim: Claim, node: NodeIdentity) -> bool:
    """Whether this claim is of the present generation of this controller's disk."""
    return claim.node_id == node.node_id and claim.generation == node.generation
