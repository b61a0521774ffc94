"""Walk record batches, compiled: from bytes to one row of integers per record, nothing decoded yet.

A row says where a record's body is and what it is; a caller that needs its content renders it (`render`). So a
timeline, which needs few record types, costs little more than the checksum of the file.

`scan` handles uncompressed batches one after another. It stops, with a `Stop` code, at every batch that needs more
work.
"""

from enum import IntEnum

import numpy as np

from kraftlog.compiled import Bytes, Ints, compiled, wide
from kraftlog.crc import crc32c

BATCH_HEADER_BYTES = 61
BATCH_LENGTH_AT = 8
BATCH_OVERHEAD_BYTES = 12  # base offset and length, which the length does not count
MIN_RECORD_BYTES = 7
MAGIC = 2
MAX_KEYS = 256
MAX_VERSIONS = 32


class Column(IntEnum):
    """The rows of the table that `scan` fills, one column of it per record."""

    OFFSET = 0
    TIMESTAMP = 1
    LEADER_EPOCH = 2
    BASE_OFFSET = 3
    CONTROL = 4
    CRC_VALID = 5
    KEY = 6  # api key, or type of a control record; -1 if the frame makes no sense
    VERSION = 7
    SCHEMA = 8  # its number in the program; -1 for what no schema describes
    BODY_START = 9
    BODY_END = 10
    BATCH_AT = 11  # where its batch begins, in the buffer given


class Stop(IntEnum):
    """Why `scan` stopped; the batch at the returned position is not in the table, unless the code says so."""

    END = 0  # no whole batch is left
    FULL = 1  # the batch's records may not fit into what is left of the table
    COMPRESSED = 2
    BAD_LENGTH = 3
    BAD_MAGIC = 4
    BAD_CRC = 5
    BAD_RECORDS = 6  # the table holds its records up to the one that makes no sense
    BAD_COUNT = 7


@compiled
def _int16(data: Bytes, at: int) -> int:
    value = wide(data[at]) << 8 | wide(data[at + 1])
    return value - 65536 if value >= 32768 else value


@compiled
def int32(data: Bytes, at: int) -> int:
    """A big-endian signed integer."""
    value = wide(data[at]) << 24 | wide(data[at + 1]) << 16 | wide(data[at + 2]) << 8 | wide(data[at + 3])
    return value - 4294967296 if value >= 2147483648 else value


@compiled
def int64(data: Bytes, at: int) -> int:
    """A big-endian signed integer."""
    return int32(data, at) << 32 | (int32(data, at + 4) & 0xFFFFFFFF)


