"""The requests of `Brokers` with real servers: who answers for whom, and what registrations and settings do."""

import json
from collections.abc import AsyncIterator
from importlib.resources import files

import pytest
import pytest_asyncio
from tests.live.broker_worlds import OLDEST, answers, holds, note, release, releases
from tests.live.brokers import LiveBrokers
from tests.live.jars import Kafka

from kafka_quorum.errors import KafkaRefused, KafkaVersionUnsupported
from kafka_quorum.model.brokers import ConfigChange, ConfigEntry
from kafka_quorum.model.ids import NodeID

pytestmark = [pytest.mark.live, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

DYNAMIC = {
    "num.io.threads": "9",
    "num.network.threads": "4",
    "log.retention.ms": "3600000",
    "message.max.bytes": "2000000",
    "max.connections": "1000",
    "log.cleaner.threads": "2",
    "background.threads": "11",
    "leader.replication.throttled.rate": "1000000",
    "follower.replication.throttled.rate": "1000000",
    "replica.alter.log.dirs.io.max.bytes.per.second": "1000000",
}
"""A part of what every release changes without a restart."""
QUOTAS = {name for name in DYNAMIC if "throttled" in name or "log.dirs" in name}
"""Of these the properties file knows nothing, and DescribeConfigs shows them only while they are set."""
FIXED = ("node.id", "log.dirs", "broker.rack", "process.roles", "zookeeper.connect", "nonsense")


@pytest.fixture(scope="module", params=releases("4.3.1", "4.1.2", OLDEST))
def kafka(request: pytest.FixtureRequest) -> Kafka:
    """Each release in turn."""
    return release(request)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LiveBrokers]:
    """Three brokers."""
    made = LiveBrokers(kafka, tmp_path_factory.mktemp("requests"))
    try:
        await made.open()
        yield made
    finally:
        await made.close()


async def test_pages_of_partitions(world: LiveBrokers) -> None:
    """More partitions than a page has come in order and without a gap, from an empty list of topics."""
    await world.topic("pages", [[1], [2], [3]] * 350)
    await world.topic("after", [[2, 3]])
    rows = await world.client.describe_partitions(world.brokers[3].endpoint)
    assert [row.at.index for row in rows if row.at.topic == "pages"] == list(range(1_050))
    assert [row.at for row in rows] == sorted(row.at for row in rows)
    assert await world.client.min_isr(world.any(), ["after", "gone"]) == {"after": 1}


async def test_only_the_broker_itself_describes_its_settings(world: LiveBrokers) -> None:
    """A broker refuses to describe another one, so settings are never those of another broker."""
    for broker in world.brokers.values():
        found = await world.client.describe_broker_config(broker.endpoint, broker.node_id)
        assert _value(found, "node.id") == str(broker.node_id)
    with pytest.raises(KafkaRefused, match="Unexpected broker id") as refusal:
        await world.client.describe_broker_config(world.brokers[1].endpoint, NodeID(2))
    assert refusal.value.name == "INVALID_REQUEST"


def _value(found: tuple[ConfigEntry, ...], name: str) -> str | None:
    (row,) = [row for row in found if row.name == name]
    return row.value


async def test_a_broker_checks_its_own_dynamic_settings(world: LiveBrokers) -> None:
    """A broker takes what it can change without a restart, and refuses what it cannot.

    The controller takes anything, even what no broker has: so a broker's settings are changed through itself.
    """
    broker, other, leader = world.brokers[2], world.brokers[1], await world.leader()
    for name, value in DYNAMIC.items():
        await world.client.alter_broker_config(broker.endpoint, broker.node_id, [ConfigChange(name=name, value=value)])
    await holds("the broker runs with them", lambda: _runs_with(world, DYNAMIC))
    found = {row.name: row for row in await world.client.describe_broker_config(broker.endpoint, broker.node_id)}
    assert {found[name].source for name in DYNAMIC} == {2}
    assert not any(found[name].read_only for name in DYNAMIC if name not in QUOTAS)
    await world.client.alter_broker_config(
        broker.endpoint, broker.node_id, [ConfigChange(name=name, value=None) for name in DYNAMIC]
    )
    refused = {}
    for name in FIXED:
        try:
            await world.client.alter_broker_config(
                broker.endpoint, broker.node_id, [ConfigChange(name=name, value="7")]
            )
        except KafkaRefused as error:
            refused[name] = error.server_message
    note("refused by the broker", **{name.replace(".", "_"): words for name, words in refused.items()})
    assert set(refused) >= {"node.id", "log.dirs", "broker.rack", "process.roles"}
    with pytest.raises(KafkaRefused, match=r"[Tt]hread"):
        await world.client.alter_broker_config(
            broker.endpoint, broker.node_id, [ConfigChange(name="num.io.threads", value="100")]
        )
    with pytest.raises(KafkaRefused, match="Unexpected broker id"):
        await world.client.alter_broker_config(
            other.endpoint, broker.node_id, [ConfigChange(name="num.io.threads", value="9")]
        )
    for name in ("nonsense", "node.id"):
        await world.client.alter_broker_config(leader, broker.node_id, [ConfigChange(name=name, value="7")])
        await world.client.alter_broker_config(leader, broker.node_id, [ConfigChange(name=name, value=None)])


