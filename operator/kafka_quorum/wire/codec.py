"""Kafka's messages to bytes and back, by (api key, version), with kio's classes.

kio writes requests; answers are read by `reader`, within bounds. Every error of both becomes a `CodecError`.
"""

import io

from kio.index import load_request_schema, load_response_schema
from kio.schema.api_versions.v0 import ApiVersionsResponse as ApiVersionsResponse0
from kio.schema.api_versions.v4 import ApiVersionsResponse as ApiVersionsResponse4
from kio.schema.errors import ErrorCode
from kio.schema.request_header.v1 import RequestHeader as RequestHeader1
from kio.schema.request_header.v2 import RequestHeader as RequestHeader2
from kio.serial import entity_writer
from kio.serial.errors import SerialError
from kio.static.primitive import i16, i32
from kio.static.protocol import RequestPayload, ResponsePayload

from kafka_quorum.wire.reader import Cursor, ReadError, read
from kafka_quorum.wire.requests import api_versions
from kafka_quorum.wire.requests.table import OWN

CLIENT_ID = "kafka-quorum-operator"


class CodecError(Exception):
    """Bytes that do not parse, or a value that cannot be encoded. The text is one clause, to be put into a sentence."""


def encode_request(payload: RequestPayload, correlation_id: int) -> bytes:
    """Header and body of a request, without the length in front (CodecError on a value out of range)."""
    buffer = io.BytesIO()
    try:
        _write_header(buffer, payload, correlation_id)
        entity_writer(type(payload))(buffer, payload)
    except (SerialError, ValueError, TypeError, OverflowError) as error:
        raise CodecError(f"the request cannot be written: {error}") from error
    return buffer.getvalue()


def _write_header(buffer: io.BytesIO, payload: RequestPayload, correlation_id: int) -> None:
    header = payload.__header_schema__(
        request_api_key=i16(payload.__api_key__),
        request_api_version=i16(payload.__version__),
        correlation_id=i32(correlation_id),
        client_id=CLIENT_ID,
    )
    if isinstance(header, RequestHeader1):
        entity_writer(RequestHeader1)(buffer, header)
    else:
        entity_writer(RequestHeader2)(buffer, header)


def request_schema(api_key: int, version: int) -> type[RequestPayload]:
    """The class of a request, kio's or our own."""
    return own[0] if (own := OWN.get((api_key, version))) else load_request_schema(api_key, version)


def response_schema(api_key: int, version: int) -> type[ResponsePayload]:
    """The class of an answer, kio's or our own."""
    return own[1] if (own := OWN.get((api_key, version))) else load_response_schema(api_key, version)


def decode_response(api_key: int, version: int, answer: bytes) -> ResponsePayload:
    """Header and body of an answer, without its length; every byte must be used (CodecError)."""
    schema, cursor = response_schema(api_key, version), Cursor(answer)
    try:
        read(schema.__header_schema__, cursor)
        response = read(schema, cursor)
    except ReadError as error:
        raise CodecError(f"{len(answer)} bytes are not read as version {version}: {error}") from error
    if cursor.left:
        raise CodecError(f"{cursor.left} of {len(answer)} bytes are left over after version {version}")
    return response


_API_VERSIONS_ERROR = slice(4, 6)  # after the correlation id: ApiVersions is always answered with header 0


def decode_api_versions(answer: bytes) -> ApiVersionsResponse0 | ApiVersionsResponse4:
    """The answer to ApiVersions version 4, which a server without that version gives in version 0."""
    unsupported = int(ErrorCode.unsupported_version).to_bytes(2, "big")
    version = 0 if answer[_API_VERSIONS_ERROR] == unsupported else api_versions.API.ours.high
    response = decode_response(api_versions.API.key, version, answer)
    if not isinstance(response, ApiVersionsResponse0 | ApiVersionsResponse4):
        raise CodecError(f"{type(response).__name__} is no answer to ApiVersions")
    return response


def error_name(code: ErrorCode) -> str:
    """Kafka's own name of an error: `DUPLICATE_VOTER`."""
    return code.name.upper()