@compiled
def unsigned_varint(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """An unsigned varint of at most 32 bits and what follows it; the position is -1 if there is none."""
    value, shift = wide(0), 0
    while at < end and shift < 35:
        byte = wide(data[at])
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFF, at
        shift += 7
    return wide(0), -1


@compiled
def varlong(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """A zigzag varint of at most 64 bits and what follows it; the position is -1 if there is none."""
    value, shift = wide(0), 0
    while at < end and shift < 70:
        byte = wide(data[at])
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1 & 0x7FFFFFFFFFFFFFFF) ^ -(value & 1), at
        shift += 7
    return wide(0), -1


@compiled
def _frame(data: Bytes, at: int, end: int) -> tuple[int, int, int]:
    """Api key, version and start of the body of a metadata record; key -1 if its frame is not of version 1."""
    frame, after = unsigned_varint(data, at, end)
    if after < 0 or frame != 1:
        return -1, -1, at
    key, after = unsigned_varint(data, after, end)
    if after < 0:
        return -1, -1, at
    version, after = unsigned_varint(data, after, end)
    if after < 0 or key >= 32768 or version >= 32768:
        return -1, -1, at
    return key, version, after


@compiled
def _record_head(data: Bytes, at: int, end: int) -> tuple[int, int, int, int, int, int, int]:
    """Of the record at `at`: timestamp delta, offset delta, key's start, value's start and length, record's end, ok."""
    bad = (wide(0), wide(0), -1, -1, wide(0), -1, 0)
    length, body = varlong(data, at, end)
    if body < 0 or length < MIN_RECORD_BYTES - 1 or length > end - body:
        return bad
    stop = body + length
    timestamp_delta, after = varlong(data, body + 1, stop)
    if after < 0:
        return bad
    offset_delta, after = varlong(data, after, stop)
    if after < 0:
        return bad
    key_bytes, key_at = varlong(data, after, stop)
    if key_at < 0 or key_bytes > stop - key_at:
        return bad
    after = key_at + max(key_bytes, 0)
    value_bytes, value_at = varlong(data, after, stop)
    if value_at < 0 or value_bytes > stop - value_at:
        return bad
    if key_bytes < 4:
        key_at = -1
    return timestamp_delta, offset_delta, key_at, value_at, value_bytes, stop, 1


@compiled
def scan_records(
    data: Bytes, header: Ints, start: int, end: int, wanted: Bytes, schemas: Ints, table: Ints, row: int
) -> tuple[int, int, int]:
    """Append rows for the next `count` records of one batch, which lie in `data[start:end]`.

    `header`: base offset, leader epoch, base timestamp, max timestamp, append time (0 or 1), control (0 or 1), checksum
    valid (0 or 1), count, position. `wanted[control * MAX_KEYS + key]`, the last entry for records without schema or
    frame. Returns the next free row, where the next record begins, and 1, or 0 if a record makes no sense.
    """
    control, at = header[5], start
    for _ in range(header[7]):
        timestamp_delta, offset_delta, key_at, value_at, value_bytes, stop, ok = _record_head(data, at, end)
        if not ok:
            return row, at, 0
        at = stop
        value_end = value_at + max(value_bytes, 0)
        key, version, body = wide(-1), wide(-1), wide(value_at)
        if control:
            if key_at >= 0 and value_bytes >= 2:
                key, version = _int16(data, key_at + 2), _int16(data, value_at)
        elif value_bytes > 0:
            key, version, body = _frame(data, value_at, value_end)
        schema = wide(-1)
        if 0 <= key < MAX_KEYS and 0 <= version < MAX_VERSIONS:
            schema = schemas[(control * MAX_KEYS + key) * MAX_VERSIONS + version]
        slot = control * MAX_KEYS + key if 0 <= key < MAX_KEYS else wide(2 * MAX_KEYS)
        if not wanted[slot]:
            continue
        table[0, row] = header[0] + offset_delta
        table[1, row] = header[3] if header[4] else header[2] + timestamp_delta
        table[2, row], table[3, row], table[4, row], table[5, row] = header[1], header[0], control, header[6]
        table[6, row], table[7, row], table[8, row] = key, version, schema
        table[9, row], table[10, row], table[11, row] = body, value_end, header[8]
        row += 1
    return row, at, 1


@compiled
def read_header(data: Bytes, at: int, header: Ints) -> None:
    """Fill `header`, in the form of `scan_records`, from the 61 bytes of a batch; the checksum is not checked."""
    attributes = _int16(data, at + 21)
    header[0], header[1] = int64(data, at), int32(data, at + 12)
    header[2], header[3] = int64(data, at + 27), int64(data, at + 35)
    header[4], header[5], header[6] = attributes >> 3 & 1, attributes >> 5 & 1, 1
    header[7], header[8] = int32(data, at + 57), at


@compiled
def scan(data: Bytes, at: int, end: int, wanted: Bytes, schemas: Ints, table: Ints) -> tuple[int, int, int]:
    """Rows for the whole uncompressed batches in `data[at:end]`: a Stop code, where it stopped, and rows filled."""
    header, row, capacity = np.zeros(9, dtype=np.int64), 0, table.shape[1]
    while at + BATCH_HEADER_BYTES <= end:
        size = int32(data, at + BATCH_LENGTH_AT) + BATCH_OVERHEAD_BYTES
        if data[at + 16] != 2:
            return 4, at, row
        if size < BATCH_HEADER_BYTES:
            return 3, at, row
        if size > end - at:
            return 0, at, row
        if int32(data, at + 17) & 0xFFFFFFFF != crc32c(data, at + 21, at + size):
            return 5, at, row
        if data[at + 22] & 7:
            return 2, at, row
        read_header(data, at, header)
        if header[7] < 0 or header[7] > (size - BATCH_HEADER_BYTES) // MIN_RECORD_BYTES:
            return 7, at, row
        if header[7] > capacity - row:
            return 1, at, row
        row, stop, ok = scan_records(data, header, at + BATCH_HEADER_BYTES, at + size, wanted, schemas, table, row)
        if not ok or stop != at + size:
            return 6, at, row
        at += size
    return 0, at, row


@compiled
def find_batch(data: Bytes, at: int, end: int, whole: int) -> int:
    """The next position in `data[at:end]` where a batch with a right checksum begins, or -1.

    `whole` bounds the bytes that are summed up in all, so that hostile bytes cannot make this quadratic.
    """
    while at + BATCH_HEADER_BYTES <= end and whole > 0:
        if data[at + 16] == 2 and data[at] < 128:
            size = int32(data, at + BATCH_LENGTH_AT) + BATCH_OVERHEAD_BYTES
            if BATCH_HEADER_BYTES <= size <= end - at:
                whole -= size
                if int32(data, at + 17) & 0xFFFFFFFF == crc32c(data, at + 21, at + size):
                    return at
        at += 1
    return -1
