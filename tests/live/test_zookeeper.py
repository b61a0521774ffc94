"""The migration from ZooKeeper (KIP-866) on real servers: one journey to KRaft, the way back, and what stops it.

What is measured here is in docs/zookeeper-measured.md.
"""

import asyncio
import contextlib
import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from confluent_kafka import KafkaException
from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, NoAuthError, NodeExistsError, RolledBackError
from kazoo.security import make_acl, make_digest_acl
from kio.schema.api_versions.v4.response import ApiVersionsResponse
from kio.static.protocol import ResponsePayload
from tests.live.broker_worlds import note
from tests.live.jars import Kafka, ensure_kafka
from tests.live.zookeeper_world import (
    DEADLINE_S,
    MIGRATION,
    NONE,
    POST_MIGRATION,
    PRE_MIGRATION,
    TOPIC,
    BrokerMode,
    ControllerMode,
    Server,
    Znode,
    ZooKeeperWorld,
    until,
)

from kafka_quorum.errors import KafkaError
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import ClusterAnswer, Endpoint, QuorumAnswer
from kafka_quorum.wire.admin import KafkaControllers
from kafka_quorum.wire.broker_admin import KafkaBrokers
from kafka_quorum.wire.request import Request, typed
from kafka_quorum.wire.requests import api_versions
from testbed.agent import ensure_agent
from testbed.config import default_paths

pytestmark = [pytest.mark.live, pytest.mark.timeout(900)]

CONTROLLER = 3000
MODES = (
    "process.roles",
    "zookeeper.metadata.migration.enable",
    "zookeeper.connect",
    "controller.quorum.voters",
    "inter.broker.protocol.version",
    "control.plane.listener.name",
)
WRONG = 987_654
"""A version that no znode has here."""


@pytest.fixture(scope="session")
def kafka() -> Kafka:
    """The only release that migrates, and that the operator has as images."""
    return ensure_kafka("3.9.2")


@pytest.fixture(scope="module")
def new_world(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., ZooKeeperWorld]]:
    """Makes worlds; each ends with its test or with the module."""
    made: list[ZooKeeperWorld] = []
    agent = ensure_agent(default_paths())

    def make(
        name: str,
        *,
        brokers: Sequence[int] = (1, 2),
        controllers: Sequence[int] = (CONTROLLER,),
        config: Mapping[str, str] | None = None,
    ) -> ZooKeeperWorld:
        directory = tmp_path_factory.mktemp(name)
        made.append(
            ZooKeeperWorld(
                kafka, directory, agent=agent, brokers=brokers, controllers=controllers, broker_config=config
            )
        )
        return made[-1]

    yield make
    for world in made:
        world.close()


# The journey


