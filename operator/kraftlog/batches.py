"""The batches of a file without their records: the place of each, its offsets and epoch, its checksum.

Used to place a read: to find the end of a growing log at a whole batch, the position of an offset, or whether two
replicas hold the same batches.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kraftlog.blocks import RecordBlock
from kraftlog.compiled import Bytes, Ints, compiled, wide
from kraftlog.crc import crc32c
from kraftlog.errors import Fault, FaultKind, NotALogError
from kraftlog.order import BatchColumn, fitting, order_faults
from kraftlog.places import opened, read_fully
from kraftlog.reader import MAX_BATCH_BYTES, SUM_WINDOWS, WINDOW_BYTES, Options, read_blocks
from kraftlog.scan import BATCH_HEADER_BYTES, BATCH_LENGTH_AT, BATCH_OVERHEAD_BYTES, find_batch, int32, int64

__all__ = ["BatchColumn", "Batches", "footer_faults", "list_batches"]


@dataclass(frozen=True, slots=True)
class Batches:
    """The good batches of a file: `table[BatchColumn, batch]`, and `end_position`, where the last one ends.

    `strays` are good batches that do not fit among the others; they are not in `table`. `whole`: nothing else is
    between the batches, before them or after them.
    """

    table: Ints
    strays: Ints
    start_position: int
    end_position: int
    size_bytes: int
    whole: bool

    def __len__(self) -> int:
        """The number of batches."""
        return int(self.table.shape[1])

    def column(self, column: BatchColumn) -> Ints:
        """One value a batch."""
        chosen: Ints = self.table[column]
        return chosen

    def order_faults(self, path: str) -> Iterator[Fault]:
        """Batches that do not follow the one before."""
        return order_faults(path, self.table, self.strays, whole_file=self.start_position == 0)


_CAPACITY = 1 << 15


@compiled
def _list(data: Bytes, at: int, end: int, position: int, table: Ints) -> tuple[int, int]:
    """Fill a table with whole batches whose checksum is right; returns where it stopped, and their number."""
    row = 0
    while at + BATCH_HEADER_BYTES <= end and row < table.shape[1]:
        size = int32(data, at + BATCH_LENGTH_AT) + BATCH_OVERHEAD_BYTES
        if data[at + 16] != 2 or size < BATCH_HEADER_BYTES or size > end - at:  # noqa: PLR2004 -- the magic
            break
        crc = crc32c(data, at + 21, at + size)
        if int32(data, at + 17) & 0xFFFFFFFF != crc:
            break
        table[0, row], table[1, row] = position + at, int64(data, at)
        table[2, row] = table[1, row] + int32(data, at + 23)
        table[3, row], table[4, row], table[5, row] = int32(data, at + 12), crc, int64(data, at + 35)
        at += size
        table[6, row] = position + at
        row += 1
    return wide(at), row


def list_batches(path: str | Path, start_position: int = 0) -> Batches:
    """Every whole batch with a right checksum from a position on (NotALogError: cannot be read)."""
    end, skipped = start_position, False
    tables, position, want = [np.empty((len(BatchColumn), 0), dtype=np.int64)], start_position, WINDOW_BYTES
    try:
        with opened(path) as file:
            size = file.size
            while position < size:
                data = read_fully(file, position, min(want, size - position))
                table: Ints = np.empty((len(BatchColumn), _CAPACITY), dtype=np.int64)
                used, rows = _list(data, 0, data.size, position, table)
                tables.append(table[:, :rows])
                position += used
                end = position if rows else end
                if not rows and (position - used + data.size >= size or want > MAX_BATCH_BYTES):
                    found = find_batch(data, 1, data.size, SUM_WINDOWS * data.size)
                    skipped = True
                    if found < 0:
                        break
                    position += found
                want = WINDOW_BYTES if rows else 2 * want
    except OSError as error:
        raise NotALogError.of(error, str(path), position) from error
    listed: Ints = np.concatenate(tables, axis=1)
    kept = fitting(listed)
    ordered = kept.size == listed.shape[1]
    return Batches(
        table=listed if ordered else listed[:, kept],
        strays=listed[:, :0] if ordered else np.delete(listed, kept, axis=1),
        start_position=start_position,
        end_position=end,
        size_bytes=size,
        whole=end == size and not skipped,
    )


def footer_faults(path: str, batches: Batches) -> Iterator[Fault]:
    """A fully listed checkpoint that begins as Kafka's do and does not end as they do (NotALogError)."""
    if not (batches.whole and len(batches)):
        return
    ends = [
        (int(batches.table[BatchColumn.POSITION, row]), int(batches.table[BatchColumn.END, row])) for row in (0, -1)
    ]
    kinds = [_types_within(path, *each) for each in ends]
    if "SnapshotHeader" in kinds[0] and "SnapshotFooter" not in kinds[1]:
        reason = "the checkpoint ends without its footer"
        yield Fault(kind=FaultKind.TORN_TAIL, path=path, position=batches.end_position, skipped_bytes=0, reason=reason)


def _types_within(path: str, start: int, stop: int) -> set[str]:
    options = Options(types=frozenset({"SnapshotHeader", "SnapshotFooter"}), start_position=start, end_position=stop)
    blocks = [item for item in read_blocks(path, options) if isinstance(item, RecordBlock)]
    return {block.type_of(row) for block in blocks for row in range(len(block))}
