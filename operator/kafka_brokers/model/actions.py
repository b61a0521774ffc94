"""What a plan for a pool may ask for, as data. Creations stand together in a plan, an *exclusive* action stands alone.

A *guarded* action was allowed by what one look showed: it carries the time of that look, and is sent only while the
look is fresh. An action without a stamp counts as judged on a look that is too old.
"""

from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from kafka_brokers.model.changes import RecordChange
from kafka_brokers.model.disks import PoolRecord
from kafka_brokers.model.observed import Claim, Pod, Revision
from kafka_brokers.model.permit import (
    DeleteBrokerVolume,
    FormatBroker,
    LeaveEmpty,
    MoveReplicas,
    ReplaceBrokerPod,
    RetireBrokerDisk,
    RetireBrokerNode,
    RunBroker,
    StopBroker,
)
from kafka_quorum.model.brokers import ConfigChange, Move, TopicPartition
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.permit import Permit, required
from kafka_quorum.model.quorum import Endpoint
from kit.token import Token

__all__ = ["NEVER", "RecordChange"]

NEVER: Final = float("-inf")
"""The stamp of an action that no look has allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRecord:
    """Write the record, by compare-and-swap. What takes something away needs the permit of its guard."""

    record: PoolRecord
    change: RecordChange
    message: str
    permit: Permit[StopBroker] | Permit[RetireBrokerDisk] | Permit[RetireBrokerNode] | Permit[LeaveEmpty] | None = None
    judged_at_s: float = NEVER

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own, or none where one is needed."""
        guards = _GUARDS.get(self.change)
        if guards is not None:
            if self.permit is None:
                raise ValueError(f"{self.change.value} needs a permit of guard {guards.id}")
            required(self.permit, guards)


