"""One request of Kafka's to one server, for those that confluent-kafka does not have: kio's messages over plain TCP.

It is for scenarios, and blocks. The operator's client (`kafka_quorum.wire`) reads only what the operator uses.
"""

import io
import itertools
import socket
import struct
from typing import Any, Final, TypeVar

from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i16, i32
from kio.static.protocol import RequestPayload, ResponsePayload

R = TypeVar("R", bound=ResponsePayload)

TIMEOUT_S: Final = 20.0
_CLIENT_ID: Final = "scenario"
_LENGTH: Final = struct.Struct(">i")
_LONGEST_BYTES: Final = 32 * 1024 * 1024
_CORRELATION: Final = itertools.count(1)


def ask(address: str, question: RequestPayload, answer: type[R], timeout_s: float = TIMEOUT_S) -> R:
    """The answer of the server at `host:port`, in the version of `answer`, which is that of the question.

    Raises OSError if the server does not answer within `timeout_s` or answers another question. An error code is part
    of the answer.
    """
    host, _, port = address.rpartition(":")
    number = next(_CORRELATION)
    with socket.create_connection((host, int(port)), timeout=timeout_s) as channel:
        message = _written(question, number)
        channel.sendall(_LENGTH.pack(len(message)) + message)
        (length,) = _LENGTH.unpack(_read(channel, _LENGTH.size))
        if not 0 <= length <= _LONGEST_BYTES:
            raise OSError(f"{address} announces an answer of {length} bytes")
        body = _read(channel, length)
    header: Any
    header, used = entity_reader(answer.__header_schema__)(body, 0)
    if int(header.correlation_id) != number:
        raise OSError(f"{address} answers request {header.correlation_id}, and {number} was sent")
    found, _ = entity_reader(answer)(body, used)
    return found


def _written(question: RequestPayload, number: int) -> bytes:
    buffer = io.BytesIO()
    header = question.__header_schema__(
        request_api_key=i16(question.__api_key__),
        request_api_version=i16(question.__version__),
        correlation_id=i32(number),
        client_id=_CLIENT_ID,
    )
    entity_writer(type(header))(buffer, header)
    entity_writer(type(question))(buffer, question)
    return buffer.getvalue()


def _read(channel: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        part = channel.recv(count - len(parts))
        if not part:
            raise OSError(f"the connection ended after {len(parts)} of {count} bytes")
        parts += part
    return bytes(parts)
