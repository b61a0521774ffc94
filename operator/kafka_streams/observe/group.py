"""Look at the group of an application: find its coordinator, describe the group, and read its committed offsets.

A group may be of several types, and each request serves one of them. So the requests have an order: DescribeGroups; if
it says `Dead`, StreamsGroupDescribe; if there is no streams group either, ListGroups, which lists all types. The
coordinator may move between two questions. It says so itself (NOT_COORDINATOR), except as the answer to ListGroups: so
the group is described once more after that list.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from kafka_quorum.errors import KafkaError, KafkaRefused, KafkaVersionUnsupported
from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.groups import ClassicGroup, ClassicMember, Committed, GroupState, StreamsGroup, StreamsMember
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.wire.apart import apart
from kafka_quorum.wire.bounds import MAX_SHARES, MAX_SUBSCRIBED
from kafka_quorum.wire.groups import Groups
from kafka_quorum.wire.reader import ReadError
from kafka_streams.model.group import Epochs, GroupKind, GroupSeen, MemberSeen, NotProbed, StreamsVersions
from kafka_streams.observe.subscription import CONSUMER, assigned, member_metadata, subscribed, topics_announced

A = TypeVar("A")
LOOK_S: Final = 20.0
"""The limit of one look; each of its requests has its own."""
SOURCES: Final = 3
"""So many brokers are asked for the coordinator, one after the other, before the group counts as unknown."""
_NOT_COORDINATOR: Final = "NOT_COORDINATOR"
_RIGHTS: Final = {
    "GROUP_AUTHORIZATION_FAILED": "the group",
    "TOPIC_AUTHORIZATION_FAILED": "every topic of the group, the internal ones too,",
}


class _OfAnotherTypeError(Exception):
    """The group exists, and is neither classic nor streams; the text is a sentence."""


async def look(groups: Groups, brokers: Sequence[Endpoint], group_id: str) -> Knowable[GroupSeen]:
    """The group, or why it is unknown: no broker answered in time, or an error. A missing group is known to be so."""
    why = f"Group {group_id} is unknown: no broker is known"
    try:
        async with asyncio.timeout(LOOK_S):
            for broker in brokers[:SOURCES]:
                try:
                    return Known(value=await _seen(_Coordinator(groups=groups, asked=broker, group_id=group_id)))
                except KafkaError as error:
                    why = f"Group {group_id} is unknown: {_sentence(error)}"
                except ReadError as error:
                    return Unknown(reason=f"Group {group_id} is unknown: {error}")
                except _OfAnotherTypeError as error:
                    return Unknown(reason=str(error))
    except TimeoutError:
        why = f"Group {group_id} is unknown: {LOOK_S:g} s had passed"
    return Unknown(reason=why)


def _sentence(error: KafkaError) -> str:
    """The error, and what to do about a right that is missing."""
    name = error.name if isinstance(error, KafkaRefused) else ""
    what = _RIGHTS.get(name)
    return str(error) if what is None else f"{str(error).rstrip('.')}. Grant Describe on {what} to the operator's user"


@dataclass(slots=True, kw_only=True)
class _Coordinator:
    """The coordinator of a group, as `asked` names it. It is looked for a second time if it has moved, and no third."""

    groups: Groups
    asked: Endpoint
    group_id: str
    _at: Endpoint | None = None
    _moved: bool = False

    async def endpoint(self) -> Endpoint:
        if self._at is None:
            self._at = await self.groups.coordinator(self.asked, self.group_id)
        return self._at

    async def ask(self, question: Callable[[Endpoint, str], Awaitable[A]]) -> A:
        try:
            return await question(await self.endpoint(), self.group_id)
        except KafkaRefused as error:
            if error.name != _NOT_COORDINATOR or self._moved:
                raise
        self._at, self._moved = None, True
        return await question(await self.endpoint(), self.group_id)


async def _seen(coordinator: _Coordinator) -> GroupSeen:
    groups = coordinator.groups
    classic = await coordinator.ask(groups.classic_group)
    streams = await _streams(coordinator) if classic.state is GroupState.DEAD else None
    if classic.state is GroupState.DEAD and streams is None:
        classic = await _without_other_types(coordinator)
    committed = await _committed(coordinator)
    if streams is not None:
        return streams_seen(coordinator.group_id, streams, committed)
    size_bytes = sum(len(member.metadata) + len(member.assignment) for member in classic.members)
    return await apart(size_bytes, lambda: classic_seen(coordinator.group_id, classic, committed))


async def _streams(coordinator: _Coordinator) -> StreamsGroup | None:
    try:
        return await coordinator.ask(coordinator.groups.streams_group)
    except KafkaVersionUnsupported:
        return None


async def _without_other_types(coordinator: _Coordinator) -> ClassicGroup:
    """The classic group once more, if no group of another type has its name."""
    endpoint, group_id = await coordinator.endpoint(), coordinator.group_id
    listed = await coordinator.groups.coordinated(endpoint)
    again = await coordinator.groups.classic_group(endpoint, group_id)
    types = [row.group_type for row in listed if row.group_id == group_id]
    if types and again.state is GroupState.DEAD:
        raise _OfAnotherTypeError(
            f"Group {group_id} is unknown: its coordinator lists it with type {types[0]}, and describes no classic and"
            " no streams group of this name"
        )
    return again


async def _committed(coordinator: _Coordinator) -> Knowable[tuple[Committed, ...]]:
    try:
        return Known(value=await coordinator.ask(coordinator.groups.committed))
    except KafkaError as error:
        return Unknown(reason=str(error))


def classic_seen(group_id: str, group: ClassicGroup, committed: Knowable[tuple[Committed, ...]]) -> GroupSeen:
    """A classic group, or none if it is `DEAD`. Bytes of a member that cannot be read are Unknown for this member.

    Raises ReadError if the members together have more than is read.
    """
    topics = sum(topics_announced(member.metadata) for member in group.members)
    if topics > MAX_SUBSCRIBED:
        raise ReadError(f"its members subscribe to {topics} topics, at most {MAX_SUBSCRIBED} are read")
    return GroupSeen(
        group_id=group_id,
        kind=GroupKind.NONE if group.state is GroupState.DEAD else GroupKind.CLASSIC,
        state=group.state,
        protocol=group.protocol or None,
        epochs=None,
        members=_classic_members(group),
        committed=committed,
    )


def streams_seen(group_id: str, group: StreamsGroup, committed: Knowable[tuple[Committed, ...]]) -> GroupSeen:
    """A group of the streams protocol."""
    return GroupSeen(
        group_id=group_id,
        kind=GroupKind.STREAMS,
        state=group.state,
        protocol=None,
        epochs=Epochs(group=group.group_epoch, assignment=group.assignment_epoch, topology=group.topology_epoch),
        members=tuple(map(_streams_member, group.members)),
        committed=committed,
    )


def _classic_members(group: ClassicGroup) -> tuple[MemberSeen, ...]:
    made: list[MemberSeen] = []
    partitions = 0
    for member in group.members:
        made.append(_classic(group, member))
        known = made[-1].partitions
        partitions += len(known.value) if isinstance(known, Known) else 0
        if partitions > MAX_SHARES:
            raise ReadError(f"its members have more than {MAX_SHARES} partitions, and no more are read")
    return tuple(made)


def _classic(group: ClassicGroup, member: ClassicMember) -> MemberSeen:
    metadata = member_metadata(group.protocol_type, group.protocol, member.metadata)
    process_id = metadata.process_id if isinstance(metadata, StreamsVersions) else None
    no_tasks = Unknown(reason="a classic group reports partitions, not tasks")
    return MemberSeen(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        host=member.client_host,
        metadata=metadata,
        process_id=Known(value=process_id) if process_id else Unknown(reason="the member's metadata does not say it"),
        partitions=_partitions(group, member),
        tasks=no_tasks,
        target=no_tasks,
        subscribed=_subscribed(group, member),
    )


def _subscribed(group: ClassicGroup, member: ClassicMember) -> frozenset[str] | None:
    if not member.metadata or group.state is not GroupState.STABLE or group.protocol_type != CONSUMER:
        return None
    try:
        return subscribed(member.metadata)
    except ReadError:
        return None


def _partitions(group: ClassicGroup, member: ClassicMember) -> Knowable[tuple[TopicPartition, ...]]:
    if group.state is not GroupState.STABLE or not member.assignment:  # a 4.x broker goes on to show the former one
        return Unknown(reason=f"the group is {group.state.value}, so the member has no assignment that counts")
    if group.protocol_type != CONSUMER:
        return Unknown(reason=f"the group is of type {group.protocol_type}, and its assignments are not read")
    try:
        return Known(value=assigned(member.assignment))
    except ReadError as error:
        return Unknown(reason=f"the assignment of the member cannot be read: {error}")


def _streams_member(member: StreamsMember) -> MemberSeen:
    return MemberSeen(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        host=member.client_host,
        metadata=NotProbed(),
        process_id=Known(value=member.process_id) if member.process_id else Unknown(reason="it is not reported"),
        partitions=Unknown(reason="a streams group reports tasks, not partitions"),
        tasks=Known(value=member.tasks),
        target=Known(value=member.target),
    )
