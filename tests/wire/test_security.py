"""The endpoint alone decides how a connection is secured."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest
from tests.serving import serving

from kafka_quorum.errors import KafkaError
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.security import PLAINTEXT, Plaintext, Security
from kafka_quorum.wire import connection
from kafka_quorum.wire.admin import KafkaControllers
from kafka_quorum.wire.connection import Limits
from kafka_quorum.wire.security import tls_of

TLS_HANDSHAKE = 0x16
"""The first byte of a connection with TLS; Kafka's own begins with the length of a message."""


@dataclass(frozen=True, slots=True)
class Secured(Plaintext):
    """Some security that needs TLS."""


@dataclass(slots=True)
class Listening:
    """A server that records the first byte of each connection, and closes it."""

    port: int = 0
    begun: list[int] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        """Serves one connection."""
        self.begun.append((await reader.readexactly(1))[0])


@asynccontextmanager
async def listening() -> AsyncIterator[Listening]:
    """Listens on loopback."""
    noted = Listening()
    async with serving(noted.serve) as noted.port:
        yield noted


async def test_two_endpoints_of_one_operator_are_secured_each_in_its_own_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quorums with different security are used side by side: each connection starts as its endpoint requires."""

    def by_kind(security: Security) -> ssl.SSLContext | None:
        return ssl.create_default_context() if isinstance(security, Secured) else tls_of(security)

    monkeypatch.setattr(connection, "tls_of", by_kind)
    controllers = KafkaControllers(Limits(connect_timeout_s=10.0, request_timeout_s=10.0))
    async with listening() as server:
        plain = Endpoint(node_id=NodeID(3000), host="127.0.0.1", port=server.port)
        secured = replace(plain, security=Secured())
        for endpoint in (plain, secured, plain):
            with pytest.raises(KafkaError):
                await controllers.api_versions(endpoint)
    await controllers.close()
    assert [byte == TLS_HANDSHAKE for byte in server.begun] == [False, True, False]


def test_plaintext_needs_no_tls() -> None:
    """The only present kind of security opens a connection without TLS."""
    assert tls_of(PLAINTEXT) is None
