"""What is found on a disk, as frozen values. `form` turns them into JSON and back.

Offsets are those of the metadata log, an end offset is the one that the next record would get. Sizes and positions are
in bytes. Ids are in Kafka's notation (16 bytes in URL-safe base64). None means that the disk has no such thing.
"""

from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

LOOK_SCHEMA: Final = 2
CONTENT_SCHEMA: Final = 1
BEYOND_SCHEMA: Final = 1
BEHIND_MAX: Final = 1000
"""So many valid batches behind damage are counted at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A listener of a voter."""

    name: str
    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Voter:
    """One voter of a VotersRecord, with the range of kraft.version that it supports."""

    node_id: int
    directory_id: str
    endpoints: tuple[Endpoint, ...]
    min_kraft_version: int
    max_kraft_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Voters:
    """A VotersRecord, and its offset: in the log, or within the checkpoint that holds it."""

    offset: int
    voters: tuple[Voter, ...]

    def of(self, node_id: int, directory_id: str | None) -> Voter | None:
        """The voter with this replica key, None if it is not in the set."""
        return next(
            (each for each in self.voters if (each.node_id, each.directory_id) == (node_id, directory_id)), None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumState:
    """The file `quorum-state`: the epoch that this server last saw, who led in it, and for whom it voted."""

    leader_epoch: int
    leader_id: int | None
    voted_id: int | None
    voted_directory_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A checkpoint: it replaces all records below `offset`. `reason` says why it is not whole, empty if it is."""

    offset: int
    epoch: int
    size_bytes: int
    whole: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One `.log` file up to the first thing in it that is not valid (`valid_bytes`)."""

    base_offset: int
    end_offset: int
    batches: int
    size_bytes: int
    valid_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """Bytes behind the last valid batch with no valid batch behind them: a write that did not end.

    `zero_bytes` of them, at the end of the file, are zeros. A server cuts all of it when it starts.
    """

    size_bytes: int
    zero_bytes: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """Something that is not valid, with valid batches behind it. A server would cut all of that when it starts.

    `offset` is the first one that is lost, `segment_base` and `position` say where it should be. Behind it,
    `batches_behind` are valid, up to `last_offset_behind`. No more than `BEHIND_MAX` are counted.
    """

    offset: int
    segment_base: int
    position: int
    reason: str
    batches_behind: int
    last_offset_behind: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochStart:
    """The first offset that a log has of a leader epoch. An epoch has one leader, so it names one run of records."""

    epoch: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskLook:
    """All that decides whether, and how, a quorum can continue from a disk.

    `end_offset` and `last_epoch` are those behind the last valid batch, or of the checkpoint if the log has no batch.
    With `damage` they are those before the damage. `epochs` are the newest leader epochs of the log, ascending, at most
    `EPOCHS_MAX`: each begins at its offset and ends where the next one begins. What is before the first is not in it.
    """

    schema: int
    cluster_id: str
    node_id: int
    directory_id: str | None
    quorum_state: QuorumState | None
    checkpoint: Checkpoint | None
    segments: tuple[Segment, ...]
    first_offset: int
    end_offset: int
    last_epoch: int
    epochs: tuple[EpochStart, ...]
    tail: Tail | None
    damage: Damage | None
    voters_in_checkpoint: Voters | None
    voters_in_log: Voters | None
    kraft_version: int

    @property
    def voters(self) -> Voters | None:
        """The voter set that counts: the last one of the log, else that of the checkpoint."""
        return self.voters_in_log or self.voters_in_checkpoint

    @property
    def leader_epoch(self) -> int:
        """The highest leader epoch that this disk has seen."""
        return max(self.last_epoch, self.quorum_state.leader_epoch if self.quorum_state else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeCount:
    """How many records of a type there are."""

    type: str
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicContent:
    """What happens to a topic: how many records are about it, and whether they create or remove it.

    `name` is None if the disk has no record with the name of this id; `topic_id` is None if only settings name it.
    """

    name: str | None
    topic_id: str | None
    created: bool
    removed: bool
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What the log has from an offset on.

    Records below `first_offset` are not in the log any more: only checkpoints have their effect. `topics` is cut at
    `TOPICS_MAX`, `topics_total` is not. `unread_records`: those that this version cannot decode; they are in `types`
    as far as their type is known.
    """

    schema: int
    from_offset: int
    first_offset: int
    end_offset: int
    records: int
    unread_records: int
    types: tuple[TypeCount, ...]
    topics: tuple[TopicContent, ...]
    topics_total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The log that a quorum would continue with: its newest leader epochs, as a look has them, and its end."""

    schema: int
    epochs: tuple[EpochStart, ...]
    end_offset: int

    def has(self, epoch: int, offset: int) -> bool | None:
        """Whether this log has the record with this epoch and offset; None if its epochs there are not known.

        An offset of an epoch is one record, in every log: only the one leader of the epoch wrote it.
        """
        if offset >= self.end_offset:
            return False
        place = bisect_right(self.epochs, offset, key=lambda start: start.offset)
        if place:
            return self.epochs[place - 1].epoch == epoch
        return False if self.epochs and epoch > self.epochs[0].epoch else None

    def until(self, epoch: int) -> int:
        """The offset at which this epoch ends in the log: where the next one begins, or the end of the log."""
        place = bisect_right(self.epochs, epoch, key=lambda start: start.epoch)
        return self.epochs[place].offset if place < len(self.epochs) else self.end_offset


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochRange:
    """The records of one leader epoch that were counted, and their first and last offset."""

    epoch: int
    first_offset: int
    last_offset: int
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Beyond:
    """What a log has that the chosen one does not have, behind the last record that both have.

    `end_offset` and `last_epoch` are those of a look: with damage, those before it. `shared` is the last record that
    both have, None if none was found. Then `undecided_records` may be in the chosen log, whose epochs there are not
    known; they are not counted elsewhere. `whole` is False if the log is damaged, or has more than is counted: then
    every number is the least one. `epochs` are at most `RANGES_MAX` of the newest, and `topics` is cut at `TOPICS_MAX`.
    """

    schema: int
    end_offset: int
    last_epoch: int
    shared: EpochStart | None
    records: int
    undecided_records: int
    unread_records: int
    whole: bool
    first_offset: int | None
    last_offset: int | None
    epochs: tuple[EpochRange, ...]
    types: tuple[TypeCount, ...]
    topics: tuple[TopicContent, ...]
    topics_total: int
