"""DescribeQuorum (55): which node leads, which vote, and how far each log is (KIP-595, KIP-853).

Only a leader names itself, so the leader's id is compared with the node that was asked. Its address may belong to
another pod by now: the answer of another quorum's leader must be an error, not a look at ours.
"""

from dataclasses import replace
from typing import Final

from kio.schema.describe_quorum.v2 import request as describe_quorum
from kio.schema.describe_quorum.v2 import response as v2
from kio.schema.describe_quorum.v2.response import DescribeQuorumResponse, PartitionData, ReplicaState
from kio.schema.types import TopicName
from kio.static.primitive import i32
from kio.static.protocol import ResponsePayload

from kafka_quorum.model.ids import NodeID, ReplicaKey
from kafka_quorum.model.quorum import Listener, QuorumAnswer, Replica
from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.bounds import MAX_OBSERVERS, MAX_ROWS, MAX_VOTERS, Bound
from kafka_quorum.wire.request import Request, accept, typed
from kafka_quorum.wire.values import at_least, directory_id, once
from kit.text import NAME_MAX_CHARS, clean

API: Final = Api(
    key=55,
    name="DescribeQuorum",
    ours=VersionRange(low=2, high=2),
    effect=Effect.READS,
    lists={
        (v2.PartitionData, "current_voters"): Bound(count=MAX_VOTERS, plural="voters"),
        (v2.PartitionData, "observers"): Bound(count=MAX_OBSERVERS, plural="observers"),
        (v2.DescribeQuorumResponse, "nodes"): Bound(count=MAX_VOTERS, plural="nodes"),
        (v2.Node, "listeners"): Bound(count=MAX_ROWS, plural="listeners"),
    },
)
"""Below version 2 there are no directory ids, so no replica key is reported. 3.9 and later support version 2."""
METADATA_TOPIC: Final = "__cluster_metadata"
METADATA_PARTITION: Final = 0


def request(asked: NodeID) -> Request[QuorumAnswer]:
    """The quorum as the leader reports it; NOT_LEADER_OR_FOLLOWER (6) from any other node than `asked`."""
    sent = message()

    def read(response: ResponsePayload) -> QuorumAnswer:
        answer = typed(response, DescribeQuorumResponse)
        accept(answer.error_code, answer.error_message)
        partition = metadata_partition(answer)
        accept(partition.error_code, partition.error_message)
        if int(partition.leader_id) != asked:
            raise ValueError(f"node {partition.leader_id} answers as the leader there")
        return replace(quorum_answer(partition), listeners=_listeners(answer))

    return Request(api=API, build=lambda _: sent, read=read)


def message() -> describe_quorum.DescribeQuorumRequest:
    """Ask which node leads, which vote, and how far each log is."""
    partition = describe_quorum.PartitionData(partition_index=i32(METADATA_PARTITION))
    topic = describe_quorum.TopicData(topic_name=TopicName(METADATA_TOPIC), partitions=(partition,))
    return describe_quorum.DescribeQuorumRequest(topics=(topic,))


def metadata_partition(response: DescribeQuorumResponse) -> PartitionData:
    """The one row that was requested. Its error code is read first: a non-leader's row says leader 0."""
    rows = [
        partition
        for topic in response.topics
        for partition in topic.partitions
        if (topic.topic_name, partition.partition_index) == (METADATA_TOPIC, METADATA_PARTITION)
    ]
    if len(rows) != 1:
        raise ValueError(f"{METADATA_TOPIC}-{METADATA_PARTITION} was asked for, {len(rows)} rows describe it")
    return rows[0]


def quorum_answer(partition: PartitionData) -> QuorumAnswer:
    """The leader's view; only of a row without an error code.

    Values that no leader of Kafka can mean are refused: a voter that is listed twice, or a number below its "not
    known".
    """
    voters = tuple(_replica(row) for row in partition.current_voters)
    observers = tuple(_replica(row) for row in partition.observers)
    once("voter", [row.key.node_id for row in voters])  # one voter per node id, on any disk (KIP-853)
    once("observer", [row.key for row in observers])
    return QuorumAnswer(
        leader_id=NodeID(at_least(0, "the leader's id", partition.leader_id)),
        leader_epoch=at_least(0, "the leader's epoch", partition.leader_epoch),
        high_watermark=at_least(-1, "the high watermark", partition.high_watermark),
        voters=voters,
        observers=observers,
    )


def _listeners(response: DescribeQuorumResponse) -> tuple[tuple[NodeID, tuple[Listener, ...]], ...]:
    """The listeners of each voter. Texts are cleaned: they are compared with ours, and shown."""
    once("node", [node.node_id for node in response.nodes])
    found = ((NodeID(at_least(0, "a node id", node.node_id)), node.listeners) for node in response.nodes)
    return tuple((node_id, tuple(map(_listener, rows))) for node_id, rows in sorted(found, key=lambda one: one[0]))


def _listener(row: v2.Listener) -> Listener:
    name, host = (clean(text, max_chars=NAME_MAX_CHARS) for text in (row.name, row.host))
    return Listener(name=name, host=host, port=int(row.port))


def _replica(row: ReplicaState) -> Replica:
    node_id = at_least(0, "a replica's node id", row.replica_id)
    return Replica(
        key=ReplicaKey(node_id=NodeID(node_id), directory_id=directory_id(row.replica_directory_id)),
        log_end_offset=at_least(-1, "a replica's log end", row.log_end_offset),
        last_fetch_ms=at_least(-1, "the time of a replica's last fetch", row.last_fetch_timestamp),
        last_caught_up_ms=at_least(-1, "the time at which a replica was caught up", row.last_caught_up_timestamp),
    )
