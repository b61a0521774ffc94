"""`status.lastLook` and `status.nextLookBy`: when the resource was last looked at, and until when that may stand. Pure.

A stamp costs a write. It is written along with every other change, and is renewed on its own once a minute. With many
resources it is renewed less often: those at rest (`doing: Done`) cost two writes a second together, and all others ten.
The uid spreads them. So each stamp says itself when it is out of date, and no reader has to know how many there are.
"""

import zlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from kit import stamps

LAST_LOOK: Final = "lastLook"
NEXT_LOOK_BY: Final = "nextLookBy"
NEXT_LOOK_BY_MEANS: Final = (
    "By when the operator writes a later status.lastLook, at the latest. Once this has passed, no operator looks, "
    "unless this resource is being deleted."
)
"""For the definition of each kind."""
EVERY_S: Final = 60.0
AT_REST_PER_S: Final = 2.0
BUSY_PER_S: Final = 10.0
LATE_S: Final = 240.0
"""How late a renewal may be before a reader may conclude that no operator looks."""
INTERVAL_MOST_S: Final = 900.0
"""The stamps of more than 1,800 resources at rest cost more than `AT_REST_PER_S`, so that each is renewed in time."""
_ALONE_S: Final = 160.0
"""How old a stamp without the other one may become: an API server with an earlier definition of the kind drops it, and
readers then assume that no operator looks after 300 s."""
_SPREAD: Final = 0.25


def interval_s(resources: int, uid: str, *, at_rest: bool = True) -> float:
    """How old the stamp of this resource may become, in seconds, if the operator serves this many of them."""
    least_s = max(EVERY_S, resources / BUSY_PER_S)
    return spread(max(least_s, min(resources / AT_REST_PER_S, INTERVAL_MOST_S)) if at_rest else least_s, uid)


def spread(interval_s: float, uid: str) -> float:
    """The interval of one of many, in seconds: up to a quarter longer, so that they do not all end at once."""
    return interval_s * (1 + _SPREAD * share(uid))


def share(text: str) -> float:
    """A number from 0 to 1 for this text, always the same. It spreads what many would do at the same time."""
    return zlib.crc32(text.encode()) / 2**32


def stamped(now: datetime, after_s: float) -> dict[str, str]:
    """The stamps of a look at this moment (with a time zone), which are renewed after so many seconds."""
    return {LAST_LOOK: stamps.second(now), NEXT_LOOK_BY: stamps.second(now + timedelta(seconds=after_s + LATE_S))}


def stamps_of(status: Mapping[str, object]) -> dict[str, object]:
    """The stamps that a status has."""
    return {name: status[name] for name in (LAST_LOOK, NEXT_LOOK_BY) if status.get(name) is not None}


def is_due(status: Mapping[str, object], *, now: datetime, after_s: float, uid: str, early_s: float = 0.0) -> bool:
    """Whether the stamps must be renewed: too old, unreadable, of the future, or with a promise that no operator makes.

    `now` has a time zone. `after_s` is how old they may become by the present number of resources (`interval_s`).
    `early_s` is for a look that renews them so shortly before, so that no other has to follow for that alone.
    """
    looked_s = _since_s(status.get(LAST_LOOK), now)
    if looked_s is None or not 0 <= looked_s < after_s - early_s:
        return True
    if NEXT_LOOK_BY not in status:
        return looked_s >= spread(_ALONE_S, uid)
    promised_s = _since_s(status[NEXT_LOOK_BY], now)
    most_s = max(after_s, INTERVAL_MOST_S * (1 + _SPREAD)) + LATE_S
    return promised_s is None or not LATE_S < -promised_s <= most_s


def _since_s(stamp: object, now: datetime) -> float | None:
    """The seconds since this stamp, negative if it lies ahead; None if it cannot be read."""
    if not isinstance(stamp, str):
        return None
    try:
        return (now - datetime.fromisoformat(stamp)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None
