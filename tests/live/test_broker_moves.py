"""Reassignments, throttles, preferred leaders and cordoned directories on real brokers: what a drain relies on."""

import time
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from confluent_kafka import KafkaException
from tests.live.broker_worlds import OLDEST, answers, holds, note, release, releases
from tests.live.brokers import LiveBrokers
from tests.live.jars import Kafka

from kafka_quorum.errors import KafkaRefused
from kafka_quorum.model.brokers import ConfigChange, Move, Reassignment, TopicPartition
from kafka_quorum.model.ids import NodeID

pytestmark = [pytest.mark.live, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

ONE, TWO, THREE = NodeID(1), NodeID(2), NodeID(3)
RECORD_BYTES, RECORDS = 10_000, 300
RATE = "1000"
"""Bytes a second: a throttled move of these records takes longer than the test."""
THROTTLES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
THROTTLED = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")


@pytest.fixture(scope="module", params=releases("4.3.1", OLDEST))
def kafka(request: pytest.FixtureRequest) -> Kafka:
    """Each release in turn."""
    return release(request)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LiveBrokers]:
    """Three brokers; each test has topics of its own."""
    made = LiveBrokers(kafka, tmp_path_factory.mktemp("moves"))
    try:
        await made.open()
        yield made
    finally:
        await made.close()


async def throttle(world: LiveBrokers, topic: str, rate: str | None) -> None:
    """Limits what is copied for this topic on all brokers; None ends that."""
    leader = await world.leader()
    for broker in world.brokers.values():
        rates = [ConfigChange(name=name, value=rate) for name in THROTTLES]
        await world.client.alter_broker_config(broker.endpoint, broker.node_id, rates)
    replicas = [ConfigChange(name=name, value=rate and "*") for name in THROTTLED]
    await world.client.alter_topic_config(leader, topic, replicas)


async def running(world: LiveBrokers, at: TopicPartition) -> Reassignment | None:
    """The reassignment of this partition."""
    rows = await world.client.reassignments(await world.leader())
    return next((row for row in rows if row.at == at), None)


async def test_a_reassignment_is_listed_throttled_cancelled_and_finished(world: LiveBrokers) -> None:
    """While it runs, the replicas are those of before and of after; the ISR changes only at its end.

    Cancelled, the replicas are those of before, perhaps in another order: the preferred leader may change. The rows of
    a reassignment are the partition's own replicas at that moment.
    """
    topic, at = "moved", TopicPartition(topic="moved", index=0)
    await world.topic(topic, [[1, 2]], min_insync_replicas="2")
    assert await world.produce(topic, RECORDS, size=RECORD_BYTES) == RECORDS
    await throttle(world, topic, RATE)
    leader = await world.leader()
    before = await world.partition(topic)
    assert await world.client.reassign(leader, [Move(at=at, replicas=(THREE, TWO))]) == {}
    row = await running(world, at)
    assert row is not None
    assert (set(row.replicas), row.adding, row.removing) == ({1, 2, 3}, (3,), (1,))
    assert row.target == (3, 2)
    during = await world.until(topic, "three replicas", lambda part: set(part.replicas) == {1, 2, 3})
    assert (set(during.isr), during.leader) == ({1, 2}, 1)
    assert during.replicas == row.replicas
    assert await world.produce(topic, 1) == 1, "min ISR 2 is not reached during the move"
    again = await world.client.reassign(leader, [Move(at=at, replicas=(THREE, TWO))])
    note("the same reassignment again while it runs", refused=again)
    assert again == {}
    assert await world.client.reassign(leader, [Move(at=at, replicas=None)]) == {}
    after = await world.until(topic, "two replicas", lambda part: set(part.replicas) == {1, 2})
    assert (set(after.isr), after.leader) == (set(before.isr), 1)
    note("cancelled", before=before.replicas, after=after.replicas)
    assert await running(world, at) is None
    assert await world.client.reassign(leader, [Move(at=at, replicas=None)]) == {}, "nothing to cancel is no refusal"

    await throttle(world, topic, None)
    assert await world.client.reassign(leader, [Move(at=at, replicas=(THREE, TWO))]) == {}
    done = await world.until(topic, "moved", lambda part: part.replicas == (3, 2))
    assert set(done.isr) == {3, 2}
    await holds("broker 1 has no replica of it", lambda: _without(world, ONE, at))
    assert await world.end(topic) == RECORDS + 1
    assert await world.client.reassign(leader, [Move(at=at, replicas=(THREE, TWO))]) == {}
    assert await running(world, at) is None, "a move to where it is runs for nothing"


async def _without(world: LiveBrokers, node_id: NodeID, at: TopicPartition) -> bool:
    rows = await world.client.describe_log_dirs(world.brokers[int(node_id)].endpoint)
    return all(each.at != at for row in rows for each in row.replicas)


