"""The bytes that a member of a Streams application passes through its coordinator, as the schemas list the fields."""

import struct
import uuid
from typing import Final

_PROCESS: Final = uuid.UUID(int=2**100 + 7)


def _int32(*values: int) -> bytes:
    return struct.pack(f">{len(values)}i", *values)


def _blob(content: bytes) -> bytes:
    return _int32(len(content)) + content


def _user(version: int, supported: int) -> bytes:
    """A member without tasks, as version `version` of the subscription lists its fields."""
    data = _int32(version) + (_int32(supported) if version >= 3 else b"") + _PROCESS.bytes
    if version < 7:
        data += _int32(0, 0)
    if version >= 2:
        data += _blob(b"")
    if version >= 7:
        data += _int32(0)
    data += b"\x00" if version >= 8 else b""
    data += _int32(0) if version >= 9 else b""
    return data + (_int32(0) if version >= 11 else b"")


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def subscription(version: int, supported: int, topic: str) -> bytes:
    """The metadata of a Streams member that uses this version, and reads this topic."""
    return struct.pack(">h", 1) + _int32(1) + _text(topic) + _blob(_user(version, supported)) + _int32(0)


def assignment(topic: str, partitions: tuple[int, ...]) -> bytes:
    """What the leader of the group has given a member."""
    return struct.pack(">h", 1) + _int32(1) + _text(topic) + _int32(len(partitions), *partitions) + _blob(b"")
