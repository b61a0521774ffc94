"""Small quorums of modelled processes, for tests of the model itself."""

from dataclasses import dataclass, field

from tests.simulation.model.clock import VirtualClock
from tests.simulation.model.kafka.disk import Disk, Meta
from tests.simulation.model.kafka.kraft_model import KraftModel
from tests.simulation.model.kafka.process import Process

from kafka_quorum.model.ids import ClusterID, DirectoryID, NodeID, ReplicaKey, uuid_from_bytes

CLUSTER = ClusterID(uuid_from_bytes(b"c" * 16))


def key(node_id: int, letter: str = "d") -> ReplicaKey:
    """A replica key; another letter is another directory."""
    directory = DirectoryID(uuid_from_bytes(f"{letter}{node_id:015d}".encode()))
    return ReplicaKey(node_id=NodeID(node_id), directory_id=directory)


def disk(replica: ReplicaKey, voters: frozenset[ReplicaKey], cluster_id: ClusterID = CLUSTER) -> Disk:
    """A formatted disk; an empty voter set means no initial controllers."""
    assert replica.directory_id is not None
    meta = Meta(cluster_id=cluster_id, node_id=replica.node_id, directory_id=replica.directory_id)
    return Disk(serial=replica.node_id, files=True, meta=meta, voters=voters, initial=bool(voters))


@dataclass(slots=True)
class Quorum:
    """A model with a clock, and its processes by node id."""

    clock: VirtualClock = field(default_factory=VirtualClock)
    kraft: KraftModel = field(init=False)
    processes: dict[int, Process] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin with no process."""
        self.kraft = KraftModel(self.clock)

    def start(self, on: Disk) -> Process:
        """Start Kafka on a disk."""
        assert on.meta is not None
        node_id = on.meta.node_id
        process = self.kraft.start(
            on, node_id=node_id, address=f"10.0.0.{node_id}", host=f"host-{node_id}", port=9093, listener="CONTROLLER"
        )
        self.processes[node_id] = process
        return process

    def voters(self, *node_ids: int) -> None:
        """Start initial controllers with these ids."""
        keys = frozenset(key(node_id) for node_id in node_ids)
        for replica in sorted(keys, key=str):
            self.start(disk(replica, keys))

    def observer(self, node_id: int, letter: str = "d") -> Process:
        """Start a controller that was formatted without initial controllers."""
        return self.start(disk(key(node_id, letter), frozenset()))

    def pass_time(self, seconds: float) -> None:
        """Run rounds, two per second."""
        for _ in range(int(seconds * 2)):
            self.clock.advance(0.5)
            self.kraft.step()

    @property
    def leader(self) -> Process:
        """The leader."""
        found = self.kraft.leader_of(CLUSTER)
        assert found is not None
        return found
