"""The stamps of a look: once a minute, spread over time, with a bound on the writes of all resources together."""

from datetime import UTC, datetime, timedelta

import pytest

from kit.conditions.last_look import AT_REST_PER_S, BUSY_PER_S, EVERY_S, LATE_S, interval_s, is_due, stamped

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
FINE = "2026-01-01T12:04:01Z"
"""More than four minutes from now."""


@pytest.mark.parametrize(
    ("looked", "promised", "due"),
    [
        (None, FINE, True),
        ("", FINE, True),
        ("yesterday", FINE, True),
        (7, FINE, True),
        ("2026-01-01T12:00:00Z", FINE, False),
        ("2026-01-01T11:59:01Z", FINE, False),
        ("2026-01-01T11:59:00Z", FINE, True),
        ("2026-01-01T12:00:01Z", FINE, True),
        ("2026-01-01T11:00:00", FINE, True),
        ("2026-01-01T12:00:00Z", "soon", True),
        ("2026-01-01T12:00:00Z", "2026-01-01T12:04:00Z", True),
        ("2026-01-01T12:00:00Z", "2026-01-01T12:22:45Z", False),
        ("2026-01-01T12:00:00Z", "2026-01-01T12:22:46Z", True),
        ("2026-01-01T12:00:00Z", "9999-12-31T23:59:59-23:59", True),
    ],
)
def test_due(looked: object, promised: object, *, due: bool) -> None:
    """Stamps are renewed if they are old, missing, unreadable, from another clock, or near what they promise."""
    assert is_due({"lastLook": looked, "nextLookBy": promised}, now=NOW, after_s=60.0, uid="") is due


def test_an_api_server_that_drops_the_promise_costs_no_more_writes() -> None:
    """With an earlier definition of the kind only the first stamp is kept: it is renewed in time, and not each time."""
    status = {"lastLook": stamped(NOW, 600.0)["lastLook"]}
    assert not is_due(status, now=NOW, after_s=600.0, uid="")
    assert not is_due(status, now=NOW + timedelta(seconds=159), after_s=600.0, uid="")
    assert is_due(status, now=NOW + timedelta(seconds=200), after_s=600.0, uid="")
    assert is_due(status, now=NOW + timedelta(seconds=60), after_s=60.0, uid="")


def test_stamps_are_renewed_before_they_are_out_of_date() -> None:
    """New stamps are not due; they are after the interval, minutes before the promise ends."""
    status = stamped(NOW, 600.0)
    assert not is_due(status, now=NOW + timedelta(seconds=599), after_s=600.0, uid="")
    assert is_due(status, now=NOW + timedelta(seconds=600), after_s=600.0, uid="")
    assert is_due(status, now=NOW + timedelta(seconds=600), after_s=10_000.0, uid="")
    assert datetime.fromisoformat(status["nextLookBy"]) == NOW + timedelta(seconds=600 + LATE_S)


def test_at_most_once_a_minute() -> None:
    """No quorum writes only its stamp more often than once a minute."""
    assert min(interval_s(1, f"uid-{number}") for number in range(1000)) >= EVERY_S


@pytest.mark.parametrize("quorums", [1, 120, 600, 1000, 1800])
def test_all_stamps_together(quorums: int) -> None:
    """The stamps of all quorums together cost a bounded number of writes, however many quorums there are."""
    for at_rest, most in ((True, AT_REST_PER_S), (False, BUSY_PER_S)):
        assert sum(1 / interval_s(quorums, f"uid-{number}", at_rest=at_rest) for number in range(quorums)) <= most


@pytest.mark.parametrize("quorums", [1, 1000, 5000, 9000])
def test_no_stamp_stands_too_long(quorums: int) -> None:
    """However many quorums there are, up to 9,000, a stamp is renewed within nineteen minutes, and busy ones sooner."""
    assert max(interval_s(quorums, f"uid-{number}") for number in range(1000)) <= 1.25 * 900
    for number in range(100):
        uid = f"uid-{number}"
        assert interval_s(quorums, uid, at_rest=False) <= interval_s(quorums, uid)


def test_stamps_are_spread() -> None:
    """Of a thousand quorums whose stamps were written at once, fewer than a hundred are due in any one second."""
    due = [timedelta(seconds=interval_s(1000, f"uid-{number}")).seconds for number in range(1000)]
    assert max(due.count(second) for second in set(due)) < 100
