"""What members of a group pass through their coordinator is read within bounds, and every fault has its place."""

import struct
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.streams.subscriptions import PROCESS, int32, subscription, text, user
from tests.wire.captures import capture

from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.known import Unknown
from kafka_quorum.wire import codec
from kafka_quorum.wire.reader import ReadError
from kafka_quorum.wire.requests import describe_groups
from kafka_streams.model.group import NoMetadata, NotStreams, StreamsVersions
from kafka_streams.observe.subscription import (
    LATEST_READ,
    MAX_ENDPOINT_BYTES,
    assigned,
    member_metadata,
    streams_versions,
    user_data,
)

APPS = ("v1", "v2", "v4", "v11", "v11_43")


def members(app: str) -> Any:  # noqa: ANN401 - a ClassicGroup
    """The group of an application, as a real coordinator described it."""
    real = capture(f"describe_groups_v5_{app}")
    return describe_groups.request(app).read(codec.decode_response(real.api_key, real.version, real.answer))


@pytest.mark.parametrize("app", APPS)
def test_real_members_say_their_versions(app: str) -> None:
    """Members of real releases use and support the versions that their release and `upgrade.from` mean."""
    truth, group = capture(f"describe_groups_v5_{app}").truth, members(app)
    found = [member_metadata(group.protocol_type, group.protocol, member.metadata) for member in group.members]
    assert len(found) == 2
    for metadata in found:
        assert isinstance(metadata, StreamsVersions)
        assert (metadata.used, metadata.supported) == (truth["used"], truth["supported"])
        assert metadata.endpoint == (truth["endpoint"] if metadata.used > 1 else None)
    assert len({metadata.process_id for metadata in found if isinstance(metadata, StreamsVersions)}) == 1


@pytest.mark.parametrize("app", APPS)
def test_real_members_share_the_partitions(app: str) -> None:
    """Together the members of an application have each partition of its topic once."""
    found = [at for member in members(app).members for at in assigned(member.assignment)]
    assert sorted(found) == [TopicPartition(topic="in", index=index) for index in range(3)]


@pytest.mark.parametrize("version", range(1, LATEST_READ + 1))
@pytest.mark.parametrize("tasks", [0, 2])
def test_each_version_is_read_to_its_last_byte(version: int, tasks: int) -> None:
    """Each version has its own fields; one byte less, and one more, are faults."""
    data = user(version, tasks=tasks)
    wanted = StreamsVersions(
        used=version,
        supported=LATEST_READ if version >= 3 else None,
        process_id=str(PROCESS),
        endpoint="pod-1:8080" if version >= 2 else None,
    )
    assert streams_versions(data) == wanted
    with pytest.raises(ReadError, match="1 bytes are left over"):
        streams_versions(data + b"\0")
    for length in range(len(data)):
        with pytest.raises(ReadError, match="at byte"):
            streams_versions(data[:length])


@given(used=st.integers(LATEST_READ + 1, 2**31 - 1), rest=st.binary(max_size=60))
def test_a_later_version_still_says_both_numbers(used: int, rest: bytes) -> None:
    """Of a version that is not known yet, only the two numbers are read, whatever follows."""
    found = streams_versions(int32(used, 2**31 - 1) + rest)
    assert found == StreamsVersions(used=used, supported=2**31 - 1, process_id=None, endpoint=None)


@given(version=st.integers(0, 9), topics=st.lists(st.sampled_from(["in", "a" * 249, "ß"]), max_size=4))
def test_user_data_is_found_in_every_version(version: int, topics: list[str]) -> None:
    """Every version of the consumer protocol begins alike, and what follows the user data is not read."""
    assert user_data(subscription(b"data", version, tuple(topics))) == b"data"
    assert user_data(subscription(None, version, tuple(topics))) == b""


def test_three_reasons_for_no_version() -> None:
    """No metadata now, a member of something else, and bytes that cannot be read are three different answers."""
    data = subscription(user(4))
    assert member_metadata("consumer", "stream", b"") == NoMetadata()
    assert member_metadata("consumer", "", b"") == NoMetadata()
    assert member_metadata("", "", b"") == NoMetadata()
    assert member_metadata("consumer", "range", data) == NotStreams(protocol_type="consumer", protocol="range")
    assert member_metadata("connect", "stream", data) == NotStreams(protocol_type="connect", protocol="stream")
    unread = member_metadata("consumer", "stream", data[:-30])
    assert isinstance(unread, Unknown)
    assert "at byte 21 user data needs 78 bytes, 56 are left" in unread.reason
    empty = member_metadata("consumer", "stream", subscription(None))
    assert isinstance(empty, Unknown)
    assert "has 0 bytes, and at byte 0 the used version needs 4 bytes, 0 are left" in empty.reason


def test_an_empty_endpoint_is_none() -> None:
    """A member without `application.server` sends an empty endpoint."""
    assert streams_versions(user(11, endpoint=b"")).endpoint is None


def partitions(*rows: tuple[str, tuple[int, ...]], more: bytes = b"") -> bytes:
    """A consumer's assignment."""
    body = b"".join(text(topic) + int32(len(indexes), *indexes) for topic, indexes in rows)
    return b"\0\1" + int32(len(rows)) + body + int32(-1) + more


