"""A TCP proxy on loopback that can swallow what one Kafka server sends and receives, without closing a connection."""

import asyncio
import contextlib
import re
import struct
from dataclasses import dataclass, field

from tests.live.ports import HOST, free_port

_CLIENT_ID = slice(12, 14)
"""In a connection's first bytes: after length, api key, version and correlation id, the length of the client id."""


@dataclass(slots=True)
class Proxy:
    """Passes connections on to one port. Of a server that is cut off no byte passes in either direction."""

    target: int
    port: int = field(default_factory=free_port)
    _cut: set[int] = field(default_factory=set)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def open(self) -> None:
        """Listens."""
        self._server = await asyncio.start_server(self._serve, HOST, self.port)

    async def cut(self, node_id: int) -> None:
        """From now on no byte of this server passes."""
        await self._become({*self._cut, node_id})

    async def heal(self) -> None:
        """What was held is passed on."""
        await self._become(set())

    async def close(self) -> None:
        """Ends every connection."""
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _become(self, cut: set[int]) -> None:
        async with self._changed:
            self._cut = cut
            self._changed.notify_all()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        with contextlib.suppress(OSError, asyncio.CancelledError, asyncio.IncompleteReadError):
            first = await reader.readexactly(_CLIENT_ID.stop)
            first += await reader.readexactly(max(struct.unpack(">h", first[_CLIENT_ID])[0], 0))
            node_ids = {int(each) for each in re.findall(rb"\d+", first[_CLIENT_ID.stop :])}
            there, back = await asyncio.open_connection(HOST, self.target)
            try:
                back.write(first)
                async with asyncio.TaskGroup() as both:
                    both.create_task(self._pass(reader, back, node_ids))
                    both.create_task(self._pass(there, writer, node_ids))
            finally:
                back.close()
        writer.close()
        self._tasks.discard(task)

    async def _pass(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, node_ids: set[int]) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65_536):
                async with self._changed:
                    await self._changed.wait_for(lambda: not node_ids & self._cut)
                sink.write(data)
                await sink.drain()
        sink.close()
