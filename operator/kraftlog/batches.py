"""The batches of a file without their records: where each lies, which offsets and epoch it has, its checksum.

For whoever has to place a read: the end of a growing log at a whole batch, the position of an offset, or whether two
replicas hold the same.
"""

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import numpy as np

from kraftlog.compiled import Bytes, Ints, compiled, wide
from kraftlog.crc import crc32c
from kraftlog.errors import NotALogError
from kraftlog.places import opened, read_fully
from kraftlog.reader import MAX_BATCH_BYTES, SUM_WINDOWS, WINDOW_BYTES
from kraftlog.scan import BATCH_HEADER_BYTES, BATCH_LENGTH_AT, BATCH_OVERHEAD_BYTES, find_batch, int32, int64


class BatchColumn(IntEnum):
    """The rows of a table of batches, one column of it per batch."""

    POSITION = 0
    BASE_OFFSET = 1
    LAST_OFFSET = 2
    LEADER_EPOCH = 3
    CRC = 4
    MAX_TIMESTAMP = 5


@dataclass(frozen=True, slots=True)
class Batches:
    """The good batches of a file: `table[BatchColumn, batch]`, and `end_position`, where the last one ends.

    `whole`: nothing lies between them, before them or behind them.
    """

    table: Ints
    end_position: int
    size_bytes: int
    whole: bool

    def __len__(self) -> int:
        """How many."""
        return int(self.table.shape[1])

    def column(self, column: BatchColumn) -> Ints:
        """One value a batch."""
        chosen: Ints = self.table[column]
        return chosen


_CAPACITY = 1 << 15


@compiled
def _list(data: Bytes, at: int, end: int, position: int, table: Ints) -> tuple[int, int]:
    """Fill a table with whole batches whose checksum is right; answers where it stopped and how many."""
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
        raise NotALogError(str(path), position, f"cannot be read: {error.strerror or error}") from error
    return Batches(np.concatenate(tables, axis=1), end, size, whole=end == size and not skipped)
