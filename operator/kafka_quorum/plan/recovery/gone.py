"""The end of a recovery whose own disk is lost: what is left is its copy, or the seed."""

from kafka_quorum.model.actions import RecordChange, WriteRecord
from kafka_quorum.model.disk import is_gone
from kafka_quorum.model.disk_work import copy_name
from kafka_quorum.model.journal import Journal, RecoveryStage
from kafka_quorum.model.names import LOG_NAME
from kafka_quorum.model.recovery import REVERSIBLE, formatted_again, recovered
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.part import Part


def survivor_gone(situation: Situation, journal: Journal) -> Part | None:
    """What follows if the disk that the quorum continues with is lost after the others were given up; else None.

    A disk for a seed has nothing of its own before it starts: it is formatted again. Otherwise this recovery ends. What
    is left is the copy, or the seed, and a person decides about it with a plan of its own.
    """
    node = situation.record.node(journal.node_id)
    if journal.stage in REVERSIBLE or node is None or node.claim_uid is None:
        return None
    if not is_gone(situation.observed, situation.disk(node)):
        return None
    survivor, lost = journal.survivor.source, f"the disk of controller {journal.node_id} is lost"
    if survivor.is_seed and journal.stage is not RecoveryStage.START:
        write = WriteRecord(
            record=formatted_again(situation.record),
            change=RecordChange.RECOVERY_FORMATS,
            message=f"{lost}: another one is formatted for the log of {survivor}",
        )
        return Part(exclusive=write)
    copied = (copy_name(survivor.claim, journal.plan), LOG_NAME)
    seed, path = (survivor.claim, survivor.path) if survivor.is_seed else copied
    since = " What it committed since it started is not there." if journal.stage is RecoveryStage.START else ""
    where = f"claim {seed}, path {path}" if path else f"claim {seed}"
    way_out = f"List {where} in spec.recovery.seeds, and read status.recovery.{since}"
    write = WriteRecord(
        record=recovered(situation.record),
        change=RecordChange.RECOVERY_ENDED,
        message=f"recovery {journal.epoch} has ended without a quorum: {lost}. {way_out}",
    )
    return Part(exclusive=write)
