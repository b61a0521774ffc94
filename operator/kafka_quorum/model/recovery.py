"""A recovery of a lost majority: what becomes of the identity record. Pure.

The record is changed in few steps, each of which can be lost: `begun`, `moved`, `retired`, `recovered`. Until `retired`
nothing is given up, so `abandoned` leads back to the quorum as it was.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from kafka_quorum.model.disk_work import DiskCopy
from kafka_quorum.model.identity import IdentityRecord, with_disk_lost
from kafka_quorum.model.journal import Journal, RecoveryStage
from kit.parsing import INT32_MAX

REVERSIBLE: Final = frozenset({RecoveryStage.STOP, RecoveryStage.COPY})
"""The stages in which no disk has been given up or changed."""


def settled_epoch(record: IdentityRecord) -> int:
    """The epoch of the disks in use: that of the record, unless its recovery can still lead back to the one before."""
    journal = record.recovery
    return record.recovery_epoch - (journal is not None and journal.stage in REVERSIBLE)


def begun(record: IdentityRecord, journal: Journal) -> IdentityRecord:
    """Note that a recovery begins: from here on, no pod of an earlier epoch is made. ValueError if one is open."""
    if record.recovery is not None or journal.epoch != record.recovery_epoch + 1:
        raise ValueError(f"recovery {journal.epoch} cannot begin after recovery {record.recovery_epoch}")
    return replace(record, recovery=journal, recovery_epoch=journal.epoch)


def moved(record: IdentityRecord, stage: RecoveryStage) -> IdentityRecord:
    """Note that the open recovery has reached this stage."""
    return replace(record, recovery=_open(record).at(stage))


def abandoned(record: IdentityRecord) -> IdentityRecord:
    """Give the open recovery up before anything was given up for it: pods are made for the earlier epoch again.

    ValueError after that.
    """
    journal = _open(record)
    if journal.stage not in REVERSIBLE:
        raise ValueError(f"recovery {journal.epoch} has given up disks: it can only go on")
    count = min(record.recoveries_taken_back + 1, INT32_MAX)
    return replace(record, recovery=None, recovery_epoch=journal.epoch - 1, recoveries_taken_back=count)


def taken_back(record: IdentityRecord, copies: Iterable[DiskCopy]) -> tuple[DiskCopy, ...]:
    """The copies of a recovery that was abandoned: its number is not one that the record has reached."""
    return tuple(copy for copy in copies if copy.epoch > record.recovery_epoch)


def retired(record: IdentityRecord, leader_epoch: int) -> IdentityRecord:
    """Give up every disk but the survivor's: each controller gets a new claim and a new directory id.

    With a seed, no controller's disk survives, and its own controller gets a new one, too. `leader_epoch` is the
    highest one that the copies have seen: controllers that ask for votes raise it until they stop.
    """
    journal = _open(record)
    for node in record.nodes:
        if node.node_id != journal.node_id or journal.survivor.source.is_seed:
            record = with_disk_lost(record, node.node_id, new_claim=True)
    highest = max(journal.leader_epoch, leader_epoch)
    return replace(record, recovery=replace(journal, stage=RecoveryStage.RETIRE, leader_epoch=highest))


def formatted_again(record: IdentityRecord) -> IdentityRecord:
    """Give up the new disk that was to get the log of a seed: its controller gets another one. Nothing ran on it."""
    journal = _open(record)
    record = with_disk_lost(record, journal.node_id, new_claim=True)
    return replace(record, recovery=journal.at(RecoveryStage.FORMAT))


def rewritten(record: IdentityRecord, end: int) -> IdentityRecord:
    """Note that the survivor is the only voter in its log, which ends at this offset: it may start."""
    return replace(record, recovery=replace(_open(record), stage=RecoveryStage.START, rewritten_end=end))


def recovered(record: IdentityRecord) -> IdentityRecord:
    """Note that the survivor leads a quorum of its own: the recovery has ended, and its epoch stays."""
    _open(record)
    return replace(record, recovery=None)


def _open(record: IdentityRecord) -> Journal:
    if record.recovery is None:
        raise ValueError("no recovery is open")
    return record.recovery
