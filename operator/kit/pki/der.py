"""The little of DER that is read here: elements and their content, of bytes that a strict parser has accepted."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

SEQUENCE: Final = 0x30
SET: Final = 0x31
_LONG: Final = 0x80
_LENGTHS_MAX: Final = 4
_HIGH_TAG: Final = 0x1F


class NotDer(ValueError):
    """Bytes that are not DER."""


@dataclass(frozen=True, slots=True)
class Element:
    """One element: its tag, its content, and all of its bytes."""

    tag: int
    content: bytes = field(repr=False)
    whole: bytes = field(repr=False)


def elements(content: bytes) -> Iterator[Element]:
    """The elements that lie one after the other in these bytes (`NotDer`)."""
    at = 0
    while at < len(content):
        start = at
        if at + 2 > len(content) or content[at] & _HIGH_TAG == _HIGH_TAG:
            raise NotDer("an element is cut off, or has a long tag")
        tag, length, at = content[at], content[at + 1], at + 2
        if length >= _LONG:
            count = length - _LONG
            if not 0 < count <= _LENGTHS_MAX or at + count > len(content):
                raise NotDer("an element has no valid length")
            length, at = int.from_bytes(content[at : at + count]), at + count
        if at + length > len(content):
            raise NotDer("an element is cut off")
        yield Element(tag, content[at : at + length], content[start : at + length])
        at += length


def only(content: bytes, tag: int) -> bytes:
    """The content of the one element in these bytes, which has this tag (`NotDer`)."""
    found = list(elements(content))
    if len(found) != 1 or found[0].tag != tag:
        raise NotDer(f"it is not one element of tag {tag:#x}")
    return found[0].content
