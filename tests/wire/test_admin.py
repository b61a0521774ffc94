"""Every request against a scripted server: error codes are read before values, and answers of other nodes refused."""

import asyncio
import resource
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from kio.schema.add_raft_voter.v0.response import AddRaftVoterResponse as AddRaftVoterResponse0
from kio.schema.add_raft_voter.v1.response import AddRaftVoterResponse
from kio.schema.describe_cluster.v1.response import DescribeClusterResponse
from kio.schema.describe_quorum.v2.response import DescribeQuorumResponse
from kio.schema.errors import ErrorCode
from kio.schema.remove_raft_voter.v0.response import RemoveRaftVoterResponse
from kio.schema.types import BrokerId
from kio.static.protocol import ResponsePayload
from tests.wire.captures import capture
from tests.wire.fakes import ALL_VERSIONS, Do, FakeServer, answer_to, api_versions, framed, running, until
from tests.wire.test_connection import ADD

from kafka_quorum.errors import KafkaError, KafkaProtocolError, KafkaRefused, KafkaUnreachable
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import RemoveVoter
from kafka_quorum.wire import codec, sending
from kafka_quorum.wire.admin import KafkaControllers
from kafka_quorum.wire.broker_admin import KafkaBrokers
from kafka_quorum.wire.connection import Limits
from kafka_quorum.wire.protocol import Controllers
from kit.errors import Fault

LEADER = NodeID(3001)  # the leader of the captures
REMOVE = RemoveVoter(cluster_id=ADD.cluster_id, voter=ADD.voter)
QUICK = Limits(connect_timeout_s=0.2, request_timeout_s=0.2)


@asynccontextmanager
async def asking(server: FakeServer, limits: Limits | None = None) -> AsyncIterator[Controllers]:
    """A client, and a server that reports itself as the captures' leader."""
    async with running(server):
        server.endpoint = replace(server.endpoint, node_id=LEADER)
        client = KafkaControllers(limits)
        try:
            yield client
        finally:
            await client.close()


def replay(name: str) -> FakeServer:
    """A server that answers with a capture, except in the negotiation."""
    answer = capture(name).answer
    return FakeServer(lambda request: framed(request[4:8] + answer[4:]))


def saying(response: ResponsePayload) -> FakeServer:
    """A server that gives this answer."""
    return FakeServer(lambda request: answer_to(request, response))


def quorum_response(name: str = "describe_quorum_v2") -> DescribeQuorumResponse:
    """A captured answer, for changes."""
    response = codec.decode_response(55, 2, capture(name).answer)
    assert isinstance(response, DescribeQuorumResponse)
    return response


async def test_api_versions() -> None:
    """A real answer becomes supported ranges and finalized levels."""
    answer = capture("api_versions_v4").answer
    server = FakeServer(versions=lambda request: framed(request[4:8] + answer[4:]))
    async with asking(server) as controllers:
        versions = await controllers.api_versions(server.endpoint)
    assert {feature.name: feature.level for feature in versions.finalized}["metadata.version"] == 33
    assert server.api_keys == [18, 18]


async def test_api_versions_refused() -> None:
    """An error code is raised, because the empty answer would mean that nothing is supported."""
    answers = [api_versions({}, ErrorCode.cluster_authorization_failed), api_versions(ALL_VERSIONS)]
    server = FakeServer(versions=lambda request: answer_to(request, answers.pop()))
    async with asking(server) as controllers:
        with pytest.raises(KafkaRefused, match="ApiVersions") as failure:
            await controllers.api_versions(server.endpoint)
    assert failure.value.name == "CLUSTER_AUTHORIZATION_FAILED"


async def test_describe_cluster() -> None:
    """A real answer becomes the cluster id and the registered controllers."""
    async with asking(server := replay("describe_cluster_v1")) as controllers:
        answer = await controllers.describe_cluster(server.endpoint)
    assert answer.cluster_id == capture("describe_cluster_v1").truth["cluster_id"]
    assert answer.controller_ids == (3000, 3001, 3002)


async def test_describe_cluster_before_the_first_metadata() -> None:
    """A controller without finalized metadata.version refuses, and Kafka's words are kept."""
    response = codec.decode_response(60, 1, capture("describe_cluster_v1").answer)
    assert isinstance(response, DescribeClusterResponse)
    words = "There is no finalized MetadataVersion"
    server = saying(replace(response, error_code=ErrorCode.unsupported_version, error_message=words))
    async with asking(server) as controllers:
        with pytest.raises(KafkaRefused) as failure:
            await controllers.describe_cluster(server.endpoint)
    assert (failure.value.name, failure.value.server_message) == ("UNSUPPORTED_VERSION", words)


