"""The operator's table of feature levels agrees with Kafka's own storage tool.

The table is made from Kafka's classes (`python tests/api/features`); here it is compared with the tool's output.
`test_feature_answers.py`, where real controllers run, compares it with their reports.
"""

import re
import subprocess

import pytest
from tests.api.features.__main__ import dump, release_of
from tests.live.jars import Kafka, ensure_kafka

from kafka_quorum.api.features import (
    METADATA,
    default_levels,
    feature_names,
    metadata_version_name,
    missing_dependency,
    resolve_level,
    supported_by,
)
from kafka_quorum.api.release import parse_release

pytestmark = [pytest.mark.live, pytest.mark.timeout(120)]

RELEASE = (4, 4, 0)
NEWEST = 33


def storage_tool(kafka: Kafka, *arguments: str) -> str:
    """Everything that `kafka-storage.sh` prints."""
    command = kafka.command("kafka.tools.StorageTool", *arguments)
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return result.stdout + result.stderr


def mapping(kafka: Kafka, release: str) -> dict[str, int]:
    """Kafka's levels of every feature at a metadata.version, by name."""
    lines = storage_tool(kafka, "version-mapping", "--release-version", release)
    return {name: int(level) for name, level in re.findall(r"^([a-z.]+)=(\d+)", lines, re.MULTILINE)}


def test_names_are_kafkas(kafka: Kafka) -> None:
    """Every stable metadata.version has Kafka's name, in Kafka's order, and no other name is accepted."""
    listed = (
        storage_tool(kafka, "version-mapping", "--release-version", "0.1").partition("are: ")[2].strip().split(", ")
    )
    ours = [name for level in range(NEWEST + 1) if (name := metadata_version_name(level)) is not None]
    assert listed[: len(ours)] == ours
    assert all(name > ours[-1] for name in listed[len(ours) :])
    assert metadata_version_name(NEWEST + 1) is None


@pytest.mark.parametrize("release", ["3.4", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4", "3.7-IV2", "4.0-IV1"])
def test_levels_are_kafkas(kafka: Kafka, release: str) -> None:
    """A release, or a name, means the level that Kafka gives it."""
    assert resolve_level(METADATA, release, RELEASE) == mapping(kafka, release)[METADATA]


def test_features_are_kafkas(kafka: Kafka) -> None:
    """The table has every feature of the newest release; its highest level is accepted, and the next one is not."""
    levels = mapping(kafka, "4.4")
    assert set(feature_names()) == set(levels)
    for name, level in levels.items():
        assert resolve_level(name, level, RELEASE) == level
        assert isinstance(resolve_level(name, level + 1, RELEASE), str)


def test_dependencies_are_kafkas(kafka: Kafka) -> None:
    """A feature that depends on a metadata.version depends on the one that Kafka names."""
    highest = mapping(kafka, "4.4")
    for name in set(highest) - {METADATA}:
        answer = storage_tool(kafka, "feature-dependencies", "--feature", f"{name}={highest[name]}")
        needed = re.search(r"metadata\.version=(\d+)", answer)
        levels = {METADATA: int(needed[1]) if needed else 7, name: highest[name]}
        assert missing_dependency(levels) is None
        if needed:
            assert missing_dependency(levels | {METADATA: int(needed[1]) - 1}) is not None


@pytest.mark.parametrize("version", ["4.4.0", "3.9.2"])
def test_the_committed_ranges_are_what_the_jars_say_today(version: str) -> None:
    """For a release's classes the script generates the committed ranges and defaults."""
    release, now = parse_release(version), release_of(dump(version))
    assert release is not None
    assert {row.name: [row.min_level, row.max_level] for row in supported_by(release) or ()} == now["supported"]
    assert default_levels(release) == now["defaults"]


def test_defaults_are_those_of_the_storage_tool() -> None:
    """A release's own tool maps its newest metadata.version to the defaults in the table."""
    defaults = default_levels((4, 1, 2))
    assert defaults is not None
    mapped = mapping(ensure_kafka("4.1.2"), "4.1-IV1")
    # The tool also names streams.version 0, which a 4.1 controller does not support at any level.
    assert {name: level for name, level in mapped.items() if name in defaults} == defaults
    assert not any(level for name, level in mapped.items() if name not in defaults)
