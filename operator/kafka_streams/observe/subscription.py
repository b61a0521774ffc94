"""Reads the bytes that members of a classic group pass through their coordinator. Pure, and within bounds.

The coordinator does not look into these bytes, so any client of the group may have written them. Every fault is a
`ReadError` that says what is wrong, and at which byte.

**Consumer protocol.** A member's metadata is a subscription: its version, topics, user data, and from version 1 on
owned partitions and more. Only the part up to the user data is read; the rest differs by version.

**Streams.** The user data of the assignor `stream` begins with the version of its own form. From version 3 on the
latest version that the member supports follows, which is what version probing needs (KIP-268). Both numbers stand
there in every later version too, so that an older leader can read them.
"""

import struct
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.known import Unknown
from kafka_quorum.wire.bounds import MAX_BLOB_BYTES, MAX_NAME_BYTES, MAX_PARTITIONS
from kafka_quorum.wire.reader import Cursor, ReadError
from kafka_streams.model.group import MemberMetadata, NoMetadata, NotStreams, StreamsVersions
from kit.text import is_clean

CONSUMER: Final = "consumer"
"""The protocol type of consumers, and so of Streams."""
ASSIGNOR: Final = "stream"
"""The name of the Streams assignor, in every release."""
LATEST_READ: Final = 11
"""The latest version of Streams' metadata that is read in full: that of Kafka 3.3 to 4.4."""
_FIRST_WITH_SUPPORTED: Final = 3
_FIRST_WITH_ENDPOINT: Final = 2
_FIRST_WITH_OFFSETS: Final = 7
_FIRST_WITH_UNIQUE: Final = 8
_FIRST_WITH_ERROR: Final = 9
_FIRST_WITH_FLAT_OFFSETS: Final = 10
_FIRST_WITH_TAGS: Final = 11
MAX_TOPICS: Final = 10_000
MAX_TASKS: Final = 100_000
"""The limit of the tasks of which one member reports a state."""
MAX_TAGS: Final = 64
MAX_ENDPOINT_BYTES: Final = MAX_NAME_BYTES + 6
_INT8: Final = struct.Struct(">b")
_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_TASK_BYTES: Final = 8
_OFFSET_BYTES: Final = 12
_UUID_BYTES: Final = 16


def member_metadata(protocol_type: str, protocol: str, metadata: bytes) -> MemberMetadata:
    """What a member of a classic group says of itself; `protocol` is the assignor that the group has chosen."""
    if not metadata:
        return NoMetadata()
    if (protocol_type, protocol) != (CONSUMER, ASSIGNOR):
        return NotStreams(protocol_type=protocol_type, protocol=protocol)
    try:
        return streams_versions(user_data(metadata))
    except ReadError as error:
        return Unknown(reason=f"the metadata of the member cannot be read: {error}")


def subscribed(metadata: bytes) -> frozenset[str]:
    """The topics of a consumer's subscription (ReadError)."""
    cursor = Cursor(metadata)
    with _located("the subscription", cursor):
        return _topics(cursor)


def topics_announced(metadata: bytes) -> int:
    """How many topics a consumer's subscription says that it has; 0 if that cannot be read, or is too many to be."""
    cursor = Cursor(metadata)
    try:
        _version(cursor)
        return _count(cursor, "topics", MAX_TOPICS, least_bytes=2)
    except ReadError:
        return 0


def _topics(cursor: Cursor) -> frozenset[str]:
    _version(cursor)
    return frozenset(_topic(cursor) for _ in range(_count(cursor, "topics", MAX_TOPICS, least_bytes=2)))


def user_data(metadata: bytes) -> bytes:
    """The user data of a consumer's subscription, empty if it has none (ReadError)."""
    cursor = Cursor(metadata)
    with _located("the subscription", cursor):
        _topics(cursor)
        return _bytes(cursor, "user data", MAX_BLOB_BYTES, optional=True)


def streams_versions(data: bytes) -> StreamsVersions:
    """What the user data of a Streams member says (ReadError, also for bytes that are left over)."""
    cursor = Cursor(data)
    with _located("the user data of Streams", cursor):
        used = _number(cursor, "the used version")
        if used < 1:
            raise ReadError(f"the used version is {used}")
        supported = None
        if used >= _FIRST_WITH_SUPPORTED:
            supported = _number(cursor, "the supported version")
            if supported < used:
                raise ReadError(f"the supported version {supported} is below the used version {used}")
        if used > LATEST_READ:
            return StreamsVersions(used=used, supported=supported, process_id=None, endpoint=None)
        process_id = str(uuid.UUID(bytes=cursor.take(_UUID_BYTES, "the process id")))
        endpoint = _rest(cursor, used)
        if cursor.left:
            raise ReadError(f"{cursor.left} bytes are left over after version {used}")
    return StreamsVersions(used=used, supported=supported, process_id=process_id, endpoint=endpoint)


