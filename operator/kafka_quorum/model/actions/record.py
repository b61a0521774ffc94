"""Actions on the identity record and on what is stored beside it.

A change of the record that decides something for good takes the permit of the guard that allowed it (`DecideRecord`).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from kafka_quorum.model.identity import Format, IdentityRecord
from kafka_quorum.model.ids import ClusterID, NodeID
from kafka_quorum.model.permit import (
    Adopt,
    AttemptAgain,
    BeginListeners,
    BeginMigration,
    BrokersFollow,
    BrokersToListener,
    ChangedTrust,
    ControllersFollow,
    CopyMetadata,
    DropListener,
    DropNode,
    DropOld,
    DropStatic,
    EndQuorum,
    Finalize,
    Finalized,
    GiveBackZooKeeper,
    GiveUpDisk,
    Guard,
    LeaveZooKeeper,
    ListenersChanged,
    Mint,
    MintBeside,
    Permit,
    PreferListener,
    RetireDisk,
    RetireNode,
    ReturnToListener,
    RevertMigration,
    RollBack,
    Start,
    StopControllers,
    TrustNew,
    TurnTrust,
    WrongPermitError,
    ZooKeeperLeads,
    required,
)
from kafka_quorum.model.recovery_guards import (
    BeginRecovery,
    CopyDisks,
    Recovered,
    RetireOthers,
    Rewrite,
    StartSurvivor,
)

NEVER: Final = -math.inf
"""The stamp of an action that the planner has not stamped: it is too old for any look to be fresh."""


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
    DISK_GIVEN_UP = "DiskGivenUp"
    REVISION = "RevisionApplied"
    FIRST_LEADER = "FirstLeader"
    REFORMAT = "FormatCorrected"
    ROLL = "RollMovesOn"
    ROLL_DONE = "RollCompleted"
    LEVELS_SEEN = "LevelsSeen"
    DYNAMIC = "QuorumDynamic"
    MIGRATION_BEGUN = "MigrationBegun"
    MIGRATION_STAGE = "MigrationMovesOn"
    MIGRATION_DONE = "MigrationCompleted"
    MIGRATION_REVERTED = "MigrationReverted"
    COPY_METADATA = "BrokersMigrate"
    LEAVE_ZOOKEEPER = "BrokersLeaveZooKeeper"
    FINALIZE = "Finalizing"
    FINALIZED = "Finalized"
    ROLL_BACK = "RollingBack"
    STOP_CONTROLLERS = "ControllersStop"
    GIVE_BACK = "GivingZooKeeperBack"
    ZOOKEEPER_LEADS = "ZooKeeperLeads"
    END_QUORUM = "QuorumEnds"
    ATTEMPT_AGAIN = "MigrationBeginsAgain"
    BEGIN_LISTENERS = "ListenersBegin"
    BROKERS_TO_LISTENER = "BrokersChangeListener"
    PREFER_LISTENER = "ControllersChangeListener"
    DROP_LISTENER = "ListenerEnds"
    LISTENERS_CHANGED = "ListenersChanged"
    RETURN_TO_LISTENER = "ListenersGoBack"
    NEW_SIGNS = "NewAuthoritySigns"
    OLD_DROPPED = "OldAuthorityDropped"
    AUTHORITY_CHANGED = "AuthorityChanged"
    AUTHORITY_TURNED = "AuthorityTurned"
    RECOVERY_BEGUN = "RecoveryBegun"
    RECOVERY_COPIES = "RecoveryCopies"
    RECOVERY_RETIRES = "RecoveryRetires"
    RECOVERY_FORMATS = "RecoveryFormats"
    RECOVERY_REWRITES = "RecoveryRewrites"
    RECOVERY_STARTS = "RecoveryStarts"
    RECOVERED = "Recovered"
    RECOVERY_ABANDONED = "RecoveryAbandoned"
    RECOVERY_ENDED = "RecoveryEnded"


DECISIONS: Final[Mapping[RecordChange, type[Guard]]] = {
    RecordChange.STARTED: Start,
    RecordChange.DISK_LOST: RetireDisk,
    RecordChange.DISK_GIVEN_UP: GiveUpDisk,
    RecordChange.NODE_LOST: RetireNode,
    RecordChange.NODES_REMOVED: DropNode,
    RecordChange.DYNAMIC: DropStatic,
    RecordChange.MIGRATION_BEGUN: BeginMigration,
    RecordChange.MIGRATION_STAGE: ControllersFollow,
    RecordChange.MIGRATION_DONE: BrokersFollow,
    RecordChange.MIGRATION_REVERTED: RevertMigration,
    RecordChange.COPY_METADATA: CopyMetadata,
    RecordChange.LEAVE_ZOOKEEPER: LeaveZooKeeper,
    RecordChange.FINALIZE: Finalize,
    RecordChange.FINALIZED: Finalized,
    RecordChange.ROLL_BACK: RollBack,
    RecordChange.STOP_CONTROLLERS: StopControllers,
    RecordChange.GIVE_BACK: GiveBackZooKeeper,
    RecordChange.ZOOKEEPER_LEADS: ZooKeeperLeads,
    RecordChange.END_QUORUM: EndQuorum,
    RecordChange.ATTEMPT_AGAIN: AttemptAgain,
    RecordChange.BEGIN_LISTENERS: BeginListeners,
    RecordChange.BROKERS_TO_LISTENER: BrokersToListener,
    RecordChange.PREFER_LISTENER: PreferListener,
    RecordChange.DROP_LISTENER: DropListener,
    RecordChange.LISTENERS_CHANGED: ListenersChanged,
    RecordChange.RETURN_TO_LISTENER: ReturnToListener,
    RecordChange.NEW_SIGNS: TrustNew,
    RecordChange.OLD_DROPPED: DropOld,
    RecordChange.AUTHORITY_CHANGED: ChangedTrust,
    RecordChange.AUTHORITY_TURNED: TurnTrust,
    RecordChange.RECOVERY_BEGUN: BeginRecovery,
    RecordChange.RECOVERY_COPIES: CopyDisks,
    RecordChange.RECOVERY_RETIRES: RetireOthers,
    RecordChange.RECOVERY_REWRITES: Rewrite,
    RecordChange.RECOVERY_STARTS: StartSurvivor,
    RecordChange.RECOVERED: Recovered,
}
"""The changes of the record that a guard must allow, and the guard of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MintIdentity:
    """Make a new quorum's identity. The executor supplies the random ids: one for each initial controller."""

    cluster_id: ClusterID | None
    format: Format
    initial: tuple[NodeID, ...]
    others: tuple[NodeID, ...]
    permit: Permit[Mint] | Permit[Adopt] | Permit[MintBeside]

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, Mint, Adopt, MintBeside)


