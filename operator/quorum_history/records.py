"""The decoded records of a file, as the dictionaries that `kraftlog dump` prints."""

import json
from collections.abc import Iterator
from typing import Any

from kraftlog import Fault, FaultKind, Options, RecordBlock, Rendered, read_blocks
from kraftlog.lines import lines_of


def records_of(path: str, options: Options, faults: list[Fault]) -> Iterator[dict[str, Any]]:
    """Every record that a schema describes, in order; what could not be read is added to `faults`.

    Keys: `offset, timestamp, leader_epoch, base_offset, control, crc_valid, type, version, data`.
    """
    for item in read_blocks(path, options):
        if isinstance(item, Fault):
            faults += [item] if item.kind is not FaultKind.EMPTY else []
            continue
        rendered = item.render()
        faults += rendered.faults
        yield from (record for record in _decoded(item, rendered) if not isinstance(record["data"], str))


def _decoded(block: RecordBlock, rendered: Rendered) -> list[dict[str, Any]]:
    """The records of a block, all at once: one a time would cost several times as much."""
    lines = bytes(lines_of(block, rendered)).rstrip(b"\n").replace(b"\n", b",")
    decoded: list[dict[str, Any]] = json.loads(b"[" + lines + b"]")
    return decoded
