"""The bytes that a member of a Streams application passes through its coordinator, as Kafka's schemas list them."""

import struct
import uuid

from kafka_streams.observe.subscription import LATEST_READ

PROCESS = uuid.UUID(int=2**100 + 7)


def int32(*values: int) -> bytes:
    """Numbers of 32 bits."""
    return struct.pack(f">{len(values)}i", *values)


def blob(content: bytes) -> bytes:
    """Bytes with their length."""
    return int32(len(content)) + content


def text(content: str) -> bytes:
    """A text with its length."""
    return struct.pack(">h", len(content.encode())) + content.encode()


def user(version: int, supported: int = LATEST_READ, endpoint: bytes = b"pod-1:8080", tasks: int = 2) -> bytes:
    """The user data of a Streams member, as the schema of Kafka Streams lists the fields of each version."""
    data = int32(version) + (int32(supported) if version >= 3 else b"") + PROCESS.bytes
    if version < 7:
        some = int32(tasks) + b"".join(int32(0, index) for index in range(tasks))
        data += some + some
    if version >= 2:
        data += blob(endpoint)
    if 7 <= version < 10:
        data += int32(1, 0, tasks) + b"".join(struct.pack(">iq", index, 2**40) for index in range(tasks))
    if version >= 10:
        names = (b"\xff\xff", text("named"))
        data += int32(tasks) + b"".join(struct.pack(">iiq", 0, index, -2) + names[index % 2] for index in range(tasks))
    data += b"\x07" if version >= 8 else b""
    data += int32(0) if version >= 9 else b""
    return data + (int32(1) + blob(b"zone") + blob(b"a") if version >= 11 else b"")


def subscription(data: bytes | None, version: int = 3, topics: tuple[str, ...] = ("in", "other")) -> bytes:
    """A consumer's subscription with this user data; from version 1 on more follows, which is not read."""
    head = struct.pack(">h", version) + int32(len(topics)) + b"".join(map(text, topics))
    return head + (int32(-1) if data is None else blob(data)) + (int32(0, 5) if version > 0 else b"")
