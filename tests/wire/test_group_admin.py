"""Every request about groups against a scripted broker: all of an answer is read, or none of it."""

import io
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from kio.serial import entity_writer
from tests.wire import broker_values as made
from tests.wire.captures import capture
from tests.wire.fakes import ALL_VERSIONS, Do, FakeServer, answer_to, api_versions, running

from kafka_quorum.errors import KafkaProtocolError, KafkaRefused, KafkaUnreachable, KafkaVersionUnsupported
from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.groups import GroupState, LogEnd
from kafka_quorum.wire import bounds, codec
from kafka_quorum.wire.connection import Limits
from kafka_quorum.wire.group_admin import KafkaGroups
from kafka_quorum.wire.groups import Groups

NO = ErrorCode.none
QUICK = Limits(connect_timeout_s=0.2, request_timeout_s=0.2)
Ask = Callable[[Groups, FakeServer], Awaitable[Any]]
ASKS: dict[str, Ask] = {
    "coordinator": lambda groups, at: groups.coordinator(at.endpoint, "v11"),
    "classic": lambda groups, at: groups.classic_group(at.endpoint, "v11"),
    "streams": lambda groups, at: groups.streams_group(at.endpoint, "by-broker"),
    "list": lambda groups, at: groups.coordinated(at.endpoint),
    "committed": lambda groups, at: groups.committed(at.endpoint, "v11"),
    "ends": lambda groups, at: groups.log_ends(at.endpoint, [TopicPartition(topic="in", index=0)], LogEnd.LATEST),
}


@asynccontextmanager
async def asking(server: FakeServer, limits: Limits | None = None) -> AsyncIterator[Groups]:
    """A client for this server."""
    async with running(server):
        client = KafkaGroups(limits)
        try:
            yield client
        finally:
            await client.close()


def replaying(name: str) -> FakeServer:
    """A server that answers every question as a real broker answered this one."""
    real = capture(name)
    return FakeServer(
        lambda request: answer_to(request, codec.decode_response(real.api_key, real.version, real.answer))
    )


async def test_a_real_answer_over_a_connection() -> None:
    """A recorded answer is read over a connection as it is from its bytes."""
    async with asking(server := replaying("describe_groups_v5_v11")) as groups:
        found = await ASKS["classic"](groups, server)
    assert (found.state, len(found.members)) == (GroupState.STABLE, 2)


@pytest.mark.parametrize("name", ASKS)
async def test_a_broker_that_is_silent_or_closes(name: str) -> None:
    """Without an answer the request fails within its deadline, and may be repeated."""
    for reply in (Do.CLOSE, Do.NOTHING):
        async with asking(server := FakeServer(lambda _, reply=reply: reply), QUICK) as groups:  # type: ignore[misc]
            with pytest.raises(KafkaUnreachable) as failure:
                await ASKS[name](groups, server)
            assert failure.value.retry_safe
            assert not failure.value.outcome_unknown


@pytest.mark.parametrize("name", ASKS)
async def test_noise_is_an_error(name: str) -> None:
    """Bytes that are no answer, too many, or cut off, are a protocol error of bounded size."""

    def framed(request: bytes, body: bytes) -> bytes:
        return struct.pack(">i", len(body) + 5) + request[4:8] + b"\0" + body

    for noise in (b"", b"\0" * 3, b"\xff" * 40, b"\0\0\0\0" + b"\xff\xff\xff\x7f" * 5, bytes(range(256))):
        async with asking(server := FakeServer(lambda request, noise=noise: framed(request, noise))) as groups:  # type: ignore[misc]
            with pytest.raises((KafkaProtocolError, KafkaRefused)) as failure:
                await ASKS[name](groups, server)
            assert len(str(failure.value)) < 2000
    async with asking(server := FakeServer(lambda _: struct.pack(">i", 64 * 1024 * 1024))) as groups:
        with pytest.raises(KafkaProtocolError, match="at most"):
            await ASKS[name](groups, server)


async def test_a_broker_without_the_streams_protocol_is_not_asked() -> None:
    """A broker of 3.9 has no StreamsGroupDescribe: nothing is sent, and the error says so."""
    versions = api_versions({key: known for key, known in ALL_VERSIONS.items() if key != 89})
    async with asking(server := FakeServer(versions=lambda request: answer_to(request, versions))) as groups:
        with pytest.raises(KafkaVersionUnsupported, match="StreamsGroupDescribe was not sent to broker"):
            await ASKS["streams"](groups, server)
    assert server.api_keys == [18]


