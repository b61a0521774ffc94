"""Committed offsets count only if the brokers show every topic that the group itself names."""

from dataclasses import replace

import pytest
from tests.streams.answering import AnsweringGroups, broker, unreachable
from tests.streams.subscriptions import subscription

from kafka_quorum.api.features import METADATA
from kafka_quorum.model.brokers import MetadataAnswer, Partition, RegisteredBroker, TopicPartition
from kafka_quorum.model.groups import ClassicGroup, ClassicMember, Committed, GroupState
from kafka_quorum.model.ids import ClusterID, NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.quorum import Endpoint, FeatureRange, NodeVersions
from kafka_streams.model.membership import Group
from kafka_streams.model.release import StreamsRelease
from kafka_streams.observe.gather import Edges, _group, _releases

IN, TOO = TopicPartition(topic="in", index=0), TopicPartition(topic="too", index=0)


class Saying:
    """A broker that says that it runs 4.0."""

    async def api_versions(self, endpoint: Endpoint) -> NodeVersions:
        """Its highest metadata.version."""
        del endpoint
        level = FeatureRange(name=METADATA, min_level=7, max_level=25)
        return NodeVersions(supported=(level,), finalized=(), finalized_epoch=0)


def assignment(*topics: str) -> bytes:
    """A consumer's assignment: partition 0 of each topic."""
    rows = (len(topic).to_bytes(2, "big") + topic.encode() + b"\0\0\0\1\0\0\0\0" for topic in topics)
    return b"\0\1" + len(topics).to_bytes(4, "big") + b"".join(rows) + b"\xff\xff\xff\xff"


def brokers(*shown: TopicPartition, committed: tuple[TopicPartition, ...], state: GroupState) -> AnsweringGroups:
    """One broker that shows these partitions and offsets; its one member has `in` and `too`."""
    member = ClassicMember(
        member_id="one",
        instance_id=None,
        client_id="one",
        client_host="/10.0.0.1",
        metadata=subscription(None, topics=("in", "too")),
        assignment=assignment("in", "too"),
    )
    group = ClassicGroup(state=state, protocol_type="consumer", protocol="range", members=(member,))
    rows = (Partition(at=at, leader=NodeID(1), leader_epoch=1, replicas=(NodeID(1),), isr=(NodeID(1),)) for at in shown)
    metadata = MetadataAnswer(
        cluster_id=ClusterID("Nk018hRAQFytWskYqtQduw"),
        controller=None,
        brokers=(RegisteredBroker(node_id=NodeID(1), host="broker-1", port=9092, rack="", fenced=False),),
        partitions=tuple(rows),
    )
    made = AnsweringGroups().say("coordinator", broker(1)).say("classic", group).say("metadata", metadata)
    made.say("committed", tuple(Committed(at=at, offset=7) for at in committed))
    return made.say("LATEST", dict.fromkeys(shown, 9))


async def group_of(groups: AnsweringGroups) -> Group:
    """The group as decisions see it."""
    found = await _group(groups, (broker(1),), "app")
    assert isinstance(found, Known), found
    return found.value


async def test_topics_that_are_all_shown() -> None:
    """Offsets and ends are known; a partition that has no offset yet has no end here, either."""
    group = await group_of(brokers(IN, TOO, committed=(IN,), state=GroupState.STABLE))
    assert group.committed == Known(value={("in", 0): 7})
    assert group.ends == Known(value={("in", 0): 9})


async def test_a_topic_that_is_hidden() -> None:
    """Without a right to it Kafka shows neither its offsets nor the topic: the offsets are unknown, never empty."""
    for shown in ((), (IN,)):
        group = await group_of(brokers(*shown, committed=shown, state=GroupState.STABLE))
        for known in (group.committed, group.ends):
            assert isinstance(known, Unknown)
            assert "grant Describe" in known.reason
            assert f"partition {TOO if shown else IN}" in known.reason


async def test_a_right_that_comes_during_the_look() -> None:
    """Offsets that were hidden when they were asked for, of a topic that is shown afterwards, are unknown."""
    groups = brokers(IN, TOO, committed=(IN,), state=GroupState.STABLE)
    first, both = (tuple(Committed(at=at, offset=7) for at in some) for some in ((IN,), (IN, TOO)))
    groups.say("committed", first, both)
    group = await group_of(groups)
    for known in (group.committed, group.ends):
        assert isinstance(known, Unknown)
        assert "during the look" in known.reason
    groups.say("committed", both)
    assert (await group_of(groups)).committed == Known(value={("in", 0): 7, ("too", 0): 7})


async def test_a_broker_of_the_bootstrap_list_that_is_away() -> None:
    """The next one says who leads the partitions, and what all brokers run."""
    groups = brokers(IN, TOO, committed=(IN,), state=GroupState.STABLE)
    groups.say("coordinator", unreachable(), by=2).say("metadata", unreachable(), by=2)
    found = await _group(groups, (broker(2), broker(1)), "app")
    assert isinstance(found, Known)
    assert found.value.ends == Known(value={("in", 0): 9})
    edges = Edges(groups=groups, versions=Saying())
    assert await _releases(edges, (broker(2), broker(1))) == Known(value=frozenset({StreamsRelease((4, 0), 0)}))


async def test_the_topics_that_are_read() -> None:
    """Those of the subscriptions, not all with committed offsets; while the group is not stable they are not known."""
    old = TopicPartition(topic="old", index=0)
    every = (IN, TOO, old)
    assert (await group_of(brokers(*every, committed=every, state=GroupState.STABLE))).topics == frozenset(
        {"in", "too"}
    )
    assert (await group_of(brokers(*every, committed=every, state=GroupState.PREPARING))).topics is None


async def test_a_group_that_is_not_stable() -> None:
    """Its assignments do not count, so they hide nothing; nothing is decided by its offsets then."""
    group = await group_of(brokers(IN, committed=(IN,), state=GroupState.PREPARING))
    assert group.committed == Known(value={("in", 0): 7})


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("/10.0.0.1", "10.0.0.1"),
        ("/fd00:0:0:0:0:0:0:5", "fd00::5"),
        ("/fe80:0:0:0:0:0:0:1%eth0", "fe80::1"),
        ("a.b", "a.b"),
    ],
)
async def test_an_address_is_written_as_kubernetes_writes_it(said: str, expected: str) -> None:
    """Kafka has a slash before an address, and no abbreviation in one of IPv6; a name stays a name."""
    groups = brokers(IN, TOO, committed=(IN,), state=GroupState.STABLE)
    (row,) = (await groups.classic_group(broker(1), "app")).members
    group = ClassicGroup(
        state=GroupState.STABLE,
        protocol_type="consumer",
        protocol="range",
        members=(replace(row, client_host=said),),
    )
    (member,) = (await group_of(groups.say("classic", group))).members
    assert member.host == expected
