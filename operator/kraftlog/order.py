"""Whether the whole batches of a file follow each other as those of a log do.

A leader writes each offset once, in order, in epochs that never decrease. A batch with a right checksum and offsets
that do not fit belongs to another log, or to another time of this one. It must be left out, because otherwise batches
after it are lost.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from enum import IntEnum

import numpy as np

from kraftlog.compiled import Bytes, Ints, compiled, wide
from kraftlog.errors import Fault, FaultKind
from kraftlog.scan import BATCH_HEADER_BYTES, BATCH_LENGTH_AT, BATCH_OVERHEAD_BYTES, int32, int64

MAX_OFFSET = 2**63 - 1
_SEGMENT = re.compile(r"^(\d{20})\.log$", re.ASCII)


class BatchColumn(IntEnum):
    """The rows of a table of batches, one column of it per batch."""

    POSITION = 0
    BASE_OFFSET = 1
    LAST_OFFSET = 2
    LEADER_EPOCH = 3
    CRC = 4
    MAX_TIMESTAMP = 5
    END = 6


def named_offset(path: str) -> int:
    """The offset that a segment's name begins with, -1 for any other name, and for a number that is no offset."""
    named = _SEGMENT.match(path.rpartition("/")[2])
    return int(named[1]) if named and int(named[1]) <= MAX_OFFSET else -1


def fitting(table: Ints) -> Ints:
    """The columns of a table of batches that form one log: all of them, or as many as ascend together."""
    bases, lasts = table[BatchColumn.BASE_OFFSET], table[BatchColumn.LAST_OFFSET]
    if bool(np.all(lasts >= bases)) and bool(np.all(bases[1:] > lasts[:-1])) and bool(np.all(bases[:1] >= 0)):
        return np.arange(bases.size)
    ends: list[int] = []  # the smallest last offset of the chains of one, two, … batches
    heads: list[int] = []  # and the batch with that offset
    before: dict[int, int] = {}
    for row, (base, last) in enumerate(zip(bases.tolist(), lasts.tolist(), strict=True)):
        if 0 <= base <= last:
            length = bisect_left(ends, base)
            before[row] = heads[length - 1] if length else -1
            if length == len(ends):
                ends.append(last)
                heads.append(row)
            elif last < ends[length]:
                ends[length], heads[length] = last, row
    chain, row = [], heads[-1] if heads else -1
    while row >= 0:
        chain.append(row)
        row = before[row]
    return np.array(chain[::-1], dtype=np.int64)


def order_faults(path: str, kept: Ints, strays: Ints, *, whole_file: bool) -> Iterator[Fault]:
    """What does not follow, by position. `kept` fit together, `strays` do not; `whole_file`: from its first byte on."""
    found = [*_strays(path, strays), *_steps(path, kept)]
    named = named_offset(path)
    if whole_file and named >= 0 and kept.shape[1] and kept[BatchColumn.POSITION, 0] == 0:
        base = int(kept[BatchColumn.BASE_OFFSET, 0])
        if base != named:
            reason = f"the file begins with offset {base}, and its name with {named}"
            found.append(_fault(path, FaultKind.OUT_OF_ORDER, 0, reason))
    return iter(sorted(found, key=lambda fault: fault.position))


def _strays(path: str, strays: Ints) -> Iterator[Fault]:
    for row in range(strays.shape[1]):
        number = [int(value) for value in strays[:, row]]
        base, last = number[BatchColumn.BASE_OFFSET], number[BatchColumn.LAST_OFFSET]
        reason = f"offsets {base} to {last} do not fit between those of the other batches"
        yield _fault(path, FaultKind.OUT_OF_ORDER, number[BatchColumn.POSITION], reason)


def _steps(path: str, kept: Ints) -> Iterator[Fault]:
    """From each batch to the next: offsets that are missing although no byte is, and epochs that decrease."""
    bases, lasts, epochs = (
        kept[column] for column in (BatchColumn.BASE_OFFSET, BatchColumn.LAST_OFFSET, BatchColumn.LEADER_EPOCH)
    )
    positions, ends = kept[BatchColumn.POSITION], kept[BatchColumn.END]
    for row in np.flatnonzero((bases[1:] != lasts[:-1] + 1) & (positions[1:] == ends[:-1])).tolist():
        reason = f"offsets {lasts[row] + 1} to {bases[row + 1] - 1} are missing before it"
        yield _fault(path, FaultKind.GAP, int(positions[row + 1]), reason)
    for row in np.flatnonzero(epochs[1:] < epochs[:-1]).tolist():
        reason = f"leader epoch {epochs[row + 1]} behind leader epoch {epochs[row]}"
        yield _fault(path, FaultKind.OUT_OF_ORDER, int(positions[row + 1]), reason)


def _fault(path: str, kind: FaultKind, position: int, reason: str) -> Fault:
    return Fault(kind=kind, path=path, position=position, skipped_bytes=0, reason=reason)


@compiled
def follows(data: Bytes, at: int, stop: int, place: Ints) -> None:
    """Walk the headers of the batches in `data[at:stop]`, which are whole.

    `place`: the offset that must come next or -1, the last leader epoch, and whether all batches have followed (1) so
    far.
    """
    while at + BATCH_HEADER_BYTES <= stop:
        base, epoch = int64(data, at), int32(data, at + 12)
        last = base + int32(data, at + 23)
        if last < base or epoch < place[1] or (place[0] >= 0 and base != place[0]):
            place[2] = 0
        place[0], place[1] = last + 1, epoch
        at += wide(int32(data, at + BATCH_LENGTH_AT) + BATCH_OVERHEAD_BYTES)
