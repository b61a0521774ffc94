"""The ends of logs come from the broker that leads each partition; what it cannot say is Unknown."""

import pytest
from tests.model.values import CLUSTER
from tests.streams.answering import AnsweringGroups, broker, unreachable

from kafka_quorum.model.brokers import MetadataAnswer, Partition, RegisteredBroker, TopicPartition
from kafka_quorum.model.groups import LogEnd
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_streams.observe import ends as module
from kafka_streams.observe.ends import log_ends

A, B, LEADERLESS, LOST, GONE = (TopicPartition(topic=name, index=0) for name in ("a", "b", "c", "d", "gone"))


def metadata() -> MetadataAnswer:
    """Brokers 1 and 2; broker 2 leads `b`, no broker leads `c`, and broker 9, which is not listed, leads `d`."""
    rows = [
        RegisteredBroker(node_id=NodeID(each), host=f"broker-{each}", port=9092, rack="", fenced=False)
        for each in (1, 2)
    ]
    leaders = {A: NodeID(1), B: NodeID(2), LEADERLESS: None, LOST: NodeID(9)}
    partitions = tuple(
        Partition(at=at, leader=leader, leader_epoch=0, replicas=(NodeID(1),), isr=(NodeID(1),))
        for at, leader in leaders.items()
    )
    return MetadataAnswer(cluster_id=CLUSTER, controller=None, brokers=tuple(rows), partitions=partitions)


def answers() -> AnsweringGroups:
    """Each leader says where its logs end and begin."""
    made = AnsweringGroups().say("metadata", metadata())
    for end, offset in ((LogEnd.LATEST, 10), (LogEnd.EARLIEST, 3)):
        made.say(end.name, {A: offset}, by=1).say(end.name, {B: offset + 1}, by=2)
    return made


async def test_each_partition_is_asked_of_its_leader() -> None:
    """Partitions of two leaders are asked of both, each once, whichever end is wanted."""
    groups = answers()
    assert await log_ends(groups, broker(1), [B, A, A], LogEnd.LATEST) == {A: Known(value=10), B: Known(value=11)}
    assert await log_ends(groups, broker(1), [A], LogEnd.EARLIEST) == {A: Known(value=3)}
    assert sorted(groups.asked[:3]) == [("LATEST", 1), ("LATEST", 2), ("metadata", 1)]


async def test_only_the_topics_that_are_wanted_are_asked_for() -> None:
    """The metadata of all topics of a large cluster takes longer to read than a look may be old."""
    groups = answers()
    await log_ends(groups, broker(1), [A, A, GONE], LogEnd.LATEST)
    assert groups.named == [{"a", "gone"}]


async def test_partitions_that_nobody_leads_are_unknown() -> None:
    """A missing partition, one without a leader, and one whose leader is not listed are Unknown; others are known."""
    found = await log_ends(answers(), broker(1), [A, LEADERLESS, LOST, GONE], LogEnd.LATEST)
    assert found.pop(A) == Known(value=10)
    reasons = [each.reason for each in found.values() if isinstance(each, Unknown)]
    assert [reason.split(" ", 1)[1] for reason in sorted(reasons)] == [
        "c-0 has no leader",
        "gone-0 does not exist",
        "leader 9 of partition d-0 is not listed",
    ]


async def test_a_leader_that_does_not_answer() -> None:
    """Partitions of a silent leader are Unknown, and those of others are known."""
    found = await log_ends(answers().say("LATEST", unreachable(), by=2), broker(1), [A, B], LogEnd.LATEST)
    assert found == {A: Known(value=10), B: Unknown(reason="no connection")}


async def test_nothing_is_known_without_leaders() -> None:
    """If no broker says who leads, every partition is Unknown; without partitions nothing is asked."""
    silent = answers().say("metadata", unreachable())
    found = await log_ends(silent, broker(1), [A, B], LogEnd.LATEST)
    assert set(found) == {A, B}
    assert all(isinstance(each, Unknown) and "no connection" in each.reason for each in found.values())
    idle = answers()
    assert await log_ends(idle, broker(1), [], LogEnd.LATEST) == {}
    assert idle.asked == []


async def test_a_look_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look has a limit of its own."""
    monkeypatch.setattr(module, "ENDS_S", 0.05)
    groups = answers()
    groups.hang = "LATEST"
    found = await log_ends(groups, broker(1), [A], LogEnd.LATEST)
    assert found == {A: Unknown(reason="the ends of logs are unknown: 0.05 s had passed")}


async def test_many_partitions_are_asked_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """More partitions than one request may have go into several."""
    monkeypatch.setattr(module, "MAX_ASKED", 1)
    more = TopicPartition(topic="a", index=1)
    answer = metadata()
    partition = Partition(at=more, leader=NodeID(1), leader_epoch=0, replicas=(NodeID(1),), isr=())
    rows = MetadataAnswer(
        cluster_id=CLUSTER, controller=None, brokers=answer.brokers, partitions=(*answer.partitions, partition)
    )
    groups = answers().say("metadata", rows).say("LATEST", {A: 10, more: 20}, by=1)
    found = await log_ends(groups, broker(1), [A, more], LogEnd.LATEST)
    assert found == {A: Known(value=10), more: Known(value=20)}
    assert groups.asked.count(("LATEST", 1)) == 2
