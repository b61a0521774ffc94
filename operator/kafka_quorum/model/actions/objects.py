"""Actions on Kubernetes objects around the pods: service, budget, revisions, config maps and claims."""

from dataclasses import dataclass

from kafka_quorum.model.actions.record import NEVER
from kafka_quorum.model.contract import Contract
from kafka_quorum.model.desired import Runtime
from kafka_quorum.model.ids import DirectoryID, NodeID
from kafka_quorum.model.observed import Claim, Revision
from kafka_quorum.model.permit import (
    DeleteVolume,
    Permit,
    required,
)
from kafka_quorum.model.recovery_guards import ReleaseDisks


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyService:
    """Make the headless service what it should be; `port` is that of the controllers."""

    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyBudget:
    """Make the disruption budget what it should be: `min_available` voters."""

    min_available: int
    judged_at_s: float = NEVER


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyContract:
    """Store the broker contract: created, or written over exactly the one that was read (its resource version)."""

    name: str
    contract: Contract


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateRevision:
    """Store a runtime as a ControllerRevision; the action holds its name and number."""

    name: str
    number: int
    runtime: Runtime
    inputs_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRevision:
    """Delete exactly this ControllerRevision (uid and resource version), from which nothing is made."""

    name: str
    uid: str
    resource_version: str


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
    """Set the owner of a config map of ours again: the resource was deleted, and its objects were left (`orphan`)."""

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
    """The size to request, if the spec requests more than the claim does; else None."""
    retired: bool = False
    """Whether the claim's replica was removed or replaced: the claim is marked so, and never used again."""
    kept: bool = False
    """Whether data was found on it after that: then it is never deleted either."""
    recovery: int = 0
    """The epoch of the recovery that it was made for, or that retires it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteClaim:
    """Delete exactly this claim (uid and resource version), whose replica is retired and not a voter.

    Those that a recovery kept are deleted only as a person allowed.
    """

    claim: Claim
    message: str
    judged_at_s: float = NEVER
    permit: Permit[DeleteVolume] | Permit[ReleaseDisks]

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, DeleteVolume, ReleaseDisks)
