"""A broker's life as its cluster shows it: clean stop, crash, freeze, restart. Guards rely on what is asserted here.

`docs/brokers-measured.md` lists the facts. Times depend on the machine: only their order is asserted.
"""

import time
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.live.broker_worlds import OLDEST, answers, holds, note, release, releases
from tests.live.brokers import LiveBroker, LiveBrokers
from tests.live.jars import Kafka

from kafka_quorum.model.brokers import Partition

pytestmark = [pytest.mark.live, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

THREE, TWO, ONE = "three", "two", "one"
"""Topics of one partition led by broker 2: RF 3 and RF 2 with min ISR 2, and RF 1."""


@pytest.fixture(scope="module", params=releases("4.3.1", "4.1.2", OLDEST))
def kafka(request: pytest.FixtureRequest) -> Kafka:
    """Each release in turn."""
    return release(request)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LiveBrokers]:
    """Three brokers, of which broker 2 is stopped in every test."""
    made = LiveBrokers(kafka, tmp_path_factory.mktemp("life"))
    try:
        await made.open()
        await made.topic(THREE, [[2, 1, 3]], min_insync_replicas="2")
        await made.topic(TWO, [[2, 1]], min_insync_replicas="2")
        await made.topic(ONE, [[2]])
        for topic in (THREE, TWO, ONE):
            assert await made.produce(topic, 20) == 20
        yield made
    finally:
        await made.close()


async def settle(world: LiveBrokers) -> LiveBroker:
    """All brokers are unfenced and in sync, and broker 2 leads what it prefers to lead."""
    await world.all_unfenced()
    rows = [await world.isr(THREE, (1, 2, 3)), await world.isr(TWO, (1, 2)), await world.isr(ONE, (2,))]
    await world.client.elect_preferred(await world.leader(), [row.at for row in rows])
    for topic in (THREE, TWO, ONE):
        await world.until(topic, "broker 2 leads", lambda row: row.leader == 2)
    return world.brokers[2]


def has_elr(world: LiveBrokers) -> bool:
    """New clusters of 4.1 and later have ELR on."""
    return world.kafka.version != OLDEST


async def down(world: LiveBrokers) -> dict[str, Partition]:
    """Waits until broker 2 is fenced and out of every ISR that others hold, and returns the three partitions."""
    at = world.brokers[1].endpoint
    await holds("broker 2 is fenced", lambda: _is_fenced(world))
    return {
        THREE: await world.isr(THREE, (1, 3), at=at),
        TWO: await world.isr(TWO, (1,), at=at),
        ONE: await world.until(ONE, "no leader", lambda row: row.leader is None, at=at),
    }


async def _is_fenced(world: LiveBrokers) -> bool:
    return 2 in await world.fenced(world.brokers[1].endpoint)


def check_down(world: LiveBrokers, rows: dict[str, Partition]) -> None:
    """ISR, ELR and offline replicas while broker 2 is down, however it went down."""
    assert (rows[THREE].leader in (1, 3), rows[THREE].elr, rows[THREE].offline) == (True, (), (2,))
    assert (rows[TWO].leader, rows[TWO].offline) == (1, (2,))
    if has_elr(world):
        assert rows[TWO].elr == (2,)
        assert (rows[ONE].isr, rows[ONE].elr, rows[ONE].last_elr) == ((), (2,), (2,))
    else:
        assert rows[TWO].elr == ()
        assert (rows[ONE].isr, rows[ONE].elr, rows[ONE].last_elr) == ((2,), (), ())


async def test_a_clean_stop_moves_leaders_before_the_process_ends(world: LiveBrokers) -> None:
    """Leaders and ISRs move while the process still runs; it is fenced then, and stays registered.

    After the restart it is in the ISR again. A new process waits for the end of the session of the old one, even after
    a clean stop.
    """
    broker, at = await settle(world), world.brokers[1].endpoint
    began_s = time.monotonic()
    broker.running.terminate()
    moved = await world.until(THREE, "another leader", lambda row: row.leader not in (2, None), at=at)
    moved_s, runs = time.monotonic() - began_s, broker.running.exit_code is None
    assert runs, "the process had ended before its leaders moved"
    assert 2 not in moved.isr
    await holds("broker 2 is fenced", lambda: _is_fenced(world))
    fenced_s = time.monotonic() - began_s
    assert broker.running.wait(60) == 143
    ended_s = time.monotonic() - began_s
    check_down(world, await down(world))
    note("clean stop", moved_s=moved_s, fenced_s=fenced_s, ended_s=ended_s)
    assert 2 in await world.registered(at)
    began_s = time.monotonic()
    world.start(broker)
    await world.all_unfenced()
    unfenced_s = time.monotonic() - began_s
    await world.isr(THREE, (1, 2, 3))
    note("start after a clean stop", unfenced_s=unfenced_s, in_sync_s=time.monotonic() - began_s)


async def test_a_frozen_broker_is_fenced_when_its_session_ends(world: LiveBrokers) -> None:
    """Until the session ends a frozen broker is shown as a leader in every ISR; then it is fenced, and out of them.

    Thawed, it comes back without a new process.
    """
    broker = await settle(world)
    began_s = time.monotonic()
    broker.running.freeze()
    try:
        early = await world.partition(THREE, at=world.brokers[1].endpoint)
        assert (early.leader, 2 in early.isr) == (2, True)
        check_down(world, await down(world))
        note("frozen", fenced_s=time.monotonic() - began_s)
    finally:
        broker.running.thaw()
    began_s = time.monotonic()
    await settle(world)
    note("thawed", back_s=time.monotonic() - began_s)


@pytest.mark.full
async def test_a_killed_broker_is_fenced_when_its_session_ends(world: LiveBrokers) -> None:
    """As a frozen one. Its restart is unclean: it leaves the ELR, and is in an ISR again when it has caught up."""
    broker = await settle(world)
    broker.running.kill()
    began_s = time.monotonic()
    early = await world.partition(THREE, at=world.brokers[1].endpoint)
    assert (early.leader, 2 in early.isr) == (2, True)
    check_down(world, await down(world))
    note("killed", fenced_s=time.monotonic() - began_s)
    world.start(broker)
    await settle(world)
    assert await world.end(THREE) == 20
    assert await world.end(ONE) == 20


async def test_a_broker_that_restarts_within_its_session_looks_as_if_nothing_had_happened(world: LiveBrokers) -> None:
    """A killed broker whose new process starts at once is unfenced, leader and in every ISR until the session ends.

    So *unfenced and in every ISR* does not mean that it is back. The broker itself answers only after its new process
    is registered, which the controller refuses until then.
    """
    broker, at = await settle(world), world.brokers[1].endpoint
    refusals = broker.log.read_text().count("DUPLICATE_BROKER_REGISTRATION")
    broker.running.kill()
    world.start(broker)
    row, fenced = await world.partition(THREE, at=at), await _is_fenced(world)
    assert (row.leader, set(row.isr), fenced) == (2, {1, 2, 3}, False)
    assert not await answers(world.client, broker.endpoint)
    began_s, out = time.monotonic(), False
    while not await answers(world.client, broker.endpoint):
        row = await world.partition(THREE, at=at)
        out = out or 2 not in row.isr
        assert time.monotonic() - began_s < 120
    note("restarted within the session", answers_s=time.monotonic() - began_s, left_the_isr=out)
    assert out, "the broker answered before it had left the ISR"
    refused = broker.log.read_text().count("DUPLICATE_BROKER_REGISTRATION") - refusals
    note("registrations that were refused, which are none on a slow machine", count=refused)
    await settle(world)
