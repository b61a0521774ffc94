"""A Kafka cluster with ZooKeeper on loopback, and its way to KRaft and back (KIP-866), made of real servers.

Brokers run in one of three modes on the same log directory; controllers migrate, or are done with it. A restart with
another mode is `write` and `restart`. Everything that the world starts ends with `close()`. All of it blocks.
"""

import json
import shutil
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.cimpl import NewTopic
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kazoo.protocol.states import ZnodeStat
from tests.live import topics
from tests.live.jars import Kafka
from tests.live.ports import HOST, free_port
from tests.live.process import ServerProcess
from tests.live.quorum import LISTENER, LOGGING, new_uuid
from tests.live.storage import Format, ModeMissing, read_properties, run_format
from tests.live.waiting import NeverHappenedError

from kafka_quorum.model.ids import ClusterID, NodeID
from kafka_quorum.model.quorum import Endpoint

INTERNAL: Final = "PLAINTEXT"
TOPIC: Final = "orders"
NONE, MIGRATION, PRE_MIGRATION, POST_MIGRATION, ZK = range(5)
"""The values of the metric ZkMigrationState in 3.9.2."""
AGENT_CONFIG: Final = """\
startDelaySeconds: 0
lowercaseOutputName: false
includeObjectNames:
  - "kafka.controller:type=KafkaController,name=*"
  - "kafka.server:type=raft-metrics"
rules:
  - pattern: "kafka.controller<type=KafkaController, name=([A-Za-z]+)><>Value: (.+)"
    name: "kafka_controller_KafkaController_$1"
    value: "$2"
    type: GAUGE
  - pattern: "kafka.server<type=raft-metrics><>(current-leader|current-epoch|high-watermark|log-end-offset): (.+)"
    name: "kafka_server_raft_metrics_$1"
    value: "$2"
    type: GAUGE
"""
"""For the JMX agent: what a migration needs of a controller, and nothing else."""
DEADLINE_S: Final = 150.0
"""For seven servers on a machine of others too: a stop alone took 38 s there."""
_STOP_S: Final = 90.0
_METRICS_S: Final = 3.0
_CLIENT_S: Final = 20.0
_PAUSE_S: Final = 0.05
T = TypeVar("T")


class BrokerMode(Enum):
    """What a broker's properties make of it."""

    ZOOKEEPER = "zookeeper"
    MIGRATION = "migration"
    KRAFT = "kraft"


class ControllerMode(Enum):
    """Whether a controller migrates: `KRAFT` is the end of the migration."""

    MIGRATION = "migration"
    KRAFT = "kraft"