async def test_a_reassignment_to_a_stopped_broker_waits(world: LiveBrokers) -> None:
    """A fenced broker is accepted as a target; the move stays in the list, and ends when the broker is back."""
    topic, at = "waiting", TopicPartition(topic="waiting", index=0)
    await world.topic(topic, [[1, 2]])
    broker, leader = world.brokers[3], await world.leader()
    broker.running.kill()
    await holds("broker 3 is fenced", lambda: _fenced(world, 3))
    refused = await world.client.reassign(leader, [Move(at=at, replicas=(TWO, THREE))])
    listed = await running(world, at)
    note("reassignment to a fenced broker", refused=refused, listed=listed)
    world.start(broker)
    await world.all_unfenced()
    assert refused == {}
    assert listed is not None
    await world.until(topic, "moved", lambda part: part.replicas == (2, 3))


async def _fenced(world: LiveBrokers, node_id: int) -> bool:
    return node_id in await world.fenced(world.any(node_id))


async def test_refused_reassignments(world: LiveBrokers) -> None:
    """An unknown broker, an unknown topic, and a broker twice are refused, each row by itself."""
    await world.topic("refused", [[1, 2], [1, 2]])
    first, second = (TopicPartition(topic="refused", index=index) for index in range(2))
    gone = TopicPartition(topic="gone", index=0)
    moves = [
        Move(at=first, replicas=(NodeID(9),)),
        Move(at=second, replicas=(TWO, TWO)),
        Move(at=gone, replicas=(ONE,)),
    ]
    refused = await world.client.reassign(await world.leader(), moves)
    assert refused[first].startswith("INVALID_REPLICA_ASSIGNMENT")
    assert refused[second].startswith("INVALID_REPLICA_ASSIGNMENT")
    assert refused[gone].startswith("UNKNOWN_TOPIC_OR_PARTITION")


async def test_preferred_leaders(world: LiveBrokers) -> None:
    """The first replica leads after an election; a partition that is not there does not disturb the others."""
    at, gone = TopicPartition(topic="preferred", index=0), TopicPartition(topic="nowhere", index=3)
    await world.topic("preferred", [[1, 2]])
    await world.client.reassign(await world.leader(), [Move(at=at, replicas=(TWO, ONE))])
    row = await world.until("preferred", "the order is changed", lambda part: part.replicas == (2, 1))
    assert row.leader == 1, "a new order moves the leader by itself"
    await world.client.elect_preferred(await world.leader(), [at, gone])
    await world.until("preferred", "broker 2 leads", lambda part: part.leader == 2)
    await world.client.elect_preferred(await world.leader(), [at])


async def test_a_cordoned_broker_gets_no_new_replicas(world: LiveBrokers) -> None:
    """From 4.3 on a broker cordons itself on request: no new topic and no move reaches it; what it has stays.

    The controller only uncordons. Before 4.3 there is no such setting.
    """
    if world.kafka.version < "4.3":
        pytest.skip("no release before 4.3 can be cordoned")
    broker, leader = world.brokers[3], await world.leader()
    await world.topic("stays", [[3, 1]])
    cordon = [ConfigChange(name="cordoned.log.dirs", value="*")]
    with pytest.raises(KafkaRefused, match="via controllers"):
        await world.client.alter_broker_config(leader, broker.node_id, cordon)
    await world.client.alter_broker_config(broker.endpoint, broker.node_id, cordon)
    await holds("cordoned", lambda: _cordoned(world, 3))
    await refuses_replicas(world)
    assert await world.produce("stays", 5) == 5
    await world.spread("spread", partitions=6, replicas=2)
    rows = [row for row in await world.client.describe_partitions(world.any()) if row.at.topic == "spread"]
    assert {node for row in rows for node in row.replicas} == {1, 2}
    with pytest.raises(KafkaException) as refusal:
        await world.spread("impossible", partitions=1, replicas=3)
    note("a topic of RF 3 while one of three brokers is cordoned", words=refusal.value)
    at = TopicPartition(topic="spread", index=0)
    refused = await world.client.reassign(leader, [Move(at=at, replicas=(THREE, ONE))])
    note("a move to a cordoned broker", refused=refused, listed=await running(world, at))
    assert refused[at].startswith("INVALID_REPLICA_ASSIGNMENT")
    await world.stop(3)
    world.start(broker)
    await holds("broker 3 answers", lambda: answers(world.client, broker.endpoint))
    assert await _cordoned(world, 3), "it is not cordoned after a restart"
    await world.client.alter_broker_config(leader, broker.node_id, [ConfigChange(name="cordoned.log.dirs", value=None)])
    await holds("not cordoned", lambda: _uncordoned(world, 3))


async def refuses_replicas(world: LiveBrokers) -> None:
    """Waits until the controller places nothing on broker 3: it learns of the cordon by the broker's next heartbeat."""
    began_s, accepted = time.monotonic(), 0
    while True:
        try:
            await world.topic(f"probe-{accepted}", [[3]])
        except KafkaException as error:
            assert "cordoned" in str(error)  # noqa: PT017 - it is expected at an unknown time
            break
        accepted += 1
    note("a new topic with its replicas named there", accepted_before=accepted, after_s=time.monotonic() - began_s)


async def _cordoned(world: LiveBrokers, node_id: int) -> bool:
    rows = await world.client.describe_log_dirs(world.brokers[node_id].endpoint)
    return all(row.cordoned for row in rows)


async def _uncordoned(world: LiveBrokers, node_id: int) -> bool:
    return not await _cordoned(world, node_id)
