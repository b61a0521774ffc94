"""Real brokers on loopback beside a quorum of one controller: format, start, stop, kill, freeze, empty, and look.

The state of the cluster is read by the operator's own client; topics and records are made by confluent-kafka's.
Everything that it starts ends with `close()`.
"""

import asyncio
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.cimpl import NewTopic
from tests.live import topics
from tests.live.jars import Kafka
from tests.live.ports import HOST, free_port
from tests.live.process import ServerProcess
from tests.live.quorum import LISTENER, LiveQuorum
from tests.live.storage import Format, ModeMissing, read_properties, start_format
from tests.live.waiting import DEADLINE_S, wait_for

from kafka_quorum.model.brokers import Partition, RegisteredBroker
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.wire.admin import KafkaControllers
from kafka_quorum.wire.broker_admin import KafkaBrokers
from kafka_quorum.wire.connection import Limits

CONTROLLER = 3000
INTERNAL = "REPLICATION"
_CLIENT_S = 20.0
_UNFENCED_S = 120.0
_LISTS_FENCED = "4"
"""Brokers before this release list neither fenced brokers nor partitions in pages; Metadata has what they know."""


@dataclass(slots=True)
class LiveBroker:
    """One broker: its address, its log directories, and its process if it has one."""

    node_id: NodeID
    port: int
    home: Path
    kafka: Kafka
    directories: int = 1
    config: dict[str, str] = field(default_factory=dict)
    process: ServerProcess | None = None

    @property
    def endpoint(self) -> Endpoint:
        """The address where it listens."""
        return Endpoint(node_id=self.node_id, host=HOST, port=self.port)

    @property
    def log_dirs(self) -> list[Path]:
        """Its log directories; the metadata log is in the first one."""
        return [self.home / f"data-{index}" for index in range(self.directories)]

    @property
    def properties(self) -> Path:
        """Its server.properties."""
        return self.home / "server.properties"

    @property
    def log(self) -> Path:
        """Its output, over all its runs."""
        return self.home / "server.log"

    @property
    def running(self) -> ServerProcess:
        """Its process, which must exist."""
        if self.process is None:
            raise RuntimeError(f"broker {self.node_id} was not started")
        return self.process

    def directory_ids(self) -> list[str]:
        """The directory ids on its disks."""
        return [read_properties(each / "meta.properties")["directory.id"] for each in self.log_dirs]


