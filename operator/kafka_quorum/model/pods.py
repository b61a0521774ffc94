"""A pod of ours as one look shows it: what it was made for, its container's state, what its script found on disk."""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from kafka_quorum.model.identity import FormatMode
from kafka_quorum.model.ids import DirectoryID, NodeID

CRASHED: Final = "CrashLoopBackOff"
"""The kubelet's word for a container that ended by itself, and will be started again."""
STUCK: Final = frozenset(
    {
        CRASHED,
        "CreateContainerConfigError",
        "CreateContainerError",
        "ErrImageNeverPull",
        "ErrImagePull",
        "ImageInspectError",
        "ImagePullBackOff",
        "InvalidImageName",
        "RunContainerError",
        "StartError",
    }
)
"""The kubelet's words for a container that will not start by itself."""
NOT_PULLED: Final = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"})
"""Those of a container whose image cannot be pulled."""
NEVER_MADE: Final = STUCK - NOT_PULLED - {CRASHED}
"""Those of a container that cannot be made although its image is there."""


class PodRole(Enum):
    """What a pod of ours is for. A pod that formats never runs Kafka, a pod that runs Kafka never formats."""

    FORMATTER = "formatter"
    KAFKA = "controller"


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A container that does not run yet, or not again: `reason` as the kubelet gives it (`ImagePullBackOff`).

    `init`: the init container that is not ours and keeps it waiting: reason and message are those of `init`. Or empty.
    """

    reason: str
    message: str
    last_exit: "Terminated | None"
    init: str = ""

    @property
    def words(self) -> str:
        """Why it waits, in the kubelet's words."""
        said = f"{self.reason}: {self.message}" if self.message else self.reason
        return f"its init container {self.init} fails ({said})" if self.init else said


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A container that runs, since `started_at` (RFC 3339). `container` identifies it among all those of its pod."""

    started_at: str
    container: str = ""
    restarted: bool = False
    """Whether an earlier one of the same pod has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminated:
    """A container that ended. `message` is its termination message: our scripts write JSON there."""

    exit_code: int
    reason: str
    message: str
    finished_at: str
    ran_s: float = 0.0
    """For how many seconds it ran; 0 if the kubelet did not report it."""


ContainerState = Waiting | Running | Terminated


class DiskFound(Enum):
    """What a script of ours found where the metadata log should be."""

    FORMATTED = "formatted"
    EMPTY = "empty"
    """The volume is mounted and could be listed, and nothing is there: never formatted, or emptied."""
    PARTIAL = "partial"
    """Files, but no meta.properties, and no intent of a formatter of ours: the operator does not touch them."""
    UNREADABLE = "unreadable"
    """The volume is not mounted, or cannot be read: nothing is known of what is there. Never evidence of a loss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskReport:
    """What a formatter or the init container of a Kafka pod reported of the disk that it mounts.

    The three ids are None unless `found` is FORMATTED. `accepted` says whether the disk has the expected identity.
    """

    found: DiskFound
    cluster_id: str | None
    node_id: int | None
    directory_id: str | None
    accepted: bool
    message: str
    finished_at_s: float = 0.0
    """When the script ended, in seconds since the epoch; 0 if the kubelet did not report it."""
    place: str = ""
    """The root directory of the volume: its number and its birth time. Empty if they are unknown."""
    run: str = ""
    """The container that ran the script: another one for each run. Empty if the kubelet did not report it."""
    outdated: bool = False
    """A script of an earlier operator reported `empty` also for what it could not read: so `found` is UNREADABLE."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod of ours. `claim_uid` and `directory_id` are what it was made for; `report` is its script's disk report."""

    name: str
    uid: str
    resource_version: str
    role: PodRole
    node_id: NodeID
    owner_uid: str | None
    deleting: bool
    finished: bool
    claim_name: str
    claim_uid: str
    directory_id: DirectoryID | None
    mode: FormatMode
    revision: str
    config_name: str
    ip: str
    node_name: str
    scheduled: bool
    unschedulable: str
    container: ContainerState
    report: DiskReport | None
    marked_voter: bool
    finished_at_s: float
    """When its container last ended, in seconds since the epoch; 0 if it has not."""
    gate: str
    """The readiness gate's status: `True`, `False`, `Unknown`, or empty if it was never set."""
    why_ended: str = ""
    """Why Kubernetes ended it (`resources.podstatus.why_ended`)."""

    @property
    def running(self) -> bool:
        """Whether its Kafka runs, or may run: in a pod that is being deleted it may run until the pod is gone."""
        return isinstance(self.container, Running)

    @property
    def serves(self) -> bool:
        """Whether its Kafka runs, and the pod is not being deleted."""
        return self.role is PodRole.KAFKA and self.running and not self.deleting

    @property
    def restarted(self) -> bool:
        """Whether its Kafka runs, and an earlier Kafka has ended in this pod."""
        return isinstance(self.container, Running) and self.container.restarted

    @property
    def instance(self) -> str:
        """Which start of Kafka this is: a new value after each restart of the container. Empty while none runs."""
        if not isinstance(self.container, Running):
            return ""
        return f"{self.uid} {self.container.container} {self.container.started_at}"
