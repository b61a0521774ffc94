"""A server's half of TLS over bytes: a test decides what is sent after which step, and every alert leaves."""

import asyncio
import contextlib
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, TypeVar

from tests.serving import serving
from tests.wire.fakes import FakeServer

_CHUNK: Final = 16 * 1024
A = TypeVar("A")


@dataclass(slots=True)
class Peer:
    """One connection of a server."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    context: ssl.SSLContext | None = None
    incoming: ssl.MemoryBIO = field(default_factory=ssl.MemoryBIO)
    outgoing: ssl.MemoryBIO = field(default_factory=ssl.MemoryBIO)
    _tls: ssl.SSLObject | None = None

    @property
    def tls(self) -> ssl.SSLObject:
        """Begins when it is used first."""
        if self._tls is None:
            assert self.context is not None
            self._tls = self.context.wrap_bio(self.incoming, self.outgoing, server_side=True)
        return self._tls

    async def send(self, data: bytes) -> None:
        """Sends bytes as they are."""
        self.writer.write(data)
        await self.writer.drain()

    async def flush(self) -> None:
        """Sends what TLS has to say."""
        if self.outgoing.pending:
            await self.send(self.outgoing.read())

    async def handshake(self) -> None:
        """The whole handshake (SSLError, after its alert was sent)."""
        await self._until(self.tls.do_handshake)

    async def read(self) -> bytes:
        """Some bytes of the client, deciphered; none at its end."""
        return await self._until(lambda: self.tls.read(_CHUNK))

    async def write(self, data: bytes) -> None:
        """Sends bytes, enciphered."""
        await self._until(lambda: self.tls.write(data))

    async def first_flight(self) -> bytes:
        """What the server sends after the client's first message, which is not sent."""
        with contextlib.suppress(ssl.SSLWantReadError):
            self.tls.do_handshake()
        self.incoming.write(await self.reader.read(_CHUNK))
        with contextlib.suppress(ssl.SSLWantReadError):
            self.tls.do_handshake()
        return self.outgoing.read()

    async def request(self) -> bytes:
        """A whole request of Kafka's form, without its length."""
        received = b""
        while len(received) < 4 or len(received) < 4 + struct.unpack_from(">i", received)[0]:
            data = await self.read()
            if not data:
                raise ConnectionResetError
            received += data
        return received[4:]

    async def answer(self) -> None:
        """Answers requests for versions until the client ends."""
        fake = FakeServer()
        while True:
            reply = fake.versions(await self.request())
            assert isinstance(reply, bytes)
            await self.write(reply)

    async def wait(self) -> None:
        """Is silent until the client ends."""
        while await self.reader.read(_CHUNK):
            pass

    async def _until(self, step: Callable[[], A]) -> A:
        while True:
            try:
                done = step()
            except ssl.SSLWantReadError:
                await self.flush()
                data = await self.reader.read(_CHUNK)
                if not data:
                    raise ConnectionResetError from None
                self.incoming.write(data)
            except ssl.SSLError:
                await self.flush()
                raise
            else:
                await self.flush()
                return done


Script = Callable[[Peer], Awaitable[None]]


async def honest(peer: Peer) -> None:
    """A server as it should be."""
    await peer.handshake()
    await peer.answer()


@asynccontextmanager
async def peers(script: Script, context: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """The port of a server that runs the script for each connection, all of which end with it."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await script(Peer(reader, writer, context))

    async with serving(serve) as port:
        yield port
