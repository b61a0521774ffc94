"""What one look showed: Kubernetes objects reduced to what decisions need, and the quorum, Known or Unknown.

If a look could not list its Kubernetes objects, there is no `Observed`: the pass ends there (rule 8). The quorum, by
contrast, is often Unknown, and there are plans for that case.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka_quorum.model.admission import Admission, Admissions, PodQuestion
from kafka_quorum.model.contract import StoredContract
from kafka_quorum.model.desired import Runtime
from kafka_quorum.model.disk_work import DiskCopy, Worker
from kafka_quorum.model.identity import BootstrapPhase, IdentityRecord
from kafka_quorum.model.ids import NodeID, ReplicaKey
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.material import Material
from kafka_quorum.model.memory import Memory, Soak, StepCheck
from kafka_quorum.model.operation import FeatureOperation, Operation, VoterOperation
from kafka_quorum.model.pods import Pod, PodRole
from kafka_quorum.model.quorum import FeatureStep, FinalizedFeature, NodeVersions, QuorumAnswer
from kafka_quorum.model.registered import BrokerSeen
from kafka_quorum.model.scram import ScramSeen
from kafka_quorum.model.surveyed import Watermark
from kafka_quorum.model.voters import VoterSet
from kafka_quorum.model.zookeeper import DriverSeen, ZooKeeperSeen
from kit.token import Token


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim of ours. The annotations are its copy of the identity; None if one is missing."""

    name: str
    uid: str
    resource_version: str
    node_id: NodeID
    generation: int
    owner_uid: str | None
    deleting: bool
    volume_gone: bool
    """Whether Kubernetes reports that the volume behind a bound claim does not exist (phase `Lost`)."""
    cluster_id: str | None
    directory_id: str | None
    phase: str | None
    requested_bytes: int
    labelled: bool = True
    """Whether it has the labels that select it: a restore may lose them, and the operator repairs them."""
    storage_class: str = ""
    """Empty before the API server has set the default one."""
    volume: str = ""
    """The name of its PersistentVolume; empty before there is one."""
    selected_node: str = ""
    """The Kubernetes node that the scheduler first chose: a hint, because a volume may be attached elsewhere by now."""
    kept: bool = False
    """Whether data was found on it after it was retired: the operator never deletes it."""
    recovery: int = 0
    """The epoch of the recovery that it was made for, or that retired it."""
    bound_to: str = ""
    """The only Kubernetes node that can reach the volume, by its own affinity; empty if there is none, or unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeNode:
    """`ready` is its Ready condition. A node that does not exist is not ready. `cordoned`: it takes no new pods."""

    name: str
    exists: bool
    ready: bool
    cordoned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stranger:
    """What is not ours, with our labels or on our disk. `identified`: with a copy of an identity. `on_disk`: a pod."""

    kind: str
    name: str
    identified: bool
    on_disk: bool = False

    def __str__(self) -> str:
        """The form that messages use."""
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportObject:
    """A service, disruption budget, config map or revision of ours. `facts` are its fields that matter, as they are."""

    kind: str
    name: str
    uid: str
    owner_uid: str | None
    resource_version: str
    facts: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A ControllerRevision of ours: what a pod is made from. `image` is resolved; `inputs_hash` decides restarts."""

    name: str
    number: int
    image: str
    inputs_hash: str
    runtime: Runtime


