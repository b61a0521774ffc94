"""Registrations without a process: the tests register controllers and brokers in their place."""

import uuid

from kio.schema.broker_registration.v4 import request as broker_registration
from kio.schema.broker_registration.v4.response import BrokerRegistrationResponse
from kio.schema.types import BrokerId
from kio.static.primitive import i16, u16
from tests.live.ports import HOST
from tests.live.quorum import LiveNode, new_uuid

from kafka_quorum.model.ids import ClusterID, NodeID
from kafka_quorum.model.quorum import FeatureRange, Listener, RegisterController
from kafka_quorum.wire import codec
from kafka_quorum.wire.channel import open_channel

_NOBODY = 1
"""A port where no Kafka listens."""


def registration(node_id: int, supported: tuple[FeatureRange, ...], listener: str = "CONTROLLER") -> RegisterController:
    """A controller with these ranges, at an address where none listens."""
    return RegisterController(
        node_id=NodeID(node_id),
        incarnation_id=new_uuid(),
        listeners=(Listener(name=listener, host=HOST, port=_NOBODY),),
        supported=supported,
    )


async def register_broker(
    active: LiveNode, cluster_id: ClusterID, broker_id: int, supported: tuple[FeatureRange, ...]
) -> str:
    """Registers a broker with these ranges, always fenced; returns Kafka's name of the error, `NONE` for success."""
    request = broker_registration.BrokerRegistrationRequest(
        broker_id=BrokerId(broker_id),
        cluster_id=cluster_id,
        incarnation_id=uuid.uuid4(),
        listeners=(
            broker_registration.Listener(name="PLAINTEXT", host=HOST, port=u16(_NOBODY), security_protocol=i16(0)),
        ),
        features=tuple(
            broker_registration.Feature(
                name=row.name,
                min_supported_version=i16(row.min_level),
                max_supported_version=i16(row.max_level),
            )
            for row in supported
        ),
        rack=None,
        log_dirs=(uuid.uuid4(),),
    )
    channel = await open_channel(HOST, active.port)
    answer = await channel.ask(lambda correlation_id: codec.encode_request(request, correlation_id))
    channel.abort()
    response = codec.decode_response(request.__api_key__, request.__version__, answer)
    assert isinstance(response, BrokerRegistrationResponse)
    return codec.error_name(response.error_code)
