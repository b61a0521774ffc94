"""DescribeLogDirs (35): the log directories of the broker that is asked, their replicas and space (KIP-113, KIP-827).

A directory that fails is a row with the name of its error and without replicas: its replicas are unknown, not absent.
"""

from typing import Final

from kio.schema.describe_log_dirs.v4 import request as asked4
from kio.schema.describe_log_dirs.v4 import response as v4
from kio.schema.describe_log_dirs.v5 import request as asked5
from kio.schema.describe_log_dirs.v5 import response as v5
from kio.schema.errors import ErrorCode
from kio.static.protocol import RequestPayload, ResponsePayload

from kafka_quorum.model.brokers import LogDirectory, Replica, TopicPartition
from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.bounds import MAX_ROWS, Bound
from kafka_quorum.wire.request import Request, accept, unexpected
from kafka_quorum.wire.values import at_least, once

_TOPICS: Final = Bound(count=20_000, plural="topics")
_PARTITIONS: Final = Bound(count=20_000, plural="partitions")
_DIRECTORIES: Final = Bound(count=MAX_ROWS, plural="log directories")
API: Final = Api(
    key=35,
    name="DescribeLogDirs",
    ours=VersionRange(low=4, high=5),
    effect=Effect.READS,
    server="broker",
    answer_bytes=4 * 1024 * 1024,
    lists={
        (v4.DescribeLogDirsResponse, "results"): _DIRECTORIES,
        (v4.DescribeLogDirsResult, "topics"): _TOPICS,
        (v4.DescribeLogDirsTopic, "partitions"): _PARTITIONS,
        (v5.DescribeLogDirsResponse, "results"): _DIRECTORIES,
        (v5.DescribeLogDirsResult, "topics"): _TOPICS,
        (v5.DescribeLogDirsTopic, "partitions"): _PARTITIONS,
    },
)
"""Version 5, since 4.3, says whether a directory is cordoned. A replica takes 23 bytes, its topic 4 and the name.

So 4,000 replicas of 4,000 topics with the longest names have 1.1 MB.
"""


def request() -> Request[tuple[LogDirectory, ...]]:
    """Every log directory, with every replica."""
    return Request(api=API, build=_message, read=_read)


def _message(version: int) -> RequestPayload:
    if version == API.ours.low:
        return asked4.DescribeLogDirsRequest(topics=None)
    return asked5.DescribeLogDirsRequest(topics=None)


def _read(response: ResponsePayload) -> tuple[LogDirectory, ...]:
    if not isinstance(response, v4.DescribeLogDirsResponse | v5.DescribeLogDirsResponse):
        raise unexpected(response)
    accept(response.error_code, None)
    directories = tuple(map(_directory, response.results))
    once("log directory", [row.path for row in directories])
    if not directories:
        raise ValueError("no log directory is described")
    return directories


def _directory(row: v4.DescribeLogDirsResult | v5.DescribeLogDirsResult) -> LogDirectory:
    replicas = tuple(_replica(topic.name, each) for topic in row.topics for each in topic.partitions)
    once("replica", [(each.at, each.future) for each in replicas])
    return LogDirectory(
        path=row.log_dir,
        error="" if row.error_code is ErrorCode.none else row.error_code.name.upper(),
        total_bytes=at_least(-1, "the size of a log directory", row.total_bytes),
        usable_bytes=at_least(-1, "the free space of a log directory", row.usable_bytes),
        replicas=replicas,
        cordoned=row.is_cordoned if isinstance(row, v5.DescribeLogDirsResult) else None,
    )


def _replica(topic: str, row: v4.DescribeLogDirsPartition | v5.DescribeLogDirsPartition) -> Replica:
    return Replica(
        at=TopicPartition(topic=topic, index=at_least(0, "a partition's index", row.partition_index)),
        size_bytes=at_least(-1, "the size of a replica", row.partition_size),
        lag=int(row.offset_lag),
        future=row.is_future_key,
    )