@pytest.mark.parametrize("topics", [{"b", "a", "c", "d"}, set()])
async def test_metadata_of_topics_by_name(topics: set[str]) -> None:
    """Only these are asked for, and none is created. Those that are not there, or not shown, are left out."""
    sent = []

    def answer(request: bytes) -> bytes:
        sent.append(request)
        codes = {
            "a": ErrorCode.unknown_topic_or_partition,
            "c": ErrorCode.topic_authorization_failed,
            "d": ErrorCode.invalid_topic_exception,
        }
        rows = [
            replace(
                made.cached_topic(name, *(() if name in codes else (made.cached(0),))), error_code=codes.get(name, NO)
            )
            for name in sorted(topics)
        ]
        return answer_to(request, made.cache(*rows))

    async with asking(server := FakeServer(answer)) as groups:
        found = await groups.metadata(server.endpoint, topics=topics)
    assert [str(row.at) for row in found.partitions] == (["b-0"] if topics else [])
    names = b"".join(bytes(16) + b"\x02" + name.encode() + b"\0" for name in sorted(topics))
    assert sent[0].endswith(bytes([len(topics) + 1]) + names + b"\0\0\0")


async def test_other_errors_of_a_named_topic_are_errors() -> None:
    """A broker that cannot say is no broker that has no such topic."""
    row = replace(made.cached_topic("a"), error_code=ErrorCode.unknown_server_error)
    async with asking(server := FakeServer(lambda request: answer_to(request, made.cache(row)))) as groups:
        with pytest.raises(KafkaRefused, match="UNKNOWN_SERVER_ERROR"):
            await groups.metadata(server.endpoint, topics={"a"})


async def test_no_partition_sends_nothing() -> None:
    """Without partitions there is nothing to ask."""
    async with asking(server := FakeServer()) as groups:
        assert await groups.log_ends(server.endpoint, [], LogEnd.LATEST) == {}
    assert server.connections == 0


async def test_an_unusable_name_sends_no_question() -> None:
    """A group id that Kafka cannot have is an error of ours."""
    async with asking(server := FakeServer()) as groups:
        with pytest.raises(KafkaProtocolError, match="no group id"):
            await groups.classic_group(server.endpoint, "a\nb")
    assert server.api_keys == [18]


def described(count: int, **changes: Any) -> Any:  # noqa: ANN401 - an answer
    """A DescribeGroups answer with so many members."""
    real = capture("describe_groups_v5_v11")
    answer: Any = codec.decode_response(real.api_key, real.version, real.answer)
    (group,) = answer.groups
    members = tuple(replace(group.members[0], member_id=f"m-{index}", **changes) for index in range(count))
    return replace(answer, groups=(replace(group, members=members),))


async def test_the_largest_honest_group_is_read() -> None:
    """4,096 threads with the metadata and assignment of real ones are read."""
    answer = described(bounds.MAX_MEMBERS)
    async with asking(server := FakeServer(lambda request: answer_to(request, answer))) as groups:
        found = await ASKS["classic"](groups, server)
    assert len(found.members) == bounds.MAX_MEMBERS


TOO_MUCH: dict[str, tuple[int, dict[str, Any], str]] = {
    "members": (bounds.MAX_MEMBERS + 1, {}, r"4097 members, at most 4096"),
    "metadata": (1, {"member_metadata": bytes(bounds.MAX_BLOB_BYTES + 1)}, r"member_metadata has 1048577 bytes"),
    "a client id": (1, {"client_id": "x" * 1025}, r"client_id has 1025 bytes"),
    "a client id with a terminal's commands": (1, {"client_id": "\x1b[2J"}, r"client_id has characters"),
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_what_is_above_a_bound_is_refused_by_name(name: str) -> None:
    """An answer above a bound is refused as a whole, and the error names the bound."""
    count, changes, words = TOO_MUCH[name]
    answer, body = described(count, **changes), io.BytesIO()
    entity_writer(type(answer))(body, answer)
    with pytest.raises(codec.CodecError, match=words):
        codec.decode_response(15, 5, b"\0\0\0\0\0" + body.getvalue())
