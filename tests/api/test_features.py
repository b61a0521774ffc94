"""The generated table of releases and levels, and the sentences that use it."""

import itertools
import json

import pytest
from tests.api.features.__main__ import NEWEST_PATCHES, TABLE, Lines, release_of, table_of, text_of

from kafka_quorum.api.features import (
    KRAFT,
    METADATA,
    default_levels,
    dependencies,
    feature_names,
    level_text,
    metadata_version_names,
    missing_dependency,
    resolve_level,
    supported_by,
)
from kafka_quorum.api.release import Release, parse_release
from kafka_quorum.model.quorum import FeatureRange

RELEASES: tuple[Release, ...] = ((3, 9, 2), (4, 0, 2), (4, 1, 2), (4, 2, 1), (4, 3, 1), (4, 4, 0))


def ranges(release: Release) -> dict[str, FeatureRange]:
    """The ranges that a release supports, by name."""
    supported = supported_by(release)
    assert supported is not None
    return {row.name: row for row in supported}


def test_the_table_has_every_release_line_that_it_is_made_from() -> None:
    """From 3.9 on, each release line has supported ranges and defaults."""
    assert tuple(parse_release(version) for version in NEWEST_PATCHES) == RELEASES
    for release in RELEASES:
        assert METADATA in ranges(release)
        assert (default_levels(release) or {})[METADATA] == ranges(release)[METADATA].max_level


def test_the_committed_text_is_the_scripts() -> None:
    """The committed file equals the script's output, so it was not edited by hand."""
    text = TABLE.read_text()
    assert text_of(json.loads(text)) == text


@pytest.mark.parametrize("patch", [0, 1, 99])
def test_a_patch_is_its_release_line(patch: int) -> None:
    """A patch, even a future one, supports what the newest patch of its release line does."""
    assert supported_by((4, 1, patch)) == supported_by((4, 1, 2))
    assert default_levels((4, 1, patch)) == default_levels((4, 1, 2))


@pytest.mark.parametrize("release", [(3, 8, 1), (4, 5, 0), (5, 0, 0)])
def test_an_unknown_release_line_is_none(release: Release) -> None:
    """For a release outside the table the result is None, because unknown is not empty."""
    assert supported_by(release) is None
    assert default_levels(release) is None


def test_the_ranges_that_a_roll_depends_on() -> None:
    """The measured limits: 3.9 has only two features, 4.x begins at 7, streams.version comes with 4.2."""
    assert supported_by((3, 9, 2)) == (
        FeatureRange(name=KRAFT, min_level=0, max_level=1),
        FeatureRange(name=METADATA, min_level=1, max_level=21),
    )
    assert ranges((4, 1, 2))[METADATA] == FeatureRange(name=METADATA, min_level=7, max_level=27)
    assert ranges((4, 4, 0))[METADATA] == FeatureRange(name=METADATA, min_level=7, max_level=33)
    assert "streams.version" not in ranges((4, 1, 2))
    assert ranges((4, 2, 1))["streams.version"] == FeatureRange(name="streams.version", min_level=0, max_level=1)


def test_no_release_drops_what_an_older_one_supports() -> None:
    """From release to release the highest levels only grow, so a roll upwards removes no feature."""
    for older, newer in itertools.pairwise(RELEASES):
        for name, row in ranges(older).items():
            assert ranges(newer)[name].max_level >= row.max_level


def test_defaults_are_supported_and_satisfy_their_dependencies() -> None:
    """The defaults of a new cluster are within the release's ranges, and have their dependencies."""
    for release in RELEASES:
        defaults = default_levels(release) or {}
        assert set(defaults) == set(ranges(release))
        for name, level in defaults.items():
            assert ranges(release)[name].min_level <= level <= ranges(release)[name].max_level
            assert all(defaults[other] >= needed for other, needed in dependencies(name, level).items())
            assert resolve_level(name, level, release) == level
    assert (default_levels((4, 0, 2)) or {})["eligible.leader.replicas.version"] == 0


def test_dependencies() -> None:
    """Kafka has one dependency so far; a level or name outside the table has none."""
    assert dependencies("eligible.leader.replicas.version", 1) == {METADATA: 23}
    assert dependencies("eligible.leader.replicas.version", 0) == {}
    assert dependencies("eligible.leader.replicas.version", 9) == {}
    assert dependencies("nonsense.version", 1) == {}
    assert "4.0-IV1" in (missing_dependency({METADATA: 22, "eligible.leader.replicas.version": 1}) or "")
    assert missing_dependency({METADATA: 23, "eligible.leader.replicas.version": 1}) is None


def test_an_answer_is_the_askers_own() -> None:
    """A change of an answer does not change the table."""
    (default_levels((4, 4, 0)) or {}).clear()
    dependencies("eligible.leader.replicas.version", 1).clear()
    assert default_levels((4, 4, 0))
    assert dependencies("eligible.leader.replicas.version", 1)


def test_level_text() -> None:
    """metadata.version has Kafka's name and its number; other features, and unknown levels, have only a number."""
    assert level_text(METADATA, 33) == "4.4-IV2 (33)"
    assert level_text(METADATA, 99) == "99"
    assert level_text("share.version", 2) == "2"


def test_every_feature_of_a_release_has_a_name_and_levels() -> None:
    """The table has a name for every feature, and every metadata.version above the lowest, of each release."""
    for release in RELEASES:
        assert set(ranges(release)) <= set(feature_names())
        assert ranges(release)[METADATA].max_level in metadata_version_names().values()


OLD: Lines = [
    ["metadata", "3.9-IV0", "21"],
    ["feature", "share.version", "0"],
    ["feature", "share.version", "1"],
    ["dependency", "share.version", "1", METADATA, "21"],
    ["default", METADATA, "21"],
    ["default", "share.version", "0"],
    ["supported", METADATA, "1", "21"],
]
NEW: Lines = [
    *OLD[:1],
    ["metadata", "4.4-IV0", "31"],
    *OLD[1:4],
    ["feature", "share.version", "2"],
    ["default", METADATA, "31"],
    ["default", "share.version", "2"],
    ["supported", METADATA, "7", "31"],
    ["supported", "share.version", "0", "2"],
]


def test_the_script_takes_names_from_the_newest_and_ranges_from_each() -> None:
    """Names and levels are the newest release's; a default of a feature that a release lacks is left out."""
    table = table_of({"3.9.2": OLD, "4.4.0": NEW})
    assert table["metadataVersions"] == {"3.9-IV0": 21, "4.4-IV0": 31}
    assert table["features"]["share.version"] == [
        {"level": 0, "dependencies": {}},
        {"level": 1, "dependencies": {METADATA: 21}},
        {"level": 2, "dependencies": {}},
    ]
    assert table["releases"]["3.9"] == {"supported": {METADATA: [1, 21]}, "defaults": {METADATA: 21}}
    assert table["releases"]["4.4"] == release_of(NEW)


@pytest.mark.parametrize(
    ("line", "words"),
    [(["metadata", "3.9-IV1", "21"], "names a metadata"), (["dependency", "share.version", "1", KRAFT, "1"], "differ")],
)
def test_the_script_refuses_releases_that_contradict_one_another(line: list[str], words: str) -> None:
    """A level whose name or dependencies differ between releases is an error."""
    position = 1 if line[0] == "metadata" else 4
    contradicting = [*OLD[:position], line, *OLD[position:]]
    with pytest.raises(ValueError, match=words):
        table_of({"3.9.2": contradicting, "4.4.0": NEW})
