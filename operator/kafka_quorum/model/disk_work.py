"""Work on a disk, which a pod does: read it, compare it, copy it, rewrite its voter set, or fill it from a seed.

Each piece of work has a name that follows from everything that it does. So its pod exists once, and what is reported
for one piece of work never counts for another one.
"""

import re
from dataclasses import dataclass
from typing import Final, TypeAlias

from kafka_quorum.model.ids import ClusterID, DirectoryID, NodeID, ReplicaKey
from kafka_quorum.model.journal import Candidate
from kafka_quorum.model.known import Knowable, Known
from kafka_quorum.model.names import digest, without_defaults
from kafka_quorum.model.quorum import Listener
from kafka_quorum.model.surveyed import Beyond, EpochStart, Found, LogEnd, LogRead, Source

REPORT: Final = 1
"""The number in the reports of disk pods; a higher one is of a later version."""
ROLE: Final = "disk-worker"
"""The role of the pods that work on disks. No other pod has it."""
COPY_ROLE: Final = "disk-copy"
"""The role of claims that hold copies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectDisk:
    """Read a disk, and write nothing."""

    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareDisk:
    """Read what a log has that the chosen one does not have, and write nothing.

    `epochs` and `end` are those of the chosen log. So another choice is other work, in another pod.
    """

    source: Source
    epochs: tuple[EpochStart, ...]
    end: LogEnd


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyDisk:
    """Copy a disk to a claim of its own, and compare every file of the copy by its checksum."""

    source: Source
    copy: str
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteDisk:
    """Make the survivor the only voter in its log: refused unless the log ends as the plan says, or was rewritten.

    `seed` is where the log comes from if it is not on the survivor's disk yet: then it is copied there first.
    `leader_epoch` is the highest one that any log has seen: the new voter set is written in one that is 1000 higher.
    """

    source: Source
    cluster_id: ClusterID
    node_id: NodeID
    directory_id: DirectoryID
    epoch: int
    leader_epoch: int
    end: LogEnd
    checkpoint: LogEnd | None
    listeners: tuple[Listener, ...]
    seed: Candidate | None = None

    @property
    def key(self) -> ReplicaKey:
        """The replica that becomes the only voter."""
        return ReplicaKey(node_id=self.node_id, directory_id=self.directory_id)


DiskWork: TypeAlias = InspectDisk | CompareDisk | CopyDisk | RewriteDisk

_WORDS: Final[dict[type[DiskWork], str]] = {
    InspectDisk: "inspect",
    CompareDisk: "compare",
    CopyDisk: "copy",
    RewriteDisk: "rewrite",
}


def word(work: DiskWork) -> str:
    """What is done, in a word."""
    return _WORDS[type(work)]


def work_name(quorum: str, work: DiskWork) -> str:
    """The name of the pod that does this: the same work has the same name in every process."""
    return f"{quorum}-{word(work)}-{digest([word(work), without_defaults(work)])}"


def is_work_name(quorum: str, name: str) -> bool:
    """Whether `work_name` makes this name."""
    return re.fullmatch(rf"{re.escape(quorum)}-(inspect|compare|copy|rewrite)-[0-9a-f]{{10}}", name) is not None


def copy_name(claim: str, plan: str) -> str:
    """The claim that holds the copy of a controller's claim, for the plan with this hash.

    The hash covers where the log ends, and the copies of recoveries that were taken back. So no copy that another plan,
    or an earlier approval of the same facts, has made is found under this name.
    """
    return f"{claim}-copy-{plan}"


def is_copy_name(quorum: str, name: str) -> bool:
    """Whether `copy_name` makes this name for a claim of this quorum."""
    return re.fullmatch(rf"{re.escape(quorum)}-[0-9]{{1,10}}-g[0-9]{{1,10}}-copy-[0-9a-f]{{10}}", name) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkReport:
    """What a pod reported when its work had ended.

    `found` is the log as it was at the end: of the disk that was read, of the copy, or of the rewritten disk. `digest`
    covers every file of a verified copy. `done` says whether all of it was done. A pod that compares reports only
    `beyond`, and what is found is unknown.
    """

    done: bool
    found: Knowable[Found]
    digest: str = ""
    message: str = ""
    beyond: Beyond | None = None

    @property
    def log(self) -> LogRead | None:
        """The log that was found; None if it is unknown, or if there is none."""
        found = self.found.value if isinstance(self.found, Known) else None
        return found if isinstance(found, LogRead) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A pod that works on a disk. `report` is None until it has ended; `why` says what keeps it from starting.

    `finished_at_s` is when it ended, in seconds since the epoch by the clock of its Kubernetes node; 0 if it has not.
    `created_at_s` is the same by the API server's clock. `node_name` is empty before it is scheduled; `bound_to` is the
    only Kubernetes node on which it may run, empty for any. `unschedulable`: no Kubernetes node can run it now.
    """

    name: str
    uid: str
    resource_version: str
    deleting: bool
    finished: bool
    finished_at_s: float
    node_name: str
    why: str
    report: WorkReport | None
    running: bool = False
    created_at_s: float = 0.0
    bound_to: str = ""
    unschedulable: bool = False

    @property
    def only_reads(self) -> bool:
        """Whether it writes nothing, so that nothing is lost if it is not known whether it still runs."""
        return self.name.rsplit("-", 2)[1] in (_WORDS[InspectDisk], _WORDS[CompareDisk])

    @property
    def never_ran(self) -> bool:
        """Whether it has ended without having run: a machine that has just started may refuse a pod."""
        return self.finished and self.finished_at_s == 0 and self.report is None

    @property
    def place(self) -> str:
        """The Kubernetes node that it is on, or has to wait for; empty for any."""
        return self.node_name or self.bound_to


def report_of(worker: Worker | None) -> WorkReport | None:
    """What a pod reported; None if it does not exist, has not ended, or is being deleted: its work is done anew."""
    return None if worker is None or worker.deleting else worker.report


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskCopy:
    """A claim that holds a copy, of a recovery with this epoch. `bound` says whether it has a volume."""

    name: str
    uid: str
    resource_version: str
    epoch: int
    deleting: bool
    bound: bool
