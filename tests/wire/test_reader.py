"""Answers are read within bounds: a server's counts, lengths and tags cost no more than the bytes that it sent."""

import io
import random
import struct
import subprocess
import sys
import textwrap
import tracemalloc
import types
import typing
import uuid
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from kio.schema.api_versions.v4 import response as api_versions
from kio.schema.describe_quorum.v2 import response as describe_quorum
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i16, i64
from tests.wire.captures import NAMES, capture
from tests.wire.test_codec import SPOKEN, UNKNOWN_VERSION

from kafka_quorum.wire import bounds, codec
from kafka_quorum.wire.codec import CodecError
from kafka_quorum.wire.reader import Cursor, ReadError, read
from kafka_quorum.wire.requests.api_versions import API as API_VERSIONS

READ = [*SPOKEN, (18, 0)]
REAL = [name for name in NAMES if name != UNKNOWN_VERSION]


def written(response: object, correlation_id: int = 0) -> bytes:
    """An answer without its length, as kio writes it."""
    schema: Any = type(response)
    body = io.BytesIO()
    entity_writer(schema)(body, response)
    header = struct.pack(">i", correlation_id)
    return header + (b"\x00" if schema.__header_schema__.__flexible__ else b"") + body.getvalue()


def replica(node_id: int) -> describe_quorum.ReplicaState:
    """A row of DescribeQuorum with values of normal size."""
    return describe_quorum.ReplicaState(
        replica_id=typing.cast("Any", node_id),
        replica_directory_id=uuid.UUID(int=2**100 + node_id),
        log_end_offset=i64(2**40),
        last_fetch_timestamp=i64(2**41),
        last_caught_up_timestamp=i64(2**41),
    )


def quorum(voters: int, observers: int) -> describe_quorum.DescribeQuorumResponse:
    """A DescribeQuorum answer with this many rows, and a listener for every voter."""
    real = codec.decode_response(55, 2, capture("describe_quorum_v2").answer)
    assert isinstance(real, describe_quorum.DescribeQuorumResponse)
    (topic,) = real.topics
    (partition,) = topic.partitions
    partition = replace(
        partition,
        current_voters=tuple(map(replica, range(voters))),
        observers=tuple(map(replica, range(voters, voters + observers))),
    )
    host = "demo-3000.demo-controllers.a-namespace-of-a-tenant.svc.cluster.local"
    node = describe_quorum.Node(
        node_id=typing.cast("Any", 3000),
        listeners=(describe_quorum.Listener(name="CONTROLLER", host=host, port=typing.cast("Any", 9093)),),
    )
    return replace(real, topics=(replace(topic, partitions=(partition,)),), nodes=(node,) * min(voters, 64))


def versions(features: int, name_chars: int = 20) -> api_versions.ApiVersionsResponse:
    """An ApiVersions answer with this many supported features."""
    real = codec.decode_response(18, 4, capture("api_versions_v4").answer)
    assert isinstance(real, api_versions.ApiVersionsResponse)
    rows = tuple(
        api_versions.SupportedFeatureKey(name=f"{index:0>{name_chars}}", min_version=i16(0), max_version=i16(1))
        for index in range(features)
    )
    return replace(real, supported_features=rows)


# Counts


def test_announced_counts_reserve_nothing() -> None:
    """A few bytes that announce 2³¹ elements are refused without memory for them, in a process with a limit."""
    program = textwrap.dedent("""
        import resource
        from tests.wire.test_reader import READ, announcing
        from kafka_quorum.wire import codec
        resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
        for key, version in READ:
            for answer in announcing(key, version):
                try:
                    codec.decode_response(key, version, answer)
                except codec.CodecError:
                    continue
        print("alive")
    """)
    path = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(  # noqa: PLW1510 - judged below
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=100,
        env=path,
    )
    assert done.stdout == "alive\n", done.stderr[-2000:]


