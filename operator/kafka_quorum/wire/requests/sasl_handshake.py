"""SaslHandshake 1 (17): which mechanism follows; from version 1 on its messages go as SaslAuthenticate (KIP-152)."""

from typing import Final

from kio.schema.errors import ErrorCode
from kio.schema.sasl_handshake.v1.request import SaslHandshakeRequest
from kio.schema.sasl_handshake.v1.response import SaslHandshakeResponse
from kio.static.protocol import ResponsePayload

from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.bounds import MAX_ROWS, Bound
from kafka_quorum.wire.request import typed

API: Final = Api(
    key=17,
    name="SaslHandshake",
    ours=VersionRange(low=1, high=1),
    effect=Effect.READS,
    server="server",
    lists={(SaslHandshakeResponse, "mechanisms"): Bound(count=MAX_ROWS, plural="mechanisms")},
)


def message(mechanism: str) -> SaslHandshakeRequest:
    """Ask to authenticate with this mechanism."""
    return SaslHandshakeRequest(mechanism=mechanism)


def read(response: ResponsePayload) -> tuple[ErrorCode, tuple[str, ...]]:
    """The error code, and the mechanisms that the listener has (ValueError)."""
    answer = typed(response, SaslHandshakeResponse)
    return answer.error_code, tuple(answer.mechanisms)
