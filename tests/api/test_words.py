"""What a person says of single controllers: read within bounds, and what cannot be read does no harm."""

from typing import Any

import pytest
from tests.model.values import directory, key

from kafka_quorum.api.validation import validate
from kafka_quorum.api.words import HOLD_FIELD, REPLACE_FIELD, faults, given_up, held
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.names import HOLD, REPLACE

SPEC = {"kafka": {"version": "4.4.0"}, "controllers": {"replicas": 3}}
HOSTILE = {
    "text": "all",
    "negative": "-3001",
    "sign": "+3001",
    "unicode digits": "\u0663\u0660\u0660\u0661",
    "superscript": "300\u00b2",
    "too large": "99999999999",
    "too many digits": "9" * 4000,
    "an empty entry": "3001,,3002",
    "a comma at the end": "3001,",
    "other separators": "3001;3002",
    "a line break": "3001,\n3002",
    "JSON": "[3001]",
    "hidden": "3001\u200b",
    "ten thousand ids": ",".join(["1"] * 10_000),
    "a few too many ids": ",".join(["1"] * 257),
}


def annotated(name: str, value: object) -> dict[str, Any]:
    """Metadata with one annotation."""
    return {"name": "demo", "annotations": {name: value}}


@pytest.mark.parametrize(
    ("value", "ids"),
    [("3001", {3001}), ("3001,3002", {3001, 3002}), (" 3001 , 3002 ", {3001, 3002}), ("3001,3001", {3001})],
)
def test_held_controllers_are_read(value: str, ids: set[int]) -> None:
    """Node ids with commas between them, with or without spaces, are the held controllers."""
    assert held(annotated(HOLD, value)) == Known(value=frozenset(ids))
    assert list(faults(annotated(HOLD, value))) == []
    valid = validate({"metadata": annotated(HOLD, value), "spec": SPEC})
    assert isinstance(valid, Desired)
    assert valid.hold == Known(value=frozenset(ids))


@pytest.mark.parametrize("metadata", [{}, {"annotations": None}, {"annotations": []}, annotated(HOLD, " ")])
def test_without_the_annotations_nothing_is_held(metadata: dict[str, Any]) -> None:
    """No annotation, or an empty one, holds no controller and gives up no disk."""
    assert held(metadata) == Known(value=frozenset())
    assert given_up(metadata) is None
    assert list(faults(metadata)) == []


@pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE)
def test_a_hold_that_cannot_be_read_is_unknown(value: str) -> None:
    """Any other text is one short fault, and it is unknown which controllers are held."""
    assert isinstance(held(annotated(HOLD, value)), Unknown)
    (fault,) = faults(annotated(HOLD, value))
    assert fault.field == HOLD_FIELD
    assert "every controller is held" in fault.message
    assert len(fault.message) < 400
    assert fault.message.isprintable()


def test_a_replica_is_read() -> None:
    """A replica is written as messages have it; directory ids may have hyphens."""
    for replica in (key(3001), ReplicaKey(node_id=key(3001).node_id, directory_id=None)):
        text = str(replica) if replica.directory_id else "3001"
        assert given_up(annotated(REPLACE, f" {text} ")) == replica
        assert list(faults(annotated(REPLACE, text))) == []
    hyphens = "A-A_AAAAQACAAAAAAAAA-Q"
    found = given_up(annotated(REPLACE, f"3001-{hyphens}"))
    assert found is not None
    assert found.directory_id == hyphens


@pytest.mark.parametrize(
    "value",
    [
        *HOSTILE.values(),
        "3001-",
        "3001-short",
        f"3001-{directory(3001)}x",
        f"3001-{directory(3001)},3002-{directory(3002)}",
        "3001-AAAAAAAAAAAAAAAAAAAAAA",
        f"3001/{directory(3001)}",
    ],
)
def test_a_disk_that_is_not_named_exactly_is_not_given_up(value: str) -> None:
    """Any other text, also a list or one of Kafka's reserved ids, is one short fault and gives up nothing."""
    assert given_up(annotated(REPLACE, value)) is None
    (fault,) = faults(annotated(REPLACE, value))
    assert fault.field == REPLACE_FIELD
    assert "nothing is replaced" in fault.message
    assert len(fault.message) < 400
    assert fault.message.isprintable()


def test_faults_of_both_annotations() -> None:
    """Both annotations are checked, beside the spec."""
    metadata = {"name": "demo", "annotations": {HOLD: "x", REPLACE: "y"}}
    found = validate({"metadata": metadata, "spec": SPEC})
    assert isinstance(found, tuple)
    assert [fault.field for fault in found] == [HOLD_FIELD, REPLACE_FIELD]