async def test_what_pools_call_dynamic_is_dynamic(world: LiveBrokers) -> None:
    """Each property that the operator changes without a restart is dynamic, and accepted for this broker alone."""
    broker = world.brokers[1]
    names = json.loads((files("kafka_brokers.api") / "dynamic_configs.json").read_text())["properties"]
    found = {row.name: row for row in await world.client.describe_broker_config(broker.endpoint, broker.node_id)}
    assert [name for name in names if name not in found or found[name].read_only] == []
    refused = {}
    for name in names:
        change = [ConfigChange(name=name, value="1000" if found[name].value is None else found[name].value)]
        try:
            await world.client.alter_broker_config(broker.endpoint, broker.node_id, change)
            await world.client.alter_broker_config(
                broker.endpoint, broker.node_id, [ConfigChange(name=name, value=None)]
            )
        except KafkaRefused as error:
            refused[name] = error.server_message
    note("dynamic, but refused", **refused)
    assert set(refused) <= {"min.insync.replicas"}  # for one broker, while ELR is on


async def _runs_with(world: LiveBrokers, wanted: dict[str, str]) -> bool:
    broker = world.brokers[2]
    found = await world.client.describe_broker_config(broker.endpoint, broker.node_id)
    values = {row.name: row.value for row in found}
    return all(values.get(name) == value for name, value in wanted.items())


async def test_what_only_a_controller_or_only_a_broker_answers(world: LiveBrokers) -> None:
    """A broker does not describe the quorum to this client, and a controller does not describe brokers."""
    leader = await world.leader()
    with pytest.raises(KafkaRefused) as refusal:
        await world.client.describe_brokers(leader)
    note("DescribeCluster for brokers, asked of a controller", name=refusal.value.name)
    with pytest.raises(KafkaVersionUnsupported):
        await world.client.describe_partitions(leader)


async def test_unregistering(world: LiveBrokers) -> None:
    """Nothing protects a broker from being unregistered: not that it runs, nor that it has replicas.

    A stopped one is gone from the list, and its partitions keep naming it. One that runs is in no ISR any more until it
    is restarted, or registers again by itself. An unknown one is a success.
    """
    leader, broker = await world.leader(), world.brokers[3]
    await world.topic("kept", [[1, 3]])
    await world.client.unregister_broker(leader, NodeID(77))
    await world.stop(3)
    await world.client.unregister_broker(leader, broker.node_id)
    at = world.brokers[1].endpoint
    await holds("broker 3 is not registered", lambda: _gone(world))
    row = await world.partition("kept", at=at)
    note("unregistered while stopped", replicas=row.replicas, isr=row.isr, offline=row.offline)
    assert set(row.replicas) == {1, 3}
    await world.client.unregister_broker(leader, broker.node_id)
    world.start(broker)
    await world.all_unfenced()
    await world.isr("kept", (1, 3))

    await world.client.unregister_broker(leader, broker.node_id)
    await holds("broker 3 is not registered", lambda: _gone(world))
    row = await world.partition("kept", at=at)
    note("unregistered while it runs", replicas=row.replicas, isr=row.isr, answers=await answers(world.client, at))
    assert 3 not in row.isr
    broker.running.kill()
    world.start(broker)
    await world.all_unfenced()
    await world.isr("kept", (1, 3))


async def _gone(world: LiveBrokers) -> bool:
    return 3 not in await world.registered(world.brokers[1].endpoint)
