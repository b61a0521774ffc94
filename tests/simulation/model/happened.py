"""What happens in the world, as values: the ground truth of the safety rules."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from tests.simulation.model.kafka.broker import Broker
from tests.simulation.model.kafka.disk import Disk, Meta
from tests.simulation.model.kafka.process import Process
from tests.simulation.model.kafka.streams_group import StreamsProcess
from tests.simulation.model.kafka.streams_releases import Program
from tests.simulation.model.kafka.zookeeper_broker import KeeperBroker

from kafka_quorum.model.brokers import Move, TopicPartition
from kafka_quorum.model.ids import ClusterID, NodeID, ReplicaKey
from kafka_quorum.model.quorum import AddVoter, Endpoint, FeatureStep, RemoveVoter, UpdateFeature
from kafka_quorum.model.scram import ScramChange
from kafka_quorum.model.zookeeper import GiveBack
from kit.kube.protocol import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Formatted:
    """A disk became a replica. `voters` are those of its checkpoint, empty without initial controllers."""

    namespace: str
    quorum: str
    serial: int
    cluster_id: ClusterID
    key: ReplicaKey
    initial: bool
    voters: frozenset[ReplicaKey]
    static: bool = False
    """The voters are those of the configuration, and the disk has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """Kafka started on a disk, in a pod that was created at `pod_made` (RFC 3339)."""

    namespace: str
    quorum: str
    serial: int
    cluster_id: ClusterID
    key: ReplicaKey
    pod_made: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrote:
    """A pod has made a replica the only voter in its log, or found that it is."""

    namespace: str
    quorum: str
    serial: int
    key: ReplicaKey
    cluster_id: ClusterID
    epoch: int
    pod: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Containers of two pods use one volume at the same time."""

    claim: str
    pods: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskLost:
    """A disk is gone or empty. `reported`: its formatter had already reported."""

    namespace: str
    quorum: str
    serial: int
    key: ReplicaKey | None
    ran: bool
    reported: bool
    replicas: tuple[TopicPartition, ...] = ()
    """The partitions that had a replica on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimDeleted:
    """The operator deleted a claim; `disk` was behind it."""

    name: str
    disk: Disk | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionDeleted:
    """The operator deleted a ControllerRevision. `late`: its request arrived after it had given up on it."""

    namespace: str
    name: str
    late: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PodDeleted:
    """The operator deleted or evicted a pod. `process` ran in it, and `inputs` is the hash of its inputs."""

    namespace: str
    quorum: str
    name: str
    process: Process | None
    inputs: str = ""
    evicted: bool = False
    late: bool = False
    """The world has made a step since the request was sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopSent:
    """The operator sends the deletion or the eviction of a pod; `stop` is what it removes at this moment."""

    stop: PodDeleted


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveSent:
    """The operator sends RemoveRaftVoter."""

    endpoint: Endpoint
    request: RemoveVoter


@dataclass(frozen=True, slots=True, kw_only=True)
class AddSent:
    """The operator sends AddRaftVoter."""

    endpoint: Endpoint
    request: AddVoter


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateSent:
    """The operator sends UpdateFeatures with one step, to change the level or only to validate the step."""

    endpoint: Endpoint
    request: UpdateFeature


@dataclass(frozen=True, slots=True, kw_only=True)
class StepAllowed:
    """The active controller has answered that it accepts a step."""

    endpoint: Endpoint
    step: FeatureStep


@dataclass(frozen=True, slots=True, kw_only=True)
class GhostCured:
    """The operator sends ControllerRegistration in the place of a controller, or UnregisterController."""

    endpoint: Endpoint
    node_id: NodeID


@dataclass(frozen=True, slots=True, kw_only=True)
class ScramSent:
    """The operator sends a change of one user of SCRAM."""

    endpoint: Endpoint
    change: ScramChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """The operator created an object; `late` if its request is older than the world's present step."""

    plural: str
    body: Json
    late: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GaveBack:
    """The operator's transaction on ZooKeeper has its effect now."""

    what: GiveBack


@dataclass(frozen=True, slots=True, kw_only=True)
class KeeperBrokerStarted:
    """The owner of a broker that migrates from ZooKeeper started it."""

    broker: KeeperBroker


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The operator sends AlterPartitionReassignments."""

    endpoint: Endpoint
    moves: tuple[Move, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unregistered:
    """The operator sends UnregisterBroker."""

    endpoint: Endpoint
    node_id: NodeID


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFormatted:
    """A formatter of a pool made a log directory of a disk; `pod` is its name."""

    pool: str
    pod: str
    serial: int
    meta: Meta


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerStarted:
    """A broker's Kafka started, in a pod that was created at `pod_made` (RFC 3339)."""

    pool: str
    pod: str
    broker: Broker
    pod_made: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerStop:
    """The operator stops a pod of a pool. `sent`: the request is sent; otherwise it has its effect now."""

    namespace: str
    pool: str
    pod: str
    broker: Broker | None
    evicted: bool
    sent: bool
    late: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceStarted:
    """An instance of a Streams application started; `wrote` is what ran last on its disk, if anything did."""

    process: StreamsProcess
    wrote: Program | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceStop:
    """The operator deletes a pod of a Streams application. `sent`: the request is sent; otherwise it has its effect."""

    pod: str
    uid: str
    index: int
    process: StreamsProcess | None
    sent: bool
    late: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StateDropped:
    """The operator deletes a claim of an instance's local state."""

    claim: str
    index: int
    generation: int
    serial: int
    late: bool = False


OfStreams: TypeAlias = InstanceStarted | InstanceStop | StateDropped
"""What happens to Streams applications; their rules judge it."""
OfBrokers: TypeAlias = Moved | Unregistered | BrokerFormatted | BrokerStarted | BrokerStop
"""What happens to pools; rules of pools judge it."""
OfKeepers: TypeAlias = GaveBack | KeeperBrokerStarted
"""What happens to a cluster that migrates from ZooKeeper."""
Asked: TypeAlias = (
    ClaimDeleted
    | PodDeleted
    | StopSent
    | AddSent
    | RemoveSent
    | UpdateSent
    | StepAllowed
    | GhostCured
    | ScramSent
    | Created
)
"""What the operator asked for."""
Happened: TypeAlias = (
    Formatted | Started | Rewrote | Shared | DiskLost | RevisionDeleted | Asked | OfBrokers | OfKeepers | OfStreams
)

Fail: TypeAlias = Callable[[str, str], None]
"""The receiver of a broken rule and of what happened."""
