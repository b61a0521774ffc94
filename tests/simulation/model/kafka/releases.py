"""What each release of Kafka supports, and what it formats with: the model's own small table, measured on real servers.

It is not the operator's table, and is never compared with it. If the two differ, a run shows it.
"""

from functools import cache
from typing import Final, TypeAlias

from kafka_quorum.model.quorum import FeatureRange, FinalizedFeature

Levels: TypeAlias = tuple[FinalizedFeature, ...]
"""Finalized levels by name; a feature at level 0 is not among them, because Kafka does not report it."""

METADATA: Final = "metadata.version"
KRAFT: Final = "kraft.version"
_TRANSACTION: Final = "transaction.version"
_GROUP: Final = "group.version"
_ELIGIBLE: Final = "eligible.leader.replicas.version"
_SHARE: Final = "share.version"
_STREAMS: Final = "streams.version"
NEWEST: Final = "4.4.0"
UNREGISTERS_SINCE: Final = 33
"""The metadata.version from which a controller can be unregistered."""
LOSSY: Final = frozenset({8, 11, 13, 14, 15, 17, 23, 30, 32, 33})
"""The levels of metadata.version that add records of their own: from them no safe downgrade exists."""
_SINCE_4: Final = ((_ELIGIBLE, 0, 1), (_GROUP, 0, 1), (KRAFT, 0, 1), (_TRANSACTION, 0, 2))
_RANGES: Final = {
    (3, 9): ((KRAFT, 0, 1), (METADATA, 1, 21)),
    (4, 0): (*_SINCE_4, (METADATA, 7, 25)),
    (4, 1): (*_SINCE_4, (METADATA, 7, 27), (_SHARE, 0, 1)),
    (4, 2): (*_SINCE_4, (METADATA, 7, 29), (_SHARE, 0, 1), (_STREAMS, 0, 1)),
    (4, 3): (*_SINCE_4, (METADATA, 7, 30), (_SHARE, 0, 1), (_STREAMS, 0, 1)),
    (4, 4): (*_SINCE_4, (METADATA, 7, 33), (_SHARE, 0, 2), (_STREAMS, 0, 1)),
}
_OFF_AT_FIRST: Final = {((4, 0), _ELIGIBLE), ((4, 1), _SHARE)}
"""What a release supports, and does not enable in a new cluster."""
_UPGRADES_KRAFT_SINCE: Final = (4, 1)
_SETS_CONTROLLERS_SINCE: Final = (4, 3)


@cache
def supported(release: str) -> tuple[FeatureRange, ...]:
    """The ranges of a release by name; an unlisted release has those of the newest listed one before it."""
    known = max((one for one in _RANGES if one <= _minor(release)), default=min(_RANGES))
    rows = (FeatureRange(name=name, min_level=low, max_level=high) for name, low, high in _RANGES[known])
    return tuple(sorted(rows))


@cache
def defaults(release: str, *, static: bool) -> Levels:
    """What a release formats with by default: all but a few features at their highest level."""
    off = {name for minor, name in _OFF_AT_FIRST if minor == _minor(release)} | ({KRAFT} if static else set())
    return levels_of({one.name: one.max_level for one in supported(release) if one.name not in off})


def levels_of(levels: dict[str, int]) -> Levels:
    """Levels in order, without those at 0."""
    return tuple(FinalizedFeature(name=name, level=level) for name, level in sorted(levels.items()) if level)


def level_of(levels: Levels, name: str) -> int:
    """The level of a feature; 0 if it is not finalized."""
    return next((one.level for one in levels if one.name == name), 0)


def with_level(levels: Levels, name: str, level: int) -> Levels:
    """The levels after one of them was changed."""
    return levels_of({**{one.name: one.level for one in levels}, name: level})


def range_in(ranges: tuple[FeatureRange, ...], name: str) -> FeatureRange:
    """The range of a feature among these; only 0 if it is unknown."""
    return next((one for one in ranges if one.name == name), FeatureRange(name=name, min_level=0, max_level=0))


def supports(ranges: tuple[FeatureRange, ...], name: str, level: int) -> bool:
    """Whether a node with these ranges can run on this level."""
    found = range_in(ranges, name)
    return found.min_level <= level <= found.max_level


def why_not(release: str, levels: Levels) -> str:
    """Why a process of this release cannot run on these levels; empty if it can."""
    for one in levels:
        ranges = supported(release)
        if not supports(ranges, one.name, one.level):
            found = range_in(ranges, one.name)
            valid = f"Valid feature levels are from {found.min_level} to {found.max_level}"
            return f"No {one.name} with feature level {one.level}. {valid}"
    return ""


def upgrades_kraft(release: str) -> bool:
    """Whether kraft.version 1 makes a static quorum dynamic: 3.9 answers with a success, and changes nothing."""
    return _minor(release) >= _UPGRADES_KRAFT_SINCE


def sets_controllers(release: str) -> bool:
    """Whether a leader of this release takes settings of controllers that its own configuration does not name."""
    return _minor(release) >= _SETS_CONTROLLERS_SINCE


def _minor(release: str) -> tuple[int, int]:
    major, minor = (int(part) for part in release.split(".")[:2])
    return major, minor
