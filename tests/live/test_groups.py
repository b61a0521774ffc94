"""Groups of real consumers, as brokers 3.9.2 and 4.4.0 describe them: what a look shows, and what it does not show.

Members here are consumers of librdkafka. What real Streams members send is in the captures of `tests/wire`
(`record_group_captures.py`).
"""

import asyncio
import json
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field

import pytest
import pytest_asyncio
from tests.live.broker_worlds import note
from tests.live.brokers import LiveBrokers
from tests.live.jars import DEFAULT_VERSION, Kafka, ensure_kafka
from tests.live.waiting import wait_for

from kafka_quorum.errors import KafkaRefused
from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.groups import Committed, GroupState, LogEnd
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.wire.group_admin import KafkaGroups
from kafka_streams.model.group import GroupKind, GroupSeen, NoMetadata, NotStreams, lags
from kafka_streams.observe.ends import log_ends
from kafka_streams.observe.group import look

pytestmark = [pytest.mark.live, pytest.mark.timeout(200), pytest.mark.asyncio(loop_scope="module")]

PARTITIONS, RECORDS = 4, 20
SESSION_S = 6
"""The shortest session that a broker allows by default."""
STREAMS_FROM = "4.1"
CONSUMER = textwrap.dedent("""
    import json, sys
    from confluent_kafka import Consumer
    consumer = Consumer(json.loads(sys.argv[1]))
    consumer.subscribe([sys.argv[2]])
    while True:
        message = consumer.poll(0.05)
        if message is not None and not message.error():
            consumer.commit(message, asynchronous=False)
""")


@dataclass(slots=True)
class World:
    """Two brokers, the client, and the consumers of one test, each a process of its own, so that it can be killed."""

    cluster: LiveBrokers
    groups: KafkaGroups = field(default_factory=KafkaGroups)
    consumers: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    @property
    def endpoints(self) -> list[Endpoint]:
        """Where both brokers listen."""
        return [broker.endpoint for broker in self.cluster.brokers.values()]

    def join(self, group: str, topic: str, **settings: object) -> "subprocess.Popen[bytes]":
        """Starts a consumer; `settings` have `_` for `.`."""
        given = {
            "bootstrap.servers": self.cluster.bootstrap(),
            "group.id": group,
            "client.id": f"{group}-{len(self.consumers)}",
            "session.timeout.ms": SESSION_S * 1000,
            "heartbeat.interval.ms": 500,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
        given = {name: value for name, value in given.items() if value is not None}
        command = ["setpriv", "--pdeathsig", "KILL", sys.executable, "-c", CONSUMER, json.dumps(given), topic]
        self.consumers.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))
        return self.consumers[-1]

    async def seen(self, group: str) -> GroupSeen:
        """What a look sees, which must be known."""
        found = await look(self.groups, self.endpoints, group)
        assert isinstance(found, Known), found
        return found.value

    async def coordinated(self) -> bool | None:
        """True once the coordinator of every group answers; after its election it loads the offsets topic first."""
        return isinstance(await look(self.groups, self.endpoints, "any"), Known) or None

    async def until(self, what: str, group: str, holds: Callable[[GroupSeen], bool]) -> GroupSeen:
        """Looks until this holds."""

        async def fine() -> GroupSeen | None:
            found = await look(self.groups, self.endpoints, group)
            return found.value if isinstance(found, Known) and holds(found.value) else None

        return await wait_for(what, fine)

    def end(self) -> None:
        """Kills every consumer."""
        for consumer in self.consumers:
            consumer.kill()
            consumer.wait()
        self.consumers.clear()


