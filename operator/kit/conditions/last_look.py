"""`status.lastLook`: the time of the last look at the resource, which shows whether the status is kept up. Pure.

A stamp costs a write. It is written along with every other change, and is renewed on its own once a minute. With more
than 600 resources it is renewed less often, so that all stamps together cost ten writes a second. The uid spreads them.
"""

import zlib
from datetime import datetime
from typing import Final

EVERY_S: Final = 60.0
WRITES_PER_S: Final = 10.0
_SPREAD: Final = 0.25
"""A resource waits up to this share longer than the interval; its uid decides how much."""


def interval_s(resources: int, uid: str) -> float:
    """How old the stamp of this resource may become, in seconds, if the operator serves this many of them."""
    share = zlib.crc32(uid.encode()) / 2**32
    return max(EVERY_S, resources / WRITES_PER_S) * (1 + _SPREAD * share)


def is_due(stamp: object, *, now: datetime, after_s: float) -> bool:
    """Whether a stamp must be renewed: it is too old, cannot be read, or is in the future. `now` has a time zone."""
    if not isinstance(stamp, str):
        return True
    try:
        age_s = (now - datetime.fromisoformat(stamp)).total_seconds()
    except (ValueError, TypeError):
        return True
    return not 0 <= age_s < after_s
