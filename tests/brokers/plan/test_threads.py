"""Numbers of threads change step by step, because a running broker refuses more than a factor of two."""

import pytest

from kafka_brokers.plan.settings import step


@pytest.mark.parametrize(
    ("present", "asked", "value"),
    [
        ("8", "12", "12"),
        ("8", "64", "16"),
        ("8", "3", "4"),
        ("5", "1", "3"),
        ("1", "2", "2"),
        (None, "64", "64"),
        ("8", "many", "many"),
        ("", "4", "4"),
    ],
)
def test_a_number_of_threads_doubles_at_most(present: str | None, asked: str, value: str) -> None:
    """The next value is at most twice and at least half of the present one, if both are numbers."""
    assert step("num.io.threads", present, asked) == value


def test_other_settings_change_at_once() -> None:
    """A setting that is no number of threads gets its value at once."""
    assert step("log.retention.ms", "8", "64") == "64"
