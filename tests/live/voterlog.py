"""The voter sets in a controller's metadata log on its disk: the checkpoint of the format, then every record.

Of a record batch (version 2) only the necessary parts are read: whether it is a control batch, and the keys of its
records, whose type shows whether the value is a VotersRecord. A torn tail ends the log.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kio.schema.voters_record.v0.data import VotersRecord
from kio.serial import entity_reader

from kafka_quorum.model.ids import NodeID, ReplicaKey
from kafka_quorum.wire.values import directory_id

_PREFIX: Final = struct.Struct(">qi")  # base offset, length of the rest
_HEADER: Final = struct.Struct(">ibIhiqqqhii")  # from the leader epoch to the number of records
_IS_CONTROL: Final = 0x20
_VOTERS: Final = 6
VoterSet = frozenset[ReplicaKey]


def voter_sets(log_directory: Path) -> tuple[VoterSet, ...]:
    """Every voter set in order, without those that repeat the one before; () without a log."""
    metadata = log_directory / "__cluster_metadata-0"
    checkpoints = sorted(metadata.glob("*.checkpoint"))[:1]
    found: list[VoterSet] = []
    for path in (*checkpoints, *sorted(metadata.glob("*.log"))):
        for voters in _sets(path.read_bytes()):
            if voters and (not found or found[-1] != voters):
                found.append(voters)
    return tuple(found)


def _sets(log: bytes) -> Iterator[VoterSet]:
    position = 0
    while position + _PREFIX.size <= len(log):
        _, length = _PREFIX.unpack_from(log, position)
        start, position = position + _PREFIX.size, position + _PREFIX.size + length
        if length < _HEADER.size or position > len(log):
            return
        header = _HEADER.unpack_from(log, start)
        attributes, records = header[3], header[10]
        if attributes & _IS_CONTROL:
            yield from _control(log, start + _HEADER.size, records)


def _control(log: bytes, position: int, records: int) -> Iterator[VoterSet]:
    for _ in range(records):
        length, position = _varint(log, position)
        end = position + length
        position += 1  # attributes
        for _ in range(2):  # deltas of time and offset
            _, position = _varint(log, position)
        key_length, position = _varint(log, position)
        kind = struct.unpack_from(">hh", log, position)[1]
        _, position = _varint(log, position + key_length)
        if kind == _VOTERS:
            record, _ = entity_reader(VotersRecord)(log, position)
            yield frozenset(
                ReplicaKey(node_id=NodeID(int(row.voter_id)), directory_id=directory_id(row.voter_directory_id))
                for row in record.voters
            )
        position = end


def _varint(log: bytes, position: int) -> tuple[int, int]:
    """A zigzag varint, and the position behind it."""
    value = shift = 0
    while True:
        byte = log[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position
