"""What the operator asks of Kafka brokers, and of controllers about brokers. The simulation answers in memory.

`endpoint` is a broker unless a method says *the leader*: that is the active controller, on its controller listener.
"""

from collections.abc import Sequence
from typing import Protocol

from kafka_quorum.model.brokers import (
    BrokersAnswer,
    ConfigChange,
    ConfigEntry,
    LogDirectory,
    MetadataAnswer,
    Move,
    Partition,
    Reassignment,
    TopicPartition,
)
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import Endpoint, NodeVersions, QuorumAnswer


class Brokers(Protocol):
    """Requests to one server each: they end within a deadline, and raise `KafkaError` on anything but success."""

    async def api_versions(self, endpoint: Endpoint) -> NodeVersions:
        """Supported ranges and finalized levels, as this node reports them."""

    async def describe_quorum(self, endpoint: Endpoint) -> QuorumAnswer:
        """At a controller: the quorum as the leader reports it; `KafkaRefused` NOT_LEADER_OR_FOLLOWER otherwise."""

    async def describe_brokers(self, endpoint: Endpoint) -> BrokersAnswer:
        """Every registered broker as this broker knows it, fenced ones too (DescribeCluster 2, Kafka 4.0)."""

    async def describe_partitions(self, endpoint: Endpoint) -> tuple[Partition, ...]:
        """Every partition as this broker knows it (DescribeTopicPartitions, in pages): all of them, or an error."""

    async def metadata(self, endpoint: Endpoint, *, partitions: bool = True) -> MetadataAnswer:
        """Brokers, and `partitions`, as this broker has them in its cache, which may be old (Metadata 12)."""

    async def min_isr(self, endpoint: Endpoint, topics: Sequence[str]) -> dict[str, int]:
        """The effective `min.insync.replicas` of each of these topics; a topic that is gone meanwhile is absent."""

    async def describe_broker_config(self, endpoint: Endpoint, node_id: NodeID) -> tuple[ConfigEntry, ...]:
        """The running configuration of this very broker, which must be the one at `endpoint`."""

    async def describe_log_dirs(self, endpoint: Endpoint) -> tuple[LogDirectory, ...]:
        """The log directories of this broker and their replicas."""

    async def reassignments(self, endpoint: Endpoint) -> tuple[Reassignment, ...]:
        """Every running reassignment, from the leader."""

    async def reassign(self, endpoint: Endpoint, moves: Sequence[Move]) -> dict[TopicPartition, str]:
        """Ask the leader for these reassignments. What it refuses is returned with its words; the others began.

        The answer to one that cancels a reassignment which does not run is no refusal.
        """

    async def elect_preferred(self, endpoint: Endpoint, partitions: Sequence[TopicPartition]) -> None:
        """Ask the leader to elect the preferred leaders of these; what cannot be is left as it is."""

    async def alter_broker_config(self, endpoint: Endpoint, node_id: NodeID, changes: Sequence[ConfigChange]) -> None:
        """Ask that very broker to change dynamic settings of its own: it checks them, and passes them on to the leader.

        The leader itself also accepts the request, for a broker that is stopped. It stores any name and value without
        a check, except `cordoned.log.dirs`, of which it only makes the list shorter.
        """

    async def alter_topic_config(self, endpoint: Endpoint, topic: str, changes: Sequence[ConfigChange]) -> None:
        """Ask the leader to change settings of a topic (replication throttles)."""

    async def unregister_broker(self, endpoint: Endpoint, node_id: NodeID) -> None:
        """Ask the leader to forget a broker's registration; one that is not registered is a success."""

    async def close(self) -> None:
        """Close every connection."""
