"""Kubernetes' own warnings about pods and claims of a quorum: why one does not start, or is not bound. Pure."""

from datetime import datetime
from typing import Any, Final, TypeAlias

from kubectl_kq import reading
from kubectl_kq.ages import seconds_since
from kubectl_kq.sources import Look, Source

Json: TypeAlias = dict[str, Any]

_RECENT_S: Final = 1800.0
_STAMPS: Final = (
    ("series", "lastObservedTime"),
    ("lastTimestamp",),
    ("eventTime",),
    ("metadata", "creationTimestamp"),
)
"""Where an event has its time: the first one that it has counts."""


def age_s(event: Json, now: datetime) -> float | None:
    """Seconds since an event was seen last; None if it has no time that can be read."""
    ages = (seconds_since(reading.text(event, *path), now) for path in _STAMPS)
    return next((age for age in ages if age is not None), None)


def ours(look: Look) -> tuple[Json, ...]:
    """The warnings about pods and claims of this quorum; a namespace has others, too."""
    pods, claims = look.items(Source.PODS) or (), look.items(Source.CLAIMS) or ()
    names = {("Pod", reading.name(pod)) for pod in pods} | {
        ("PersistentVolumeClaim", reading.name(claim)) for claim in claims
    }
    return tuple(event for event in look.items(Source.WARNINGS) or () if _about(event) in names)


def why(look: Look, kind: str, name: str, now: datetime) -> str | None:
    """The newest warning about an object, as `reason: message`; None if there was none lately."""
    aged = [
        (age, event)
        for event in ours(look)
        if _about(event) == (kind, name) and (age := age_s(event, now)) is not None and age < _RECENT_S
    ]
    if not aged:
        return None
    _, newest = min(aged, key=lambda pair: pair[0])
    return f"{reading.text(newest, 'reason')}: {reading.text(newest, 'message')}"


def _about(event: Json) -> tuple[str, str]:
    kind, name = (reading.text(event, "involvedObject", key) for key in ("kind", "name"))
    return kind or reading.UNREADABLE, name or reading.UNREADABLE
