"""DescribeTopicPartitions (75): every partition with ISR and eligible leaders, in pages (KIP-966).

An empty list of topics asks for all of them (measured), in the order of their names. Each page ends with a cursor, at
which the next one begins. A part of the partitions would be a wrong picture, so a page is accepted only if its rows
continue the page before without a gap: partitions of a topic are numbered from 0 on. Any error code in the answer, of a
topic or of a partition, is an error of the whole look.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from kio.schema.describe_topic_partitions.v0 import request as asked
from kio.schema.describe_topic_partitions.v0 import response as v0
from kio.schema.describe_topic_partitions.v0.response import DescribeTopicPartitionsResponse
from kio.schema.types import TopicName
from kio.static.primitive import i32
from kio.static.protocol import ResponsePayload

from kafka_quorum.model.brokers import Partition, TopicPartition
from kafka_quorum.model.ids import NodeID
from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.bounds import MAX_PARTITIONS, MAX_ROWS, Bound
from kafka_quorum.wire.request import Request, accept, typed
from kafka_quorum.wire.values import at_least, int32, once

PAGE_PARTITIONS: Final = 1_000
"""How many partitions one answer may describe; Kafka's own limit is 2,000 (`max.request.partition.size.limit`)."""
_REPLICAS: Final = Bound(count=MAX_ROWS, plural="replicas")
_PARTITION: Final = v0.DescribeTopicPartitionsResponsePartition
API: Final = Api(
    key=75,
    name="DescribeTopicPartitions",
    ours=VersionRange(low=0, high=0),
    effect=Effect.READS,
    server="broker",
    answer_bytes=2 * 1024 * 1024,
    lists={
        (DescribeTopicPartitionsResponse, "topics"): Bound(count=PAGE_PARTITIONS + 1, plural="topics"),
        (v0.DescribeTopicPartitionsResponseTopic, "partitions"): Bound(count=PAGE_PARTITIONS, plural="partitions"),
        (_PARTITION, "replica_nodes"): _REPLICAS,
        (_PARTITION, "isr_nodes"): _REPLICAS,
        (_PARTITION, "eligible_leader_replicas"): _REPLICAS,
        (_PARTITION, "last_known_elr"): _REPLICAS,
        (_PARTITION, "offline_replicas"): _REPLICAS,
    },
)
"""Kafka 4.0 and later. A row takes 20 bytes and 4 for each node in it, a topic 30 and its name.

So a page of 1,000 topics with the longest names, and 64 replicas in each list, has 1.6 MB; a usual one has 60 kB.
"""
MAX_PAGES: Final = 1_000
"""The limit of one look at all partitions; a page of a usual server has a thousand of them."""
NO_LEADER: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a page begins: the first row that it may have."""

    topic: str
    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some partitions in the order of Kafka's answer, the ids of their topics, and where the next page begins."""

    partitions: tuple[Partition, ...]
    topic_ids: tuple[tuple[str, str], ...]
    following: Place | None


@dataclass(slots=True)
class Pages:
    """The pages of one look, put together (ValueError for one that does not continue those before it)."""

    partitions: list[Partition] = field(default_factory=list)
    following: Place | None = None
    """Where the next page begins."""
    _topic_ids: dict[str, str] = field(default_factory=dict)
    _taken: int = 0

    @property
    def complete(self) -> bool:
        """Whether no page follows."""
        return self._taken > 0 and self.following is None

    def add(self, page: Page) -> None:
        """The next page. A topic that was deleted, and perhaps created again, between two pages is refused."""
        begin, first = self.following, page.partitions[0].at if page.partitions else None
        if begin is not None and begin.index > 0 and first != TopicPartition(topic=begin.topic, index=begin.index):
            raise ValueError(f"topic {begin.topic} ended before partition {begin.index}, where a page was to begin")
        for name, topic_id in page.topic_ids:
            if self._topic_ids.setdefault(name, topic_id) != topic_id:
                raise ValueError(f"topic {name} is another one than on the page before")
        self.partitions += page.partitions
        self.following, self._taken = page.following, self._taken + 1
        if len(self.partitions) > MAX_PARTITIONS:
            raise ValueError(f"it has more than {MAX_PARTITIONS} partitions")
        if self._taken >= MAX_PAGES and not self.complete:
            raise ValueError(f"its partitions take more than {MAX_PAGES} pages")


