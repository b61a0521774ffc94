"""Rule 6: no volume is deleted that holds a voter, or the only caught-up copy."""

from kafka_quorum.model.identity import IdentityRecord
from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.known import Unknown
from kafka_quorum.model.names import RETIRED
from kafka_quorum.model.nodes import is_former_claim
from kafka_quorum.model.observed import Claim
from kafka_quorum.model.permit import DeleteVolume
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.held import why_held
from kafka_quorum.plan.guards.claims import is_claim_of
from kafka_quorum.plan.guards.registry import Answer, guard, no, unless
from kafka_quorum.plan.guards.rule4_changes import unconfirmed


@guard(DeleteVolume)
def may_delete_claim(situation: Situation, claim: Claim) -> Answer:
    """Rule 6: a volume is deleted if its replica is retired, no voter by a committed set, and others have its data."""
    record, observed = situation.record, situation.observed
    kept, waiting = f"Did not delete claim {claim.name}", f"Waiting to delete claim {claim.name}"
    if held := why_held(situation, claim.node_id):
        return no(f"{kept}, a former disk of controller {claim.node_id}: {held}")
    if record.has_ended:
        return _of_ended(situation, claim)
    if isinstance(observed.quorum, Unknown):
        return no(f"{waiting}: the quorum has no leader ({observed.quorum.reason})")
    view = observed.quorum.value
    pods = [pod.name for pod in observed.pods if pod.claim_name == claim.name]
    voting = {key.directory_id for key in view.voters | (view.committed_voters or view.voters)}
    unknown = claim.cluster_id != record.cluster_id or (claim.directory_id or None) not in {None, *record.retired}
    healthy, majority = len(view.votes.healthy), view.votes.majority
    stale = sorted(str(key) for key in view.voters if _may_hold(claim, key, record))
    unsure = [unconfirmed(view, key) for key in sorted(view.unsure, key=str) if _may_hold(claim, key, record)]
    return unless(
        (
            (any(is_claim_of(claim, node) for node in record.nodes), f"{kept}: it is the disk of a controller"),
            (not is_former_claim(record, claim), f"{kept}: it never was a disk of this quorum"),
            (unknown, f"{kept}: the identity ConfigMap does not list its replica as retired"),
            (bool(pods), f"{waiting}: pods {', '.join(pods)} still exist"),
            (
                claim.directory_id is not None and claim.directory_id in voting,
                f"{kept}: its replica {claim.directory_id} is a voter",
            ),
            (
                claim.kept,
                f"{kept}: it was given up as lost, and its data came back. Look at it, and delete it yourself",
            ),
            (bool(stale), f"{kept}: it may hold voter {', '.join(stale)}"),
            (not view.committed, f"{waiting}: the present voter set is not committed yet"),
            (bool(unsure) and not view.tenure.sure, f"{waiting}: {'; '.join(unsure)}"),
            (
                not view.votes.carries,
                f"{waiting}: too few voters are caught up ({healthy} of the {majority} needed)",
            ),
        ),
        f"claim {claim.name} holds no voter, and {healthy} voters have its data",
    )


def _may_hold(claim: Claim, key: ReplicaKey, record: IdentityRecord) -> bool:
    """Whether a claim may hold this replica.

    An emptied disk is used again under its claim: no annotation shows which of its controller's replicas it held.
    """
    return key.node_id == claim.node_id and key.directory_id in record.retired


def _of_ended(situation: Situation, claim: Claim) -> Answer:
    """After a roll back ZooKeeper has the metadata: a claim that is marked as retired holds nothing that is needed."""
    kept, waiting = f"Did not delete claim {claim.name}", f"Waiting to delete claim {claim.name}"
    pods = [pod.name for pod in situation.observed.pods if pod.claim_name == claim.name]
    ours = claim.cluster_id == situation.record.cluster_id
    return unless(
        (
            (not ours, f"{kept}: it has cluster id {claim.cluster_id}, not that of this quorum"),
            (claim.phase != RETIRED, f"{waiting}: it is not marked as retired yet"),
            (bool(pods), f"{waiting}: pods {', '.join(pods)} still exist"),
            (claim.kept, f"{kept}: data was found on it. Look at it, and delete it yourself"),
        ),
        f"the cluster went back to ZooKeeper, and nothing uses claim {claim.name}",
    )
