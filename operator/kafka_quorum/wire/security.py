"""How a connection is secured, by the security of its endpoint."""

import ssl
from typing import Final, assert_never

from kafka_quorum.model.security import Plaintext, Sasl, Secured, Security
from kafka_quorum.wire.tls import client_context

_HIDDEN: Final = "***"


def tls_of(security: Security) -> ssl.SSLContext | None:
    """What asyncio needs to open a connection (`Malformed`); None for one without TLS."""
    match security:
        case Plaintext():
            return None
        case Secured():
            tls = security.tls
            return None if tls is None else client_context(tls.ca, tls.certificate, tls.key, tls.bundles)
    assert_never(security)


def sasl_of(security: Security) -> Sasl | None:
    """Who authenticates once the connection is open; None for nobody."""
    return security.sasl if isinstance(security, Secured) else None


def without_secrets(security: Security, words: str | None) -> str | None:
    """A server's words, without the password that it was sent: it could repeat it in any error message."""
    sasl = sasl_of(security)
    return words if words is None or sasl is None else words.replace(sasl.password, _HIDDEN)
