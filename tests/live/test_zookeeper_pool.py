"""Brokers of a pool on Kafka 3.9.2 with ZooKeeper: what their caches show on the way to KRaft, and which disks start.

The scripts are those of the pods, on other paths; only Kafka's two programs are put in their place.
"""

import asyncio
import os
import shlex
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from tests.live.broker_worlds import note
from tests.live.jars import ensure_kafka
from tests.live.storage import STORAGE_TOOL
from tests.live.waiting import NeverHappenedError, wait_for
from tests.live.zookeeper_world import TOPIC, BrokerMode, Server, ZooKeeperWorld, until

from kafka_brokers.model.observed import ClusterView, Leader
from kafka_brokers.observe import metadata
from kafka_brokers.observe.kafka import Asked
from kafka_brokers.plan.guards.availability import objections
from kafka_brokers.resources import scripts
from kafka_brokers.resources.properties import DATA_PATH
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known
from kafka_quorum.model.zookeeper import ZooKeeperAccess
from kafka_quorum.wire.broker_admin import KafkaBrokers
from kafka_quorum.wire.connection import Limits
from kit.clock import SystemClock

pytestmark = [pytest.mark.live, pytest.mark.full, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]

RELEASE = "3.9.2"
ALL = frozenset({1, 2, 3})
OPEN = ZooKeeperAccess(connect="of the world")
REFUSED = "only support version 0"
SLOW_S = 180.0
"""Servers start slowly on a machine that is shared."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperWorld]:
    """Three brokers that use ZooKeeper, in every test that has them."""
    with three_brokers(tmp_path_factory.mktemp("pool")) as made:
        yield made


@pytest.fixture
def migrating(tmp_path: Path) -> Iterator[ZooKeeperWorld]:
    """The same for one test: a migration cannot be undone for the next one."""
    with three_brokers(tmp_path) as made:
        yield made


@contextmanager
def three_brokers(directory: Path) -> Iterator[ZooKeeperWorld]:
    """Three brokers that use ZooKeeper, with a topic of RF 3 and min ISR 2."""
    made = ZooKeeperWorld(ensure_kafka(RELEASE), directory, brokers=(1, 2, 3))
    try:
        made.open()
        made.topic(replicas=3, min_insync_replicas="2")
        yield made
    finally:
        made.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client() -> AsyncIterator[KafkaBrokers]:
    """The operator's own client for brokers."""
    made = KafkaBrokers(Limits(connect_timeout_s=2.0, request_timeout_s=5.0))
    yield made
    await made.close()


@dataclass(frozen=True, slots=True)
class Looks:
    """Looks at a world, as a pool takes them; `zookeeper`: its controller leads."""

    world: ZooKeeperWorld
    client: KafkaBrokers
    zookeeper: bool = True

    async def look(self, *servers: int) -> Asked:
        """One look by the running brokers, or by these."""
        running = {NodeID(each.node_id): each.endpoint for each in self.world.brokers.values() if each.running}
        asked = {node: at for node, at in running.items() if not servers or node in servers}
        controllers = {NodeID(each.node_id): each.endpoint for each in self.world.controllers.values()}
        cluster_id = self.world.cluster_id
        return await metadata.ask(
            self.client, controllers, asked, cluster_id, SystemClock(), zookeeper_leads=self.zookeeper
        )

    async def known(self, *servers: int) -> tuple[Leader, ClusterView]:
        """Waits until the leader and the partitions are known."""

        async def both() -> tuple[Leader, ClusterView] | None:
            found = await self.look(*servers)
            if isinstance(found.leader, Known) and isinstance(found.cluster, Known):
                return found.leader.value, found.cluster.value
            return None

        return await wait_for("a look that shows everything", both)

    async def back(self) -> tuple[Leader, ClusterView]:
        """Waits until every broker is in contact and in every ISR, and none is doubtful."""

        async def whole() -> tuple[Leader, ClusterView] | None:
            leader, view = await self.known()
            well = all(set(row.isr) == ALL for row in view.partitions if row.at.topic == TOPIC)
            return (leader, view) if well and leader.observers_caught_up >= ALL and not view.doubtful else None

        return await wait_for("all three brokers are back", whole)

    async def without(self, node_id: int, *servers: int) -> tuple[Leader, ClusterView]:
        """Waits until no broker lists this broker."""

        async def gone() -> tuple[Leader, ClusterView] | None:
            leader, view = await self.known(*servers)
            return (leader, view) if view.broker(NodeID(node_id)) is None else None

        return await wait_for(f"broker {node_id} is not listed", gone)


