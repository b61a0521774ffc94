"""What the coordinator of a group answers about it, as values (KIP-62, KIP-709, KIP-1071).

These are the shapes that `wire` produces. Bytes of a member stay bytes here: their form depends on the client.
"""

from dataclasses import dataclass
from enum import Enum

from kafka_quorum.model.brokers import TopicPartition


class GroupState(Enum):
    """Kafka's state of a group. A classic group and a streams group have `EMPTY`, `STABLE` and `DEAD` in common."""

    EMPTY = "Empty"
    """No member. Committed offsets may be there."""
    PREPARING = "PreparingRebalance"
    """Classic: the coordinator waits for members to join again."""
    COMPLETING = "CompletingRebalance"
    """Classic: the coordinator waits for the leader's assignment."""
    NOT_READY = "NotReady"
    """Streams: the topology, or a topic that it needs, is missing."""
    ASSIGNING = "Assigning"
    """Streams: the coordinator is to compute a new assignment."""
    RECONCILING = "Reconciling"
    """Streams: not every member has its assignment."""
    STABLE = "Stable"
    DEAD = "Dead"
    """The coordinator has no such group, or none of the type that was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicMember:
    """A row of DescribeGroups. Unless the group is stable, `metadata` is empty.

    `assignment` is empty then on 3.9, and that of the former generation on 4.x (measured): it does not count.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicGroup:
    """A group as DescribeGroups describes it. `protocol` is the assignor, empty while the group is not stable."""

    state: GroupState
    protocol_type: str
    protocol: str
    members: tuple[ClassicMember, ...]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Task:
    """One task of a topology: `0_7` is partition 7 of subtopology 0."""

    subtopology: str
    partition: int

    def __str__(self) -> str:
        """As Kafka Streams writes it."""
        return f"{self.subtopology}_{self.partition}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tasks:
    """What a member of a streams group has, or is to have."""

    active: tuple[Task, ...]
    standby: tuple[Task, ...]
    warmup: tuple[Task, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsMember:
    """A row of StreamsGroupDescribe. `endpoint` is what the application advertises (`host:port`).

    `process_id` is one for all threads of a process. `tasks` are what the member has, `target` what it is to have.
    `classic` is a member that joined by the classic protocol.
    """

    member_id: str
    member_epoch: int
    instance_id: str | None
    client_id: str
    client_host: str
    process_id: str
    topology_epoch: int
    endpoint: str | None
    tasks: Tasks
    target: Tasks
    classic: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroup:
    """A group as StreamsGroupDescribe describes it. `topology_epoch` is None before a member has sent a topology."""

    state: GroupState
    group_epoch: int
    assignment_epoch: int
    topology_epoch: int | None
    members: tuple[StreamsMember, ...]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ListedGroup:
    """A row of ListGroups: `group_type` is Kafka's word, such as `classic`, `consumer`, `share`, `streams`."""

    group_id: str
    group_type: str


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Committed:
    """A committed offset: the next record that the group has not processed."""

    at: TopicPartition
    offset: int


class LogEnd(Enum):
    """Which end of a partition's log ListOffsets asks for; the value is Kafka's timestamp for it."""

    LATEST = -1
    """The high watermark: the offset of the next record. Transactional markers count as records."""
    EARLIEST = -2
    """The first record that is still there."""
