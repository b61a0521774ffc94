"""Actions on disks for a recovery of a lost majority: pods that work on them, and claims that hold copies."""

from dataclasses import dataclass
from typing import TypeAlias

from kafka_quorum.model.actions.record import NEVER
from kafka_quorum.model.disk_work import CompareDisk, CopyDisk, DiskCopy, InspectDisk, RewriteDisk, Worker
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.observed import Claim, Revision
from kafka_quorum.model.permit import Permit, required
from kafka_quorum.model.recovery_guards import CopyDisks, ReleaseDisks, Rewrite


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateInspector:
    """Create the pod that reads or compares a disk. It mounts the claim read-only, so it needs no permit.

    `revision` says how pods of this quorum are scheduled and confined. `kube_node` is the Kubernetes node that has the
    volume already, because a pod there mounts it; empty for any.
    """

    work: InspectDisk | CompareDisk
    revision: Revision
    kube_node: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateCopier:
    """Create the pod that copies a disk to another claim. It mounts the disk read-only."""

    work: CopyDisk
    revision: Revision
    judged_at_s: float = NEVER
    permit: Permit[CopyDisks]

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, CopyDisks)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateRewriter:
    """Create the pod that makes the survivor the only voter in its log: the one act that writes to a surviving disk."""

    work: RewriteDisk
    revision: Revision
    judged_at_s: float = NEVER
    permit: Permit[Rewrite]

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, Rewrite)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteWorker:
    """Delete exactly this pod (uid and resource version): its work has ended, or is not needed any more.

    `force` does not wait for its end: only for a pod that writes nothing, whose Kubernetes node is down.
    """

    worker: Worker
    message: str
    force: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateCopy:
    """Create the claim that will hold the copy of this claim: as large, and of the same class."""

    name: str
    claim: Claim
    node_id: NodeID
    epoch: int
    permit: Permit[CopyDisks]

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, CopyDisks)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteCopy:
    """Delete exactly this claim with a copy (uid and resource version), as a person allowed."""

    copy: DiskCopy
    message: str
    judged_at_s: float = NEVER
    permit: Permit[ReleaseDisks]

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, ReleaseDisks)


OnDisks: TypeAlias = CreateInspector | CreateCopier | CreateRewriter | DeleteWorker | CreateCopy | DeleteCopy
