"""Brokers of the cluster: observers with a release and a registration. The operator does not manage them."""

from tests.simulation.model.kafka.disk import Disk, Meta
from tests.simulation.model.kafka.kraft_model import KraftModel
from tests.simulation.model.kafka.process import Process, Software

from kafka_quorum.model.ids import ClusterID, DirectoryID, NodeID, uuid_from_bytes

PORT = 9092


class Brokers:
    """Every broker, by node id."""

    def __init__(self, kraft: KraftModel) -> None:
        """Begin with no broker."""
        self._kraft = kraft
        self._disks: dict[int, Disk] = {}
        self.by_id: dict[int, Process] = {}

    def start(self, node_id: int, release: str, cluster_id: ClusterID) -> Process:
        """Start a broker of this release, on its own disk if one with this id existed before."""
        directory = DirectoryID(uuid_from_bytes(f"broker{node_id:010d}".encode()))
        meta = Meta(cluster_id=cluster_id, node_id=NodeID(node_id), directory_id=directory)
        disk = self._disks.setdefault(node_id, Disk(serial=-node_id, files=True, meta=meta))
        self.by_id[node_id] = self._kraft.start(
            disk,
            node_id=meta.node_id,
            address=f"10.9.0.{node_id}",
            host=f"broker-{node_id}",
            port=PORT,
            listener="",
            as_=Software(release=release, broker=True),
        )
        return self.by_id[node_id]

    def stop(self, node_id: int) -> None:
        """Stop a broker: its registration stays."""
        process = self.by_id.pop(node_id)
        if not process.failed:
            self._kraft.stop(process)

    def forget(self, node_id: int) -> None:
        """Delete the metadata log of a broker that is stopped."""
        self._disks.pop(node_id, None)

    def upgrade(self, node_id: int, release: str) -> Process:
        """Stop a broker, and start it with another release."""
        cluster_id = self.by_id[node_id].cluster_id
        self.stop(node_id)
        return self.start(node_id, release, cluster_id)
