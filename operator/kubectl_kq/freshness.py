"""Whether the operator still looks at a quorum, by the stamps in its status. Pure.

`status.nextLookBy` says itself when the status is out of date. An earlier operator did not write it, and renewed
`status.lastLook` every 75 s.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final

from kubectl_kq.ages import seconds_since, span
from kubectl_kq.quorum import Quorum

_LATE_S: Final = 180.0
"""The operator renews its stamps four minutes before `status.nextLookBy`: a minute later they are late."""
_PROMISE_S: Final = 300.0
"""How long a stamp of an earlier operator, which says nothing of the next one, may stand."""
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
    left_s = _left_s(quorum, age_s, now)
    if left_s is None:
        return Freshness(
            looks=Looks.UNKNOWN, message="The time of the next look cannot be read: check what writes this status"
        )
    if left_s >= _LATE_S:
        return Freshness(looks=Looks.FRESH, message=f"The operator wrote {span(age_s)} ago that it looks")
    if left_s >= 0:
        return Freshness(
            looks=Looks.LATE,
            message=f"The operator last wrote {span(age_s)} ago that it looks. It should have done so again "
            f"{span(_LATE_S - left_s)} ago",
        )
    return Freshness(
        looks=Looks.STALE,
        message=(
            f"No operator has looked for {span(age_s)}, so the status is of that time: check that the operator runs "
            "and reaches the API server"
        ),
    )


def _left_s(quorum: Quorum, age_s: float, now: datetime) -> float | None:
    """The seconds until the status is out of date, negative if it is; None if its stamp cannot be read."""
    if quorum.next_look_by is None:
        return _PROMISE_S - age_s
    past_s = seconds_since(quorum.next_look_by, now)
    return None if past_s is None else -past_s
