"""Kafka's UUIDs and replica keys."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_quorum.model.ids import (
    DirectoryID,
    NodeID,
    ReplicaKey,
    parse_cluster_id,
    parse_directory_id,
    usable_uuid,
    uuid_from_bytes,
    uuid_to_bytes,
)


@given(st.binary(min_size=16, max_size=16))
def test_round_trip(raw: bytes) -> None:
    """Every sixteen bytes have one text of 22 characters, which is read back as the same bytes."""
    text = uuid_from_bytes(raw)
    assert len(text) == 22
    assert uuid_to_bytes(text) == raw


@pytest.mark.parametrize(
    ("hexadecimal", "text"),
    [
        ("00000000-0000-0000-0000-000000000001", "AAAAAAAAAAAAAAAAAAAAAQ"),
        ("ffffffff-ffff-ffff-ffff-ffffffffffff", "_____________________w"),
        ("fbefbefb-efbe-fbef-befb-efbefbefbefb", "---------------------w"),
    ],
)
def test_kafkas_notation(hexadecimal: str, text: str) -> None:
    """The notation is base64url without padding."""
    assert uuid_from_bytes(uuid.UUID(hexadecimal).bytes) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "too-short",
        "AAAAAAAAAAAAAAAAAAAAAQ==",
        "AAAAAAAAAAAAAAAAAAAAAR",
        "AAAAAAAAAAAAAAAAAAAA+Q",
        "AAAAAAAAAAAAAAAAAAAA Q",
        "AAAAAAAAAAAAAAAAAAAAAAAQ",
        "ÄAAAAAAAAAAAAAAAAAAAAQ",
        "00000000-0000-0000-0000-000000000001",
    ],
    ids=["empty", "short", "padded", "stray bits", "plus", "space", "long", "not ASCII", "hexadecimal"],
)
def test_malformed(text: str) -> None:
    """Any other text is refused with the expected form, so that one disk has one text."""
    with pytest.raises(ValueError, match="22"):
        uuid_to_bytes(text)
    with pytest.raises(ValueError, match="22"):
        parse_cluster_id(text)


@pytest.mark.parametrize("number", [0, 1, 2, 100])
def test_reserved(number: int) -> None:
    """Kafka's reserved UUIDs are no valid directory ids, and are never generated."""
    raw = number.to_bytes(16, "big")
    assert not usable_uuid(raw)
    with pytest.raises(ValueError, match=uuid_from_bytes(raw)):
        parse_directory_id(uuid_from_bytes(raw))


def test_not_an_option() -> None:
    """A UUID whose text begins with a dash is not generated, because kafka-storage.sh would read it as an option."""
    assert not usable_uuid(bytes([0xF8]) + bytes(14) + b"\x01")
    assert usable_uuid((101).to_bytes(16, "big"))


def test_parsed() -> None:
    """A well-formed id passes unchanged."""
    text = uuid_from_bytes(uuid.uuid4().bytes)
    assert parse_cluster_id(text) == text
    assert parse_directory_id(text) == text


def test_replica_key() -> None:
    """A replica key has the same text as in Kafka's messages, also without a directory id."""
    key = ReplicaKey(node_id=NodeID(3000), directory_id=DirectoryID("AAAAAAAAAAAAAAAAAAAAZQ"))
    assert str(key) == "3000-AAAAAAAAAAAAAAAAAAAAZQ"
    assert str(ReplicaKey(node_id=NodeID(1), directory_id=None)).startswith("1-")
    assert key != ReplicaKey(node_id=NodeID(3000), directory_id=None)
