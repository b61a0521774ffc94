"""The group of a Streams application, as one look saw it. Every decision about a restart reads this value.

**What a look does not show.** A member that was stopped without leaving stays in the group until its session ends. So
the group is `STABLE` with the old number of members right after its pod is gone (measured). Compare member ids, not
numbers: the old ids are gone, and a new one is there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.groups import Committed, GroupState, Tasks
from kafka_quorum.model.known import Knowable, Known, Unknown


class GroupKind(Enum):
    """How the group assigns work."""

    CLASSIC = "classic"
    """By one of its members. Streams probes the version of its metadata (KIP-268)."""
    STREAMS = "streams"
    """By the coordinator (KIP-1071). No version is probed."""
    NONE = "none"
    """There is no group of this name, of whatever type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsVersions:
    """What a Streams member of a classic group sends with its subscription (KIP-268).

    `used` is the metadata version of what it sends, `supported` the latest one that it can read; versions 1 and 2 do
    not say it. `process_id` is one for all threads of a process, and `endpoint` is `application.server`. Both are None
    if `used` is later than every version that this operator can read in full.
    """

    used: int
    supported: int | None
    process_id: str | None
    endpoint: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoMetadata:
    """The coordinator shows no metadata of this member now, because the group is not stable. Look again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotStreams:
    """The member is no Streams member: the group uses another assignor, or another protocol type."""

    protocol_type: str
    protocol: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotProbed:
    """A member of a streams group: it sends no metadata version, because the coordinator assigns."""


MemberMetadata: TypeAlias = StreamsVersions | NoMetadata | NotStreams | NotProbed | Unknown
"""What a member's metadata says. Unknown: there are bytes, and they cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSeen:
    """One member: for Streams one thread. `host` is the address that the broker saw, with a slash before it.

    A classic member has `partitions`, a member of a streams group has `tasks`; the other one is Unknown. `subscribed`
    are the topics that a classic member reads, with or without partitions of them; None if they are not known.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    metadata: MemberMetadata
    process_id: Knowable[str]
    partitions: Knowable[tuple[TopicPartition, ...]]
    tasks: Knowable[Tasks]
    target: Knowable[Tasks]
    subscribed: frozenset[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Epochs:
    """The epochs of a streams group. `topology` is None before a member has sent a topology."""

    group: int
    assignment: int
    topology: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSeen:
    """The group and its committed offsets. `protocol` is the assignor, None while the group is not stable.

    `epochs` is None for a classic group. Members are in the order of their ids.
    """

    group_id: str
    kind: GroupKind
    state: GroupState
    protocol: str | None
    epochs: Epochs | None
    members: tuple[MemberSeen, ...]
    committed: Knowable[tuple[Committed, ...]]

    @property
    def member_ids(self) -> frozenset[str]:
        """The ids of all members."""
        return frozenset(member.member_id for member in self.members)


def lags(
    committed: tuple[Committed, ...], latest: Mapping[TopicPartition, Knowable[int]]
) -> dict[TopicPartition, Knowable[int]]:
    """How many records each partition with a committed offset has after it; `latest` are the ends of the logs.

    An offset behind the end of its log has no lag: records were lost, or the topic was created again.
    """
    return {row.at: _lag(row, latest.get(row.at)) for row in committed}


def _lag(row: Committed, end: Knowable[int] | None) -> Knowable[int]:
    if end is None:
        return Unknown(reason=f"the end of {row.at} was not looked at")
    if isinstance(end, Unknown):
        return end
    if row.offset > end.value:
        return Unknown(reason=f"offset {row.offset} of {row.at} is committed, and its log ends at {end.value}")
    return Known(value=end.value - row.offset)
