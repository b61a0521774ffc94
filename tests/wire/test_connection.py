"""One kept connection: negotiated, replaced when broken, never reused with an outstanding answer, always in time."""

import asyncio
import socket
import struct
from dataclasses import replace

import pytest
from kio.schema.api_versions.v0.response import ApiVersion, ApiVersionsResponse
from kio.schema.errors import ErrorCode
from kio.static.primitive import i16
from tests.golden.facts import mentions
from tests.wire.captures import capture
from tests.wire.fakes import (
    ALL_VERSIONS,
    Do,
    FakeServer,
    Reply,
    Script,
    answer_to,
    api_versions,
    framed,
    running,
    until,
)

from kafka_quorum.errors import KafkaError, KafkaProtocolError, KafkaRefused, KafkaUnreachable, KafkaVersionUnsupported
from kafka_quorum.model.ids import ClusterID, DirectoryID, NodeID, ReplicaKey
from kafka_quorum.model.quorum import AddVoter, Endpoint
from kafka_quorum.wire.connection import Connection, Limits
from kafka_quorum.wire.requests import add_raft_voter, describe_quorum
from kafka_quorum.wire.requests.api_versions import API as API_VERSIONS
from kafka_quorum.wire.requests.api_versions import message as api_versions_message
from kit.errors import Fault

QUICK = Limits(connect_timeout_s=0.2, request_timeout_s=0.2)
DESCRIBED = capture("describe_quorum_v2").answer
ADD = AddVoter(
    cluster_id=ClusterID("n-U7amnOgkeJ-IlQisp3Rw"),
    voter=ReplicaKey(node_id=NodeID(3002), directory_id=DirectoryID("2CLoPmTLGeP5Gfx7ZUUNZA")),
    listeners=(),
    timeout_ms=0,
)


def described(request: bytes) -> bytes:
    """The captured answer to DescribeQuorum, with the request's correlation id."""
    return framed(request[4:8] + DESCRIBED[4:])


def usable(connection: Connection) -> bool:
    """Whether the kept connection would be used again."""
    return connection._session is not None and connection._session.channel.usable


async def describe(connection: Connection) -> object:
    """A request that reads."""
    return await connection.call(describe_quorum.API, lambda _: describe_quorum.message())


async def add(connection: Connection) -> object:
    """A request that writes."""
    return await connection.call(add_raft_voter.API, lambda version: add_raft_voter.message(ADD, version))


async def test_one_connection_serves_many_requests() -> None:
    """Versions are negotiated once, and later requests use the same connection."""
    async with running(FakeServer(described)) as server:
        connection = Connection(endpoint=server.endpoint)
        first = await describe(connection)
        assert await describe(connection) == first
        assert server.connections == 1
        assert server.api_keys == [18, 55, 55]
        connection.close()


async def test_requests_of_many_tasks_wait_for_one_another() -> None:
    """Concurrent calls share the connection and each gets its own answer."""
    async with running(FakeServer(described)) as server:
        connection = Connection(endpoint=server.endpoint)
        assert len(await asyncio.gather(*(describe(connection) for _ in range(20)))) == 20
        assert server.connections == 1
        assert [int.from_bytes(request[4:8], "big") for request in server.requests] == list(range(21))
        connection.close()


async def test_a_connection_that_the_server_closed_is_made_again() -> None:
    """If the server closed the connection between two calls, the next call opens a new one without an error."""
    async with running(FakeServer(described)) as server:
        connection = Connection(endpoint=server.endpoint)
        await describe(connection)
        server.hang_up()
        await until(lambda: not usable(connection))
        await describe(connection)
        assert server.connections == 2
        connection.close()


async def test_bytes_that_nobody_asked_for_end_the_connection() -> None:
    """After an unsolicited answer between two calls the next call uses a new connection."""
    async with running(FakeServer(described)) as server:
        connection = Connection(endpoint=server.endpoint)
        await describe(connection)
        server.say(framed(b"\x00\x00\x00\x02stale"))
        await until(lambda: not usable(connection))
        await describe(connection)
        assert server.connections == 2
        connection.close()


