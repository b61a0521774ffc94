"""What is remembered between looks: what must be seen over several of them. Lost with the process or the lease."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_quorum.model.ids import DirectoryID, NodeID, ReplicaKey
from kafka_quorum.model.known import Knowable
from kafka_quorum.model.quorum import FeatureStep
from kafka_quorum.model.surveyed import Watermark


@dataclass(frozen=True, slots=True, kw_only=True)
class BlankDisk:
    """A disk that every run of one pod's script has found without its data, from the first such run to the last one.

    `first_s` and `last_s` are the ends of these runs, in seconds since the epoch by the clock of the pod's Kubernetes
    node. All others are monotonic seconds of the operator's clock: that clock is never set.
    """

    pod_uid: str
    claim_uid: str
    directory_id: DirectoryID | None
    first_s: float
    last_s: float
    first_seen_s: float
    """The first look that showed the first run."""
    last_seen_s: float
    """The first look that showed the last run."""
    unseen_s: float = -math.inf
    """The last look that did not show the last run yet; minus infinity, for unknown, if there is only one run."""
    looked_s: float
    """The last look."""
    run: str = ""
    """The container of the last run; empty if the kubelet did not report it."""
    emptied_runs: int = 0
    """How many runs in a row, up to the last one, found the place of the data itself, and nothing in it."""
    instance: str = ""
    """The container that runs: Kafka, or still the script that compares the disk. Empty while none runs."""
    runs_since_s: float = 0.0
    """The first look that showed this container."""

    @property
    def for_s(self) -> float:
        """How many seconds lie between the first run and the last one, by the clock that shows fewer."""
        return min(self.last_s - self.first_s, self.last_seen_s - self.first_seen_s)

    def age_s(self, now_s: float) -> float:
        """At most this many seconds ago the last run ended.

        It ended after the last look that did not show it. A report that arrived late is older than that: the first run
        ended before it was seen, and the clock of the Kubernetes node shows how much later the last one ended.
        """
        return now_s - min(self.unseen_s, self.first_seen_s + self.last_s - self.first_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataPlace:
    """Where a script saw the data of this directory id on the volume of this claim: `DiskReport.place`."""

    claim_uid: str
    directory_id: DirectoryID
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GoneVolume:
    """A claim of phase `Lost`: its volume does not exist. `for_s` are the seconds of looks that showed this phase.

    `seen_s` is the last look that showed it (monotonic).
    """

    claim_uid: str
    for_s: float
    seen_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Soak:
    """For how long everything has been well since the finalized levels last changed.

    `epoch` is the finalized-features epoch of the leader. `healthy_s` are seconds looked at, in which every voter was
    caught up and every controller showed these levels. `seen_at_s` is the monotonic time of the last look; None if that
    look could not decide, and in a soak that was read back from the status.
    """

    epoch: int
    healthy_s: float
    seen_at_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCheck:
    """What the active controller answered to a step that it only validated. `words` are its own."""

    allowed: bool
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Announced:
    """The leader's answer to steps that are held; it is asked again when the answer is old (monotonic seconds)."""

    at_s: float
    checks: tuple[tuple[FeatureStep, Knowable[StepCheck]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VoterSetLook:
    """The voter set that DescribeQuorum shows, and where the log ended when it was first seen in this epoch.

    `static` says that it was the configured set then, which no log record holds. `changed` says that the same leader
    showed another set before, in the same epoch: so it has read the newest set of its log.
    """

    voters: frozenset[ReplicaKey]
    epoch: int
    log_end_offset: int
    committed: bool
    static: bool = False
    changed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LostNode:
    """A replica on a Kubernetes node that is lost, as Kubernetes and the quorum agree, and for how long they have.

    `for_s` are seconds looked at. `agreed_at_s` is when the last look agreed (monotonic); None if it could not decide.
    """

    key: ReplicaKey
    kube_node: str
    for_s: float
    agreed_at_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsSince:
    """A container of Kafka that runs, by `Pod.instance`, and the first look that showed it (monotonic seconds)."""

    instance: str
    at_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstSeen:
    """When a replica's container was first seen under the present leader, by that leader's clock.

    `instance` is empty if no container can be seen. `assumed` says that nothing shows a start of the container since
    the operator began to look, so its stamps are most likely its own.
    """

    key: ReplicaKey
    instance: str
    at_ms: int
    assumed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What must be seen over several looks. Lost with the process, which costs a few looks and nothing else.

    It is forgotten, too, when another operator had the lease meanwhile.

    `caught_up_looks` counts consecutive looks per replica; `unknown_looks` those without an answer.
    """

    voter_set: VoterSetLook | None = None
    committed_voters: frozenset[ReplicaKey] | None = None
    caught_up_looks: tuple[tuple[ReplicaKey, int], ...] = ()
    leader_now_ms: int = -1
    leader: tuple[NodeID, int] | None = None
    led_since_s: float = math.inf
    """The first look that showed this leader in this epoch (monotonic)."""
    unsettled_since_s: float = math.inf
    """The first look since which no leader has led for long; infinite while one has (monotonic)."""
    may_vote: frozenset[ReplicaKey] = frozenset()
    """Every replica that the log may list as a voter: what was shown or asked for, and nothing showed its removal."""
    unknown_looks: int = 0
    lost_nodes: tuple[LostNode, ...] = ()
    blank_disks: tuple[BlankDisk, ...] = ()
    gone_volumes: tuple[GoneVolume, ...] = ()
    data_places: tuple[DataPlace, ...] = ()
    soak: Soak | None = None
    announced: Announced | None = None
    first_seen: tuple[FirstSeen, ...] = ()
    runs_since: tuple[RunsSince, ...] = ()
    holder: str | None = None
    """Who had the disruption token when it was read last, empty for nobody; None if it was not read."""
    token_due_s: float = math.inf
    """When the token is read once more (monotonic): until then a request to take it may still have its effect."""
    step_until_s: float | None = None
    """Until then a request for a feature step may still have its effect (monotonic); None before the first look."""
    watermark: Watermark | None = None
    """The last high watermark that a leader reported."""

    _looks: Mapping[ReplicaKey, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Index the looks by key: every broker of a cluster has some."""
        object.__setattr__(self, "_looks", dict(self.caught_up_looks))

    def lost_for_s(self, key: ReplicaKey) -> float:
        """For how long the Kubernetes node of this replica has been lost, in seconds looked at; 0 while it is not."""
        return next((lost.for_s for lost in self.lost_nodes if lost.key == key), 0.0)

    def has_run_for_s(self, instance: str, now_s: float) -> float:
        """For how long this container has been seen to run; 0 if no look has shown it before."""
        return next((now_s - row.at_s for row in self.runs_since if row.instance == instance), 0.0)

    def volume_gone_for_s(self, claim_uid: str) -> float:
        """For how long this claim has been in phase `Lost`, in seconds looked at."""
        return next((row.for_s for row in self.gone_volumes if row.claim_uid == claim_uid), 0.0)

    def looks(self, key: ReplicaKey) -> int:
        """In how many consecutive looks this replica was caught up."""
        return self._looks.get(key, 0)
