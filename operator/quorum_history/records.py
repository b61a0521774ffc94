"""The decoded records of a file, as the dictionaries that `kraftlog dump` prints."""

import json
from collections.abc import Iterator
from typing import Any

from kraftlog import Column, Fault, FaultKind, Options, RecordBlock, read_blocks
from kraftlog.lines import lines_of


def records_of(path: str, options: Options, faults: list[Fault]) -> Iterator[dict[str, Any]]:
    """Every record that a schema describes, in order; what could not be read is added to `faults`.

    Keys: `offset, timestamp, leader_epoch, base_offset, control, crc_valid, type, version, data`.
    """
    for block in blocks_of(path, options, faults):
        yield from described(block, faults)


def blocks_of(path: str, options: Options, faults: list[Fault]) -> Iterator[RecordBlock]:
    """The blocks of a file, in order, without records of batches whose checksum is wrong.

    What could not be read is added to `faults`; an empty file is no fault here.
    """
    for item in read_blocks(path, options):
        if isinstance(item, Fault):
            faults += [item] if item.kind is not FaultKind.EMPTY else []
        elif item.column(Column.CRC_VALID).all():
            yield item


def described(block: RecordBlock, faults: list[Fault]) -> Iterator[dict[str, Any]]:
    """The records of a block that a schema describes."""
    return (record for record in decoded(block, faults) if not isinstance(record["data"], str))


def decoded(block: RecordBlock, faults: list[Fault]) -> list[dict[str, Any]]:
    """Each record of a block, all at once: one at a time would cost several times as much.

    A record that no schema describes has text as its `data`; what could not be decoded is added to `faults`.
    """
    rendered = block.render()
    faults += rendered.faults
    lines = bytes(lines_of(block, rendered)).rstrip(b"\n").replace(b"\n", b",")
    found: list[dict[str, Any]] = json.loads(b"[" + lines + b"]")
    return found
