"""What was read of a disk that holds a copy of the metadata log: where the log ends, whose it is, who votes in it.

Ends are compared by the epoch of the last record first, and by the end offset then. This is how Kafka decides in an
election whose log is the longer one, so the greatest end is the one that loses nothing that another disk has.
"""

from dataclasses import dataclass
from typing import TypeAlias

from kafka_quorum.model.ids import DirectoryID, NodeID, ReplicaKey
from kafka_quorum.model.known import Knowable


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class LogEnd:
    """The epoch of the last whole batch of a log, and the offset behind that batch."""

    epoch: int
    offset: int

    def __str__(self) -> str:
        """For messages: `offset 5321 in epoch 7`."""
        return f"offset {self.offset} in epoch {self.epoch}"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Source:
    """Where a log is: a claim, by name. A controller's claim has its uid and node id, a seed has a path in it.

    A seed is the metadata log of a broker, or a directory that a person brings, in a claim that is not ours.
    """

    claim: str
    claim_uid: str = ""
    node_id: NodeID | None = None
    path: str = ""

    @property
    def is_seed(self) -> bool:
        """Whether a person named it, so that it is only read."""
        return self.node_id is None

    def __str__(self) -> str:
        """For messages."""
        if self.node_id is not None:
            return f"the disk of controller {self.node_id} (claim {self.claim})"
        return f"seed {self.claim}" + (f" (directory {self.path})" if self.path else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRead:
    """A metadata log that was read to its end, with every checksum compared.

    `leader_epoch` is that of the file `quorum-state`, which grows while a controller asks for votes. `checkpoint` is
    the newest checkpoint, None if there is none. `torn_bytes` lie behind the last whole batch. `damaged_at` is the
    offset of a damaged batch with whole ones behind it: then the log cannot be used. `voters` is the newest voter set
    in checkpoint and log. A seed of a broker has `directory_id` None if its server has no replica of the quorum.
    """

    cluster_id: str
    node_id: NodeID
    directory_id: DirectoryID | None
    leader_epoch: int
    end: LogEnd
    checkpoint: LogEnd | None
    torn_bytes: int
    damaged_at: int | None
    voters: tuple[ReplicaKey, ...]
    kraft_version: int

    @property
    def highest_epoch(self) -> int:
        """The highest leader epoch that this disk has seen."""
        return max(self.leader_epoch, self.end.epoch)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmptyDisk:
    """A volume that is mounted and could be listed, and that holds no log."""


Found: TypeAlias = LogRead | EmptyDisk


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """One disk, and what was read of it: unknown, with the reason, until an inspector has reported."""

    source: Source
    found: Knowable[Found]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Watermark:
    """The last high watermark that a leader of `epoch` reported: every record below `offset` was committed."""

    epoch: int
    offset: int
