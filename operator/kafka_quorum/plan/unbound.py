"""Claims that wait for a volume: which claim, which storage class, and what can be corrected before the start."""

from kafka_quorum.model.desired import Desired
from kafka_quorum.model.identity import BootstrapPhase, IdentityRecord, NodeIdentity
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Severity, Wait

_WORDS = "persistentvolumeclaim"
"""What the scheduler says of a pod whose claim is not bound, in lower case."""


def unbound(desired: Desired, observed: Observed, record: IdentityRecord) -> tuple[Wait, ...]:
    """One wait for each claim that keeps its pod from being scheduled."""
    return tuple(
        _wait(desired, record, node, pod.claim_name)
        for node in record.nodes
        for pod in observed.pods
        if pod.node_id == node.node_id and pod.claim_uid == node.claim_uid and _WORDS in pod.unschedulable.lower()
    )


def _wait(desired: Desired, record: IdentityRecord, node: NodeIdentity, claim: str) -> Wait:
    name = desired.storage.storage_class
    which = f"storage class {name}" if name else "the default storage class"
    way_out = "Create the class or a volume for it"
    if record.phase is BootstrapPhase.FORMATTING:
        way_out += ", or correct spec.controllers.storage.storageClassName and delete this claim"
    text = f"Waiting for a volume: claim {claim} of controller {node.node_id} is not bound ({which}). {way_out}"
    return Wait(severity=Severity.DEGRADED, reason="ClaimUnbound", message=text, node_id=node.node_id)
