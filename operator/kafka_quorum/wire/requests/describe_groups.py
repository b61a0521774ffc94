"""DescribeGroups 5 (15): one classic group with its members, asked of its coordinator.

In this version a group that does not exist, and one of another type, is `Dead` without members, and no error
(measured). Version 6 would answer GROUP_ID_NOT_FOUND for both, so it is not used. While a group is not stable, the
coordinator leaves the protocol and the metadata of every member empty. A 4.x broker goes on to show the assignments of
the former generation (measured).
"""

from typing import Final

from kio.schema.describe_groups.v5 import response as v5
from kio.schema.describe_groups.v5.request import DescribeGroupsRequest
from kio.schema.describe_groups.v5.response import DescribeGroupsResponse
from kio.schema.types import GroupId
from kio.static.protocol import ResponsePayload

from kafka_quorum.model.groups import ClassicGroup, ClassicMember, GroupState
from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.bounds import MAX_MEMBERS, MAX_ROWS, Bound
from kafka_quorum.wire.request import Request, accept, typed
from kafka_quorum.wire.values import group_name, once

API: Final = Api(
    key=15,
    name="DescribeGroups",
    ours=VersionRange(low=5, high=5),
    effect=Effect.READS,
    server="broker",
    answer_bytes=16 * 1024 * 1024,
    lists={
        (DescribeGroupsResponse, "groups"): Bound(count=MAX_ROWS, plural="groups"),
        (v5.DescribedGroup, "members"): Bound(count=MAX_MEMBERS, plural="members"),
    },
)
"""2.4 and later. Kafka stores a group in one record of about 1 MB by default; some clusters allow 10 MB."""
STATES: Final = frozenset(
    {GroupState.EMPTY, GroupState.PREPARING, GroupState.COMPLETING, GroupState.STABLE, GroupState.DEAD}
)


def request(group: str) -> Request[ClassicGroup]:
    """The group; state `DEAD` if there is no classic group of this name."""
    return Request(api=API, build=lambda _: message(group), read=lambda response: _read(response, group))


def message(group: str) -> DescribeGroupsRequest:
    """Ask for one group (ValueError for a name that Kafka cannot have)."""
    return DescribeGroupsRequest(groups=(GroupId(group_name(group)),), include_authorized_operations=False)


def _read(response: ResponsePayload, group: str) -> ClassicGroup:
    answer = typed(response, DescribeGroupsResponse)
    if [row.group_id for row in answer.groups] != [group]:
        raise ValueError(f"group {group} was asked for, {len(answer.groups)} other groups are described")
    (row,) = answer.groups
    accept(row.error_code, f"group {group}")
    members = tuple(sorted(map(_member, row.members), key=lambda member: member.member_id))
    once("member", [member.member_id for member in members])
    state = group_state(row.group_state, STATES)
    if members and state in {GroupState.EMPTY, GroupState.DEAD}:
        raise ValueError(f"group {group} is {state.value} and has {len(members)} members")
    return ClassicGroup(state=state, protocol_type=row.protocol_type, protocol=row.protocol_data, members=members)


def group_state(word: str, known: frozenset[GroupState]) -> GroupState:
    """The state of this name (ValueError for one that such a group cannot have)."""
    for state in known:
        if state.value == word:
            return state
    raise ValueError(f"the state {word or 'without a name'} of a group is not known")


def _member(row: v5.DescribedGroupMember) -> ClassicMember:
    return ClassicMember(
        member_id=row.member_id,
        instance_id=row.group_instance_id,
        client_id=row.client_id,
        client_host=row.client_host,
        metadata=row.member_metadata,
        assignment=row.member_assignment,
    )
