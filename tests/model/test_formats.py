"""Schema numbers: a missing one means the first, and a later one differs from an invalid one."""

import pytest

from kafka_quorum.model.formats import LaterFormat, Unreadable, check, unknown_field


@pytest.mark.parametrize("found", [None, 1, "1", "001"])
def test_the_first_number(found: object) -> None:
    """A missing number means 1, as in 0.1.0; an annotation has the number as text."""
    assert check(found, 2, "it") == 1


@pytest.mark.parametrize("found", [3, "3", 10**30, 999_999_999])
def test_a_later_number(found: object) -> None:
    """A higher number is of a later version: the message names the object, both numbers, and the way out."""
    with pytest.raises(LaterFormat, match=r"^ConfigMap x .*\b2\b"):
        check(found, 2, "ConfigMap x")


@pytest.mark.parametrize("found", [0, -1, True, 1.0, "", "²", "two", "9" * 10, [], {}])
def test_no_number(found: object) -> None:
    """An invalid number is unreadable, and not of a later version."""
    with pytest.raises(Unreadable, match=r"^it ") as error:
        check(found, 2, "it")
    assert not isinstance(error.value, LaterFormat)


@pytest.mark.parametrize(
    ("stored", "understood", "path"),
    [
        ({"a": 1}, {"a": 2, "b": 3}, ""),
        ({"a": 1, "c": 1}, {"a": 1}, "c"),
        ({"a": {"b": [{"x": 1}, {"y": 1}]}}, {"a": {"b": [{"x": 1}, {"x": 1}]}}, "a.b[1].y"),
        ({"a": [1]}, {"a": [1, 2]}, ""),
        ({"a": None}, {"a": None}, ""),
    ],
)
def test_fields_that_would_be_lost(stored: object, understood: object, path: str) -> None:
    """The first stored field that is not understood is named by its path."""
    assert unknown_field(stored, understood) == path
