"""How long a started Kafka container takes until it is usable: start-up, catching up, and its name in DNS.

During all that time the pod runs, for Kubernetes and for the operator. Measured on real servers: 2.1 to 6.1 s from the
start to an elected leader, 1.7 s until an observer fetches (shared/kafka-facts: Formatting, Lost disks).
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

UNBOUNDED: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The pace of one start.

    `startup_s` passes until it listens, fetches and votes. `dns_s` passes from the moment when its pod has an address
    until the others find that address by its name. One fetch brings at most `records` records.
    """

    startup_s: float = 0.0
    dns_s: float = 0.0
    records: int = UNBOUNDED


Paces: TypeAlias = Callable[[], Pace]
"""Draws the pace of the next start."""

INSTANT: Final = Pace()
"""For tests of the model itself."""
STEADY: Final = Pace(startup_s=1.5, dns_s=2.0, records=100)
"""The default."""
SLOW: Final = Pace(startup_s=4.0, dns_s=6.0, records=4)
"""A large log, a busy machine, a cached name."""
_STARTUPS_S: Final = (1.5, 1.5, 1.5, 3.0, 5.0, 9.0)
_NAMED_AFTER_S: Final = (2.0, 2.0, 5.0, 15.0)
_RECORDS: Final = (100, 100, 10, 3)


def steady() -> Pace:
    """The pace of every start in an ordinary run."""
    return STEADY


def slow() -> Pace:
    """The pace of every start in a slow quorum."""
    return SLOW


def drawn(seed: int) -> Paces:
    """The paces of a storm: each start draws one."""
    draw = random.Random(f"pace {seed}")

    def pace() -> Pace:
        return Pace(
            startup_s=draw.choice(_STARTUPS_S), dns_s=draw.choice(_NAMED_AFTER_S), records=draw.choice(_RECORDS)
        )

    return pace
