"""The verdict on a quorum without a leader, and the plan that a person may approve. Values only."""

from dataclasses import dataclass
from enum import Enum

from kafka_quorum.model.disk_work import CompareDisk
from kafka_quorum.model.ids import NodeID, ReplicaKey
from kafka_quorum.model.journal import Candidate
from kafka_quorum.model.known import Knowable
from kafka_quorum.model.surveyed import Beyond, Survey, Watermark


class VerdictKind(Enum):
    """What the disks show. Only the last three end in a plan."""

    READING = "Reading"
    """Not every disk was read yet, or none can be."""
    NOT_NEEDED = "NotNeeded"
    """Fewer than a majority of the voters lost their disks: the quorum comes back by itself, and nothing is lost."""
    MAJORITY_MAY_RETURN = "MajorityMayReturn"
    """A majority can still come back, if the disks that are named do."""
    BETTER_DISK_MAY_RETURN = "BetterDiskMayReturn"
    """A majority is lost, and a disk that cannot be reached may have more than the best one that was read."""
    NO_CANDIDATE = "NoCandidate"
    """No log can be used: a person must bring a seed."""
    UNSUPPORTED = "Unsupported"
    """This quorum cannot be recovered this way."""
    NO_LOSS = "NoLossUpToWatermark"
    """The best log has every record that was known to be committed. What came after the last look is unknown."""
    PROVEN_LOSS = "ProvenLoss"
    """The best log ends before the last high watermark: at least so many committed records are lost."""
    UNKNOWN_TAIL = "UnknownTail"
    """No high watermark is known: what is lost behind the end of the best log is unknown."""

    @property
    def recoverable(self) -> bool:
        """Whether a plan follows from it."""
        return self in (VerdictKind.NO_LOSS, VerdictKind.PROVEN_LOSS, VerdictKind.UNKNOWN_TAIL)

    @property
    def needs_word(self) -> bool:
        """Whether a person must accept the loss in so many words."""
        return self in (VerdictKind.PROVEN_LOSS, VerdictKind.UNKNOWN_TAIL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """What one log has that the best one does not have, and the sentence about it.

    `work` is done by the pod that compares the two; until it has reported, `found` is unknown. At least `committed` of
    these records were committed.
    """

    work: CompareDisk
    found: Knowable[Beyond]
    committed: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LossVerdict:
    """What a recovery would cost, and why. `message` is the sentence for a person.

    `lost`, `unreachable` and `present` divide the voters by their disks. `best` is the log to continue with.
    `loss_at_least` counts records. `surveys` is everything that was read, or could not be. `tails` are what is known of
    records that the best log does not have, and `unknown` is the sentence about those that no log has; the hash of a
    plan covers neither, because both follow from the logs.
    """

    kind: VerdictKind
    message: str
    surveys: tuple[Survey, ...] = ()
    voters: tuple[ReplicaKey, ...] = ()
    lost: tuple[ReplicaKey, ...] = ()
    unreachable: tuple[ReplicaKey, ...] = ()
    present: tuple[ReplicaKey, ...] = ()
    best: Candidate | None = None
    others: tuple[Candidate, ...] = ()
    leader_epoch: int = 0
    """The highest leader epoch that any log has seen."""
    loss_at_least: int = 0
    watermark: Watermark | None = None
    tails: tuple[Tail, ...] = ()
    unknown: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A plan that can be approved: by its hash, which covers every fact that it relies on.

    `node_id` is the controller that the surviving log becomes. `steps` are sentences, in order.
    """

    hash: str
    verdict: LossVerdict
    node_id: NodeID
    survivor: Candidate
    kept: tuple[Candidate, ...]
    lost: tuple[ReplicaKey, ...]
    steps: tuple[str, ...]
