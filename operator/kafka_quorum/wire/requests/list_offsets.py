"""ListOffsets 7 (2): where the logs of some partitions begin or end, asked of the broker that leads them.

An error code of one partition is a fact about that partition: topics are deleted, and leaders change, while offsets of
them are committed. So each partition has its own answer, known or Unknown. A partition without a row is an error.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from kio.schema.errors import ErrorCode
from kio.schema.list_offsets.v7 import request as asked
from kio.schema.list_offsets.v7 import response as v7
from kio.schema.list_offsets.v7.response import ListOffsetsResponse
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i8, i32, i64
from kio.static.protocol import ResponsePayload

from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.groups import LogEnd
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.bounds import Bound
from kafka_quorum.wire.request import Request, typed
from kafka_quorum.wire.values import at_least, int32, once

MAX_ASKED: Final = 10_000
"""How many partitions one request may ask for."""
API: Final = Api(
    key=2,
    name="ListOffsets",
    ours=VersionRange(low=7, high=7),
    effect=Effect.READS,
    server="broker",
    answer_bytes=4 * 1024 * 1024,
    lists={
        (ListOffsetsResponse, "topics"): Bound(count=MAX_ASKED, plural="topics"),
        (v7.ListOffsetsTopicResponse, "partitions"): Bound(count=MAX_ASKED, plural="partitions"),
    },
)
"""2.8 and later. A row takes 27 bytes, a topic 7 and its name: 10,000 topics of one partition have at most 2.9 MB."""
_CONSUMER: Final = BrokerId(i32(-1))
_READ_UNCOMMITTED: Final = i8(0)

Offsets = dict[TopicPartition, Knowable[int]]


def request(partitions: Sequence[TopicPartition], end: LogEnd) -> Request[Offsets]:
    """The offset of this end of each partition, or why it is unknown."""
    wanted = sorted(set(partitions))
    return Request(api=API, build=lambda _: message(wanted, end), read=lambda response: _read(response, wanted, end))


def message(partitions: Sequence[TopicPartition], end: LogEnd) -> asked.ListOffsetsRequest:
    """Ask for these, which are sorted (ValueError for more than `MAX_ASKED`)."""
    if len(partitions) > MAX_ASKED:
        raise ValueError(f"{len(partitions)} partitions are more than {MAX_ASKED}")
    topics = tuple(
        asked.ListOffsetsTopic(name=TopicName(name), partitions=tuple(_asked(row, end) for row in rows))
        for name, rows in groupby(partitions, key=lambda row: row.topic)
    )
    return asked.ListOffsetsRequest(replica_id=_CONSUMER, isolation_level=_READ_UNCOMMITTED, topics=topics)


def _asked(at: TopicPartition, end: LogEnd) -> asked.ListOffsetsPartition:
    return asked.ListOffsetsPartition(partition_index=int32("partition", at.index), timestamp=i64(end.value))


def _read(response: ResponsePayload, wanted: Sequence[TopicPartition], end: LogEnd) -> Offsets:
    answer = typed(response, ListOffsetsResponse)
    once("topic", [topic.name for topic in answer.topics])
    rows = [row for topic in answer.topics for row in _rows(topic, end)]
    once("partition", [at for at, _ in rows])
    found = dict(rows)
    if set(found) != set(wanted):
        odd = min(set(found) ^ set(wanted))
        raise ValueError(f"partition {odd} is {'missing' if odd in set(wanted) else 'answered, and was not asked for'}")
    return found


def _rows(topic: v7.ListOffsetsTopicResponse, end: LogEnd) -> Iterator[tuple[TopicPartition, Knowable[int]]]:
    for row in topic.partitions:
        at = TopicPartition(topic=topic.name, index=at_least(0, "a partition's index", row.partition_index))
        if row.error_code is not ErrorCode.none:
            yield at, Unknown(reason=f"the {end.name.lower()} offset of {at} is unknown: {row.error_code.name.upper()}")
        else:
            yield at, Known(value=at_least(0, f"the {end.name.lower()} offset of {at}", row.offset))