def announcing(key: int, version: int) -> list[bytes]:
    """Short answers that announce huge counts for the first list, string or tag of this message."""
    schema = codec.response_schema(key, version)
    header = b"\0\0\0\0" + (b"\0" if schema.__header_schema__.__flexible__ else b"")
    counts = (b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff\x07", b"\xff\xff\xff\xff\x0f", b"\x7f\xff\xff\xff")
    return [header + bytes(zeros) + count for zeros in range(12) for count in counts]


def test_a_negative_count_is_refused() -> None:
    """A null list, or a negative count, is refused, and is not an empty list."""
    for count in (-1, -(2**31)):
        with pytest.raises(CodecError, match=str(count)):
            codec.decode_response(18, 0, b"\0\0\0\0" + b"\0\0" + struct.pack(">i", count))
    with pytest.raises(CodecError, match="-1"):
        codec.decode_response(55, 2, b"\0\0\0\0\0" + b"\0\0\0\0")


# Bounds

TOO_MUCH: dict[str, tuple[Callable[[], bytes], tuple[int, int], str]] = {
    "voters": (lambda: written(quorum(5000, 0)), (55, 2), r"\b5000\b.*\b64\b"),
    "observers": (lambda: written(quorum(3, 10_000)), (55, 2), r"\b10000\b.*\b5000\b"),
    "features": (lambda: written(versions(15_000)), (18, 4), r"\b15000\b.*\b64\b"),
    "a feature's name": (lambda: written(versions(1, 254)), (18, 4), r"\b254\b.*\b253\b"),
}


@pytest.mark.parametrize(("make", "spoken", "said"), TOO_MUCH.values(), ids=list(TOO_MUCH))
def test_an_answer_with_too_much_is_refused_by_name_and_number(
    make: Callable[[], bytes], spoken: tuple[int, int], said: str
) -> None:
    """An answer with more rows than any cluster has is refused, with the name and the number."""
    with pytest.raises(CodecError, match=said):
        codec.decode_response(*spoken, make())


def test_a_refusal_reads_no_rows() -> None:
    """An answer is refused for its count before its rows are read, so 10,000 rows cost nothing."""
    answer = written(quorum(3, 10_000))
    tracemalloc.start()
    try:
        with pytest.raises(CodecError):
            codec.decode_response(55, 2, answer)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_bounds_are_those_that_are_documented() -> None:
    """The bounds have the documented values, because one tenant's answers use memory of all."""
    assert (bounds.MAX_ANSWER_BYTES, bounds.MAX_VOTERS, bounds.MAX_OBSERVERS) == (256 * 1024, 64, 5_000)
    assert (bounds.MAX_ROWS, bounds.MAX_TAGGED_FIELDS, bounds.MAX_NAME_BYTES) == (64, 64, 253)


def test_the_largest_answer_that_is_allowed_fits_a_frame() -> None:
    """A DescribeQuorum answer with every bound at its maximum fits into a frame, so the count is refused first."""
    answer = written(quorum(bounds.MAX_VOTERS, bounds.MAX_OBSERVERS))
    assert len(answer) <= bounds.MAX_ANSWER_BYTES
    response = codec.decode_response(55, 2, answer)
    assert isinstance(response, describe_quorum.DescribeQuorumResponse)
    assert len(response.topics[0].partitions[0].observers) == bounds.MAX_OBSERVERS


def test_a_name_with_hidden_characters_is_refused() -> None:
    """A feature name with hidden characters is refused and not cleaned, because it could become another name."""
    real = versions(1)
    (row,) = real.supported_features
    for name in ("metadata.version\u200b", "metadata\nversion", "\x1b[31mmetadata.version"):
        with pytest.raises(CodecError):
            codec.decode_response(18, 4, written(replace(real, supported_features=(replace(row, name=name),))))


# Tagged fields


def with_tags(answer: bytes, at: int, tags: list[tuple[int, bytes]]) -> bytes:
    """The answer with further tagged fields in the empty section at this position."""
    assert answer[at] == 0
    section = b"".join(varint(tag) + varint(len(content)) + content for tag, content in tags)
    return answer[:at] + varint(len(tags)) + section + answer[at + 1 :]


def varint(value: int) -> bytes:
    """An unsigned number of variable length."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


UNKNOWN = [(10, b""), (10_000, b"what a newer server says")]


@pytest.mark.parametrize("name", [name for name in REAL if capture(name).api_key != API_VERSIONS.key])
def test_unknown_tagged_fields_are_skipped(name: str) -> None:
    """Unknown tagged fields in the header or at the end do not change the decoded answer."""
    real = capture(name)
    plain = codec.decode_response(real.api_key, real.version, real.answer)
    for at in (4, len(real.answer) - 1):
        assert codec.decode_response(real.api_key, real.version, with_tags(real.answer, at, UNKNOWN)) == plain


def test_unknown_tagged_fields_beside_known_ones_are_skipped() -> None:
    """An unknown tagged field among the known ones of ApiVersions changes nothing."""
    message = versions(3)
    body = written(replace(message, finalized_features=()))
    bare = written(replace(message, supported_features=(), finalized_features=(), finalized_features_epoch=i64(-1)))
    tags_at = len(bare) - 1
    assert body[:tags_at] == bare[:tags_at]
    count = body[tags_at]
    longer = body[:tags_at] + bytes([count + 1]) + body[tags_at + 1 :] + varint(77) + varint(3) + b"new"
    assert codec.decode_response(18, 4, longer) == codec.decode_response(18, 4, body)


BAD_TAGS = {
    "a section that never ends": [(index, b"") for index in range(65)],
    "a known tag with something behind its value": [(1, bytes(9))],
    "a known tag twice": [(1, bytes(8)), (1, bytes(8))],
    "a known tag that is too short": [(1, bytes(7))],
}


@pytest.mark.parametrize("tags", BAD_TAGS.values(), ids=list(BAD_TAGS))
def test_tagged_fields_that_are_refused(tags: list[tuple[int, bytes]]) -> None:
    """Tagged fields are bounded in number, and a known one has exactly its value, once."""
    empty = replace(versions(0), supported_features=(), finalized_features=(), finalized_features_epoch=i64(-1))
    bare = written(empty)
    assert codec.decode_response(18, 4, bare) == empty
    with pytest.raises(CodecError):
        codec.decode_response(18, 4, with_tags(bare, len(bare) - 1, tags))


def test_a_number_of_variable_length_ends() -> None:
    """A varint has at most five bytes and 32 bits."""
    for data in (b"\xff" * 6, b"\x80" * 5 + b"\x01", b"\xff\xff\xff\xff\x1f", b"\x80", b""):
        with pytest.raises(ReadError):
            Cursor(data).varint("a count")
    assert Cursor(b"\xff\xff\xff\xff\x0f").varint("a count") == 2**32 - 1


# Comparison with kio's own reader


def chosen(schema: Any, pick: random.Random) -> Any:  # noqa: ANN401 - an entity of any class
    """An entity with random values, of one of kio's classes."""
    return schema(
        **{field.name: _value(field.type, field.metadata.get("kafka_type"), pick) for field in fields(schema)}
    )


def _value(kind: Any, declared: object, pick: random.Random) -> Any:  # noqa: ANN401 - whatever the field holds
    optional = typing.get_origin(kind) in (types.UnionType, typing.Union)
    if optional and declared != "uuid":
        if pick.random() < 0.2:
            return None
        (kind,) = (each for each in typing.get_args(kind) if each is not type(None))
    if typing.get_origin(kind) is tuple:
        inner, count = typing.get_args(kind)[0], pick.randrange(4)
        return tuple(
            chosen(inner, pick) if is_dataclass(inner) else _value(inner, declared, pick) for _ in range(count)
        )
    if is_dataclass(kind):
        return chosen(kind, pick)
    if declared == "string":
        texts = ["", "metadata.version", "ß" * 100, "x" * 126, "x" * 127, "x" * 128]
        return pick.choice(texts)
    bits = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
    if declared in bits:
        high = 2 ** (bits[str(declared)] - 1)
        return pick.choice([0, -1, high - 1, -high, pick.randrange(-high, high)])
    others: dict[object, Callable[[], object]] = {
        "bool": lambda: pick.random() < 0.5,
        "bytes": lambda: pick.randbytes(pick.choice([0, 1, 126, 127, 128, 5000])),
        "uint16": lambda: pick.randrange(2**16),
        "uuid": lambda: pick.choice([None, uuid.UUID(int=pick.randrange(1, 2**128))]),
        "error_code": lambda: pick.choice(list(ErrorCode)),
        "timedelta_i32": lambda: timedelta(milliseconds=pick.randrange(-(2**31), 2**31)),
        "timedelta_i64": lambda: timedelta(milliseconds=pick.randrange(-(2**31), 2**40)),
    }
    return others[declared]()


@pytest.mark.parametrize("spoken", READ)
def test_every_message_is_read_as_kio_reads_it(spoken: tuple[int, int]) -> None:
    """What kio writes is read as the same entity by its own reader and by ours, to the last byte."""
    seed = random.randrange(1 << 32)
    pick, schema = random.Random(seed), codec.response_schema(*spoken)
    for _ in range(100):
        entity = chosen(schema, pick)
        body = io.BytesIO()
        entity_writer(schema)(body, entity)
        theirs, size = entity_reader(schema)(body.getvalue(), 0)
        cursor = Cursor(body.getvalue())
        assert read(schema, cursor) == theirs == entity, f"seed {seed}"
        assert cursor.left == 0 == len(body.getvalue()) - size, f"seed {seed}"


# Mutations

MUTATIONS = 300


def mutated(answer: bytes, pick: random.Random) -> bytes:
    """The answer with some bytes changed, removed, repeated, or replaced by numbers at their limits."""
    data = bytearray(answer)
    for _ in range(pick.randrange(1, 5)):
        at = pick.randrange(4, len(data) + 1)
        match pick.randrange(5):
            case 0 if at < len(data):
                data[at] = pick.choice([0, 1, 0x7F, 0x80, 0xFF, pick.randrange(256)])
            case 1:
                del data[at : at + pick.randrange(1, 9)]
            case 2:
                data[at:at] = data[at : at + pick.randrange(1, 60)] * pick.randrange(1, 20)
            case 3:
                data[at : at + 8] = pick.choice([b"\xff" * 8, b"\x7f" + b"\xff" * 7, b"\x80" + bytes(7), bytes(8)])
            case _:
                data[at:at] = pick.choice([b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\x7f", pick.randbytes(9)])
    return bytes(data)


@pytest.mark.parametrize("name", REAL)
def test_a_mutated_answer_is_an_answer_or_a_codec_error(name: str) -> None:
    """For seeded mutations of real answers the only error is CodecError, and memory stays in proportion."""
    seed = random.randrange(1 << 32)
    pick, real = random.Random(seed), capture(name)
    decode: Callable[[bytes], object] = (
        codec.decode_api_versions
        if real.api_key == API_VERSIONS.key
        else lambda answer: codec.decode_response(real.api_key, real.version, answer)
    )
    decode(real.answer)
    for _ in range(MUTATIONS):
        answer = mutated(real.answer, pick)
        tracemalloc.start()
        try:
            decode(answer)
        except CodecError:
            pass
        except Exception as error:  # noqa: BLE001 - what must not happen, with its seed
            pytest.fail(f"seed {seed}, {answer.hex()}: {error!r}")
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < 100_000 + 200 * len(answer), f"seed {seed}, {answer.hex()}"
