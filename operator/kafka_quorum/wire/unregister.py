"""UnregisterController (94) as classes of kio's kind: Kafka has it since 4.4, and kio does not.

The fields and their order are those of Kafka's own `UnregisterControllerRequest.json` and
`UnregisterControllerResponse.json`. The error code is a plain number: the one that matters here is not in kio either.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from kio.schema.request_header.v2.header import RequestHeader
from kio.schema.response_header.v1.header import ResponseHeader
from kio.static.constants import EntityType
from kio.static.primitive import i16, i32, i32Timedelta

CONTROLLER_ID_NOT_REGISTERED = 136


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
