"""Encoded names of any kind: every keyword and some OIDs, every kind of text, and characters that need an escape."""

import random
from typing import Final

_OIDS: Final = tuple(
    map(
        bytes.fromhex,
        (
            *("550403", "550406", "550407", "550408", "550409", "55040a", "55040b", "550405", "55040c", "55042a"),
            *("0992268993f22c640101", "0992268993f22c640119", "2a864886f70d010901", "2b0601040182371402", "883703"),
        ),
    )
)
_TEXTS: Final = (0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E)
_OTHERS: Final = (0x12, 0x1A, 0x1C, 0x04)
_CHARACTERS: Final = (
    *"aB9 ",
    *',=+<>#;"\\',
    "\r",
    "\n",
    "\t",
    "\0",
    "é",
    "日",
    "😀",
    "\u200b",
    "\u00a0",
    ":",
    "/",
    "*",
)
_UNESCAPED: Final = (*"abcXYZ019", " ", "-", ".", "é", ":")


def encoded(tag: int, content: bytes) -> bytes:
    """One element of DER."""
    size = len(content)
    return bytes([tag, size] if size < 0x80 else [tag, 0x82, size >> 8, size & 0xFF]) + content


def attribute(dice: random.Random) -> bytes:
    """A type and a value."""
    characters = _CHARACTERS if dice.random() < 0.6 else _UNESCAPED
    text = "".join(dice.choices(characters, k=dice.randrange(8))).encode()
    tag = dice.choice(_TEXTS if dice.random() < 0.9 else _OTHERS)
    if dice.random() < 0.02:
        text += b"\xff\xfe"
    return encoded(0x30, encoded(0x06, dice.choice(_OIDS)) + encoded(tag, text))


def encoded_name(dice: random.Random) -> bytes:
    """A name of up to four parts, some of which have two attributes."""
    parts = (encoded(0x31, b"".join(attribute(dice) for _ in range(dice.choice((1, 1, 1, 2))))) for _ in range(4))
    return encoded(0x30, b"".join(list(parts)[: dice.randrange(5)]))
