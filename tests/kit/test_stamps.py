"""Times as Kubernetes writes them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from kit import stamps

AT = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)


def test_stamps_are_in_utc() -> None:
    """A time of any zone is written in UTC, in whole seconds or with six digits."""
    for at in (AT, AT.astimezone(timezone(timedelta(hours=-7)))):
        assert stamps.second(at) == "2026-01-02T03:04:05Z"
        assert stamps.microsecond(at) == "2026-01-02T03:04:05.000678Z"


def test_a_stamp_is_read_back() -> None:
    """A written stamp is read back as the same second; without a zone it is UTC."""
    for stamp in (stamps.second(AT), "2026-01-02T03:04:05", "2026-01-02T04:04:05+01:00"):
        assert stamps.seconds_of(stamp) == int(AT.timestamp())


NONE: list[object] = [
    None,
    7,
    "",
    "yesterday",
    "2026-13-01T00:00:00Z",
    "9999-99-99",
    "9999-12-31T23:59:59-23:59",
    "0001-01-01T00:00:00+00:01",
]


@pytest.mark.parametrize("text", NONE)
def test_what_is_no_stamp(text: object) -> None:
    """Null, and a text that is no stamp, is read as the epoch, older than every other time."""
    assert stamps.seconds_of(text) == 0.0


def test_whatever_is_read_can_be_written() -> None:
    """The last second that has a stamp."""
    last = "9999-12-31T23:59:59Z"
    assert stamps.second_of(stamps.seconds_of(last)) == last
