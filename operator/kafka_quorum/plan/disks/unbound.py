"""Claims that wait for a volume: which claim, which storage class, and what can be corrected before the start."""

import re
from typing import Final

from kafka_quorum.model.desired import BootstrapMode
from kafka_quorum.model.identity import BootstrapPhase, NodeIdentity
from kafka_quorum.model.nodes import claim_of
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.pods import Pod
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.part import Part

_UNBOUND: Final = re.compile(
    r'unbound immediate persistentvolumeclaim|(?:persistentvolumeclaim|storageclass[a-z0-9.]*) "[^"]*" not found',
    re.IGNORECASE,
)
"""The scheduler's words for a pod whose claim is not bound. It has other words about claims, too."""


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
    """Whether a pod waits for its claim to be bound; a claim that is being deleted is never bound."""
    goes = any(claim.uid == pod.claim_uid and claim.deleting for claim in observed.claims)
    return not goes and _UNBOUND.search(pod.unschedulable) is not None


def _wait(situation: Situation, node: NodeIdentity, claim: str) -> Wait:
    requested, found = situation.desired.storage.storage_class, claim_of(situation.observed, node)
    name = requested if found is None else found.storage_class
    which = f"storage class {name}" if name else "the default storage class"
    record = situation.record
    formatting = record.phase is BootstrapPhase.FORMATTING and record.format.mode is not BootstrapMode.ADOPT
    other = ", or correct spec.controllers.storage.storageClassName and delete this claim" if formatting else ""
    if formatting and requested and requested != name:
        other = f", or delete this claim: it is created again with storage class {requested}"
    blocked = f"claim {claim} of controller {node.node_id} is not bound ({which})"
    text = f"Waiting for a volume: {blocked}. Create the class or a volume for it{other}"
    return Wait(severity=Severity.DEGRADED, reason="ClaimUnbound", message=text, node_id=node.node_id)
