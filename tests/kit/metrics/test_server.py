"""The server of metrics: formats, methods, and bounds on what clients can cost."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web
from prometheus_client import Counter
from tests.clocks import MovingClock
from tests.kit.metrics.scraped import of, samples
from tests.kit.metrics.test_series import SIZE, A

from kit.metrics import server as module
from kit.metrics.library import registry
from kit.metrics.series import ResourceSeries, Text
from kit.metrics.server import ANSWERS_MAX, CONNECTIONS_MAX, Answer, Scrape, serve

OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"


class World:
    """A server, and what it serves: one counter of the process, and one widget."""

    def __init__(self) -> None:
        """Not started yet."""
        own = registry()
        self.counter = Counter("widget_calls_total", "How often it was called.", registry=own)
        self.series = ResourceSeries((SIZE,), MovingClock(), lambda: True)
        self.series.put(A, [(SIZE, (), 5)], ())
        self.scrape = Scrape(own, (), (self.series,))
        self.port = 0

    @property
    def url(self) -> str:
        """Where it is scraped."""
        return f"http://127.0.0.1:{self.port}/metrics"


@asynccontextmanager
async def running() -> AsyncIterator[World]:
    """A world whose server runs."""
    world = World()
    server = await serve(0, world.scrape)
    world.port = server.port
    try:
        yield world
    finally:
        await server.close()


async def test_the_client_chooses_the_format() -> None:
    """Prometheus gets OpenMetrics, anybody else the text format; both have the process and the resources."""
    async with running() as world, aiohttp.ClientSession() as session:
        for accept, kind in ((OPENMETRICS, "application/openmetrics-text"), ("", "text/plain")):
            async with session.get(world.url, headers={"Accept": accept}) as answer:
                text = await answer.text()
                assert (answer.status, answer.content_type) == (200, kind)
            found = samples(text, openmetrics="openmetrics" in kind)
            assert of(found, "widget_calls_total") == [0.0]
            assert of(found, "widget_size_bytes", namespace="ns", widget="a") == [5.0]
            assert of(found, "process_start_time_seconds")
            assert text.endswith("# EOF\n") == ("openmetrics" in kind)


async def test_an_answer_is_compressed_if_the_client_can_read_it() -> None:
    """With gzip and without, the text is the same."""
    async with running() as world, aiohttp.ClientSession(auto_decompress=True) as session:
        texts = []
        for encoding in ("gzip", "identity"):
            async with session.get(world.url, headers={"Accept-Encoding": encoding}) as answer:
                texts.append(await answer.text())
                assert answer.headers.get("Content-Encoding", "identity") == encoding
        assert texts[0] == texts[1]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "PATCH"])
async def test_only_get_is_answered(method: str) -> None:
    """No other method does anything, and no other path exists."""
    async with running() as world, aiohttp.ClientSession() as session:
        async with session.request(method, world.url, data=b"x" * 1000) as answer:
            assert answer.status == 405
        async with session.get(world.url.replace("/metrics", "/")) as answer:
            assert answer.status == 404


async def test_many_clients_cost_one_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scrapes within a second get the same text, which is made once for each format."""
    made: list[bool] = []
    real = Scrape._text

    def counted(self: Scrape, taken: Sequence[Text], *, openmetrics: bool) -> Answer:
        made.append(openmetrics)
        return real(self, taken, openmetrics=openmetrics)

    monkeypatch.setattr(Scrape, "_text", counted)
    monkeypatch.setattr(module, "KEPT_S", 600.0)
    world = World()
    answers = await asyncio.gather(*(world.scrape.answer("" if each % 2 else OPENMETRICS) for each in range(40)))
    assert sorted(made) == [False, True]
    assert len({answer.text for answer in answers}) == 2


async def test_the_next_text_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """After that time a scrape has the present values, and the old text is not kept."""
    monkeypatch.setattr(module, "KEPT_S", 0.0)
    world = World()
    await world.scrape.answer("")
    world.series.put(A, [(SIZE, (), 6)], ())
    answer = await world.scrape.answer("")
    assert of(samples(answer.text.decode()), "widget_size_bytes") == [6.0]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert world.scrape._last == {}


async def test_too_many_scrapes_at_once_are_refused() -> None:
    """While as many answers are under way as there may be, a further client is told to come later."""
    async with running() as world, aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        async with asyncio.timeout(20), world.scrape._turn:
            waiting = [asyncio.create_task(session.get(world.url)) for _ in range(ANSWERS_MAX + 3)]
            for ended in itertools.islice(asyncio.as_completed(waiting), 3):
                answer = await ended
                assert (answer.status, answer.headers["Retry-After"]) == (503, "10")
        answers = [await each for each in waiting]
        assert sorted(answer.status for answer in answers) == [200] * ANSWERS_MAX + [503] * 3
        for answer in answers:
            answer.release()


async def test_a_client_that_does_not_read_loses_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that is not read in time is given up, so that it does not stay in memory."""
    given_up, real = asyncio.Event(), module._answered

    async def answered(request: web.Request, scrape: Scrape) -> web.StreamResponse:
        try:
            return await real(request, scrape)
        finally:
            given_up.set()

    monkeypatch.setattr(module, "ANSWER_S", 0.05)
    monkeypatch.setattr(module, "_answered", answered)
    async with running() as world:
        world.counter._documentation = "x" * 30_000_000
        reader, writer = await asyncio.open_connection("127.0.0.1", world.port, limit=1024)
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        async with asyncio.timeout(60):
            await given_up.wait()
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await reader.readexactly(30_000_000)
        writer.close()


async def test_connections_without_a_request_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections beyond the limit are closed at once, and those that send no whole request after a time."""
    monkeypatch.setattr(module, "FIRST_REQUEST_S", 1.0)
    async with running() as world, aiohttp.ClientSession() as session:
        pairs = [await asyncio.open_connection("127.0.0.1", world.port) for _ in range(CONNECTIONS_MAX + 3)]
        pairs[0][1].write(b"GET /metrics HTTP/1.1\r\nHost: x\r\n")  # half a request
        async with asyncio.timeout(60):
            assert [await reader.read() for reader, _ in pairs[CONNECTIONS_MAX:]] == [b""] * 3
            assert [await reader.read() for reader, _ in pairs[:CONNECTIONS_MAX]] == [b""] * CONNECTIONS_MAX
            async with session.get(world.url) as answer:
                assert answer.status == 200
        for _, writer in pairs:
            writer.close()
            await writer.wait_closed()


async def test_a_connection_that_asked_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that sent a request keeps its connection for the next one."""
    monkeypatch.setattr(module, "FIRST_REQUEST_S", 0.2)
    request = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
    async with running() as world:
        reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
        async with asyncio.timeout(60):
            writer.write(request)
            assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
            loop = asyncio.get_running_loop()
            passed = loop.create_future()
            loop.call_later(0.4, passed.set_result, None)  # after the limit of a first request
            await passed
            length = next(
                int(line.split(b":")[1])
                for line in (await reader.readuntil(b"\r\n\r\n")).splitlines()
                if line.lower().startswith(b"content-length")
            )
            await reader.readexactly(length)
            writer.write(request)
            assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        writer.close()
