"""Probe a listener: a handshake of TLS with the endpoint's security, then one ApiVersions on the same connection.

The handshake shows the served chain. The answer to the request shows whether the client's certificate is accepted:
with TLS 1.3 a server refuses it after the handshake. So the same listener is probed with a leaf of one authority and
with one of another to see which of them it trusts now. ApiVersions is answered before a user is authenticated, and to
every principal: the probe says nothing about SASL and rights.

TLS runs over bytes here, not inside of asyncio. So each failure has its own name, the chain can be read, every byte is
counted, and no server can keep the event loop busy with what its certificates cost.
"""

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from kafka_quorum.errors import KafkaError, KafkaRefused
from kafka_quorum.model.handshakes import Certificate, Failure, Handshake, NotServed, Served, of_all_threads
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.security import PLAINTEXT
from kafka_quorum.wire import codec
from kafka_quorum.wire.apart import aside
from kafka_quorum.wire.chain import read_chain
from kafka_quorum.wire.connection import Connection, Limits
from kafka_quorum.wire.frame import Conversation, FrameError
from kafka_quorum.wire.requests import api_versions
from kafka_quorum.wire.security import tls_of
from kafka_quorum.wire.tls import failure_of, tls_words
from kit.parsing import Malformed, quoted

MAX_RECEIVED_BYTES: Final = 1024 * 1024
"""The limit of all that a server sends in one probe: a real one sends 5 kB. OpenSSL has lower ones for each message."""
TURNS: Final = 9
"""How many handshakes see each network thread: there are three by default, and other clients connect meanwhile."""
_CHUNK_BYTES: Final = 16 * 1024
_DER: Final = 2
"""`_ssl.ENCODING_DER`."""
A = TypeVar("A")


class _TooMuchError(Exception):
    """The server sent more than is read."""


class _EndedError(Exception):
    """The server closed the connection, and said no reason."""


async def probe(endpoint: Endpoint, limits: Limits | None = None) -> Handshake:
    """What the listener serves, and whether it answers a client with this security. Ends within twice both `limits`."""
    limits, context = limits or Limits(), _context(endpoint)
    return context if isinstance(context, NotServed) else await _probed(endpoint, limits, context)


async def _probed(endpoint: Endpoint, limits: Limits, context: ssl.SSLContext) -> Handshake:
    talk = _begun(endpoint, context)
    if isinstance(talk, NotServed):
        return talk
    why = await talk.connect(endpoint, limits.connect_timeout_s)
    if why is not None:
        return why
    try:
        found = await talk.run(endpoint, limits.request_timeout_s)
    finally:
        talk.writer.transport.abort()
    if isinstance(found, NotServed) and found.failure is Failure.ENDED and not talk.received:
        return await _without_tls(endpoint, limits) or found
    return found


async def probe_threads(endpoint: Endpoint, limits: Limits | None = None, *, turns: int = TURNS) -> Handshake:
    """As `probe`, of every network thread of the listener: Kafka gives them new connections in turn.

    With fewer `turns` some threads may not be seen.

    After a reload they serve the old and the new certificate side by side for a second, and one of them keeps the old
    one if the file changes meanwhile (measured on 4.4.0). The first failure ends it.
    """
    limits, context, found = limits or Limits(), _context(endpoint), list[Handshake]()
    if isinstance(context, NotServed):
        return context
    while len(found) < turns and (not found or isinstance(found[-1], Served)):
        found.append(await _probed(endpoint, limits, context))
    return of_all_threads(found)


def _context(endpoint: Endpoint) -> ssl.SSLContext | NotServed:
    """Our certificate and trust. It keeps no session, so that each connection with it has a handshake of its own."""
    try:
        context = tls_of(endpoint.security)
    except Malformed as error:
        return NotServed(failure=Failure.UNUSABLE, why=f"{error}; correct the Secret")
    return context or NotServed(failure=Failure.UNUSABLE, why="the endpoint has no TLS")


def _begun(endpoint: Endpoint, context: ssl.SSLContext) -> "_Talk | NotServed":
    """Our half of TLS, before anything is sent."""
    try:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing, server_hostname=endpoint.certified_name)
    except (ValueError, TypeError) as error:
        why = f"{quoted(endpoint.certified_name)} is no host name ({error})"
        return NotServed(failure=Failure.UNUSABLE, why=why)
    return _Talk(tls, incoming, outgoing)


