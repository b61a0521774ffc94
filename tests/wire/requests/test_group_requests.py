"""What coordinators of real groups answered becomes values that agree with what the groups were made from."""

from dataclasses import replace
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.types import GroupId
from kio.static.primitive import i32, i64
from tests.wire.captures import capture

from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.groups import Committed, GroupState, LogEnd, Task
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.wire import codec
from kafka_quorum.wire.request import CodeError, Request
from kafka_quorum.wire.requests import (
    describe_groups,
    find_coordinator,
    list_groups,
    list_offsets,
    offset_fetch,
    streams_group_describe,
)

ASKED = Endpoint(node_id=NodeID(7), host="asked", port=1)
PARTITIONS = [TopicPartition(topic="gone", index=0), TopicPartition(topic="in", index=0)]
STREAMS_APPS = ("v1", "v2", "v4", "v11", "v11_43")


def response(name: str) -> Any:  # noqa: ANN401 - of the capture's class
    """A captured answer, decoded."""
    real = capture(name)
    return codec.decode_response(real.api_key, real.version, real.answer)


def read(name: str, request: Request[Any]) -> Any:  # noqa: ANN401 - what the request returns
    """The content of a captured answer."""
    return request.read(response(name))


def sent() -> dict[str, Any]:
    """The request of each capture, as the operator makes it."""
    apps = {f"describe_groups_v5_{name}": describe_groups.message(name) for name in (*STREAMS_APPS, "nobody")}
    return apps | {
        "describe_groups_v5_joining": describe_groups.message("v11"),
        "describe_groups_v5_by_broker": describe_groups.message("by-broker"),
        "find_coordinator_v4": find_coordinator.message("nobody"),
        "list_groups_v5": list_groups.message(),
        "list_offsets_v7_latest": list_offsets.message(PARTITIONS, LogEnd.LATEST),
        "list_offsets_v7_earliest": list_offsets.message(PARTITIONS, LogEnd.EARLIEST),
        "offset_fetch_v8": offset_fetch.message("v11"),
        "streams_group_describe_v0": streams_group_describe.message("by-broker"),
        "streams_group_describe_v0_nobody": streams_group_describe.message("nobody"),
    }


@pytest.mark.parametrize("name", sent())
def test_questions_are_encoded_as_they_were_sent(name: str) -> None:
    """Each question has exactly the bytes that a real broker answered."""
    real = capture(name)
    assert codec.encode_request(sent()[name], real.correlation_id) == real.request


def test_the_coordinator_is_where_the_broker_listens() -> None:
    """The coordinator has the address that its broker had, and the security of the listener that was asked."""
    truth = capture("find_coordinator_v4").truth
    found = read("find_coordinator_v4", find_coordinator.request(ASKED, "nobody"))
    assert found == replace(ASKED, node_id=NodeID(truth["asked"]), host=truth["host"], port=truth["port"])


@pytest.mark.parametrize("app", STREAMS_APPS)
def test_members_of_a_stable_group_have_metadata_and_an_assignment(app: str) -> None:
    """Two threads are two members, with the ids of their clients, and bytes for the assignor `stream`."""
    group = read(f"describe_groups_v5_{app}", describe_groups.request(app))
    assert (group.state, group.protocol_type, group.protocol) == (GroupState.STABLE, "consumer", "stream")
    assert [member.client_id for member in group.members] == [
        f"{app}-client-StreamThread-{index}-consumer" for index in (1, 2)
    ]
    assert all(member.member_id.startswith(member.client_id) for member in group.members)
    assert {member.client_host for member in group.members} == {"/127.0.0.1"}
    assert all(member.metadata and member.assignment and member.instance_id is None for member in group.members)


def test_a_group_that_rebalances_shows_no_metadata() -> None:
    """While members join, their ids are there, and the protocol and every byte of theirs is not."""
    group = read("describe_groups_v5_joining", describe_groups.request("v11"))
    assert (group.state, group.protocol_type, group.protocol) == (GroupState.PREPARING, "consumer", "")
    assert [(member.metadata, member.assignment) for member in group.members] == [(b"", b"")] * 2


@pytest.mark.parametrize(("name", "group"), [("nobody", "nobody"), ("by_broker", "by-broker")])
def test_a_group_that_is_not_classic_is_dead(name: str, group: str) -> None:
    """A group that does not exist, and one of the streams protocol, look alike to DescribeGroups."""
    found = read(f"describe_groups_v5_{name}", describe_groups.request(group))
    assert (found.state, found.protocol_type, found.members) == (GroupState.DEAD, "", ())


