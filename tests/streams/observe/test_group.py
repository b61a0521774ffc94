"""One look at a group: which broker is asked what, and what each answer means."""

from dataclasses import replace
from typing import Any

import pytest
from tests.streams.answering import DEAD, EMPTY, AnsweringGroups, broker, refused, unreachable, unsupported
from tests.wire.captures import capture

from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.groups import ClassicGroup, ClassicMember, Committed, GroupState, ListedGroup
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.wire import codec
from kafka_quorum.wire.groups import Groups
from kafka_quorum.wire.requests import describe_groups, streams_group_describe
from kafka_streams.model.group import Epochs, GroupKind, GroupSeen, NoMetadata, NotProbed, NotStreams, StreamsVersions
from kafka_streams.observe import group as module
from kafka_streams.observe.group import SOURCES, classic_seen, look
from kafka_streams.observe.subscription import assigned, topics_announced

NOBODY = Known(value=())
OFFSETS = (Committed(at=TopicPartition(topic="in", index=0), offset=7),)
MOVED = "NOT_COORDINATOR"


def answers() -> AnsweringGroups:
    """Broker 1 names broker 2 as the coordinator, which has no group at all."""
    made = AnsweringGroups().say("coordinator", broker(2)).say("classic", DEAD).say("streams", ())
    return made.say("list", ()).say("committed", OFFSETS)


def captured(name: str, group: str) -> Any:  # noqa: ANN401 - a ClassicGroup or a StreamsGroup
    """What a real coordinator described."""
    real = capture(name)
    requests = streams_group_describe if "streams" in name else describe_groups
    return requests.request(group).read(codec.decode_response(real.api_key, real.version, real.answer))


async def seen(groups: Groups, *brokers: int) -> GroupSeen:
    """What a look sees, which must be known."""
    found = await look(groups, [broker(each) for each in brokers or (1,)], "app")
    assert isinstance(found, Known), found
    return found.value


async def unknown(groups: Groups, *brokers: int) -> str:
    """Why a look sees nothing."""
    found = await look(groups, [broker(each) for each in brokers], "app")
    assert isinstance(found, Unknown), found
    return found.reason


async def test_a_classic_group() -> None:
    """The coordinator is asked for a classic group first, and then for its offsets only."""
    groups = answers().say("classic", captured("describe_groups_v5_v11", "v11"))
    found = await seen(groups)
    assert groups.asked == [("coordinator", 1), ("classic", 2), ("committed", 2)]
    assert (found.kind, found.state, found.protocol) == (GroupKind.CLASSIC, GroupState.STABLE, "stream")
    assert (found.epochs, found.committed) == (None, Known(value=OFFSETS))
    assert {member.member_id for member in found.members} == found.member_ids
    assert [member.client_id for member in found.members] == [
        f"v11-client-StreamThread-{index}-consumer" for index in (1, 2)
    ]
    processes = set()
    for member in found.members:
        assert isinstance(member.metadata, StreamsVersions)
        assert (member.metadata.used, member.metadata.supported) == (11, 11)
        assert isinstance(member.partitions, Known)
        assert isinstance(member.process_id, Known)
        assert isinstance(member.tasks, Unknown)
        processes.add(member.process_id.value)
    assert len(processes) == 1


