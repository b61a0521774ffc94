"""The stamp of the last look: once a minute, spread over time, and ten writes a second for all quorums at most."""

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
    """A stamp is renewed when it is old, missing, unreadable, or of another clock."""
    assert is_due(stamp, now=NOW, after_s=60.0) is due


def test_at_most_once_a_minute() -> None:
    """No quorum writes its stamp alone more often than once a minute."""
    assert min(interval_s(1, f"uid-{number}") for number in range(1000)) >= EVERY_S


@pytest.mark.parametrize("quorums", [1, 600, 1000, 10_000])
def test_all_stamps_together(quorums: int) -> None:
    """However many quorums there are, their stamps together cost ten writes a second at most."""
    rate = sum(1 / interval_s(quorums, f"uid-{number}") for number in range(quorums))
    assert rate <= WRITES_PER_S


def test_stamps_are_spread() -> None:
    """A thousand quorums that were looked at in one second are not due again in one second."""
    due = [timedelta(seconds=interval_s(1000, f"uid-{number}")).seconds for number in range(1000)]
    assert max(due.count(second) for second in set(due)) < 100
