"""A small Kafka in ZooKeeper mode in which everything that the preflight looks for can be made, and undone.

One ZooKeeper server, two brokers with two log directories each, which speak to each other by SASL, and a quorum in a
dry run beside them.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from confluent_kafka import Producer
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewTopic

from harness import broker_settings
from harness.quorum import Quorum
from harness.shell import Json, wait_until
from harness.zookeeper import Ensemble, make_ensemble
from harness.zookeeper_brokers import KRAFT_AUTHORIZER, PORT, SASL_PORT, ZooKeeperBrokers

VERSION: Final = "3.9.2"
BROKERS: Final = (1, 2)
SECOND_DIRECTORY: Final = "second"
"""The other log directory of each broker, on its volume."""
BETWEEN_BROKERS: Final[Json] = {"name": "REPLICATION", "protocol": "SASL_PLAINTEXT"}
PROTOCOLS: Final = (
    "PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,REPLICATION:SASL_PLAINTEXT,"
    "CONTROL:PLAINTEXT,CONTROLLER:PLAINTEXT"
)
_PASSWORD: Final = "a-password-of-tests"  # noqa: S105
_JAAS: Final = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required "
    f'username="admin" password="{_PASSWORD}" user_admin="{_PASSWORD}";'
)
OWN: Final = {
    "listener.security.protocol.map": PROTOCOLS,
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.replication.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.replication.plain.sasl.jaas.config": _JAAS,
    "password.encoder.secret": _PASSWORD,
    "log.dirs": f"/data/log,/data/{SECOND_DIRECTORY}",
    "default.replication.factor": "2",
    "min.insync.replicas": "1",
    "offsets.topic.replication.factor": "2",
    "replica.lag.time.max.ms": "6000",
    "replica.high.watermark.checkpoint.interval.ms": "1000",
}
_THROTTLE: Final = "follower.replication.throttled.rate"
_THROTTLED: Final = "follower.replication.throttled.replicas"
_RECORD: Final = bytes(200_000)
_RECORDS: Final = 60
_SETTLED_TIMEOUT_S: Final = 120.0
_ANSWER_TIMEOUT_S: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The cluster, and the quorum in a dry run beside it; `elsewhere` is a namespace with nothing in it."""

    quorum: Quorum
    elsewhere: str
    ensemble: Ensemble
    brokers: ZooKeeperBrokers

    def spec(self) -> Json:
        """A quorum in whose way nothing is."""
        return {
            "kafka": {"version": VERSION},
            "bootstrap": {"mode": "ZooKeeper"},
            "zookeeper": {
                "connect": self.ensemble.connect,
                "interBrokerListener": BETWEEN_BROKERS,
                "dryRun": True,
            },
            "brokerAccess": {"bootstrapServers": [self.at(node_id) for node_id in BROKERS]},
            "controllers": {
                "config": {
                    "authorizer.class.name": KRAFT_AUTHORIZER,
                    "super.users": "User:ANONYMOUS;User:admin",
                }
            },
        }

    @contextmanager
    def patched(self, changes: Json) -> Iterator[None]:
        """While this lasts the quorum's spec has these changes."""
        self.quorum.patch(changes)
        try:
            yield
        finally:
            self.quorum.patch(_undone(changes, self.spec()))

    # --- looks ------------------------------------------------------------------------------------------------------

    def at(self, node_id: int, port: int = PORT) -> str:
        """The address of a broker's listener."""
        return f"{self.brokers.address(node_id)}:{port}"

    def sasl_at(self, node_id: int) -> str:
        """The address of a broker's listener for clients with a password."""
        return self.at(node_id, SASL_PORT)

    def text(self, path: str) -> str:
        """The content of a znode, which must exist."""
        node = self.ensemble.read(path)
        assert node is not None, f"{path} does not exist"
        return node.text

    def controller(self) -> int | None:
        """The broker that is the controller; None if no broker is."""
        node = self.ensemble.read("/controller")
        return int(json.loads(node.text)["brokerid"]) if node is not None and node.ephemeral else None

    def other(self) -> int:
        """A broker that is not the controller."""
        leads = wait_until("a broker is the controller", self.controller, _SETTLED_TIMEOUT_S)
        return next(node_id for node_id in BROKERS if node_id != leads)

    def is_registered(self, node_id: int) -> bool:
        """Whether ZooKeeper has the broker's registration."""
        return self.ensemble.read(f"/brokers/ids/{node_id}") is not None

    def wait_settled(self) -> None:
        """Wait until a broker is the controller, and both are registered, members, and in sync."""

        def settled() -> bool:
            present = all(map(self.is_registered, BROKERS)) and self.controller() is not None
            return present and not any(map(self.brokers.behind, BROKERS))

        wait_until("the cluster is as it was", settled, _SETTLED_TIMEOUT_S, 0.5)

    # --- acts -------------------------------------------------------------------------------------------------------

    @contextmanager
    def restarted_with(self, node_id: int, changes: dict[str, str | None]) -> Iterator[None]:
        """While this lasts a broker runs with these settings; None removes one."""
        self.brokers.single[node_id] = changes
        self.start_anew(node_id)
        try:
            yield
        finally:
            del self.brokers.single[node_id]
            self.start_anew(node_id)
            self.wait_settled()

    def start_anew(self, node_id: int, *, at_once: bool = False) -> None:
        """Stop a broker and start it; returns when it is registered again."""
        (self.brokers.end if at_once else self.brokers.shut_down)(node_id)
        wait_until(f"broker {node_id} is gone", lambda: not self.is_registered(node_id), _SETTLED_TIMEOUT_S)
        self.brokers.start_again(node_id)
        wait_until(f"broker {node_id} is registered", lambda: self.is_registered(node_id), _SETTLED_TIMEOUT_S)

    def elect(self) -> None:
        """Let the brokers elect a controller again."""
        self.ensemble.delete("/controller")
        wait_until("a broker is the controller", self.controller, _SETTLED_TIMEOUT_S)

    @contextmanager
    def slow_topic(self, name: str, replicas: tuple[int, ...]) -> Iterator[None]:
        """While this lasts there is a topic of which followers that are behind may fetch nearly nothing."""
        for node_id in BROKERS:
            broker_settings.write(self.at(node_id), str(node_id), {_THROTTLE: "1"})
        topic = NewTopic(name, num_partitions=1, replica_assignment=[list(replicas)])
        client = self.brokers.client()
        client.create_topics([topic])[name].result(_ANSWER_TIMEOUT_S)
        try:
            # Afterwards: brokers that use ZooKeeper do not look at it when a topic is created.
            entry = ConfigEntry(_THROTTLED, "*", incremental_operation=AlterConfigOpType.SET)
            change = ConfigResource(ResourceType.TOPIC, name, incremental_configs=[entry])
            client.incremental_alter_configs([change])[change].result(_ANSWER_TIMEOUT_S)
            yield
        finally:
            for node_id in BROKERS:
                broker_settings.delete(self.at(node_id), str(node_id), [_THROTTLE])
            self.wait_settled()
            client.delete_topics([name])[name].result(_ANSWER_TIMEOUT_S)

    def produce(self, topic: str) -> None:
        """Write some megabytes: as much as a follower that may fetch nearly nothing does not have for minutes."""
        producer = Producer({"bootstrap.servers": self.brokers.bootstrap, "acks": "1", "log_level": 0})
        for _ in range(_RECORDS):
            producer.produce(topic, _RECORD)
            producer.poll(0)
        assert not producer.flush(60)


