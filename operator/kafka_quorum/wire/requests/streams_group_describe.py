"""StreamsGroupDescribe 0 (89): one group of the streams protocol with its members, asked of its coordinator (KIP-1071).

Kafka 4.1 and later have it. A group that does not exist, and one of another type, is answered with GROUP_ID_NOT_FOUND.
A cluster whose `streams.version` is 0 answers UNSUPPORTED_VERSION: it can have no such group.
"""

from collections.abc import Iterator
from typing import Final

from kio.schema.errors import ErrorCode
from kio.schema.streams_group_describe.v0 import response as v0
from kio.schema.streams_group_describe.v0.request import StreamsGroupDescribeRequest
from kio.schema.streams_group_describe.v0.response import StreamsGroupDescribeResponse
from kio.schema.types import GroupId
from kio.static.protocol import ResponsePayload

from kafka_quorum.model.groups import GroupState, StreamsGroup, StreamsMember, Task, Tasks
from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.bounds import MAX_MEMBERS, MAX_PARTITIONS, MAX_ROWS, MAX_SHARES, Bound
from kafka_quorum.wire.request import Request, accept, typed
from kafka_quorum.wire.requests.describe_groups import group_state
from kafka_quorum.wire.values import at_least, group_name, once

MAX_SUBTOPOLOGIES: Final = 1_000
MAX_TOPICS: Final = 5_000
"""The limit of one list of topics of a subtopology; a source may be a pattern."""
_TOPICS: Final = Bound(count=MAX_TOPICS, plural="topics")
_OFFSETS: Final = Bound(count=MAX_PARTITIONS, plural="task offsets")
_TASKS: Final = Bound(count=MAX_SUBTOPOLOGIES, plural="subtopologies of tasks")
API: Final = Api(
    key=89,
    name="StreamsGroupDescribe",
    ours=VersionRange(low=0, high=0),
    effect=Effect.READS,
    server="broker",
    answer_bytes=16 * 1024 * 1024,
    lists={
        (StreamsGroupDescribeResponse, "groups"): Bound(count=MAX_ROWS, plural="groups"),
        (v0.DescribedGroup, "members"): Bound(count=MAX_MEMBERS, plural="members"),
        (v0.Topology, "subtopologies"): Bound(count=MAX_SUBTOPOLOGIES, plural="subtopologies"),
        (v0.Subtopology, "source_topics"): _TOPICS,
        (v0.Subtopology, "repartition_sink_topics"): _TOPICS,
        (v0.Subtopology, "state_changelog_topics"): _TOPICS,
        (v0.Subtopology, "repartition_source_topics"): _TOPICS,
        (v0.Member, "task_offsets"): _OFFSETS,
        (v0.Member, "task_end_offsets"): _OFFSETS,
        (v0.Assignment, "active_tasks"): _TASKS,
        (v0.Assignment, "standby_tasks"): _TASKS,
        (v0.Assignment, "warmup_tasks"): _TASKS,
        (v0.TaskIds, "partitions"): Bound(count=MAX_PARTITIONS, plural="partitions"),
    },
)
"""A member takes some 300 bytes, and 4 for each task that it has or is to have."""
STATES: Final = frozenset(
    {
        GroupState.EMPTY,
        GroupState.NOT_READY,
        GroupState.ASSIGNING,
        GroupState.RECONCILING,
        GroupState.STABLE,
        GroupState.DEAD,
    }
)
_NO_SUCH_GROUP: Final = frozenset({ErrorCode.group_id_not_found, ErrorCode.unsupported_version})


def request(group: str) -> Request[StreamsGroup | None]:
    """The group; None if there is no streams group of this name."""
    return Request(api=API, build=lambda _: message(group), read=lambda response: _read(response, group))


def message(group: str) -> StreamsGroupDescribeRequest:
    """Ask for one group (ValueError for a name that Kafka cannot have)."""
    return StreamsGroupDescribeRequest(group_ids=(GroupId(group_name(group)),), include_authorized_operations=False)


def _read(response: ResponsePayload, group: str) -> StreamsGroup | None:
    answer = typed(response, StreamsGroupDescribeResponse)
    if [row.group_id for row in answer.groups] != [group]:
        raise ValueError(f"group {group} was asked for, {len(answer.groups)} other groups are described")
    (row,) = answer.groups
    if row.error_code in _NO_SUCH_GROUP:
        return None
    accept(row.error_code, row.error_message)
    tasks = sum(len(one.partitions) for member in row.members for one in _rows(member))
    if tasks > MAX_SHARES:
        raise ValueError(f"its members have {tasks} tasks, at most {MAX_SHARES} are read")
    members = tuple(sorted(map(_member, row.members), key=lambda member: member.member_id))
    once("member", [member.member_id for member in members])
    state = group_state(row.group_state, STATES)
    if members and state in {GroupState.EMPTY, GroupState.DEAD}:
        raise ValueError(f"group {group} is {state.value} and has {len(members)} members")
    return StreamsGroup(
        state=state,
        group_epoch=at_least(0, "the group's epoch", row.group_epoch),
        assignment_epoch=at_least(-1, "the assignment's epoch", row.assignment_epoch),
        topology_epoch=None if row.topology is None else at_least(0, "the topology's epoch", row.topology.epoch),
        members=members,
    )


def _member(row: v0.Member) -> StreamsMember:
    endpoint = None if row.user_endpoint is None else f"{row.user_endpoint.host}:{row.user_endpoint.port}"
    return StreamsMember(
        member_id=row.member_id,
        member_epoch=int(row.member_epoch),
        instance_id=row.instance_id,
        client_id=row.client_id,
        client_host=row.client_host,
        process_id=row.process_id,
        topology_epoch=at_least(-1, "a member's topology epoch", row.topology_epoch),
        endpoint=endpoint,
        tasks=_tasks(row.assignment),
        target=_tasks(row.target_assignment),
        classic=row.is_classic,
    )


def _rows(member: v0.Member) -> Iterator[v0.TaskIds]:
    for one in (member.assignment, member.target_assignment):
        yield from (*one.active_tasks, *one.standby_tasks, *one.warmup_tasks)


def _tasks(row: v0.Assignment) -> Tasks:
    return Tasks(active=_listed(row.active_tasks), standby=_listed(row.standby_tasks), warmup=_listed(row.warmup_tasks))


def _listed(rows: tuple[v0.TaskIds, ...]) -> tuple[Task, ...]:
    tasks = [
        Task(subtopology=row.subtopology_id, partition=at_least(0, "a task's partition", partition))
        for row in rows
        for partition in row.partitions
    ]
    once("task", tasks)
    return tuple(sorted(tasks))