_GUARDS: Final = {
    RecordChange.STOP_BEGUN: StopBroker,
    RecordChange.DISK_LOST: RetireBrokerDisk,
    RecordChange.NODE_LOST: RetireBrokerNode,
    RecordChange.EMPTY: LeaveEmpty,
    RecordChange.REMOVED: LeaveEmpty,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepSpec:
    """Store the present, valid spec as the last accepted one, beside the record of this resource version."""

    resource_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyService:
    """Apply the service of this name: the headless one, the one that clients begin at, or one for clients outside."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteService:
    """Delete an external service that nothing needs any more."""

    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyBudget:
    """How many brokers must stay available. A looser budget needs a fresh look, because drains rely on it."""

    min_available: int
    looser: bool
    judged_at_s: float = NEVER


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateRevision:
    """Store what pods are made from."""

    revision: Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRevision:
    """Delete an old revision that nothing is made from."""

    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateConfig:
    """Create the immutable config map of a revision."""

    name: str
    revision: Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteConfig:
    """Delete a config map that no pod uses."""

    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateClaim:
    """Create the claim of a volume's present generation."""

    node_id: NodeID
    index: int
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotateClaim:
    """Write the copy of the identity into a claim, mark it as retired, or let it grow."""

    claim: Claim
    directory_id: str | None
    grow_to: str | None = None
    retired: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteClaim:
    """Delete exactly this claim (uid and resource version), and its volume with it."""

    claim: Claim
    message: str
    permit: Permit[DeleteBrokerVolume]
    judged_at_s: float = NEVER

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, DeleteBrokerVolume)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateFormatter:
    """Create the pod that formats the volumes of a broker that are not formatted yet.

    `avoid_nodes` are Kubernetes nodes that hold volumes of other brokers of the pool.
    """

    node_id: NodeID
    revision: Revision
    config_name: str
    avoid_nodes: tuple[str, ...]
    permit: Permit[FormatBroker]
    judged_at_s: float = NEVER

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, FormatBroker)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatePod:
    """Create the pod that runs a broker on its volumes, with the identity that its script must find there."""

    node_id: NodeID
    revision: Revision
    config_name: str
    permit: Permit[RunBroker]
    judged_at_s: float = NEVER

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, RunBroker)


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveLate:
    """Give a pod the properties that are known only after it was scheduled."""

    pod: Pod
    properties: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteEmpty:
    """Write on a pod what the newest run of its script found empty (`evidence.noted`)."""

    pod: Pod


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletePod:
    """Delete exactly this pod (uid, resource version): no Kafka may run in it. `force` waits for no lost node."""

    pod: Pod
    reason: str
    message: str
    force: bool = False
    permit: Permit[ReplaceBrokerPod] | Permit[LeaveEmpty]
    judged_at_s: float = NEVER

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, ReplaceBrokerPod, LeaveEmpty)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictPod:
    """Stop exactly this pod, whose Kafka runs, to recreate it. The disruption budget may refuse it."""

    pod: Pod
    message: str
    permit: Permit[StopBroker]
    judged_at_s: float = NEVER

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, StopBroker)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkPod:
    """Set the readiness gate of a pod. `gate` is `True`, `False` or `Unknown`."""

    pod: Pod
    gate: str
    message: str
    judged_at_s: float = NEVER


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeToken:
    """Take the disruption token of the quorum, which was free as `seen` shows it, or had this holder and an end.

    `pods` come in place of running ones: the API server accepts them in a dry run before a broker is stopped.
    """

    seen: Token
    pods: tuple["NextPod", ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NextPod:
    """A pod that will be created in place of a running one."""

    node_id: NodeID
    revision: Revision
    config_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveToken:
    """Give the disruption token back."""

    seen: Token


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterConfig:
    """Change dynamic settings of one broker, at that broker: the leader alone cannot check all of them (measured)."""

    broker: Endpoint
    node_id: NodeID
    changes: tuple[ConfigChange, ...]
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MovePartitions:
    """Begin reassignments away from a broker that leaves, at the leader, after what they copy is limited.

    `rates` are settings of brokers, `limited` those of topics; both are set before the first move begins.
    """

    leader: Endpoint
    node_id: NodeID
    moves: tuple[Move, ...]
    rates: tuple[tuple[NodeID, tuple[ConfigChange, ...]], ...] = ()
    limited: tuple[tuple[str, tuple[ConfigChange, ...]], ...] = ()
    message: str
    permit: Permit[MoveReplicas]
    judged_at_s: float = NEVER

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, MoveReplicas)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndThrottle:
    """Remove the limits of a drain, at the leader, then write the record without them."""

    leader: Endpoint
    brokers: tuple[NodeID, ...]
    topics: tuple[str, ...]
    record: PoolRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelMoves:
    """Cancel our reassignments of a broker that stays after all, at the leader."""

    leader: Endpoint
    moves: tuple[Move, ...]
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unregister:
    """Let Kafka forget the registration of a broker that left, at the leader."""

    leader: Endpoint
    node_id: NodeID
    permit: Permit[LeaveEmpty]
    judged_at_s: float = NEVER

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, LeaveEmpty)


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectPreferred:
    """Ask for the preferred leaders of these partitions, at the leader."""

    leader: Endpoint
    partitions: tuple[TopicPartition, ...]


Action: TypeAlias = (
    WriteRecord
    | KeepSpec
    | ApplyService
    | DeleteService
    | ApplyBudget
    | CreateRevision
    | DeleteRevision
    | CreateConfig
    | DeleteConfig
    | CreateClaim
    | AnnotateClaim
    | DeleteClaim
    | CreateFormatter
    | CreatePod
    | GiveLate
    | NoteEmpty
    | DeletePod
    | EvictPod
    | MarkPod
    | TakeToken
    | GiveToken
    | AlterConfig
    | MovePartitions
    | EndThrottle
    | CancelMoves
    | Unregister
    | ElectPreferred
)
OnPods: TypeAlias = CreateFormatter | CreatePod | DeletePod | EvictPod | MarkPod
Guarded: TypeAlias = WriteRecord | ApplyBudget | DeleteClaim | MovePartitions | Unregister | OnPods


def is_guarded(action: Action) -> bool:
    """Whether an action may only be sent while the look that allowed it is fresh."""
    match action:
        case DeleteClaim() | EvictPod() | MovePartitions() | Unregister():
            return True
        case WriteRecord(permit=permit):
            return permit is not None
        case ApplyBudget(looser=looser):
            return looser
        case DeletePod(pod=pod, force=force):
            return pod.running or force
        case MarkPod(gate=gate):
            return gate == "True"
        case _:
            return False


def stamped(action: Action, looked_at_s: float) -> Action:
    """The action, with the time of the look that it was judged by (monotonic seconds of the operator's clock)."""
    return replace(action, judged_at_s=looked_at_s) if isinstance(action, Guarded) else action
