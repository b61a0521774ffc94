"""The claims of the brokers: created, bound in the record, annotated, grown, and released. Pure."""

from collections.abc import Iterator
from dataclasses import replace

from kafka_brokers.model import names
from kafka_brokers.model.actions import Action, AnnotateClaim, CreateClaim, DeleteClaim, RecordChange, WriteRecord
from kafka_brokers.model.disks import BrokerIdentity, DiskIdentity, changed, is_first, with_disk
from kafka_brokers.model.observed import Claim
from kafka_brokers.model.plan import Part, Severity, Wait
from kafka_brokers.model.pool import Fate
from kafka_brokers.plan.facts import Situation
from kafka_brokers.plan.guards.rule10_records import may_delete_volume
from kafka_quorum.model.ids import parse_directory_id
from kafka_quorum.model.permit import Permit


def volumes(situation: Situation) -> Part:
    """Every present volume has a claim, which the record has, and which has its copy of the identity."""
    bound = _binding(situation)
    if bound is not None:
        return Part(exclusive=bound)
    actions: list[Action] = []
    waited: list[Wait] = []
    for broker, disk in _disks(situation):
        claim = situation.observed.claim(broker.node_id, disk.index, disk.generation)
        if claim is None:
            if situation.desired.adopt and is_first(disk):
                waited.append(_to_adopt(situation, broker, disk))
            elif disk.claim_uid is None and not disk.unproven:
                new = CreateClaim(node_id=broker.node_id, index=disk.index, generation=disk.generation)
                actions.append(new)
        elif claim.uid == disk.claim_uid:
            actions.extend(_upkeep(situation, disk, claim))
        elif situation.desired.adopt and is_first(disk) and not broker.ran:
            waited.append(_not_adopted(broker, claim))
        else:
            waited.append(_another(broker, claim))
    return Part(actions=tuple(actions), waits=tuple(waited))


def _disks(situation: Situation) -> Iterator[tuple[BrokerIdentity, DiskIdentity]]:
    for broker in situation.record.brokers:
        for disk in broker.disks:
            yield broker, disk


def _binding(situation: Situation) -> WriteRecord | None:
    """Note the uids of the claims that exist for volumes without one, all at once."""
    record, found = situation.record, []
    for broker, disk in _disks(situation):
        claim = situation.observed.claim(broker.node_id, disk.index, disk.generation)
        if claim is None or claim.deleting or claim.retired or claim.cluster_id not in (None, record.cluster_id):
            continue
        after = _bound(disk, claim, adopt=situation.desired.adopt and not broker.ran)
        if after == disk:
            continue
        present = record.broker(broker.node_id)
        if present is not None:
            record = changed(record, with_disk(present, after))
            found.append(claim.name)
    if not found:
        return None
    message = f"the record has the claims {', '.join(found)}"
    return WriteRecord(record=record, change=RecordChange.CLAIM_BOUND, message=message)


def _bound(disk: DiskIdentity, claim: Claim, *, adopt: bool) -> DiskIdentity:
    """The volume with its claim; unchanged if that is not its claim, or one of another origin.

    Before a volume is adopted, a person may replace its claim by another one.

    A volume that a rebuilt record does not know gets the directory id that its claim has, when a person restored it.
    """
    if disk.unproven and claim.directory_id and disk.claim_uid in (None, claim.uid):
        try:
            directory_id = parse_directory_id(claim.directory_id)
        except ValueError:
            return disk
        return replace(disk, claim_uid=claim.uid, directory_id=directory_id, unproven=False)
    if adopt and is_first(disk):
        return replace(disk, claim_uid=claim.uid)
    return disk if disk.claim_uid is not None or claim.directory_id else replace(disk, claim_uid=claim.uid)


def _upkeep(situation: Situation, disk: DiskIdentity, claim: Claim) -> Iterator[Action]:
    """The copy of the identity, and a size that the spec has raised.

    A claim without any copy, of a volume without a directory id, is a person's until the volume is adopted: with a copy
    it would count as one that the pool made, and could be deleted with its data when the broker leaves.
    """
    if claim.deleting or (disk.directory_id is None and claim.cluster_id is None):
        return
    asked = situation.desired.volumes[disk.index] if disk.index < len(situation.desired.volumes) else None
    bound = bool(claim.volume) and not claim.volume_gone  # the API server lets no other claim grow
    grows = bound and asked is not None and asked.size_bytes > claim.requested_bytes
    stale = claim.directory_id != disk.directory_id or claim.cluster_id != situation.record.cluster_id
    if grows or (stale and disk.directory_id is not None):
        size = asked.size if grows and asked is not None else None
        yield AnnotateClaim(claim=claim, directory_id=disk.directory_id, grow_to=size)


