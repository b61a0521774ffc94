"""Look at the ends of logs: each partition is asked of the broker that leads it."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from kafka_quorum.errors import KafkaError
from kafka_quorum.model.brokers import MetadataAnswer, TopicPartition
from kafka_quorum.model.groups import LogEnd
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Unknown
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.wire.groups import Groups
from kafka_quorum.wire.requests.list_offsets import MAX_ASKED

ENDS_S: Final = 20.0
"""The limit of one look at all partitions."""
AT_ONCE: Final = 16
"""So many brokers are asked at the same time: a server could list thousands, each of which takes a connection."""


async def log_ends(
    groups: Groups, broker: Endpoint, partitions: Iterable[TopicPartition], end: LogEnd
) -> dict[TopicPartition, Knowable[int]]:
    """This end of each of these logs, or why it is unknown. `broker` is asked who leads them."""
    wanted = sorted(set(partitions))
    if not wanted:
        return {}
    try:
        async with asyncio.timeout(ENDS_S):
            return await _asked(groups, broker, wanted, end)
    except TimeoutError:
        return dict.fromkeys(wanted, Unknown(reason=f"the ends of logs are unknown: {ENDS_S:g} s had passed"))
    except KafkaError as error:
        return dict.fromkeys(wanted, Unknown(reason=f"the leaders of partitions are unknown: {error}"))


async def _asked(
    groups: Groups, broker: Endpoint, wanted: Sequence[TopicPartition], end: LogEnd
) -> dict[TopicPartition, Knowable[int]]:
    leaders = _leaders(await groups.metadata(broker, topics={at.topic for at in wanted}), broker, frozenset(wanted))
    found: dict[TopicPartition, Knowable[int]] = {}
    by_leader: dict[Endpoint, list[TopicPartition]] = {}
    for at in wanted:
        leader = leaders.get(at, Unknown(reason=f"partition {at} does not exist"))
        if isinstance(leader, Unknown):
            found[at] = leader
        else:
            by_leader.setdefault(leader, []).append(at)
    chunks = [
        (leader, rows[start : start + MAX_ASKED])
        for leader, rows in by_leader.items()
        for start in range(0, len(rows), MAX_ASKED)
    ]
    turns = asyncio.Semaphore(AT_ONCE)
    for answer in await asyncio.gather(*(_of_leader(groups, leader, rows, end, turns) for leader, rows in chunks)):
        found |= answer
    return found


def _leaders(
    metadata: MetadataAnswer, broker: Endpoint, wanted: frozenset[TopicPartition]
) -> Mapping[TopicPartition, Endpoint | Unknown]:
    endpoints = {
        row.node_id: replace(broker, node_id=row.node_id, host=row.host, port=row.port) for row in metadata.brokers
    }
    return {row.at: _leader(endpoints, row.at, row.leader) for row in metadata.partitions if row.at in wanted}


def _leader(endpoints: Mapping[NodeID, Endpoint], at: TopicPartition, leader: NodeID | None) -> Endpoint | Unknown:
    if leader is None:
        return Unknown(reason=f"partition {at} has no leader")
    return endpoints.get(leader, Unknown(reason=f"the leader {leader} of partition {at} is not listed"))


async def _of_leader(
    groups: Groups, leader: Endpoint, rows: Sequence[TopicPartition], end: LogEnd, turns: asyncio.Semaphore
) -> dict[TopicPartition, Knowable[int]]:
    try:
        async with turns:
            return await groups.log_ends(leader, rows, end)
    except KafkaError as error:
        return dict.fromkeys(rows, Unknown(reason=str(error)))
