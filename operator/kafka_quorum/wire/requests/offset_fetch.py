"""OffsetFetch 8 (9): every committed offset of one group, asked of its coordinator (KIP-709).

Kafka leaves out topics that the client may not describe, without an error. `require_stable` is false: an offset of an
open transaction is not waited for, and the one before it is reported.
"""

from collections.abc import Iterator
from typing import Final

from kio.schema.offset_fetch.v8 import request as asked
from kio.schema.offset_fetch.v8 import response as v8
from kio.schema.offset_fetch.v8.response import OffsetFetchResponse
from kio.schema.types import GroupId
from kio.static.protocol import ResponsePayload

from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.groups import Committed
from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.bounds import MAX_COMMITTED, MAX_ROWS, Bound
from kafka_quorum.wire.request import Request, accept, typed
from kafka_quorum.wire.values import at_least, group_name, once

API: Final = Api(
    key=9,
    name="OffsetFetch",
    ours=VersionRange(low=8, high=8),
    effect=Effect.READS,
    server="broker",
    answer_bytes=16 * 1024 * 1024,
    lists={
        (OffsetFetchResponse, "groups"): Bound(count=MAX_ROWS, plural="groups"),
        (v8.OffsetFetchResponseGroup, "topics"): Bound(count=MAX_COMMITTED, plural="topics"),
        (v8.OffsetFetchResponseTopics, "partitions"): Bound(count=MAX_COMMITTED, plural="partitions"),
    },
)
"""3.0 and later. A row takes 20 bytes and its metadata: with 300 bytes of metadata, 50,000 rows have 16 MB."""
NO_OFFSET: Final = -1


def request(group: str) -> Request[tuple[Committed, ...]]:
    """Every committed offset in the order of topic and index; none for a group that does not exist."""
    return Request(api=API, build=lambda _: message(group), read=lambda response: _read(response, group))


def message(group: str) -> asked.OffsetFetchRequest:
    """Ask for all topics of one group (ValueError for a name that Kafka cannot have)."""
    row = asked.OffsetFetchRequestGroup(group_id=GroupId(group_name(group)), topics=None)
    return asked.OffsetFetchRequest(groups=(row,), require_stable=False)


def _read(response: ResponsePayload, group: str) -> tuple[Committed, ...]:
    answer = typed(response, OffsetFetchResponse)
    if [row.group_id for row in answer.groups] != [group]:
        raise ValueError(f"group {group} was asked for, the offsets of {len(answer.groups)} other groups are listed")
    (found,) = answer.groups
    accept(found.error_code, f"group {group}")
    once("topic", [topic.name for topic in found.topics])
    count = sum(len(topic.partitions) for topic in found.topics)
    if count > MAX_COMMITTED:
        raise ValueError(f"group {group} has offsets of {count} partitions, at most {MAX_COMMITTED} are read")
    rows = sorted(row for topic in found.topics for row in _rows(topic))
    once("partition", [row.at for row in rows])
    return tuple(row for row in rows if row.offset != NO_OFFSET)


def _rows(topic: v8.OffsetFetchResponseTopics) -> Iterator[Committed]:
    for row in topic.partitions:
        accept(row.error_code, f"partition {topic.name}-{row.partition_index}")
        at = TopicPartition(topic=topic.name, index=at_least(0, "a partition's index", row.partition_index))
        yield Committed(at=at, offset=at_least(NO_OFFSET, f"the committed offset of {at}", row.committed_offset))
