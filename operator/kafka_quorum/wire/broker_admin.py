"""The requests of `brokers.Brokers`, over the network; each module of `requests` has one request and its answer."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final

from kafka_quorum.errors import KafkaUnreachable
from kafka_quorum.model.brokers import (
    BrokersAnswer,
    ConfigChange,
    ConfigEntry,
    LogDirectory,
    MetadataAnswer,
    Move,
    Partition,
    Reassignment,
    TopicPartition,
)
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import Endpoint, NodeVersions, QuorumAnswer
from kafka_quorum.model.scram import ScramEntry
from kafka_quorum.wire.api import Api
from kafka_quorum.wire.requests import (
    alter_configs,
    alter_reassignments,
    api_versions,
    describe_brokers,
    describe_configs,
    describe_log_dirs,
    describe_quorum,
    describe_scram,
    describe_topic_partitions,
    elect_leaders,
    list_reassignments,
    metadata,
    unregister_broker,
)
from kafka_quorum.wire.requests.describe_topic_partitions import Pages
from kafka_quorum.wire.sending import Sending
from kit.errors import Fault

LOOK_S: Final = 20.0
"""The limit of a look that takes several requests. A look at 10,000 partitions takes ten, of some 10 ms each."""


class KafkaBrokers(Sending):
    """Every method ends within `limits` (a look in several requests within `LOOK_S`), and raises `KafkaError`.

    An error code at any level of an answer is an error of the whole request, unless the method says otherwise: a row
    with an error is never an absent row.
    """

    async def api_versions(self, endpoint: Endpoint) -> NodeVersions:
        """Supported ranges and finalized levels, as this node reports them."""
        request = api_versions.request()
        return await self._send(endpoint, replace(request, api=replace(request.api, server="broker")))

    async def describe_quorum(self, endpoint: Endpoint) -> QuorumAnswer:
        """The quorum as the leader reports it; `KafkaRefused` NOT_LEADER_OR_FOLLOWER (6) from any other controller."""
        return await self._send(endpoint, describe_quorum.request(endpoint.node_id))

    async def describe_brokers(self, endpoint: Endpoint) -> BrokersAnswer:
        """Every registered broker as this broker knows it, fenced ones too."""
        return await self._send(endpoint, describe_brokers.request())

    async def describe_partitions(self, endpoint: Endpoint) -> tuple[Partition, ...]:
        """Every partition as this broker knows it, in the order of topic and index.

        Pages are taken one after another, so two partitions of different pages may be seen at different moments. A
        topic that is deleted and created again between two pages is an error.
        """
        async with _within(LOOK_S, endpoint, describe_topic_partitions.API):
            return await self._partitions(endpoint)

    async def metadata(self, endpoint: Endpoint, *, partitions: bool = True) -> MetadataAnswer:
        """Brokers, and partitions if asked for, as this broker has them in its cache, which may be old.

        All of them come in one answer: 10,000 partitions take 0.3 s of a processor.
        """
        return await self._send(endpoint, metadata.request(partitions=partitions))

    async def min_isr(self, endpoint: Endpoint, topics: Sequence[str]) -> dict[str, int]:
        """The effective `min.insync.replicas` of each of these topics; a topic that is gone meanwhile is absent."""
        found: dict[str, int] = {}
        names, most = sorted(set(topics)), describe_configs.MAX_TOPICS
        async with _within(LOOK_S, endpoint, describe_configs.API):
            for start in range(0, len(names), most):
                found |= await self._send(endpoint, describe_configs.min_isr(names[start : start + most]))
        return found

    async def describe_broker_config(self, endpoint: Endpoint, node_id: NodeID) -> tuple[ConfigEntry, ...]:
        """The running configuration of this very broker; a broker with another id refuses with INVALID_REQUEST."""
        return await self._send(endpoint, describe_configs.of_broker(node_id))

    async def describe_log_dirs(self, endpoint: Endpoint) -> tuple[LogDirectory, ...]:
        """The log directories of this broker. One that fails has an error, and no replicas: they are unknown."""
        return await self._send(endpoint, describe_log_dirs.request())

    async def describe_scram(self, endpoint: Endpoint, users: Sequence[str]) -> tuple[ScramEntry, ...]:
        """The credentials of these users, one or more, as this broker knows them; a user without any is in no row."""
        return await self._send(endpoint, describe_scram.request(users))

    async def reassignments(self, endpoint: Endpoint) -> tuple[Reassignment, ...]:
        """Every running reassignment, from the leader; `KafkaRefused` NOT_CONTROLLER from another controller."""
        return await self._send(endpoint, list_reassignments.request())

    async def reassign(self, endpoint: Endpoint, moves: Sequence[Move]) -> dict[TopicPartition, str]:
        """Ask the leader for these reassignments. What it refuses is returned with its words; the others began.

        At most `alter_reassignments.MAX_MOVES`; none sends nothing. The answer to one that cancels a reassignment which
        does not run is no refusal.
        """
        return await self._send(endpoint, alter_reassignments.request(moves)) if moves else {}

    async def elect_preferred(self, endpoint: Endpoint, partitions: Sequence[TopicPartition]) -> None:
        """Ask the leader to elect the preferred leaders of these; what cannot be is left as it is.

        At most `elect_leaders.MAX_ELECTIONS`; none sends nothing.
        """
        if partitions:
            await self._send(endpoint, elect_leaders.request(partitions))

    async def alter_broker_config(self, endpoint: Endpoint, node_id: NodeID, changes: Sequence[ConfigChange]) -> None:
        """Ask that very broker to change dynamic settings of its own: all of them, or none; no change sends nothing.

        The leader itself also accepts the request, for a broker that is stopped. It stores any name and value without
        a check, except `cordoned.log.dirs`, of which it only makes the list shorter (measured).
        """
        if changes:
            await self._send(endpoint, alter_configs.of_broker(node_id, changes))

    async def alter_topic_config(self, endpoint: Endpoint, topic: str, changes: Sequence[ConfigChange]) -> None:
        """Ask the leader to change settings of a topic: all of them, or none; no change sends nothing."""
        if changes:
            await self._send(endpoint, alter_configs.of_topic(topic, changes))

    async def unregister_broker(self, endpoint: Endpoint, node_id: NodeID) -> None:
        """Ask the leader to forget a broker's registration; one that is not registered is a success."""
        await self._send(endpoint, unregister_broker.request(node_id))

    async def _partitions(self, endpoint: Endpoint) -> tuple[Partition, ...]:
        look = Pages()
        while not look.complete:
            page = await self._send(endpoint, describe_topic_partitions.request(look.following))
            try:
                look.add(page)
            except ValueError as error:
                raise self._nonsense(endpoint, describe_topic_partitions.API, str(error)) from error
        return tuple(look.partitions)


@asynccontextmanager
async def _within(limit_s: float, endpoint: Endpoint, api: Api) -> AsyncIterator[None]:
    """Bound what takes several requests, each of which has its own bound (KafkaUnreachable)."""
    try:
        async with asyncio.timeout(limit_s):
            yield
    except TimeoutError:
        raise KafkaUnreachable(
            f"{api.name} to {api.server} {endpoint} was not answered in full: {limit_s:g} s had passed",
            fault=Fault.PATH,
            retry_safe=True,
            outcome_unknown=False,
        ) from None
