"""What is found on a disk, as frozen values. `form` turns them into JSON and back.

Offsets are those of the metadata log, an end offset is the one that the next record would get. Sizes and positions are
in bytes. Ids are in Kafka's notation (16 bytes in URL-safe base64). None means that the disk has no such thing.
"""

from dataclasses import dataclass
from typing import Final

LOOK_SCHEMA: Final = 1
CONTENT_SCHEMA: Final = 1
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
class DiskLook:
    """All that decides whether, and how, a quorum can continue from a disk.

    `end_offset` and `last_epoch` are those behind the last valid batch, or of the checkpoint if the log has no batch.
    With `damage` they are those before the damage.
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
