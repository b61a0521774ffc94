"""One real broker that is its own controller, for Streams applications; many of them, one after another."""

import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from tests.live.jars import Kafka
from tests.live.ports import HOST, free_port
from tests.live.process import ServerProcess
from tests.live.quorum import LISTENER, LOGGING, new_uuid
from tests.live.storage import Format, Standalone, start_format
from tests.live.streams.waiting import until

from kafka_quorum.model.ids import ClusterID

_CLIENT_S: Final = 20.0
_START_S: Final = 60.0


@dataclass(slots=True)
class Broker:
    """A combined process, formatted and started by `open`. `config` is added to its properties."""

    kafka: Kafka
    home: Path
    config: dict[str, str] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    port: int = field(default_factory=free_port)
    process: ServerProcess | None = None

    @property
    def bootstrap(self) -> str:
        """Its address."""
        return f"{HOST}:{self.port}"

    def open(self) -> None:
        """Formats and starts it, and waits until it has a place for its groups' offsets."""
        self.home.mkdir(parents=True)
        controller = free_port()
        properties = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.listener.names": LISTENER,
            "controller.quorum.bootstrap.servers": f"{HOST}:{controller}",
            "listeners": f"REPLICATION://{HOST}:{self.port},{LISTENER}://{HOST}:{controller}",
            "listener.security.protocol.map": f"REPLICATION:PLAINTEXT,{LISTENER}:PLAINTEXT",
            "inter.broker.listener.name": "REPLICATION",
            "log.dirs": str(self.home / "data"),
            "log.cleaner.enable": "false",
            "log.index.size.max.bytes": "65536",
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "auto.create.topics.enable": "false",
            "group.initial.rebalance.delay.ms": "0",
            "group.min.session.timeout.ms": "1000",
            **self.config,
        }
        path = self.home / "server.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        for name, text in LOGGING.items():
            (self.home / name).write_text(text)
        wanted = Format(cluster_id=ClusterID(new_uuid()), mode=Standalone(), features=self.features)
        result = start_format(self.kafka, path, wanted).result()
        assert result.exit_code == 0, result.output
        options = (
            f"-Dlog4j2.configurationFile={self.home / 'log4j2.xml'}",
            f"-Dlog4j.configuration=file:{self.home / 'log4j.properties'}",
            "-Xmx320m",
        )
        self.process = ServerProcess(
            self.kafka.command("kafka.Kafka", str(path), options=options), self.home / "server.log"
        )
        until("the broker's port", self._listens, deadline_s=_START_S)

    def _listens(self) -> bool | None:
        assert self.process is not None
        if self.process.exit_code is not None:
            raise AssertionError(f"the broker ended: {self.process.log.read_text()[-2000:]}")
        with socket.socket() as probe:
            return True if probe.connect_ex((HOST, self.port)) == 0 else None

    def close(self) -> None:
        """Ends it."""
        if self.process is not None:
            self.process.kill()

    def topics(self, names: dict[str, dict[str, str]], partitions: int) -> None:
        """Creates topics with their settings (KafkaException)."""
        new = [NewTopic(name, num_partitions=partitions, replication_factor=1, config=names[name]) for name in names]
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        for future in admin.create_topics(new).values():
            future.result(_CLIENT_S)
