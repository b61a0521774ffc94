"""ControllerRegistration (70): what a controller supports, as it reports itself when it starts (KIP-919).

The operator sends it in place of a controller that is removed, so that the old registration blocks nothing.
"""

import uuid
from typing import Final

from kio.schema.controller_registration.v0 import request as controller_registration
from kio.schema.controller_registration.v0.response import ControllerRegistrationResponse
from kio.static.primitive import i16
from kio.static.protocol import ResponsePayload

from kafka_quorum.model.ids import uuid_to_bytes
from kafka_quorum.model.quorum import RegisterController
from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.request import Request, accept, typed
from kafka_quorum.wire.values import int16, int32, port_number

API: Final = Api(key=70, name="ControllerRegistration", ours=VersionRange(low=0, high=0), effect=Effect.WRITES)
"""There is one version, in every release since 3.7."""
PLAINTEXT: Final = 0


def request(body: RegisterController) -> Request[None]:
    """Register a controller, at the active one."""
    return Request(api=API, build=lambda _: message(body), read=_read)


def _read(response: ResponsePayload) -> None:
    answer = typed(response, ControllerRegistrationResponse)
    accept(answer.error_code, answer.error_message)


def message(request: RegisterController) -> controller_registration.ControllerRegistrationRequest:
    """KIP-919's request. Its security protocol is PLAINTEXT, because no process connects to a removed controller."""
    listeners = tuple(
        controller_registration.Listener(
            name=row.name, host=row.host, port=port_number(row.port), security_protocol=i16(PLAINTEXT)
        )
        for row in request.listeners
    )
    features = tuple(
        controller_registration.Feature(
            name=row.name,
            min_supported_version=int16(f"level of {row.name}", row.min_level),
            max_supported_version=int16(f"level of {row.name}", row.max_level),
        )
        for row in request.supported
    )
    return controller_registration.ControllerRegistrationRequest(
        controller_id=int32("node id", request.node_id),
        incarnation_id=uuid.UUID(bytes=uuid_to_bytes(request.incarnation_id)),
        zk_migration_ready=False,
        listeners=listeners,
        features=features,
    )
