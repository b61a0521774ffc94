"""The stamp of the last look: once a minute, spread over time, and at most ten writes a second for all quorums."""

from datetime import UTC, datetime, timedelta

import pytest

from kit.conditions.last_look import EVERY_S, WRITES_PER_S, interval_s, is_due

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("stamp", "due"),
    [
        (None, True),
        ("", True),
        ("yesterday", True),
        (7, True),
        ("2026-01-01T12:00:00Z", False),
        ("2026-01-01T11:59:01Z", False),
        ("2026-01-01T11:59:00Z", True),
        ("2026-01-01T12:00:01Z", True),
        ("2026-01-01T11:00:00", True),
    ],
)
def test_due(stamp: object, *, due: bool) -> None:
    """A stamp is renewed if it is old, missing, unreadable, or from another clock."""
    assert is_due(stamp, now=NOW, after_s=60.0) is due


def test_at_most_once_a_minute() -> None:
    """No quorum writes only its stamp more often than once a minute."""
    assert min(interval_s(1, f"uid-{number}") for number in range(1000)) >= EVERY_S


@pytest.mark.parametrize("quorums", [1, 600, 1000, 10_000])
def test_all_stamps_together(quorums: int) -> None:
    """The stamps of all quorums together cost at most ten writes a second, however many quorums there are."""
    rate = sum(1 / interval_s(quorums, f"uid-{number}") for number in range(quorums))
    assert rate <= WRITES_PER_S


def test_stamps_are_spread() -> None:
    """Of a thousand quorums whose stamps were written at once, fewer than a hundred are due in any one second."""
    due = [timedelta(seconds=interval_s(1000, f"uid-{number}")).seconds for number in range(1000)]
    assert max(due.count(second) for second in set(due)) < 100
