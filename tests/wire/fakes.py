"""A server on loopback that answers as badly as a test requires."""

import asyncio
import io
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum, auto

from kio.schema.api_versions.v4.response import ApiVersion, ApiVersionsResponse
from kio.schema.errors import ErrorCode
from kio.serial import entity_writer
from kio.static.primitive import i16, i32Timedelta
from kio.static.protocol import ResponsePayload
from tests.serving import HOST, serving

from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.wire.requests.api_versions import API as API_VERSIONS

ALL_VERSIONS = {
    2: (1, 11),
    3: (0, 13),
    9: (1, 10),
    10: (0, 6),
    15: (0, 6),
    16: (0, 5),
    18: (0, 5),
    32: (1, 4),
    35: (1, 5),
    43: (0, 2),
    44: (0, 1),
    45: (0, 1),
    46: (0, 0),
    50: (0, 0),
    51: (0, 0),
    55: (0, 2),
    57: (0, 2),
    60: (0, 2),
    64: (0, 0),
    70: (0, 0),
    75: (0, 0),
    80: (0, 1),
    81: (0, 0),
    89: (0, 0),
    94: (0, 0),
}


class Do(Enum):
    """What a server can do in place of an answer."""

    CLOSE = auto()
    NOTHING = auto()


Reply = bytes | Do
Script = Callable[[bytes], Reply]
"""From a request without its length to the bytes to send, with their length."""


def framed(answer: bytes) -> bytes:
    """With the length in front."""
    return struct.pack(">i", len(answer)) + answer


def answer_to(request: bytes, response: ResponsePayload) -> bytes:
    """A complete answer: length, header with the request's correlation id, body."""
    flexible_header = response.__header_schema__.__flexible__
    body = io.BytesIO()
    entity_writer(type(response))(body, response)
    return framed(request[4:8] + (b"\x00" if flexible_header else b"") + body.getvalue())


def api_versions(ranges: dict[int, tuple[int, int]], error: ErrorCode = ErrorCode.none) -> ApiVersionsResponse:
    """An answer that offers these versions."""
    rows = tuple(
        ApiVersion(api_key=i16(key), min_version=i16(low), max_version=i16(high)) for key, (low, high) in ranges.items()
    )
    return ApiVersionsResponse(error_code=error, api_keys=rows, throttle_time=i32Timedelta.parse(timedelta(0)))


@dataclass(slots=True)
class FakeServer:
    """Answers ApiVersions by `versions` and everything else by `script`; counts connections and requests."""

    script: Script = field(default=lambda _: Do.NOTHING)
    versions: Script = field(default=lambda request: answer_to(request, api_versions(ALL_VERSIONS)))
    connections: int = 0
    requests: list[bytes] = field(default_factory=list)
    endpoint: Endpoint = field(default_factory=lambda: Endpoint(node_id=NodeID(3000), host=HOST, port=0))
    _writers: list[asyncio.StreamWriter] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one connection to its end."""
        self.connections += 1
        self._writers.append(writer)
        while True:
            (length,) = struct.unpack(">i", await reader.readexactly(4))
            request = await reader.readexactly(length)
            self.requests.append(request)
            is_negotiation = int.from_bytes(request[:2], "big") == API_VERSIONS.key
            reply = (self.versions if is_negotiation else self.script)(request)
            if reply is Do.CLOSE:
                return
            if isinstance(reply, bytes):
                writer.write(reply)

    def say(self, data: bytes) -> None:
        """Sends bytes on every connection, requested or not."""
        for writer in self._writers:
            writer.write(data)

    def hang_up(self) -> None:
        """Closes every connection."""
        for writer in self._writers:
            writer.close()

    @property
    def api_keys(self) -> list[int]:
        """The api keys of the requests, in order."""
        return [int.from_bytes(request[:2], "big") for request in self.requests]


async def until(condition: Callable[[], bool]) -> None:
    """Lets the loop run until this holds (TimeoutError)."""
    async with asyncio.timeout(10.0):
        while not condition():  # noqa: ASYNC110 - what is waited for happens in a socket, not in a task of ours
            await asyncio.sleep(0.001)


@asynccontextmanager
async def running(server: FakeServer) -> AsyncIterator[FakeServer]:
    """Listens on a free port of loopback."""
    async with serving(server.serve) as port:
        server.endpoint = Endpoint(node_id=NodeID(3000), host=HOST, port=port)
        yield server
