"""Conversions between Kafka's values and ours: ranges of numbers, UUIDs, lists without duplicates.

A value that Kafka's types cannot hold, and one that no server can mean, raise ValueError with a clause to be put into a
sentence.
"""

import uuid
from collections.abc import Sequence
from datetime import timedelta

from kio.static.primitive import i16, i32, i32Timedelta, u16

from kafka_quorum.model.ids import DirectoryID, uuid_from_bytes, uuid_to_bytes
from kit.parsing import quoted
from kit.text import NAME_MAX_CHARS, is_clean


def at_least(least: int, what: str, value: int) -> int:
    """The number, if a server can mean it."""
    if value < least:
        raise ValueError(f"{what} is {value}")
    return int(value)


def once(what: str, values: Sequence[object]) -> None:
    """Refuse a list with a duplicate or an empty name: it would be unclear which row counts."""
    seen: set[object] = set()
    for value in values:
        if value in seen or value == "":
            raise ValueError(f"{what} {value} is listed twice" if value else f"a {what} has no name")
        seen.add(value)


def group_name(group: str) -> str:
    """A group's id that can be sent, and shown."""
    if not is_clean(group, max_chars=NAME_MAX_CHARS):
        raise ValueError(f"{quoted(group)} is no group id")
    return group


def timeout(timeout_ms: int) -> i32Timedelta:
    """A time that the server may take."""
    return i32Timedelta.parse(timedelta(milliseconds=int32("timeout", timeout_ms)))


def int16(what: str, value: int) -> i16:
    """A number of 16 bits."""
    if not isinstance(value, i16):
        raise ValueError(f"the {what} {value} does not fit into 16 bits")  # noqa: TRY004 - a value out of range
    return value


def int32(what: str, value: int) -> i32:
    """A number of 32 bits."""
    if not isinstance(value, i32):  # kio's types are ranges
        raise ValueError(f"the {what} {value} does not fit into 32 bits")  # noqa: TRY004 - a value out of range
    return value


def port_number(port: int) -> u16:
    """A port."""
    if not isinstance(port, u16):
        raise ValueError(f"{port} is not a port")  # noqa: TRY004 - a value out of range
    return port


def directory_id(value: uuid.UUID | None) -> DirectoryID | None:
    """A UUID of kio's in Kafka's notation; kio reads the zero UUID, which Kafka sends for "none", as None."""
    return None if value is None else DirectoryID(uuid_from_bytes(value.bytes))


def kio_uuid(value: DirectoryID | None) -> uuid.UUID | None:
    """A directory id as kio writes it (ValueError on what is no UUID); None becomes the zero UUID."""
    return None if value is None else uuid.UUID(bytes=uuid_to_bytes(value))
