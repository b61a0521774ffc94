"""Record batches from records: for tests, samples and benchmarks that make logs of their own.

It is not meant for a directory that a controller uses: it has no indexes and no epochs, and does not check what an
active controller may write. `kraftlog.rewrite` is what changes such a directory.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kraftlog.codecs import Codec, pack
from kraftlog.compiled import readable
from kraftlog.crc import crc32c
from kraftlog.schema import Schema
from kraftlog.values import Value, encode, unsigned_varint

_FRAME_VERSION = 1


@dataclass(frozen=True, slots=True)
class NewRecord:
    """A record's key and value as bytes, and its timestamp's distance from the batch's first."""

    value: bytes
    key: bytes | None = None
    timestamp_delta_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBatch:
    """Where a batch goes and how it is packed; `timestamp_ms` is its first record's."""

    base_offset: int
    leader_epoch: int = 1
    timestamp_ms: int = 0
    control: bool = False
    codec: Codec = Codec.NONE
    append_time: bool = False


def record_of(schema: Schema, data: Mapping[str, Value]) -> NewRecord:
    """A metadata or control record with these values."""
    body = encode(schema, data)
    if schema.control:
        return NewRecord(body, key=struct.pack(">hh", 0, schema.key))
    head = b"".join(map(unsigned_varint, (_FRAME_VERSION, schema.key, schema.version)))
    return NewRecord(head + body)


def batch_of(place: NewBatch, records: Sequence[NewRecord]) -> bytes:
    """A whole batch, checksum included."""
    content = b"".join(_record(delta, record) for delta, record in enumerate(records))
    if place.codec is not Codec.NONE:
        content = pack(place.codec, content)
    attributes = place.codec | place.append_time << 3 | place.control << 5
    last_ms = place.timestamp_ms + max((record.timestamp_delta_ms for record in records), default=0)
    summed = struct.pack(
        ">hiqqqhii", attributes, len(records) - 1, place.timestamp_ms, last_ms, -1, -1, -1, len(records)
    )
    summed += content
    checksum = crc32c(readable(summed), 0, len(summed))
    behind = struct.pack(">ibI", place.leader_epoch, 2, checksum) + summed
    return struct.pack(">qi", place.base_offset, len(behind)) + behind


def _record(offset_delta: int, record: NewRecord) -> bytes:
    key = _varint(-1) if record.key is None else _varint(len(record.key)) + record.key
    body = b"\0" + _varint(record.timestamp_delta_ms) + _varint(offset_delta) + key
    body += _varint(len(record.value)) + record.value + _varint(0)
    return _varint(len(body)) + body


def _varint(value: int) -> bytes:
    return unsigned_varint((value << 1 ^ value >> 63) & 0xFFFFFFFFFFFFFFFF)
