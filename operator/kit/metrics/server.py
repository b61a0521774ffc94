"""The HTTP server from which metrics are scraped: `GET /metrics`, plain text, in the format that the client asks for.

A scrape takes little of the event loop: there it only copies references. A thread makes the text, one scrape at a time,
and its answer is used again for a second. So any number of clients costs one text a second.
"""

import asyncio
import gzip
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, cast

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from kit.metrics.library import Gauges
from kit.metrics.series import ResourceSeries, Text

KEPT_S: Final = 1.0
"""For how long an answer is used again."""
ANSWERS_MAX: Final = 8
"""How many answers may be under way at once: a client that reads slowly keeps its answer in memory."""
ANSWER_S: Final = 30.0
"""In this time an answer must have been read."""
CONNECTIONS_MAX: Final = 64
"""How many connections may be open at once: each is an open file, and the operator needs those for itself."""
FIRST_REQUEST_S: Final = 10.0
"""In this time a new connection must have sent a whole request."""
_ACCEPTED: Final = {True: "application/openmetrics-text;version=1.0.0", False: "text/plain;version=0.0.4"}
_END: Final = b"# EOF\n"
_COMPRESSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A scrape: the text, the same compressed, and its content type."""

    text: bytes
    packed: bytes
    content_type: str
    made_s: float


class Scrape:
    """Makes the answers."""

    def __init__(self, registry: CollectorRegistry, gauges: Sequence[Gauges], series: Sequence[ResourceSeries]) -> None:
        """`registry` has the metrics of the process, with `gauges` in it; `series` are those of resources."""
        self._registry = registry
        self._gauges = tuple(gauges)
        self._series = tuple(series)
        self._turn = asyncio.Lock()
        self._last: dict[bool, Answer] = {}

    async def answer(self, accept: str) -> Answer:
        """The answer for a client with this header `Accept`; at most `KEPT_S` old."""
        _, content_type = choose_encoder(accept)
        openmetrics = content_type.startswith("application/openmetrics-text")
        async with self._turn:
            last = self._last.get(openmetrics)
            if last is None or time.monotonic() - last.made_s >= KEPT_S:
                last = self._last[openmetrics] = await self._made(openmetrics=openmetrics)
                asyncio.get_running_loop().call_later(KEPT_S, self._drop, openmetrics, last)
            return last

    def _drop(self, openmetrics: bool, old: Answer) -> None:  # noqa: FBT001 - a callback of the event loop
        """Free the memory of an answer that is not used again."""
        if self._last.get(openmetrics) is old:
            del self._last[openmetrics]

    async def _made(self, *, openmetrics: bool) -> Answer:
        for gauges in self._gauges:
            gauges.take()
        taken = tuple(each.taken() for each in self._series)
        return await asyncio.to_thread(self._text, taken, openmetrics=openmetrics)

    def _text(self, taken: Sequence[Text], *, openmetrics: bool) -> Answer:
        encode, content_type = choose_encoder(_ACCEPTED[openmetrics])
        own = encode(self._registry).removesuffix(_END)
        lines = "".join(line for text in taken for line in text(openmetrics)).encode()
        text = own + lines + (_END if openmetrics else b"")
        packed = gzip.compress(text, compresslevel=_COMPRESSION)
        return Answer(text=text, packed=packed, content_type=content_type, made_s=time.monotonic())


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The running HTTP server. `port` is where it listens; `close` ends it."""

    port: int
    close: Callable[[], Awaitable[None]]


async def serve(port: int, scrape: Scrape) -> Server:
    """Answer `/metrics` on every address of this machine; port 0 is any free one. OSError if it is not free."""
    room = asyncio.Semaphore(ANSWERS_MAX)
    silent = set[asyncio.BaseProtocol]()
    """New connections that have not sent a whole request."""
    loop = asyncio.get_running_loop()

    async def answer(request: web.Request) -> web.StreamResponse:
        silent.discard(request.protocol)
        if room.locked():
            text = f"{ANSWERS_MAX} scrapes are being answered already: try again later\n"
            return web.Response(status=503, text=text, headers={"Retry-After": "10"})
        async with room:
            return await _answered(request, scrape)

    app = web.Application()
    app.router.add_get("/metrics", answer, allow_head=False)
    runner = web.AppRunner(app, handle_signals=False, shutdown_timeout=1.0, access_log=None)
    await runner.setup()
    handlers = cast("web.Server", runner.server)

    def admitted() -> asyncio.BaseProtocol:
        if len(handlers.connections) >= CONNECTIONS_MAX:
            return _Refused()
        made = handlers()
        silent.add(made)
        loop.call_later(FIRST_REQUEST_S, end, made)
        return made

    def end(connection: web.RequestHandler) -> None:
        if connection in silent:
            silent.discard(connection)
            connection.force_close()

    listening = await loop.create_server(admitted, "0.0.0.0", port)  # noqa: S104 - Prometheus asks from elsewhere

    async def close() -> None:
        listening.close()
        await runner.cleanup()

    return Server(port=int(listening.sockets[0].getsockname()[1]), close=close)


class _Refused(asyncio.Protocol):
    """A connection for which there is no room."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Close it at once."""
        transport.close()


async def _answered(request: web.Request, scrape: Scrape) -> web.StreamResponse:
    """Write the answer; the connection of a client that does not read it in time is closed."""
    made = await scrape.answer(request.headers.get("Accept", ""))
    headers = {"Content-Type": made.content_type, "Vary": "Accept, Accept-Encoding"}
    packed = "gzip" in request.headers.get("Accept-Encoding", "")
    response = web.Response(
        body=made.packed if packed else made.text,
        headers=headers | ({"Content-Encoding": "gzip"} if packed else {}),
    )
    try:
        async with asyncio.timeout(ANSWER_S):
            await response.prepare(request)
            await response.write_eof()
    except TimeoutError:
        if request.transport is not None:
            request.transport.abort()
    return response
