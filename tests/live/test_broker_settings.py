"""The running settings of real brokers, each from that very broker; a broker that does not answer is Unknown."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.live.brokers import LiveBrokers
from tests.live.jars import DEFAULT_VERSION, Kafka, ensure_kafka
from tests.live.ports import HOST, free_port
from tests.live.waiting import wait_for

from kafka_quorum.errors import KafkaUnreachable
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.wire.running import ConfluentSettings, Settings

pytestmark = [pytest.mark.live, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="module")]


@pytest.fixture(scope="module", params=[DEFAULT_VERSION, pytest.param("4.0.2", marks=pytest.mark.full)])
def kafka(request: pytest.FixtureRequest) -> Kafka:
    """The oldest and the newest release of brokers."""
    return ensure_kafka(str(request.param))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LiveBrokers]:
    """Two brokers; every test restores them."""
    made = LiveBrokers(kafka, tmp_path_factory.mktemp("settings"), brokers=(1, 2))
    try:
        await made.open()
        yield made
    finally:
        await made.close()


@pytest_asyncio.fixture(loop_scope="module")
async def settings() -> AsyncIterator[ConfluentSettings]:
    """The reader."""
    made = ConfluentSettings()
    yield made
    await made.close()


def servers(world: LiveBrokers) -> tuple[str, ...]:
    """Both brokers' addresses."""
    return tuple(world.bootstrap().split(","))


def value(found: Knowable[Settings], name: str) -> str | None:
    """A setting that is known."""
    assert isinstance(found, Known)
    return found.value[name]


async def test_each_broker_reports_its_own_settings(world: LiveBrokers, settings: ConfluentSettings) -> None:
    """The settings of each broker are its own. What is not set is empty or None, which one depends on the setting."""

    async def both() -> dict[NodeID, Knowable[Settings]] | None:
        found = await settings.read(servers(world)[:1], {})
        assert set(found) == {1, 2}
        return dict(found) if all(isinstance(row, Known) for row in found.values()) else None

    for node_id, row in (await wait_for("both brokers answer in time", both)).items():
        assert value(row, "node.id") == str(node_id)
        assert value(row, "listeners") == f"REPLICATION://{HOST}:{world.brokers[int(node_id)].port}"
        assert value(row, "controller.listener.names") == "CONTROLLER"
        assert value(row, "controller.quorum.bootstrap.servers")
        assert value(row, "controller.quorum.voters") == ""
        assert value(row, "advertised.listeners") is None


async def test_wrong_addresses_and_wrong_security_are_errors(world: LiveBrokers, settings: ConfluentSettings) -> None:
    """No server, a controller, or a broker with other security: an error with a reason, and never an empty answer."""
    with pytest.raises(KafkaUnreachable, match="refused"):
        await settings.read((f"{HOST}:{free_port()}",), {})
    leader = await world.leader()
    with pytest.raises(KafkaUnreachable):
        await settings.read((f"{HOST}:{leader.port}",), {})
    with pytest.raises(KafkaUnreachable, match="SSL"):
        await settings.read(servers(world), {"security.protocol": "SSL"})


async def test_a_frozen_broker_is_unknown(world: LiveBrokers, settings: ConfluentSettings) -> None:
    """A frozen broker is Unknown within the limit, first because it does not answer, then because it is fenced."""
    world.brokers[2].running.freeze()
    try:
        found = await settings.read(servers(world)[:1], {})
        assert isinstance(found[NodeID(1)], Known)
        row = found[NodeID(2)]
        assert isinstance(row, Unknown)
        await _fenced(world)
        row = (await settings.read(servers(world)[:1], {}))[NodeID(2)]
        assert isinstance(row, Unknown)
        assert "fenced" in row.reason
    finally:
        world.brokers[2].running.thaw()
    await world.all_unfenced()


@pytest.mark.full
async def test_a_stopped_broker_is_unknown(world: LiveBrokers, settings: ConfluentSettings) -> None:
    """A stopped broker stays in the list while it is registered."""
    await world.stop(2)
    await _fenced(world)
    found = await settings.read(servers(world)[:1], {})
    assert isinstance(found[NodeID(1)], Known)
    assert isinstance(found[NodeID(2)], Unknown)
    world.start(world.brokers[2])
    await world.all_unfenced()


async def _fenced(world: LiveBrokers) -> None:
    async def fenced() -> bool | None:
        return True if await world.fenced(world.brokers[1].endpoint) == {2} else None

    await wait_for("broker 2 is fenced", fenced)
