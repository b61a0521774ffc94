"""What a plan may ask for, as data: a tagged union of frozen values, executed by `act` and counted by the simulation.

Kubernetes creations that do not depend on each other may stand in one plan and go together. An *exclusive* action (a
write of the record, of the operation, or an act on the quorum) stands alone: after it, everything is looked at again.

A *guarded* action was allowed by what one look showed, so it is only sent while that look is fresh. The planner stamps
it with the time of the look, `judged_at_s`; one without a stamp counts as judged on a look that is too old.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, TypeAlias

from kafka_quorum.model import permit as permits
from kafka_quorum.model.desired import Runtime
from kafka_quorum.model.identity import Format, IdentityRecord
from kafka_quorum.model.ids import ClusterID, DirectoryID, NodeID, ReplicaKey
from kafka_quorum.model.observed import Claim, Pod, Revision
from kafka_quorum.model.operation import VoterChange
from kafka_quorum.model.permit import (
    Adopt,
    DeleteVolume,
    DropNode,
    DropStatic,
    GiveUpFormatter,
    Guard,
    HandOver,
    InitialFormat,
    LowerLevel,
    Mint,
    NewcomerFormat,
    OneChange,
    Permit,
    RaiseLevel,
    ReplacePod,
    Restart,
    RetireDisk,
    RetireNode,
    Run,
    Start,
    StopRetired,
    WrongPermitError,
    required,
)
from kafka_quorum.model.quorum import (
    AddVoter,
    Endpoint,
    FeatureRange,
    FeatureStep,
    Listener,
    RemoveVoter,
)

NEVER: Final = -math.inf
"""The stamp of an action that the planner has not stamped: no look is that old and still fresh."""


class RecordChange(Enum):
    """Why the record is written; one word for logs and events."""

    REBUILT = "IdentityRebuilt"
    NODES_ADDED = "NodesAdded"
    CLAIMS_BOUND = "ClaimsBound"
    CLAIM_LOST = "ClaimLost"
    NODES_REMOVED = "NodesRemoved"
    NODE_LOST = "NodeLost"
    FORMATTED = "Formatted"
    STARTED = "Started"
    DISK_LOST = "DiskLost"
    REVISION = "RevisionApplied"
    FIRST_LEADER = "FirstLeader"
    REFORMAT = "FormatCorrected"
    ROLL = "RollMovesOn"
    ROLL_DONE = "RollCompleted"
    LEVELS_SEEN = "LevelsSeen"
    DYNAMIC = "QuorumDynamic"


DECISIONS: Final[Mapping[RecordChange, type[Guard]]] = {
    RecordChange.STARTED: Start,
    RecordChange.DISK_LOST: RetireDisk,
    RecordChange.NODE_LOST: RetireNode,
    RecordChange.NODES_REMOVED: DropNode,
    RecordChange.DYNAMIC: DropStatic,
}
"""The changes of the record that a guard has to allow, and which guard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MintIdentity:
    """Make a new quorum's identity. The executor supplies the random ids: one for each initial controller."""

    cluster_id: ClusterID | None
    format: Format
    initial: tuple[NodeID, ...]
    others: tuple[NodeID, ...]
    permit: Permit[Mint] | Permit[Adopt]

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, Mint, Adopt)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRecord:
    """Store this record by compare-and-swap on its resource version (create, where that is empty)."""

    record: IdentityRecord
    change: RecordChange
    message: str
    judged_at_s: float = NEVER

    def __post_init__(self) -> None:
        """Refuse a change that takes a permit."""
        if self.change in DECISIONS:
            raise WrongPermitError(f"{self.change.value} is decided on, with a permit of {DECISIONS[self.change].id}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DecideRecord(WriteRecord):
    """A write of the record that decides something for good: it takes the permit of the guard that allowed it."""

    permit: Permit[Start] | Permit[RetireDisk] | Permit[RetireNode] | Permit[DropNode] | Permit[DropStatic]

    def __post_init__(self) -> None:
        """Refuse a permit that is not that of the change."""
        required(self.permit, DECISIONS[self.change])


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepSpec:
    """Store the present, valid spec as the one that was accepted last, beside the record at this version."""

    resource_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyService:
    """Make the headless service what it should be; `port` is the controllers'."""

    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyBudget:
    """Make the disruption budget what it should be: `min_available` voters."""

    min_available: int
    judged_at_s: float = NEVER


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateRevision:
    """Keep a runtime as a ControllerRevision; its name and number come with it."""

    name: str
    number: int
    runtime: Runtime
    inputs_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateConfig:
    """Create the immutable config map of one revision for one set of node ids."""

    name: str
    revision: Revision
    node_ids: tuple[NodeID, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteConfig:
    """Delete a config map that no pod uses any more."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptConfig:
    """Give a config map of ours its owner back: the resource was deleted, and its objects were left (`orphan`)."""

    name: str
    resource_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateClaim:
    """Create the claim of a node's present generation."""

    node_id: NodeID
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotateClaim:
    """Bring a claim's copy of the identity, its owner and its requested size up to date."""

    claim: Claim
    directory_id: DirectoryID | None
    grow_to: str | None
    """The size to ask for, where the spec asks for more than the claim does; else None."""
    retired: bool = False
    """The claim's replica was removed or replaced: it is marked as such, and never used again."""
    kept: bool = False
    """Data was found on it after that: it is never deleted either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteClaim:
    """Delete exactly this claim (uid and resource version), whose replica is retired and no voter."""

    claim: Claim
    message: str
    judged_at_s: float = NEVER
    permit: Permit[DeleteVolume]

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, DeleteVolume)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetRecordOwner:
    """Give the record's ConfigMap the owner that the retention policy wants: this resource, or nobody."""

    resource_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateFormatter:
    """Create the pod that formats a node's claim. `avoid_nodes` are Kubernetes nodes that hold sibling claims."""

    node_id: NodeID
    revision: Revision
    config_name: str
    avoid_nodes: tuple[str, ...]
    permit: Permit[InitialFormat] | Permit[NewcomerFormat]

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, InitialFormat, NewcomerFormat)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatePod:
    """Create the pod that runs Kafka on a node's claim, with the identity that it must find there."""

    node_id: NodeID
    revision: Revision
    config_name: str
    permit: Permit[Run]

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, Run)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletePod:
    """Delete exactly this pod (uid and resource version).

    Its Kafka does not run, or its replica is retired, or it is the leader of a pair that is to be removed.

    `force` does not wait for the pod's node, which is lost. `takes_disk` says that only this pod still holds its disk.
    """

    pod: Pod
    reason: str
    message: str
    force: bool = False
    takes_disk: bool = False
    judged_at_s: float = NEVER
    permit: Permit[ReplacePod] | Permit[StopRetired] | Permit[HandOver] | Permit[GiveUpFormatter]

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, ReplacePod, StopRetired, HandOver, GiveUpFormatter)


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPod:
    """Stop exactly this pod, whose Kafka runs, to make it anew from another revision: its disk stays what it is.

    `evict` leaves the last word to the disruption budget; only a single voter's pod is deleted.
    """

    pod: Pod
    evict: bool
    message: str
    judged_at_s: float = NEVER
    permit: Permit[Restart]

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, Restart)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkPod:
    """Set the voter label and the readiness gate of a pod. `gate` is `True`, `False` or `Unknown`."""

    pod: Pod
    voter: bool
    gate: str
    message: str
    judged_at_s: float = NEVER


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginOperation:
    """Write the intent of a voter change into the status, guarded by the resource version."""

    change: VoterChange

    permit: Permit[OneChange]

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, OneChange)

    @property
    def target(self) -> ReplicaKey:
        """The replica that is added or removed; for a replacement, the one that is added in the end."""
        return self.change.target


