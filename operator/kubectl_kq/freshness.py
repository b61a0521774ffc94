"""Whether the operator still looks at a quorum, by the stamp that it renews every 60 to 75 seconds. Pure."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final

from kubectl_kq.ages import seconds_since, span
from kubectl_kq.quorum import Quorum

FRESH_S: Final = 120.0
STALE_S: Final = 300.0
"""An older stamp means that no operator looks. With more than 1,500 quorums, n/5 seconds (docs/operations.md)."""
_AHEAD_S: Final = 60.0


class Looks(Enum):
    """How old the last look is."""

    FRESH = "fresh"
    LATE = "late"
    STALE = "stale"
    NEVER = "never"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """The verdict, with a sentence."""

    looks: Looks
    message: str


def freshness(quorum: Quorum, now: datetime) -> Freshness:
    """Whether what the status says is of now."""
    age_s = seconds_since(quorum.last_look, now)
    if quorum.last_look is None:
        return Freshness(
            looks=Looks.NEVER,
            message="No operator has looked at this quorum yet: check that an operator runs and serves this namespace",
        )
    if age_s is None or age_s < -_AHEAD_S:
        why = "cannot be read" if age_s is None else f"lies {span(-age_s)} ahead of this machine's clock"
        return Freshness(looks=Looks.UNKNOWN, message=f"The time of the last look {why}: correct the clocks")
    if age_s <= FRESH_S:
        return Freshness(looks=Looks.FRESH, message=f"The operator looked {span(age_s)} ago")
    if age_s <= STALE_S:
        return Freshness(
            looks=Looks.LATE,
            message=f"The operator looked {span(age_s)} ago. With at most 600 quorums it looks every 75s",
        )
    return Freshness(
        looks=Looks.STALE,
        message=(
            f"No operator has looked for {span(age_s)}, so the status is of that time: check that the operator runs "
            "and reaches the API server. With n quorums, n above 1500, stamps may be n/5 seconds old"
        ),
    )
