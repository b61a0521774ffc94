"""ListGroups 5 (16): every group that one broker coordinates, with its type (KIP-848).

This is needed for one question. DescribeGroups and StreamsGroupDescribe answer alike for a group that does not exist
and for one of a third type, such as a consumer group of KIP-848. Only this list tells them apart without a look at
words.
"""

from typing import Final

from kio.schema.list_groups.v5.request import ListGroupsRequest
from kio.schema.list_groups.v5.response import ListGroupsResponse
from kio.static.protocol import ResponsePayload

from kafka_quorum.model.groups import ListedGroup
from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.bounds import MAX_GROUPS, Bound
from kafka_quorum.wire.request import Request, accept, typed
from kafka_quorum.wire.values import once

API: Final = Api(
    key=16,
    name="ListGroups",
    ours=VersionRange(low=5, high=5),
    effect=Effect.READS,
    server="broker",
    answer_bytes=8 * 1024 * 1024,
    lists={(ListGroupsResponse, "groups"): Bound(count=MAX_GROUPS, plural="groups")},
)
"""3.8 and later; version 4 has no type. A row takes 4 bytes and four texts: 20,000 of usual length have 1.5 MB."""


def request() -> Request[tuple[ListedGroup, ...]]:
    """Every group that the asked broker coordinates, by id; groups of other brokers are not listed."""
    sent = message()
    return Request(api=API, build=lambda _: sent, read=_read)


def message() -> ListGroupsRequest:
    """Ask for groups of every state and type."""
    return ListGroupsRequest(states_filter=(), types_filter=())


def _read(response: ResponsePayload) -> tuple[ListedGroup, ...]:
    answer = typed(response, ListGroupsResponse)
    accept(answer.error_code, None)
    groups = tuple(sorted(ListedGroup(group_id=row.group_id, group_type=row.group_type) for row in answer.groups))
    once("group", [row.group_id for row in groups])
    return groups
