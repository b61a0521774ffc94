"""Feature levels as people write them, resolved to numbers: `4.4-IV2`, `4.4`, `33`.

The names come from Kafka's own `MetadataVersion` and `Feature` classes, dumped into `features.json`
(`python tests/api/features`). The same file has what each release line supports and its defaults. For releases newer
than that table, numbers pass and Kafka decides. Of a release line that is not in the table, nothing is known.
"""

import json
import re
from functools import cache
from importlib.resources import files
from typing import TypedDict

from kafka_quorum.api.release import Release
from kafka_quorum.model.quorum import FeatureRange

METADATA = "metadata.version"
KRAFT = "kraft.version"
NAME_FORM = "[a-z][a-z0-9]*([.][a-z0-9]+)*[.]version"
MAX_LEVEL = 32767


class _Level(TypedDict):
    level: int
    dependencies: dict[str, int]


class _Line(TypedDict):
    supported: dict[str, list[int]]
    defaults: dict[str, int]


class _Table(TypedDict):
    metadataVersions: dict[str, int]
    features: dict[str, list[_Level]]
    releases: dict[str, _Line]


@cache
def _table() -> _Table:
    table: _Table = json.loads((files(__package__) / "features.json").read_text())
    return table


def metadata_version_name(level: int) -> str | None:
    """Kafka's name of a metadata.version level (`4.4-IV2`); None if it is not in the table."""
    return next((name for name, known in _table()["metadataVersions"].items() if known == level), None)


def metadata_version_names() -> dict[str, int]:
    """Every metadata.version of the table, oldest first."""
    return dict(_table()["metadataVersions"])


def feature_names() -> tuple[str, ...]:
    """Every feature of the table, metadata.version first."""
    return (METADATA, *_table()["features"])


def supported_by(release: Release) -> tuple[FeatureRange, ...] | None:
    """The levels that a controller of this release reports; None if its release line is not in the table.

    The newest patch of each release line was asked: Kafka adds no levels in a patch.
    """
    line = _line(release)
    if line is None:
        return None
    rows = sorted(line["supported"].items())
    return tuple(FeatureRange(name=name, min_level=low, max_level=high) for name, (low, high) in rows)


def default_levels(release: Release) -> dict[str, int] | None:
    """The level of each supported feature in a new cluster of this release; 0 means that the feature is off.

    None if the release line is not in the table.
    """
    line = _line(release)
    return None if line is None else dict(line["defaults"])


def dependencies(name: str, level: int) -> dict[str, int]:
    """The lowest levels of other features that this one needs; empty if it needs none, or is not in the table."""
    known = _table()["features"].get(name, [])
    return next((dict(entry["dependencies"]) for entry in known if entry["level"] == level), {})


def level_text(name: str, level: int) -> str:
    """A level for people: `4.4-IV2 (33)` for metadata.version, else the number alone."""
    kafkas = metadata_version_name(level) if name == METADATA else None
    return str(level) if kafkas is None else f"{kafkas} ({level})"


def resolve_level(name: str, level: int | str, release: Release) -> int | str:
    """The level as a number; a sentence if it is not possible for this feature and release."""
    if re.fullmatch(NAME_FORM, name) is None or (_table_covers(release) and name not in feature_names()):
        return f"{name!r} is not a feature of Kafka: use one of {', '.join(feature_names())}"
    if isinstance(level, str) and re.fullmatch(r"[0-9]{1,5}", level):
        level = int(level)
    if name == METADATA:
        return _metadata_level(level, release)
    if isinstance(level, str):
        return f"{level!r} is not a level of {name}: write its number, such as 1"
    return _feature_level(name, level, release)


def missing_dependency(levels: dict[str, int]) -> str | None:
    """A sentence if one of these levels needs a higher metadata.version than the one among them."""
    metadata = levels.get(METADATA)
    for name, level in levels.items():
        needed = dependencies(name, level).get(METADATA, 0)
        if metadata is not None and needed > metadata:
            return (
                f"{name} {level} needs metadata.version {needed} ({metadata_version_name(needed)}) or later, and "
                f"{metadata} is requested: raise metadata.version or lower {name}"
            )
    return None


def _metadata_level(level: int | str, release: Release) -> int | str:
    names = _table()["metadataVersions"]
    if isinstance(level, str):
        resolved = names.get(level) or _newest_of(level)
        if resolved is None:
            return (
                f"{level!r} is not a metadata.version that this operator supports: write a name such as "
                f"4.4-IV2, or its number"
            )
        level = resolved
    oldest, newest = min(names.values()), max(names.values())
    if level < oldest:
        return (
            f"metadata.version {level} is too old for a dynamic quorum: use {oldest} "
            f"({metadata_version_name(oldest)}) or later"
        )
    if level > newest and _table_covers(release):
        return f"no Kafka release up to {_newest_release()} has metadata.version {level}: use {newest} or lower"
    ceiling = _newest_of_release(release)
    if ceiling is not None and level > ceiling:
        return (
            f"Kafka {_dotted(release)} supports metadata.version up to {ceiling} ({metadata_version_name(ceiling)}), "
            f"not {level}: lower the level, or raise spec.kafka.version"
        )
    return level


def _feature_level(name: str, level: int, release: Release) -> int | str:
    if name == KRAFT and level != 1:
        return "kraft.version must be 1, which makes a quorum dynamic, and cannot be lowered: remove this level"
    if not 0 <= level <= MAX_LEVEL:
        return f"{level} is not a level of {name}: levels go from 0 to {MAX_LEVEL}"
    known = [entry["level"] for entry in _table()["features"].get(name, [])]
    if known and level > max(known) and _table_covers(release):
        return f"no Kafka release up to {_newest_release()} has {name} {level}: use {max(known)} or lower"
    return level


def _line(release: Release) -> _Line | None:
    """The table's entry for a release line, for any patch."""
    return _table()["releases"].get(f"{release[0]}.{release[1]}")


def _newest_of(text: str) -> int | None:
    """The newest level of a release named as `4.4`."""
    levels = [level for name, level in _table()["metadataVersions"].items() if name.partition("-")[0] == text]
    return max(levels, default=None)


def _newest_of_release(release: Release) -> int | None:
    """The newest level that a release of the table supports; None for releases newer than the table."""
    if not _table_covers(release):
        return None
    names = _table()["metadataVersions"].items()
    return max(level for name, level in names if _minor(name) <= release[:2])


def _newest_release() -> str:
    return max(_table()["metadataVersions"], key=_minor).partition("-")[0]


def _table_covers(release: Release) -> bool:
    return release[:2] <= max(_minor(name) for name in _table()["metadataVersions"])


def _minor(name: str) -> tuple[int, int]:
    major, _, minor = name.partition("-")[0].partition(".")
    return int(major), int(minor)


def _dotted(release: Release) -> str:
    return ".".join(str(number) for number in release)
