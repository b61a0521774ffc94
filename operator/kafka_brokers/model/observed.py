"""What one look at a pool showed: its Kubernetes objects, and Kafka's answers, each Known or Unknown.

If a look could not list its Kubernetes objects, there is no `Observed`: the pass ends there (rule 8).
"""

from dataclasses import dataclass, field

from kafka_brokers.model.disks import PoolRecord
from kafka_brokers.model.found import FoundEmpty, Run
from kafka_brokers.model.pool import BrokerRuntime
from kafka_quorum.model.brokers import (
    ConfigEntry,
    LogDirectory,
    Partition,
    Reassignment,
    RegisteredBroker,
    TopicPartition,
)
from kafka_quorum.model.contract import Contract
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.pods import ContainerState, DiskFound, Running
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.security import PLAINTEXT, Security
from kit.token import Token

_NOT_ASKED = Unknown(reason="it was not asked")
_NONE_LEAVES: Known[frozenset[NodeID]] = Known(value=frozenset())
_NO_OTHERS: Known[frozenset[bool]] = Known(value=frozenset())


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim of ours. The two ids are its copy of the identity; None if one is missing."""

    name: str
    uid: str
    resource_version: str
    node_id: NodeID
    index: int
    generation: int
    owner_uid: str | None
    deleting: bool
    volume_gone: bool
    cluster_id: str | None
    directory_id: str | None
    requested_bytes: int
    retired: bool = False
    storage_class: str = ""
    """Empty before the API server has set the default one."""
    volume: str = ""
    selected_node: str = ""
    bound_to: str = ""
    """The only Kubernetes node that can reach the volume; empty if there is none, or unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskRow:
    """What a script found on one volume. The ids are None unless it is formatted."""

    index: int
    found: DiskFound
    cluster_id: str | None
    node_id: int | None
    directory_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DisksReport:
    """What a script of a pod found on all volumes, and whether it `accepted` them.

    `adopted`: it formatted none, so they have the data of earlier brokers. `run` is None if it is not known which run
    of the script wrote it.
    """

    disks: tuple[DiskRow, ...]
    accepted: bool
    message: str
    finished_at_s: float
    adopted: bool = False
    run: Run | None = None

    def disk(self, index: int) -> DiskRow | None:
        """The row of this volume."""
        return next((row for row in self.disks if row.index == index), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod of ours. `claim_uids` and `directory_ids` are what it was made for, by the index of the volume."""

    name: str
    uid: str
    resource_version: str
    formats: bool
    node_id: NodeID
    owner_uid: str | None
    deleting: bool
    finished: bool
    claim_uids: tuple[str, ...]
    directory_ids: tuple[str, ...]
    revision: str
    config_name: str
    ip: str
    host_ip: str
    node_name: str
    unschedulable: str
    container: ContainerState
    report: DisksReport | None
    gate: str
    """The readiness gate's status: `True`, `False`, `Unknown`, or empty if it was never set."""
    late: str | None = None
    """The properties that it was given after it was scheduled; None if it was given none yet."""
    needs_late: bool = False
    held: bool = False
    """A person asked that this broker is not stopped (annotation)."""
    ready: bool = False
    """Its Ready condition."""
    replication_tls: bool = False
    """Its listener REPLICATION has mutual TLS."""
    beside: DisksReport | None = None
    """What the newest run of its other script found: `report` is the later one. The end of Kafka found none empty."""
    noted: FoundEmpty | None = None
    """What was noted of runs of its script that found volumes empty."""
    why_ended: str = ""

    @property
    def running(self) -> bool:
        """Whether its Kafka runs, or may run: in a pod that is being deleted it may run until the pod is gone."""
        return isinstance(self.container, Running)

    @property
    def process(self) -> str:
        """The container that runs, among all of all pods; empty if none does."""
        return f"{self.uid}/{self.container.container}" if isinstance(self.container, Running) else ""

    @property
    def serves(self) -> bool:
        """Whether its Kafka runs, and the pod is not being deleted."""
        return not self.formats and self.running and not self.deleting


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """A service, a budget, a config map or a revision: what it is, and the facts of it that matter.

    `node_ports` and `ingress` are where a service is reached from outside: its node port by port name, and the host or
    address of its load balancer, empty if it has none yet.
    """

    kind: str
    name: str
    uid: str
    resource_version: str
    owner_uid: str | None
    facts: str = ""
    foreign: bool = False
    """Something else controls it."""
    deleting: bool = False  # it stays until its finalizers are gone: a load balancer is taken down for minutes
    node_ports: tuple[tuple[str, int], ...] = ()
    ingress: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """What pods are made from, by its name. It never changes. `image` is resolved, `number` counts revisions."""

    name: str
    number: int
    image: str
    inputs_hash: str
    runtime: BrokerRuntime


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeNode:
    """A node of Kubernetes; one that does not exist is not ready. `labels` are those that may name a rack."""

    name: str
    ready: bool
    cordoned: bool = False
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader:
    """The controllers' leader as it answers itself, with a live majority behind it.

    `observers_caught_up` are the node ids of brokers whose copy of the metadata log was at its end at most 2 s ago, by
    the leader's clock. `observers` are all of them, `settled` says that every voter is caught up.
    """

    endpoint: Endpoint
    epoch: int
    observers: frozenset[NodeID]
    observers_caught_up: frozenset[NodeID]
    settled: bool
    voters: int
    voters_caught_up: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """Every registered broker and every partition, as one broker that is caught up with the metadata log knows them.

    `source` is that broker. `min_isr` has every topic of the partitions. `taken_at_s` is when the first of these
    questions was asked (monotonic seconds of the operator's clock).
    """

    source: NodeID
    registered: tuple[RegisteredBroker, ...]
    partitions: tuple[Partition, ...]
    min_isr: tuple[tuple[str, int], ...]
    reassignments: tuple[Reassignment, ...]
    taken_at_s: float
    doubtful: frozenset[NodeID] = frozenset()
    """Brokers of which it is not known whether they are fenced: some of those that were asked list them, others do not.

    Their rows have them as fenced. Nothing may be done to them that needs a fenced broker.
    """
    by_broker: dict[NodeID, tuple[Partition, ...]] = field(init=False, repr=False, compare=False)
    """The partitions of which each broker is a replica."""
    targets: dict[TopicPartition, tuple[NodeID, ...]] = field(init=False, repr=False, compare=False)
    """The replicas that each partition with a running reassignment shall have."""
    _min_isr: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute the indexes once: guards ask for every broker."""
        found: dict[NodeID, list[Partition]] = {}
        for partition in self.partitions:
            for node in {*partition.replicas, *partition.isr}:
                found.setdefault(node, []).append(partition)
        object.__setattr__(self, "by_broker", {node: tuple(rows) for node, rows in found.items()})
        object.__setattr__(self, "targets", {row.at: row.target for row in self.reassignments})
        object.__setattr__(self, "_min_isr", dict(self.min_isr))

    def broker(self, node_id: NodeID) -> RegisteredBroker | None:
        """The registration of this broker; None if it has none."""
        return next((row for row in self.registered if row.node_id == node_id), None)

    def in_contact(self, node_id: NodeID) -> bool:
        """Whether a broker is registered and not known to be fenced: it may serve, or hold data."""
        row = self.broker(node_id)
        return row is not None and (not row.fenced or node_id in self.doubtful)

    def replicas_of(self, partition: Partition) -> tuple[NodeID, ...]:
        """The replicas that a partition shall have: those of a running reassignment's target, else the present ones."""
        return self.targets.get(partition.at, partition.replicas)

    def min_isr_of(self, partition: Partition) -> int | None:
        """`min.insync.replicas` of its topic; None if it is not known."""
        return self._min_isr.get(partition.at.topic)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlankDisk:
    """Two moments (monotonic seconds) at which formatters of `claim_uids` found a volume empty: the first, the last."""

    claim_uids: tuple[str, ...]
    index: int
    first_s: float
    last_s: float
    last_finished_at_s: float
    looked_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """The few facts that need several looks. If they are lost, they are gathered again."""

    blank: tuple[BlankDisk, ...] = ()
    node_down_s: tuple[tuple[NodeID, float], ...] = ()
    """For how long Kubernetes and the quorum have agreed that a broker's Kubernetes node is down."""
    looked_s: float = 0.0
    configs: tuple[tuple[NodeID, Knowable[tuple[ConfigEntry, ...]]], ...] = ()
    """The settings that were changed on running brokers, as they were read at `configs_s`."""
    configs_s: float = float("-inf")
    processes: tuple[str, ...] = ()
    """The containers of the pool's brokers that ran then: what one of them answered shows nothing about the next."""
    peers: tuple[tuple[str, Knowable[None]], ...] = ()
    """Whether the processes of other pools' brokers answered, at `configs_s`."""

    def node_down_for_s(self, node_id: NodeID) -> float:
        """For how long a broker's Kubernetes node has been down, as far as both agree; 0 if they do not."""
        return dict(self.node_down_s).get(node_id, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """An object that exists and cannot be read; it never counts as absent."""

    kind: str
    name: str
    why: str
    later: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PeersEnded:
    """The running brokers of other pools that are known to have certificates that have ended, at REPLICATION too.

    Of a broker that is not in `every`, this is not known. `renewed` are those of them whose Secret has a later
    certificate that is valid: with it they start next.
    """

    every: frozenset[NodeID] = frozenset()
    renewed: frozenset[NodeID] = frozenset()


_NO_PEERS = PeersEnded()


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One look at everything that concerns one pool. `looked_at_s` is when Kafka's answers were asked for."""

    contract: Knowable[Contract]
    record: PoolRecord | None
    record_owner_uid: str | None
    record_fault: str
    claims: tuple[Claim, ...]
    pods: tuple[Pod, ...]
    support: tuple[Support, ...]
    revisions: tuple[Revision, ...]
    token: Knowable[Token]
    taken_ids: tuple[tuple[NodeID, str], ...] = ()
    """Node ids that other pools of the same quorum have, and the names of these pools."""
    draining: Knowable[frozenset[NodeID]] = _NONE_LEAVES
    """Brokers of the other pools of the same cluster that leave, by the records of these pools."""
    peers: tuple[Pod, ...] = ()
    """The pods that run brokers of the other pools of the same quorum; and those of them that cannot be read."""
    peers_unreadable: tuple[Unreadable, ...] = ()
    peers_ended: PeersEnded = _NO_PEERS
    leader: Knowable[Leader] = _NOT_ASKED
    cluster: Knowable[ClusterView] = _NOT_ASKED
    configs: tuple[tuple[NodeID, Knowable[tuple[ConfigEntry, ...]]], ...] = ()
    log_dirs: tuple[tuple[NodeID, Knowable[tuple[LogDirectory, ...]]], ...] = ()
    kube_nodes: tuple[tuple[str, Knowable[KubeNode]], ...] = ()
    memory: Memory = field(default_factory=Memory)
    unreadable: tuple[Unreadable, ...] = ()
    later: tuple[str, ...] = ()
    secrets: tuple[tuple[str, Knowable[frozenset[str] | None]], ...] = ()
    """The keys of the Secrets that pods mount, by name; None for one that does not exist."""
    certified: tuple[tuple[str, frozenset[str]], ...] = ()
    """The names in the certificate of each file of the pool's own Secret."""
    certificate_ends: tuple[tuple[str, int], ...] = ()
    """When nobody accepts each of these certificates any more (Unix seconds)."""
    accept_loss: frozenset[str] = frozenset()
    """The data that a person gave up: directory ids, and the claims of volumes without one."""
    spec_kept: bool = True
    """Whether the present spec is stored as the last accepted one, or is too long to be stored."""
    looked_at_s: float = 0.0
    pool: str = ""
    uid: str = ""
    others_tls: Knowable[frozenset[bool]] = _NO_OTHERS
    """Whether REPLICATION of the other pools of the same cluster has TLS, by the records of these pools."""
    security: Security = PLAINTEXT
    """How a broker is asked whose REPLICATION has TLS."""

    def broker_pod(self, node_id: NodeID) -> Pod | None:
        """The pod that runs this broker, if there is one."""
        return next((pod for pod in self.pods if pod.node_id == node_id and not pod.formats), None)

    def formatter_pods(self, node_id: NodeID) -> tuple[Pod, ...]:
        """The pods that format this broker's volumes."""
        return tuple(pod for pod in self.pods if pod.node_id == node_id and pod.formats)

    def claim(self, node_id: NodeID, index: int, generation: int) -> Claim | None:
        """The claim of this generation of a volume."""
        this = (node_id, index, generation)
        return next((one for one in self.claims if (one.node_id, one.index, one.generation) == this), None)

    def revision(self, name: str | None) -> Revision | None:
        """The revision of this name."""
        return next((revision for revision in self.revisions if revision.name == name), None)

    def secret(self, name: str) -> Knowable[frozenset[str] | None]:
        """The keys of a Secret, if it was looked up; None if it does not exist."""
        return dict(self.secrets).get(name, _NOT_ASKED)

    def kube_node(self, name: str) -> Knowable[KubeNode]:
        """A node of Kubernetes, if it was looked up."""
        return dict(self.kube_nodes).get(name, _NOT_ASKED)

    def config(self, node_id: NodeID) -> Knowable[tuple[ConfigEntry, ...]]:
        """The running configuration of a broker, if it was asked."""
        return dict(self.configs).get(node_id, _NOT_ASKED)

    def answers(self, peer: Pod) -> Knowable[None]:
        """Whether the Kafka that runs in this pod of another pool answered, if it was asked."""
        return dict(self.memory.peers).get(peer.process, _NOT_ASKED)

    def fenced(self, node_id: NodeID) -> bool | None:
        """Whether a broker is fenced, or not registered at all; None if that is not known."""
        match self.cluster:
            case Known(value=view):
                row = view.broker(node_id)
                return None if node_id in view.doubtful else row is None or row.fenced
            case Unknown():
                return None
