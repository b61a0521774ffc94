"""What is known of each line of Kafka Streams releases, as data: formats, what `upgrade.from` accepts, what is lost.

`tests/live/streams` measures it on real libraries and brokers; docs/streams-measured.md has the figures.
"""

from dataclasses import dataclass
from typing import Final

from kafka_streams.model.release import StreamsRelease

Line = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineFacts:
    """One line of releases. `accepts` are the values that `upgrade.from` takes from the patch `since_patch` on.

    Earlier patches of such a line, and lines that accept nothing, ignore `upgrade.from` without a word (measured). 4.0
    and 4.1 accept a configuration with values up to `2.3`, and fail while the client is made (measured).
    """

    line: Line
    subscription_version: int
    """The version of the subscription metadata that an instance sends by default."""
    accepts: tuple[str, ...] = ()
    since_patch: int = 0


_BEFORE_2_0: Final = ("0.10.0", "0.10.1", "0.10.2", "0.11.0", "1.0", "1.1")
_BEFORE_2_4: Final = (*_BEFORE_2_0, "2.0", "2.1", "2.2", "2.3")
_BEFORE_4_3: Final = (
    *("2.4", "2.5", "2.6", "2.7", "2.8", "3.0", "3.1", "3.2", "3.3", "3.4", "3.5"),
    *("3.6", "3.7", "3.8", "3.9", "4.0", "4.1", "4.2"),
)


def _up_to(last: str, *, with_eager: bool = True) -> tuple[str, ...]:
    """Every value from the oldest to `last`; without those of the eager protocol from 2.4 on."""
    recent = _BEFORE_4_3[: _BEFORE_4_3.index(last) + 1]
    return (*_BEFORE_2_4, *recent) if with_eager else recent


LINES: Final[tuple[LineFacts, ...]] = (
    LineFacts(line=(0, 10, 0), subscription_version=1),
    LineFacts(line=(0, 10, 1), subscription_version=2),
    LineFacts(line=(0, 10, 2), subscription_version=2, accepts=("0.10.0",), since_patch=2),
    LineFacts(line=(0, 11, 0), subscription_version=2, accepts=("0.10.0",), since_patch=3),
    LineFacts(line=(1, 0), subscription_version=2, accepts=("0.10.0",), since_patch=2),
    LineFacts(line=(1, 1), subscription_version=2, accepts=("0.10.0",), since_patch=1),
    LineFacts(line=(2, 0), subscription_version=3, accepts=_BEFORE_2_0),
    LineFacts(line=(2, 1), subscription_version=4, accepts=_BEFORE_2_0),
    LineFacts(line=(2, 2), subscription_version=4, accepts=_BEFORE_2_0),
    LineFacts(line=(2, 3), subscription_version=4, accepts=_BEFORE_2_0),
    LineFacts(line=(2, 4), subscription_version=5, accepts=_BEFORE_2_4),
    LineFacts(line=(2, 5), subscription_version=6, accepts=_BEFORE_2_4),
    LineFacts(line=(2, 6), subscription_version=8, accepts=_BEFORE_2_4),
    LineFacts(line=(2, 7), subscription_version=8, accepts=_BEFORE_2_4),
    LineFacts(line=(2, 8), subscription_version=9, accepts=_BEFORE_2_4),
    LineFacts(line=(3, 0), subscription_version=10, accepts=_BEFORE_2_4),
    LineFacts(line=(3, 1), subscription_version=10, accepts=_BEFORE_2_4),
    LineFacts(line=(3, 2), subscription_version=11, accepts=_BEFORE_2_4),
    LineFacts(line=(3, 3), subscription_version=11, accepts=_up_to("3.2")),
    LineFacts(line=(3, 4), subscription_version=11, accepts=_up_to("3.3")),
    LineFacts(line=(3, 5), subscription_version=11, accepts=_up_to("3.4")),
    LineFacts(line=(3, 6), subscription_version=11, accepts=_up_to("3.5")),
    LineFacts(line=(3, 7), subscription_version=11, accepts=_up_to("3.6")),
    LineFacts(line=(3, 8), subscription_version=11, accepts=_up_to("3.7")),
    LineFacts(line=(3, 9), subscription_version=11, accepts=_up_to("3.8")),
    LineFacts(line=(4, 0), subscription_version=11, accepts=_up_to("3.9", with_eager=False)),
    LineFacts(line=(4, 1), subscription_version=11, accepts=_up_to("4.0", with_eager=False)),
    LineFacts(line=(4, 2), subscription_version=11, accepts=_up_to("4.1", with_eager=False)),
    LineFacts(line=(4, 3), subscription_version=11, accepts=_up_to("4.2", with_eager=False)),
)
_BY_LINE: Final = {facts.line: facts for facts in LINES}

LAST_EAGER: Final[Line] = (2, 3)
"""Up to this line instances only know the eager rebalance protocol, which 4.0 dropped (KAFKA-8179)."""
FIRST_WITHOUT_EAGER: Final[Line] = (4, 0)
LAST_BRIDGE: Final[Line] = (3, 9)
"""The newest line that instances of 2.3 and older can share a group with."""
FIRST_PROBING: Final[Line] = (2, 4)
"""From this line on version probing works (measured); 2.0 → 2.1, which should probe too, failed 3 times of 3."""
CHECKPOINTS_CHANGED: Final[tuple[Line, Line]] = ((2, 5), (2, 6))
"""Between these lines the offset in a store's checkpoint file changed its meaning (measured).

Up to 2.5 it is the next one to restore, and from 2.6 on the last one that is in the store: a later release that reads
an earlier checkpoint skips a record. If the checkpoint is the changelog's end, it restores from the start, or its
stream thread ends.
"""
FIRST_STREAMS_PROTOCOL: Final[Line] = (4, 2)
"""`group.protocol=streams` (KIP-1071) is supported from this line on, in instances and brokers; 4.1 has a preview."""
CORRUPTING_BROKERS: Final = frozenset({StreamsRelease((4, 2), 0)})
"""Brokers that corrupt a group which changes from the classic to the streams protocol (KAFKA-20254)."""
FIRST_ON_BROKER_4: Final[Line] = (2, 1)
"""The oldest clients that brokers of 4.0 support (KIP-896)."""
FIRST_BROKER_FOR_4: Final[Line] = (2, 1)
"""The oldest brokers that clients of 4.0 support (KIP-896)."""


def facts_of(release: StreamsRelease) -> LineFacts | None:
    """What is known of the release's line; None if this version of the operator does not know the line."""
    return _BY_LINE.get(release.line)


def accepted_values(release: StreamsRelease) -> tuple[str, ...]:
    """The values of `upgrade.from` that this release understands, oldest first; none if its line is unknown."""
    facts = facts_of(release)
    return () if facts is None or release.patch < facts.since_patch else facts.accepts


def newest_known() -> str:
    """The newest line, for a message."""
    return StreamsRelease(LINES[-1].line, 0).line_text


def checkpoints_differ(one: Line, other: Line) -> bool:
    """Whether two lines read the checkpoints of local stores differently."""
    early, late = CHECKPOINTS_CHANGED
    low, high = sorted((one, other))
    return low != high and high > early and low < late
