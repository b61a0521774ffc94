"""SaslAuthenticate 2 (36): one message of the mechanism, and the server's, with the session's lifetime (KIP-368)."""

from typing import Final

from kio.schema.errors import ErrorCode
from kio.schema.sasl_authenticate.v2.request import SaslAuthenticateRequest
from kio.schema.sasl_authenticate.v2.response import SaslAuthenticateResponse
from kio.static.protocol import ResponsePayload

from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.request import typed

API: Final = Api(
    key=36,
    name="SaslAuthenticate",
    ours=VersionRange(low=2, high=2),
    effect=Effect.READS,
    server="server",
)
"""2.5 and later."""


def message(data: bytes) -> SaslAuthenticateRequest:
    """Send one message of the mechanism."""
    return SaslAuthenticateRequest(auth_bytes=data)


def read(response: ResponsePayload) -> tuple[ErrorCode, bytes, float]:
    """The error code, the server's message, and for how many seconds the session lasts, 0 for ever (ValueError).

    The server's words are left out: it may know the password, and could repeat it there.
    """
    answer = typed(response, SaslAuthenticateResponse)
    lifetime_s = answer.session_lifetime.total_seconds()
    if lifetime_s < 0:
        raise ValueError(f"the session lasts {lifetime_s:g} s")
    return answer.error_code, answer.auth_bytes, lifetime_s
