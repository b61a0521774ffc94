"""What a later version wrote into the status stays; only the fields that report this change."""

from dataclasses import replace
from typing import Any

import pytest
from tests.model.values import at_rest
from tests.status.passes import done

from kafka_quorum.model.observed import Observed
from kafka_quorum.model.operation import UnknownOperation
from kafka_quorum.status.build import build
from kafka_quorum.status.sheltered import sheltered
from kit.conditions.patch import patch_of

NOW = "2026-01-01T00:00:00Z"
RAW: dict[str, Any] = {
    "id": "x",
    "type": "RecoverMajority",
    "survivors": [3000],
    "journal": {"step": 3, "note": "a\nb" + "c" * 5000},
}


def held() -> Observed:
    """A quorum at rest with an unknown operation."""
    unknown = UnknownOperation(why="status.operation is of type 'RecoverMajority'", holder="operator-9")
    return replace(at_rest(), status=replace(at_rest().status, open=unknown))


def test_an_unknown_operation_is_kept_to_the_letter() -> None:
    """An unknown operation is written back unchanged, with all its fields, and conditions report it."""
    old = {"operation": RAW}
    status = build(done(held()), old, generation=1, now=NOW)
    assert status["operation"] == RAW
    assert "operation" not in patch_of(old, status)
    conditions = {row["type"]: (row["status"], row["reason"]) for row in status["conditions"]}
    assert conditions["Degraded"] == ("True", "UnknownOperation")
    assert conditions["Ready"] == ("False", "UnknownOperation")
    assert conditions["FeaturesSettled"][0] == "Unknown"
    assert status["doing"] == "UnknownOperation"
    assert "RecoverMajority" in status["message"]


@pytest.mark.parametrize("number", [2, "new"])
def test_a_status_of_a_later_version_is_kept(number: object) -> None:
    """Of a status with a later schema version only conditions, `doing`, its message and the generation are written."""
    old = {"schemaVersion": number, "controllers": [{"id": 1}], "doing": "Old", "conditions": [], "more": 1}
    new = {
        "doing": "LaterFormat",
        "message": "m",
        "conditions": [{}],
        "observedGeneration": 2,
        "controllers": [],
        "x": 1,
    }
    kept = {"schemaVersion": number, "controllers": [{"id": 1}], "more": 1}
    reported = {"doing": "LaterFormat", "message": "m", "conditions": [{}], "observedGeneration": 2}
    assert sheltered(old, new) == kept | reported


@pytest.mark.parametrize("old", [{}, {"schemaVersion": 1, "more": 1}])
def test_a_status_of_this_version_is_replaced(old: dict[str, Any]) -> None:
    """A status of this version is written as a whole."""
    assert sheltered(old, {"doing": "Done"}) == {"doing": "Done"}
