"""The group as decisions see it, from what its coordinator and the leaders of its partitions answered. Pure."""

from collections.abc import Mapping
from typing import Final

from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.groups import GroupState as State
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_streams.model.group import GroupKind, GroupSeen, MemberSeen, StreamsVersions
from kafka_streams.model.membership import Group, GroupState, Member
from kafka_streams.model.observed import Memory
from kafka_streams.model.way import Protocol

_PROTOCOLS: Final = {GroupKind.CLASSIC: Protocol.CLASSIC, GroupKind.STREAMS: Protocol.STREAMS, GroupKind.NONE: None}


def group_from(seen: GroupSeen, ends: Mapping[TopicPartition, Knowable[int]]) -> Group:
    """The group. `ends` are the ends of the logs of all partitions with a committed offset."""
    return Group(
        protocol=_PROTOCOLS[seen.kind],
        state=GroupState(seen.state.value),
        members=tuple(map(_member, seen.members)),
        committed=_committed(seen),
        ends=_ends(seen, ends),
    )


def _member(member: MemberSeen) -> Member:
    versions = member.metadata if isinstance(member.metadata, StreamsVersions) else None
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id or "",
        host=member.host.removeprefix("/"),
        used_version=None if versions is None else versions.used,
        supported_version=None if versions is None else versions.supported,
    )


def _committed(seen: GroupSeen) -> Knowable[dict[tuple[str, int], int]]:
    if isinstance(seen.committed, Unknown):
        return seen.committed
    return Known(value={(row.at.topic, row.at.index): row.offset for row in seen.committed.value})


def _ends(seen: GroupSeen, ends: Mapping[TopicPartition, Knowable[int]]) -> Knowable[dict[tuple[str, int], int]]:
    if isinstance(seen.committed, Unknown):
        return seen.committed
    found: dict[tuple[str, int], int] = {}
    for row in seen.committed.value:
        end = ends.get(row.at, Unknown(reason=f"the end of {row.at} was not looked at"))
        if isinstance(end, Unknown):
            return end
        found[row.at.topic, row.at.index] = end.value
    return Known(value=found)


def remembered(group: Knowable[Group], before: Memory, looked_at_s: float, longest_s: float) -> Memory:
    """The memory after this look. Two looks further apart than `longest_s` say nothing of the time between them."""
    if isinstance(group, Unknown) or group.value.state.value != State.STABLE.value:
        return Memory(looked_s=looked_at_s)
    members = frozenset(member.member_id for member in group.value.members)
    same = before.stable_since_s is not None and members == before.members
    kept = same and looked_at_s - before.looked_s <= longest_s
    since_s = before.stable_since_s if kept else looked_at_s
    return Memory(members=members, stable_since_s=since_s, looked_s=looked_at_s)
