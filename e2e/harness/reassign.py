"""Replicas moved to other brokers, request 45, which confluent-kafka does not have."""

import datetime as dt

from kio.schema.alter_partition_reassignments.v0 import request as moved
from kio.schema.alter_partition_reassignments.v0.response import AlterPartitionReassignmentsResponse
from kio.schema.errors import ErrorCode
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i32, i32Timedelta

from harness import rpc

_LIMIT = i32Timedelta.parse(dt.timedelta(seconds=20))


def reassign(address: str, topic: str, partition: int, replicas: tuple[int, ...]) -> None:
    """Begin to move a partition to these brokers (OSError); the controller at `address` answers before it is done.

    A broker that is not the controller refuses (ZooKeeper mode) or forwards (KRaft mode).
    """
    row = moved.ReassignablePartition(
        partition_index=i32(partition), replicas=tuple(BrokerId(node_id) for node_id in replicas)
    )
    question = moved.AlterPartitionReassignmentsRequest(
        timeout=_LIMIT, topics=(moved.ReassignableTopic(name=TopicName(topic), partitions=(row,)),)
    )
    answer = rpc.ask(address, question, AlterPartitionReassignmentsResponse)
    codes = [answer.error_code, *(each.error_code for one in answer.responses for each in one.partitions)]
    if refused := [code.name for code in codes if code is not ErrorCode.none]:
        raise OSError(f"AlterPartitionReassignments of {topic}-{partition} at {address}: {', '.join(refused)}")