class LiveBrokers:
    """A quorum and its brokers. `config` is added to every broker's properties, `features` to the format."""

    def __init__(
        self,
        kafka: Kafka,
        directory: Path,
        *,
        brokers: Sequence[int] = (1, 2, 3),
        config: Mapping[str, str] | None = None,
        directories: int = 1,
        features: tuple[str, ...] = (),
        controllers: Sequence[int] = (CONTROLLER,),
        proxied: int = 0,
    ) -> None:
        """Nothing is formatted or started.

        `proxied`: the port at which brokers reach the one controller of a static quorum.
        """
        self._proxied = proxied
        self.kafka, self.features, self._directories = kafka, features, directories
        self.quorum = LiveQuorum(kafka=kafka, directory=directory)
        self.config = dict(config or {})
        self.controllers = KafkaControllers()
        self.client = KafkaBrokers(Limits(connect_timeout_s=2.0, request_timeout_s=15.0))
        for node_id in controllers:
            self.quorum.add_node(node_id)
        self.brokers: dict[int, LiveBroker] = {}
        for node_id in brokers:
            self.add(node_id)

    async def open(self) -> None:
        """Starts everything, and waits until every broker is unfenced."""
        nodes = list(self.quorum.nodes.values())
        if self._proxied:
            changed = {
                "controller_quorum_voters": self._voter(),
                "controller_quorum_bootstrap_servers": "",
                "advertised_listeners": f"{LISTENER}://{HOST}:{self._proxied}",
            }
            self.quorum.write_config(nodes[0], **changed)
            self.quorum.must_format(nodes, ModeMissing(), self.features)
        else:
            self.quorum.must_format(nodes, self.quorum.initial_controllers(nodes), self.features)
        self.quorum.start(*nodes)
        await self.quorum.leader(self.controllers)
        self.format(*self.brokers.values())
        self.start(*self.brokers.values())
        await self.all_unfenced()

    async def close(self) -> None:
        """Ends every process."""
        for broker in self.brokers.values():
            if broker.process is not None:
                broker.process.kill()
        self.quorum.close()
        await self.client.close()
        await self.controllers.close()

    def _voter(self) -> str:
        return f"{min(self.quorum.nodes)}@{HOST}:{self._proxied}" if self._proxied else ""

    # Brokers

    def add(self, node_id: int, kafka: Kafka | None = None) -> LiveBroker:
        """Adds a broker; nothing is formatted or started."""
        home = self.quorum.directory / f"broker-{node_id}"
        home.mkdir(parents=True)
        broker = LiveBroker(
            node_id=NodeID(node_id),
            port=free_port(),
            home=home,
            kafka=kafka or self.kafka,
            directories=self._directories,
        )
        self.brokers[node_id] = broker
        self.write(broker)
        return broker

    def write(self, broker: LiveBroker) -> None:
        """Writes its server.properties, with its own `config` last."""
        servers = ",".join(f"{HOST}:{each.port}" for each in self.quorum.nodes.values())
        properties = {
            "process.roles": "broker",
            "node.id": str(broker.node_id),
            "broker.rack": f"rack-{int(broker.node_id) % 3}",
            "controller.listener.names": LISTENER,
            "controller.quorum.bootstrap.servers": "" if self._proxied else servers,
            "controller.quorum.voters": self._voter(),
            "listeners": f"{INTERNAL}://{HOST}:{broker.port}",
            "listener.security.protocol.map": f"{INTERNAL}:PLAINTEXT,{LISTENER}:PLAINTEXT",
            "inter.broker.listener.name": INTERNAL,
            "log.dirs": ",".join(map(str, broker.log_dirs)),
            "log.cleaner.dedupe.buffer.size": "4194304",
            "log.index.size.max.bytes": "65536",
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": "1",
            "auto.create.topics.enable": "false",
            "auto.leader.rebalance.enable": "false",
            "group.initial.rebalance.delay.ms": "0",
            **self.config,
            **broker.config,
        }
        broker.properties.write_text("".join(f"{name}={value}\n" for name, value in properties.items() if value))

    def format(self, *brokers: LiveBroker) -> None:
        """Formats those of their log directories that are not, at the same time."""
        wanted = Format(
            cluster_id=self.quorum.cluster_id,
            mode=ModeMissing(),
            features=(),
            more=("--ignore-formatted",),
        )
        for running in [start_format(each.kafka, each.properties, wanted) for each in brokers]:
            result = running.result()
            assert result.exit_code == 0, result.output

    def start(self, *brokers: LiveBroker) -> None:
        """Starts servers; they need some seconds before they are unfenced."""
        options = (
            f"-Dlog4j2.configurationFile={self.quorum.directory / 'log4j2.xml'}",
            f"-Dlog4j.configuration=file:{self.quorum.directory / 'log4j.properties'}",
            "-Xmx256m",
        )
        for broker in brokers:
            command = broker.kafka.command("kafka.Kafka", str(broker.properties), options=options)
            broker.process = ServerProcess(command, broker.log)

    async def stop(self, *node_ids: int) -> None:
        """Ends servers as Kubernetes does, one after another; the event loop runs on, and with it a proxy."""
        for node_id in node_ids:
            await asyncio.to_thread(self.brokers[node_id].running.stop)

    def empty(self, broker: LiveBroker, *indexes: int) -> None:
        """Loses the disks with these indexes, or all of them, and formats them again."""
        for index, path in enumerate(broker.log_dirs):
            if not indexes or index in indexes:
                shutil.rmtree(path)
        self.format(broker)

    # What can be observed

    async def leader(self) -> Endpoint:
        """The active controller."""
        node, _ = await self.quorum.leader(self.controllers)
        return node.endpoint

    def any(self, *without: int) -> Endpoint:
        """A running broker's endpoint."""
        for broker in self.brokers.values():
            process = broker.process
            running = process is not None and process.exit_code is None and not process.frozen
            if running and int(broker.node_id) not in without:
                return broker.endpoint
        raise LookupError("no broker runs")

    async def registered(self, at: Endpoint | None = None) -> dict[int, RegisteredBroker]:
        """Every registered broker, as a broker knows them."""
        answer = await self.client.describe_brokers(at or self.any())
        return {int(row.node_id): row for row in answer.brokers}

    async def fenced(self, at: Endpoint | None = None) -> set[int]:
        """The fenced ones of them."""
        return {node_id for node_id, row in (await self.registered(at)).items() if row.fenced}

    async def partition(self, topic: str, index: int = 0, at: Endpoint | None = None) -> Partition:
        """One partition, as a broker knows it."""
        (row,) = [
            row
            for row in await self.client.describe_partitions(at or self.any())
            if (row.at.topic, row.at.index) == (topic, index)
        ]
        return row

    async def all_unfenced(self, *node_ids: int) -> None:
        """Waits until these brokers, or all, are registered and unfenced."""
        wanted = set(node_ids or self.brokers)

        async def unfenced() -> bool | None:
            for each in (self.brokers[node_id] for node_id in wanted):
                if each.process is not None and each.process.exit_code is not None:
                    end = "\n".join(each.log.read_text(errors="replace").splitlines()[-20:])
                    raise AssertionError(f"broker {each.node_id} ended with {each.process.exit_code}:\n{end}")
            at = self.brokers[min(wanted)].endpoint
            if self.kafka.version < _LISTS_FENCED:
                there = {int(row.node_id) for row in (await self.client.metadata(at, partitions=False)).brokers}
            else:
                there = {each for each, row in (await self.registered(at)).items() if not row.fenced}
            return True if wanted <= there else None

        await wait_for(f"unfenced brokers {sorted(wanted)}", unfenced, deadline_s=_UNFENCED_S)

    async def until(
        self,
        topic: str,
        what: str,
        holds: Callable[[Partition], bool],
        *,
        at: Endpoint | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> Partition:
        """Waits until the topic's only partition is so."""
        seen: Partition | None = None

        async def look() -> Partition | None:
            nonlocal seen
            seen = await self.partition(topic, at=at)
            return seen if holds(seen) else None

        try:
            return await wait_for(what, look, deadline_s=deadline_s)
        except AssertionError as error:
            raise AssertionError(f"{error}; at last: {seen}") from None

    async def isr(self, topic: str, node_ids: Iterable[int], at: Endpoint | None = None) -> Partition:
        """Waits until these are the ISR of the topic's only partition."""
        wanted = set(node_ids)
        return await self.until(topic, f"ISR {sorted(wanted)} of {topic}", lambda row: set(row.isr) == wanted, at=at)

    # Topics and records

    def bootstrap(self, *without: int) -> str:
        """For confluent-kafka's clients."""
        return ",".join(f"{HOST}:{each.port}" for node_id, each in self.brokers.items() if node_id not in without)

    async def topic(self, name: str, replicas: Sequence[Sequence[int]], **config: str) -> None:
        """Creates a topic with these replicas of each partition; `config` has `_` for `.`."""

        def create() -> None:
            new = NewTopic(
                name,
                num_partitions=len(replicas),
                replica_assignment=[list(each) for each in replicas],
                config={key.replace("_", "."): value for key, value in config.items()},
            )
            topics.create({"bootstrap.servers": self.bootstrap(), "log_level": 0}, new)

        await asyncio.to_thread(create)
        await self._known(name, len(replicas))

    async def spread(self, name: str, *, partitions: int, replicas: int) -> None:
        """Creates a topic whose replicas Kafka places (KafkaException)."""

        def create() -> None:
            new = NewTopic(name, num_partitions=partitions, replication_factor=replicas)
            topics.create({"bootstrap.servers": self.bootstrap(), "log_level": 0}, new)

        await asyncio.to_thread(create)
        await self._known(name, partitions)

    async def _known(self, name: str, partitions: int) -> None:
        async def known() -> bool | None:
            if self.kafka.version < _LISTS_FENCED:
                rows = (await self.client.metadata(self.any())).partitions
            else:
                rows = await self.client.describe_partitions(self.any())
            return True if sum(row.at.topic == name for row in rows) == partitions else None

        await wait_for(f"topic {name}", known)

    async def produce(
        self, topic: str, count: int, *, size: int = 10, acks: str = "all", timeout_s: float = _CLIENT_S
    ) -> int:
        """How many of so many records, of `size` bytes each, were acknowledged, in partition 0."""

        def send() -> int:
            acknowledged = 0

            def delivered(error: object, _: object) -> None:
                nonlocal acknowledged
                acknowledged += error is None

            producer = Producer(
                {
                    "bootstrap.servers": self.bootstrap(),
                    "acks": acks,
                    "message.timeout.ms": int(timeout_s * 1000),
                    "linger.ms": 5,
                    "log_level": 0,
                }
            )
            for index in range(count):
                producer.produce(topic, value=f"{index:0>{size}}".encode(), partition=0, on_delivery=delivered)
            producer.flush(timeout_s + 5)
            return acknowledged

        return await asyncio.to_thread(send)

    async def end(self, topic: str) -> int:
        """The high watermark of partition 0, when its leader answers."""

        def ask() -> int | None:
            consumer = Consumer({"bootstrap.servers": self.bootstrap(), "group.id": "measure", "log_level": 0})
            try:
                _, high = consumer.get_watermark_offsets(Place(topic, 0), timeout=5.0)
            except KafkaException:
                return None
            else:
                return int(high)
            finally:
                consumer.close()

        return await wait_for(f"the end of {topic}", lambda: asyncio.to_thread(ask))
