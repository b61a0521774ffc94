"""The group as decisions see it, from what its coordinator and the leaders of its partitions answered. Pure."""

from collections.abc import Mapping
from typing import Final

from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.groups import GroupState as State
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.resources.podstatus import address
from kafka_streams.model.group import GroupKind, GroupSeen, MemberSeen, StreamsVersions
from kafka_streams.model.membership import Group, GroupState, Member
from kafka_streams.model.observed import Memory
from kafka_streams.model.way import Protocol

_PROTOCOLS: Final = {GroupKind.CLASSIC: Protocol.CLASSIC, GroupKind.STREAMS: Protocol.STREAMS, GroupKind.NONE: None}


def group_from(seen: GroupSeen, ends: Mapping[TopicPartition, Knowable[int]]) -> Group:
    """The group. `ends` are the ends of the logs of all partitions with a committed offset, and of assigned ones.

    Kafka leaves the offsets of topics out that the client may not describe, without an error. So if members have a
    partition whose log the brokers do not show, all of the offsets are unknown: the group may have others.
    """
    hidden = _hidden(seen, ends)
    return Group(
        protocol=_PROTOCOLS[seen.kind],
        state=GroupState(seen.state.value),
        members=tuple(map(_member, seen.members)),
        committed=hidden or _committed(seen),
        ends=hidden or _ends(seen, ends),
        topics=_topics(seen),
        owners={(at.topic, at.index): member.member_id for member in seen.members for at in _partitions(member)},
    )


def _partitions(member: MemberSeen) -> tuple[TopicPartition, ...]:
    """The partitions that a member of a classic group has; none while they are not shown."""
    return member.partitions.value if isinstance(member.partitions, Known) else ()


def _topics(seen: GroupSeen) -> frozenset[str] | None:
    """The topics that members read; None if what one of them reads is not known."""
    known = [member.subscribed for member in seen.members if member.subscribed is not None]
    return frozenset[str]().union(*known) if known and len(known) == len(seen.members) else None


def assigned_to(seen: GroupSeen) -> frozenset[TopicPartition]:
    """The partitions that members of a classic group have; none while it is not stable."""
    return frozenset(at for member in seen.members for at in _partitions(member))


def _hidden(seen: GroupSeen, ends: Mapping[TopicPartition, Knowable[int]]) -> Unknown | None:
    """Why committed offsets may be missing; None if every assigned partition was shown."""
    for at in sorted(assigned_to(seen)):
        end = ends.get(at, Unknown(reason=f"the end of {at} was not looked at"))
        if isinstance(end, Unknown):
            told = f"a member has partition {at}, and {end.reason}"
            return Unknown(reason=f"{told}. If the topic exists, grant Describe on it to the operator's user")
    return None


def _member(member: MemberSeen) -> Member:
    versions = member.metadata if isinstance(member.metadata, StreamsVersions) else None
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id or "",
        host=_host(member.host),
        used_version=None if versions is None else versions.used,
        supported_version=None if versions is None else versions.supported,
    )


def _host(text: str) -> str:
    """An address as Kubernetes writes it: Kafka has a slash before it, and writes all groups of one of IPv6."""
    plain = text.removeprefix("/").partition("%")[0]
    return address(plain) or plain


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
        return Memory(looked_s=looked_at_s, refused=before.refused)
    members = frozenset(member.member_id for member in group.value.members)
    same = before.stable_since_s is not None and members == before.members
    kept = same and looked_at_s - before.looked_s <= longest_s
    since_s = before.stable_since_s if kept else looked_at_s
    offsets = before.offsets if kept and before.offsets is not None else _offsets(group.value)
    return Memory(
        members=members, stable_since_s=since_s, looked_s=looked_at_s, offsets=offsets, refused=before.refused
    )


def _offsets(group: Group) -> dict[tuple[str, int], tuple[int, int]] | None:
    """What is committed, and the end, of each partition; None while that is not known."""
    if isinstance(group.committed, Unknown) or isinstance(group.ends, Unknown):
        return None
    ends = group.ends.value
    return {at: (offset, ends[at]) for at, offset in group.committed.value.items() if at in ends}