@dataclass(frozen=True, slots=True, kw_only=True)
class AddRaftVoter:
    """Send AddRaftVoter to the leader. Judged on a look that must be at most two seconds old when it is sent."""

    leader: Endpoint
    request: AddVoter
    judged_at_s: float
    permit: Permit[permits.AddVoter]

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, permits.AddVoter)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveRaftVoter:
    """Send RemoveRaftVoter to the leader, under the same conditions as `AddRaftVoter`."""

    leader: Endpoint
    request: RemoveVoter
    judged_at_s: float
    permit: Permit[permits.RemoveVoter]

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, permits.RemoveVoter)


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginFeatureStep:
    """Write the intent of a feature step into the status, guarded by the resource version. `present` is the level."""

    step: FeatureStep
    present: int
    permit: Permit[RaiseLevel] | Permit[LowerLevel]

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, RaiseLevel, LowerLevel)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFeature:
    """Send UpdateFeatures with one step to the leader, which said in the same look that it would allow it.

    Judged on a look that must be at most two seconds old when it is sent.
    """

    leader: Endpoint
    step: FeatureStep
    judged_at_s: float
    permit: Permit[RaiseLevel] | Permit[LowerLevel]

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, RaiseLevel, LowerLevel)


@dataclass(frozen=True, slots=True, kw_only=True)
class CureGhost:
    """Take a removed controller's registration out of the way of features.

    With `supported` it is registered anew with these ranges, as it would have been by a newer release: below
    metadata.version 4.4 Kafka cannot forget it. Without, it is unregistered.
    """

    leader: Endpoint
    node_id: NodeID
    listeners: tuple[Listener, ...]
    supported: tuple[FeatureRange, ...]
    message: str
    judged_at_s: float
    permit: Permit[permits.CureGhost]

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, permits.CureGhost)


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishOperation:
    """Close the operation: `reason` is `Completed`, or why it was given up."""

    id: str
    reason: str
    message: str