async def test_what_members_have_together_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above the bounds the group is unknown, and never known in part; the bytes of one answer could have millions."""
    group = captured("describe_groups_v5_v11", "v11")
    partitions = sum(len(assigned(member.assignment)) for member in group.members)
    topics = sum(topics_announced(member.metadata) for member in group.members)
    assert min(partitions, topics) > 1
    groups = answers().say("classic", group)
    for name, most, what in (
        ("MAX_SHARES", partitions, f"its members have more than {partitions - 1} partitions"),
        ("MAX_SUBSCRIBED", topics, f"its members subscribe to {topics} topics, at most {topics - 1} are read"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, most)
            await seen(groups)
            patch.setattr(module, name, most - 1)
            assert what in await unknown(groups, 1)


async def test_a_group_that_rebalances() -> None:
    """While members join, the ids are known, and versions, process and partitions are not."""
    found = await seen(answers().say("classic", captured("describe_groups_v5_joining", "v11")))
    assert (found.kind, found.state, found.protocol) == (GroupKind.CLASSIC, GroupState.PREPARING, None)
    assert len(found.members) == 2
    for member in found.members:
        assert member.metadata == NoMetadata()
        assert isinstance(member.partitions, Unknown)
        assert isinstance(member.process_id, Unknown)


async def test_a_streams_group() -> None:
    """A group that is no classic one is asked for as a streams group, which has tasks and epochs."""
    groups = answers().say("streams", captured("streams_group_describe_v0", "by-broker"))
    found = await seen(groups)
    assert groups.asked == [("coordinator", 1), ("classic", 2), ("streams", 2), ("committed", 2)]
    assert (found.kind, found.state, found.protocol) == (GroupKind.STREAMS, GroupState.STABLE, None)
    assert isinstance(found.epochs, Epochs)
    assert found.epochs.topology == 0
    tasks = 0
    for member in found.members:
        assert member.metadata == NotProbed()
        assert isinstance(member.partitions, Unknown)
        assert isinstance(member.process_id, Known)
        assert isinstance(member.tasks, Known)
        tasks += len(member.tasks.value.active)
    assert tasks == 3


@pytest.mark.parametrize("streams", [(), unsupported()], ids=["4.4", "3.9"])
async def test_no_group_at_all(streams: object) -> None:
    """A group that neither request finds, and that is not listed, does not exist: that is an answer.

    The coordinator is asked once more after the list, because a former coordinator would list nothing, either.
    """
    groups = answers().say("streams", streams).say("committed", ())
    found = await seen(groups)
    assert (found.kind, found.state, found.members) == (GroupKind.NONE, GroupState.DEAD, ())
    assert [question for question, _ in groups.asked] == [
        "coordinator",
        "classic",
        "streams",
        "list",
        "classic",
        "committed",
    ]


async def test_a_group_of_a_third_type_is_not_a_missing_one() -> None:
    """A consumer group of KIP-848 with this name is Unknown, with its type; a list of other groups says nothing."""
    other = ListedGroup(group_id="other", group_type="consumer")
    groups = answers().say("list", (other, ListedGroup(group_id="app", group_type="consumer")))
    assert "with type consumer" in await unknown(groups, 1, 3)
    assert [each for question, each in groups.asked if question == "coordinator"] == [1]
    assert (await seen(answers().say("list", (other,)))).kind is GroupKind.NONE


async def test_a_group_that_appears_meanwhile() -> None:
    """A group that is created between two questions is seen as it is then."""
    listed = (ListedGroup(group_id="app", group_type="classic"),)
    found = await seen(answers().say("classic", DEAD, EMPTY).say("list", listed))
    assert (found.kind, found.state) == (GroupKind.CLASSIC, GroupState.EMPTY)


@pytest.mark.parametrize("question", ["classic", "streams", "committed"])
async def test_a_coordinator_that_moves_is_followed_once(question: str) -> None:
    """NOT_COORDINATOR asks for the coordinator again, and the question goes to the new one."""
    groups = answers().say("coordinator", broker(2), broker(3)).say(question, refused(MOVED), by=2)
    found = await seen(groups)
    assert isinstance(found.committed, Known)
    assert groups.asked.count(("coordinator", 1)) == 2
    assert groups.asked[groups.asked.index((question, 2)) + 1 :][:2] == [("coordinator", 1), (question, 3)]


async def test_a_coordinator_that_moves_on_and_on_is_unknown() -> None:
    """The coordinator is not followed a second time: the group is unknown, and the next look asks again."""
    groups = answers().say("classic", refused(MOVED))
    assert MOVED in await unknown(groups, 1)
    assert groups.asked == [("coordinator", 1), ("classic", 2)] * 2


async def test_a_former_coordinator_cannot_hide_a_group() -> None:
    """A broker that lost the group before it listed its groups is found out, and the group is unknown."""
    groups = answers().say("classic", DEAD, refused(MOVED))
    assert MOVED in await unknown(groups, 1)


async def test_other_brokers_are_asked_if_one_does_not_answer() -> None:
    """A broker that does not answer is left for the next one, up to a limit; then the group is unknown."""
    groups = answers().say("coordinator", unreachable(), by=1).say("classic", EMPTY)
    assert (await seen(groups, 1, 3)).state is GroupState.EMPTY
    silent = answers().say("coordinator", unreachable())
    assert "no connection" in await unknown(silent, *range(1, SOURCES + 3))
    assert len(silent.asked) == SOURCES


@pytest.mark.parametrize("question", ["coordinator", "classic", "streams", "list"])
@pytest.mark.parametrize("error", [unreachable(), refused("GROUP_AUTHORIZATION_FAILED", 30)], ids=["path", "refused"])
async def test_an_error_is_never_a_missing_group(question: str, error: Exception) -> None:
    """An error of any question leaves the group unknown."""
    assert str(error) in await unknown(answers().say(question, error), 1)


async def test_offsets_that_are_not_answered_are_unknown() -> None:
    """A group is known without its offsets, which are then unknown and not empty."""
    found = await seen(answers().say("classic", EMPTY).say("committed", unreachable()))
    assert found.committed == Unknown(reason="no connection")


async def test_a_look_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look has a limit of its own, whichever question is not answered; without a broker it says so."""
    monkeypatch.setattr(module, "LOOK_S", 0.05)
    for question in ("coordinator", "classic", "streams", "list", "committed"):
        groups = answers()
        groups.hang = question
        assert "0.05 s had passed" in await unknown(groups, 1, 3)
    assert "no broker is known" in await unknown(answers())