BIG = 2**31 - 1
FAULTS: dict[str, tuple[Callable[[bytes], object], bytes, str]] = {
    "version 0": (streams_versions, int32(0), "at byte 4 the used version is 0"),
    "a negative version": (streams_versions, int32(-1, 11), "at byte 4 the used version is -1"),
    "supported below used": (streams_versions, user(9, supported=8), "at byte 8 the supported version 8 is below"),
    "no supported version": (streams_versions, int32(12), "at byte 4 the supported version needs 4 bytes"),
    "half a process id": (streams_versions, int32(4, 4) + b"12345678", "at byte 8 the process id needs 16 bytes"),
    "too many tasks announced": (
        streams_versions,
        int32(1) + PROCESS.bytes + int32(BIG),
        "at byte 24 2147483647 active tasks are announced in 0 bytes",
    ),
    "a negative number of tasks": (streams_versions, int32(1) + PROCESS.bytes + int32(-2), "active tasks is -2"),
    "too many standby tasks announced": (
        streams_versions,
        int32(1) + PROCESS.bytes + int32(0, BIG),
        "at byte 28 2147483647 standby tasks",
    ),
    "an endpoint that is null": (streams_versions, int32(2) + PROCESS.bytes + int32(0, 0, -1), "endpoint is -1"),
    "an endpoint that is too long": (
        streams_versions,
        user(2, endpoint=b"x" * (MAX_ENDPOINT_BYTES + 1)),
        f"endpoint has {MAX_ENDPOINT_BYTES + 1} bytes",
    ),
    "an endpoint that is no text": (streams_versions, user(4, endpoint=b"\xff\xfe"), "the endpoint is not UTF-8"),
    "an endpoint with a terminal's commands": (streams_versions, user(4, endpoint=b"\x1b[2J"), "the endpoint has char"),
    "too many offsets announced": (
        streams_versions,
        int32(10, 10) + PROCESS.bytes + int32(0, BIG),
        "2147483647 offset sums are announced",
    ),
    "too many partitions announced": (
        streams_versions,
        int32(7, 7) + PROCESS.bytes + int32(0, 1, 0, BIG),
        "2147483647 partitions of a subtopology are announced",
    ),
    "a topology's name of negative length": (
        streams_versions,
        int32(10, 10) + PROCESS.bytes + int32(0, 1) + struct.pack(">iiqh", 0, 0, 0, -2) + bytes(20),
        "topology's name is -2",
    ),
    "a negative consumer version": (user_data, b"\xff\xff" + bytes(8), "the version is -1"),
    "too many topics announced": (user_data, b"\0\0" + int32(BIG), "at byte 6 2147483647 topics are announced"),
    "a topic without a name": (user_data, b"\0\0" + int32(1) + bytes(10), "a topic's name is 0"),
    "a topic of negative length": (user_data, b"\0\0" + int32(1) + b"\xff\xfe" + bytes(9), "a topic's name is -2"),
    "a topic that is too long": (
        user_data,
        b"\0\0" + int32(1) + text("x" * 254) + bytes(9),
        "a topic's name has 254 bytes",
    ),
    "user data of negative length": (user_data, b"\0\0" + int32(0, -2), "the length of user data is -2"),
    "more user data announced than there is": (
        user_data,
        b"\0\0" + int32(0, BIG),
        "user data has 2147483647 bytes, at most",
    ),
    "a negative partition": (assigned, partitions(("t", (-1,))), "partition -1 of t is assigned"),
    "a partition twice": (assigned, partitions(("t", (1, 2)), ("t", (2,))), "assigned twice"),
    "too many topics assigned": (assigned, b"\0\0" + int32(BIG), "2147483647 topics are announced"),
    "too many partitions assigned": (
        assigned,
        b"\0\0" + int32(1) + text("t") + int32(BIG),
        "2147483647 partitions are announced",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_with_its_place(name: str) -> None:
    """Each fault is refused, and the error says what is wrong and at which byte."""
    reads, data, words = FAULTS[name]
    with pytest.raises(ReadError, match="at byte") as error:
        reads(data)
    assert words in str(error.value)


@given(data=st.binary(max_size=200), version=st.integers(-1, LATEST_READ + 1))
def test_noise_is_an_error_or_versions(data: bytes, version: int) -> None:
    """Whatever bytes a client writes, only ReadError is raised, with one bounded line."""
    for reads, noise in ((streams_versions, int32(version) + data), (user_data, data), (assigned, data)):
        said = ""
        try:
            reads(noise)
        except ReadError as error:
            said = str(error)
        assert said.isprintable()
        assert len(said) < 300


@given(version=st.integers(1, LATEST_READ), at=st.integers(0), byte=st.integers(0, 255))
def test_a_changed_byte_is_an_error_or_versions(version: int, at: int, byte: int) -> None:
    """A member's bytes with one changed byte give versions within their limits, or Unknown."""
    data = bytearray(subscription(user(version)))
    data[at % len(data)] = byte
    found = member_metadata("consumer", "stream", bytes(data))
    assert isinstance(found, Unknown | StreamsVersions)
    if isinstance(found, StreamsVersions):
        assert found.used >= 1
        assert found.supported is None if found.used < 3 else found.supported >= found.used  # type: ignore[operator]


def test_announced_counts_reserve_nothing() -> None:
    """A few bytes that announce two thousand million elements cost no memory for them."""
    tracemalloc.start()
    for reads, data, _ in FAULTS.values():
        with pytest.raises(ReadError):
            reads(data)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1_000_000


def test_the_largest_honest_metadata_is_read() -> None:
    """A member that reports the offsets of 20,000 tasks is read."""
    data = user(11, tasks=20_000)
    assert streams_versions(data).used == 11


def test_what_follows_the_partitions_is_not_read() -> None:
    """An assignment has user data of the assignor, which only its members understand."""
    assert assigned(partitions(("b", (0,)), ("a", (1, 0)), more=b"\xff" * 9)) == (
        TopicPartition(topic="a", index=0),
        TopicPartition(topic="a", index=1),
        TopicPartition(topic="b", index=0),
    )
