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
class EpochStart:
    """The first offset that a log has of a leader epoch."""

    epoch: int
    offset: int


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
    `epochs` are the newest leader epochs of the log, ascending: each ends where the next one begins. Empty if the
    report has none.
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
    epochs: tuple[EpochStart, ...] = ()

    def has(self, record: LogEnd) -> bool | None:
        """Whether this log has the last record before an end; None if its epochs there are not known.

        Each epoch has one leader. So an offset of an epoch is the same record in every log, and logs that share a
        record share everything before it.
        """
        last = record.offset - 1
        if record == self.end or last >= self.end.offset:
            return record == self.end
        started = [start for start in self.epochs if start.offset <= last]
        if started:
            return started[-1].epoch == record.epoch
        return False if self.epochs and record.epoch > self.epochs[0].epoch else None

    def until(self, epoch: int) -> int | None:
        """The offset behind the last record of this epoch or of an earlier one; None if that is not known."""
        later = [start.offset for start in self.epochs if start.epoch > epoch]
        if not self.epochs or len(later) == len(self.epochs):
            return None
        return later[0] if later else self.end.offset

    @property
    def highest_epoch(self) -> int:
        """The highest leader epoch that this disk has seen."""
        return max(self.leader_epoch, self.end.epoch)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmptyDisk:
    """A volume that is mounted and could be listed, and that holds no log."""


Found: TypeAlias = LogRead | EmptyDisk


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochRange:
    """Records of one leader epoch: their first and last offset, and how many they are."""

    epoch: int
    first: int
    last: int
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Beyond:
    """What a log has that the chosen one does not have, behind the last record that both have (`shared`).

    `end` is where the log ended when it was compared; with damage, before that. Without `shared`, `undecided` records
    may be in the chosen log, too. `whole` is False if the log is damaged, or has more than was counted: then every
    number is the least one. `epochs`, `types` and `topics` are the newest, the most frequent and the first ones.
    """

    end: LogEnd
    shared: LogEnd | None
    records: int
    undecided: int
    unread: int
    whole: bool
    first: int | None
    last: int | None
    epochs: tuple[EpochRange, ...]
    types: tuple[tuple[str, int], ...]
    topics: tuple[str, ...]
    topics_total: int


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