Action: TypeAlias = (
    MintIdentity
    | WriteRecord
    | DecideRecord
    | KeepSpec
    | ApplyService
    | ApplyBudget
    | CreateRevision
    | CreateConfig
    | DeleteConfig
    | AdoptConfig
    | CreateClaim
    | AnnotateClaim
    | DeleteClaim
    | SetRecordOwner
    | CreateFormatter
    | CreatePod
    | DeletePod
    | RestartPod
    | MarkPod
    | BeginOperation
    | AddRaftVoter
    | RemoveRaftVoter
    | BeginFeatureStep
    | StepFeature
    | CureGhost
    | FinishOperation
)

EXCLUSIVE = (
    MintIdentity,
    WriteRecord,
    RestartPod,
    BeginOperation,
    AddRaftVoter,
    RemoveRaftVoter,
    BeginFeatureStep,
    StepFeature,
    CureGhost,
    FinishOperation,
)
"""Actions that stand alone in a plan."""

_RECORDED: Final = frozenset(
    {
        RecordChange.DISK_LOST,
        RecordChange.DYNAMIC,
        RecordChange.NODE_LOST,
        RecordChange.NODES_REMOVED,
        RecordChange.ROLL,
    }
)
"""Changes of the record that give a disk, a controller or a setting up, or let a voter be stopped."""

Guarded: TypeAlias = WriteRecord | DecideRecord | ApplyBudget | DeleteClaim | DeletePod | RestartPod | MarkPod
"""Actions on Kubernetes that can carry the stamp of a look. Those on the quorum always do."""


def is_guarded(action: Action) -> bool:
    """Whether an action on Kubernetes may only be sent while the look that allowed it is fresh.

    Not guarded are creations, and deletions of pods whose Kafka does not run and whose disks stay: the uid and the
    resource version that such a request names are all that matters. A readiness gate may be taken away at any time, and
    be given on a fresh look only, because the disruption budget relies on it.
    """
    match action:
        case RestartPod() | DeleteClaim() | ApplyBudget():
            return True
        case DeletePod(pod=pod, force=force, takes_disk=takes_disk):
            return pod.running or force or takes_disk
        case WriteRecord(change=change):
            return change in _RECORDED
        case MarkPod(gate=gate):
            return gate == "True"
        case _:
            return False


def stamped(action: Action, looked_at_s: float) -> Action:
    """The action, with the time of the look that it was judged by (monotonic seconds of the operator's clock)."""
    return replace(action, judged_at_s=looked_at_s) if isinstance(action, Guarded) else action


def stops_kafka(action: Action) -> bool:
    """Whether this action stops a pod in which Kafka runs."""
    return isinstance(action, RestartPod | DeletePod) and action.pod.running