def revision_named(revisions: tuple[Revision, ...], name: str | None) -> Revision | None:
    """The revision of this name; None if it is not there."""
    return next((revision for revision in revisions if revision.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedController:
    """The identity in one entry of `status.controllers`."""

    node_id: NodeID
    directory_id: str | None
    claim_uid: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedStatus:
    """The resource's status as it was read: our own earlier report and a copy of the identity, never the truth."""

    cluster_id: str | None
    phase: BootstrapPhase | None
    initial: tuple[RecordedController, ...]
    controllers: tuple[RecordedController, ...]
    open: Operation | None
    """The open operation, of any kind."""
    soak: Soak | None = None
    contract_revision: int = 0
    """The revision of the broker contract as it was reported last; 0 if there was none."""
    migration: str = ""
    """The kind of the migration that was under way as it was reported last; empty if there was none."""
    ended: bool = False
    """Whether it says that the cluster went back to ZooKeeper, and the quorum has ended."""
    watermark: Watermark | None = None
    """The last high watermark of a quorum that has no leader."""
    recovery_epoch: int = 0
    """The number of the last recovery, as it was reported."""
    recovering: bool = False
    """Whether a recovery was open as it was reported last."""

    @property
    def operation(self) -> VoterOperation | None:
        """The change of the voter set that is open."""
        return self.open if isinstance(self.open, VoterOperation) else None

    @property
    def feature_operation(self) -> FeatureOperation | None:
        """The step of a feature that is open."""
        return self.open if isinstance(self.open, FeatureOperation) else None


_PATIENCE_S: Final = 60.0
"""If no leader leads for long, the voters change so much later all the same."""
_UNSURE_S: Final = 30.0
"""A leader must have led at least for so long before a removal counts that no answer has confirmed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenure:
    """For how long the present leader has been seen to lead in this epoch, in seconds."""

    for_s: float
    settles_after_s: float
    """For how long a leader has led when its log is longer than the lost tail of any earlier leader.

    See `observe.quorum.SETTLING_TIMEOUTS`.
    """
    unsettled_s: float = 0.0
    """For how long no leader has led for long enough."""

    @property
    def settled(self) -> bool:
        """Whether no process misses a voter change that is written now; or leaders change too often to wait for it."""
        return self.for_s >= self.settles_after_s or self.unsettled_s >= self.settles_after_s + _PATIENCE_S

    @property
    def sure_after_s(self) -> float:
        """For how long a leader must have led before a removal counts that no answer has confirmed."""
        return max(_UNSURE_S, self.settles_after_s)

    @property
    def sure(self) -> bool:
        """Whether it has led for so long."""
        return self.for_s >= self.sure_after_s


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumView:
    """A judged answer: the leader's, with a live majority behind it, of the expected cluster."""

    answer: QuorumAnswer
    live: frozenset[ReplicaKey]
    caught_up: frozenset[ReplicaKey]
    committed: bool
    committed_voters: frozenset[ReplicaKey] | None
    """The last voter set known to be committed; None before any is."""
    taken_at_s: float
    """Monotonic seconds of the operator's clock: only for the age of the look."""
    tenure: Tenure
    unsure: frozenset[ReplicaKey] = frozenset()
    """Replicas that this leader does not show as voters, and that its log may list all the same.

    They were voters, or were asked to become voters, under another leader, and no answer has confirmed a removal. A
    leader that lost a tail of its log may not have read the newest voter set.
    """
    unproven: frozenset[ReplicaKey] = frozenset()
    """Replicas that their stamps show as caught up, while no look can decide yet whether the present container was.

    This lasts for two looks after the operator started, or after the leader changed. No guard counts these replicas.
    """
    static: bool = False
    """At kraft.version 0 voters have no directory ids: their keys are those of the record for their node ids."""
    voters: frozenset[ReplicaKey] = field(init=False, repr=False, compare=False)
    """The current voter set."""
    observers: frozenset[ReplicaKey] = field(init=False, repr=False, compare=False)
    """Replicas that fetch, or once fetched, without a vote: every broker of a cluster is one."""

    def __post_init__(self) -> None:
        """Compute both sets once, because guards use them for every controller."""
        object.__setattr__(self, "voters", frozenset(replica.key for replica in self.answer.voters))
        object.__setattr__(self, "observers", frozenset(replica.key for replica in self.answer.observers))

    @property
    def votes(self) -> VoterSet:
        """The voters, and which of them are caught up: the input of every question about a majority."""
        return VoterSet(self.voters, self.caught_up)

    @property
    def shown(self) -> frozenset[ReplicaKey]:
        """Replicas that nothing shows as lagging: shown to people, and used by no guard."""
        return self.caught_up | self.unproven

    @property
    def changing(self) -> bool:
        """Whether the current voter set differs from the last one known to be committed."""
        return self.committed_voters != self.voters

    def voter_of(self, node_id: NodeID) -> ReplicaKey | None:
        """The voter with this node id, on any disk."""
        return next((key for key in sorted(self.voters, key=str) if key.node_id == node_id), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """An object that exists and cannot be read; it never counts as absent. `node_id`: None if the id is unknown."""

    kind: str
    name: str
    node_id: NodeID | None
    why: str
    later: bool = False
    """A later version of this operator wrote it."""


_NOT_ASKED = Unknown(reason="the leader was not asked")
_NOT_READ = Unknown(reason="")
_NO_BROKERS: Known[tuple[BrokerSeen, ...]] = Known(value=())
_NO_TOKEN = Unknown(reason="it was not read")


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One look at everything that concerns one quorum."""

    record: IdentityRecord | None
    record_owner_uid: str | None
    record_fault: str
    """Why the record could not be read although it is there; empty if it could, or is not there."""
    status: RecordedStatus
    claims: tuple[Claim, ...]
    pods: tuple[Pod, ...]
    support: tuple[SupportObject, ...]
    revisions: tuple[Revision, ...]
    quorum: Knowable[QuorumView]
    versions: tuple[tuple[NodeID, Knowable[NodeVersions]], ...] = field(default=())
    memory: Memory = field(default_factory=Memory)
    kube_nodes: tuple[tuple[str, Knowable[KubeNode]], ...] = ()
    """The Kubernetes nodes of replicas that do not fetch; others are not looked up."""
    not_leading: frozenset[NodeID] = frozenset()
    """If no leader was found: the controllers that answered that they do not lead, or lead no live majority."""
    registered: Knowable[tuple[NodeID, ...]] = _NOT_ASKED
    """The node ids of the registered controllers, as the leader reports them."""
    strangers: tuple[Stranger, ...] = ()
    """Objects with our labels that are not ours: they are reported, and left alone."""
    checks: tuple[tuple[FeatureStep, Knowable[StepCheck]], ...] = ()
    """The leader's answers, in this look, to the steps that could be next."""
    admissions: Admissions = ()
    """The API server's answers about pods that are to be created."""
    failed: frozenset[tuple[str, ...]] = frozenset()
    """What the last pass with actions could not make, keep or delete for controllers (`actions.one_object`)."""
    unreadable: tuple[Unreadable, ...] = ()
    """Claims, pods and revisions that exist and cannot be understood: they are in none of the other fields."""
    later: tuple[str, ...] = ()
    """Other stored state that a later version of this operator wrote, a sentence each."""
    spec_kept: bool = True
    """Whether the resource's spec is the stored, last accepted one."""
    contract: Knowable[StoredContract | None] = _NOT_READ
    """The stored broker contract; Known None if there is none. Without a reason it was not looked for."""
    brokers: Knowable[tuple[BrokerSeen, ...]] = _NO_BROKERS
    """Every registered broker that is known of."""
    material: Material | None = None
    """The certificates; None if none are needed, or while they were not read."""
    scram: ScramSeen | None = None
    """The brokers' users of SCRAM; None if the spec names none, or before the quorum has started."""
    zookeeper: Knowable[ZooKeeperSeen] = _NO_TOKEN
    """What ZooKeeper shows, for a quorum that migrates from it."""
    driver: Knowable[DriverSeen] = _NO_TOKEN
    """The state of the migration as the leader reports it."""
    log_dirs: Knowable[Mapping[NodeID, Knowable[tuple[str, ...]]]] = _NO_TOKEN
    """The log directories that failed, of every broker that was asked."""
    token: Knowable[Token] = _NO_TOKEN
    """The disruption token; Unknown while nothing is about to be stopped, and this quorum does not have it."""
    workers: tuple[Worker, ...] = ()
    """The pods that work on disks for a recovery: none of them is a formatter, or runs Kafka."""
    copies: tuple[DiskCopy, ...] = ()
    seeds: tuple[tuple[str, str], ...] = ()
    """The claims of seeds that were looked up, and why each one is not mounted; empty if it may be."""
    """The claims with copies of disks."""
    taken_at_s: float = 0.0
    """If no leader was found: when the last controller answered, in monotonic seconds of the operator's clock."""

    @property
    def looked_at_s(self) -> float:
        """The time of this look: when the leader answered, or when the look found none."""
        return self.taken_at_s if isinstance(self.quorum, Unknown) else self.quorum.value.taken_at_s

    @property
    def watermark(self) -> Watermark | None:
        """The last high watermark that a leader reported to this operator, or to one before it; None without one."""
        return max(filter(None, (self.memory.watermark, self.status.watermark)), default=None)

    def admission(self, question: PodQuestion) -> Knowable[Admission] | None:
        """The API server's answer about this pod; None if nothing was asked, and nothing was refused."""
        return dict(self.admissions).get(question)

    def kube_node(self, name: str) -> Knowable[KubeNode]:
        """This Kubernetes node, if it was looked up and read."""
        unknown = Unknown(reason=f"Kubernetes node {name or 'without a name'} was not looked up")
        return dict(self.kube_nodes).get(name, unknown)

    def claim(self, name: str) -> Claim | None:
        """The claim of this name."""
        return next((claim for claim in self.claims if claim.name == name), None)

    def pods_of(self, node_id: NodeID, role: PodRole) -> tuple[Pod, ...]:
        """The pods of one node and role, in any state."""
        return tuple(pod for pod in self.pods if pod.node_id == node_id and pod.role is role)

    def serving(self, node_id: NodeID) -> tuple[Pod, ...]:
        """The pods of this controller in which Kafka runs and which are not being deleted."""
        return tuple(pod for pod in self.pods if pod.node_id == node_id and pod.serves)

    def revision(self, name: str | None) -> Revision | None:
        """The revision of this name; None if it is not there."""
        return revision_named(self.revisions, name)

    def check(self, step: FeatureStep) -> Knowable[StepCheck]:
        """The leader's answer to this step in this look."""
        return dict(self.checks).get(step, Unknown(reason=f"{step} was not checked in this look"))

    def versions_of(self, node_id: NodeID) -> Knowable[NodeVersions]:
        """What this controller reported of its own versions in this look."""
        return dict(self.versions).get(node_id, Unknown(reason=f"controller {node_id} does not run"))

    @property
    def finalized(self) -> tuple[FinalizedFeature, ...]:
        """The finalized levels as the leader itself reports them; empty without a leader, or without its report.

        Another controller can be ahead of the leader for a moment: what only that one reports does not count as done.
        """
        led = self._leader_versions
        return () if led is None or led.finalized_epoch < 0 else led.finalized

    @property
    def finalized_anywhere(self) -> tuple[FinalizedFeature, ...]:
        """Every finalized level that an image may have to read, one feature possibly at several levels.

        They are those of the leader, and of controllers that report a newer finalized epoch than the leader does.
        Without a report of the leader they are those of every controller that answered.
        """
        led = self._leader_versions
        least = -1 if led is None else led.finalized_epoch
        answers = (answer.value for _, answer in self.versions if isinstance(answer, Known))
        newer = {level for said in answers if said.finalized_epoch > least for level in said.finalized}
        return tuple(sorted({*self.finalized, *newer}))

    @property
    def _leader_versions(self) -> NodeVersions | None:
        if isinstance(self.quorum, Unknown):
            return None
        answer = self.versions_of(self.quorum.value.answer.leader_id)
        return answer.value if isinstance(answer, Known) else None