async def test_members_of_something_else() -> None:
    """Members of a consumer group are no Streams members, and their assignment is read all the same."""
    group = captured("describe_groups_v5_v11", "v11")
    consumers = classic_seen("app", _of("consumer", "range", group), NOBODY)
    assert consumers.members[0].metadata == NotStreams(protocol_type="consumer", protocol="range")
    assert isinstance(consumers.members[0].partitions, Known)
    connect = classic_seen("app", _of("connect", "sessioned", group), NOBODY)
    assert connect.members[0].metadata == NotStreams(protocol_type="connect", protocol="sessioned")
    assert isinstance(connect.members[0].partitions, Unknown)


async def test_bytes_of_one_member_do_not_hide_the_others() -> None:
    """A member whose bytes cannot be read is there, with the fault; the others are read."""
    group = captured("describe_groups_v5_v11", "v11")
    first, second = group.members
    broken = _of("consumer", "stream", group, (_with(first, b"\0\1\0"), second))
    found = classic_seen("app", broken, NOBODY).members
    assert isinstance(found[0].metadata, Unknown)
    assert "at byte 2 the number of topics needs 4 bytes" in found[0].metadata.reason
    assert isinstance(found[0].partitions, Unknown)
    assert isinstance(found[0].process_id, Unknown)
    assert isinstance(found[1].metadata, StreamsVersions)


def _of(
    protocol_type: str, protocol: str, group: ClassicGroup, members: tuple[ClassicMember, ...] | None = None
) -> ClassicGroup:
    return replace(group, protocol_type=protocol_type, protocol=protocol, members=members or group.members)


def _with(member: ClassicMember, data: bytes) -> ClassicMember:
    return replace(member, metadata=data, assignment=data)


async def test_an_assignment_of_a_group_that_rebalances_does_not_count() -> None:
    """A 4.x broker goes on to show the assignment of the former generation while a group rebalances: it is Unknown."""
    group = captured("describe_groups_v5_v11", "v11")
    joining = ClassicGroup(
        state=GroupState.PREPARING, protocol_type="consumer", protocol="", members=_without_metadata(group.members)
    )
    for member in classic_seen("app", joining, NOBODY).members:
        assert member.metadata == NoMetadata()
        assert member.partitions == Unknown(
            reason="the group is PreparingRebalance, so the member has no assignment that counts"
        )


def _without_metadata(members: tuple[ClassicMember, ...]) -> tuple[ClassicMember, ...]:
    return tuple(replace(member, metadata=b"") for member in members)


@pytest.mark.parametrize(
    ("question", "name", "what"),
    [
        ("coordinator", "GROUP_AUTHORIZATION_FAILED", "the group"),
        ("classic", "GROUP_AUTHORIZATION_FAILED", "the group"),
        ("streams", "TOPIC_AUTHORIZATION_FAILED", "every topic"),
    ],
)
async def test_a_right_that_is_missing(question: str, name: str, what: str) -> None:
    """A refusal for a lack of rights is Unknown, never no group, and says which right to grant."""
    said = await unknown(answers().say(question, refused(name, 30), by=1 if question == "coordinator" else 2), 1)
    assert name in said
    assert f"Grant Describe on {what}" in said
