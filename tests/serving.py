"""A server on loopback for tests, whose connections all end before the test does.

The event loop of a test ends with it, and a connection that is still open then is found by the garbage collection of
any later test, which fails.
"""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

HOST: Final = "127.0.0.1"
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
_TURNS: Final = 5
"""So many turns of the event loop, and each connection that was accepted has begun to be served."""


@contextlib.asynccontextmanager
async def serving(serve: Serve, context: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """The port of a server that serves each connection so, until the client or the test ends."""
    talks: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        talks[task] = writer
        try:
            with contextlib.suppress(asyncio.IncompleteReadError, OSError):  # an SSLError is one
                await serve(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(talk, HOST, 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        for task, writer in talks.items():
            task.cancel()
            writer.transport.abort()
        ended = await asyncio.gather(*talks, return_exceptions=True)
        for writer in talks.values():
            with contextlib.suppress(OSError):
                await writer.wait_closed()
        await server.wait_closed()
    for found in ended:
        if isinstance(found, Exception):
            raise found