async def test_a_look_in_zookeeper_mode(world: ZooKeeperWorld, client: KafkaBrokers) -> None:
    """Everything that the guards need is known, and they refuse a second stop while one broker is away."""
    looks = Looks(world, client)
    leader, view = await looks.back()
    znode = world.read("/controller")
    assert znode is not None
    assert f'"brokerid":{leader.endpoint.node_id},' in znode.text
    assert dict(view.min_isr)[TOPIC] == 2
    assert not list(objections(view, NodeID(1), frozenset()))
    await asyncio.to_thread(world.brokers[3].stop)
    leader, view = await looks.without(3)
    rows = [row for row in view.partitions if row.at.topic == TOPIC]
    assert {frozenset(row.isr) for row in rows} == {frozenset({1, 2})}
    assert any("without broker 1" in one.why for one in objections(view, NodeID(1), frozenset()))
    assert not leader.observers_caught_up & {3}
    world.start(world.brokers[3])
    await looks.back()


async def test_a_killed_broker_is_not_in_contact(world: ZooKeeperWorld, client: KafkaBrokers) -> None:
    """Until its session ends the caches list it, and it is in ISRs; it does not answer, so nothing relies on it."""
    looks = Looks(world, client)
    await looks.back()
    world.brokers[2].kill()
    leader, view = await looks.known(1, 3)
    listed = view.broker(NodeID(2)) is not None
    note("a look after a kill", listed=listed, contact=sorted(leader.observers_caught_up))
    assert NodeID(2) not in leader.observers_caught_up
    await looks.without(2, 1, 3)
    world.start(world.brokers[2])
    await looks.back()


async def test_a_broker_of_another_pool_is_in_contact(world: ZooKeeperWorld, client: KafkaBrokers) -> None:
    """Brokers of no pool are found by those that are asked, and asked themselves."""
    await Looks(world, client).back()
    leader, view = await Looks(world, client).known(1)
    assert leader.observers_caught_up == ALL
    assert {row.node_id for row in view.registered} == ALL


async def test_looks_on_the_way_to_kraft_and_back(migrating: ZooKeeperWorld, client: KafkaBrokers) -> None:
    """In every stage, and with brokers of two modes at once, a look has every answer and finds every broker."""
    world = migrating
    looks = Looks(world, client, zookeeper=False)
    world.provision()
    for broker in world.brokers.values():
        await asyncio.to_thread(world.restart, broker, BrokerMode.MIGRATION)
        leader, _ = await looks.back()
        assert leader.endpoint.node_id == 3000
    await wait_for("the migration", lambda: _migrated(world))
    order = (3, 2, 1)
    for node_id in order:
        await asyncio.to_thread(world.restart, world.brokers[node_id], BrokerMode.KRAFT)
        await looks.back()
    await asyncio.to_thread(world.brokers[3].stop)
    _, view = await looks.without(3)
    assert any("without broker 1" in one.why for one in objections(view, NodeID(1), frozenset()))
    world.start(world.brokers[3])
    await looks.back()
    for node_id in order:
        broker = world.brokers[node_id]
        await asyncio.to_thread(broker.stop)
        assert (broker.data / "__cluster_metadata-0").exists()
        Disk(broker).prepare()
        assert not (broker.data / "__cluster_metadata-0").exists()
        broker.mode = BrokerMode.MIGRATION
        world.start(broker)
        await looks.back()
        assert "directory.id" in broker.meta


async def _migrated(world: ZooKeeperWorld) -> bool | None:
    znode = world.read("/migration")
    return True if znode is not None and '"kraft_metadata_offset":-1' not in znode.text else None


