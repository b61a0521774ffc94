"""What a plan for an application may ask for, as data. An *exclusive* action stands alone in a plan.

A *guarded* action was allowed by what one look showed: it carries the time of that look, and is sent only while the
look is fresh. An action without a stamp counts as judged on a look that is too old.
"""

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, TypeAlias

from kafka_quorum.model.permit import Permit, required
from kafka_streams.model.adoption import Candidate, KeptClaim, OwnedSet, Workload
from kafka_streams.model.observed import Claim, Pod, Revision
from kafka_streams.model.permit import (
    AdoptWorkload,
    BeginChange,
    DropState,
    KeepAdopting,
    KeepStopping,
    NextStep,
    RemoveInstance,
    StartOver,
    StartTogether,
    StopAll,
    StopInstance,
    TurnRound,
)
from kafka_streams.model.record import Record, Slot

NEVER: Final = float("-inf")
"""The stamp of an action that no look has allowed."""


class RecordChange(Enum):
    """What a new record says that the one before did not. The value is the reason of its event."""

    MINTED = "ApplicationBegins"
    ADDED = "InstancesAdded"
    REMOVED = "InstanceRemoved"
    BEGUN = "ChangeBegins"
    STOPPING = "InstanceStops"
    BACK = "InstanceBack"
    STEPPED = "NextBounce"
    DONE = "ChangeDone"
    TURNED = "ChangeTurnsRound"
    STOPPING_ALL = "ApplicationStops"
    STARTING = "ApplicationStarts"
    CORRECTED = "InstancesCorrected"
    CALLED_OFF = "StopCalledOff"
    ADOPTING = "AdoptionBegins"
    ADOPTED = "ApplicationAdopted"
    ADOPTION_OVER = "AdoptionOver"
    STATE_LOST = "StateLost"


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRecord:
    """Write the record, by compare-and-swap. What takes something away needs the permit of its guard."""

    record: Record
    change: RecordChange
    message: str
    permit: (
        Permit[BeginChange]
        | Permit[StopInstance]
        | Permit[NextStep]
        | Permit[StopAll]
        | Permit[StartTogether]
        | Permit[TurnRound]
        | Permit[RemoveInstance]
        | Permit[StartOver]
        | Permit[AdoptWorkload]
        | None
    ) = None
    judged_at_s: float = NEVER

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own, or none where one is needed."""
        guard = _GUARDS.get(self.change)
        if guard is not None:
            if self.permit is None:
                raise ValueError(f"{self.change.value} needs a permit of guard {guard.id}")
            required(self.permit, guard)


_GUARDS: Final = {
    RecordChange.BEGUN: BeginChange,
    RecordChange.STOPPING: StopInstance,
    RecordChange.STEPPED: NextStep,
    RecordChange.DONE: NextStep,
    RecordChange.STOPPING_ALL: StopAll,
    RecordChange.STARTING: StartTogether,
    RecordChange.TURNED: TurnRound,
    RecordChange.REMOVED: RemoveInstance,
    RecordChange.CORRECTED: StartOver,
    RecordChange.ADOPTING: AdoptWorkload,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepSpec:
    """Store the present, valid spec as the last accepted one, beside the record of this resource version."""

    resource_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateRevision:
    """Store what pods are made from."""

    revision: Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateFile:
    """Create the config map with the file of properties of a revision, which has lost it."""

    revision: Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRevision:
    """Delete exactly this revision (uid and resource version), from which nothing is made.

    `file_uid` is the uid of its config map, which goes first; empty if it has none.
    """

    revision: Revision
    file_uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateClaim:
    """Create the claim of an instance's present generation."""

    slot: Slot


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatePod:
    """Create the pod of an instance from its revision."""

    slot: Slot
    revision: Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class StopPod:
    """Delete a pod in which the application may run. The permit is that of the stop, judged again on this look."""

    pod: Pod
    message: str
    permit: Permit[StopInstance] | Permit[KeepStopping] | Permit[RemoveInstance]
    judged_at_s: float = NEVER

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, StopInstance, KeepStopping, RemoveInstance)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplacePod:
    """Delete a pod that has ended: it is created again."""

    pod: Pod


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteClaim:
    """Delete a claim of earlier local state."""

    claim: Claim
    permit: Permit[DropState]
    judged_at_s: float = NEVER

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, DropState)


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Delete a StatefulSet, Deployment or ReplicaSet so that its pods stay, and run on without an owner."""

    target: Workload | OwnedSet
    permit: Permit[AdoptWorkload] | Permit[KeepAdopting]
    judged_at_s: float = NEVER

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, AdoptWorkload if isinstance(self.target, Workload) else KeepAdopting)


@dataclass(frozen=True, slots=True, kw_only=True)
class TakePod:
    """Give a pod without an owner to an instance. Its own labels stay."""

    pod: Candidate
    slot: Slot


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeClaim:
    """Give a claim to an instance. Nothing becomes its owner."""

    claim: KeptClaim
    slot: Slot


Adopting: TypeAlias = Release | TakePod | TakeClaim
Guarded: TypeAlias = WriteRecord | StopPod | DeleteClaim | Release
Action: TypeAlias = (
    WriteRecord
    | KeepSpec
    | CreateRevision
    | CreateFile
    | DeleteRevision
    | CreateClaim
    | CreatePod
    | StopPod
    | ReplacePod
    | DeleteClaim
    | Release
    | TakePod
    | TakeClaim
)


def is_guarded(action: Action) -> bool:
    """Whether a look allowed it, so that the look must be fresh when it is sent."""
    return isinstance(action, Guarded) and action.permit is not None


def stamped(action: Action, looked_at_s: float) -> Action:
    """The action with the time of the look that allowed it; an unguarded one as it is."""
    return replace(action, judged_at_s=looked_at_s) if isinstance(action, Guarded) and is_guarded(action) else action
