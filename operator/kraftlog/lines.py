"""A block as JSON lines: one object a record, in the shape that `kafka-dump-log` gives to its parts."""

from functools import cache

import numpy as np

from kraftlog.blocks import RecordBlock, Rendered, type_name
from kraftlog.compiled import Bytes, Ints, compiled, readable, wide
from kraftlog.program import Program
from kraftlog.render import FALSE, TRUE, put, put_int
from kraftlog.scan import MAX_KEYS, Column

_OFFSET = readable(b'{"offset":')
_TIMESTAMP = readable(b',"timestamp":')
_EPOCH = readable(b',"leader_epoch":')
_BASE = readable(b',"base_offset":')
_CONTROL = readable(b',"control":')
_CRC = readable(b',"crc_valid":')
_TYPE = readable(b',"type":"')
_VERSION = readable(b'","version":')
_DATA = readable(b',"data":')
_END = readable(b"}\n")
_BYTES_PER_LINE = 320
"""The names, the numbers of up to 20 digits and the type's name: all of a line except its data."""


def lines_of(block: RecordBlock, rendered: Rendered) -> memoryview:
    """All records of the block, each on a line of its own.

    Its keys: `offset, timestamp, leader_epoch, base_offset, control, crc_valid, type, version, data`.
    """
    names, ends = _type_names(block.program)
    out = np.empty(rendered.text.size + len(block) * _BYTES_PER_LINE, dtype=np.uint8)
    size = _lines(block.table, rendered.text, rendered.ends, names, ends, out)
    for row in np.flatnonzero(block.table[Column.KEY] >= MAX_KEYS).tolist():
        return _spelled(block, rendered, row)
    return out[:size].data


def _spelled(block: RecordBlock, rendered: Rendered, first: int) -> memoryview:
    """The same in plain Python, for blocks with keys beyond any table, the first of them at `first`."""
    out, start = bytearray(), 0
    for row, end in enumerate(rendered.ends.tolist()):
        number = [int(value) for value in block.table[:, row]]
        flags = [str(bool(number[column])).lower() for column in (Column.CONTROL, Column.CRC_VALID)]
        name = (
            block.type_of(row) if row >= first else type_name(block.program, number[Column.CONTROL], number[Column.KEY])
        )
        head = (
            f'{{"offset":{number[Column.OFFSET]},"timestamp":{number[Column.TIMESTAMP]}'
            f',"leader_epoch":{number[Column.LEADER_EPOCH]},"base_offset":{number[Column.BASE_OFFSET]}'
            f',"control":{flags[0]},"crc_valid":{flags[1]},"type":"{name}","version":{number[Column.VERSION]},"data":'
        )
        out += head.encode() + bytes(rendered.text[start:end]) + b"}\n"
        start = end
    return memoryview(out)


@cache
def _names_by_release() -> dict[int, tuple[Bytes, Ints]]:
    return {}


def _type_names(code: Program) -> tuple[Bytes, Ints]:
    """The names by slot (control * MAX_KEYS + key, the last for no frame), in one run of bytes with their ends."""
    known = _names_by_release()
    if id(code) not in known:
        keys = [(control, key) for control in (0, 1) for key in range(MAX_KEYS)]
        names = [type_name(code, control, key).encode() for control, key in [*keys, (0, -1)]]
        known[id(code)] = readable(b"".join(names)), np.cumsum([0, *map(len, names)])
    return known[id(code)]


@compiled
def _lines(table: Ints, text: Bytes, ends: Ints, names: Bytes, name_ends: Ints, out: Bytes) -> int:
    """Fill `out`; returns its used size."""
    to, start = 0, wide(0)
    for row in range(table.shape[1]):
        to = put_int(out, put(out, to, _OFFSET), table[0, row])
        to = put_int(out, put(out, to, _TIMESTAMP), table[1, row])
        to = put_int(out, put(out, to, _EPOCH), table[2, row])
        to = put_int(out, put(out, to, _BASE), table[3, row])
        to = put(out, put(out, to, _CONTROL), TRUE if table[4, row] else FALSE)
        to = put(out, put(out, to, _CRC), TRUE if table[5, row] else FALSE)
        to = put(out, to, _TYPE)
        key = table[6, row]
        slot = table[4, row] * MAX_KEYS + key if 0 <= key < MAX_KEYS else wide(2 * MAX_KEYS)
        to = put(out, to, names[name_ends[slot] : name_ends[slot + 1]])
        to = put_int(out, put(out, to, _VERSION), table[7, row])
        to = put(out, to, _DATA)
        to = put(out, to, text[start : ends[row]])
        to = put(out, to, _END)
        start = ends[row]
    return to
