"""Encoding, the reference codec and the compiled decoder agree, on every record type and version of every release."""

import base64
import contextlib
import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kraftlog import logs, synthetic

from kraftlog import Options, catalog, releases
from kraftlog.codecs import Codec, CodecError, pack, unpack
from kraftlog.schema import Schema
from kraftlog.values import Data, MalformedError, decode, encode, unsigned_varint
from kraftlog.writer import NewBatch, batch_of, record_of

_SCHEMAS = sorted(catalog().schemas.values(), key=lambda schema: (schema.control, schema.key, schema.version))


def _name(schema: Schema) -> str:
    return f"{schema.type_name}-{schema.version}"


@pytest.mark.parametrize("schema", _SCHEMAS, ids=_name)
def test_values_survive(schema: Schema, tmp_path: Path) -> None:
    """Encoded values are decoded unchanged, by the reference codec and by the compiled one."""
    rng = random.Random(schema.type_name)
    written = [synthetic.data_of(schema.fields, rng) for _ in range(60)]
    if schema.control:
        written = [{**data, "version": schema.version} for data in written]
    assert [decode(schema, encode(schema, data)) for data in written] == written
    batch = batch_of(NewBatch(base_offset=7, control=schema.control), [record_of(schema, data) for data in written])
    records, faults = logs.read(logs.write(tmp_path, batch, f"{7:020d}.log"))
    assert not faults
    assert [record["data"] for record in records] == written
    assert {(record["type"], record["version"]) for record in records} == {(schema.type_name, schema.version)}


@pytest.mark.parametrize("release", releases())
def test_reference_and_compiled_agree(release: str, tmp_path: Path) -> None:
    """Both decoders read the same from a log with everything that a release can write."""
    path = logs.write(tmp_path, synthetic.log(catalog(release), seed=3, count=150))
    options = Options(release=release)
    compiled, faults = logs.read(path, options)
    reference = [record for block in logs.blocks(path, options) for record in block.records()]
    assert not faults
    assert [record["data"] for record in compiled] == [record.data for record in reference]
    assert [record["timestamp"] for record in compiled] == [record.timestamp_ms for record in reference]
    assert logs.offsets(compiled) == list(range(len(compiled)))


@given(text=st.text(max_size=200), version=st.sampled_from([0]))
@settings(max_examples=200, deadline=None)
def test_any_text_is_valid_json(text: str, version: int) -> None:
    """Every string that Kafka can store is decoded unchanged."""
    schema = catalog().find(2, version)
    assert schema is not None
    try:
        body = encode(schema, {"name": text, "topicId": "AAAAAAAAAAAAAAAAAAAAAA"})
    except UnicodeEncodeError:
        return  # half a surrogate pair is no text
    assert decode(schema, body)["name"] == text


_NULL, _NONE, _ONE = b"\0", b"\1", b"\2" + b"\1" * 16
_ONE_ID = base64.urlsafe_b64encode(b"\1" * 16).decode().rstrip("=")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([_ONE, _NULL], {}),
        ([_NULL, _ONE], {"directories": [_ONE_ID]}),
        ([_ONE, _NONE], {"directories": []}),
        ([_NONE, _ONE, _NULL], {}),
        ([_ONE, _ONE], {"directories": [_ONE_ID]}),
    ],
)
def test_the_last_of_a_repeated_tagged_field_counts(tmp_path: Path, given: list[bytes], expected: Data) -> None:
    """Each value replaces the one before, as in Kafka's own readers: for both decoders, and for a search in place."""
    schema = max((each for each in _SCHEMAS if each.type_name == "PARTITION_CHANGE_RECORD"), key=lambda s: s.version)
    (tag,) = (field.tag for field in schema.fields if field.name == "directories")
    plain: Data = {"partitionId": 7, "topicId": "AAAAAAAAAAAAAAAAAAAAAA"}
    tagged = [unsigned_varint(tag) + unsigned_varint(len(value)) + value for value in given]
    value = record_of(schema, plain).value[:-1] + unsigned_varint(len(tagged)) + b"".join(tagged)
    path = logs.write(tmp_path, batch_of(NewBatch(base_offset=0), [logs.NewRecord(value)]))
    records, faults = logs.read(path)
    (block,) = logs.blocks(path)
    ((place,),) = block.find(block.of_types([schema.type_name]), ["directories"]).tolist()
    assert [record["data"] for record in records] == [plain | expected]
    assert [record.data for record in block.records()] == [plain | expected]
    assert bytes(block.data[place : place + len(given[-1])]) == given[-1]
    assert not faults


@pytest.mark.parametrize("raw", [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"a\xe2\x82", b"\xf4\x90\x80\x80"])
def test_text_that_is_no_utf8_is_replaced(raw: bytes, tmp_path: Path) -> None:
    """Java uses replacement characters there, and so do both decoders; the line stays valid JSON."""
    schema = catalog().find(2, 0)
    assert schema is not None
    name = len(raw) + 1
    value = bytes([1, 2, 0, name]) + raw + bytes(16) + b"\0"
    batch = batch_of(NewBatch(base_offset=0), [logs.NewRecord(value)])
    records, faults = logs.read(logs.write(tmp_path, batch))
    assert not faults
    assert "\ufffd" in records[0]["data"]["name"]
    json.dumps(records).encode()


@given(st.binary(max_size=300))
@settings(max_examples=300, deadline=None)
def test_no_bytes_break_the_reference(body: bytes) -> None:
    """For any bytes the reference decoder returns data or a MalformedError."""
    for schema in _SCHEMAS[:: len(_SCHEMAS) // 6]:
        try:
            data = decode(schema, body)
        except MalformedError:
            continue
        assert isinstance(data, dict)


@pytest.mark.parametrize("codec", list(Codec)[1:])
def test_codecs_round_trip(codec: Codec) -> None:
    """Content of any size is unpacked unchanged, compressible or not."""
    rng = random.Random(5)
    for content in (b"", b"x", b"abc" * 50_000, rng.randbytes(200_000)):
        assert unpack(codec, pack(codec, content)) == content


@pytest.mark.parametrize("codec", list(Codec)[1:])
def test_codecs_keep_their_bound(codec: Codec) -> None:
    """A small batch that would unpack to more than the limit is refused."""
    with pytest.raises(CodecError):
        unpack(codec, pack(codec, bytes(1 << 20)), limit_bytes=1 << 16)


@given(st.binary(max_size=200), st.integers(0, 7))
@settings(max_examples=300, deadline=None)
def test_codecs_refuse_noise(content: bytes, codec: int) -> None:
    """Noise gives bytes or an error of ours."""
    with contextlib.suppress(CodecError):
        assert isinstance(unpack(codec, content), bytes)


def test_bytes_of_every_length(tmp_path: Path) -> None:
    """Base64 is padded as in Kafka."""
    schema = catalog().find(11, 0)
    assert schema is not None
    for size in range(8):
        salt = base64.b64encode(bytes(range(size))).decode()
        data: Data = {"name": "u", "mechanism": 1, "salt": salt, "storedKey": "", "serverKey": salt, "iterations": 4096}
        batch = batch_of(NewBatch(base_offset=0), [record_of(schema, data)])
        records, _ = logs.read(logs.write(tmp_path, batch))
        assert records[0]["data"] == data