MigrationPermit: TypeAlias = (
    Permit[DropStatic]
    | Permit[BeginMigration]
    | Permit[ControllersFollow]
    | Permit[BrokersFollow]
    | Permit[RevertMigration]
    | Permit[CopyMetadata]
    | Permit[LeaveZooKeeper]
    | Permit[Finalize]
    | Permit[Finalized]
    | Permit[RollBack]
    | Permit[StopControllers]
    | Permit[GiveBackZooKeeper]
    | Permit[ZooKeeperLeads]
    | Permit[EndQuorum]
    | Permit[AttemptAgain]
    | Permit[BeginListeners]
    | Permit[BrokersToListener]
    | Permit[PreferListener]
    | Permit[DropListener]
    | Permit[ListenersChanged]
    | Permit[ReturnToListener]
    | Permit[TrustNew]
    | Permit[DropOld]
    | Permit[ChangedTrust]
    | Permit[TurnTrust]
)
"""What a stage of a migration, or the way back from one, is decided with."""


RecoveryPermit: TypeAlias = (
    Permit[BeginRecovery]
    | Permit[CopyDisks]
    | Permit[RetireOthers]
    | Permit[Rewrite]
    | Permit[StartSurvivor]
    | Permit[Recovered]
)
"""What a stage of a recovery is decided with."""
StagePermit: TypeAlias = MigrationPermit | RecoveryPermit


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRecord:
    """Store this record by compare-and-swap on its resource version. An empty one means: create."""

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

    permit: (
        Permit[Start] | Permit[RetireDisk] | Permit[GiveUpDisk] | Permit[RetireNode] | Permit[DropNode] | StagePermit
    )

    def __post_init__(self) -> None:
        """Refuse a permit that is not that of the change."""
        required(self.permit, DECISIONS[self.change])


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepSpec:
    """Store the present, valid spec as the one that was accepted last, beside the record at this version."""

    resource_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetRecordOwner:
    """Give the record's ConfigMap the owner that follows from the retention policy: this resource, or none."""

    resource_version: str
