"""A request to a server over TCP: its answer is read, and an answer that is not to this request is an error."""

import io
import socketserver
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from kio.schema.describe_client_quotas.v1 import response as v1
from kio.schema.errors import ErrorCode
from kio.schema.response_header.v1.header import ResponseHeader
from kio.serial import entity_writer
from kio.static.primitive import f64, i32, i32Timedelta

from harness import quotas

ROW = v1.EntryData(
    entity=(
        v1.EntityData(entity_type="client-id", entity_name=None),
        v1.EntityData(entity_type="user", entity_name="alice"),
    ),
    values=(v1.ValueData(key="producer_byte_rate", value=f64(1.5)),),
)


def _answer(correlation_id: int, code: ErrorCode = ErrorCode.none) -> bytes:
    """An answer with one quota, or with an error, with its length in front."""
    buffer = io.BytesIO()
    body = v1.DescribeClientQuotasResponse(
        throttle_time=i32Timedelta.parse(timedelta()),
        error_code=code,
        error_message=None,
        entries=(ROW,) if code is ErrorCode.none else None,
    )
    entity_writer(ResponseHeader)(buffer, ResponseHeader(correlation_id=i32(correlation_id)))
    entity_writer(type(body))(buffer, body)
    return struct.pack(">i", len(buffer.getvalue())) + buffer.getvalue()


@contextmanager
def _server(answer: Callable[[int], bytes]) -> Iterator[str]:
    """A server on loopback that answers each request with what `answer` makes of its correlation id."""

    class Handler(socketserver.StreamRequestHandler):
        """Reads one request, and answers."""

        def handle(self) -> None:
            """Read length and header."""
            (length,) = struct.unpack(">i", self.rfile.read(4))
            (_, _, number) = struct.unpack(">hhi", self.rfile.read(length)[:8])
            self.wfile.write(answer(number))

    with socketserver.TCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        address: Any = server.server_address
        yield f"127.0.0.1:{address[1]}"
        server.shutdown()
        thread.join()


def test_quotas_are_read_by_entity() -> None:
    """The types of an entity are in one order, whatever the server's, and the default has its own text."""
    with _server(_answer) as address:
        assert quotas.read(address) == {"user=alice, client-id=<default>": {"producer_byte_rate": 1.5}}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        pytest.param(lambda number: _answer(number + 1), "answers request", id="another request's answer"),
        pytest.param(
            lambda number: _answer(number, ErrorCode.cluster_authorization_failed), "cluster_auth", id="an error code"
        ),
        pytest.param(lambda number: _answer(number)[:-3], "the connection ended", id="half an answer"),
        pytest.param(lambda _: struct.pack(">i", -5), "an answer of -5 bytes", id="no length"),
    ],
)
def test_anything_but_a_good_answer_is_an_error(answer: Callable[[int], bytes], why: str) -> None:
    """It is never an empty list of quotas."""
    with _server(answer) as address, pytest.raises(OSError, match=why):
        quotas.read(address)
