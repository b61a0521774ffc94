"""Make the survivor of a lost majority the only voter: one control batch behind the end of its log.

The batch has a chain of voter sets, each one voter away from the one before, because the oldest release demands it.
Nothing else is touched: Kafka puts right indexes, epochs and `quorum-state` itself when it starts. The act may be lost
at any point. Until the batch is whole it is a torn tail, which the next run cuts and writes again; when it is whole,
the next run recognizes it.
"""

import os
import struct
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from kraftlog.disk.batches import (
    CONTROL,
    HEADER,
    MAGIC,
    OVERHEAD_BYTES,
    SUMMED_FROM,
    Batch,
    Walk,
    control_type,
    records,
)
from kraftlog.disk.control import Control, voters_of
from kraftlog.disk.crc import crc32c
from kraftlog.disk.errors import DiskError
from kraftlog.disk.files import LOG_DIR, open_regular, opened, sync_directory, system, unused
from kraftlog.disk.identity import Identity, identity
from kraftlog.disk.looking import log_files, look, segment_path, valid_batches
from kraftlog.rewrite.plan import RewritePlan, checked, differences, refuse_look
from kraftlog.values import MalformedError, unsigned_varint

RESULT_SCHEMA: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """The batch that makes the survivor the only voter. `changed` is false if an earlier run had written it.

    `offset` is its first one, and the record of `last_offset` has the survivor alone. `cut_bytes` were behind the last
    valid batch.
    """

    schema: int
    offset: int
    last_offset: int
    leader_epoch: int
    segment_base: int
    changed: bool
    cut_bytes: int
    written_bytes: int


def rewrite(metadata_dir: Path, plan: RewritePlan, *, now_ms: int | None = None) -> Rewritten:
    """Write the voter set of a plan behind the end of a log (`DiskError`: not written, and why).

    `metadata_dir` has `meta.properties` and `__cluster_metadata-0`. Copy the disk before, and make the other voters'
    disks unmountable: they could elect another leader. `now_ms`: the batch's timestamp, the present by default.
    """
    checked(plan)
    with unused(metadata_dir, exclusive=True):
        if done := already(metadata_dir, plan):
            return done
        disk = look(metadata_dir)
        if plan.voters is None:
            plan = replace(plan, voters=disk.voters.voters if disk.voters else ())
        if differs := differences(disk, plan):
            raise DiskError(
                f"{metadata_dir}: not rewritten, because this is not the disk of the plan: {'; '.join(differs)}. Look"
                f" at the disk again, and make a new plan"
            )
        refuse_look(disk, plan, str(metadata_dir))
        last = disk.segments[-1]
        moment_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
        written = voters_batch(plan, moment_ms)
        _append(metadata_dir / LOG_DIR, last.base_offset, last.valid_bytes, written)
        _read_back(metadata_dir / LOG_DIR, last.base_offset, last.valid_bytes, plan)
    return Rewritten(
        schema=RESULT_SCHEMA,
        offset=plan.end_offset,
        last_offset=plan.last_offset,
        leader_epoch=plan.epoch,
        segment_base=last.base_offset,
        changed=True,
        cut_bytes=last.size_bytes - last.valid_bytes,
        written_bytes=len(written),
    )


def voters_batch(plan: RewritePlan, now_ms: int) -> bytes:
    """A whole control batch with a VotersRecord for each set of the plan; the last one holds only the survivor."""
    values = plan.records
    body = b"".join(_record(delta, value) for delta, value in enumerate(values))
    length, count = HEADER.size - OVERHEAD_BYTES + len(body), len(values)
    place = (plan.end_offset, length, plan.epoch, MAGIC, 0, CONTROL)
    head = HEADER.pack(*place, count - 1, now_ms, now_ms, -1, -1, -1, count)
    checksum = crc32c(head[SUMMED_FROM:] + body)
    return head[: SUMMED_FROM - 4] + struct.pack(">I", checksum) + head[SUMMED_FROM:] + body