@contextmanager
def preflight_world(quorum: Quorum, elsewhere: str) -> Iterator[World]:
    """Make it in the quorum's namespace, and apply the quorum; at the end the servers are deleted."""
    began_s = time.monotonic()
    ensemble = make_ensemble(quorum.namespace, size=1)
    brokers = ZooKeeperBrokers(
        namespace=quorum.namespace, connect=ensemble.connect, node_ids=BROKERS, own=OWN, replication=True
    )
    try:
        brokers.start()
        topics = [NewTopic(f"topic-{number}", num_partitions=3, replication_factor=2) for number in range(4)]
        client = brokers.client()
        for made in client.create_topics(topics).values():
            made.result(_ANSWER_TIMEOUT_S)
        world = World(quorum=quorum, elsewhere=elsewhere, ensemble=ensemble, brokers=brokers)
        world.wait_settled()
        quorum.apply(world.spec())
        print(f"the cluster was made in {time.monotonic() - began_s:.0f} s", flush=True)
        yield world
    finally:
        brokers.stop()
        ensemble.stop()


def _undone(changes: Json, spec: Json) -> Json:
    """The merge patch that gives everything in `changes` the value that it has in `spec`; null if it has none."""
    return {
        key: _undone(value, spec.get(key) or {}) if isinstance(value, dict) else spec.get(key)
        for key, value in changes.items()
    }
