"""How a connection is secured, by the security of its endpoint."""

import ssl
from typing import Final, assert_never
from weakref import WeakKeyDictionary

from kafka_quorum.model.security import Plaintext, Sasl, Secured, Security, Tls
from kafka_quorum.wire.tls import client_context

_HIDDEN: Final = "***"
_CONTEXTS: Final = WeakKeyDictionary[Tls, tuple[int, ssl.SSLContext]]()
"""The context of each `Tls` that is in use, with its `bundles`: to read keys takes longer than to connect.

All connections to one quorum share it. Like its key, it is gone when nothing uses that `Tls` any more.
"""


def tls_of(security: Security) -> ssl.SSLContext | None:
    """What asyncio needs to open a connection (`Malformed`); None for one without TLS."""
    match security:
        case Plaintext():
            return None
        case Secured():
            return None if security.tls is None else _context(security.tls)
    assert_never(security)


def _context(tls: Tls) -> ssl.SSLContext:
    bundles, context = _CONTEXTS.get(tls, (0, None))
    if context is None or bundles != tls.bundles:
        context = client_context(tls.ca, tls.certificate, tls.key, tls.bundles)
        _CONTEXTS[tls] = tls.bundles, context
    return context


def sasl_of(security: Security) -> Sasl | None:
    """Who authenticates once the connection is open; None for nobody."""
    return security.sasl if isinstance(security, Secured) else None


def without_secrets(security: Security, words: str | None) -> str | None:
    """A server's words, without the password that it was sent: it could repeat it in any error message."""
    sasl = sasl_of(security)
    return words if words is None or sasl is None else words.replace(sasl.password, _HIDDEN)
