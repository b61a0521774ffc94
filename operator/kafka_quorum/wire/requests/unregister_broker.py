"""UnregisterBroker (64), at the active controller: forget a broker's registration.

Kafka does not refuse it for a broker that runs or has replicas (measured): the caller must know that it is stopped and
empty.
"""

from typing import Final

from kio.schema.errors import ErrorCode
from kio.schema.types import BrokerId
from kio.schema.unregister_broker.v0.request import UnregisterBrokerRequest
from kio.schema.unregister_broker.v0.response import UnregisterBrokerResponse
from kio.static.protocol import ResponsePayload

from kafka_quorum.model.ids import NodeID
from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.request import Request, accept, typed
from kafka_quorum.wire.values import int32

API: Final = Api(key=64, name="UnregisterBroker", ours=VersionRange(low=0, high=0), effect=Effect.WRITES)


def request(node_id: NodeID) -> Request[None]:
    """Forget a broker; one that is not registered is a success."""
    return Request(api=API, build=lambda _: message(node_id), read=_read)


def _read(response: ResponsePayload) -> None:
    answer = typed(response, UnregisterBrokerResponse)
    if answer.error_code is not ErrorCode.broker_id_not_registered:
        accept(answer.error_code, answer.error_message)


def message(node_id: NodeID) -> UnregisterBrokerRequest:
    """Ask to forget a broker."""
    return UnregisterBrokerRequest(broker_id=BrokerId(int32("node id", node_id)))
