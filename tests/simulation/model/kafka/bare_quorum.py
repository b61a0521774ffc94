"""Controllers that nobody manages: a quorum beside which pools run, without pods, at a fraction of the cost."""

from typing import Final

from tests.simulation.model.kafka.disk import Disk, Meta
from tests.simulation.model.kafka.kraft_model import KraftModel
from tests.simulation.model.kafka.process import Process, Software
from tests.simulation.model.kafka.releases import Levels

from kafka_quorum.model.ids import ClusterID, DirectoryID, NodeID, ReplicaKey, uuid_from_bytes

CLUSTER: Final = ClusterID(uuid_from_bytes(b"a bare quorum..."))
FIRST: Final = 3000
PORT: Final = 9093


class BareQuorum:
    """Its controllers, by node id."""

    def __init__(self, kraft: KraftModel, controllers: int, *, release: str, levels: Levels | None = None) -> None:
        """Start them, on disks with initial controllers."""
        self._kraft, self._release = kraft, release
        self.node_ids = tuple(NodeID(FIRST + number) for number in range(controllers))
        keys = frozenset(_key(node_id) for node_id in self.node_ids)
        self._disks = {
            node_id: Disk(
                serial=-node_id,
                files=True,
                meta=Meta(cluster_id=CLUSTER, node_id=node_id, directory_id=_directory(node_id)),
                voters=keys,
                initial=True,
                levels=levels,
            )
            for node_id in self.node_ids
        }
        self.by_id: dict[NodeID, Process] = {}
        self.start()

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where they listen, by name."""
        return tuple(f"{_host(node_id)}:{PORT}" for node_id in self.node_ids)

    def start(self) -> None:
        """Start those that do not run."""
        for node_id in self.node_ids:
            if node_id not in self.by_id:
                self.by_id[node_id] = self._kraft.start(
                    self._disks[node_id],
                    node_id=node_id,
                    address=f"10.8.0.{node_id - FIRST + 1}",
                    host=_host(node_id),
                    port=PORT,
                    listener="CONTROLLER",
                    as_=Software(release=self._release),
                )

    def stop(self, count: int) -> None:
        """Kill so many of them."""
        for node_id in self.node_ids[:count]:
            process = self.by_id.pop(node_id, None)
            if process is not None:
                self._kraft.stop(process)


def _key(node_id: NodeID) -> ReplicaKey:
    return ReplicaKey(node_id=node_id, directory_id=_directory(node_id))


def _directory(node_id: NodeID) -> DirectoryID:
    return DirectoryID(uuid_from_bytes(f"bare{node_id:012d}".encode()))


def _host(node_id: NodeID) -> str:
    return f"demo-{node_id}.demo-controllers.kafka.svc"