@dataclass(slots=True, kw_only=True)
class Server:
    """One server of Kafka: its address, its directory, and its process if it has one."""

    node_id: int
    port: int
    home: Path
    kafka: Kafka
    metrics_port: int
    mode: BrokerMode | ControllerMode
    config: dict[str, str] = field(default_factory=dict)
    process: ServerProcess | None = None

    @property
    def properties(self) -> Path:
        """Its server.properties."""
        return self.home / "server.properties"

    @property
    def data(self) -> Path:
        """Its log directory."""
        return self.home / "data"

    @property
    def meta(self) -> dict[str, str]:
        """Its meta.properties; empty if there is none."""
        path = self.data / "meta.properties"
        return read_properties(path) if path.exists() else {}

    @property
    def output(self) -> Path:
        """Its output, over all its runs."""
        return self.home / "server.log"

    @property
    def log(self) -> str:
        """The text of its output."""
        return self.output.read_text(errors="replace") if self.output.exists() else ""

    @property
    def endpoint(self) -> Endpoint:
        """The address where it listens."""
        return Endpoint(node_id=NodeID(self.node_id), host=HOST, port=self.port)

    @property
    def running(self) -> bool:
        """Whether its process runs."""
        return self.process is not None and self.process.exit_code is None

    def stop(self) -> None:
        """SIGTERM, and its end."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(_STOP_S)

    def kill(self) -> None:
        """SIGKILL, and its end."""
        if self.process is not None:
            self.process.kill()


@dataclass(slots=True)
class ZooKeeperNode:
    """One server of the ensemble."""

    number: int
    home: Path
    port: int
    peer_ports: tuple[int, int]
    process: ServerProcess | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Znode:
    """What one znode holds."""

    text: str
    stat: ZnodeStat

    @property
    def ephemeral(self) -> bool:
        """Whether it ends with its session."""
        return bool(self.stat.ephemeralOwner)


def until(what: str, look: Callable[[], T | None], *, deadline_s: float = DEADLINE_S) -> T:
    """The first result of `look` that is neither None nor false (NeverHappenedError)."""
    end_s = time.monotonic() + deadline_s
    while time.monotonic() < end_s:
        if seen := look():
            return seen
        time.sleep(_PAUSE_S)
    raise NeverHappenedError(f"{what}: not within {deadline_s:g} s")


class ZooKeeperWorld:
    """ZooKeeper, brokers and controllers; brokers begin in ZooKeeper mode, controllers begin as migrating.

    `broker_config` and `controller_config` are added to the properties of each; an empty value removes a setting.
    """

    def __init__(
        self,
        kafka: Kafka,
        directory: Path,
        *,
        brokers: Sequence[int] = (1, 2),
        controllers: Sequence[int] = (3000,),
        ensemble: int = 1,
        agent: Path | None = None,
        broker_config: Mapping[str, str] | None = None,
        controller_config: Mapping[str, str] | None = None,
    ) -> None:
        """Nothing is started."""
        self.kafka, self.directory, self._agent = kafka, directory, agent
        self.broker_config, self.controller_config = dict(broker_config or {}), dict(controller_config or {})
        for name, text in LOGGING.items():
            (directory / name).write_text(text)
        (directory / "agent.yaml").write_text(AGENT_CONFIG)
        self.zookeepers = [self._zookeeper(number) for number in range(1, ensemble + 1)]
        self.brokers = {each: self._server(each, "broker", BrokerMode.ZOOKEEPER) for each in brokers}
        self.controllers = {each: self._server(each, "controller", ControllerMode.MIGRATION) for each in controllers}
        self._client: KazooClient | None = None

    def _zookeeper(self, number: int) -> ZooKeeperNode:
        home = self.directory / f"zookeeper-{number}"
        (home / "data").mkdir(parents=True)
        return ZooKeeperNode(number=number, home=home, port=free_port(), peer_ports=(free_port(), free_port()))

    def _server(self, node_id: int, role: str, mode: BrokerMode | ControllerMode) -> Server:
        home = self.directory / f"{role}-{node_id}"
        home.mkdir(parents=True)
        return Server(
            node_id=node_id, port=free_port(), home=home, kafka=self.kafka, metrics_port=free_port(), mode=mode
        )

    def open(self) -> None:
        """Starts ZooKeeper and the brokers, and waits until each of them names all brokers and the controller.

        The cluster id begins with a dash, as every 64th that a broker makes: no tool may take it for an option.
        """
        self.start_zookeeper()
        record = json.dumps({"version": "1", "id": f"-{new_uuid()[1:]}"}, separators=(",", ":"))
        self.zookeeper.create("/cluster/id", record.encode(), makepath=True)
        self.start(*self.brokers.values())
        for broker in self.brokers.values():
            self.answers(broker)
            until(f"a whole picture of broker {broker.node_id}", partial(self._whole, broker))

    def close(self) -> None:
        """Ends every process."""
        if self._client is not None:
            self._client.stop()
            self._client.close()
            self._client = None
        for server in self.servers:
            server.kill()
        for node in self.zookeepers:
            if node.process is not None:
                node.process.kill()

    @property
    def servers(self) -> list[Server]:
        """Brokers and controllers."""
        return [*self.brokers.values(), *self.controllers.values()]

    # ZooKeeper

    @property
    def connect(self) -> str:
        """`zookeeper.connect`."""
        return ",".join(f"{HOST}:{node.port}" for node in self.zookeepers)

    def start_zookeeper(self) -> None:
        """Starts the ensemble's servers that do not run, and waits until it answers."""
        for node in self.zookeepers:
            config = node.home / "zoo.cfg"
            properties = {
                "dataDir": node.home / "data",
                "clientPort": node.port,
                "clientPortAddress": HOST,
                "tickTime": 1000,
                "initLimit": 10,
                "syncLimit": 5,
                "admin.enableServer": "false",
                "4lw.commands.whitelist": "*",
                "maxClientCnxns": 0,
            }
            if len(self.zookeepers) > 1:
                for each in self.zookeepers:
                    properties[f"server.{each.number}"] = f"{HOST}:{each.peer_ports[0]}:{each.peer_ports[1]}"
                (node.home / "data" / "myid").write_text(f"{node.number}\n")
            config.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
            if node.process is None or node.process.exit_code is not None:
                main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
                command = self.kafka.command(main, str(config), options=(*self._logging(), "-Xmx128m"))
                node.process = ServerProcess(command, node.home / "server.log")
        _ = self.zookeeper

    @property
    def zookeeper(self) -> KazooClient:
        """A client without credentials, connected."""
        if self._client is None:
            client = KazooClient(hosts=self.connect, timeout=10.0)
            client.start(timeout=DEADLINE_S)
            self._client = client
        return self._client

    def read(self, path: str) -> Znode | None:
        """A znode; None if it does not exist."""
        try:
            data, stat = self.zookeeper.get(path)
        except NoNodeError:
            return None
        return Znode(text=(data or b"").decode(), stat=stat)

    def children(self, path: str) -> list[str]:
        """The names of a znode's children; none if it does not exist (yet)."""
        try:
            return sorted(self.zookeeper.get_children(path))
        except NoNodeError:
            return []

    def delete(self, *paths: str) -> None:
        """Deletes znodes in one transaction; those that do not exist are left out."""
        transaction = self.zookeeper.transaction()
        for path in paths:
            if self.read(path) is not None:
                transaction.delete(path)
        for result in transaction.commit():
            if isinstance(result, Exception):
                raise result

    def states(self) -> dict[str, dict[str, Any]]:
        """The state of each partition (`orders-0`), as its znode has it."""
        found = {}
        for topic in self.children("/brokers/topics"):
            for index in self.children(f"/brokers/topics/{topic}/partitions"):
                state = self.read(f"/brokers/topics/{topic}/partitions/{index}/state")
                if state is not None:
                    found[f"{topic}-{index}"] = json.loads(state.text)
        return found

    def epoch(self) -> int:
        """`/controller_epoch`."""
        found = self.read("/controller_epoch")
        return int(found.text) if found is not None else 0

    def give_back(self, *, raise_epoch: bool) -> Znode:
        """Gives the cluster back to ZooKeeper in one transaction, and waits until every broker has its new controller.

        With `raise_epoch` the new controller's epoch is above every epoch of KRaft's controllers. The controllers are
        stopped before it. Returns the new `/controller`.
        """
        controller, epoch, migration = (self.read(each) for each in ("/controller", "/controller_epoch", "/migration"))
        assert controller is not None
        assert epoch is not None
        transaction = self.zookeeper.transaction()
        if raise_epoch:
            known = [int(epoch.text), json.loads(controller.text)["kraftControllerEpoch"]]
            known += [state["controller_epoch"] for state in self.states().values()]
            transaction.set_data("/controller_epoch", str(max(known) + 1).encode(), version=epoch.stat.version)
        transaction.delete("/controller", version=controller.stat.version)
        if migration is not None:
            transaction.delete("/migration", version=migration.stat.version)
        for result in transaction.commit():
            if isinstance(result, Exception):
                raise result
        return self.led_by_broker()

    def led_by_broker(self) -> Znode:
        """Waits until a broker is the controller, and all running brokers have heard of it; its `/controller`.

        A broker in migration mode that is stopped before that waits five minutes for the controllers of KRaft.
        """
        taken = until("a broker as controller", partial(self.read, "/controller"))
        node_id, epoch = json.loads(taken.text)["brokerid"], self.epoch()
        for broker in self.brokers.values():
            if broker.running:
                sentence = f"request sent by controller {node_id} epoch {epoch}"
                until(f"broker {broker.node_id} hears of controller {node_id}", lambda: sentence in broker.log)  # noqa: B023
        return taken

    def tree(self, root: str = "/") -> Iterator[str]:
        """The paths of all znodes, ZooKeeper's own left out."""
        for name in self.children(root):
            path = f"{root.rstrip('/')}/{name}"
            if path != "/zookeeper":
                yield path
                yield from self.tree(path)

    def registered(self, *node_ids: int, deadline_s: float = DEADLINE_S) -> None:
        """Waits until these brokers have their znodes."""
        for node_id in node_ids:
            until(f"broker {node_id}", partial(self.read, f"/brokers/ids/{node_id}"), deadline_s=deadline_s)

    @property
    def cluster_id(self) -> ClusterID:
        """The cluster id that ZooKeeper has."""
        found = self.read("/cluster/id")
        if found is None:
            raise LookupError("/cluster/id does not exist yet")
        return ClusterID(found.text.partition('"id":"')[2].partition('"')[0])

    # Servers

    def _logging(self) -> tuple[str, ...]:
        return (f"-Dlog4j.configuration=file:{self.directory / 'log4j.properties'}",)

    def write(self, server: Server) -> None:
        """Writes its server.properties for its mode, with its own `config` last."""
        is_broker = server.node_id in self.brokers and self.brokers[server.node_id] is server
        properties = self._broker(server) if is_broker else self._controller(server)
        more = self.broker_config if is_broker else self.controller_config
        properties = {**properties, **more, **server.config}
        server.properties.write_text("".join(f"{name}={value}\n" for name, value in properties.items() if value))

    @property
    def _voters(self) -> str:
        return ",".join(f"{each.node_id}@{HOST}:{each.port}" for each in self.controllers.values())

    def _zookeeper_settings(self, *, migrating: bool) -> dict[str, str]:
        settings = {
            "zookeeper.connect": self.connect,
            "zookeeper.session.timeout.ms": "6000",
            "zookeeper.connection.timeout.ms": "20000",
        }
        return {**settings, "zookeeper.metadata.migration.enable": "true"} if migrating else settings

    def _broker(self, server: Server) -> dict[str, str]:
        quorum = {"controller.listener.names": LISTENER, "controller.quorum.voters": self._voters}
        protocols = {"listener.security.protocol.map": f"{INTERNAL}:PLAINTEXT,{LISTENER}:PLAINTEXT"}
        mode: dict[str, str]
        match server.mode:
            case BrokerMode.ZOOKEEPER:
                mode = {"broker.id": str(server.node_id), **self._zookeeper_settings(migrating=False)}
            case BrokerMode.MIGRATION:
                mode = {"broker.id": str(server.node_id), **self._zookeeper_settings(migrating=True), **quorum}
                mode |= protocols
            case _:
                mode = {"process.roles": "broker", "node.id": str(server.node_id), **quorum, **protocols}
        return {
            **mode,
            "listeners": f"{INTERNAL}://{HOST}:{server.port}",
            "inter.broker.listener.name": INTERNAL,
            "log.dirs": str(server.data),
            "log.cleaner.dedupe.buffer.size": "4194304",
            "log.index.size.max.bytes": "65536",
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": "1",
            "auto.create.topics.enable": "false",
            "group.initial.rebalance.delay.ms": "0",
            "controlled.shutdown.retry.backoff.ms": "500",
        }

    def _controller(self, server: Server) -> dict[str, str]:
        migrating = server.mode is ControllerMode.MIGRATION
        return {
            "process.roles": "controller",
            "node.id": str(server.node_id),
            "controller.listener.names": LISTENER,
            "controller.quorum.voters": self._voters,
            "listeners": f"{LISTENER}://{HOST}:{server.port}",
            "listener.security.protocol.map": f"{INTERNAL}:PLAINTEXT,{LISTENER}:PLAINTEXT",
            "inter.broker.listener.name": INTERNAL,
            "log.dirs": str(server.data),
            **(self._zookeeper_settings(migrating=True) if migrating else {}),
        }

    def start(self, *servers: Server) -> None:
        """Writes their properties and starts them; they need some seconds."""
        for server in servers:
            if server.running:
                raise RuntimeError(f"server {server.node_id} runs already")
            self.write(server)
            options = [*self._logging(), "-Xmx256m"]
            if self._agent is not None:
                place = f"{HOST}:{server.metrics_port}:{self.directory / 'agent.yaml'}"
                options.append(f"-javaagent:{self._agent}={place}")
            command = server.kafka.command("kafka.Kafka", str(server.properties), options=tuple(options))
            server.process = ServerProcess(command, server.output)

    def restart(self, server: Server, mode: BrokerMode | ControllerMode | None = None, **changed: str) -> None:
        """Stops it, and starts it with this mode; `changed` has `_` for `.` in the names."""
        server.stop()
        server.mode = mode or server.mode
        server.config |= {name.replace("_", "."): value for name, value in changed.items()}
        self.start(server)

    def roll(self, mode: BrokerMode) -> None:
        """Restarts the brokers one after another with this mode, each after the one before it answers again."""
        for broker in self.brokers.values():
            self.restart(broker, mode)
            self.answers(broker)

    def answers(self, broker: Server, *, deadline_s: float = DEADLINE_S) -> None:
        """Waits until a broker answers, and names itself."""

        def look() -> bool:
            if not broker.running:
                raise AssertionError(f"broker {broker.node_id} ended: {broker.log[-2000:]}")
            admin = AdminClient({"bootstrap.servers": f"{HOST}:{broker.port}", "log_level": 0})
            try:
                return broker.node_id in admin.list_topics(timeout=2.0).brokers
            except KafkaException:
                return False

        until(f"an answer of broker {broker.node_id}", look, deadline_s=deadline_s)

    def _whole(self, broker: Server) -> bool:
        with self.admin(broker.node_id) as admin:
            try:
                seen = admin.list_topics(timeout=2.0)
            except KafkaException:
                return False
            return set(self.brokers) <= set(seen.brokers) and seen.controller_id in self.brokers

    def format(self, *servers: Server, cluster_id: str = "") -> None:
        """Formats their log directories as KRaft servers, with the cluster id that ZooKeeper has."""
        for server in servers:
            wanted = Format(cluster_id=ClusterID(cluster_id or self.cluster_id), mode=ModeMissing())
            server.mode = ControllerMode.MIGRATION if server in self.controllers.values() else BrokerMode.KRAFT
            self.write(server)
            result = run_format(server.kafka, server.properties, wanted)
            if result.exit_code != 0:
                raise AssertionError(f"format ended with {result.exit_code}: {result.output}")

    def provision(self) -> None:
        """Formats and starts all controllers."""
        self.format(*self.controllers.values())
        self.start(*self.controllers.values())

    def wipe(self, *servers: Server) -> None:
        """Empties their log directories."""
        for server in servers:
            if server.running:
                raise RuntimeError(f"server {server.node_id} still runs")
            shutil.rmtree(server.data, ignore_errors=True)

    # What can be observed

    def metrics(self, server: Server) -> dict[str, float]:
        """The agent's series of a server, without labels; empty if it does not answer."""
        try:
            with urllib.request.urlopen(f"http://{HOST}:{server.metrics_port}/metrics", timeout=_METRICS_S) as answer:
                text = answer.read().decode()
        except OSError:
            return {}
        rows = (line.rsplit(" ", 1) for line in text.splitlines() if line and not line.startswith("#"))
        return {name: float(value) for name, value in rows if name.startswith("kafka_")}

    def metric(self, server: Server, name: str) -> float | None:
        """One metric of KafkaController; None if it is not reported."""
        return self.metrics(server).get(f"kafka_controller_KafkaController_{name}")

    def active(self) -> Server | None:
        """The active controller of the KRaft quorum, by its own metric."""
        for server in self.controllers.values():
            if server.running and self.metric(server, "ActiveControllerCount") == 1:
                return server
        return None

    def state(self) -> float | None:
        """ZkMigrationState of the active controller."""
        active = self.active()
        return None if active is None else self.metric(active, "ZkMigrationState")

    def reaches(self, state: int, *, deadline_s: float = DEADLINE_S) -> float:
        """Waits until the active controller shows this state; how long that took, in seconds."""
        begin_s = time.monotonic()
        until(f"ZkMigrationState {state}", lambda: self.state() == state, deadline_s=deadline_s)
        return time.monotonic() - begin_s

    # Clients

    def bootstrap(self, *node_ids: int) -> str:
        """For confluent-kafka's clients."""
        return ",".join(f"{HOST}:{self.brokers[each].port}" for each in node_ids or self.brokers)

    @contextmanager
    def admin(self, *node_ids: int) -> Iterator[AdminClient]:
        """An admin client of these brokers, or of all."""
        yield AdminClient({"bootstrap.servers": self.bootstrap(*node_ids), "log_level": 0})

    def topic(self, name: str = TOPIC, *, partitions: int = 2, replicas: int = 2, **config: str) -> None:
        """Creates a topic (KafkaException); `config` has `_` for `.`."""
        settings = {key.replace("_", "."): value for key, value in config.items()}
        new = NewTopic(name, num_partitions=partitions, replication_factor=replicas, config=settings)
        topics.create({"bootstrap.servers": self.bootstrap(), "log_level": 0}, new)

    def produce(self, name: str = TOPIC, text: str = "x") -> None:
        """Writes one record with acks=all (KafkaException, AssertionError)."""
        producer = Producer({"bootstrap.servers": self.bootstrap(), "acks": "all", "log_level": 0})
        failed: list[object] = []
        producer.produce(name, text.encode(), on_delivery=lambda error, _: failed.append(error) if error else None)
        left = producer.flush(_CLIENT_S)
        if left or failed:
            raise AssertionError(f"{left} record was not written: {failed}")

    def leaders(self, name: str = TOPIC) -> dict[int, int]:
        """The leader of each partition, -1 for none, by some broker that answers (KafkaException)."""
        with self.admin(*(each for each, broker in self.brokers.items() if broker.running)) as admin:
            topic = admin.list_topics(name, timeout=_CLIENT_S).topics[name]
            return {index: row.leader for index, row in topic.partitions.items()}

    def described(self, broker: Server) -> dict[str, str | None]:
        """A broker's own settings, by DescribeConfigs; None for one that is sensitive (KafkaException)."""
        with self.admin(broker.node_id) as admin:
            wanted = ConfigResource(ConfigResource.Type.BROKER, str(broker.node_id))
            entries = admin.describe_configs([wanted])[wanted].result(_CLIENT_S)
            return {name: entry.value for name, entry in entries.items()}
