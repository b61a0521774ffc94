"""Metadata 12 (3), asked of a broker: brokers, and every partition with its ISR, as this broker has them in its cache.

This is what a broker of Kafka 3.9 answers in place of DescribeCluster 2 and DescribeTopicPartitions, in ZooKeeper mode
too. It lists only brokers that are not fenced, and nothing shows how old it is: whoever relies on it asks several
brokers (`kafka_brokers.observe.metadata`).

A partition without a leader comes with an error code, which is a fact about it and no error of the look. Any other
error code in the answer is.
"""

from collections.abc import Collection
from typing import Final

from kio.schema.errors import ErrorCode
from kio.schema.metadata.v12 import response as v12
from kio.schema.metadata.v12.request import MetadataRequest, MetadataRequestTopic
from kio.schema.metadata.v12.response import MetadataResponse
from kio.schema.types import TopicName
from kio.static.protocol import ResponsePayload

from kafka_quorum.model.brokers import MetadataAnswer, Partition, RegisteredBroker, TopicPartition
from kafka_quorum.model.ids import NodeID, parse_cluster_id
from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.bounds import MAX_BROKERS, MAX_PARTITIONS, MAX_ROWS, Bound
from kafka_quorum.wire.request import Request, accept, typed
from kafka_quorum.wire.values import at_least, once

_REPLICAS: Final = Bound(count=MAX_ROWS, plural="replicas")
_PARTITION: Final = v12.MetadataResponsePartition
API: Final = Api(
    key=3,
    name="Metadata",
    ours=VersionRange(low=12, high=12),
    effect=Effect.READS,
    server="broker",
    answer_bytes=16 * 1024 * 1024,
    lists={
        (MetadataResponse, "brokers"): Bound(count=MAX_BROKERS, plural="brokers"),
        (MetadataResponse, "topics"): Bound(count=MAX_PARTITIONS, plural="topics"),
        (v12.MetadataResponseTopic, "partitions"): Bound(count=MAX_PARTITIONS, plural="partitions"),
        (_PARTITION, "replica_nodes"): _REPLICAS,
        (_PARTITION, "isr_nodes"): _REPLICAS,
        (_PARTITION, "offline_replicas"): _REPLICAS,
    },
)
"""All partitions come in one answer. A row takes 18 bytes and 4 for each node in it: 200,000 of RF 3 have 8.4 MB."""
NOBODY: Final = -1
_LEADERLESS: Final = frozenset({ErrorCode.leader_not_available, ErrorCode.listener_not_found})
_WELL: Final = frozenset({ErrorCode.none, ErrorCode.replica_not_available})


_MISSING: Final = frozenset(
    {ErrorCode.unknown_topic_or_partition, ErrorCode.topic_authorization_failed, ErrorCode.invalid_topic_exception}
)
"""Of a topic that was asked for by its name: without a name it is left out, so it is here, too."""


def request(*, partitions: bool, topics: Collection[str] | None = None) -> Request[MetadataAnswer]:
    """Every broker that this broker lists, and with `partitions` all of those too. The question creates no topic.

    `topics` are the names of those whose partitions are wanted; one that is not there, or not shown, is left out.
    """
    named = () if topics is None else tuple(_named(name) for name in sorted(topics))
    sent = MetadataRequest(
        topics=None if partitions and topics is None else named,
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=False,
    )
    return Request(api=API, build=lambda _: sent, read=lambda response: _read(response, by_name=topics is not None))


def _named(name: str) -> MetadataRequestTopic:
    return MetadataRequestTopic(topic_id=None, name=TopicName(name))


def _read(response: ResponsePayload, *, by_name: bool = False) -> MetadataAnswer:
    answer = typed(response, MetadataResponse)
    topics = [topic for topic in answer.topics if not (by_name and topic.error_code in _MISSING)]
    for topic in topics:
        accept(topic.error_code, f"topic {topic.name}")
        for row in topic.partitions:
            if row.error_code not in _LEADERLESS | _WELL:
                accept(row.error_code, f"partition {topic.name}-{row.partition_index}")
    brokers = tuple(sorted(map(_broker, answer.brokers)))
    once("broker", [row.node_id for row in brokers])
    rows = (_partition(topic.name or "", row) for topic in topics for row in topic.partitions)
    partitions = tuple(sorted(rows, key=lambda row: row.at))
    once("partition", [row.at for row in partitions])
    if len(partitions) > MAX_PARTITIONS:
        raise ValueError(f"it has more than {MAX_PARTITIONS} partitions")
    controller = at_least(NOBODY, "the controller's id", answer.controller_id)
    return MetadataAnswer(
        cluster_id=parse_cluster_id(answer.cluster_id or ""),
        controller=None if controller == NOBODY else NodeID(controller),
        brokers=brokers,
        partitions=partitions,
    )


def _broker(row: v12.MetadataResponseBroker) -> RegisteredBroker:
    return RegisteredBroker(
        node_id=NodeID(at_least(0, "a broker's id", row.node_id)),
        host=row.host,
        port=at_least(-1, "a broker's port", row.port),
        rack=row.rack or "",
        fenced=False,
    )


def _partition(topic: str, row: v12.MetadataResponsePartition) -> Partition:
    if not topic:
        raise ValueError("a topic has no name")
    leader = at_least(NOBODY, "a partition's leader", row.leader_id)
    replicas = _nodes(row.replica_nodes)
    if not replicas:
        raise ValueError(f"partition {topic}-{row.partition_index} has no replica")
    return Partition(
        at=TopicPartition(topic=topic, index=at_least(0, "a partition's index", row.partition_index)),
        leader=None if leader == NOBODY or row.error_code in _LEADERLESS else NodeID(leader),
        leader_epoch=at_least(-1, "a leader's epoch", row.leader_epoch),
        replicas=replicas,
        isr=_nodes(row.isr_nodes),
        offline=_nodes(row.offline_replicas),
    )


def _nodes(ids: tuple[int, ...]) -> tuple[NodeID, ...]:
    nodes = tuple(NodeID(at_least(0, "a replica's id", each)) for each in ids)
    once("replica", nodes)
    return nodes
