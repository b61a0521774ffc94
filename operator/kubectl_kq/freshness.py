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
"""How long a stamp may stand without the other one, which an earlier operator did not write, and which an earlier
definition of the kind drops."""
_LATE_ALONE_S: Final = 80.0
_PROMISE_MOST_S: Final = 7200.0
"""No operator promises its next stamp for later than this after the last one."""
_AHEAD_S: Final = 60.0


class Looks(Enum):
    """How old the last look is."""

    FRESH = "fresh"
    LATE = "late"
    STALE = "stale"
    DELETED = "deleted"
    """The resource is being deleted, so the operator does not look at it."""
    NEVER = "never"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """The verdict, with a sentence."""

    looks: Looks
    message: str


def freshness(quorum: Quorum, now: datetime) -> Freshness:
    """Whether the status shows the present state.

    The operator writes no stamps for a resource that is being deleted.
    """
    found = _by_stamps(quorum, now)
    if found.looks in {Looks.NEVER, Looks.UNKNOWN} or not quorum.is_being_deleted:
        return found
    return Freshness(
        looks=Looks.DELETED,
        message="The quorum is being deleted. The operator changes nothing during a deletion, so the status is older "
        "than the deletion",
    )


def _by_stamps(quorum: Quorum, now: datetime) -> Freshness:
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
    if left_s is None or age_s + left_s > _PROMISE_MOST_S:
        return Freshness(
            looks=Looks.UNKNOWN,
            message="The time of the next look (status.nextLookBy) is none that an operator writes: find out what else "
            "writes this status",
        )
    late_s = _LATE_ALONE_S if quorum.next_look_by is None else _LATE_S
    if left_s >= late_s:
        return Freshness(looks=Looks.FRESH, message=f"The operator wrote {span(age_s)} ago that it looks")
    if left_s >= 0:
        return Freshness(
            looks=Looks.LATE,
            message=f"The operator last wrote {span(age_s)} ago that it looks. It should have done so again "
            f"{span(late_s - left_s)} ago",
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
