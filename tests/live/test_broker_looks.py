"""How true a broker's picture of the partitions is, and what shows that it is old; ELR below min ISR."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.live.broker_worlds import OLDEST, holds, note, release, releases
from tests.live.brokers import CONTROLLER, LiveBrokers
from tests.live.jars import Kafka
from tests.live.ports import free_port
from tests.live.proxy import Proxy

from kafka_quorum.model.brokers import ConfigChange
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import QuorumAnswer, Replica

pytestmark = [pytest.mark.live, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

FRESH_MS = 2_000
"""How old a picture may be when a broker is stopped."""


@pytest.fixture(scope="module", params=releases("4.1.2", OLDEST))
def kafka(request: pytest.FixtureRequest) -> Kafka:
    """Each release in turn."""
    return release(request)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def proxied(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[LiveBrokers, Proxy]]:
    """Three brokers that reach their controller through a proxy."""
    port = free_port()
    made = LiveBrokers(kafka, tmp_path_factory.mktemp("looks"), proxied=port)
    proxy = Proxy(target=made.quorum.nodes[NodeID(CONTROLLER)].port, port=port)
    await proxy.open()
    try:
        await made.open()
        yield made, proxy
    finally:
        await made.close()
        await proxy.close()


def row_of(answer: QuorumAnswer, node_id: int) -> Replica:
    """An observer's row."""
    (row,) = [row for row in answer.observers if row.key.node_id == node_id]
    return row


def age_ms(answer: QuorumAnswer, node_id: int) -> int:
    """How long ago this broker had the whole log, by the leader's clock."""
    (leader,) = [row for row in answer.voters if row.key.node_id == answer.leader_id]
    return leader.last_fetch_ms - row_of(answer, node_id).last_caught_up_ms


async def test_a_broker_that_is_cut_off_shows_an_old_picture_and_the_leader_says_so(
    proxied: tuple[LiveBrokers, Proxy],
) -> None:
    """A broker without its controller still answers, with an old picture in which it is unfenced itself.

    The leader's DescribeQuorum shows it: its last caught-up time stands still, and its log end is behind. A broker that
    keeps up is never as old as a look may be.
    """
    world, proxy = proxied
    leader, cut, other = await world.leader(), world.brokers[3].endpoint, world.brokers[1].endpoint
    await world.topic("before", [[3, 1, 2]])
    ages = []
    for _ in range(20):
        answer = await world.client.describe_quorum(leader)
        ages.append(max(age_ms(answer, node_id) for node_id in (1, 2, 3)))
        await asyncio.sleep(0.1)
    note("age of brokers that keep up, 20 samples", ages_ms=sorted(ages))
    await proxy.cut(3)
    try:
        world.brokers[2].running.kill()
        await holds("broker 2 is fenced", lambda: _fenced(world, 2))
        row = await world.until("before", "the ISR without it", lambda part: 2 not in part.isr, at=other)
        old = await world.partition("before", at=cut)
        assert 2 in old.isr
        assert 2 not in row.isr
        assert await world.fenced(cut) == set()
        answer = await world.client.describe_quorum(leader)
        assert age_ms(answer, 3) > FRESH_MS
        assert age_ms(answer, 1) <= FRESH_MS
        assert row_of(answer, 3).log_end_offset < answer.high_watermark
        note("cut off", age_ms=age_ms(answer, 3), behind=answer.high_watermark - row_of(answer, 3).log_end_offset)
        await holds("broker 3 is fenced", lambda: _fenced(world, 3))
        assert 3 not in await world.fenced(cut), "it knows that it is fenced"
    finally:
        await proxy.heal()
    world.start(world.brokers[2])
    await world.all_unfenced()
    await holds("its picture is new", lambda: _caught_up(world, 3))


async def _fenced(world: LiveBrokers, node_id: int) -> bool:
    return node_id in await world.fenced(world.brokers[1].endpoint)


async def _caught_up(world: LiveBrokers, node_id: int) -> bool:
    return age_ms(await world.client.describe_quorum(await world.leader()), node_id) <= FRESH_MS


@pytest.mark.full
async def test_a_thawed_broker_may_answer_first_with_an_old_picture(proxied: tuple[LiveBrokers, Proxy]) -> None:
    """While a broker is frozen its last caught-up time stands still, so what it answers next is known to be old."""
    world, _ = proxied
    await world.all_unfenced()
    broker, leader = world.brokers[2], await world.leader()
    broker.running.freeze()
    try:
        began_s = time.monotonic()
        await holds("old", lambda: _older(world, 2, FRESH_MS))
        note("frozen", seconds_until_it_is_too_old=time.monotonic() - began_s)
    finally:
        broker.running.thaw()
    await world.all_unfenced()
    await holds("caught up", lambda: _caught_up(world, 2))
    assert (await world.client.describe_quorum(leader)).leader_id == leader.node_id


async def _older(world: LiveBrokers, node_id: int, than_ms: int) -> bool:
    return age_ms(await world.client.describe_quorum(await world.leader()), node_id) > than_ms


async def test_eligible_leaders_below_min_isr(proxied: tuple[LiveBrokers, Proxy]) -> None:
    """The ELR begins when the ISR falls below min ISR, and a change of min ISR clears it.

    A replica that left while the ISR was still large enough is not eligible: it lacks later records.
    """
    world, _ = proxied
    leader, at = await world.leader(), world.brokers[1].endpoint
    levels = {row.name: row.level for row in (await world.client.api_versions(at)).finalized}
    elr = levels.get("eligible.leader.replicas.version", 0)
    await world.topic("elr", [[1, 2, 3]], min_insync_replicas="2")
    assert await world.produce("elr", 5) == 5
    await world.stop(2)
    row = await world.isr("elr", (1, 3), at=at)
    assert (row.elr, row.last_elr) == ((), ())
    await world.stop(3)
    row = await world.isr("elr", (1,), at=at)
    assert row.elr == ((3,) if elr else ())
    assert await world.client.min_isr(at, ["elr"]) == {"elr": 2}
    change = [ConfigChange(name="min.insync.replicas", value="1")]
    await world.client.alter_topic_config(leader, "elr", change)
    row = await world.until("elr", "no eligible leader", lambda part: part.elr == (), at=at)
    assert row.isr == (1,)
    assert await world.client.min_isr(at, ["elr"]) == {"elr": 1}
    await world.client.alter_topic_config(leader, "elr", [ConfigChange(name="min.insync.replicas", value="2")])
    row = await world.partition("elr", at=at)
    note("ELR", level=elr, after_min_isr_was_lowered_and_raised=row.elr)
    assert row.elr == ()
    world.start(world.brokers[2], world.brokers[3])
    await world.all_unfenced()
    await world.isr("elr", (1, 2, 3))