async def _without_tls(endpoint: Endpoint, limits: Limits) -> NotServed | None:
    """Whether the listener has no TLS: Kafka closes a connection whose first bytes are not of its own protocol."""
    connection = Connection(endpoint=replace(endpoint, security=PLAINTEXT), limits=limits)
    try:
        await connection.call(api_versions.API, lambda _: api_versions.message())
    except KafkaRefused:
        pass  # it answered
    except KafkaError:
        return None
    finally:
        connection.close()
    return NotServed(failure=Failure.NO_TLS, why="it answers without TLS: correct the port, or the protocol")


@dataclass(slots=True)
class _Talk:
    """One connection: TLS between two buffers, and what the server has sent so far."""

    tls: ssl.SSLObject
    incoming: ssl.MemoryBIO
    outgoing: ssl.MemoryBIO
    received: int = 0
    reader: asyncio.StreamReader = field(init=False)
    writer: asyncio.StreamWriter = field(init=False)

    async def connect(self, at: Endpoint, within_s: float) -> NotServed | None:
        """Open the connection; None if it is open."""
        try:
            async with asyncio.timeout(within_s):
                self.reader, self.writer = await asyncio.open_connection(at.host, at.port, limit=_CHUNK_BYTES)
        except TimeoutError:
            return NotServed(failure=Failure.UNREACHABLE, why=f"no connection within {within_s:g} s")
        except OSError as error:
            return NotServed(failure=Failure.UNREACHABLE, why=f"no connection ({error.strerror or error})")
        except (ValueError, OverflowError) as error:
            return NotServed(failure=Failure.UNUSABLE, why=f"{quoted(at.host)} is no host, or no port ({error})")
        return None

    async def run(self, at: Endpoint, within_s: float) -> Handshake:
        """The handshake, then the request."""
        chain: tuple[Certificate, ...] = ()
        try:
            async with asyncio.timeout(within_s):
                await self._until(self.tls.do_handshake)
                chain = await aside(lambda: read_chain(_sent_chain(self.tls)))
                await self._ask()
                return Served(chain=chain, accepted=True)
        except TimeoutError:
            failure = Failure.HALF if self.received else Failure.SILENT
            why = f"its answer was not complete within {within_s:g} s"
        except ssl.SSLError as error:
            failure, why = failure_of(error), tls_words(error, at.certified_name)
        except _EndedError:
            failure, why = Failure.ENDED, "it closed the connection"
        except OSError as error:  # reset
            failure, why = Failure.ENDED, f"the connection broke ({error.strerror or error})"
        except (Malformed, FrameError, codec.CodecError) as error:
            failure, why = Failure.UNREADABLE, str(error)
        except _TooMuchError:
            failure, why = Failure.UNREADABLE, f"it sent more than {MAX_RECEIVED_BYTES} bytes"
        if not chain:
            return NotServed(failure=failure, why=why)
        return Served(chain=chain, accepted=False, refused=failure is Failure.CLIENT_REFUSED, why=why)

    async def _ask(self) -> None:
        """ApiVersions; every answer of Kafka's form counts, with any error code."""
        conversation = Conversation()
        message = codec.encode_request(api_versions.message(), conversation.next_correlation_id)
        asked = conversation.ask(message)
        await self._until(lambda: self.tls.write(asked))
        answer = None
        while answer is None:
            data = await self._until(lambda: self.tls.read(_CHUNK_BYTES))
            if not data:
                raise _EndedError
            answer = conversation.receive(data)
        codec.decode_api_versions(answer)

    async def _until(self, step: Callable[[], A]) -> A:
        """Do one step of TLS, which may need more bytes of the server."""
        while True:
            try:
                done = await aside(step)
            except ssl.SSLWantReadError:
                await self._flush()
                await self._receive()
            except ssl.SSLError:
                with contextlib.suppress(OSError):
                    await self._flush()  # our alert says why
                raise
            else:
                await self._flush()
                return done

    async def _receive(self) -> None:
        data = await self.reader.read(_CHUNK_BYTES)
        if not data:
            raise _EndedError
        self.received += len(data)
        if self.received > MAX_RECEIVED_BYTES:
            raise _TooMuchError
        self.incoming.write(data)

    async def _flush(self) -> None:
        if self.outgoing.pending:
            self.writer.write(self.outgoing.read())
            await self.writer.drain()


def _sent_chain(tls: ssl.SSLObject) -> list[bytes]:
    """Every certificate that the server sent, in DER, the leaf first. Python has a public way to it from 3.13 on."""
    public: Callable[[], list[bytes]] | None = getattr(tls, "get_unverified_chain", None)
    if public is not None:
        return list(public())
    inner: Any = tls._sslobj  # type: ignore[attr-defined]  # noqa: SLF001 - up to 3.12 it is this one, in another form
    return [bytes(each.public_bytes(_DER)) for each in inner.get_unverified_chain() or ()]
