"""The model of ZooKeeper and of its driver: what was measured (docs/zookeeper-measured.md), and that it sees losses."""

from dataclasses import replace

import pytest
from tests.simulation.model.kafka.disk import Disk, Meta
from tests.simulation.model.kafka.process import Process, Software
from tests.simulation.model.kafka.zookeeper import CLUSTER, ZooKeeperModel
from tests.simulation.model.kafka.zookeeper_broker import MIGRATES, ROLES, Mode
from tests.simulation.model.world import World

from kafka_quorum.errors import ZooKeeperChanged
from kafka_quorum.model.beside import to_give_back
from kafka_quorum.model.ids import DirectoryID, NodeID, uuid_from_bytes
from kafka_quorum.model.zookeeper import DriverState, MigrationNode

pytestmark = pytest.mark.simulation
IDS = frozenset({NodeID(3000)})


def _world() -> tuple[World, ZooKeeperModel]:
    """A cluster of ZooKeeper with two brokers, for some seconds."""
    world = World()
    world.zookeeper.begin(CLUSTER, (1, 2))
    _passes(world, 10)
    return world, world.zookeeper


def _passes(world: World, steps: int) -> None:
    for _ in range(steps):
        world.step()


def _controller(world: World, *, migrates: bool = True, disk: Disk | None = None) -> Process:
    """The only controller of a quorum starts."""
    meta = Meta(
        cluster_id=CLUSTER, node_id=NodeID(3000), directory_id=DirectoryID(uuid_from_bytes(b"directory3000000"))
    )
    kept = disk or Disk(serial=1, files=True, meta=meta, static=True)
    return world.kraft.start(
        kept,
        node_id=NodeID(3000),
        address="10.0.0.1",
        host="controller",
        port=9093,
        listener="CONTROLLER",
        as_=Software(release="3.9.2", static=IDS, migrates=migrates),
    )


def _all(world: World, mode: Mode) -> None:
    """Every broker restarts in this mode."""
    for broker in world.zookeeper.brokers:
        world.zookeeper.stop(broker)
        broker.settings[ROLES] = "broker" if mode is Mode.KRAFT else ""
        broker.settings[MIGRATES] = str(mode is Mode.MIGRATES).lower()
        world.zookeeper.start(broker, 0.0)
    _passes(world, 10)


def _state(model: ZooKeeperModel) -> DriverState | None:
    return None if model.kraft is None else model.kraft.state


def _migrated() -> tuple[World, ZooKeeperModel]:
    """A cluster in dual write."""
    world, model = _world()
    _controller(world)
    _passes(world, 10)
    _all(world, Mode.MIGRATES)
    return world, model


def test_before_the_migration() -> None:
    """A broker leads, its claim is ephemeral, and clients are told that their changes are stored."""
    _, model = _world()
    assert model.leads
    assert model.controller is not None
    assert model.controller.ephemeral
    assert model.acknowledged == model.records != frozenset()


def test_controllers_create_migration_and_wait() -> None:
    """A controller creates `/migration` at once, without an offset, and waits for the brokers."""
    world, model = _world()
    _controller(world)
    _passes(world, 10)
    assert model.migration is not None
    assert not model.migration.copied
    assert _state(model) is DriverState.PRE_MIGRATION
    assert model.leads


def test_the_copy_waits_for_every_broker() -> None:
    """A broker with replicas that does not run keeps the driver from copying."""
    world, model = _world()
    model.stop(model.broker(2))
    _controller(world)
    model.broker(1).settings[MIGRATES] = "true"
    _passes(world, 20)
    assert _state(model) is DriverState.PRE_MIGRATION


def test_dual_write() -> None:
    """After the copy KRaft leads, its claim is persistent, and ZooKeeper follows."""
    world, model = _migrated()
    assert _state(model) is DriverState.MIGRATION
    assert not model.leads
    assert model.controller is not None
    assert not model.controller.ephemeral
    before = model.acknowledged
    _passes(world, 12)
    assert model.acknowledged > before
    assert model.kraft is not None
    assert len(model.kraft.records - model.records) <= 1
    assert not model.broken


def test_a_leader_without_zookeeper_ends_the_migration() -> None:
    """If a controller without the settings is elected in dual write, the migration is over for good."""
    world, model = _migrated()
    (process,) = model.controllers()
    world.kraft.stop(process)
    _controller(world, migrates=False, disk=process.disk)
    _passes(world, 10)
    assert _state(model) is DriverState.POST_MIGRATION


def test_a_stale_migration_loses_the_cluster() -> None:
    """With an offset of another quorum nothing is copied, and the driver empties ZooKeeper: the model says so."""
    world, model = _world()
    model.migration = MigrationNode(version=3, raw="stale", kraft_metadata_offset=70)
    _controller(world)
    _passes(world, 10)
    _all(world, Mode.MIGRATES)
    assert any(rule == "7, records" and "never had" in text for rule, text in model.broken)


def test_two_sides_that_lead_are_seen() -> None:
    """If the claim is deleted under a running controller, a broker leads as well: the model says so."""
    world, model = _migrated()
    model.controller = None
    _passes(world, 10)
    assert any(rule == "7, two sides" for rule, _ in model.broken)


def test_records_that_zookeeper_lacks_are_seen() -> None:
    """If ZooKeeper leads again without what KRaft acknowledged, the model says so."""
    world, model = _migrated()
    model.lags = True
    _passes(world, 20)
    world.kraft.stop(model.controllers()[0])
    model.give_back(to_give_back(model.seen(states=True)))
    _passes(world, 10)
    assert any(rule == "7, records" for rule, _ in model.broken)


def test_an_epoch_that_is_too_low_is_seen() -> None:
    """A broker that is elected below the epoch of a partition cannot change its leader: the model says so."""
    world, model = _migrated()
    world.kraft.stop(model.controllers()[0])
    model.state_epoch = 40
    model.give_back(replace(to_give_back(model.seen(states=True)), epoch=None))
    _passes(world, 10)
    assert any(rule == "7, epochs" for rule, _ in model.broken)


def test_an_epoch_under_a_controller_of_zookeeper_is_seen() -> None:
    """A broker that stays the controller cannot write any more after a write of ours: the model says so."""
    world, model = _world()
    _controller(world)
    _passes(world, 10)
    assert model.leads
    world.kraft.stop(model.controllers()[0])
    what = to_give_back(model.seen(states=True))
    model.give_back(what)
    assert not model.broken
    model.give_back(replace(to_give_back(model.seen(states=True)), epoch=model.epoch.epoch + 1))
    assert any(rule == "7, epochs" for rule, _ in model.broken)


def test_the_give_back_compares() -> None:
    """What has changed since the look fails the whole transaction."""
    world, model = _migrated()
    what = to_give_back(model.seen(states=True))
    world.kraft.stop(model.controllers()[0])
    model.touch()
    with pytest.raises(ZooKeeperChanged):
        model.give_back(what)
    model.give_back(to_give_back(model.seen(states=True)))
    _passes(world, 10)
    assert model.leads
    assert not model.broken


def test_the_owner_follows_the_contract_one_by_one() -> None:
    """Without a contract the owner changes nothing."""
    world, model = _world()
    assert not world.owner.busy
    assert {one.mode for one in model.brokers} == {Mode.PLAIN}
