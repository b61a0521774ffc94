"""Where a scenario finds the report of an invalid spec."""

import pytest

from harness.refused import Json, condition_that_names_it


def resource(type_: str, status: str, reason: str, generation: int = 2) -> Json:
    """A resource of generation 2 with this condition and an irrelevant one."""
    row = {"type": type_, "status": status, "reason": reason, "observedGeneration": generation}
    calm = {"type": "Ready", "status": "True", "reason": "AllVotersCaughtUp", "observedGeneration": 2}
    return {"metadata": {"generation": 2}, "status": {"conditions": [calm, row]}}


@pytest.mark.parametrize(
    "row",
    [
        ("SpecAccepted", "False", "InvalidSpec"),
        ("Progressing", "False", "RollHeld"),
        ("Progressing", "True", "ActionFailed"),
        ("Degraded", "True", "ActionFailed"),
    ],
)
def test_what_is_wrong_is_found(row: tuple[str, str, str]) -> None:
    """Each condition that reports an invalid spec counts, if it is of the present generation."""
    found = condition_that_names_it(resource(*row))
    assert found is not None
    assert found["type"] == row[0]
    assert condition_that_names_it(resource(*row, generation=1)) is None


@pytest.mark.parametrize(
    "row",
    [
        ("SpecAccepted", "True", "InvalidSpec"),
        ("Progressing", "True", "RollHeld"),
        ("Progressing", "False", "Done"),
        ("Degraded", "False", "ActionFailed"),
        ("Degraded", "False", "Healthy"),
        ("Ready", "False", "InvalidSpec"),
    ],
)
def test_a_condition_whose_status_contradicts_its_reason_is_none(row: tuple[str, str, str]) -> None:
    """A reason alone is not enough: the condition must have the status that belongs to it."""
    assert condition_that_names_it(resource(*row)) is None


def test_a_resource_without_a_status() -> None:
    """Before the first status no condition is found."""
    assert condition_that_names_it({"metadata": {"generation": 1}}) is None