async def test_describe_quorum() -> None:
    """A real leader's answer becomes the quorum."""
    async with asking(server := replay("describe_quorum_v2")) as controllers:
        answer = await controllers.describe_quorum(server.endpoint)
    assert answer.leader_id == LEADER
    assert len(answer.voters) == 2


async def test_a_followers_answer_is_an_error() -> None:
    """A real follower's answer, with leader 0, is NOT_LEADER_OR_FOLLOWER and never a quorum."""
    async with asking(server := replay("describe_quorum_v2_follower")) as controllers:
        with pytest.raises(KafkaRefused) as failure:
            await controllers.describe_quorum(server.endpoint)
    assert failure.value.code == 6
    assert failure.value.retry_safe


async def test_the_top_level_error_comes_first() -> None:
    """A refused request has no partitions, so its top-level code is the error."""
    refusal = replace(
        quorum_response(), error_code=ErrorCode.cluster_authorization_failed, error_message="no ACL", topics=()
    )
    async with asking(server := saying(refusal)) as controllers:
        with pytest.raises(KafkaRefused, match=r"CLUSTER_AUTHORIZATION_FAILED.*no ACL"):
            await controllers.describe_quorum(server.endpoint)


async def test_another_nodes_quorum_is_not_an_answer() -> None:
    """If another id answers as the leader, the answer is refused, because it may be of another quorum."""
    response = quorum_response()
    (topic,) = response.topics
    (partition,) = topic.partitions
    stranger = replace(partition, leader_id=BrokerId(3000))
    server = saying(replace(response, topics=(replace(topic, partitions=(stranger,)),)))
    async with asking(server) as controllers:
        with pytest.raises(KafkaProtocolError, match=r"\b3000\b") as failure:
            await controllers.describe_quorum(server.endpoint)
        assert failure.value.fault is Fault.THEIRS
        with pytest.raises(KafkaProtocolError):
            await controllers.describe_quorum(server.endpoint)
    assert server.connections == 2


async def test_an_answer_without_the_partition_is_no_answer() -> None:
    """An answer without the metadata partition is an error, never an empty voter set."""
    async with asking(server := saying(replace(quorum_response(), topics=()))) as controllers:
        with pytest.raises(KafkaProtocolError, match=r"\b0\b"):
            await controllers.describe_quorum(server.endpoint)


def added(code: ErrorCode, words: str | None = None) -> AddRaftVoterResponse:
    """An answer to AddRaftVoter version 1."""
    response = codec.decode_response(80, 1, capture("add_voter_v1").answer)
    assert isinstance(response, AddRaftVoterResponse)
    return replace(response, error_code=code, error_message=words)


async def test_add_voter() -> None:
    """A real leader's success returns, and the request had version 1."""
    async with asking(server := replay("add_voter_v1")) as controllers:
        await controllers.add_voter(server.endpoint, ADD)
    assert server.requests[-1][:4] == b"\x00\x50\x00\x01"


async def test_add_voter_to_an_older_release() -> None:
    """For a server with version 0 only, version 0 is sent, and its refusal is the same as in version 1."""
    answer = capture("add_voter_v0_duplicate").answer
    ranges = {**ALL_VERSIONS, 80: (0, 0)}
    server = FakeServer(
        lambda request: framed(request[4:8] + answer[4:]), lambda request: answer_to(request, api_versions(ranges))
    )
    assert isinstance(codec.decode_response(80, 0, answer), AddRaftVoterResponse0)
    async with asking(server) as controllers:
        with pytest.raises(KafkaRefused, match="DUPLICATE_VOTER") as failure:
            await controllers.add_voter(server.endpoint, ADD)
    assert not failure.value.outcome_unknown


@pytest.mark.parametrize(
    ("code", "outcome_unknown"),
    [
        (ErrorCode.request_timed_out, True),
        (ErrorCode.not_leader_or_follower, True),
        (ErrorCode.unknown_server_error, True),
        (ErrorCode.duplicate_voter, False),
        (ErrorCode.inconsistent_cluster_id, False),
        (ErrorCode.invalid_request, False),
        (ErrorCode.unsupported_version, False),
    ],
    ids=lambda value: value.name if isinstance(value, ErrorCode) else "",
)
async def test_a_refused_add(code: ErrorCode, outcome_unknown: bool) -> None:  # noqa: FBT001 - a column of the table
    """Every refusal shows whether the voter may have been added, and none is safe to repeat."""
    async with asking(server := saying(added(code))) as controllers:
        with pytest.raises(KafkaRefused) as failure:
            await controllers.add_voter(server.endpoint, ADD)
    assert failure.value.outcome_unknown is outcome_unknown
    assert not failure.value.retry_safe


