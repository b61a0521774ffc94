"""How long ago something was, as kubectl writes it. Pure."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

_MINUTE_S: Final = 60
_HOUR_S: Final = 3600
_DAY_S: Final = 86_400
_AHEAD_S: Final = 2.0
"""Clocks of two machines may differ by so much without a word."""
UNKNOWN: Final = "?"


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """A time: as the object has it, and its age in words (`?` if the time cannot be read)."""

    stamp: str
    age: str


def instant(stamp: str | None) -> datetime | None:
    """A time of Kubernetes (RFC 3339) in UTC; None if it is none."""
    try:
        found = datetime.fromisoformat(stamp or "")
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):  # the second one near the years 1 and 9999
        return None


def seconds_since(stamp: str | None, now: datetime) -> float | None:
    """Seconds from a time until now, below zero for a time to come; None if the time cannot be read."""
    found = instant(stamp)
    return None if found is None else (now - found).total_seconds()


def when(stamp: str | None, now: datetime) -> When | None:
    """A time with its age; None if there is none."""
    return None if stamp is None else When(stamp=stamp, age=_age(seconds_since(stamp, now)))


def span(seconds: float) -> str:
    """A length of time in its two largest units, such as 45s, 3m12s, 5h2m, 12d."""
    whole = max(0, int(seconds))
    if whole < _MINUTE_S:
        return f"{whole}s"
    if whole < _HOUR_S:
        return f"{whole // _MINUTE_S}m{_rest(whole % _MINUTE_S, 's')}"
    if whole < _DAY_S:
        return f"{whole // _HOUR_S}h{_rest(whole % _HOUR_S // _MINUTE_S, 'm')}"
    return f"{whole // _DAY_S}d{_rest(whole % _DAY_S // _HOUR_S, 'h')}"


def _rest(amount: int, unit: str) -> str:
    return f"{amount}{unit}" if amount else ""


def _age(seconds: float | None) -> str:
    if seconds is None:
        return UNKNOWN
    return f"in {span(-seconds)}" if seconds < -_AHEAD_S else f"{span(seconds)} ago"
