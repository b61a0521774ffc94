"""Where acknowledged records are, by ground truth: which disks have a complete copy of a partition."""

from collections.abc import Iterator
from dataclasses import dataclass

from tests.simulation.model.kafka.broker_model import Cluster
from tests.simulation.model.kafka.disk import Disk
from tests.simulation.model.world import World

from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.ids import ClusterID


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """The complete copies of a partition, by the serial numbers of their disks."""

    at: TopicPartition
    serials: frozenset[int]


class PoolData:
    """Every disk with replicas."""

    def __init__(self, world: World) -> None:
        """Look at this world."""
        self._world = world

    def clusters(self) -> Iterator[tuple[ClusterID, Cluster]]:
        """Every cluster with acknowledged records."""
        for cluster_id, cluster in self._world.pools.clusters.items():
            if cluster.acked:
                yield cluster_id, cluster

    def disks(self) -> dict[int, Disk]:
        """Every disk that exists: on volumes that are not gone for ever, and under running brokers."""
        found = {one.disk.serial: one.disk for one in self._world.volumes.by_claim.values() if not one.dead}
        for broker in self._world.pools.every():
            for disk in broker.disks:
                found[disk.serial] = disk
        return found

    def copies(self, cluster: Cluster, at: TopicPartition, *, without: frozenset[int] = frozenset()) -> frozenset[int]:
        """The disks with every acknowledged record of a partition, except these."""
        acked = cluster.acked.get(at, [])
        return frozenset(
            serial
            for serial, disk in self.disks().items()
            if serial not in without and (log := disk.replicas.get(at)) is not None and log.has(acked)
        )

    def is_kept(self, cluster: Cluster, at: TopicPartition) -> bool:
        """Whether a disk has every acknowledged record of a partition."""
        acked = cluster.acked.get(at, [])
        logs = (disk.replicas.get(at) for disk in self.disks().values())
        return any(log is not None and log.has(acked) for log in logs)

    def last_copies(self, disk: Disk) -> list[TopicPartition]:
        """The partitions with acknowledged records of which this disk has the only complete copy."""
        gone = frozenset({disk.serial})
        return [
            at
            for _, cluster in self.clusters()
            for at, acked in cluster.acked.items()
            if acked
            and (log := disk.replicas.get(at)) is not None
            and log.has(acked)
            and not self.copies(cluster, at, without=gone)
        ]
