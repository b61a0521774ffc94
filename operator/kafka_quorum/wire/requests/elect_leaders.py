"""ElectLeaders (43), at the active controller: elect the preferred leaders (KIP-460). Unclean elections are never sent.

A row says that no election is needed, or that the preferred leader is not available: such a partition stays as it is.
Any other error of a row is an error of the whole answer.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from kio.schema.elect_leaders.v2 import request as asked
from kio.schema.elect_leaders.v2 import response as v2
from kio.schema.elect_leaders.v2.response import ElectLeadersResponse
from kio.schema.errors import ErrorCode
from kio.schema.types import TopicName
from kio.static.primitive import i8
from kio.static.protocol import ResponsePayload

from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.bounds import Bound
from kafka_quorum.wire.request import Request, accept, typed
from kafka_quorum.wire.values import int32, timeout

MAX_ELECTIONS: Final = 1_000
"""How many partitions one request may name; the controller writes them in one batch."""
API: Final = Api(
    key=43,
    name="ElectLeaders",
    ours=VersionRange(low=2, high=2),
    effect=Effect.WRITES,
    answer_bytes=1024 * 1024,
    lists={
        (ElectLeadersResponse, "replica_election_results"): Bound(count=MAX_ELECTIONS, plural="topics"),
        (v2.ReplicaElectionResult, "partition_result"): Bound(count=MAX_ELECTIONS, plural="partitions"),
    },
)
PREFERRED: Final = 0
TIMEOUT_MS: Final = 5_000
LEFT_AS_IT_IS: Final = frozenset(
    {
        ErrorCode.none,
        ErrorCode.election_not_needed,
        ErrorCode.preferred_leader_not_available,
        ErrorCode.eligible_leaders_not_available,
        ErrorCode.unknown_topic_or_partition,
    }
)


def request(partitions: Sequence[TopicPartition]) -> Request[None]:
    """Elect the preferred leaders of these, at most `MAX_ELECTIONS`."""
    return Request(api=API, build=lambda _: message(partitions), read=_read, extra_s=TIMEOUT_MS / 1000)


def _read(response: ResponsePayload) -> None:
    answer = typed(response, ElectLeadersResponse)
    accept(answer.error_code, None)
    for topic in answer.replica_election_results:
        for row in topic.partition_result:
            if row.error_code not in LEFT_AS_IT_IS:
                accept(row.error_code, row.error_message)


def message(partitions: Sequence[TopicPartition]) -> asked.ElectLeadersRequest:
    """KIP-460's request, rows by topic (ValueError for none, because Kafka would elect for all, and for too many)."""
    if not 0 < len(partitions) <= MAX_ELECTIONS:
        raise ValueError(f"{len(partitions)} elections are requested, at most {MAX_ELECTIONS} can be")
    return asked.ElectLeadersRequest(
        election_type=i8(PREFERRED),
        topic_partitions=tuple(
            asked.TopicPartitions(
                topic=TopicName(name), partitions=tuple(int32("partition", row.index) for row in rows)
            )
            for name, rows in groupby(sorted(set(partitions)), key=lambda row: row.topic)
        ),
        timeout=timeout(TIMEOUT_MS),
    )