class Requests(KafkaControllers):
    """The operator's client, and the one field of ApiVersions that it leaves out."""

    async def migration_ready(self, endpoint: Endpoint) -> tuple[bool, dict[str, int]]:
        """Whether a server reports that it is ready to migrate, and the highest levels that it supports."""

        def read(response: ResponsePayload) -> tuple[bool, dict[str, int]]:
            answer = typed(response, ApiVersionsResponse)
            return answer.zk_migration_ready, {row.name: int(row.max_version) for row in answer.supported_features}

        return await self._send(
            endpoint, Request(api=api_versions.API, build=lambda _: api_versions.message(), read=read)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One look at everything, at one stage. `quorum` is the leader's answer, None before there is one."""

    controller: Znode
    epoch: int
    migration: Znode | None
    registered: set[int]
    states: dict[str, dict[str, Any]]
    metrics: dict[int, dict[str, float]]
    active: int | None
    meta: dict[int, dict[str, str]]
    settings: dict[str, str | None]
    ready: dict[int, tuple[bool, dict[str, int]]]
    quorum: QuorumAnswer | None
    clusters: list[ClusterAnswer]


@dataclass(slots=True)
class Journey:
    """The stages that were seen, by name."""

    stages: dict[str, Stage] = field(default_factory=dict)


def seen(world: ZooKeeperWorld) -> Stage:
    """A look at everything."""
    controller, active = world.read("/controller"), world.active()
    assert controller is not None
    settings = world.described(world.brokers[1])
    ready, quorum, clusters = asyncio.run(_asked(world))
    return Stage(
        controller=controller,
        epoch=world.epoch(),
        migration=world.read("/migration"),
        registered={int(each) for each in world.children("/brokers/ids")},
        states=world.states(),
        metrics={each.node_id: world.metrics(each) for each in world.controllers.values()},
        active=active.node_id if active else None,
        meta={each.node_id: each.meta for each in world.brokers.values()},
        settings={name: settings.get(name) for name in MODES},
        ready=ready,
        quorum=quorum,
        clusters=clusters,
    )


async def _asked(
    world: ZooKeeperWorld,
) -> tuple[dict[int, tuple[bool, dict[str, int]]], QuorumAnswer | None, list[ClusterAnswer]]:
    client = Requests()
    quorum: QuorumAnswer | None = None
    try:
        running = [each for each in world.servers if each.running]
        ready = {each.node_id: await client.migration_ready(each.endpoint) for each in running}
        controllers = [each for each in world.controllers.values() if each.running]
        for each in controllers:
            with contextlib.suppress(KafkaError):
                quorum = await client.describe_quorum(each.endpoint)
        return ready, quorum, [await client.describe_cluster(each.endpoint) for each in controllers]
    finally:
        await client.close()


@pytest.fixture(scope="module")
def journey(new_world: Callable[..., ZooKeeperWorld]) -> Journey:
    """From ZooKeeper to KRaft, with a look at each stage."""
    world, made = new_world("journey", controllers=(3000, 3001)), Journey()
    world.open()
    world.topic(min_insync_replicas="1")
    made.stages["before"] = seen(world)
    world.provision()
    note("pre-migration", after_s=round(world.reaches(PRE_MIGRATION), 1))
    made.stages["controllers"] = seen(world)
    for broker in world.brokers.values():
        world.restart(broker, BrokerMode.MIGRATION)
        world.answers(broker)
        registered = partial(_metric_is, world, "MigratingZkBrokerCount", broker.node_id)
        until(f"broker {broker.node_id} as registered", registered)
        if broker.node_id == 1:
            made.stages["one broker"] = seen(world)
    note("dual write", after_s=round(world.reaches(MIGRATION), 1))
    world.topic("second")
    until("the second topic in ZooKeeper", lambda: len([each for each in world.states() if "second" in each]) > 1)
    made.stages["dual write"] = seen(world)
    world.roll(BrokerMode.KRAFT)
    until("no broker that migrates", partial(_metric_is, world, "MigratingZkBrokerCount", 0))
    made.stages["KRaft brokers"] = seen(world)
    for controller in world.controllers.values():
        world.restart(controller, ControllerMode.KRAFT)
    world.reaches(POST_MIGRATION)
    for broker in world.brokers.values():
        until(f"a leader for broker {broker.node_id}", lambda: -1 not in world.leaders().values())
    world.produce()
    made.stages["finalized"] = seen(world)
    world.close()
    return made


def _metric_is(world: ZooKeeperWorld, name: str, value: float) -> bool:
    active = world.active()
    return active is not None and world.metric(active, name) == value


def test_controllers_create_an_empty_migration_znode(journey: Journey) -> None:
    """Controllers that are made create /migration at once, with -1 everywhere, and leave /controller alone."""
    before, made = journey.stages["before"], journey.stages["controllers"]
    assert before.migration is None
    assert made.migration is not None
    assert json.loads(made.migration.text) == {
        "version": 0,
        "kraft_metadata_offset": -1,
        "kraft_controller_id": -1,
        "kraft_metadata_epoch": -1,
        "kraft_controller_epoch": -1,
    }
    assert made.migration.stat.version == 0
    assert made.controller == before.controller
    assert before.controller.ephemeral
    assert json.loads(before.controller.text)["kraftControllerEpoch"] == -1


def test_dual_write_replaces_the_controller_znode(journey: Journey) -> None:
    """In dual write /controller is persistent, names the active controller, and has the epoch of KRaft."""
    one, dual = journey.stages["one broker"], journey.stages["dual write"]
    assert not dual.controller.ephemeral
    assert dual.controller.stat.version == 0
    assert dual.quorum is not None
    held = json.loads(dual.controller.text)
    assert (held["brokerid"], held["kraftControllerEpoch"]) == (dual.active, dual.quorum.leader_epoch)
    assert dual.epoch > one.epoch
    assert dual.migration is not None
    assert json.loads(dual.migration.text)["kraft_metadata_offset"] >= 0
    assert json.loads(dual.migration.text)["kraft_controller_id"] == dual.active


def test_partition_states_have_the_epoch_of_kraft(journey: Journey) -> None:
    """A state that dual write wrote has the KRaft epoch, which has nothing to do with /controller_epoch."""
    dual = journey.stages["dual write"]
    epochs = {dual.states[f"second-{index}"]["controller_epoch"] for index in (0, 1)}
    assert epochs == {json.loads(dual.controller.text)["kraftControllerEpoch"]}


def test_every_controller_reports_the_state(journey: Journey) -> None:
    """ZkMigrationState is reported by all controllers, and ActiveControllerCount is 1 at one of them."""
    expected = {"controllers": 2.0, "one broker": 2.0, "dual write": 1.0, "KRaft brokers": 1.0, "finalized": 3.0}
    for name, state in expected.items():
        metrics = journey.stages[name].metrics
        assert {_of(each, "ZkMigrationState") for each in metrics.values()} == {state}, name
        assert sorted(_of(each, "ActiveControllerCount") or 0 for each in metrics.values()) == [0, 1], name
        lags = {_of(each, "ZkWriteBehindLag") is None for each in metrics.values()}
        assert lags == {name == "finalized"}, name


def _of(metrics: dict[str, float], name: str) -> float | None:
    return metrics.get(f"kafka_controller_KafkaController_{name}")


def test_the_number_of_migrating_brokers(journey: Journey) -> None:
    """MigratingZkBrokerCount follows the brokers into migration mode, and out of it."""
    expected = {"controllers": 0, "one broker": 1, "dual write": 2, "KRaft brokers": 0, "finalized": 0}
    for name, count in expected.items():
        stage = journey.stages[name]
        assert stage.active is not None
        assert _of(stage.metrics[stage.active], "MigratingZkBrokerCount") == count, name


def test_settings_name_the_mode_of_a_broker(journey: Journey) -> None:
    """DescribeConfigs gives process.roles and the flag of the migration: together they are the mode."""
    expected = {"before": ("", "false"), "one broker": ("", "true"), "dual write": ("", "true")}
    expected |= {"KRaft brokers": ("broker", "false"), "finalized": ("broker", "false")}
    for name, mode in expected.items():
        settings = journey.stages[name].settings
        assert (settings["process.roles"], settings["zookeeper.metadata.migration.enable"]) == mode, name
        assert settings["inter.broker.protocol.version"] == "3.9-IV0", name
        assert settings["control.plane.listener.name"] is None, name
        assert (settings["zookeeper.connect"] is None) == (mode[0] == "broker"), name
        assert bool(settings["controller.quorum.voters"]) == (name != "before"), name


def test_a_disk_keeps_version_0_and_gets_a_directory_id(journey: Journey) -> None:
    """meta.properties gets a directory id in migration mode, keeps it, and is never rewritten to version 1."""
    assert "directory.id" not in journey.stages["before"].meta[1]
    kept = journey.stages["one broker"].meta[1]
    assert kept["directory.id"]
    assert (kept["version"], kept["broker.id"]) == ("0", "1")
    assert all(journey.stages[name].meta[1] == kept for name in ("dual write", "KRaft brokers", "finalized"))


def test_api_versions_show_who_is_ready(journey: Journey) -> None:
    """A server with the flag reports zk_migration_ready; a broker of ZooKeeper reports no feature at all."""
    assert journey.stages["before"].ready == {1: (False, {}), 2: (False, {})}
    one = journey.stages["one broker"].ready
    assert (one[1], one[2], one[CONTROLLER][0]) == ((True, {}), (False, {}), True)
    assert one[CONTROLLER][1]["metadata.version"] == 21
    assert not any(ready for ready, _ in journey.stages["finalized"].ready.values())


def test_a_quorum_answers_as_always(journey: Journey) -> None:
    """In pre-migration the leader answers DescribeQuorum, with brokers in migration mode as observers."""
    stage = journey.stages["one broker"]
    assert stage.quorum is not None
    assert {int(row.key.node_id) for row in stage.quorum.voters} == {3000, 3001}
    observers = {int(row.key.node_id): row.key.directory_id for row in stage.quorum.observers}
    assert observers == {1: stage.meta[1]["directory.id"]}
    assert {tuple(map(int, each.controller_ids)) for each in stage.clusters} == {(3000, 3001)}


def test_what_is_left_after_the_end(journey: Journey) -> None:
    """After the end ZooKeeper keeps /controller and /migration as they were, and no broker."""
    kraft, end = journey.stages["KRaft brokers"], journey.stages["finalized"]
    assert kraft.registered == end.registered == set()
    assert end.controller == kraft.controller
    assert end.epoch == kraft.epoch
    assert end.migration is not None


# Rights in ZooKeeper


def test_rights_are_proved_without_a_change(new_world: Callable[..., ZooKeeperWorld]) -> None:
    """A request that must fail anyway is refused for the missing right first, and nothing is changed by it."""
    world = new_world("rights", brokers=(), controllers=())
    world.start_zookeeper()
    owner = KazooClient(hosts=world.connect, auth_data=[("digest", "kafka:secret")])
    owner.start()
    acl = [make_digest_acl("kafka", "secret", all=True), make_acl("world", "anyone", read=True)]
    for path in ("/locked", "/locked/a"):
        owner.create(path, b"1", acl=acl)
    stranger = world.zookeeper
    probes: tuple[tuple[Callable[[KazooClient], object], type[Exception]], ...] = (
        (lambda client: client.set("/locked/a", b"2", version=WRONG), BadVersionError),
        (lambda client: client.create("/locked/a", b"2"), NodeExistsError),
        (lambda client: client.delete("/locked/a", version=WRONG), BadVersionError),
    )
    for probe, answer in probes:
        with pytest.raises(answer):
            probe(owner)
        with pytest.raises(NoAuthError):
            probe(stranger)
    assert [type(each) for each in _failing(owner)] == [RolledBackError, RolledBackError, BadVersionError]
    assert type(_failing(stranger)[0]) is NoAuthError
    assert owner.get("/locked/a")[0] == b"1"
    assert owner.get_children("/locked") == ["a"]
    owner.stop()
    owner.close()
    world.close()


def _failing(client: KazooClient) -> list[object]:
    """A transaction whose last check must fail: its results, which are errors."""
    transaction = client.transaction()
    transaction.set_data("/locked/a", b"2")
    transaction.delete("/locked/a")
    transaction.check("/locked", WRONG)
    return list(transaction.commit())


# The way back


@pytest.mark.parametrize("raised", [True, pytest.param(False, marks=pytest.mark.full)])
def test_the_epoch_decides_whether_partitions_move(new_world: Callable[..., ZooKeeperWorld], *, raised: bool) -> None:
    """After a roll back, partitions move only if /controller_epoch was raised above the KRaft epoch (KAFKA-20488)."""
    world = new_world(f"epochs-{raised}")
    controller = world.controllers[CONTROLLER]
    world.open()
    world.provision()
    world.reaches(PRE_MIGRATION)
    for _ in range(5):
        controller.kill()
        world.start(controller)
        until("an active controller", world.active)
    world.roll(BrokerMode.MIGRATION)
    world.reaches(MIGRATION)
    world.topic("dual", min_insync_replicas="1")
    until("the topic's states in ZooKeeper", lambda: len([each for each in world.states() if "dual" in each]) > 1)
    written = max(state["controller_epoch"] for state in world.states().values())
    assert written > world.epoch()
    controller.stop()
    taken = world.give_back(raise_epoch=raised)
    note("given back", epoch=world.epoch(), written=written, controller=taken.text)
    assert (world.epoch() > written) == raised
    gone = 2 if json.loads(taken.text)["brokerid"] == 1 else 1
    led_before = {name for name, state in world.states().items() if state["leader"] == gone}
    assert led_before
    world.brokers[gone].stop()
    if raised:
        until("every leader moved", lambda: gone not in {each["leader"] for each in world.states().values()})
        world.produce("dual")
    else:
        until("the refusal", lambda: "Aborted leader election for partition" in world.brokers[3 - gone].log)
        assert led_before <= {name for name, state in world.states().items() if state["leader"] == gone}
        assert set(world.leaders("dual").values()) != {3 - gone}
        world.restart(world.brokers[gone], BrokerMode.ZOOKEEPER)
        world.answers(world.brokers[gone])
        world.zookeeper.set("/controller_epoch", str(written + 1).encode())
        world.delete("/controller")
        world.led_by_broker()
        assert world.epoch() > written
        world.brokers[gone].stop()
        until("every leader moved", lambda: gone not in {each["leader"] for each in world.states().values()})
    world.close()


@pytest.mark.full
def test_an_epoch_that_is_raised_under_a_broker_stops_it(new_world: Callable[..., ZooKeeperWorld]) -> None:
    """A broker that leads stays, and writes nothing any more: a topic gets no leader until the broker is replaced."""
    world = new_world("raised", controllers=())
    world.open()
    world.topic("before", min_insync_replicas="1")
    until("its states", lambda: len([each for each in world.states() if "before" in each]) > 1)
    held = world.read("/controller")
    world.zookeeper.set("/controller_epoch", str(world.epoch() + 1).encode())
    with contextlib.suppress(TimeoutError, KafkaException):
        world.topic("during", min_insync_replicas="1")
    until("the topic in ZooKeeper", lambda: "during" in world.children("/brokers/topics"))
    said = "Controller epoch zkVersion check fails"
    until("a write fails", lambda: any(said in each.log for each in world.brokers.values()))
    assert not [each for each in world.states() if "during" in each]
    assert world.read("/controller") == held
    world.delete("/controller")
    world.led_by_broker()
    until("its states", lambda: len([each for each in world.states() if "during" in each]) > 1)
    world.produce("during")
    world.close()


@pytest.mark.full
def test_a_new_leader_reports_no_lag_before_it_has_written(new_world: Callable[..., ZooKeeperWorld]) -> None:
    """A process reports a lag of 0 until it has written to ZooKeeper, which may lack acknowledged metadata meanwhile.

    What shows that it has written is the epoch of its metadata in /migration: that of its election.
    """
    world = new_world("new-leader", brokers=(1,))
    controller, (keeper,) = world.controllers[CONTROLLER], world.zookeepers
    world.open()
    world.topic("many", partitions=300, replicas=1)
    world.provision()
    world.reaches(PRE_MIGRATION)
    world.roll(BrokerMode.MIGRATION)
    world.reaches(MIGRATION)
    world.roll(BrokerMode.KRAFT)
    assert keeper.process is not None
    keeper.process.freeze()
    world.topic("acknowledged", partitions=1, replicas=1)
    controller.kill()
    keeper.process.thaw()
    world.start(controller)
    looks = list(_looks(world, controller))
    assert (0.0, True) in {(each.lag, each.lacks) for each in looks}
    written = [each for each in looks if each.written == each.epoch]
    assert written
    assert not any(each.lacks for each in written)
    note("a new leader", looks=len(looks), unwritten=len(looks) - len(written))
    world.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """A leader's lag and epoch, the epoch in /migration, and whether ZooKeeper lacks the topic."""

    lag: float
    epoch: float
    written: int
    lacks: bool


def _looks(world: ZooKeeperWorld, controller: Server) -> Iterator[_Look]:
    """Looks at a controller from its election to the third one in which it has written."""
    written, end_s = 0, time.monotonic() + DEADLINE_S
    while written < 3 and time.monotonic() < end_s:
        metrics = world.metrics(controller)
        if (_of(metrics, "ActiveControllerCount"), _of(metrics, "ZkMigrationState")) != (1, MIGRATION):
            continue
        migration, lacks = world.read("/migration"), world.read("/brokers/topics/acknowledged") is None
        assert migration is not None
        epoch, lag = metrics["kafka_server_raft_metrics_current_epoch"], _of(metrics, "ZkWriteBehindLag")
        assert lag is not None
        found = json.loads(migration.text)["kraft_metadata_epoch"]
        written += found == epoch
        yield _Look(lag=lag, epoch=epoch, written=found, lacks=lacks)


@pytest.mark.full
def test_brokers_return_from_kraft(new_world: Callable[..., ZooKeeperWorld]) -> None:
    """KRaft brokers go back to migration mode and to ZooKeeper, with their disks, topics and records."""
    world = new_world("back")
    _dual_write(world)
    world.roll(BrokerMode.KRAFT)
    world.topic("made_in_kraft")
    world.produce("made_in_kraft")
    disks = {each.node_id: each.meta for each in world.brokers.values()}
    world.roll(BrokerMode.MIGRATION)
    world.registered(*world.brokers)
    until("both as migrating", partial(_metric_is, world, "MigratingZkBrokerCount", 2))
    assert world.state() == MIGRATION
    assert all("Deleting local metadata log from" in each.log for each in world.brokers.values())
    world.controllers[CONTROLLER].stop()
    world.give_back(raise_epoch=True)
    world.roll(BrokerMode.ZOOKEEPER)
    assert {each.node_id: each.meta for each in world.brokers.values()} == disks
    world.produce("made_in_kraft")
    assert world.read("/migration") is None
    world.close()


@pytest.mark.full
def test_a_stale_migration_znode_deletes_every_topic(new_world: Callable[..., ZooKeeperWorld]) -> None:
    """New controllers that find the offset of an earlier attempt copy nothing, and empty ZooKeeper, in state 2."""
    world = new_world("stale")
    _dual_write(world)
    controller = world.controllers[CONTROLLER]
    controller.stop()
    world.wipe(controller)
    world.delete("/controller")
    world.led_by_broker()
    world.roll(BrokerMode.ZOOKEEPER)
    assert TOPIC in world.children("/brokers/topics")
    world.provision()
    world.reaches(PRE_MIGRATION)
    world.roll(BrokerMode.MIGRATION)
    until("no topic in ZooKeeper", lambda: not world.children("/brokers/topics"))
    assert "Made the following ZK writes when reconciling with KRaft state: {DeleteTopic=" in controller.log
    assert world.state() == PRE_MIGRATION
    assert (world.brokers[1].data / f"{TOPIC}-0").is_dir()
    world.close()


@pytest.mark.full
def test_a_broker_waits_for_controllers_that_are_gone(new_world: Callable[..., ZooKeeperWorld]) -> None:
    """A broker in migration mode that is told to stop without controllers does not end within twenty seconds."""
    world = new_world("waits")
    _dual_write(world)
    world.controllers[CONTROLLER].stop()
    process = world.brokers[1].process
    assert process is not None
    process.terminate()
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(20.0)
    world.close()


def _dual_write(world: ZooKeeperWorld) -> None:
    """From nothing to dual write, with one topic."""
    world.open()
    world.topic(min_insync_replicas="1")
    world.provision()
    world.reaches(PRE_MIGRATION)
    world.roll(BrokerMode.MIGRATION)
    world.reaches(MIGRATION)


# What stops a migration


@pytest.mark.full
def test_what_stops_a_migration(new_world: Callable[..., ZooKeeperWorld]) -> None:
    """A lower protocol version and a dead broker with replicas each keep the state at 2; the log names the broker."""
    world = new_world("stops", brokers=(1, 2, 3))
    world.open()
    world.topic(partitions=3, replicas=3, min_insync_replicas="1")
    world.provision()
    world.reaches(PRE_MIGRATION)
    controller = world.controllers[CONTROLLER]
    world.restart(world.brokers[3], BrokerMode.MIGRATION, inter_broker_protocol_version="3.8")
    world.answers(world.brokers[3])
    lower = "does not support finalized version 21 of metadata.version"
    until("the refusal", lambda: lower in controller.log)
    world.brokers[3].kill()
    world.brokers[3].config.clear()
    for node_id in (1, 2):
        world.restart(world.brokers[node_id], BrokerMode.MIGRATION)
        world.answers(world.brokers[node_id])
    waits = "Still waiting for ZK brokers [3] found in metadata to register with KRaft."
    until("the driver's reason", lambda: waits in controller.log)
    assert world.state() == PRE_MIGRATION
    world.start(world.brokers[3])
    world.reaches(MIGRATION)
    world.close()


@pytest.mark.full
def test_a_broker_that_was_killed_in_migration_mode_comes_back(new_world: Callable[..., ZooKeeperWorld]) -> None:
    """A broker that is killed before the copy registers again after its session, and the migration goes on with it."""
    world = new_world("killed")
    world.open()
    world.topic(min_insync_replicas="1")
    world.provision()
    world.reaches(PRE_MIGRATION)
    broker = world.brokers[1]
    world.restart(broker, BrokerMode.MIGRATION)
    world.answers(broker)
    until("broker 1 as registered", partial(_metric_is, world, "MigratingZkBrokerCount", 1))
    broker.kill()
    until("the end of its session", lambda: "1" not in world.children("/brokers/ids"))
    world.start(broker)
    world.answers(broker)
    world.restart(world.brokers[2], BrokerMode.MIGRATION)
    world.answers(world.brokers[2])
    note("dual write", after_s=round(world.reaches(MIGRATION), 1))
    world.topic("second")
    until("no replica is behind", lambda: all(len(state["isr"]) == 2 for state in world.states().values()))
    world.close()


@pytest.mark.full
def test_a_broker_that_is_gone_for_good_is_unregistered(new_world: Callable[..., ZooKeeperWorld]) -> None:
    """A broker that died in migration mode counts as one that migrates until a person unregisters it."""
    world = new_world("gone")
    world.open()
    world.provision()
    world.reaches(PRE_MIGRATION)
    world.roll(BrokerMode.MIGRATION)
    world.reaches(MIGRATION)
    world.brokers[2].kill()
    until("the end of its session", lambda: "2" not in world.children("/brokers/ids"))
    world.restart(world.brokers[1], BrokerMode.KRAFT)
    world.answers(world.brokers[1])
    until("one broker that migrates", partial(_metric_is, world, "MigratingZkBrokerCount", 1))
    asyncio.run(_unregister(world.controllers[CONTROLLER], 2))
    until("no broker that migrates", partial(_metric_is, world, "MigratingZkBrokerCount", 0))
    assert world.state() == MIGRATION
    world.close()


async def _unregister(controller: Server, node_id: int) -> None:
    client = KafkaBrokers()
    try:
        await client.unregister_broker(controller.endpoint, NodeID(node_id))
    finally:
        await client.close()


@pytest.mark.full
def test_a_broker_with_the_id_of_a_controller(new_world: Callable[..., ZooKeeperWorld]) -> None:
    """In migration mode such a broker elects itself leader of a metadata log of its own, and answers clients."""
    more = {"broker.id.generation.enable": "false"}
    world = new_world("same", brokers=(CONTROLLER,), config=more)
    world.open()
    world.provision()
    world.reaches(PRE_MIGRATION)
    broker = world.brokers[CONTROLLER]
    world.restart(broker, BrokerMode.MIGRATION)
    world.answers(broker)
    assert "Completed transition to Leader(localReplicaKey=ReplicaKey(id=3000" in broker.log
    world.close()


@pytest.mark.full
def test_controllers_without_the_flag_never_migrate(new_world: Callable[..., ZooKeeperWorld]) -> None:
    """Controllers that were started without the flag show state 0, and end when they get it."""
    world = new_world("unflagged", brokers=(1,))
    world.open()
    controller = world.controllers[CONTROLLER]
    world.format(controller)
    controller.mode = ControllerMode.KRAFT
    world.start(controller)
    world.reaches(NONE)
    assert world.read("/migration") is None
    world.restart(controller, ControllerMode.MIGRATION)
    until("its end", lambda: not controller.running)
    assert "Should not have ZK migrations enabled on a cluster that was created in KRaft mode." in controller.log
    world.close()


@pytest.mark.full
def test_a_formatted_disk_is_refused_in_zookeeper_mode(new_world: Callable[..., ZooKeeperWorld]) -> None:
    """A disk that StorageTool formatted serves a migrating broker, not one of ZooKeeper, until its version is 0."""
    world = new_world("formatted")
    world.start_zookeeper()
    first, formatted = world.brokers[1], world.brokers[2]
    world.start(first)
    world.answers(first)
    world.format(formatted)
    assert formatted.meta["version"] == "1"
    _refused(world, formatted)
    world.provision()
    world.reaches(PRE_MIGRATION)
    formatted.mode = BrokerMode.MIGRATION
    world.start(formatted)
    world.answers(formatted)
    assert formatted.meta["version"] == "1"
    formatted.stop()
    _refused(world, formatted)
    path = formatted.data / "meta.properties"
    directory_id = formatted.meta["directory.id"]
    path.write_text(path.read_text().replace("version=1", "version=0").replace("node.id", "broker.id"))
    world.start(formatted)
    world.answers(formatted)
    assert formatted.meta["directory.id"] == directory_id
    world.close()


def _refused(world: ZooKeeperWorld, broker: Server) -> None:
    broker.mode = BrokerMode.ZOOKEEPER
    world.start(broker)
    until("its end", lambda: not broker.running)
    assert "ZK-based brokers that are not migrating only support version 0" in broker.log
    assert broker.meta["version"] == "1"
