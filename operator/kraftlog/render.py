"""Record bodies to JSON, compiled: what Kafka's own JSON converters would print, written straight into bytes.

Each schema is a table of operations (`program`), and `_struct` interprets it. For rare values it returns SLOW, and the
reference codec (`values`) decodes them: text that is no UTF-8, doubles with a fraction, a tag that is there twice. A
body that does not fit its schema is MALFORMED. Nothing is trusted: every length is compared with the remaining bytes,
so no body can make this loop or grow.
"""

import numpy as np

from kraftlog.compiled import Bytes, Ints, compiled, readable, wide
from kraftlog.scan import int32, int64, unsigned_varint
from kraftlog.text import SLOW, write_text

MALFORMED, FULL = -1, -2  # and SLOW
_ROOM = 64
"""Bytes of output that any operation may use besides a name and the content of strings and bytes."""
MAX_STRING_BYTES = 32767  # what Kafka's own generated code accepts

_STANDARD = readable(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_URL_SAFE = readable(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
_NULL = readable(b"null")
TRUE = readable(b"true")
FALSE = readable(b"false")


@compiled
def put(out: Bytes, at: int, text: Bytes) -> int:
    """Copy `text`; answers what follows it."""
    for offset in range(text.size):
        out[at + offset] = text[offset]
    return at + text.size


@compiled
def put_int(out: Bytes, at: int, value: int) -> int:
    """A decimal integer of 64 bits; answers what follows it."""
    left = np.uint64(value)
    if value < 0:
        out[at] = 45
        at += 1
        left = np.uint64(-(value + 1)) + np.uint64(1)
    digits, rest = 1, left // np.uint64(10)
    while rest:
        digits += 1
        rest = rest // np.uint64(10)
    for place in range(at + digits - 1, at - 1, -1):
        quotient = left // np.uint64(10)
        out[place] = 48 + wide(left - quotient * np.uint64(10))
        left = quotient
    return at + digits


@compiled
def _base64(data: Bytes, at: int, size: int, alphabet: Bytes, out: Bytes, to: int) -> int:
    """Base64 in quotes, padded in the standard alphabet and unpadded in the other, as Kafka prints bytes and UUIDs."""
    out[to] = 34
    to += 1
    whole = size - size % 3
    for offset in range(0, whole, 3):
        word = wide(data[at + offset]) << 16 | wide(data[at + offset + 1]) << 8 | wide(data[at + offset + 2])
        for shift in range(18, -1, -6):
            out[to] = alphabet[word >> shift & 63]
            to += 1
    if size % 3:
        word = wide(data[at + whole]) << 16
        if size % 3 == 2:
            word |= wide(data[at + whole + 1]) << 8
        for place in range(4):
            if place <= size % 3:
                out[to] = alphabet[word >> (18 - 6 * place) & 63]
            elif alphabet[62] == 43:
                out[to] = 61
            else:
                break
            to += 1
    out[to] = 34
    return to + 1


@compiled
def _double(bits: int, out: Bytes, to: int) -> int:
    """A double that is a whole number below 2**53; SLOW for any other."""
    if bits == 0:
        return put_int(out, to, 0)
    exponent = (bits >> 52 & 2047) - 1023
    if not 0 <= exponent <= 52 or bits & ((1 << (52 - exponent)) - 1):
        return SLOW
    whole = ((bits & ((1 << 52) - 1)) | 1 << 52) >> (52 - exponent)
    to = put_int(out, to, -whole if bits < 0 else whole)
    out[to], out[to + 1] = 46, 48
    return to + 2


@compiled
def _sized(data: Bytes, at: int, end: int, kind: int, nullable: int, out: Bytes, to: int) -> tuple[int, int, int]:
    """A string or bytes: what follows it, what follows its JSON, its length or -1 for null; or a negative code."""
    size, at = unsigned_varint(data, at, end)
    size -= 1
    if at < 0 or size > end - at or (kind == 10 and size > MAX_STRING_BYTES):
        return MALFORMED, to, 0
    if size < 0:
        return (at, put(out, to, _NULL), -1) if nullable else (MALFORMED, to, 0)
    if to + 6 * size + _ROOM > out.size:
        return FULL, to, 0
    if kind == 10:
        to = write_text(data, at, size, out, to)
        return (at + size, to, size) if to >= 0 else (to, 0, 0)
    return at + size, _base64(data, at, size, _STANDARD, out, to), size


@compiled
def _fixed(data: Bytes, at: int, kind: int, out: Bytes, to: int) -> tuple[int, int, int]:
    """An integer, boolean, UUID or double, known to be there: as `_sized`, with its value (UUID: 0 if it is zero)."""
    if kind == 9:
        high, low = int64(data, at), int64(data, at + 8)
        return at + 16, _base64(data, at, 16, _URL_SAFE, out, to), high | low
    if kind == 8:
        to = _double(int64(data, at), out, to)
        return (at + 8, to, 1) if to >= 0 else (to, 0, 0)
    if kind == 7:
        value, at = int64(data, at), at + 8
    elif kind in (5, 6):
        value, at = int32(data, at), at + 4
        value = value & 0xFFFFFFFF if kind == 6 else value
    elif kind in (3, 4):
        value, at = wide(data[at]) << 8 | wide(data[at + 1]), at + 2
        value = value - 65536 if kind == 3 and value >= 32768 else value
    else:
        value, at = wide(data[at]), at + 1
        if kind == 1:
            return at, put(out, to, TRUE if value else FALSE), 1 if value else 0
        value = value - 256 if value >= 128 else value
    return at, put_int(out, to, value), value


WIDTHS = np.array([0, 1, 1, 2, 2, 4, 4, 8, 8, 16], dtype=np.int64)


@compiled
def _plain(data: Bytes, at: int, end: int, kind: int, nullable: int, out: Bytes, to: int) -> tuple[int, int, int]:
    """Any value that is no struct and no array."""
    if to + _ROOM > out.size:
        return FULL, to, 0
    if kind >= 10:
        return _sized(data, at, end, kind, nullable, out, to)
    if WIDTHS[kind] > end - at:
        return MALFORMED, to, 0
    return _fixed(data, at, kind, out, to)


@compiled
def _name(ops: Ints, op: int, names: Bytes, out: Bytes, to: int) -> int:
    """`"name":` with a comma before it unless it is the first; FULL if there is no room."""
    size = ops[op, 6]
    if to + size + _ROOM > out.size:
        return FULL
    if out[to - 1] != 123:
        out[to] = 44
        to += 1
    start = ops[op, 5]
    for offset in range(size):
        out[to + offset] = names[start + offset]
    return wide(to + size)


@compiled
def array_head(data: Bytes, at: int, end: int, nullable: int) -> tuple[int, int]:
    """Number of elements, -1 for null, and what follows; the position is MALFORMED if it cannot be."""
    count, at = unsigned_varint(data, at, end)
    count -= 1
    if at < 0 or count > end - at or (count < 0 and not nullable):
        return 0, MALFORMED
    return count, at


@compiled
def _field(
    data: Bytes, at: int, end: int, ops: Ints, op: int, names: Bytes, out: Bytes, to: int
) -> tuple[int, int, int]:
    """A field without structs, its name included: what follows it, what follows its JSON, and its value or length."""
    to = _name(ops, op, names, out, to)
    if to < 0:
        return FULL, to, 0
    kind, nullable = ops[op, 0], ops[op, 2]
    if not ops[op, 1]:
        return _plain(data, at, end, kind, nullable, out, to)
    count, at = array_head(data, at, end, nullable)
    if at < 0:
        return MALFORMED, to, 0
    if count < 0:
        return at, put(out, to, _NULL), -1
    out[to] = 91
    to += 1
    for element in range(count):
        if element:
            out[to] = 44
            to += 1
        at, to, _ = _plain(data, at, end, kind, 0, out, to)
        if at < 0:
            return at, to, 0
    out[to] = 93
    return at, to + 1, count


@compiled
def tag_head(data: Bytes, at: int, end: int) -> tuple[int, int, int]:
    """A tagged field's tag, its size in bytes, and the position of its value; the position is MALFORMED if it lacks."""
    tag, at = unsigned_varint(data, at, end)
    if at < 0:
        return tag, 0, MALFORMED
    size, at = unsigned_varint(data, at, end)
    return tag, size, at if at >= 0 and size <= end - at else MALFORMED


@compiled
def _tagged(
    data: Bytes, at: int, end: int, ops: Ints, first: int, last: int, names: Bytes, out: Bytes, to: int
) -> tuple[int, int]:
    """The tagged fields at the end of a struct; those of default value and unknown tags leave no trace, as in Kafka.

    Kafka writes tags in ascending order. Only in another order can a tag be there twice: then this answers SLOW.
    """
    count, at = unsigned_varint(data, at, end)
    if at < 0 or count > end - at:
        return MALFORMED, to
    before = wide(-1)
    for _ in range(count):
        tag, size, at = tag_head(data, at, end)
        if at < 0:
            return MALFORMED, to
        stop = at + size
        for op in range(first, last):
            if ops[op, 3] == tag:
                if tag <= before:
                    return SLOW, to
                before = tag
                at, after, value = _field(data, at, stop, ops, op, names, out, to)
                if at < 0:
                    return at, to
                if at != stop:
                    return MALFORMED, to
                if value != ops[op, 4]:
                    to = after
        at = stop
    return at, to


@compiled
def _struct(
    data: Bytes, at: int, end: int, ops: Ints, first: int, last: int, names: Bytes, out: Bytes, to: int
) -> tuple[int, int]:
    """A struct with all its fields: what follows it, or a negative code, and what follows its JSON."""
    if to + _ROOM > out.size:
        return FULL, to
    out[to] = 123
    to += 1
    for op in range(first, last):
        if ops[op, 3] >= 0:
            continue
        if ops[op, 0] != 12:
            at, to, _ = _field(data, at, end, ops, op, names, out, to)
            if at < 0:
                return at, to
            continue
        to = _name(ops, op, names, out, to)
        if to < 0:
            return FULL, to
        count = wide(1)
        if ops[op, 1]:
            count, at = array_head(data, at, end, ops[op, 2])
            if at < 0:
                return at, to
            out[to] = 91
            to = to + 1 if count >= 0 else put(out, to, _NULL)
        for element in range(count):
            if element:
                out[to] = 44
                to += 1
            at, to = _struct(data, at, end, ops, ops[op, 7], ops[op, 8], names, out, to)
            if at < 0:
                return at, to
        if ops[op, 1] and count >= 0:
            out[to] = 93
            to += 1
    at, to = _tagged(data, at, end, ops, first, last, names, out, to)
    if at >= 0:
        out[to] = 125
    return at, to + 1


@compiled
def render(
    data: Bytes, table: Ints, row: int, last: int, ops: Ints, spans: Ints, names: Bytes, out: Bytes, to: int, ends: Ints
) -> tuple[int, int]:
    """The JSON of rows `row` to `last` of a scan's table, one after another from `out[to]`; `ends[row]` behind each.

    Answers the next row, short of `last` if `out` is full, and what follows the last JSON. A row that this cannot do
    leaves no bytes, and its `ends` is negative: `-1 - end`.
    """
    while row < last:
        schema, stop, at = table[8, row], table[10, row], -1
        after = to
        if schema >= 0:
            at, after = _struct(data, table[9, row], stop, ops, spans[schema, 0], spans[schema, 1], names, out, to)
            if at == FULL:
                return row, to
        if schema >= 0 and at == stop:
            to = after
            ends[row] = to
        else:
            ends[row] = -1 - to
        row += 1
    return row, to
