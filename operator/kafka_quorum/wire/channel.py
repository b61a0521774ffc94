"""One connection to one server: the socket under a `Conversation`.

The only decision here is when a connection is finished: on the first error, on the end of the stream, and when a caller
stops waiting for an answer (deadline or cancellation). A finished channel is never used again.
"""

import asyncio
import ssl
from collections.abc import Callable
from typing import cast

from kafka_quorum.wire.bounds import MAX_ANSWER_BYTES
from kafka_quorum.wire.frame import Conversation, FrameError, State
from kafka_quorum.wire.tls import tls_words


class ChannelLostError(Exception):
    """The connection ended before the answer was complete. The text is one clause, to be put into a sentence."""


class Channel(asyncio.Protocol):
    """asyncio calls the methods with its own names; other callers use `open_channel` and `ask`."""

    def __init__(self) -> None:
        """Begin without a transport; asyncio supplies it."""
        self._conversation = Conversation()
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[bytes] | None = None

    @property
    def usable(self) -> bool:
        """Whether a request can be sent now: connected, nothing outstanding, no error so far."""
        return (
            self._conversation.state is State.IDLE and self._transport is not None and not self._transport.is_closing()
        )

    async def ask(self, encode: Callable[[int], bytes], max_answer_bytes: int = MAX_ANSWER_BYTES) -> bytes:
        """Send the result of `encode` for the correlation id, and wait for the whole answer.

        Raises FrameError and ChannelLostError, and the errors of `encode`. Only on a usable channel, one at a time.
        """
        if self._transport is None or not self.usable:
            raise ChannelLostError("the connection was closed")
        message = encode(self._conversation.next_correlation_id)
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(self._conversation.ask(message, max_answer_bytes))
        try:
            return await self._answer
        finally:
            self._answer = None
            if self._conversation.state is not State.IDLE:
                self.abort()

    def abort(self) -> None:
        """Close at once, without flushing: no further answer of this server is needed."""
        self._conversation.abandon()
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio: the transport is ready."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Called by asyncio: some bytes arrived."""
        try:
            answer = self._conversation.receive(data)
        except FrameError as error:
            self._fail(error)
            self.abort()
            return
        if answer is not None and self._answer is not None and not self._answer.done():
            self._answer.set_result(answer)

    def connection_lost(self, error: Exception | None) -> None:
        """Called by asyncio: the connection has ended."""
        self._conversation.abandon()
        self._fail(ChannelLostError(_words(error)))

    def _fail(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)


def _words(error: Exception | None) -> str:
    """Why the connection ended. With TLS 1.3 a server refuses a client's certificate after the handshake."""
    if error is None:
        return "the server closed the connection"
    return tls_words(error) if isinstance(error, ssl.SSLError) else f"the connection broke ({error})"


async def open_channel(
    host: str,
    port: int,
    *,
    tls: ssl.SSLContext | None = None,
    name: str = "",
) -> Channel:
    """Connect (OSError); the caller sets the deadline. With TLS, the certificate must have `name`, or `host`."""
    wanted = None if tls is None or not name else name
    loop = asyncio.get_running_loop()
    _, channel = await loop.create_connection(Channel, host, port, ssl=tls, server_hostname=wanted)
    return channel
