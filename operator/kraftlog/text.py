"""Strings to JSON, compiled: in it no character moves a terminal's cursor or hides text."""

import numpy as np

from kraftlog.compiled import Bytes, Ints, compiled, readable, wide
from kraftlog.errors import STEERING_RANGES

SLOW = -3
"""A value that is left to the reference codec."""
_HEX = readable(b"0123456789abcdef")
_STEERING: Ints = np.array(STEERING_RANGES, dtype=np.int64)


@compiled
def _utf8_bytes(data: Bytes, at: int, end: int) -> int:
    """The length of the well-formed sequence beyond ASCII at `at`, or 0."""
    first = wide(data[at])
    size = 2 if first < 224 else 3 if first < 240 else 4
    if first < 194 or first > 244 or at + size > end:
        return 0
    second = wide(data[at + 1])
    if (
        (first == 224 and second < 160)
        or (first == 237 and second >= 160)
        or (first == 240 and second < 144)
        or (first == 244 and second >= 144)
    ):
        return 0
    for place in range(at + 1, at + size):
        if data[place] & 192 != 128:
            return 0
    return size


@compiled
def _steering(data: Bytes, at: int, size: int) -> int:
    """The character beyond ASCII at `at` if it steers a terminal or hides text (`STEERING_RANGES`), else 0."""
    character = wide(data[at]) & (0x7F >> size)
    for place in range(at + 1, at + size):
        character = character << 6 | wide(data[place]) & 63
    low, high = 0, _STEERING.shape[0]
    while low < high:
        middle = (low + high) // 2
        if character > _STEERING[middle, 1]:
            low = middle + 1
        else:
            high = middle
    return character if low < _STEERING.shape[0] and character >= _STEERING[low, 0] else wide(0)


@compiled
def _escape_unit(unit: int, out: Bytes, to: int) -> int:
    r"""`\uXXXX`; answers what follows it."""
    out[to], out[to + 1] = 92, 117
    for place in range(4):
        out[to + 2 + place] = _HEX[unit >> (12 - 4 * place) & 15]
    return to + 6


@compiled
def _escape(character: int, out: Bytes, to: int) -> int:
    r"""`\uXXXX`, twice for a character beyond U+FFFF; answers what follows it."""
    if character > 0xFFFF:
        to = _escape_unit(0xD7C0 + (character >> 10), out, to)
        character = 0xDC00 | character & 0x3FF
    return _escape_unit(character, out, to)


@compiled
def write_text(data: Bytes, at: int, size: int, out: Bytes, to: int) -> int:
    """A JSON string; answers SLOW if it is no UTF-8."""
    out[to] = 34
    to += 1
    end, left = at + size, wide(0)
    while at < end:
        byte = wide(data[at])
        if byte >= 128 and not left:
            left = _utf8_bytes(data, at, end)
            if not left:
                return SLOW
            steering = _steering(data, at, left)
            if steering:
                to = _escape(steering, out, to)
                at, left = at + left, wide(0)
                continue
        left = max(left - 1, 0)
        if byte == 34 or byte == 92:  # noqa: PLR1714 -- compiled, a set would be built for every byte
            out[to] = 92
            to += 1
        if byte < 32 or byte == 127:
            to = _escape(byte, out, to)
            at += 1
            continue
        out[to] = byte
        to += 1
        at += 1
    out[to] = 34
    return to + 1
