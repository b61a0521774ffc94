"""What the operator asks brokers about the group of a Streams application. All of it only reads.

`endpoint` is the group's coordinator unless a method says otherwise. A broker that is not the coordinator answers
`KafkaRefused` NOT_COORDINATOR (16): ask for the coordinator again.
"""

from collections.abc import Collection, Sequence
from typing import Protocol

from kafka_quorum.model.brokers import MetadataAnswer, TopicPartition
from kafka_quorum.model.groups import ClassicGroup, Committed, ListedGroup, LogEnd, StreamsGroup
from kafka_quorum.model.known import Knowable
from kafka_quorum.model.quorum import Endpoint


class Groups(Protocol):
    """Requests to one broker each: they end within a deadline, and raise `KafkaError` on anything but success."""

    async def coordinator(self, endpoint: Endpoint, group: str) -> Endpoint:
        """The coordinator of this group, from any broker.

        `KafkaRefused` COORDINATOR_NOT_AVAILABLE (15) while there is none. In a cluster that never had a group, the
        request makes Kafka create the topic `__consumer_offsets`.
        """

    async def classic_group(self, endpoint: Endpoint, group: str) -> ClassicGroup:
        """The group, if it is a classic one; `DEAD` if there is no group, or one of another type."""

    async def streams_group(self, endpoint: Endpoint, group: str) -> StreamsGroup | None:
        """The group, if it is one of the streams protocol; None if there is no group, or one of another type.

        `KafkaVersionUnsupported` from a broker before 4.1, which can have no such group.
        """

    async def coordinated(self, endpoint: Endpoint) -> tuple[ListedGroup, ...]:
        """Every group that this broker coordinates, with its type."""

    async def committed(self, endpoint: Endpoint, group: str) -> tuple[Committed, ...]:
        """Every committed offset of the group; none if there is no group. Topics that must not be read are left out."""

    async def log_ends(
        self, endpoint: Endpoint, partitions: Sequence[TopicPartition], end: LogEnd
    ) -> dict[TopicPartition, Knowable[int]]:
        """Where the logs of these partitions begin or end, from the broker that leads them.

        A partition that the broker does not lead, or that is gone, is Unknown; every partition has an answer. No
        partition sends nothing.
        """

    async def metadata(self, endpoint: Endpoint, *, topics: Collection[str] = ()) -> MetadataAnswer:
        """Brokers, and the partitions of these topics with their leaders, as this broker has them in its cache.

        A topic that is not there, or may not be described, is left out.
        """

    async def close(self) -> None:
        """Close every connection."""