async def test_a_cancelled_request_never_leaves_its_answer_to_another() -> None:
    """A request that is cancelled without its answer drops the connection; the next call gets its own answer."""
    replies: list[Reply] = [Do.NOTHING]
    async with running(FakeServer(lambda request: replies.pop() if replies else described(request))) as server:
        connection = Connection(endpoint=server.endpoint)
        task = asyncio.create_task(describe(connection))
        await until(lambda: len(server.requests) == 2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await describe(connection)
        assert server.connections == 2
        connection.close()


async def test_a_task_cancelled_while_it_waits_its_turn_disturbs_nobody() -> None:
    """If a waiting request is cancelled, the request before it still gets its answer on the same connection."""
    async with running(FakeServer(lambda _: Do.NOTHING)) as server:
        connection = Connection(endpoint=server.endpoint)
        ahead = asyncio.create_task(describe(connection))
        await until(lambda: len(server.requests) == 2)
        behind = asyncio.create_task(describe(connection))
        await asyncio.sleep(0)
        behind.cancel()
        with pytest.raises(asyncio.CancelledError):
            await behind
        server.say(described(server.requests[1]))
        assert await ahead
        assert server.connections == 1
        connection.close()


def v0(request: bytes, ranges: dict[int, tuple[int, int]]) -> bytes:
    """The answer of a server without our version of ApiVersions."""
    rows = tuple(
        ApiVersion(api_key=i16(key), min_version=i16(low), max_version=i16(high)) for key, (low, high) in ranges.items()
    )
    return answer_to(request, ApiVersionsResponse(error_code=ErrorCode.unsupported_version, api_keys=rows))


async def test_an_old_api_versions_is_enough_to_negotiate() -> None:
    """A server that answers ApiVersions in version 0 is used with the versions that it names there."""
    versions: Script = lambda request: v0(request, {**ALL_VERSIONS, 18: (0, 3)})  # noqa: E731 - a one-line script
    async with running(FakeServer(described, versions)) as server:
        connection = Connection(endpoint=server.endpoint)
        await describe(connection)
        with pytest.raises(KafkaVersionUnsupported, match=r"\b0-3\b.*\b4-4\b"):
            await connection.call(API_VERSIONS, lambda _: api_versions_message())
        connection.close()


@pytest.mark.parametrize("ranges", [{18: (0, 5)}, {18: (0, 5), 80: (7, 9)}], ids=["no version", "other versions"])
async def test_without_a_common_version_nothing_is_sent(ranges: dict[int, tuple[int, int]]) -> None:
    """A request that the server does not support is never sent, and so has no effect."""
    async with running(FakeServer(versions=lambda request: answer_to(request, api_versions(ranges)))) as server:
        connection = Connection(endpoint=server.endpoint)
        with pytest.raises(KafkaVersionUnsupported, match=r"AddRaftVoter.*\b3000\b") as failure:
            await add(connection)
        assert server.api_keys == [18]
        assert_error(failure.value, Fault.THEIRS, retry_safe=False, outcome_unknown=False)
        connection.close()


async def test_the_highest_common_version_is_spoken() -> None:
    """A server of 4.0 or 4.1 gets AddRaftVoter in version 0."""
    ranges = {**ALL_VERSIONS, 80: (0, 0)}
    versions: Script = lambda request: answer_to(request, api_versions(ranges))  # noqa: E731 - a one-line script
    async with running(FakeServer(lambda _: Do.CLOSE, versions)) as server:
        connection = Connection(endpoint=server.endpoint)
        with pytest.raises(KafkaUnreachable):
            await add(connection)
        assert server.requests[-1][:4] == b"\x00\x50\x00\x00"


async def test_a_refused_negotiation_is_kafkas_error() -> None:
    """An error in the negotiation is reported as Kafka's error, and nothing else is sent."""
    refusing = api_versions({}, ErrorCode.cluster_authorization_failed)
    async with running(FakeServer(versions=lambda request: answer_to(request, refusing))) as server:
        connection = Connection(endpoint=server.endpoint)
        with pytest.raises(KafkaRefused) as failure:
            await add(connection)
        assert failure.value.name == "CLUSTER_AUTHORIZATION_FAILED"
        assert not failure.value.outcome_unknown


BAD_ANSWERS: dict[str, Reply] = {
    "another correlation id": framed(b"\x00\x00\x00\x63" + DESCRIBED[4:]),
    "a frame too large": struct.pack(">i", 2**31 - 1),
    "a negative length": struct.pack(">i", -5),
    "bytes behind the answer": framed(b"\x00\x00\x00\x01" + DESCRIBED[4:]) + b"x",
    "a body that does not parse": framed(b"\x00\x00\x00\x01" + b"\xff" * 20),
    "a body with bytes left over": framed(b"\x00\x00\x00\x01" + DESCRIBED[4:] + b"\x00" * 8),
}


@pytest.mark.parametrize("reply", BAD_ANSWERS.values(), ids=list(BAD_ANSWERS))
async def test_a_bad_answer_is_the_servers_fault(reply: Reply) -> None:
    """Bytes that are no answer end the connection; a read may be repeated, and a write may have happened."""
    async with running(FakeServer(lambda _: reply)) as server:
        connection = Connection(endpoint=server.endpoint)
        with pytest.raises(KafkaProtocolError) as failure:
            await describe(connection)
        assert_error(failure.value, Fault.THEIRS, retry_safe=True, outcome_unknown=False)
        with pytest.raises(KafkaProtocolError) as failure:
            await add(connection)
        assert_error(failure.value, Fault.THEIRS, retry_safe=False, outcome_unknown=True)
        assert server.connections == 2


@pytest.mark.parametrize("reply", [Do.CLOSE, Do.NOTHING], ids=["closed", "silent"])
async def test_no_answer_leaves_the_outcome_of_a_write_unknown(reply: Reply) -> None:
    """After an add was sent, neither silence nor a closed connection proves that it was not done."""
    async with running(FakeServer(lambda _: reply)) as server:
        connection = Connection(endpoint=server.endpoint, limits=QUICK)
        with pytest.raises(KafkaUnreachable) as failure:
            await describe(connection)
        assert_error(failure.value, Fault.PATH, retry_safe=True, outcome_unknown=False)
        with pytest.raises(KafkaUnreachable) as failure:
            await add(connection)
        assert_error(failure.value, Fault.PATH, retry_safe=False, outcome_unknown=True)
        assert mentions(str(failure.value), 3000, f"{server.endpoint.host}:{server.endpoint.port}")


@pytest.mark.parametrize("reply", [Do.CLOSE, Do.NOTHING, framed(b"junk")], ids=["closed", "silent", "junk"])
async def test_a_failed_negotiation_leaves_nothing_unknown(reply: Reply) -> None:
    """Whatever fails before the request itself is sent, an add has had no effect."""
    async with running(FakeServer(versions=lambda _: reply)) as server:
        connection = Connection(endpoint=server.endpoint, limits=QUICK)
        with pytest.raises(KafkaError) as failure:
            await add(connection)
        assert not failure.value.outcome_unknown
        assert set(server.api_keys) <= {18}  # the add itself was never sent


async def test_a_torn_answer_ends_in_the_deadline() -> None:
    """Half an answer is no answer: the deadline also holds while bytes arrive slowly."""
    async with running(FakeServer(lambda request: described(request)[:50])) as server:
        connection = Connection(endpoint=server.endpoint, limits=QUICK)
        begin_s = asyncio.get_running_loop().time()
        with pytest.raises(KafkaUnreachable, match=r"\b0\.4\b"):
            await describe(connection)
        assert asyncio.get_running_loop().time() - begin_s < 2.0


async def test_waiting_for_ones_turn_counts_against_the_deadline() -> None:
    """A call behind one without an answer ends at its own deadline, with nothing sent."""
    async with running(FakeServer(lambda _: Do.NOTHING)) as server:
        connection = Connection(endpoint=server.endpoint, limits=QUICK)
        ahead = asyncio.create_task(
            connection.call(describe_quorum.API, lambda _: describe_quorum.message(), extra_s=5.0)
        )
        await until(lambda: len(server.requests) == 2)
        with pytest.raises(KafkaUnreachable) as failure:
            await add(connection)
        assert len(server.requests) == 2
        assert_error(failure.value, Fault.PATH, retry_safe=True, outcome_unknown=False)
        ahead.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ahead


async def test_a_host_that_does_not_answer_costs_the_connect_deadline() -> None:
    """A connection attempt without a result ends at its deadline (a listener with a full backlog)."""
    listener, first, second = full_backlog()
    with listener, first, second:
        host, port = listener.getsockname()
        endpoint = replace(FakeServer().endpoint, host=host, port=port)
        connection = Connection(endpoint=endpoint, limits=QUICK)
        with pytest.raises(KafkaUnreachable, match=r"\b0\.2\b") as failure:
            await add(connection)
        assert_error(failure.value, Fault.PATH, retry_safe=True, outcome_unknown=False)


@pytest.mark.parametrize("host", ["a" * 64, "a..b", ".", "xn--" + "a" * 60, "ä" * 70])
async def test_a_host_that_is_no_name_is_an_error_of_the_path(host: str) -> None:
    """A host that a broker registered is anyone's text: one that cannot be looked up is no other kind of error."""
    connection = Connection(endpoint=Endpoint(node_id=NodeID(1), host=host, port=9092))
    with pytest.raises(KafkaUnreachable, match="is no host name") as failure:
        await describe(connection)
    assert failure.value.retry_safe
    with pytest.raises(KafkaUnreachable) as failure:
        await add(connection)
    assert not failure.value.outcome_unknown


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("port", [-1, 65_536, 2**31 - 1])
async def test_a_port_that_is_none_is_an_error_of_the_path(host: str, port: int) -> None:
    """A broker may list any number: one that is no port is no other kind of error."""
    connection = Connection(endpoint=Endpoint(node_id=NodeID(1), host=host, port=port))
    with pytest.raises(KafkaUnreachable, match="is no port") as failure:
        await add(connection)
    assert not failure.value.outcome_unknown


async def test_an_impossible_request_is_our_fault_and_leaves_the_connection_alone() -> None:
    """A value that Kafka's types cannot hold is an error before any byte is sent."""
    async with running(FakeServer(described)) as server:
        connection = Connection(endpoint=server.endpoint)
        await describe(connection)
        bad = replace(ADD, timeout_ms=2**31)
        with pytest.raises(KafkaProtocolError) as failure:
            await connection.call(add_raft_voter.API, lambda version: add_raft_voter.message(bad, version))
        assert_error(failure.value, Fault.OURS, retry_safe=False, outcome_unknown=False)
        await describe(connection)
        assert server.connections == 1
        connection.close()


def full_backlog() -> tuple[socket.socket, socket.socket, socket.socket]:
    """A listener that accepts no connection, and the clients that fill its queue."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=0)
    clients = (socket.socket(), socket.socket())
    for client in clients:
        client.setblocking(False)  # noqa: FBT003 - the only way to say it
        client.connect_ex(listener.getsockname())
    return listener, *clients


def assert_error(error: KafkaError, fault: Fault, *, retry_safe: bool, outcome_unknown: bool) -> None:
    """Checks the three attributes of an error."""
    assert (error.fault, error.retry_safe, error.outcome_unknown) == (fault, retry_safe, outcome_unknown)


async def test_requests_that_wait_are_bounded() -> None:
    """Behind a server that does not answer only this many requests wait; a further one is refused at once."""
    limits = Limits(connect_timeout_s=0.2, request_timeout_s=0.3, max_waiting=3)
    async with running(FakeServer()) as server:
        connection = Connection(endpoint=server.endpoint, limits=limits)
        waiting = [asyncio.create_task(describe(connection)) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(KafkaUnreachable, match=r"\b3\b"):
            await describe(connection)
        ended = await asyncio.gather(*waiting, return_exceptions=True)
        assert all(isinstance(error, KafkaUnreachable) for error in ended)
        with pytest.raises(KafkaUnreachable, match=r"\b0\.5\b"):
            await describe(connection)
        connection.close()
