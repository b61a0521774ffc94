"""A broker that comes back with an empty disk: Kafka elects it as the only member of an ISR, records are lost.

So a lost disk must not be formatted while it may be the only one with acknowledged records (rule 10).
"""

import pytest
from tests.live.broker_worlds import OLDEST, note, release, releases
from tests.live.brokers import LiveBrokers
from tests.live.jars import Kafka

pytestmark = [pytest.mark.live, pytest.mark.timeout(400)]

LOOSE, STRICT, ONE = "loose", "strict", "one"
"""RF 3 with min ISR 1, RF 3 with min ISR 2, and RF 1; broker 1 leads each."""
FIRST, SECOND = 50, 30


@pytest.fixture(scope="module", params=releases(OLDEST))
def kafka(request: pytest.FixtureRequest) -> Kafka:
    """Each release in turn."""
    return release(request)


async def alone(world: LiveBrokers) -> None:
    """Broker 1 is the only member of each ISR, and has records that no other one has, where Kafka accepts them."""
    await world.topic(LOOSE, [[1, 2, 3]], min_insync_replicas="1")
    await world.topic(STRICT, [[1, 2, 3]], min_insync_replicas="2")
    await world.topic(ONE, [[1]])
    for topic in (LOOSE, STRICT, ONE):
        assert await world.produce(topic, FIRST) == FIRST
    for node_id in (2, 3):
        await world.stop(node_id)
    for topic in (LOOSE, STRICT, ONE):
        await world.isr(topic, (1,), at=world.brokers[1].endpoint)
    for topic in (LOOSE, ONE):
        assert await world.produce(topic, SECOND) == SECOND
    assert await world.produce(STRICT, 1, timeout_s=3.0) == 0


async def others_back(world: LiveBrokers) -> dict[str, int]:
    """The others start, and every replica is in sync; the result is how many records each topic has."""
    world.start(world.brokers[2], world.brokers[3])
    await world.all_unfenced()
    for topic in (LOOSE, STRICT):
        await world.isr(topic, (1, 2, 3))
    return {topic: await world.end(topic) for topic in (LOOSE, STRICT, ONE)}


@pytest.mark.parametrize("elr", [1, pytest.param(0, marks=pytest.mark.full)])
async def test_the_only_member_of_an_isr_with_an_empty_disk_is_elected(
    kafka: Kafka, tmp_path_factory: pytest.TempPathFactory, elr: int
) -> None:
    """Kafka elects a broker with an empty disk that is the only ISR member: all acknowledged records are lost.

    4.0 elects it when another broker comes back. Replicas that still have the records are truncated. With ELR they
    survive where the ISR was below min ISR, because the others are eligible. Without ELR they do not.
    """
    if kafka.version == OLDEST and elr:
        pytest.skip("its clusters have no ELR by default")
    features = (f"eligible.leader.replicas.version={elr}",)
    world = LiveBrokers(kafka, tmp_path_factory.mktemp("empty"), features=features)
    try:
        await world.open()
        await alone(world)
        row = await world.partition(STRICT)
        assert bool(set(row.elr) & {2, 3}) == bool(elr)
        broker = world.brokers[1]
        broker.running.kill()
        world.empty(broker)
        world.start(broker)
        await world.all_unfenced(1)
        for topic in (LOOSE, ONE) if kafka.version != OLDEST else ():
            await world.until(topic, "the empty broker leads", lambda row: row.leader == 1, at=broker.endpoint)
        ends = await others_back(world)
    finally:
        await world.close()
    note(f"empty disk, {kafka.version}, ELR {elr}", **ends)
    assert (ends[LOOSE], ends[ONE]) == (0, 0)
    assert ends[STRICT] == (FIRST if elr else 0)


async def test_one_of_two_directories_is_empty(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The same with one of two log directories: what was in it is lost, and what is in the other one is not."""
    world = LiveBrokers(kafka, tmp_path_factory.mktemp("jbod"), directories=2)
    try:
        await world.open()
        await world.topic("many", [[1]] * 6)
        assert await world.produce("many", FIRST) == FIRST
        broker = world.brokers[1]
        directories = await world.client.describe_log_dirs(broker.endpoint)
        (place,) = [
            index
            for index, path in enumerate(broker.log_dirs)
            for row in directories
            if row.path == str(path) and any(str(each.at) == "many-0" for each in row.replicas)
        ]
        lost = {str(each.at) for row in directories if row.path == str(broker.log_dirs[place]) for each in row.replicas}
        broker.running.kill()
        world.empty(broker, place)
        world.start(broker)
        await world.all_unfenced()
        row = await world.until("many", "many-0 is led", lambda row: row.leader == 1)
        end = await world.end("many")
    finally:
        await world.close()
    note(f"one of two directories empty, {kafka.version}", lost=sorted(lost), isr=row.isr, end=end)
    assert end == 0
