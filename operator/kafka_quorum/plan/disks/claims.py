"""Claims: each controller has its own, the record holds its uid, and the claim carries a copy of the identity.

Before the barrier a lost disk is formatted again with the same directory id, because it never ran.
"""

from kafka_quorum.model.actions import AnnotateClaim, CreateClaim, RecordChange, SetRecordOwner, WriteRecord
from kafka_quorum.model.desired import VolumeFate
from kafka_quorum.model.disk import Claimed, Deleting, Unclaimed, VolumeGone
from kafka_quorum.model.identity import (
    BootstrapPhase,
    FormatMode,
    IdentityRecord,
    NodeIdentity,
    with_claim,
    without_claim,
)
from kafka_quorum.model.names import RETIRED, claim_name
from kafka_quorum.model.observed import Claim
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.pods import PodRole
from kafka_quorum.model.recovery import settled_epoch
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.held import HELD_BACK, is_held, why_held
from kafka_quorum.plan.facts.kept import goes_with
from kafka_quorum.plan.part import Part, merged


def claims(situation: Situation) -> Part:
    """Every node has its claim, the record holds its uid, and the claim carries a copy of the identity.

    A controller that is being removed gets no claim any more, unless the quorum cannot start without it.
    """
    record = situation.record
    if (skipped := _retired(situation)) is not None:
        return skipped
    if usable := [(node, claim) for node, claim in _unbound(situation) if not claim.deleting]:
        bound = record
        for node, claim in usable:
            bound = with_claim(bound, node.node_id, claim.uid)
        names = ", ".join(claim.name for _, claim in usable)
        return Part(exclusive=WriteRecord(record=bound, change=RecordChange.CLAIMS_BOUND, message=f"bound {names}"))
    parts = (
        _held_claim(situation, node) or _claim_part(situation, node)
        for node in record.nodes
        if node.node_id in situation.wanted or node.claim_uid is not None or _starts_with(record, node)
    )
    return merged((_owner(situation), *parts))


def _unbound(situation: Situation) -> tuple[tuple[NodeIdentity, Claim], ...]:
    """The claims that exist, and whose uids the record does not hold yet."""
    disks = ((node, situation.disk(node)) for node in situation.record.nodes)
    return tuple((node, disk.claim) for node, disk in disks if isinstance(disk, Unclaimed) and disk.claim is not None)


def _retired(situation: Situation) -> Part | None:
    """A claim that is marked as retired is never used again: its controller gets the next claim, if it is not held."""
    record = situation.record
    for node, claim in _unbound(situation):
        if is_held(situation, node.node_id):
            continue
        if claim.phase == RETIRED and not node.formatted:
            return _next_claim(
                record, node, f"claim {claim.name} is retired: controller {node.node_id} gets a new claim"
            )
    for node in record.nodes:
        if is_held(situation, node.node_id):
            continue
        match situation.disk(node):
            case Claimed(claim=claim) | Deleting(claim=claim) | VolumeGone(claim=claim):
                if claim.phase == RETIRED and not node.formatted:
                    text = f"claim {claim.name} holds retired directory id {claim.directory_id}: it is kept, and"
                    return _next_claim(record, node, f"{text} controller {node.node_id} gets a new claim")
            case _:
                continue
    return None


def _next_claim(record: IdentityRecord, node: NodeIdentity, message: str) -> Part:
    without = without_claim(record, node.node_id)
    return Part(exclusive=WriteRecord(record=without, change=RecordChange.CLAIM_LOST, message=message))


def _held_claim(situation: Situation, node: NodeIdentity) -> Part | None:
    """The wait of a controller that would get a claim, and that a person holds; None if it needs none, or gets one."""
    disk, held = situation.disk(node), why_held(situation, node.node_id)
    present = disk.claim is not None and not (disk.claim.volume_gone and _never_ran(situation.record, node))
    lacks = isinstance(disk, Unclaimed) or _never_ran(situation.record, node)
    if not held or present or not lacks or node.mode is FormatMode.ADOPTED:
        return None
    name = claim_name(situation.desired.member(node.node_id), node.generation)
    text = f"Did not create claim {name} of controller {node.node_id}: {held}. Until then it gets no disk"
    return Part(waits=(Wait(severity=Severity.HELD, reason=HELD_BACK, message=text, node_id=node.node_id),))


