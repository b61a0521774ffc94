"""The operator's client with real servers: leaders, followers, stopped and frozen nodes, and unknown versions."""

import struct
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import pytest
import pytest_asyncio
from kio.schema.describe_quorum.v2.response import DescribeQuorumResponse
from tests.live.ports import HOST, free_port
from tests.live.quorum import LiveNode, LiveQuorum, new_uuid
from tests.live.storage import NoInitialControllers
from tests.live.waiting import wait_for

from kafka_quorum.errors import KafkaRefused, KafkaUnreachable
from kafka_quorum.model.ids import ClusterID, DirectoryID, NodeID, ReplicaKey
from kafka_quorum.model.quorum import AddVoter, Endpoint, FeatureRange, NodeVersions, QuorumAnswer, Replica
from kafka_quorum.wire import codec
from kafka_quorum.wire.admin import KafkaControllers
from kafka_quorum.wire.channel import ChannelLostError, open_channel
from kafka_quorum.wire.connection import Limits
from kafka_quorum.wire.requests import api_versions, describe_quorum
from kit.errors import Fault

pytestmark = [pytest.mark.live, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="module")]

NODES = (3000, 3001, 3002)
FETCH_TIMEOUT_MS = 2_000
"""Kafka's default of controller.quorum.fetch.timeout.ms."""
QUICK = Limits(connect_timeout_s=0.5, request_timeout_s=0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Three:
    """Three voters, all up; every test restores this."""

    quorum: LiveQuorum
    controllers: KafkaControllers

    async def leader_and_followers(self) -> tuple[LiveNode, list[LiveNode]]:
        """The leader and the followers, when all are registered, have the finalized features, and fetch."""

        async def registered() -> bool | None:
            for node in self.quorum.nodes.values():
                cluster = await self.controllers.describe_cluster(node.endpoint)
                if cluster.controller_ids != NODES:
                    return None
            return True

        await wait_for("three registered controllers, known to all three", registered)
        leader, _ = await self.quorum.leader(self.controllers)

        async def all_fetch() -> bool | None:
            answer = await self.controllers.describe_quorum(leader.endpoint)
            return True if max(ages_ms(answer).values()) < FETCH_TIMEOUT_MS else None

        await wait_for("three voters that fetch", all_fetch)
        return leader, [node for node in self.quorum.nodes.values() if node is not leader]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def three(new_quorum: Callable[[str], LiveQuorum], controllers: KafkaControllers) -> AsyncIterator[Three]:
    """Starts them once for all tests."""
    quorum = new_quorum("three")
    nodes = [quorum.add_node(each) for each in NODES]
    quorum.must_format(nodes, quorum.initial_controllers(nodes))
    quorum.start(*nodes)
    yield Three(quorum=quorum, controllers=controllers)
    quorum.close()


@pytest_asyncio.fixture(loop_scope="module")
async def quick() -> AsyncIterator[KafkaControllers]:
    """A client with short deadlines."""
    client = KafkaControllers(QUICK)
    yield client
    await client.close()


async def test_describe_quorum_tells_what_lies_on_the_disks(three: Three) -> None:
    """The leader reports itself, an epoch, and as voters the replica keys of the three meta.properties."""
    leader, _ = await three.leader_and_followers()
    answer = await three.controllers.describe_quorum(leader.endpoint)
    assert answer.leader_id == leader.node_id
    assert answer.leader_epoch >= 1
    assert answer.high_watermark > 0
    assert {row.key for row in answer.voters} == {node.key for node in three.quorum.nodes.values()}
    assert answer.observers == ()


async def test_every_node_tells_the_cluster_and_its_versions(three: Three) -> None:
    """Leader and followers answer DescribeCluster and ApiVersions, including features whose lowest level is zero."""
    await three.leader_and_followers()
    for node in three.quorum.nodes.values():
        cluster = await three.controllers.describe_cluster(node.endpoint)
        versions = await three.controllers.api_versions(node.endpoint)
        assert cluster.cluster_id == three.quorum.cluster_id
        assert cluster.controller_ids == NODES
        assert FeatureRange(name="kraft.version", min_level=0, max_level=1) in versions.supported
        assert FeatureRange(name="metadata.version", min_level=7, max_level=33) in versions.supported
        assert versions.finalized_epoch >= 0


async def test_a_follower_refuses_to_describe_the_quorum(three: Three) -> None:
    """A follower answers NOT_LEADER_OR_FOLLOWER, which is an error and never a quorum with leader 0."""
    _, followers = await three.leader_and_followers()
    for follower in followers:
        with pytest.raises(KafkaRefused) as refusal:
            await three.controllers.describe_quorum(follower.endpoint)
        assert (refusal.value.code, refusal.value.name) == (6, "NOT_LEADER_OR_FOLLOWER")
        assert refusal.value.retry_safe
        assert not refusal.value.outcome_unknown


async def test_the_raw_answer_of_a_follower_carries_leader_0(three: Three) -> None:
    """A follower's answer has leader 0, epoch 0 and no voters after its error code, so the code must be read first."""
    _, (follower, _) = await three.leader_and_followers()
    channel = await open_channel(follower.endpoint.host, follower.port)
    request = describe_quorum.message()
    answer = await channel.ask(lambda correlation_id: codec.encode_request(request, correlation_id))
    channel.abort()
    response = codec.decode_response(55, 2, answer)
    assert isinstance(response, DescribeQuorumResponse)
    row = describe_quorum.metadata_partition(response)
    assert (row.error_code, row.leader_id, row.leader_epoch, row.current_voters) == (6, 0, 0, ())


async def test_the_leaders_own_row_is_its_present_time(three: Three) -> None:
    """The leader's last fetch is its present time, and the followers' fetches are within the fetch timeout of it."""
    leader, _ = await three.leader_and_followers()
    for _ in range(5):
        before_ms = int(time.time() * 1000)
        answer = await three.controllers.describe_quorum(leader.endpoint)
        after_ms = int(time.time() * 1000)
        assert before_ms <= leader_row(answer).last_fetch_ms <= after_ms
        assert all(0 <= age_ms < FETCH_TIMEOUT_MS for age_ms in ages_ms(answer).values())


async def test_nobody_listens(three: Three) -> None:
    """A stopped node is unreachable at once. Nothing was sent, so even an add may be repeated."""
    endpoint = Endpoint(node_id=NodeID(3000), host=HOST, port=free_port())
    with pytest.raises(KafkaUnreachable):
        await three.controllers.describe_quorum(endpoint)
    with pytest.raises(KafkaUnreachable) as failure:
        await three.controllers.add_voter(endpoint, an_add(three.quorum.cluster_id))
    assert failure.value.fault is Fault.PATH
    assert failure.value.retry_safe
    assert not failure.value.outcome_unknown


async def test_a_frozen_node_costs_a_deadline_and_nothing_else(three: Three, quick: KafkaControllers) -> None:
    """A frozen follower costs the deadline, and an add to it has an unknown outcome; after that it answers again."""
    _, (follower, _) = await three.leader_and_followers()
    await quick.api_versions(follower.endpoint)
    follower.running.freeze()
    try:
        begin_s = time.monotonic()
        with pytest.raises(KafkaUnreachable) as failure:
            await quick.add_voter(follower.endpoint, an_add(three.quorum.cluster_id, timeout_ms=500))
        assert 1.4 < time.monotonic() - begin_s < 3.0
        assert failure.value.outcome_unknown
        assert not failure.value.retry_safe
        with pytest.raises(KafkaUnreachable) as failure:
            await quick.add_voter(follower.endpoint, an_add(three.quorum.cluster_id, timeout_ms=500))
        assert not failure.value.outcome_unknown
    finally:
        follower.running.thaw()

    async def answers() -> NodeVersions | None:
        return await quick.api_versions(follower.endpoint)

    assert (await wait_for("an answer of the thawed follower", answers)).supported


async def test_a_restarted_node_is_reached_over_a_new_connection(three: Three) -> None:
    """If a server was restarted, the next call opens a new connection without an error."""
    _, (follower, _) = await three.leader_and_followers()
    await three.controllers.api_versions(follower.endpoint)
    follower.running.kill()
    three.quorum.start(follower)
    probe = KafkaControllers(QUICK)

    async def up() -> NodeVersions | None:
        return await probe.api_versions(follower.endpoint)

    await wait_for("the restarted follower", up)
    await probe.close()
    versions = await three.controllers.api_versions(follower.endpoint)
    assert versions.supported


async def test_a_too_new_version_closes_the_connection(three: Three) -> None:
    """A server closes the connection after an unknown version, without an answer, so versions are negotiated first."""
    leader, _ = await three.leader_and_followers()
    channel = await open_channel(leader.endpoint.host, leader.port)
    with pytest.raises(ChannelLostError):
        await channel.ask(lambda correlation_id: describe_quorum_as(99, correlation_id))


async def test_a_too_new_api_versions_is_answered_in_version_0(three: Three) -> None:
    """Only ApiVersions is answered in an unknown version: with error 35, and the supported range."""
    leader, _ = await three.leader_and_followers()
    channel = await open_channel(leader.endpoint.host, leader.port)
    request = api_versions.message()
    answer = await channel.ask(lambda correlation_id: as_version(99, codec.encode_request(request, correlation_id)))
    channel.abort()
    response = codec.decode_api_versions(answer)
    assert response.error_code == 35
    (row,) = (row for row in response.api_keys if row.api_key == 18)
    assert (row.min_version, row.max_version) == (0, 5)


async def test_a_newcomer_without_a_quorum_knows_nothing_and_says_so(
    new_quorum: Callable[[str], LiveQuorum], controllers: KafkaControllers
) -> None:
    """An observer that reaches no voter answers without finalized features and quorum, and not to DescribeCluster."""
    quorum = new_quorum("alone")
    node = quorum.add_node(3005)
    quorum.must_format([node], NoInitialControllers())
    quorum.start(node)

    async def up() -> NodeVersions | None:
        return await controllers.api_versions(node.endpoint)

    versions = await wait_for("the newcomer's answer", up)
    assert versions.supported
    assert (versions.finalized, versions.finalized_epoch) == ((), -1)
    with pytest.raises(KafkaRefused) as refusal:
        await controllers.describe_cluster(node.endpoint)
    assert refusal.value.name == "UNSUPPORTED_VERSION"
    assert "There is no finalized MetadataVersion" in refusal.value.server_message
    with pytest.raises(KafkaRefused) as refusal:
        await controllers.describe_quorum(node.endpoint)
    assert refusal.value.name == "NOT_LEADER_OR_FOLLOWER"
    quorum.close()


def leader_row(answer: QuorumAnswer) -> Replica:
    """The leader's own row."""
    (row,) = (row for row in answer.voters if row.key.node_id == answer.leader_id)
    return row


def ages_ms(answer: QuorumAnswer) -> dict[NodeID, int]:
    """How long ago each voter fetched, by the leader's clock alone."""
    now_ms = leader_row(answer).last_fetch_ms
    return {row.key.node_id: now_ms - row.last_fetch_ms for row in answer.voters}


def an_add(cluster_id: ClusterID, timeout_ms: int = 1000) -> AddVoter:
    """A request that cannot succeed, because it names no listener."""
    key = ReplicaKey(node_id=NodeID(3009), directory_id=DirectoryID(new_uuid()))
    return AddVoter(cluster_id=cluster_id, voter=key, listeners=(), timeout_ms=timeout_ms)


def as_version(version: int, message: bytes) -> bytes:
    """The same message with another version number."""
    return message[:2] + struct.pack(">h", version) + message[4:]


def describe_quorum_as(version: int, correlation_id: int) -> bytes:
    """DescribeQuorum with a version number that is not its own."""
    return as_version(version, codec.encode_request(describe_quorum.message(), correlation_id))
