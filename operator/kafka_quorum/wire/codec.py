"""Kafka's messages to bytes and back, by (api key, version), with kio's classes; and which version to speak.

A version is the highest that both sides know: on any other, a controller closes the connection without a word.
kio writes requests; answers are read by `reader`, within bounds. Every error of both becomes a `CodecError`.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

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
from kafka_quorum.wire.unregister import UnregisterControllerRequest, UnregisterControllerResponse

CLIENT_ID = "kafka-quorum-operator"


class CodecError(Exception):
    """Bytes that do not parse, or a value that has no bytes. The text is one clause, to be put into a sentence."""


class Effect(Enum):
    """What a request does to the quorum."""

    READS = "reads"
    WRITES = "writes"


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRange:
    """Versions of one request, both ends included."""

    low: int
    high: int

    def __str__(self) -> str:
        """As in Kafka's own tables: `0-2`."""
        return f"{self.low}-{self.high}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """A request that this operator knows: Kafka's key and name of it, our versions, and what it does."""

    key: int
    name: str
    ours: VersionRange
    effect: Effect


API_VERSIONS = Api(key=18, name="ApiVersions", ours=VersionRange(low=4, high=4), effect=Effect.READS)
"""Version 3 hides every feature whose lowest level is 0: it cannot say what a node supports. 3.9 and later know 4."""
DESCRIBE_QUORUM = Api(key=55, name="DescribeQuorum", ours=VersionRange(low=2, high=2), effect=Effect.READS)
"""Below version 2 there are no directory ids, and no replica key could be told. 3.9 and later know it."""
UPDATE_FEATURES = Api(key=57, name="UpdateFeatures", ours=VersionRange(low=1, high=2), effect=Effect.WRITES)
"""Version 0 knows neither safe downgrades nor validate-only; version 2, since 4.0, has no results per feature."""
VALIDATE_FEATURES = Api(key=57, name="UpdateFeatures (validate only)", ours=UPDATE_FEATURES.ours, effect=Effect.READS)
"""The same request, and yet one that changes nothing: it may always be sent again, and has no unknown outcome."""
DESCRIBE_CLUSTER = Api(key=60, name="DescribeCluster", ours=VersionRange(low=1, high=1), effect=Effect.READS)
"""Version 0 cannot ask for controllers; version 2 adds nothing about them."""
CONTROLLER_REGISTRATION = Api(
    key=70, name="ControllerRegistration", ours=VersionRange(low=0, high=0), effect=Effect.WRITES
)
"""There is one version, in every release since 3.7."""
ADD_RAFT_VOTER = Api(key=80, name="AddRaftVoter", ours=VersionRange(low=0, high=1), effect=Effect.WRITES)
"""Version 1, since 4.2, can answer before the change is committed, which is not used."""
REMOVE_RAFT_VOTER = Api(key=81, name="RemoveRaftVoter", ours=VersionRange(low=0, high=0), effect=Effect.WRITES)
"""There is one version, in every release that has dynamic quorums."""

UNREGISTER_CONTROLLER = Api(key=94, name="UnregisterController", ours=VersionRange(low=0, high=0), effect=Effect.WRITES)
"""Known to 4.4 and later; an older server has no version of it, and nothing is sent to it."""

_OWN_REQUESTS: Mapping[tuple[int, int], type[RequestPayload]] = {
    (UNREGISTER_CONTROLLER.key, 0): UnregisterControllerRequest
}
_OWN_RESPONSES: Mapping[tuple[int, int], type[ResponsePayload]] = {
    (UNREGISTER_CONTROLLER.key, 0): UnregisterControllerResponse
}

ServerVersions = Mapping[int, VersionRange]
"""By api key, as a server's ApiVersions answer has it."""


def common_version(api: Api, server: ServerVersions) -> int | None:
    """The highest version that both sides know, None where there is none."""
    theirs = server.get(api.key)
    if theirs is None:
        return None
    highest = min(api.ours.high, theirs.high)
    return highest if highest >= max(api.ours.low, theirs.low) else None


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
    return _OWN_REQUESTS.get((api_key, version)) or load_request_schema(api_key, version)


def response_schema(api_key: int, version: int) -> type[ResponsePayload]:
    """The class of an answer, kio's or our own."""
    return _OWN_RESPONSES.get((api_key, version)) or load_response_schema(api_key, version)


def decode_response(api_key: int, version: int, answer: bytes) -> ResponsePayload:
    """Header and body of an answer, without its length; every byte has to be accounted for (CodecError)."""
    schema, cursor = response_schema(api_key, version), Cursor(answer)
    try:
        read(schema.__header_schema__, cursor)
        response = read(schema, cursor)
    except ReadError as error:
        raise CodecError(f"{len(answer)} bytes are not read as version {version}: {error}") from error
    if cursor.left:
        raise CodecError(f"{cursor.left} of {len(answer)} bytes are left over after version {version}")
    return response


_API_VERSIONS_ERROR = slice(4, 6)  # behind the correlation id: ApiVersions is always answered with header 0


def decode_api_versions(answer: bytes) -> ApiVersionsResponse0 | ApiVersionsResponse4:
    """The answer to ApiVersions version 4, which a server that does not know it gives in version 0."""
    unsupported = int(ErrorCode.unsupported_version).to_bytes(2, "big")
    version = 0 if answer[_API_VERSIONS_ERROR] == unsupported else API_VERSIONS.ours.high
    response = decode_response(API_VERSIONS.key, version, answer)
    if not isinstance(response, ApiVersionsResponse0 | ApiVersionsResponse4):
        raise CodecError(f"{type(response).__name__} is no answer to ApiVersions")
    return response


def error_name(code: ErrorCode) -> str:
    """Kafka's own name of an error: `DUPLICATE_VOTER`."""
    return code.name.upper()