def _claim_part(situation: Situation, node: NodeIdentity) -> Part:
    claim = situation.disk(node).claim
    if claim is not None and claim.deleting:
        return Part(waits=(_claim_deleting(situation, node, claim),))
    if claim is not None and not (claim.volume_gone and _never_ran(situation.record, node)):
        return Part(actions=_annotations(situation, node, claim))
    name = claim_name(situation.desired.member(node.node_id), node.generation)
    match situation.disk(node):
        case Unclaimed() if node.mode is FormatMode.ADOPTED:
            text = f"Waiting to adopt claim {name}: it does not exist. Create it again under this name, with its disk"
            wait = Wait(severity=Severity.DEGRADED, reason="AdoptWaits", message=text, node_id=node.node_id)
            return Part(waits=(wait,))
        case Unclaimed():
            return Part(actions=(CreateClaim(node_id=node.node_id, generation=node.generation),))
        case _ if _never_ran(situation.record, node):
            text = f"claim {name} or its volume is gone, and Kafka never ran on it: a new claim replaces it"
            return _next_claim(situation.record, node, text)
        case _:
            return Part()  # `lost` judges a disk that has run


def _starts_with(record: IdentityRecord, node: NodeIdentity) -> bool:
    """Whether this is one of the first controllers, all of which are formatted before any of them starts."""
    return record.phase is BootstrapPhase.FORMATTING and node.mode is not FormatMode.NO_INITIAL_CONTROLLERS


def _never_ran(record: IdentityRecord, node: NodeIdentity) -> bool:
    return record.phase is BootstrapPhase.FORMATTING or not node.formatted


def _claim_deleting(situation: Situation, node: NodeIdentity, claim: Claim) -> Wait:
    pods = (pod for pod in situation.observed.pods_of(node.node_id, PodRole.KAFKA) if pod.claim_uid == claim.uid)
    disk = f"the disk of controller {node.node_id}"
    gone = f"no Kafka pod uses it, so {disk} is lost with it"
    if _never_ran(situation.record, node):
        gone = f"Kafka never ran on {disk}, so a new claim replaces it"
    message = f"claim {claim.name} is being deleted: {gone}"
    if (pod := next(pods, None)) is not None and claim.uid == node.claim_uid:
        message = goes_with(situation, node, pod)
    return Wait(severity=Severity.DEGRADED, reason="ClaimDeleting", message=message, node_id=node.node_id)


def _annotations(situation: Situation, node: NodeIdentity, claim: Claim) -> tuple[AnnotateClaim, ...]:
    owner = situation.desired.uid if situation.desired.storage.when_deleted is VolumeFate.DELETE else None
    mirrored = (claim.cluster_id, claim.directory_id, claim.phase, claim.owner_uid, claim.recovery)
    record = situation.record
    expected = (record.cluster_id, node.directory_id, record.phase.value, owner, settled_epoch(record))
    labelled = claim.labelled or claim.uid != node.claim_uid  # another claim of that name does not become ours
    if labelled and mirrored == expected:
        return ()
    return (AnnotateClaim(claim=claim, directory_id=node.directory_id, grow_to=None),)


def _owner(situation: Situation) -> Part:
    owner = situation.desired.uid if situation.desired.storage.when_deleted is VolumeFate.DELETE else None
    if situation.observed.record_owner_uid == owner:
        return Part()
    return Part(actions=(SetRecordOwner(resource_version=situation.record.resource_version),))


def growth(situation: Situation) -> Part:
    """Claims that request less than the spec does. The disk of a controller that a person holds stays as it is.

    The API server lets only a bound claim grow.
    """
    actions, waits = [], []
    for node in situation.record.nodes:
        claim, size = situation.disk(node).claim, situation.desired.storage.size
        if claim is None or claim.deleting or claim.volume_gone or not claim.volume:
            continue
        if claim.requested_bytes >= situation.desired.storage.size_bytes:
            continue
        if held := why_held(situation, node.node_id):
            text = f"Did not request {size} for claim {claim.name} of controller {node.node_id}: {held}"
            waits.append(Wait(severity=Severity.HELD, reason=HELD_BACK, message=text, node_id=node.node_id))
            continue
        actions.append(AnnotateClaim(claim=claim, directory_id=node.directory_id, grow_to=size))
    return Part(actions=tuple(actions), waits=tuple(waits))
