"""Answers of a broker as kio's values, for tests to change."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from kio.schema.alter_partition_reassignments.v0 import response as alter_reassignments
from kio.schema.describe_cluster.v2 import response as describe_cluster
from kio.schema.describe_configs.v4 import response as describe_configs
from kio.schema.describe_log_dirs.v5 import response as describe_log_dirs
from kio.schema.describe_topic_partitions.v0 import response as topic_partitions
from kio.schema.elect_leaders.v2 import response as elect_leaders
from kio.schema.errors import ErrorCode
from kio.schema.incremental_alter_configs.v1 import response as alter_configs
from kio.schema.list_partition_reassignments.v0 import response as list_reassignments
from kio.schema.metadata.v12 import response as metadata
from kio.schema.types import TopicName
from kio.static.primitive import i32Timedelta, i64
from tests.model.values import CLUSTER

NO = ErrorCode.none
NOW: Any = i32Timedelta.parse(timedelta(0))


def registered(node_id: int, **changes: Any) -> describe_cluster.DescribeClusterBroker:  # noqa: ANN401 - any field
    """An unfenced broker."""
    values: dict[str, Any] = {"broker_id": node_id, "host": "b", "port": 9091, "rack": None, "is_fenced": False}
    return describe_cluster.DescribeClusterBroker(**values | changes)


def cluster(*rows: describe_cluster.DescribeClusterBroker, **changes: Any) -> describe_cluster.DescribeClusterResponse:  # noqa: ANN401 - any field
    """A DescribeCluster answer about brokers."""
    values: dict[str, Any] = {
        "throttle_time": NOW,
        "error_code": NO,
        "endpoint_type": 1,
        "cluster_id": CLUSTER,
        "brokers": rows,
    }
    return describe_cluster.DescribeClusterResponse(**values | changes)


def listed(node_id: int, **changes: Any) -> metadata.MetadataResponseBroker:  # noqa: ANN401 - any field
    """A broker in a Metadata answer."""
    values: dict[str, Any] = {"node_id": node_id, "host": "b", "port": 9091, "rack": None}
    return metadata.MetadataResponseBroker(**values | changes)


def cached(index: int, **changes: Any) -> metadata.MetadataResponsePartition:  # noqa: ANN401 - any field
    """A partition in a Metadata answer, with three replicas in the ISR."""
    values: dict[str, Any] = {
        "error_code": NO,
        "partition_index": index,
        "leader_id": 1,
        "leader_epoch": 4,
        "replica_nodes": (1, 2, 3),
        "isr_nodes": (1, 2, 3),
    }
    return metadata.MetadataResponsePartition(**values | changes)


def cached_topic(
    name: str | None, *rows: metadata.MetadataResponsePartition, error: ErrorCode = NO
) -> metadata.MetadataResponseTopic:
    """A topic in a Metadata answer."""
    title = None if name is None else TopicName(name)
    return metadata.MetadataResponseTopic(error_code=error, name=title, topic_id=UUID(int=1), partitions=rows)


def cache(*topics: metadata.MetadataResponseTopic, **changes: Any) -> metadata.MetadataResponse:  # noqa: ANN401 - any field
    """A Metadata answer of a cluster of three brokers, the second of which is the controller."""
    values: dict[str, Any] = {
        "throttle_time": NOW,
        "brokers": tuple(map(listed, (1, 2, 3))),
        "cluster_id": CLUSTER,
        "controller_id": 2,
        "topics": topics,
    }
    return metadata.MetadataResponse(**values | changes)


def partition(index: int, **changes: Any) -> topic_partitions.DescribeTopicPartitionsResponsePartition:  # noqa: ANN401 - any field
    """A partition with three replicas in the ISR."""
    values: dict[str, Any] = {
        "error_code": NO,
        "partition_index": index,
        "leader_id": 1,
        "leader_epoch": 4,
        "replica_nodes": (1, 2, 3),
        "isr_nodes": (1, 2, 3),
        "eligible_leader_replicas": None,
        "last_known_elr": None,
    }
    return topic_partitions.DescribeTopicPartitionsResponsePartition(**values | changes)


def topic(
    name: str,
    *rows: topic_partitions.DescribeTopicPartitionsResponsePartition,
    topic_id: int = 2**100,
    error: ErrorCode = NO,
) -> topic_partitions.DescribeTopicPartitionsResponseTopic:
    """A topic with these partitions."""
    return topic_partitions.DescribeTopicPartitionsResponseTopic(
        error_code=error, name=TopicName(name), topic_id=UUID(int=topic_id), partitions=rows
    )


def page(
    *topics: topic_partitions.DescribeTopicPartitionsResponseTopic, following: tuple[str, int] | None = None
) -> topic_partitions.DescribeTopicPartitionsResponse:
    """A DescribeTopicPartitions answer, and where the next one begins."""
    cursor = None
    if following is not None:
        name, index = following
        at: Any = index
        cursor = topic_partitions.Cursor(topic_name=TopicName(name), partition_index=at)
    return topic_partitions.DescribeTopicPartitionsResponse(throttle_time=NOW, topics=topics, next_cursor=cursor)


def setting(name: str, value: str | None, **changes: Any) -> describe_configs.DescribeConfigsResourceResult:  # noqa: ANN401 - any field
    """A setting of the properties file."""
    values: dict[str, Any] = {
        "name": name,
        "value": value,
        "read_only": True,
        "config_source": 4,
        "is_sensitive": False,
        "synonyms": (),
        "documentation": None,
    }
    return describe_configs.DescribeConfigsResourceResult(**values | changes)


def resource(
    kind: int, name: str, *rows: describe_configs.DescribeConfigsResourceResult, error: ErrorCode = NO
) -> describe_configs.DescribeConfigsResult:
    """The settings of one resource."""
    values: dict[str, Any] = {
        "error_code": error,
        "error_message": None,
        "resource_type": kind,
        "resource_name": name,
        "configs": rows,
    }
    return describe_configs.DescribeConfigsResult(**values)


def configs(*rows: describe_configs.DescribeConfigsResult) -> describe_configs.DescribeConfigsResponse:
    """A DescribeConfigs answer."""
    return describe_configs.DescribeConfigsResponse(throttle_time=NOW, results=rows)


def directory(path: str, *replicas: tuple[str, int], **changes: Any) -> describe_log_dirs.DescribeLogDirsResult:  # noqa: ANN401 - any field
    """A log directory with these replicas, each of 7 bytes."""
    topics: Any = tuple(
        describe_log_dirs.DescribeLogDirsTopic(
            name=TopicName(name),
            partitions=(
                describe_log_dirs.DescribeLogDirsPartition(
                    partition_index=_any(index), partition_size=i64(7), offset_lag=i64(0), is_future_key=False
                ),
            ),
        )
        for name, index in replicas
    )
    values: dict[str, Any] = {"error_code": NO, "log_dir": path, "topics": topics}
    return describe_log_dirs.DescribeLogDirsResult(**values | changes)


def log_dirs(
    *rows: describe_log_dirs.DescribeLogDirsResult, error: ErrorCode = NO
) -> describe_log_dirs.DescribeLogDirsResponse:
    """A DescribeLogDirs answer."""
    return describe_log_dirs.DescribeLogDirsResponse(throttle_time=NOW, error_code=error, results=rows)


def running(*rows: tuple[str, int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]) -> Any:  # noqa: ANN401 - an answer
    """A ListPartitionReassignments answer: topic, index, replicas, adding, removing."""
    topics = tuple(
        list_reassignments.OngoingTopicReassignment(
            name=TopicName(name),
            partitions=(
                list_reassignments.OngoingPartitionReassignment(
                    partition_index=_any(index),
                    replicas=_any(replicas),
                    adding_replicas=_any(adding),
                    removing_replicas=_any(removing),
                ),
            ),
        )
        for name, index, replicas, adding, removing in rows
    )
    return list_reassignments.ListPartitionReassignmentsResponse(
        throttle_time=NOW, error_code=NO, error_message=None, topics=topics
    )


def reassigned(*rows: tuple[str, int, ErrorCode, str | None], error: ErrorCode = NO) -> Any:  # noqa: ANN401 - an answer
    """An AlterPartitionReassignments answer: topic, index, error, words."""
    topics = tuple(
        alter_reassignments.ReassignableTopicResponse(
            name=TopicName(name),
            partitions=(
                alter_reassignments.ReassignablePartitionResponse(
                    partition_index=_any(index), error_code=code, error_message=words
                ),
            ),
        )
        for name, index, code, words in rows
    )
    return alter_reassignments.AlterPartitionReassignmentsResponse(
        throttle_time=NOW, error_code=error, error_message=None, responses=topics
    )


def elected(*rows: tuple[str, int, ErrorCode], error: ErrorCode = NO) -> Any:  # noqa: ANN401 - an answer
    """An ElectLeaders answer: topic, index, error."""
    topics = tuple(
        elect_leaders.ReplicaElectionResult(
            topic=TopicName(name),
            partition_result=(
                elect_leaders.PartitionResult(partition_id=_any(index), error_code=code, error_message=None),
            ),
        )
        for name, index, code in rows
    )
    return elect_leaders.ElectLeadersResponse(throttle_time=NOW, error_code=error, replica_election_results=topics)


def altered(*rows: tuple[int, str, ErrorCode]) -> Any:  # noqa: ANN401 - an answer
    """An IncrementalAlterConfigs answer: type and name of a resource, error."""
    responses = tuple(
        alter_configs.AlterConfigsResourceResponse(
            error_code=code, error_message="words", resource_type=_any(kind), resource_name=name
        )
        for kind, name, code in rows
    )
    return alter_configs.IncrementalAlterConfigsResponse(throttle_time=NOW, responses=responses)


def _any(value: object) -> Any:  # noqa: ANN401 - a number of kio's
    return value
