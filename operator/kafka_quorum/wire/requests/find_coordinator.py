"""FindCoordinator 4 (10): which broker coordinates one group.

Any broker answers. If the topic `__consumer_offsets` does not exist, the broker creates it, and answers
COORDINATOR_NOT_AVAILABLE until its partition has a leader.
"""

from dataclasses import replace
from typing import Final

from kio.schema.find_coordinator.v4.request import FindCoordinatorRequest
from kio.schema.find_coordinator.v4.response import FindCoordinatorResponse
from kio.static.primitive import i8
from kio.static.protocol import ResponsePayload

from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.bounds import MAX_ROWS, Bound
from kafka_quorum.wire.request import Request, accept, typed
from kafka_quorum.wire.values import at_least, group_name

API: Final = Api(
    key=10,
    name="FindCoordinator",
    ours=VersionRange(low=4, high=4),
    effect=Effect.READS,
    server="broker",
    lists={(FindCoordinatorResponse, "coordinators"): Bound(count=MAX_ROWS, plural="coordinators")},
)
"""3.0 and later. Versions 5 and 6 change nothing for a group."""
_GROUP: Final = i8(0)
_PORT_MAX: Final = 65_535


def request(asked: Endpoint, group: str) -> Request[Endpoint]:
    """The coordinator's address on the listener that is asked, with the security of that listener."""
    return Request(api=API, build=lambda _: message(group), read=lambda response: _read(response, asked, group))


def message(group: str) -> FindCoordinatorRequest:
    """Ask for the coordinator of one group (ValueError for a name that Kafka cannot have)."""
    return FindCoordinatorRequest(key_type=_GROUP, coordinator_keys=(group_name(group),))


def _read(response: ResponsePayload, asked: Endpoint, group: str) -> Endpoint:
    answer = typed(response, FindCoordinatorResponse)
    if [row.key for row in answer.coordinators] != [group]:
        raise ValueError(f"group {group} was asked for, {len(answer.coordinators)} other coordinators are listed")
    (row,) = answer.coordinators
    accept(row.error_code, row.error_message)
    if not row.host or not 0 < row.port <= _PORT_MAX:
        raise ValueError(f"the coordinator of group {group} has no address")
    node_id = NodeID(at_least(0, "the coordinator's id", row.node_id))
    return replace(asked, node_id=node_id, host=row.host, port=int(row.port), name="")