def assigned(assignment: bytes) -> tuple[TopicPartition, ...]:
    """The partitions of a consumer's assignment, sorted (ReadError)."""
    cursor = Cursor(assignment)
    with _located("the assignment", cursor):
        _version(cursor)
        found: list[TopicPartition] = []
        for _ in range(_count(cursor, "topics", MAX_TOPICS, least_bytes=6)):
            topic = _topic(cursor)
            for _ in range(_count(cursor, "partitions", MAX_PARTITIONS, least_bytes=4)):
                index = _number(cursor, "a partition")
                if index < 0:
                    raise ReadError(f"partition {index} of {topic} is assigned")
                found.append(TopicPartition(topic=topic, index=index))
        if len(set(found)) != len(found):
            raise ReadError("a partition is assigned twice")
    return tuple(sorted(found))


def _rest(cursor: Cursor, used: int) -> str | None:
    """What follows the process id; the endpoint is returned."""
    if used < _FIRST_WITH_OFFSETS:
        for kind in ("active tasks", "standby tasks"):
            cursor.take(_count(cursor, kind, MAX_TASKS, least_bytes=_TASK_BYTES) * _TASK_BYTES, kind)
    endpoint = None
    if used >= _FIRST_WITH_ENDPOINT:
        endpoint = _text(_bytes(cursor, "endpoint", MAX_ENDPOINT_BYTES), "the endpoint", MAX_ENDPOINT_BYTES)
    if used >= _FIRST_WITH_OFFSETS:
        _skip_offsets(cursor, used)
    if used >= _FIRST_WITH_UNIQUE:
        cursor.take(_INT8.size, "the unique field")
    if used >= _FIRST_WITH_ERROR:
        cursor.take(_INT32.size, "the error code")
    if used >= _FIRST_WITH_TAGS:
        for _ in range(_count(cursor, "client tags", MAX_TAGS, least_bytes=8)):
            _bytes(cursor, "a tag's key", MAX_NAME_BYTES)
            _bytes(cursor, "a tag's value", MAX_NAME_BYTES)
    return endpoint or None


def _skip_offsets(cursor: Cursor, used: int) -> None:
    """Tasks with the sums of their offsets: one by one from version 10 on, before that by subtopology."""
    flat = used >= _FIRST_WITH_FLAT_OFFSETS
    tasks = 0
    for _ in range(_count(cursor, "offset sums", MAX_TASKS, least_bytes=18 if flat else 8)):
        _number(cursor, "a subtopology")
        if flat:
            cursor.take(_OFFSET_BYTES, "an offset sum")
            _optional_name(cursor)
            continue
        count = _count(cursor, "partitions of a subtopology", MAX_TASKS, least_bytes=_OFFSET_BYTES)
        tasks += count
        if tasks > MAX_TASKS:
            raise ReadError(f"it has more than {MAX_TASKS} tasks")
        cursor.take(count * _OFFSET_BYTES, "offset sums")


def _optional_name(cursor: Cursor) -> None:
    (length,) = cursor.numbers(_INT16, "the length of a topology's name")
    if length < -1:
        raise ReadError(f"the length of a topology's name is {length}")
    cursor.take(max(length, 0), "a topology's name")


@contextmanager
def _located(what: str, cursor: Cursor) -> Iterator[None]:
    """Say in an error where it is: a failed read does not move the cursor."""
    total = cursor.left
    try:
        yield
    except ReadError as error:
        raise ReadError(f"{what} has {total} bytes, and at byte {total - cursor.left} {error}") from None


def _version(cursor: Cursor) -> None:
    """The version of the consumer protocol: every one that has been made begins alike, later ones must too."""
    (version,) = cursor.numbers(_INT16, "the version")
    if version < 0:
        raise ReadError(f"the version is {version}")


def _number(cursor: Cursor, what: str) -> int:
    number: int = cursor.numbers(_INT32, what)[0]
    return number


def _count(cursor: Cursor, plural: str, most: int, *, least_bytes: int) -> int:
    count = _number(cursor, f"the number of {plural}")
    if count < 0:
        raise ReadError(f"the number of {plural} is {count}")
    if count * least_bytes > cursor.left:
        raise ReadError(f"{count} {plural} are announced in {cursor.left} bytes")
    if count > most:
        raise ReadError(f"it has {count} {plural}, at most {most} are read")
    return count


def _bytes(cursor: Cursor, what: str, most: int, *, optional: bool = False) -> bytes:
    length = _number(cursor, f"the length of {what}")
    if length == -1 and optional:
        return b""
    if length < 0:
        raise ReadError(f"the length of {what} is {length}")
    if length > most:
        raise ReadError(f"{what} has {length} bytes, at most {most} are read")
    return cursor.take(length, what)


def _topic(cursor: Cursor) -> str:
    (length,) = cursor.numbers(_INT16, "the length of a topic's name")
    if length <= 0:
        raise ReadError(f"the length of a topic's name is {length}")
    if length > MAX_NAME_BYTES:
        raise ReadError(f"a topic's name has {length} bytes, at most {MAX_NAME_BYTES} are read")
    return _text(cursor.take(length, "a topic's name"), "a topic's name", MAX_NAME_BYTES)


def _text(raw: bytes, what: str, most: int) -> str:
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise ReadError(f"{what} is not UTF-8") from None
    if text and not is_clean(text, max_chars=most):
        raise ReadError(f"{what} has characters that cannot be shown")
    return text
