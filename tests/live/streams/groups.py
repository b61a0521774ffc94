"""A group as its coordinator shows it: members, and the version of Kafka Streams' own metadata that each sent.

A member of the classic protocol sends user data with its subscription. Its first four bytes are the version that is
used, and from version 3 on the next four are the highest version that the member supports (KIP-268).
"""

import socket
import struct
from dataclasses import dataclass
from typing import Final, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from kio.schema.describe_groups.v5 import DescribeGroupsRequest, DescribeGroupsResponse
from kio.schema.response_header.v1 import ResponseHeader
from kio.schema.streams_group_describe.v0 import StreamsGroupDescribeRequest, StreamsGroupDescribeResponse
from kio.schema.types import GroupId
from kio.serial import entity_reader
from kio.static.protocol import RequestPayload, ResponsePayload
from tests.live.streams.waiting import until

from kafka_quorum.wire.codec import encode_request

A = TypeVar("A", bound=ResponsePayload)
_TIMEOUT_S: Final = 15.0
_NO_COORDINATOR_YET: Final = frozenset(
    {KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.COORDINATOR_LOAD_IN_PROGRESS, KafkaError.NOT_COORDINATOR}
)
_FIRST_WITH_SUPPORTED: Final = 3
UNKNOWN: Final = 0
"""A version that the member did not send."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One member; `used` and `supported` are versions of the subscription, UNKNOWN while the group rebalances."""

    member_id: str
    client_id: str
    used: int
    supported: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """State (as `Stable`, `Empty`, `Dead`) and members."""

    state: str
    members: tuple[Member, ...]

    def versions(self) -> list[list[int]]:
        """Used and supported version of each member, sorted."""
        return sorted([each.used, each.supported] for each in self.members)


def describe(host: str, port: int, group: str) -> Group:
    """A classic group (OSError, SerialError)."""
    request = DescribeGroupsRequest(groups=(GroupId(group),), include_authorized_operations=False)
    answer = _ask(host, port, request, DescribeGroupsResponse)
    (row,) = answer.groups
    members = tuple(
        Member(member_id=each.member_id, client_id=each.client_id, **_versions(each.member_metadata))
        for each in row.members
    )
    return Group(state=row.group_state, members=members)


def describe_streams(host: str, port: int, group: str) -> Group:
    """A group of the streams protocol (KIP-1071), whose members send no version (OSError, SerialError)."""
    request = StreamsGroupDescribeRequest(group_ids=(GroupId(group),), include_authorized_operations=False)
    answer = _ask(host, port, request, StreamsGroupDescribeResponse)
    (row,) = answer.groups
    members = tuple(
        Member(member_id=each.member_id, client_id=each.client_id, used=UNKNOWN, supported=UNKNOWN)
        for each in row.members
    )
    return Group(state=row.group_state, members=members)


def _ask(host: str, port: int, request: RequestPayload, schema: type[A]) -> A:
    """One request on a connection of its own, and its answer of this class."""
    with socket.create_connection((host, port), timeout=_TIMEOUT_S) as connection:
        message = encode_request(request, 1)
        connection.sendall(struct.pack(">i", len(message)) + message)
        (length,) = struct.unpack(">i", _exactly(connection, 4))
        data = _exactly(connection, length)
    _, size = entity_reader(ResponseHeader)(data, 0)
    answer, _ = entity_reader(schema)(data, size)
    return answer


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise ConnectionError("the broker closed the connection")
        data += more
    return data


def _versions(metadata: bytes) -> dict[str, int]:
    """`used` and `supported` of a subscription: version, topics, user data."""
    if not metadata:
        return {"used": UNKNOWN, "supported": UNKNOWN}
    (topics,) = struct.unpack_from(">i", metadata, 2)
    at = 6
    for _ in range(topics):
        (length,) = struct.unpack_from(">h", metadata, at)
        at += 2 + length
    (length,) = struct.unpack_from(">i", metadata, at)
    data = metadata[at + 4 : at + 4 + max(length, 0)]
    if len(data) < 4:
        return {"used": UNKNOWN, "supported": UNKNOWN}
    (used,) = struct.unpack_from(">i", data, 0)
    supported = struct.unpack_from(">i", data, 4)[0] if used >= _FIRST_WITH_SUPPORTED else used
    return {"used": used, "supported": supported}


class Offsets:
    """The offsets that a group committed for a topic, and where the topic ends."""

    def __init__(self, bootstrap: str, group: str, topic: str, partitions: int) -> None:
        """Opens a client, which never joins the group."""
        self._consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "log_level": 0})
        self._rows = [TopicPartition(topic, index) for index in range(partitions)]

    def committed(self) -> list[int]:
        """By partition; nothing committed counts as 0 (KafkaException, NeverHappenedError).

        A fresh broker has no coordinator at first.
        """

        def answered() -> list[int] | None:
            try:
                return [max(row.offset, 0) for row in self._consumer.committed(self._rows, timeout=_TIMEOUT_S)]
            except KafkaException as error:
                if error.args[0].code() in _NO_COORDINATOR_YET:
                    return None
                raise

        return until("committed offsets", answered, deadline_s=_TIMEOUT_S)

    def ends(self) -> list[int]:
        """By partition (KafkaException)."""
        return [self._consumer.get_watermark_offsets(row, timeout=_TIMEOUT_S)[1] for row in self._rows]

    def close(self) -> None:
        """Closes the client."""
        self._consumer.close()
