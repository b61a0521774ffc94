"""UnregisterController (94): forget one controller's registration. Kafka has it since 4.4, and kio does not.

So its messages are classes in kio's form here, with the fields and the order of Kafka's own
`UnregisterControllerRequest.json` and `UnregisterControllerResponse.json`. The error code is a plain number, because
kio lacks the one that matters here.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Final

from kio.schema.errors import ErrorCode
from kio.schema.request_header.v2.header import RequestHeader
from kio.schema.response_header.v1.header import ResponseHeader
from kio.static.constants import EntityType
from kio.static.primitive import i16, i32, i32Timedelta
from kio.static.protocol import ResponsePayload

from kafka_quorum.model.ids import NodeID
from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.request import Request, accept, typed
from kafka_quorum.wire.values import int32

CONTROLLER_ID_NOT_REGISTERED: Final = 136


@dataclass(frozen=True, slots=True, kw_only=True)
class UnregisterControllerRequest:
    """Version 0: forget one controller's registration."""

    __type__: ClassVar = EntityType.request
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(94)
    __header_schema__: ClassVar[type[RequestHeader]] = RequestHeader
    controller_id: i32 = field(metadata={"kafka_type": "int32"})
    """The controller ID to unregister."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnregisterControllerResponse:
    """Version 0: an error code and Kafka's words for it."""

    __type__: ClassVar = EntityType.response
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(94)
    __header_schema__: ClassVar[type[ResponseHeader]] = ResponseHeader
    throttle_time: i32Timedelta = field(metadata={"kafka_type": "timedelta_i32"})
    """How long the request was throttled because of a quota."""
    error_code: i16 = field(metadata={"kafka_type": "int16"})
    """The error code, or 0 if there was no error."""
    error_message: str | None = field(metadata={"kafka_type": "string"})
    """The error message, or null if there was no error."""


API: Final = Api(
    key=94,
    name="UnregisterController",
    ours=VersionRange(low=0, high=0),
    effect=Effect.WRITES,
    own={0: (UnregisterControllerRequest, UnregisterControllerResponse)},
)
"""4.4 and later support it; an older server has no version of it, and nothing is sent to it."""


def request(node_id: NodeID) -> Request[None]:
    """Forget a controller, at the active one; one that is not registered is a success."""
    return Request(api=API, build=lambda _: message(node_id), read=_read)


def _read(response: ResponsePayload) -> None:
    answer = typed(response, UnregisterControllerResponse)
    if answer.error_code != CONTROLLER_ID_NOT_REGISTERED:
        accept(ErrorCode(answer.error_code), answer.error_message)


def message(node_id: NodeID) -> UnregisterControllerRequest:
    """Ask to forget a controller; Kafka has it since 4.4."""
    return UnregisterControllerRequest(controller_id=int32("node id", node_id))