def _to_adopt(situation: Situation, broker: BrokerIdentity, disk: DiskIdentity) -> Wait:
    name = names.claim_name(situation.desired.name, broker.node_id, disk.index, disk.generation)
    text = (
        f"Did not create claim {name}: spec.adopt is true. Create it, bound to volume {disk.index} of the earlier "
        f"broker {broker.node_id}, with the labels that docs/pools.md lists. Or set spec.adopt to false for a new one"
    )
    return Wait(severity=Severity.HELD, reason="WaitingForClaim", message=text, node_id=broker.node_id)


def _not_adopted(broker: BrokerIdentity, claim: Claim) -> Wait:
    """Its volume may have the only copy of something: nobody is told to delete it."""
    marked = "its annotations say that it was given up, or is of another cluster"
    text = (
        f"Did not adopt claim {claim.name}: {'it is being deleted' if claim.deleting else marked}. If it has the "
        f"volume of the earlier broker {broker.node_id}, keep the PersistentVolume, and create the claim again without "
        "annotations of kafkaquorum.io"
    )
    return Wait(severity=Severity.DEGRADED, reason="ForeignClaim", message=text, node_id=broker.node_id)


def _another(broker: BrokerIdentity, claim: Claim) -> Wait:
    text = (
        f"Did not use claim {claim.name}: it is not the one that the record has for broker {broker.node_id}. Delete it "
        "if it was created by mistake; the broker then gets a new volume"
    )
    return Wait(severity=Severity.DEGRADED, reason="ForeignClaim", message=text, node_id=broker.node_id)


def released(situation: Situation) -> Part:
    """Claims of volumes that were given up are marked as retired, and deleted if the policy says so."""
    actions: list[Action] = []
    waited: list[Wait] = []
    verdicts = []
    for claim in situation.observed.claims:
        if _present(situation, claim) or claim.deleting:
            continue
        if not claim.retired and claim.cluster_id is None:
            waited.append(_never_ours(claim))
            continue
        if not claim.retired and not situation.record.gave_up(claim.node_id, claim.index, claim.generation):
            waited.append(_unknown(claim))
            continue
        if not claim.retired:
            actions.append(AnnotateClaim(claim=claim, directory_id=claim.directory_id, retired=True))
            continue
        if situation.desired.when_scaled is Fate.RETAIN or situation.repair_only:
            continue
        verdict = may_delete_volume(situation.observed, claim)
        verdicts.append(verdict)
        if isinstance(verdict, Permit):
            message = f"claim {claim.name} is deleted with its volume: {verdict.reason}"
            actions.append(DeleteClaim(claim=claim, message=message, permit=verdict))
        else:
            waited.append(_kept(claim, verdict.reason))
    return Part(actions=tuple(actions), waits=tuple(waited), verdicts=tuple(verdicts))


def _kept(claim: Claim, why: str) -> Wait:
    text = f"Waiting to delete claim {claim.name}, whose volume was given up: {why}"
    return Wait(severity=Severity.PROGRESS, reason="ClaimKept", message=text, node_id=claim.node_id)


def _unknown(claim: Claim) -> Wait:
    text = (
        f"Did not use claim {claim.name}: the record of the pool has no such volume. If the record was restored from "
        "an old backup, restore a newer one; else delete the claim"
    )
    return Wait(severity=Severity.DEGRADED, reason="UnknownClaim", message=text, node_id=claim.node_id)


def _never_ours(claim: Claim) -> Wait:
    text = (
        f"Did not use or delete claim {claim.name}: this pool neither created nor adopted it, and its broker is not "
        "requested. Request the node id, or rename or delete the claim yourself"
    )
    return Wait(severity=Severity.DEGRADED, reason="UnknownClaim", message=text, node_id=claim.node_id)


def _present(situation: Situation, claim: Claim) -> bool:
    """Whether a claim is that of a present volume, or may become it."""
    broker = situation.record.broker(claim.node_id)
    disk = None if broker is None else broker.disk(claim.index)
    return disk is not None and disk.generation <= claim.generation
