"""A small cluster of modelled controllers and brokers, for tests of the model itself."""

from dataclasses import dataclass, field

from tests.simulation.model.kafka.broker import Broker
from tests.simulation.model.kafka.broker_model import BrokerModel, Cluster, Place
from tests.simulation.model.kafka.cluster_image import MIN_ISR, PartitionRow
from tests.simulation.model.kafka.disk import Disk
from tests.simulation.model.kafka.releases import levels_of
from tests.simulation.tests.quorums import CLUSTER, Quorum, disk, key

from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.ids import NodeID


@dataclass(slots=True)
class Pool:
    """One controller and brokers with ids from 0, each with one disk."""

    quorum: Quorum = field(default_factory=Quorum)
    model: BrokerModel = field(init=False)
    disks: dict[int, list[Disk]] = field(default_factory=dict)

    @classmethod
    def of(cls, brokers: int, *, controllers: int = 1, elr: bool = True, volumes: int = 1) -> "Pool":
        """A cluster whose brokers run, without ELR if so wished."""
        made = cls()
        keys = frozenset(key(3000 + number) for number in range(controllers))
        for replica in sorted(keys, key=str):
            one = disk(replica, keys)
            one.levels = levels_of({"metadata.version": 30, "eligible.leader.replicas.version": int(elr)})
            made.quorum.start(one)
        made.model = BrokerModel(made.quorum.kraft, made.quorum.clock)
        made.pass_time(5)
        for node_id in range(brokers):
            made.start(node_id, volumes=volumes)
        made.pass_time(8)
        return made

    @property
    def cluster(self) -> Cluster:
        """Its brokers and what was acknowledged."""
        return self.model.cluster(CLUSTER)

    def start(self, node_id: int, *, volumes: int = 1, fresh: str = "") -> Broker:
        """Start a broker on its disks; with `fresh` on new ones whose ids have this letter."""
        if node_id not in self.disks or fresh:
            keys = (key(node_id, f"{fresh or 'd'}{index or ''}"[-1]) for index in range(volumes))
            self.disks[node_id] = [disk(one, frozenset()) for one in keys]
        place = Place(address=f"10.1.0.{node_id}", host=f"broker-{node_id}", port=9091, release="4.4.0")
        return self.model.start(self.disks[node_id], NodeID(node_id), place)

    def broker(self, node_id: int) -> Broker:
        """The running broker of this id."""
        found = self.cluster.broker(NodeID(node_id))
        assert found is not None
        return found

    def topic(self, name: str, *replicas: int, min_isr: int = 2) -> TopicPartition:
        """Create a topic with one partition; returns it when it has its leader."""
        nodes = tuple(NodeID(one) for one in replicas)
        self.cluster.controller.create(name, [nodes], {MIN_ISR: str(min_isr)})
        self.pass_time(2)
        return TopicPartition(topic=name, index=0)

    def row(self, at: TopicPartition) -> PartitionRow:
        """The partition as the active controller has it."""
        return self.cluster.controller.image.partitions[at]

    def acked(self, at: TopicPartition) -> int:
        """How many records were acknowledged."""
        return sum(span.end - span.start for span in self.cluster.acked.get(at, ()))

    def pass_time(self, seconds: float) -> None:
        """Run rounds, two per second."""
        for _ in range(int(seconds * 2)):
            self.quorum.clock.advance(0.5)
            self.quorum.kraft.step()
            self.model.step()
