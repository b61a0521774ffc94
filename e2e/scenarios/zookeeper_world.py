"""A Kafka in ZooKeeper mode, filled and in use: an ensemble, the brokers of an owner, their metadata, clients.

It is what a scenario of the migration begins with. The operator has no part in it.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from confluent_kafka import KafkaException

from harness import clients
from harness.client.topics import Topic
from harness.clients import Clients
from harness.cluster_image import ClusterImage, differences, read_image, visible_topics
from harness.fill import PASSWORD, READABLE, READER, TOPICS, Filled, fill
from harness.shell import wait_until
from harness.zookeeper import Ensemble, make_ensemble
from harness.zookeeper_brokers import ZooKeeperBrokers

IN_USE: Final = Topic(name="orders", partitions=6)
AT_THE_TOP: Final = frozenset({"broker <default>, min.insync.replicas: 1, which was not there before"})
"""What Kafka itself sets when eligible.leader.replicas.version becomes 1: the value that applied before."""
_VISIBLE_TIMEOUT_S = 60.0
_READ_TIMEOUT_S = 180.0


@dataclass(slots=True, kw_only=True)
class ZooKeeperWorld:
    """All of it. `before` is the metadata as it was when the world was made; `users` are the running clients."""

    namespace: str
    ensemble: Ensemble
    brokers: ZooKeeperBrokers
    users: Clients
    filled: Filled
    before: ClusterImage
    readable: frozenset[str]

    @property
    def cluster_id(self) -> str:
        """The cluster id that ZooKeeper has."""
        return self.before.cluster_id

    def differences(self, without: tuple[str, ...] = ()) -> tuple[str, ...]:
        """What of the metadata is different now; topics of `without` are left out of the comparison."""
        return differences(self.before, read_image(self.brokers, without))

    def assert_unchanged(self, without: tuple[str, ...] = (), made_by_kafka: frozenset[str] = frozenset()) -> None:
        """Every fact of the metadata is as before; a SCRAM user gets in, sees what the ACLs allow, and nothing else.

        `made_by_kafka` are the only differences that there may be, and must be: those of feature levels.
        """
        assert set(found := self.differences(without)) == made_by_kafka, "\n".join(found)
        assert self.visible() == self.readable

    def assert_nothing_lost(self, killed: Iterable[tuple[float, float]] = ()) -> None:
        """Stop the clients: every acknowledged record is there once, and no partition was offline.

        Until then every partition is written to, and the running consumer reads it. `killed` are the times, in seconds
        since 1970, from the death of a broker until it was back: what it led may begin to be offline then.
        """
        self.users.wait_more()
        written = self.users.account()["acknowledged"]
        wait_until("the consumer reads on", lambda: self.users.account()["consumed"] >= written, _READ_TIMEOUT_S)
        dead = tuple(killed)
        rows = self.users.offline()
        assert not (offline := [row for row in rows if not any(a <= row.since_s <= b for a, b in dead)]), offline
        assert not (verdict := self.users.finish()).faults, verdict

    def visible(self) -> frozenset[str]:
        """The topics that the SCRAM user `READER` sees with a password, through the brokers' ACLs."""
        client = self.brokers.client_of(READER, PASSWORD)

        def seen() -> frozenset[str] | None:
            try:
                return visible_topics(client)
            except KafkaException:
                return None

        return wait_until(f"SCRAM user {READER} sees topics", seen, _VISIBLE_TIMEOUT_S, 0.5)

    def evidence(self) -> str:
        """What a person looks at first when a scenario fails."""
        logs = (f"broker {node_id}:\n{self.brokers.logs(node_id)}" for node_id in self.brokers.node_ids)
        seen = {path: self.ensemble.read(path) for path in ("/controller", "/controller_epoch", "/migration")}
        return "\n".join([f"ensemble {self.ensemble.modes()}", json.dumps(seen, default=str), *logs])


@contextmanager
def zookeeper_world(
    namespace: str, image: str, topics: int = TOPICS, size: int = 3, *, replication: bool = False
) -> Iterator[ZooKeeperWorld]:
    """Make all of it in a namespace that exists; at the end everything is deleted.

    `image` is that of the clients (`harness.clients.image()`), `size` that of the ensemble. Kafka 3.9.2's image must be
    on the workers.
    """
    with ExitStack() as stack:
        ensemble = make_ensemble(namespace, size=size)
        stack.callback(ensemble.stop)
        brokers = ZooKeeperBrokers(namespace=namespace, connect=ensemble.connect, replication=replication)
        stack.callback(brokers.stop)
        brokers.start()
        filled = fill(brokers, topics)
        running = clients.Clients(namespace=namespace, bootstrap=brokers.bootstrap, image=image, topics=(IN_USE,))
        users = stack.enter_context(running)
        world = ZooKeeperWorld(
            namespace=namespace,
            ensemble=ensemble,
            brokers=brokers,
            users=users,
            filled=filled,
            before=read_image(brokers),
            readable=frozenset(),
        )
        world.readable = world.visible()
        assert world.readable, f"SCRAM user {READER} sees no topic {READABLE}*"
        yield world
