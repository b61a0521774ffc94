"""ListPartitionReassignments (46), asked of the active controller: every running reassignment (KIP-455)."""

from typing import Final

from kio.schema.list_partition_reassignments.v0 import response as v0
from kio.schema.list_partition_reassignments.v0.request import ListPartitionReassignmentsRequest
from kio.schema.list_partition_reassignments.v0.response import ListPartitionReassignmentsResponse
from kio.static.protocol import ResponsePayload

from kafka_quorum.model.brokers import Reassignment, TopicPartition
from kafka_quorum.model.ids import NodeID
from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.bounds import MAX_ROWS, Bound
from kafka_quorum.wire.request import Request, accept, typed
from kafka_quorum.wire.values import at_least, once, timeout

_REPLICAS: Final = Bound(count=MAX_ROWS, plural="replicas")
_ROW: Final = v0.OngoingPartitionReassignment
API: Final = Api(
    key=46,
    name="ListPartitionReassignments",
    ours=VersionRange(low=0, high=0),
    effect=Effect.READS,
    answer_bytes=2 * 1024 * 1024,
    lists={
        (ListPartitionReassignmentsResponse, "topics"): Bound(count=20_000, plural="topics"),
        (v0.OngoingTopicReassignment, "partitions"): Bound(count=20_000, plural="partitions"),
        (_ROW, "replicas"): _REPLICAS,
        (_ROW, "adding_replicas"): _REPLICAS,
        (_ROW, "removing_replicas"): _REPLICAS,
    },
)
"""A row takes 8 bytes and 4 for each node in it, a topic 3 and its name: 10,000 rows of RF 3 have 0.5 MB."""
TIMEOUT_MS: Final = 3_000


def request() -> Request[tuple[Reassignment, ...]]:
    """Every running reassignment; none is an empty list."""
    sent = ListPartitionReassignmentsRequest(timeout=timeout(TIMEOUT_MS), topics=None)
    return Request(api=API, build=lambda _: sent, read=_read)


def _read(response: ResponsePayload) -> tuple[Reassignment, ...]:
    answer = typed(response, ListPartitionReassignmentsResponse)
    accept(answer.error_code, answer.error_message)
    rows = tuple(sorted(_reassignment(topic.name, row) for topic in answer.topics for row in topic.partitions))
    once("partition", [row.at for row in rows])
    return rows


def _reassignment(topic: str, row: v0.OngoingPartitionReassignment) -> Reassignment:
    index = at_least(0, "a partition's index", row.partition_index)
    found = Reassignment(
        at=TopicPartition(topic=topic, index=index),
        replicas=_nodes(row.replicas),
        adding=_nodes(row.adding_replicas),
        removing=_nodes(row.removing_replicas),
    )
    strange = set(found.adding) | set(found.removing)
    if not strange or not strange <= set(found.replicas):
        raise ValueError(f"the reassignment of {found.at} adds or removes what is no replica, or nothing")
    return found


def _nodes(ids: tuple[int, ...]) -> tuple[NodeID, ...]:
    nodes = tuple(NodeID(at_least(0, "a replica's id", each)) for each in ids)
    once("replica", nodes)
    return nodes
