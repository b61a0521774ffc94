"""How a connection is secured, by the security of its endpoint."""

import ssl
from typing import assert_never

from kafka_quorum.model.security import Plaintext, Security


def tls_of(security: Security) -> ssl.SSLContext | None:
    """What asyncio needs to open a connection; None for one without TLS."""
    match security:
        case Plaintext():
            return None
    assert_never(security)