async def test_an_add_waits_as_long_as_the_server_may_take() -> None:
    """The request's own timeout is added to the client's, so that a late answer is not missed."""
    server = FakeServer(lambda _: Do.NOTHING)
    async with asking(server, QUICK) as controllers:
        with pytest.raises(KafkaUnreachable, match=r"\b0\.7\b"):
            await controllers.add_voter(server.endpoint, replace(ADD, timeout_ms=300))


def removed(code: ErrorCode, words: str | None = None) -> RemoveRaftVoterResponse:
    """An answer to RemoveRaftVoter."""
    response = codec.decode_response(81, 0, capture("remove_voter_v0").answer)
    assert isinstance(response, RemoveRaftVoterResponse)
    return replace(response, error_code=code, error_message=words)


async def test_remove_voter() -> None:
    """A real leader's success returns, and the request is RemoveRaftVoter in its only version."""
    async with asking(server := replay("remove_voter_v0")) as controllers:
        await controllers.remove_voter(server.endpoint, REMOVE)
    assert server.requests[-1][:4] == b"\x00\x51\x00\x00"


async def test_a_removal_that_names_no_voter() -> None:
    """A real leader's VOTER_NOT_FOUND is a definite refusal, with Kafka's own words."""
    async with asking(server := replay("remove_voter_v0_other_directory")) as controllers:
        with pytest.raises(KafkaRefused, match=r"RemoveRaftVoter.*VOTER_NOT_FOUND") as failure:
            await controllers.remove_voter(server.endpoint, REMOVE)
    assert (failure.value.code, failure.value.fault) == (127, Fault.THEIRS)
    assert not failure.value.outcome_unknown
    assert not failure.value.retry_safe


@pytest.mark.parametrize(
    ("code", "outcome_unknown"),
    [
        (ErrorCode.request_timed_out, True),
        (ErrorCode.not_leader_or_follower, True),
        (ErrorCode.unknown_server_error, True),
        (ErrorCode.voter_not_found, False),
        (ErrorCode.inconsistent_cluster_id, False),
        (ErrorCode.invalid_request, False),
        (ErrorCode.unsupported_version, False),
    ],
    ids=lambda value: value.name if isinstance(value, ErrorCode) else "",
)
async def test_a_refused_removal(code: ErrorCode, outcome_unknown: bool) -> None:  # noqa: FBT001 - a column of the table
    """Every refusal shows whether the voter may have been removed, and none is safe to repeat."""
    async with asking(server := saying(removed(code))) as controllers:
        with pytest.raises(KafkaRefused) as failure:
            await controllers.remove_voter(server.endpoint, REMOVE)
    assert failure.value.outcome_unknown is outcome_unknown
    assert not failure.value.retry_safe


async def test_a_removal_without_an_answer_may_have_happened() -> None:
    """If no answer comes after the request was sent, the outcome is unknown; before that it is not."""
    async with asking(server := FakeServer(lambda _: Do.CLOSE)) as controllers:
        with pytest.raises(KafkaUnreachable) as failure:
            await controllers.remove_voter(server.endpoint, REMOVE)
    assert failure.value.outcome_unknown
    server = FakeServer(versions=lambda _: Do.CLOSE)
    async with asking(server) as controllers:
        with pytest.raises(KafkaUnreachable) as failure:
            await controllers.remove_voter(server.endpoint, REMOVE)
    assert not failure.value.outcome_unknown


async def test_connections_that_nobody_uses_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that was unused for long enough, for example to a pod's old address, is closed."""
    monkeypatch.setattr(sending, "IDLE_CONNECTION_S", -1.0)
    first, second = replay("describe_quorum_v2"), replay("describe_quorum_v2")
    async with asking(first) as controllers, running(second):
        second.endpoint = replace(second.endpoint, node_id=LEADER)
        await controllers.describe_quorum(first.endpoint)
        await controllers.describe_quorum(second.endpoint)
        await controllers.describe_quorum(first.endpoint)
        assert first.connections == 2


