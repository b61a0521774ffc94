"""What Kafka says of the group of an application: its state, its members, what it has processed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from kafka_quorum.model.known import Knowable
from kafka_streams.model.way import Protocol

TopicPartition: TypeAlias = tuple[str, int]


class GroupState(StrEnum):
    """The states of a group, by either protocol. A group that does not exist is `Dead`."""

    STABLE = "Stable"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    NOT_READY = "NotReady"
    EMPTY = "Empty"
    DEAD = "Dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One stream thread in the group. The versions are of its subscription; None while the group does not show them."""

    member_id: str
    instance_id: str
    host: str
    used_version: int | None = None
    supported_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The group as its coordinator describes it. `committed` and `ends` are offsets, by partition of its topics.

    `topics` are those that members read; None while that is not known. A topic that the application does not read any
    more has committed offsets for days. `owners` are the members that have partitions, by partition, as far as it is
    shown.
    """

    protocol: Protocol | None
    state: GroupState
    members: tuple[Member, ...]
    committed: Knowable[dict[TopicPartition, int]]
    ends: Knowable[dict[TopicPartition, int]]
    topics: frozenset[str] | None = None
    owners: Mapping[TopicPartition, str] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        """Whether it has no member."""
        return self.state in {GroupState.EMPTY, GroupState.DEAD} and not self.members

    def at(self, host: str) -> tuple[Member, ...]:
        """The members that run at this address; none for an unknown one."""
        return tuple(member for member in self.members if host and member.host == host)

    def there(self, member_ids: Iterable[str]) -> tuple[str, ...]:
        """Those of these members that are still in it."""
        present = {member.member_id for member in self.members}
        return tuple(sorted(present & set(member_ids)))
