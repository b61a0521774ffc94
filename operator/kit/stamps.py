"""Times in the form of Kubernetes: RFC 3339, in UTC. Pure."""

from datetime import UTC, datetime


def second(at: datetime) -> str:
    """A time with a time zone as `metav1.Time`, in whole seconds: `2026-01-01T00:00:00Z`."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def second_of(seconds: float) -> str:
    """Seconds since the epoch in the same form."""
    return second(datetime.fromtimestamp(seconds, UTC))


def microsecond(at: datetime) -> str:
    """A time with a time zone as `metav1.MicroTime`: `2026-01-01T00:00:00.000000Z`."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def seconds_of(stamp: object) -> float:
    """A stamp as seconds since the epoch; the epoch itself if it cannot be read. Without a zone it is UTC.

    Kubernetes writes a time that it does not have as null, such as the end of a container that its kubelet lost. A zone
    may put a time before the first year or after the last one: then it could not be written again.
    """
    if not isinstance(stamp, str):
        return 0.0
    try:
        at = datetime.fromisoformat(stamp)
        return (at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return 0.0