@pytest.mark.parametrize(("many", "kept"), [(1, 1), (2, 2)])
async def test_followers_of_a_large_fleet_are_not_kept_connected(
    many: int, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While there are more than `MANY` connections, one that no glance needs is closed early; else it is kept."""
    monkeypatch.setattr(sending, "MANY", many)
    leader, follower = replay("describe_quorum_v2"), replay("describe_quorum_v2")
    async with asking(leader) as controllers, running(follower):
        for server in (leader, follower):
            server.endpoint = replace(server.endpoint, node_id=LEADER)
        assert isinstance(controllers, KafkaControllers)
        await controllers.describe_quorum(leader.endpoint)
        await controllers.describe_quorum(follower.endpoint)
        controllers._connections[follower.endpoint].last_used_s -= sending.MANY_IDLE_S + 1
        controllers._connections.move_to_end(follower.endpoint, last=False)
        await controllers.describe_quorum(leader.endpoint)
        assert len(controllers._connections) == kept
        await controllers.describe_quorum(follower.endpoint)
        assert follower.connections == 3 - kept


async def test_so_many_connections_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that was not used for longest makes room, and one that is used stays."""
    monkeypatch.setattr(sending, "OWN_MAX_KEPT", 2)
    first, *others = (replay("describe_quorum_v2") for _ in range(3))
    async with asking(first) as controllers, running(others[0]), running(others[1]):
        for server in (first, others[0], first, others[1], first, others[0]):
            server.endpoint = replace(server.endpoint, node_id=LEADER)
            await controllers.describe_quorum(server.endpoint)
        assert [server.connections for server in (first, *others)] == [1, 2, 1]
        assert isinstance(controllers, KafkaControllers)
        assert len(controllers._connections) == 2


def test_connections_to_controllers_take_no_more_files_than_the_process_may_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a low limit of open files fewer are kept; servers other than controllers have a limit of their own."""
    limit = (1_000, 1_000)
    monkeypatch.setattr(resource, "getrlimit", lambda _: limit)
    assert KafkaControllers()._most_kept() == 750
    limit = (65_536, 65_536)
    assert KafkaControllers()._most_kept() == sending.OWN_MAX_KEPT >= 10_000
    assert KafkaBrokers()._most_kept() == sending.MAX_KEPT == 1_000


def test_a_process_may_open_as_many_files_as_its_hard_limit_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The soft limit of a container is raised towards its hard limit, and never lowered."""
    noted: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: noted.append(limits))
    for limits in ((1_024, 524_288), (1_024, 4_096), (1_000_000, 1_000_000), (1_024, resource.RLIM_INFINITY)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, found=limits: found)
        sending.allow_files()
    assert noted == [(65_536, 524_288), (4_096, 4_096), (65_536, resource.RLIM_INFINITY)]


async def test_a_use_moves_a_connection_behind_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two connections, only the one that was not used lately is closed, whichever was made first."""
    monkeypatch.setattr(sending, "IDLE_CONNECTION_S", 100.0)
    first, second, third = (replay("describe_quorum_v2") for _ in range(3))
    async with asking(first) as controllers, running(second), running(third):
        assert isinstance(controllers, KafkaControllers)
        for server in (first, second, first):
            server.endpoint = replace(server.endpoint, node_id=LEADER)
            await controllers.describe_quorum(server.endpoint)
        controllers._connections[second.endpoint].last_used_s -= 101.0
        third.endpoint = replace(third.endpoint, node_id=LEADER)
        await controllers.describe_quorum(third.endpoint)
        assert [*controllers._connections] == [first.endpoint, third.endpoint]


async def test_a_closed_client_may_be_used_again() -> None:
    """Closing only drops connections, so a closed client may be used again."""
    async with asking(server := replay("describe_quorum_v2")) as controllers:
        await controllers.describe_quorum(server.endpoint)
        await controllers.close()
        await controllers.describe_quorum(server.endpoint)
        assert server.connections == 2


async def test_every_request_is_seen_with_its_result() -> None:
    """Each request is reported once by its name, with what became of it."""
    seen: list[tuple[str, str]] = []

    def note(name: str, result: str, seconds: float) -> None:
        assert seconds >= 0
        seen.append((name, result))

    async def ask(server: FakeServer) -> None:
        async with running(server):
            server.endpoint = replace(server.endpoint, node_id=LEADER)
            controllers = KafkaControllers(seen=note)
            try:
                await controllers.describe_quorum(server.endpoint)
            except KafkaError:
                pass
            finally:
                await controllers.close()

    await ask(replay("describe_quorum_v2"))
    await ask(saying(replace(quorum_response(), error_code=ErrorCode.cluster_authorization_failed)))
    await ask(FakeServer(script=lambda _: b"\x00\x00\x00\x04\x7f\xff\xff\xff"))
    await ask(FakeServer(script=lambda _: Do.CLOSE))
    await ask(FakeServer(versions=lambda request: answer_to(request, api_versions({}))))
    hanging = FakeServer()
    async with running(hanging):
        controllers = KafkaControllers(seen=note)
        waiting = asyncio.create_task(controllers.describe_quorum(hanging.endpoint))
        await until(lambda: len(hanging.requests) == 2)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await controllers.close()
    results = ("answered", "refused", "garbled", "unanswered", "unsent", "ended")
    assert seen == [("DescribeQuorum", result) for result in results]
