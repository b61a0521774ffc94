"""Acts on the quorum, each preceded by its intent in the status."""

from dataclasses import dataclass

from kafka_quorum.model import permit as permits
from kafka_quorum.model.ids import NodeID, ReplicaKey
from kafka_quorum.model.operation import VoterChange
from kafka_quorum.model.permit import (
    LowerLevel,
    OneChange,
    Permit,
    RaiseLevel,
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
    """Send UpdateFeatures with one step to the leader, which has validated this step in the same look.

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
    """Change a removed controller's registration so that it no longer blocks features.

    With `supported` it is registered again with these ranges, as a newer release would have registered it: below
    metadata.version 4.4 Kafka cannot forget it. Without `supported` it is unregistered.
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