@pytest.fixture(scope="module", params=["3.9.2", DEFAULT_VERSION])
def kafka(request: pytest.FixtureRequest) -> Kafka:
    """Each release in turn."""
    return ensure_kafka(str(request.param))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """Two brokers, of which one coordinates every group, because the offsets topic has one partition."""
    made = World(LiveBrokers(kafka, tmp_path_factory.mktemp("groups"), brokers=(1, 2)))
    try:
        await made.cluster.open()
        await made.cluster.topic("in", [[1], [2]] * (PARTITIONS // 2))
        assert await made.cluster.produce("in", RECORDS) == RECORDS
        await wait_for("a coordinator that has read its offsets", made.coordinated)
        yield made
    finally:
        made.end()
        await made.groups.close()
        await made.cluster.close()


@pytest.fixture
def world(shared: World) -> Iterator[World]:
    """The brokers, without the consumers of other tests."""
    yield shared
    shared.end()


def stable_with(members: int) -> Callable[[GroupSeen], bool]:
    """Whether the group is stable with so many members."""
    return lambda seen: seen.state is GroupState.STABLE and len(seen.members) == members


async def test_a_group_that_does_not_exist_is_an_answer(world: World) -> None:
    """A group without a trace is known not to exist, with no committed offset."""
    found = await world.seen("nobody")
    assert (found.kind, found.state, found.members) == (GroupKind.NONE, GroupState.DEAD, ())
    assert found.committed == Known(value=())


async def test_a_group_of_consumers(world: World) -> None:
    """Two consumers share the partitions, are no Streams members, and commit what was produced."""
    world.join("plain", "in")
    world.join("plain", "in", group_instance_id="static-1")
    done = Committed(at=TopicPartition(topic="in", index=0), offset=RECORDS)
    found = await world.until(
        "two members and every record",
        "plain",
        lambda seen: stable_with(2)(seen) and isinstance(seen.committed, Known) and done in seen.committed.value,
    )
    assert found.kind is GroupKind.CLASSIC
    assert {member.client_id for member in found.members} == {"plain-0", "plain-1"}
    assert {member.instance_id for member in found.members} == {None, "static-1"}
    partitions: list[TopicPartition] = []
    for member in found.members:
        assert member.metadata == NotStreams(protocol_type="consumer", protocol=found.protocol or "")
        assert isinstance(member.partitions, Known)
        partitions += member.partitions.value
    assert sorted(partitions) == [TopicPartition(topic="in", index=index) for index in range(PARTITIONS)]
    assert isinstance(found.committed, Known)
    places = [row.at for row in found.committed.value]
    latest = await log_ends(world.groups, world.endpoints[1], places, LogEnd.LATEST)
    assert lags(found.committed.value, latest) == {done.at: Known(value=0)}


async def test_the_ends_of_logs(world: World) -> None:
    """Partitions of both brokers are asked of their leaders, and a missing topic is Unknown."""
    wanted = [TopicPartition(topic="in", index=index) for index in range(PARTITIONS)]
    gone = TopicPartition(topic="gone", index=0)
    latest = await log_ends(world.groups, world.endpoints[0], [*wanted, gone], LogEnd.LATEST)
    earliest = await log_ends(world.groups, world.endpoints[0], wanted, LogEnd.EARLIEST)
    assert isinstance(latest.pop(gone), Unknown)
    assert latest == {at: Known(value=RECORDS if at.index == 0 else 0) for at in wanted}
    assert earliest == dict.fromkeys(wanted, Known(value=0))
    follower = await world.groups.log_ends(world.endpoints[1], wanted[:1], LogEnd.LATEST)
    (answer,) = follower.values()
    assert isinstance(answer, Unknown), "a broker that does not lead a partition answered for it"


async def test_a_killed_member_stays_until_its_session_ends(world: World) -> None:
    """Right after a kill the group is stable, with the ids of before: only ids show when the member is gone.

    The number of members is right all the time while another process takes its place, so it proves nothing.
    """
    world.join("killed", "in")
    victim = world.join("killed", "in")
    before = await world.until("two members", "killed", stable_with(2))
    (old,) = [member.member_id for member in before.members if member.client_id == "killed-1"]
    clock = asyncio.get_running_loop().time
    victim.kill()
    victim.wait()
    killed_s = clock()
    after = await world.seen("killed")
    assert (after.state, after.member_ids) == (GroupState.STABLE, before.member_ids)
    gone = await world.until("the old id is gone", "killed", lambda seen: old not in seen.member_ids)
    stayed_s = clock() - killed_s
    assert stayed_s > SESSION_S - 2
    assert gone.member_ids == before.member_ids - {old}
    world.join("killed", "in")
    new = await world.until("a new member", "killed", stable_with(2))
    assert old not in new.member_ids
    assert len(new.member_ids - before.member_ids) == 1
    note("a killed member", session_s=SESSION_S, stayed_s=round(stayed_s, 1))


async def test_a_replacement_that_comes_before_the_session_ends(world: World) -> None:
    """With a process killed and its replacement started, the group may have one member more than there are processes.

    The replacement's join waits for the dead member, so the group rebalances until the session of that one ends. For so
    long its members have no metadata. A 4.x broker shows their former assignment, which does not count.
    """
    victim = world.join("replaced", "in")
    before = await world.until("one member", "replaced", stable_with(1))
    victim.kill()
    victim.wait()
    world.join("replaced", "in")
    both = await world.until("a new id", "replaced", lambda seen: bool(seen.member_ids - before.member_ids))
    assert before.member_ids < both.member_ids
    assert both.state is GroupState.PREPARING
    assert {type(member.metadata) for member in both.members} == {NoMetadata}
    assert all(isinstance(member.partitions, Unknown) for member in both.members)
    raw = await world.groups.classic_group(await world.groups.coordinator(world.endpoints[0], "replaced"), "replaced")
    note("assignments while the group rebalances", bytes=[len(member.assignment) for member in raw.members])
    after = await world.until("the new member alone", "replaced", stable_with(1))
    assert not after.member_ids & before.member_ids


async def test_a_broker_that_does_not_coordinate_says_so(world: World) -> None:
    """The broker beside the coordinator refuses with NOT_COORDINATOR, and both brokers name the same one."""
    named = [await world.groups.coordinator(endpoint, "plain") for endpoint in world.endpoints]
    assert named[0].node_id == named[1].node_id
    (other,) = [endpoint for endpoint in world.endpoints if endpoint.node_id != named[0].node_id]
    for question in (world.groups.classic_group, world.groups.committed):
        with pytest.raises(KafkaRefused, match="NOT_COORDINATOR"):
            await question(other, "plain")
    if world.cluster.kafka.version >= STREAMS_FROM:
        with pytest.raises(KafkaRefused, match="NOT_COORDINATOR"):
            await world.groups.streams_group(other, "plain")
        assert await world.groups.streams_group(named[0], "plain") is None


async def test_groups_are_listed_with_their_types(world: World) -> None:
    """The coordinator lists a group with its type, as long as anything of it is there; other brokers list nothing."""
    world.join("listed", "in")
    await world.until("one member", "listed", stable_with(1))
    coordinator = await world.groups.coordinator(world.endpoints[0], "listed")
    for endpoint in world.endpoints:
        types = {row.group_id: row.group_type.lower() for row in await world.groups.coordinated(endpoint)}
        assert types.get("listed") == ("classic" if endpoint.node_id == coordinator.node_id else None)
        assert "nobody" not in types


async def test_a_group_of_a_third_type(world: World) -> None:
    """A consumer group of KIP-848 looks like no group to both descriptions, and is Unknown with its type.

    Brokers of 3.9 have no such groups by default.
    """
    settings = {"group_protocol": "consumer", "session_timeout_ms": None, "heartbeat_interval_ms": None}
    if world.cluster.kafka.version < STREAMS_FROM:
        pytest.skip("brokers of 3.9 have no consumer groups of KIP-848 by default")
    world.join("modern", "in", **settings)

    async def listed() -> str | None:
        found = await look(world.groups, world.endpoints, "modern")
        if isinstance(found, Known) or "COORDINATOR_LOAD_IN_PROGRESS" in found.reason:
            return None
        return found.reason

    reason = await wait_for("the group is listed", listed)
    assert "with type consumer" in reason.lower()