def request(begin: Place | None) -> Request[Page]:
    """The partitions from this place on; from the first one for None."""
    return Request(api=API, build=lambda _: message(begin), read=lambda response: _read(response, begin))


def message(begin: Place | None) -> asked.DescribeTopicPartitionsRequest:
    """No topic is named, which means all of them."""
    cursor = None
    if begin is not None:
        index = int32("partition", begin.index)
        cursor = asked.Cursor(topic_name=TopicName(begin.topic), partition_index=index)
    return asked.DescribeTopicPartitionsRequest(topics=(), response_partition_limit=i32(PAGE_PARTITIONS), cursor=cursor)


def _read(response: ResponsePayload, begin: Place | None) -> Page:
    answer = typed(response, DescribeTopicPartitionsResponse)
    topics = []
    for topic in answer.topics:
        accept(topic.error_code, f"topic {topic.name}")
        if not topic.name:
            raise ValueError("a topic has no name")
        for row in topic.partitions:
            accept(row.error_code, f"partition {topic.name}-{row.partition_index}")
        topics.append(
            (topic.name, str(topic.topic_id or ""), tuple(_partition(topic.name, r) for r in topic.partitions))
        )
    once("topic", [name for name, _, _ in topics])
    partitions = tuple(row for _, _, rows in topics for row in rows)
    following = _following(answer.next_cursor, partitions, begin)
    _check_order(partitions, begin)
    return Page(
        partitions=partitions,
        topic_ids=tuple((name, topic_id) for name, topic_id, rows in topics if rows),
        following=following,
    )


def _check_order(partitions: Sequence[Partition], begin: Place | None) -> None:
    """Rows begin at the place that was asked for, or at a later topic, and continue without a gap."""
    topic, expected = (begin.topic, begin.index) if begin else ("", 0)
    for row in partitions:
        if row.at.topic < topic:
            raise ValueError(f"partition {row.at} comes after topic {topic}")
        if row.at.topic != topic:
            topic, expected = row.at.topic, 0
        if row.at.index != expected:
            raise ValueError(f"partition {row.at} comes where {topic}-{expected} was expected")
        expected += 1


def _following(cursor: v0.Cursor | None, partitions: Sequence[Partition], begin: Place | None) -> Place | None:
    """The next page's place; a page that has a next one must have brought something."""
    if cursor is None:
        return None
    place = Place(topic=cursor.topic_name, index=at_least(0, "the next page's partition", cursor.partition_index))
    if not partitions:
        raise ValueError(f"an empty page continues at {place.topic}-{place.index}")
    last = partitions[-1].at
    if place != Place(topic=last.topic, index=last.index + 1) and (place.topic <= last.topic or place.index != 0):
        raise ValueError(f"the page after {last} begins at {place.topic}-{place.index}")
    if begin is not None and (place.topic, place.index) <= (begin.topic, begin.index):
        raise ValueError(
            f"the page that begins at {begin.topic}-{begin.index} continues at {place.topic}-{place.index}"
        )
    return place


def _partition(topic: str, row: v0.DescribeTopicPartitionsResponsePartition) -> Partition:
    leader = at_least(NO_LEADER, "a partition's leader", row.leader_id)
    replicas = _nodes(row.replica_nodes)
    if not replicas:
        raise ValueError(f"partition {topic}-{row.partition_index} has no replica")
    return Partition(
        at=TopicPartition(topic=topic, index=at_least(0, "a partition's index", row.partition_index)),
        leader=None if leader == NO_LEADER else NodeID(leader),
        leader_epoch=at_least(-1, "a leader's epoch", row.leader_epoch),
        replicas=replicas,
        isr=_nodes(row.isr_nodes),
        elr=_nodes(row.eligible_leader_replicas or ()),
        last_elr=_nodes(row.last_known_elr or ()),
        offline=_nodes(row.offline_replicas),
    )


def _nodes(ids: Sequence[int]) -> tuple[NodeID, ...]:
    nodes = tuple(NodeID(at_least(0, "a replica's id", each)) for each in ids)
    once("replica", nodes)
    return nodes
