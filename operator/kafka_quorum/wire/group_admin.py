"""The requests of `groups.Groups`, over the network; each module of `requests` has one request and its answer."""

from collections.abc import Collection, Sequence

from kafka_quorum.model.brokers import MetadataAnswer, TopicPartition
from kafka_quorum.model.groups import ClassicGroup, Committed, ListedGroup, LogEnd, StreamsGroup
from kafka_quorum.model.known import Knowable
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.wire.requests import (
    describe_groups,
    find_coordinator,
    list_groups,
    list_offsets,
    metadata,
    offset_fetch,
    streams_group_describe,
)
from kafka_quorum.wire.sending import Sending


class KafkaGroups(Sending):
    """Every method ends within `limits`, and raises `KafkaError`: an empty answer never stands for an error."""

    one_user = False  # applications with users of their own ask the same brokers

    async def coordinator(self, endpoint: Endpoint, group: str) -> Endpoint:
        """The coordinator of this group, from any broker (COORDINATOR_NOT_AVAILABLE while there is none)."""
        return await self._send(endpoint, find_coordinator.request(endpoint, group))

    async def classic_group(self, endpoint: Endpoint, group: str) -> ClassicGroup:
        """The group, if it is a classic one; `DEAD` if there is no group, or one of another type."""
        return await self._send(endpoint, describe_groups.request(group))

    async def streams_group(self, endpoint: Endpoint, group: str) -> StreamsGroup | None:
        """The group, if it is one of the streams protocol; None if there is no group, or one of another type."""
        return await self._send(endpoint, streams_group_describe.request(group))

    async def coordinated(self, endpoint: Endpoint) -> tuple[ListedGroup, ...]:
        """Every group that this broker coordinates, with its type."""
        return await self._send(endpoint, list_groups.request())

    async def committed(self, endpoint: Endpoint, group: str) -> tuple[Committed, ...]:
        """Every committed offset of the group; none if there is no group."""
        return await self._send(endpoint, offset_fetch.request(group))

    async def log_ends(
        self, endpoint: Endpoint, partitions: Sequence[TopicPartition], end: LogEnd
    ) -> dict[TopicPartition, Knowable[int]]:
        """Where the logs of these partitions begin or end, from the broker that leads them; none sends nothing."""
        return await self._send(endpoint, list_offsets.request(partitions, end)) if partitions else {}

    async def metadata(self, endpoint: Endpoint, *, topics: Collection[str] = ()) -> MetadataAnswer:
        """Brokers, and the partitions of these topics, as this broker has them in its cache, which may be old."""
        return await self._send(endpoint, metadata.request(partitions=bool(topics), topics=topics))