@dataclass(frozen=True, slots=True)
class Disk:
    """The volume of a broker, and the scripts of its pod."""

    server: Server

    def run(self, script: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        """Runs a script, in which `kafka-server-start.sh` ends at once, and the storage tool is Kafka's."""
        home = self.server.home
        programs = home / "bin"
        programs.mkdir(exist_ok=True)
        tool = shlex.join(self.server.kafka.command(STORAGE_TOOL))
        for name, text in (("kafka-storage.sh", f'exec {tool} "$@"'), ("kafka-server-start.sh", "exit 0")):
            (programs / name).write_text(f"#!/bin/sh\n{text}\n")
            (programs / name).chmod(0o755)
        root = home / "volume-0"
        root.mkdir(exist_ok=True)
        if not (root / "kafka").exists():
            (root / "kafka").symlink_to(self.server.data)
        mounts = home / "mountinfo"
        mounts.write_text(f"1 1 8:1 / {root} rw - ext4 /dev/sda1 rw\n")
        for path, instead in (
            ("/dev/termination-log", home / "message"),
            (DATA_PATH, home / "volume"),
            ("/opt/kafka/bin", programs),
            ("/proc/self/mountinfo", mounts),
        ):
            script = script.replace(path, str(instead))
        meta = self.server.meta
        known = {
            "PATH": os.environ["PATH"],
            "KQ_VOLUMES": "1",
            "KQ_CLUSTER_ID": meta.get("cluster.id", ""),
            "KQ_NODE_ID": str(self.server.node_id),
            "KQ_DIRECTORY_ID_0": meta.get("directory.id", ""),
            "KQ_INTENT_0": "one format",
            "KQ_CONFIG": str(self.server.properties),
        }
        return subprocess.run(
            ["sh", "-c", script], env=known | environment, check=False, capture_output=True, text=True, timeout=60
        )

    def prepare(self) -> None:
        """What the start script does before Kafka starts with ZooKeeper."""
        done = self.run(scripts.run_with_zookeeper(OPEN, late=False))
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def disks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperWorld]:
    """A broker that uses ZooKeeper, and another one that is not started."""
    made = ZooKeeperWorld(ensure_kafka(RELEASE), tmp_path_factory.mktemp("disks"), brokers=(1, 2))
    try:
        made.start_zookeeper()
        made.start(made.brokers[1])
        made.registered(1, deadline_s=SLOW_S)
        yield made
    finally:
        made.close()


def fresh(world: ZooKeeperWorld) -> Server:
    """Broker 2, stopped and with an empty disk; its session has ended."""
    broker = world.brokers[2]
    broker.kill()
    until("the end of its session", lambda: world.read("/brokers/ids/2") is None)
    world.wipe(broker)
    broker.output.unlink(missing_ok=True)
    shutil.rmtree(broker.home / "volume-0", ignore_errors=True)
    return broker


async def test_a_disk_that_was_formatted_for_kraft(disks: ZooKeeperWorld) -> None:
    """ZooKeeper mode refuses version 1 of meta.properties; what the start script makes of it starts, with its id."""
    broker = fresh(disks)
    disks.format(broker)
    before = broker.meta
    assert before["version"] == "1"
    broker.mode = BrokerMode.ZOOKEEPER
    disks.start(broker)
    until("the broker ends", lambda: not broker.running, deadline_s=SLOW_S)
    assert REFUSED in broker.log
    Disk(broker).prepare()
    disks.start(broker)
    disks.registered(2, deadline_s=SLOW_S)
    assert broker.meta == {
        "version": "0",
        "broker.id": "2",
        "cluster.id": before["cluster.id"],
        "directory.id": before["directory.id"],
    }


async def test_a_disk_that_the_formatter_made(disks: ZooKeeperWorld) -> None:
    """A volume that the formatter's script formats starts with ZooKeeper, and keeps its directory id."""
    broker = fresh(disks)
    broker.data.mkdir()
    disks.write(broker)
    done = Disk(broker).run(scripts.FORMAT_ZOOKEEPER, KQ_CLUSTER_ID=disks.cluster_id)
    assert done.returncode == 0, done.stdout + done.stderr
    before = broker.meta
    broker.mode = BrokerMode.ZOOKEEPER
    disks.start(broker)
    disks.registered(2, deadline_s=SLOW_S)
    assert broker.meta == before
    assert len(before["directory.id"]) == 22


async def test_a_disk_of_an_earlier_broker(disks: ZooKeeperWorld) -> None:
    """A disk that Kafka made has no directory id; adoption adds one, which Kafka keeps."""
    broker = fresh(disks)
    broker.mode = BrokerMode.ZOOKEEPER
    disks.start(broker)
    disks.registered(2, deadline_s=SLOW_S)
    broker.stop()
    before = broker.meta
    assert "directory.id" not in before
    done = Disk(broker).run(scripts.ADOPT)
    assert done.returncode == 0, done.stdout + done.stderr
    adopted = broker.meta
    assert adopted == {**before, "directory.id": adopted["directory.id"]}
    disks.start(broker)
    try:
        disks.registered(2, deadline_s=SLOW_S)
    except NeverHappenedError:
        pytest.fail(broker.log[-3000:])
    assert broker.meta == adopted
