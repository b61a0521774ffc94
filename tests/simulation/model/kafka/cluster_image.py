"""What the metadata log says about brokers and partitions: values that each record replaces as a whole.

A process has the image of its own log: the active controller the newest one, a broker that lags an old one. `epoch` of
a broker is the offset of its registration, as in Kafka. Directories are ids, parallel to the replicas.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.ids import DirectoryID, NodeID

Nodes: TypeAlias = tuple[NodeID, ...]
MIN_ISR: Final = "min.insync.replicas"
CORDONED: Final = "cordoned.log.dirs"
UNASSIGNED: Final = DirectoryID("")


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRow:
    """A broker's registration. `stopping`: it is in controlled shutdown, or has ended by one."""

    node_id: NodeID
    epoch: int
    incarnation: str
    host: str
    port: int
    rack: str
    directories: tuple[DirectoryID, ...]
    fenced: bool = True
    stopping: bool = False

    @property
    def active(self) -> bool:
        """Whether it may lead and be in an ISR."""
        return not self.fenced and not self.stopping


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRow:
    """One partition. `version` counts its changes, as Kafka's partition epoch does."""

    at: TopicPartition
    replicas: Nodes
    directories: tuple[DirectoryID, ...]
    isr: Nodes
    leader: NodeID | None
    leader_epoch: int = 0
    version: int = 0
    elr: Nodes = ()
    last_elr: Nodes = ()
    adding: Nodes = ()
    removing: Nodes = ()

    @property
    def target(self) -> Nodes:
        """The replicas when the running reassignment is done."""
        return tuple(node for node in self.replicas if node not in self.removing)

    def directory(self, node_id: NodeID) -> DirectoryID:
        """The directory of this replica, if one is assigned."""
        pairs = zip(self.replicas, self.directories, strict=True)
        return next((directory for node, directory in pairs if node == node_id), UNASSIGNED)

    def placed(self, node_id: NodeID, directory: DirectoryID) -> "PartitionRow":
        """The row with this replica in this directory."""
        pairs = zip(self.replicas, self.directories, strict=True)
        changed = tuple(directory if node == node_id else each for node, each in pairs)
        return replace(self, directories=changed, version=self.version + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterImage:
    """Every broker, partition and dynamic setting. No mapping is ever changed in place."""

    brokers: Mapping[NodeID, BrokerRow] = field(default_factory=dict)
    partitions: Mapping[TopicPartition, PartitionRow] = field(default_factory=dict)
    of_topic: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    of_broker: Mapping[NodeID, Mapping[str, str]] = field(default_factory=dict)
    of_all: Mapping[str, str] = field(default_factory=dict)
    """Dynamic settings of topics, of one broker, and of all brokers."""

    def min_isr(self, topic: str) -> int:
        """The topic's effective `min.insync.replicas`."""
        return int(self.of_topic.get(topic, {}).get(MIN_ISR) or self.of_all.get(MIN_ISR, "1"))

    def is_acceptable(self, row: PartitionRow, node_id: NodeID) -> bool:
        """Whether this replica may lead: its broker is active, and has its directory online."""
        broker = self.brokers.get(node_id)
        if broker is None or not broker.active:
            return False
        directory = row.directory(node_id)
        return directory == UNASSIGNED or directory in broker.directories

    def with_broker(self, broker: BrokerRow) -> "ClusterImage":
        """The image with this registration in place of the one of its id."""
        return replace(self, brokers={**self.brokers, broker.node_id: broker})

    def without_broker(self, node_id: NodeID) -> "ClusterImage":
        """The image without this registration."""
        return replace(self, brokers={one: row for one, row in self.brokers.items() if one != node_id})

    def with_partition(self, row: PartitionRow) -> "ClusterImage":
        """The image with this row in place of the one of its partition."""
        return replace(self, partitions={**self.partitions, row.at: row})

    def of_node(self, node_id: NodeID) -> tuple[PartitionRow, ...]:
        """Every partition that lists this broker as a replica."""
        return tuple(row for row in self.partitions.values() if node_id in row.replicas)


NO_CLUSTER: Final = ClusterImage()
