"""The disk of a controller, from its claim to its retirement: its state, and the evidence that its data is lost.

The claim shows the state. The data on a volume is another matter: a script of ours checks it before Kafka starts. What
it found in several runs is the only evidence of an emptied disk. Nothing here decides: the guard `2-retire-disk`
decides whether a disk is given up.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

from kafka_quorum.model.identity import NodeIdentity
from kafka_quorum.model.memory import BlankDisk
from kafka_quorum.model.nodes import has_disk_of, is_retired_disk, lacks_data
from kafka_quorum.model.observed import Claim, Observed
from kafka_quorum.model.pods import Pod, PodRole

SCRIPT: Final = 2
"""The number that our scripts put into reports. Those of 0.1.0 put none, and reported unreadable disks as empty."""
BLANK_FOR_S: Final = 15.0
"""How far apart two runs must be that found a disk empty, if no run between them found anything else."""
EMPTIED_RUNS: Final = 2
"""How many runs in a row are enough, however close, if they found nothing in the very place where the data was.

What hides data for a moment is something else in its place: a directory below a mount point, or another volume. The
root directory of the volume itself, which can be listed and is empty, shows that the data was deleted.
"""
FRESH_FOR_S: Final = 10.0
"""How old the last of these runs may be when a disk is given up: an older one is no evidence of its present state."""
LOOKS_AGAIN_WITHIN_S: Final = 30.0
"""The kubelet's pauses grow to five minutes. A pod that has not looked for this long is recreated, and looks at once.

The first pauses are 0, 10 and 20 s long. So the runs of a new pod reach 15 s before one of its pauses is that long.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unclaimed:
    """The record has no claim for this disk yet. `claim` has its name, if such a claim exists."""

    claim: Claim | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """The claim of the record does not exist."""

    claim: None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Another:
    """A claim of this name exists, and it is not the one of the record: its uid differs."""

    claim: Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleting:
    """The claim is being deleted, which Kubernetes never undoes: only a pod still holds the disk."""

    claim: Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeGone:
    """The claim exists, and Kubernetes reports that its volume does not exist."""

    claim: Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """The claim of the record exists, with or without a volume yet. The data on it is another question."""

    claim: Claim


Disk: TypeAlias = Unclaimed | Gone | Another | Deleting | VolumeGone | Claimed


def disk_of(observed: Observed, node: NodeIdentity) -> Disk:
    """The state of a controller's present disk."""
    this = (node.node_id, node.generation)
    claim = next((claim for claim in observed.claims if (claim.node_id, claim.generation) == this), None)
    if node.claim_uid is None:
        return Unclaimed(claim=claim)
    if claim is None:
        return Gone()
    if claim.uid != node.claim_uid:
        return Another(claim=claim)
    if claim.deleting:
        return Deleting(claim=claim)
    return VolumeGone(claim=claim) if claim.volume_gone else Claimed(claim=claim)


def why_going(disk: Disk, node: NodeIdentity) -> str:
    """Why a disk will be gone when its pod stops, in words; empty if it stays."""
    if disk.claim is None:
        return f"the claim of controller {node.node_id} is gone"
    match disk:
        case Claimed():
            return ""
        case Another() | Unclaimed():
            return f"claim {disk.claim.name} is not the one in the identity ConfigMap"
        case Deleting(claim=claim):
            return f"claim {claim.name} is being deleted"
        case VolumeGone(claim=claim):
            return f"claim {claim.name} has lost its volume"


# What was seen of the data


def found_empty(observed: Observed, pod: Pod, node: NodeIdentity) -> bool:
    """Whether this pod, made for the node's present disk, did not find its data when it last looked.

    An earlier disk of this controller, which is retired, counts as an empty one.
    """
    return has_disk_of(pod, node) and pod.report is not None and lacks_data(observed.record, pod, pod.report)


def looks_again(observed: Observed, node: NodeIdentity) -> bool:
    """Whether a pod that found no data runs its script again at this moment: it may find the data this time."""
    looking = {pod.uid for pod in observed.pods_of(node.node_id, PodRole.KAFKA) if pod.report is None}
    return any(row.pod_uid in looking for row in rows_of(observed, node))


def is_evidence(row: BlankDisk) -> bool:
    """Whether these runs of a pod are enough: far enough apart, or in the very place where the data was."""
    return row.for_s >= BLANK_FOR_S or row.emptied_runs >= EMPTIED_RUNS


def is_blank(observed: Observed, node: NodeIdentity) -> bool:
    """Whether one pod, made for the node's present disk, found nothing there in two runs, and they are enough."""
    return any(is_evidence(row) for row in rows_of(observed, node))


def has_earlier(observed: Observed, node: NodeIdentity) -> bool:
    """Whether the volume of this controller holds a disk that it had before, and that is retired."""
    pods = (pod for pod in observed.pods_of(node.node_id, PodRole.KAFKA) if found_empty(observed, pod, node))
    return any(pod.report is not None and is_retired_disk(observed.record, pod, pod.report) for pod in pods)


def looks(observed: Observed, node: NodeIdentity) -> str:
    """How a disk without its data looks, as a clause that begins with its pronoun."""
    return "whose volume holds an earlier, retired disk" if has_earlier(observed, node) else "which looks empty"


def is_gone(observed: Observed, disk: Disk) -> bool:
    """Whether there is no claim, or Kubernetes has reported for long enough that its volume is lost."""
    if disk.claim is None:
        return True
    return disk.claim.volume_gone and observed.memory.volume_gone_for_s(disk.claim.uid) >= BLANK_FOR_S


def is_fresh(observed: Observed, node: NodeIdentity) -> bool:
    """Whether one of those pods looked a moment ago."""
    rows = (row for row in rows_of(observed, node) if is_evidence(row))
    return any(row.age_s(observed.looked_at_s) <= FRESH_FOR_S for row in rows)


def rows_of(observed: Observed, node: NodeIdentity) -> tuple[BlankDisk, ...]:
    """What is remembered of the node's present disk, by pods in which Kafka does not run."""
    pods = (pod for pod in observed.pods_of(node.node_id, PodRole.KAFKA) if not pod.running)
    this = (node.claim_uid, node.directory_id)
    rows = (row_of(observed, pod) for pod in pods)
    return tuple(row for row in rows if row is not None and (row.claim_uid, row.directory_id) == this)


def row_of(observed: Observed, pod: Pod) -> BlankDisk | None:
    """What is remembered of the runs of this pod that found its disk without its data; None if nothing is."""
    return next((row for row in observed.memory.blank_disks if row.pod_uid == pod.uid), None)
