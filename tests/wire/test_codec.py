"""Real bytes are decoded and encoded unchanged; other bytes give an error and nothing else."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.api_versions.v0 import ApiVersionsResponse as ApiVersionsResponse0
from kio.schema.describe_quorum.v2 import DescribeQuorumRequest
from kio.serial import entity_reader, entity_writer
from tests.wire.captures import NAMES, capture

from kafka_quorum.wire import codec
from kafka_quorum.wire.api import Api, Effect, VersionRange, common_version
from kafka_quorum.wire.codec import CodecError
from kafka_quorum.wire.requests import api_versions
from kafka_quorum.wire.requests.table import ALL as APIS

SPOKEN = [(api.key, version) for api in APIS for version in range(api.ours.low, api.ours.high + 1)]
UNKNOWN_VERSION = "api_versions_v99"


@pytest.mark.parametrize("name", [name for name in NAMES if name != UNKNOWN_VERSION])
def test_real_requests_are_encoded_byte_by_byte(name: str) -> None:
    """A request that a real server answered is encoded from its decoded value unchanged, with its header."""
    real = capture(name)
    schema = codec.request_schema(real.api_key, real.version)
    _, header_size = entity_reader(schema.__header_schema__)(real.request, 0)
    request, _ = entity_reader(schema)(real.request, header_size)
    assert codec.encode_request(request, real.correlation_id) == real.request


@pytest.mark.parametrize("name", [name for name in NAMES if name != UNKNOWN_VERSION])
def test_real_answers_are_decoded_to_the_last_byte(name: str) -> None:
    """A real answer is decoded, and its body encodes to the same bytes: nothing was skipped or invented."""
    real = capture(name)
    response = codec.decode_response(real.api_key, real.version, real.answer)
    body = io.BytesIO()
    entity_writer(type(response))(body, response)
    header_size = len(real.answer) - len(body.getvalue())
    assert real.answer[header_size:] == body.getvalue()
    assert real.answer[:header_size] in {real.request[4:8], real.request[4:8] + b"\x00"}


def test_an_answer_in_version_0_to_an_unknown_version() -> None:
    """A server without our version of ApiVersions answers in version 0, with error 35 and its supported range."""
    response = codec.decode_api_versions(capture(UNKNOWN_VERSION).answer)
    assert isinstance(response, ApiVersionsResponse0)
    assert response.error_code == 35
    assert [(row.min_version, row.max_version) for row in response.api_keys if row.api_key == 18] == [(0, 5)]


@pytest.mark.parametrize("name", [name for name in NAMES if name != UNKNOWN_VERSION])
def test_one_byte_more_or_less_is_an_error(name: str) -> None:
    """An answer with one byte more or less is an error."""
    real = capture(name)
    for answer in (real.answer + b"\x00", real.answer[:-1], real.answer[:5], b""):
        with pytest.raises(CodecError):
            codec.decode_response(real.api_key, real.version, answer)


@given(spoken=st.sampled_from(SPOKEN), answer=st.binary(max_size=80))
def test_noise_is_a_codec_error_or_an_answer(spoken: tuple[int, int], answer: bytes) -> None:
    """Whatever bytes a server sends, the decoder raises only CodecError."""
    try:
        response = codec.decode_response(*spoken, answer)
    except CodecError:
        return
    assert response.__api_key__ == spoken[0]


@given(position=st.integers(min_value=4), byte=st.integers(0, 255), name=st.sampled_from(NAMES))
def test_a_flipped_byte_is_a_codec_error_or_an_answer(position: int, byte: int, name: str) -> None:
    """A real answer with one changed byte gives a value or CodecError."""
    real = capture(name)
    answer = bytearray(real.answer)
    answer[position % len(answer)] = byte
    try:
        response = (
            codec.decode_api_versions(bytes(answer))
            if real.api_key == api_versions.API.key
            else codec.decode_response(real.api_key, real.version, bytes(answer))
        )
    except CodecError:
        return
    assert response.__api_key__ == real.api_key


def test_a_value_without_bytes_is_a_codec_error() -> None:
    """A request that kio cannot write is our mistake, and an error before anything is sent."""
    with pytest.raises(CodecError):
        codec.encode_request(DescribeQuorumRequest(topics=()), 2**40)


COMMON = {
    "ours is newer": ((0, 3), (0, 1), 1),
    "theirs is newer": ((0, 1), (0, 5), 1),
    "they have dropped our oldest": ((0, 3), (2, 9), 3),
    "they are too old": ((2, 2), (0, 1), None),
    "they are too new": ((0, 1), (2, 3), None),
}


@pytest.mark.parametrize(("ours", "theirs", "chosen"), COMMON.values(), ids=list(COMMON))
def test_the_highest_common_version_is_chosen(
    ours: tuple[int, int], theirs: tuple[int, int], chosen: int | None
) -> None:
    """The version is the highest that both support, and None if there is none."""
    api = Api(key=80, name="AddRaftVoter", ours=VersionRange(low=ours[0], high=ours[1]), effect=Effect.WRITES)
    server = {80: VersionRange(low=theirs[0], high=theirs[1])}
    assert common_version(api, server) == chosen
    assert common_version(api, {}) is None
