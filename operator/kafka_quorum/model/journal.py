"""The journal of a recovery: which one is open, how far it got, and on what it relies. Part of the identity record.

Every step is written here before it is done, so that an operator that was ended at any moment continues from here. A
recovery has a number, its *epoch*. Every pod of the quorum is made for one epoch and compares it with its disk, so that
a disk of an earlier epoch never runs again beside the quorum that was recovered.
"""

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from kafka_quorum.model.ids import ClusterID, DirectoryID, NodeID, ReplicaKey, id_fault
from kafka_quorum.model.surveyed import LogEnd, Source
from kit.parsing import INT32_MAX, Malformed, number, quoted

SCHEMA: Final = 1
"""The form of the journal; a higher one is of a later version, which stops this one."""
_DISKS_MAX: Final = 256


class RecoveryStage(Enum):
    """What is done now. A stage ends when the look shows that it is done, and a guard allows the next one."""

    STOP = "Stop"
    """Every controller is stopped."""
    COPY = "Copy"
    """Every surviving disk is copied, and each copy is compared."""
    RETIRE = "Retire"
    """The other disks are marked, and their configuration is deleted: no controller can start on them."""
    FORMAT = "Format"
    """With a seed only: the disk that is to hold it is formatted."""
    REWRITE = "Rewrite"
    """The voter set in the surviving log becomes the survivor alone."""
    START = "Start"
    """The survivor runs alone, until it has committed records of its own. The others' new disks are formatted."""


FORMATS: Final = frozenset({RecoveryStage.FORMAT, RecoveryStage.START})
"""The stages in which disks are formatted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A log that a recovery relies on, as it was read when the plan was made.

    `server_id` is the node id in its `meta.properties`: of a seed, that of the broker.
    """

    source: Source
    server_id: NodeID
    directory_id: DirectoryID | None
    end: LogEnd
    checkpoint: LogEnd | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """The open recovery.

    `plan` is the hash that a person approved. `survivor` has the log that the quorum continues with, `node_id` is the
    controller that it becomes. `kept` are the other surviving disks of controllers. `lost` are the directory ids whose
    disks the plan gives up. `leader_epoch` is the highest epoch that any of these logs has seen: the new voter set gets
    a much higher one.
    """

    schema: int
    epoch: int
    plan: str
    cluster_id: ClusterID
    stage: RecoveryStage
    node_id: NodeID
    survivor: Candidate
    kept: tuple[Candidate, ...]
    lost: tuple[ReplicaKey, ...]
    leader_epoch: int
    rewritten_end: int = 0
    """The end of the survivor's log with the new voter set in it; 0 before it was rewritten."""

    @property
    def disks(self) -> tuple[Candidate, ...]:
        """Every surviving disk of a controller, each of which gets a copy."""
        return tuple(each for each in (self.survivor, *self.kept) if not each.source.is_seed)

    def at(self, stage: RecoveryStage) -> "Journal":
        """The same recovery at this stage."""
        return replace(self, stage=stage)


def epoch_from(text: object) -> int:
    """The epoch of a recovery in an annotation; 0 if it is none."""
    try:
        return number(text)
    except Malformed:
        return 0


def fault_of(journal: Journal) -> str | None:
    """What makes a stored journal impossible; None if nothing does."""
    if not 0 <= journal.leader_epoch <= INT32_MAX:
        return f"its recovery has leader epoch {quoted(journal.leader_epoch)}"
    if not 1 <= journal.epoch <= INT32_MAX or not 0 <= journal.node_id <= INT32_MAX:
        return f"its recovery has epoch {quoted(journal.epoch)} and controller {quoted(journal.node_id)}"
    if len(journal.kept) > _DISKS_MAX or len(journal.lost) > _DISKS_MAX:
        return f"its recovery lists more than {_DISKS_MAX} disks"
    directories = [each.directory_id for each in (journal.survivor, *journal.kept)]
    return id_fault(journal.cluster_id, (*directories, *(key.directory_id for key in journal.lost)))
