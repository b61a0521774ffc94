"""What brokers answer about themselves and their partitions, as values (KIP-631, KIP-966, KIP-455, KIP-827).

These are the shapes that `wire` produces and that `kafka_brokers` judges; a simulation produces the same ones. A row
that an answer lacks is absent here, never zero: whoever decides asks whether it is there.
"""

from dataclasses import dataclass

from kafka_quorum.model.ids import ClusterID, NodeID


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class TopicPartition:
    """One partition of a topic."""

    topic: str
    index: int

    def __str__(self) -> str:
        """As Kafka writes it: `orders-7`."""
        return f"{self.topic}-{self.index}"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class RegisteredBroker:
    """A row of DescribeCluster 2 (KIP-1073): a registered broker. A fenced one leads nothing and is in no ISR."""

    node_id: NodeID
    host: str
    port: int
    rack: str
    fenced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokersAnswer:
    """DescribeCluster, asked of a broker: the cluster and every registered broker, fenced ones too, by id."""

    cluster_id: ClusterID
    brokers: tuple[RegisteredBroker, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A row of DescribeTopicPartitions (KIP-966). `leader` is None while there is none.

    `elr` are eligible leaders outside the ISR that have every acknowledged record; `last_elr` is the last known one.
    `replicas` include those that a running reassignment adds. All are node ids.
    """

    at: TopicPartition
    leader: NodeID | None
    leader_epoch: int
    replicas: tuple[NodeID, ...]
    isr: tuple[NodeID, ...]
    elr: tuple[NodeID, ...] = ()
    last_elr: tuple[NodeID, ...] = ()
    offline: tuple[NodeID, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataAnswer:
    """Metadata, as one broker has it in its cache: the brokers that are not fenced, and every partition.

    `controller` is the broker that leads a cluster in ZooKeeper mode, None if this broker has heard of none. Where
    KRaft controllers lead, it is any broker. In `partitions` nothing is known of eligible leaders.
    """

    cluster_id: ClusterID
    controller: NodeID | None
    brokers: tuple[RegisteredBroker, ...]
    partitions: tuple[Partition, ...]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Reassignment:
    """A row of ListPartitionReassignments (KIP-455): `replicas` as they are now, and what it adds and removes."""

    at: TopicPartition
    replicas: tuple[NodeID, ...]
    adding: tuple[NodeID, ...]
    removing: tuple[NodeID, ...]

    @property
    def target(self) -> tuple[NodeID, ...]:
        """The replicas when it is done."""
        return tuple(node for node in self.replicas if node not in self.removing)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Move:
    """A reassignment that is asked for; `replicas` None cancels the running one."""

    at: TopicPartition
    replicas: tuple[NodeID, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigEntry:
    """A row of DescribeConfigs. `source` is Kafka's number of its origin. `value` is None if sensitive, or not set.

    1 is dynamic of a topic, 2 dynamic of a broker, 3 dynamic of all brokers, 4 the properties file, 5 the default, 6
    dynamic of a broker's logger, 7 of a client's metrics, 8 of a group.
    """

    name: str
    value: str | None
    source: int
    read_only: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigChange:
    """One row of IncrementalAlterConfigs; `value` None deletes the entry, and what is below it counts again."""

    name: str
    value: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """A replica in a log directory of a broker (DescribeLogDirs): its size, and its lag behind the leader in records.

    `future`: it is being moved here from another log directory of the same broker.
    """

    at: TopicPartition
    size_bytes: int
    lag: int
    future: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirectory:
    """A log directory of one broker. `error` is Kafka's name of what is wrong with it, empty if nothing is.

    `cordoned` (KIP-1066) is None if the answer's version cannot say it; byte counts are -1 if it cannot.
    """

    path: str
    error: str
    total_bytes: int
    usable_bytes: int
    replicas: tuple[Replica, ...]
    cordoned: bool | None = None
