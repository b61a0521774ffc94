"""AlterPartitionReassignments (45), at the active controller: begin or cancel reassignments (KIP-455).

Each row is accepted or refused by itself. A row that is missing in the answer makes the answer an error: what became of
it is unknown.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final

from kio.schema.alter_partition_reassignments.v0 import request as asked
from kio.schema.alter_partition_reassignments.v0 import response as v0
from kio.schema.alter_partition_reassignments.v0.response import AlterPartitionReassignmentsResponse
from kio.schema.errors import ErrorCode
from kio.schema.types import BrokerId, TopicName
from kio.static.protocol import ResponsePayload

from kafka_quorum.model.brokers import Move, TopicPartition
from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.bounds import Bound
from kafka_quorum.wire.request import Request, accept, typed
from kafka_quorum.wire.values import int32, once, timeout
from kit.text import WORDS_MAX_CHARS, clean

MAX_MOVES: Final = 1_000
"""How many rows one request may have; the controller writes them in one batch."""
API: Final = Api(
    key=45,
    name="AlterPartitionReassignments",
    ours=VersionRange(low=0, high=0),
    effect=Effect.WRITES,
    answer_bytes=1024 * 1024,
    lists={
        (AlterPartitionReassignmentsResponse, "responses"): Bound(count=MAX_MOVES, plural="topics"),
        (v0.ReassignableTopicResponse, "partitions"): Bound(count=MAX_MOVES, plural="partitions"),
    },
)
"""Version 1 can forbid a change of the replication factor, which the caller knows. A row has 200 bytes of words."""
TIMEOUT_MS: Final = 5_000


def request(moves: Sequence[Move]) -> Request[dict[TopicPartition, str]]:
    """Begin or cancel these, at most `MAX_MOVES`; the result is what was refused, with Kafka's name and words."""

    def read(response: ResponsePayload) -> dict[TopicPartition, str]:
        answer = typed(response, AlterPartitionReassignmentsResponse)
        accept(answer.error_code, answer.error_message)
        rows = [
            (TopicPartition(topic=topic.name, index=int(row.partition_index)), row)
            for topic in answer.responses
            for row in topic.partitions
        ]
        once("partition", [at for at, _ in rows])
        wanted = {move.at: move for move in moves}
        if {at for at, _ in rows} != wanted.keys():
            raise ValueError(f"{len(wanted)} reassignments were asked for, {len(rows)} are answered, or others")
        return {at: _words(row) for at, row in rows if not _fine(wanted[at], row.error_code)}

    return Request(api=API, build=lambda _: message(moves), read=read, extra_s=TIMEOUT_MS / 1000)


def _fine(move: Move, code: ErrorCode) -> bool:
    """Nothing to cancel is no refusal of a cancellation."""
    idle = move.replicas is None and code is ErrorCode.no_reassignment_in_progress
    return idle or code is ErrorCode.none


def _words(row: v0.ReassignablePartitionResponse) -> str:
    return clean(f"{row.error_code.name.upper()} {row.error_message or ''}", max_chars=WORDS_MAX_CHARS)


def message(moves: Sequence[Move]) -> asked.AlterPartitionReassignmentsRequest:
    """KIP-455's request, rows by topic (ValueError for none, too many, or two of one partition)."""
    if not 0 < len(moves) <= MAX_MOVES:
        raise ValueError(f"{len(moves)} reassignments are requested, at most {MAX_MOVES} can be")
    once("partition", [move.at for move in moves])
    ordered = sorted(moves, key=attrgetter("at"))
    return asked.AlterPartitionReassignmentsRequest(
        timeout=timeout(TIMEOUT_MS),
        topics=tuple(_topic(name, rows) for name, rows in groupby(ordered, key=lambda move: move.at.topic)),
    )


def _topic(name: str, moves: Iterable[Move]) -> asked.ReassignableTopic:
    rows = tuple(
        asked.ReassignablePartition(
            partition_index=int32("partition", move.at.index),
            replicas=None
            if move.replicas is None
            else tuple(BrokerId(int32("node id", node)) for node in move.replicas),
        )
        for move in moves
    )
    return asked.ReassignableTopic(name=TopicName(name), partitions=rows)
