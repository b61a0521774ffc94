"""A broker in migration mode that is lost after a KRaft controller has taken over: what the others' caches show."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from tests.live.broker_worlds import note
from tests.live.test_zookeeper_pool import Disk, Looks, three_brokers
from tests.live.waiting import wait_for
from tests.live.zookeeper_world import BrokerMode, ZooKeeperWorld

from kafka_brokers.model.observed import ClusterView
from kafka_brokers.plan.guards.availability import last_copies
from kafka_brokers.resources import scripts
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known
from kafka_quorum.wire.broker_admin import KafkaBrokers
from kafka_quorum.wire.connection import Limits

pytestmark = [pytest.mark.live, pytest.mark.full, pytest.mark.timeout(600)]

LOST = NodeID(2)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ZooKeeperWorld]:
    """Three brokers that use ZooKeeper."""
    with three_brokers(tmp_path) as made:
        yield made


@pytest_asyncio.fixture
async def client() -> AsyncIterator[KafkaBrokers]:
    """The operator's own client for brokers."""
    made = KafkaBrokers(Limits(connect_timeout_s=2.0, request_timeout_s=5.0))
    yield made
    await made.close()


async def test_a_lost_broker_in_migration_mode(world: ZooKeeperWorld, client: KafkaBrokers) -> None:
    """It is listed for ever. A look shows it as fenced, so its lost disk can be replaced, and it comes back empty."""
    looks = Looks(world, client, zookeeper=False)
    world.provision()
    for broker in world.brokers.values():
        await asyncio.to_thread(world.restart, broker, BrokerMode.MIGRATION)
        await looks.back()

    async def migrated() -> bool | None:
        znode = world.read("/migration")
        return True if znode is not None and '"kraft_metadata_offset":-1' not in znode.text else None

    await wait_for("the migration", migrated)
    await looks.back()
    world.brokers[LOST].kill()

    async def fenced() -> ClusterView | None:
        found = await looks.look(1, 3)
        view = found.cluster.value if isinstance(found.cluster, Known) else None
        return view if view is not None and not view.in_contact(LOST) else None

    view = await wait_for("the end of its session", fenced)
    await asyncio.sleep(20.0)
    listed = [await client.metadata(world.brokers[each].endpoint) for each in (1, 3)]
    assert all(LOST in {row.node_id for row in answer.brokers} for answer in listed)
    view = (await looks.known(1, 3))[1]
    row = view.broker(LOST)
    note("a broker in migration mode, killed", listed=True, fenced=row is not None and row.fenced)
    assert row is not None
    assert row.fenced
    assert not last_copies(view, LOST)
    broker = world.brokers[LOST]
    identity = broker.meta
    shutil.rmtree(broker.data)
    broker.data.mkdir()
    made = Disk(broker).run(scripts.FORMAT_ZOOKEEPER, KQ_CLUSTER_ID=identity["cluster.id"], KQ_DIRECTORY_ID_0="")
    assert made.returncode == 0, made.stdout + made.stderr
    assert broker.meta["directory.id"] != identity["directory.id"]
    world.start(broker)
    await looks.back()
