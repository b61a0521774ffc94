"""Claims that wait for a volume: which claim, which storage class, and what can be corrected before the start."""

import re
from typing import Final

from kafka_quorum.model.identity import BootstrapPhase, NodeIdentity
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.pods import Pod
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.part import Part

_UNBOUND: Final = re.compile(
    r'unbound immediate persistentvolumeclaim|(?:persistentvolumeclaim|storageclass[a-z0-9.]*) "[^"]*" not found',
    re.IGNORECASE,
)
"""What the scheduler says of a pod whose claim is not bound. It says other things of claims, too."""


def unbound(situation: Situation) -> Part:
    """One wait for each claim that keeps its pod from being scheduled."""
    waits = tuple(
        _wait(situation, node, pod.claim_name)
        for node in situation.record.nodes
        for pod in situation.observed.pods
        if pod.node_id == node.node_id and pod.claim_uid == node.claim_uid and _waits(situation.observed, pod)
    )
    return Part(waits=waits)


def _waits(observed: Observed, pod: Pod) -> bool:
    """Whether a pod waits for its claim to be bound; a claim that is being deleted never will be."""
    goes = any(claim.uid == pod.claim_uid and claim.deleting for claim in observed.claims)
    return not goes and _UNBOUND.search(pod.unschedulable) is not None


def _wait(situation: Situation, node: NodeIdentity, claim: str) -> Wait:
    name = situation.desired.storage.storage_class
    which = f"storage class {name}" if name else "the default storage class"
    formatting = situation.record.phase is BootstrapPhase.FORMATTING
    other = ", or correct spec.controllers.storage.storageClassName and delete this claim" if formatting else ""
    blocked = f"claim {claim} of controller {node.node_id} is not bound ({which})"
    text = f"Waiting for a volume: {blocked}. Create the class or a volume for it{other}"
    return Wait(severity=Severity.DEGRADED, reason="ClaimUnbound", message=text, node_id=node.node_id)