def _record(delta: int, value: bytes) -> bytes:
    """A VotersRecord with its length, so many offsets behind the first one."""
    key = struct.pack(">hh", 0, Control.KRAFT_VOTERS)
    inner = b"\0" + _varint(0) + _varint(delta) + _varint(len(key)) + key + _varint(len(value)) + value + _varint(0)
    return _varint(len(inner)) + inner


def _varint(value: int) -> bytes:
    return unsigned_varint(value << 1)


def is_ours(batch: Batch, plan: RewritePlan) -> bool:
    """Whether a batch is the one that this plan writes, at whatever time it was written."""
    if (batch.base_offset, batch.leader_epoch, batch.control, batch.codec) != (plan.end_offset, plan.epoch, True, 0):
        return False
    try:
        found = [(record.offset, control_type(record), record.value) for record in records(batch)]
    except MalformedError:
        return False
    wanted = [(offset, Control.KRAFT_VOTERS, value) for offset, value in enumerate(plan.records, plan.end_offset)]
    return found == wanted and batch.last_offset == plan.last_offset


def _with_voters(plan: RewritePlan, batch: Batch) -> RewritePlan:
    """The plan with the voters that were there before this batch, if it leaves them open and the batch is its own one.

    The batch is the plan's own if exactly its sets follow from the others in the first one, which `is_ours` compares.
    """
    if plan.voters is not None or (batch.leader_epoch, batch.control) != (plan.epoch, True):
        return plan
    try:
        sets = [voters_of(each.value) for each in records(batch) if control_type(each) == Control.KRAFT_VOTERS]
    except MalformedError:
        return plan
    others = (each for each in sets[0] if each.node_id != plan.node_id) if sets else ()
    return replace(plan, voters=tuple(others))


def already(metadata_dir: Path, plan: RewritePlan) -> Rewritten | None:
    """What an earlier run wrote, made durable; None if the batch is not there. A server may have gone on behind it."""
    if identity(metadata_dir) != Identity(
        cluster_id=plan.cluster_id, node_id=plan.node_id, directory_id=plan.directory_id
    ):
        return None
    log_dir = metadata_dir / LOG_DIR
    bases = log_files(log_dir).bases
    batch = next((each for each in valid_batches(log_dir, bases) if each.base_offset >= plan.end_offset), None)
    if batch is None or not is_ours(batch, plan := _with_voters(plan, batch)):
        return None
    base = max(each for each in bases if each <= plan.end_offset)
    path = segment_path(log_dir, base)
    with system(path):
        descriptor = open_regular(path, os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        sync_directory(log_dir)
    return Rewritten(
        schema=RESULT_SCHEMA,
        offset=plan.end_offset,
        last_offset=plan.last_offset,
        leader_epoch=plan.epoch,
        segment_base=base,
        changed=False,
        cut_bytes=0,
        written_bytes=0,
    )


def _append(log_dir: Path, base: int, position: int, content: bytes) -> None:
    """Cut a segment at a position and write there, durably (`DiskError`)."""
    path = segment_path(log_dir, base)
    with system(path):
        descriptor = open_regular(path, os.O_RDWR)
        try:
            os.ftruncate(descriptor, position)
            left, at = memoryview(content), position
            while left:
                size = os.pwrite(descriptor, left, at)
                left, at = left[size:], at + size
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        sync_directory(log_dir)


def _read_back(log_dir: Path, base: int, position: int, plan: RewritePlan) -> None:
    """Read what was written (`DiskError`: the disk has something else)."""
    path = segment_path(log_dir, base)
    with system(path), opened(path) as (file, size_bytes):
        walk = Walk(file, size_bytes, position=position, offset=plan.end_offset, leader_epoch=plan.last_epoch)
        found = list(walk)
    if walk.reason or len(found) != 1 or not is_ours(found[0], plan):
        raise DiskError(
            f"{path}: position {position}: the batch that was written here cannot be read back"
            f" ({walk.reason or 'other content'}): repeat the command, or use a copy of this disk on another volume"
        )
