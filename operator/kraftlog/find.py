"""Where fields are in record bodies, compiled: for callers that need one or two of them from millions of records.

A body is walked with the same tables as in `render`, and checked as strictly; but nothing is written.
"""

from kraftlog.compiled import Bytes, Ints, compiled
from kraftlog.render import MALFORMED, MAX_STRING_BYTES, WIDTHS, array_head, tag_head
from kraftlog.scan import unsigned_varint

ABSENT = -1
"""The schema does not have the field, or the record leaves it out."""
UNREAD = -2
"""The body is not readable here: damaged, of no schema, or with structs. A caller that needs it must decode it."""


@compiled
def _value(data: Bytes, at: int, end: int, kind: int, nullable: int) -> int:
    """The position after a value that is no struct and no array; MALFORMED if it does not fit."""
    if kind < 10:
        return at + WIDTHS[kind] if WIDTHS[kind] <= end - at else MALFORMED
    size, at = unsigned_varint(data, at, end)
    size -= 1
    if at < 0 or size > end - at or (kind == 10 and size > MAX_STRING_BYTES) or (size < 0 and not nullable):
        return MALFORMED
    return at + max(size, 0)


@compiled
def _field(data: Bytes, at: int, end: int, ops: Ints, op: int) -> int:
    """The position after a field; MALFORMED if it does not fit, or has structs."""
    kind, nullable = ops[op, 0], ops[op, 2]
    if kind > 11:
        return MALFORMED
    if not ops[op, 1]:
        return _value(data, at, end, kind, nullable)
    count, at = array_head(data, at, end, nullable)
    if at < 0:
        return MALFORMED
    for _ in range(count):
        at = _value(data, at, end, kind, 0)
        if at < 0:
            return MALFORMED
    return at


@compiled
def _tagged(data: Bytes, at: int, end: int, ops: Ints, first: int, last: int, slots: Ints, places: Ints) -> int:
    """The position after the tagged fields at the end of a body, or MALFORMED."""
    count, at = unsigned_varint(data, at, end)
    if at < 0 or count > end - at:
        return MALFORMED
    for _ in range(count):
        tag, size, at = tag_head(data, at, end)
        if at < 0:
            return MALFORMED
        for op in range(first, last):
            if ops[op, 3] == tag:
                if slots[op] >= 0:
                    places[slots[op]] = at
                if _field(data, at, at + size, ops, op) != at + size:
                    return MALFORMED
        at += size
    return at


@compiled
def _body(data: Bytes, at: int, end: int, ops: Ints, first: int, last: int, slots: Ints, places: Ints) -> int:
    """Note the place of every wanted field; returns the position after the body, or MALFORMED."""
    for op in range(first, last):
        if ops[op, 3] < 0:
            if slots[op] >= 0:
                places[slots[op]] = at
            at = _field(data, at, end, ops, op)
            if at < 0:
                return MALFORMED
    return _tagged(data, at, end, ops, first, last, slots, places)


@compiled
def find(data: Bytes, table: Ints, rows: Ints, ops: Ints, spans: Ints, slots: Ints, found: Ints) -> None:
    """Fill `found[n, slot]` with the place in `data` of each wanted field of record `rows[n]`, or ABSENT, or UNREAD.

    `slots[op]` is the slot of an operation's field, -1 if it is not wanted.
    """
    for n in range(rows.size):
        row, after = rows[n], MALFORMED
        schema = table[8, row]
        found[n, :] = ABSENT
        if schema >= 0:
            first, last = spans[schema, 0], spans[schema, 1]
            after = _body(data, table[9, row], table[10, row], ops, first, last, slots, found[n])
        if after != table[10, row]:
            found[n, :] = UNREAD