def test_a_streams_group_has_epochs_and_tasks() -> None:
    """Two members of one process share the tasks of all partitions, and advertise what they were started with."""
    truth = capture("streams_group_describe_v0").truth
    group = read("streams_group_describe_v0", streams_group_describe.request("by-broker"))
    assert (group.state, group.topology_epoch) == (GroupState.STABLE, 0)
    assert group.group_epoch == group.assignment_epoch > 0
    assert {member.endpoint for member in group.members} == {truth["endpoint"]}
    assert len({member.process_id for member in group.members}) == 1
    assert len({member.member_id for member in group.members}) == 2
    tasks = sorted(task for member in group.members for task in member.tasks.active)
    assert tasks == [Task(subtopology="0", partition=index) for index in range(truth["partitions"])]
    assert all(member.tasks == member.target and not member.classic for member in group.members)


def test_the_tasks_of_a_streams_group_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What all members have and are to have counts, before any of it is built: 4,000,000 tasks would take 26 s."""
    request, answer = streams_group_describe.request("by-broker"), response("streams_group_describe_v0")
    sets = [one for member in answer.groups[0].members for one in (member.assignment, member.target_assignment)]
    rows = [row for one in sets for row in (*one.active_tasks, *one.standby_tasks, *one.warmup_tasks)]
    tasks = sum(len(row.partitions) for row in rows)
    assert tasks > 1
    monkeypatch.setattr(streams_group_describe, "MAX_SHARES", tasks)
    assert request.read(answer) is not None
    monkeypatch.setattr(streams_group_describe, "MAX_SHARES", tasks - 1)
    with pytest.raises(ValueError, match=f"have {tasks} tasks, at most {tasks - 1} are read"):
        request.read(answer)


def test_there_is_no_streams_group_of_this_name() -> None:
    """GROUP_ID_NOT_FOUND, and a cluster without the streams protocol, mean that there is none; other codes do not."""
    request = streams_group_describe.request("nobody")
    assert read("streams_group_describe_v0_nobody", request) is None
    answer = response("streams_group_describe_v0_nobody")
    (row,) = answer.groups
    off = replace(row, error_code=ErrorCode.unsupported_version)
    assert request.read(replace(answer, groups=(off,))) is None
    loading = replace(row, error_code=ErrorCode.coordinator_load_in_progress)
    with pytest.raises(CodeError):
        request.read(replace(answer, groups=(loading,)))


def test_groups_are_listed_with_their_types() -> None:
    """Classic and streams groups are in one list."""
    types = {row.group_id: row.group_type.lower() for row in read("list_groups_v5", list_groups.request())}
    assert types == dict.fromkeys(STREAMS_APPS, "classic") | {"by-broker": "streams"}


def test_offsets_are_those_of_the_counted_records() -> None:
    """The offset after the last counted record is committed, the log ends there, and a missing topic is Unknown."""
    truth = capture("offset_fetch_v8").truth
    at = TopicPartition(topic=truth["topic"], index=0)
    committed = read("offset_fetch_v8", offset_fetch.request("v11"))
    assert Committed(at=at, offset=truth["records"]) in committed
    for end, offset in ((LogEnd.LATEST, truth["records"]), (LogEnd.EARLIEST, 0)):
        found = read(f"list_offsets_v7_{end.name.lower()}", list_offsets.request(PARTITIONS, end))
        assert found[at] == Known(value=offset)
        gone = found[PARTITIONS[0]]
        assert isinstance(gone, Unknown)
        assert "UNKNOWN_TOPIC_OR_PARTITION" in gone.reason


def test_a_partition_without_an_offset_is_left_out() -> None:
    """An offset of -1 is none; it is not an offset to compare with."""
    answer = response("offset_fetch_v8")
    (group,) = answer.groups
    topics = tuple(
        replace(topic, partitions=tuple(replace(row, committed_offset=i64(-1)) for row in topic.partitions))
        for topic in group.topics
    )
    assert offset_fetch.request("v11").read(replace(answer, groups=(replace(group, topics=topics),))) == ()


def _group(name: str, **changes: Any) -> Any:  # noqa: ANN401 - any field
    answer = response(name)
    return replace(answer, groups=(replace(answer.groups[0], **changes),))


def _member_twice(name: str) -> Any:  # noqa: ANN401 - an answer
    member = response(name).groups[0].members[0]
    return _group(name, members=(member, member))


def _streams_member(**changes: Any) -> Any:  # noqa: ANN401 - any field
    member = response("streams_group_describe_v0").groups[0].members[0]
    return _group("streams_group_describe_v0", members=(replace(member, **changes),))


def _coordinator(**changes: Any) -> Any:  # noqa: ANN401 - any field
    answer = response("find_coordinator_v4")
    return replace(answer, coordinators=(replace(answer.coordinators[0], **changes),))


def _offsets(**changes: Any) -> Any:  # noqa: ANN401 - any field
    (group,) = response("offset_fetch_v8").groups
    topic = group.topics[0]
    row = replace(topic.partitions[0], **changes)
    return _group("offset_fetch_v8", topics=(replace(topic, partitions=(row,)),))


def _ends(**changes: Any) -> Any:  # noqa: ANN401 - any field
    answer = response("list_offsets_v7_latest")
    topics = tuple(
        replace(topic, partitions=tuple(replace(row, **changes) for row in topic.partitions))
        for topic in answer.topics
        if topic.name == "in"
    )
    return replace(answer, topics=topics)


def _task_twice() -> Any:  # noqa: ANN401 - an answer
    member = response("streams_group_describe_v0").groups[0].members[0]
    tasks = member.assignment.active_tasks
    return _streams_member(assignment=replace(member.assignment, active_tasks=tasks + tasks))


OTHER = GroupId("other")
DESCRIBED = "describe_groups_v5_v11"
NONSENSE: dict[str, tuple[Request[Any], Any, str]] = {
    "another coordinator": (find_coordinator.request(ASKED, "nobody"), _coordinator(key="other"), "nobody"),
    "no coordinator": (
        find_coordinator.request(ASKED, "nobody"),
        replace(response("find_coordinator_v4"), coordinators=()),
        "0 other",
    ),
    "a coordinator without a host": (find_coordinator.request(ASKED, "nobody"), _coordinator(host=""), "no address"),
    "a coordinator without a port": (find_coordinator.request(ASKED, "nobody"), _coordinator(port=i32(-1)), "no addr"),
    "a port above all": (find_coordinator.request(ASKED, "nobody"), _coordinator(port=i32(65_536)), "no address"),
    "a coordinator without an id": (find_coordinator.request(ASKED, "nobody"), _coordinator(node_id=-1), "-1"),
    "another group": (describe_groups.request("v11"), _group(DESCRIBED, group_id=OTHER), "v11"),
    "no group": (describe_groups.request("v11"), replace(response(DESCRIBED), groups=()), "0 other"),
    "an unknown state": (describe_groups.request("v11"), _group(DESCRIBED, group_state="Sleeping"), "Sleeping"),
    "a state of another type": (
        describe_groups.request("v11"),
        _group(DESCRIBED, group_state="Reconciling"),
        "Reconciling",
    ),
    "no state": (describe_groups.request("v11"), _group(DESCRIBED, group_state=""), "without a name"),
    "a dead group with members": (describe_groups.request("v11"), _group(DESCRIBED, group_state="Dead"), "2 members"),
    "an empty group with members": (describe_groups.request("v11"), _group(DESCRIBED, group_state="Empty"), "2 memb"),
    "a member twice": (describe_groups.request("v11"), _member_twice(DESCRIBED), "listed twice"),
    "another streams group": (
        streams_group_describe.request("by-broker"),
        _group("streams_group_describe_v0", group_id=OTHER),
        "by-broker",
    ),
    "a streams group that is dead with members": (
        streams_group_describe.request("by-broker"),
        _group("streams_group_describe_v0", group_state="Dead"),
        "2 members",
    ),
    "a state of a classic group": (
        streams_group_describe.request("by-broker"),
        _group("streams_group_describe_v0", group_state="PreparingRebalance"),
        "PreparingRebalance",
    ),
    "a streams member twice": (
        streams_group_describe.request("by-broker"),
        _member_twice("streams_group_describe_v0"),
        "listed twice",
    ),
    "a negative group epoch": (
        streams_group_describe.request("by-broker"),
        _group("streams_group_describe_v0", group_epoch=i32(-2)),
        "-2",
    ),
    "a task twice": (streams_group_describe.request("by-broker"), _task_twice(), "listed twice"),
    "a topology epoch below all": (
        streams_group_describe.request("by-broker"),
        _streams_member(topology_epoch=i32(-7)),
        "-7",
    ),
    "offsets of another group": (offset_fetch.request("v11"), _group("offset_fetch_v8", group_id=OTHER), "v11"),
    "an offset below all": (offset_fetch.request("v11"), _offsets(committed_offset=i64(-2)), "-2"),
    "a negative partition": (offset_fetch.request("v11"), _offsets(partition_index=i32(-1)), "index is -1"),
    "a partition that is missing": (list_offsets.request(PARTITIONS, LogEnd.LATEST), _ends(), "gone-0 is missing"),
    "a partition that was not asked for": (
        list_offsets.request(PARTITIONS[1:], LogEnd.LATEST),
        response("list_offsets_v7_latest"),
        "gone-0 is answered",
    ),
    "an end below all": (list_offsets.request(PARTITIONS[1:], LogEnd.LATEST), _ends(offset=i64(-1)), "-1"),
    "an answer to something else": (offset_fetch.request("v11"), response(DESCRIBED), "DescribeGroupsResponse"),
}


@pytest.mark.parametrize("name", NONSENSE)
def test_an_answer_to_something_else_is_refused(name: str) -> None:
    """An answer in valid form that cannot be the one to this question is refused, with what is wrong."""
    request, answer, words = NONSENSE[name]
    with pytest.raises(ValueError, match=words):
        request.read(answer)


FORBIDDEN = ErrorCode.group_authorization_failed
CODES: dict[str, tuple[Request[Any], Any]] = {
    "coordinator": (find_coordinator.request(ASKED, "nobody"), _coordinator(error_code=FORBIDDEN)),
    "classic": (describe_groups.request("v11"), _group(DESCRIBED, error_code=FORBIDDEN)),
    "streams": (
        streams_group_describe.request("by-broker"),
        _group("streams_group_describe_v0", error_code=FORBIDDEN),
    ),
    "list": (list_groups.request(), replace(response("list_groups_v5"), error_code=FORBIDDEN)),
    "offsets": (offset_fetch.request("v11"), _group("offset_fetch_v8", error_code=FORBIDDEN)),
    "one offset": (offset_fetch.request("v11"), _offsets(error_code=FORBIDDEN)),
}


@pytest.mark.parametrize("name", CODES)
def test_an_error_code_is_an_error(name: str) -> None:
    """An error code at any level is raised, so that a group that may not be read is not a missing one."""
    request, answer = CODES[name]
    with pytest.raises(CodeError) as error:
        request.read(answer)
    assert error.value.code is FORBIDDEN


@pytest.mark.parametrize("group", ["", "x" * 254, "a\nb", "a\u202eb"])
def test_a_name_that_cannot_be_shown_is_not_asked_for(group: str) -> None:
    """A group id that is empty, too long, or has hidden characters is refused before anything is sent."""
    for message in (
        describe_groups.message,
        find_coordinator.message,
        offset_fetch.message,
        streams_group_describe.message,
    ):
        with pytest.raises(ValueError, match="no group id"):
            message(group)


def test_the_offsets_of_a_group_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are kept between looks: 200,000 of each of ten groups would take the memory of the operator."""
    request, answer = offset_fetch.request("v11"), response("offset_fetch_v8")
    count = sum(len(topic.partitions) for topic in answer.groups[0].topics)
    assert count > 0
    monkeypatch.setattr(offset_fetch, "MAX_COMMITTED", count)
    assert request.read(answer)
    monkeypatch.setattr(offset_fetch, "MAX_COMMITTED", count - 1)
    with pytest.raises(ValueError, match=f"group v11 has offsets of {count} partitions, at most {count - 1} are read"):
        request.read(answer)


def test_too_many_partitions_are_not_asked_for() -> None:
    """One request asks for a limited number of partitions."""
    many = [TopicPartition(topic="t", index=index) for index in range(list_offsets.MAX_ASKED + 1)]
    assert list_offsets.message(many[1:], LogEnd.LATEST).topics
    with pytest.raises(ValueError, match="more than"):
        list_offsets.message(many, LogEnd.LATEST)
