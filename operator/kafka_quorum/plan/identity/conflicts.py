"""Contradictions between the record and the copies of the identity."""

from kafka_quorum.model.desired import Desired
from kafka_quorum.model.identity import IdentityRecord, NodeIdentity
from kafka_quorum.model.names import claim_name
from kafka_quorum.model.observed import Claim, Observed
from kafka_quorum.plan.identity.forgotten import forgotten

_RESTORE = "Restore the identity ConfigMap from a backup"
_BY_DISK = "The file meta.properties on the disk shows which is right: correct the other (docs/operations.md)"


def conflicts_with(desired: Desired, observed: Observed, record: IdentityRecord) -> list[str]:
    """Each contradiction between the record and its copies, in a sentence."""
    found: list[str] = []
    if desired.cluster_id not in (None, record.cluster_id):
        way_out = f"Remove spec.clusterID, or set it to {record.cluster_id}"
        found.append(f"spec.clusterID is {desired.cluster_id}, but the volumes have {record.cluster_id}. {way_out}")
    if observed.status.cluster_id not in (None, record.cluster_id):
        both = f"{observed.status.cluster_id}, but the identity ConfigMap has {record.cluster_id}"
        found.append(f"status.clusterID is {both}. {_BY_DISK}")
    for claim in observed.claims:
        found.extend(_claim_conflicts(desired, record, claim))
    initial = {key.node_id: key.directory_id for key in record.initial}
    for entry in observed.status.initial:
        if entry.node_id not in initial or _another(entry.directory_id, initial[entry.node_id]):
            both = f"{entry.directory_id} instead of {initial.get(entry.node_id)}"
            found.append(
                f"status.bootstrap.initialControllers has {entry.node_id} with directory id {both}. {_RESTORE}"
            )
    for entry in observed.status.controllers:
        node = record.node(entry.node_id)
        if node is not None and _differs(node, entry.directory_id):
            both = f"{entry.directory_id} instead of {node.directory_id}"
            found.append(f"status.controllers has controller {entry.node_id} with directory id {both}. {_BY_DISK}")
    return [*found, *forgotten(observed, record)]


def _claim_conflicts(desired: Desired, record: IdentityRecord, claim: Claim) -> list[str]:
    found: list[str] = []
    if claim.cluster_id not in (None, record.cluster_id):
        both = f"{claim.cluster_id}, but the identity ConfigMap has {record.cluster_id}"
        found.append(f"claim {claim.name} has cluster id {both}. {_BY_DISK}")
    node = record.node(claim.node_id)
    if node is None or claim.name != claim_name(desired.member(node.node_id), node.generation):
        return found
    if node.claim_uid is not None and claim.uid != node.claim_uid:
        way_out = (
            "If the claim was recreated, it has another disk: delete the claim. If the ConfigMap is an old copy, "
            "restore the newest one, and keep the claim"
        )
        found.append(
            f"claim {claim.name} has uid {claim.uid}, but the identity ConfigMap has {node.claim_uid}. {way_out}"
        )
    elif _differs(node, claim.directory_id):
        both = f"{claim.directory_id} instead of {node.directory_id}"
        found.append(f"claim {claim.name} is annotated with directory id {both}. {_BY_DISK}")
    return found


def _differs(node: NodeIdentity, copy: str | None) -> bool:
    """A copy with a retired directory id only lags; one with another directory id is a contradiction."""
    return copy is not None and node.directory_id is not None and copy != node.directory_id and copy not in node.retired


def _another(copy: str | None, directory_id: str | None) -> bool:
    """Whether both are known and differ: a static voter has none before its format, and loses it with its disk."""
    return copy is not None and directory_id is not None and copy != directory_id
