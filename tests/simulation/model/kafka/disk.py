"""A disk as Kafka's tools see it, and what each step of a format writes. A crash can come between any two steps.

Each disk is an object. An emptied volume gets a new one, and a process with open files keeps the old one, as with
unlinked files in a file system. `serial` identifies the disk in the ground truth.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from tests.simulation.model.kafka.cluster_image import NO_CLUSTER, ClusterImage
from tests.simulation.model.kafka.keeper_image import NO_KEEPER, KeeperImage
from tests.simulation.model.kafka.releases import Levels
from tests.simulation.model.kafka.replica_log import ReplicaLog

from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.ids import ClusterID, DirectoryID, NodeID, ReplicaKey
from kafka_quorum.model.quorum import FeatureRange
from kafka_quorum.model.scram import ScramCredential


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """A node's registration: it stays when the node stops. `at_s` is the moment of its record."""

    node_id: NodeID
    broker: bool
    incarnation: str
    supported: tuple[FeatureRange, ...]
    at_s: float

    def __str__(self) -> str:
        """As Kafka names it in a refusal: `Broker 2`."""
        return f"{'Broker' if self.broker else 'Controller'} {self.node_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """The combined content of all records up to this one. `changed_at` is the offset of the last change of a level.

    `voters` is None without a VotersRecord: then the checkpoint counts, or the configuration.
    """

    voters: frozenset[ReplicaKey] | None = None
    levels: Levels = ()
    changed_at: int = -1
    registered: tuple[Registration, ...] = ()
    cluster: ClusterImage = NO_CLUSTER
    """Brokers and partitions."""
    keeper: KeeperImage = NO_KEEPER
    """The migration from ZooKeeper."""
    users: tuple[ScramCredential, ...] = ()
    """The users of SCRAM."""


NOTHING: Final = Image()


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One record of the metadata log. `voters` is set for a VotersRecord; `image` holds from this record on."""

    epoch: int
    what: str
    voters: frozenset[ReplicaKey] | None = None
    image: Image = NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """meta.properties."""

    cluster_id: ClusterID
    node_id: NodeID
    directory_id: DirectoryID


class Content(Enum):
    """What a script finds at the path of the metadata log."""

    EMPTY = "empty"
    PARTIAL = "partial"
    FORMATTED = "formatted"
    UNREADABLE = "unreadable"


@dataclass(slots=True, kw_only=True)
class Disk:
    """One disk. `voters` are those of the checkpoint that the format wrote; empty without initial controllers.

    `static`: there is no checkpoint, so kraft.version is 0. `levels` are the initial levels of the format.
    """

    serial: int
    intent: str | None = None
    files: bool = False
    meta: Meta | None = None
    voters: frozenset[ReplicaKey] = frozenset()
    initial: bool = False
    static: bool = False
    levels: Levels | None = None
    ran: bool = False
    reported: bool = False
    """A formatter has ended with its report. Before the barrier, a later loss of the disk cannot be known."""
    unreadable: bool = False
    """A disk whose content cannot be read."""
    recovery: int = 0
    """The number of the recovery that it was formatted or rewritten in; 0 for none."""
    epoch: int = 0
    """The highest epoch that this disk's quorum-state has seen or voted in."""
    log: list[Entry] = field(default_factory=list)
    replicas: dict[TopicPartition, ReplicaLog] = field(default_factory=dict)
    """The partitions in this log directory of a broker."""
    clean_epoch: int = -1
    """The broker epoch in the file of a clean shutdown; -1 without one."""

    @property
    def content(self) -> Content:
        """What is on the disk, as the scripts distinguish it."""
        if self.unreadable:
            return Content.UNREADABLE
        if self.meta is not None:
            return Content.FORMATTED
        return Content.PARTIAL if self.files else Content.EMPTY

    @property
    def key(self) -> ReplicaKey | None:
        """The replica that this disk holds."""
        if self.meta is None:
            return None
        return ReplicaKey(node_id=self.meta.node_id, directory_id=self.meta.directory_id)

    @property
    def voter_set(self) -> frozenset[ReplicaKey]:
        """The newest voter set in the log, committed or not; the one of the checkpoint if the log has none."""
        voters = self.image.voters
        return self.voters if voters is None else voters

    @property
    def image(self) -> Image:
        """The content of the whole log, committed or not."""
        return self.log[-1].image if self.log else NOTHING

    @property
    def end(self) -> int:
        """The log end offset."""
        return len(self.log)

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record."""
        return self.log[-1].epoch if self.log else 0

    def wipe(self) -> None:
        """Remove the log directory, as the formatter does with its own incomplete format. The intent stays."""
        self.files, self.meta, self.initial, self.static, self.ran, self.epoch = False, None, False, False, False, 0
        self.voters, self.levels = frozenset(), None
        self.log, self.replicas, self.clean_epoch = [], {}, -1
