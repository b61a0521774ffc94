"""The origin of Kafka's jars."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from testbed import kafka
from testbed.config import KAFKA_VERSIONS, SOURCE

_POM = "{http://maven.apache.org/POM/4.0.0}"


@pytest.mark.parametrize(
    ("version", "tools_version", "logging"),
    [
        ("4.4.0", "4.3.1", "log4j2.yaml"),
        ("4.3.1", "4.3.1", "log4j2.yaml"),
        ("4.1.2", "4.1.2", "log4j2.yaml"),
        ("3.9.2", "3.9.2", "log4j.properties"),
    ],
)
def test_a_recipe_fits_its_release(version: str, tools_version: str, logging: str) -> None:
    """Tools are those of the release, unless it published none; 3.x and 4.x have different logging libraries."""
    chosen = kafka.recipe(version)
    assert (chosen.version, chosen.tools_version, chosen.config[0]) == (version, tools_version, logging)


@pytest.mark.parametrize("version", KAFKA_VERSIONS)
def test_the_logging_files_of_a_recipe_exist(version: str) -> None:
    """The image's context has the files that a recipe names."""
    missing = [name for name in kafka.recipe(version).config if not (SOURCE / "kafka" / "config" / name).is_file()]
    assert missing == []


def test_the_pom_asks_for_each_artifact_without_what_is_excluded() -> None:
    """Kafka 4.4.0 depends on an artifact that was never published, so it must not be resolved."""
    project = ET.fromstring(kafka._pom((("org.apache.kafka", "kafka_2.13", "4.4.0"), ("a", "b", "1"))))  # noqa: S314 # our own text
    asked = {
        entry.findtext(f"{_POM}artifactId"): [
            exclusion.findtext(f"{_POM}artifactId") for exclusion in entry.iter(f"{_POM}exclusion")
        ]
        for entry in project.iter(f"{_POM}dependency")
    }
    assert asked == {"kafka_2.13": ["kafka-tools-api"], "b": []}


@pytest.mark.parametrize(
    ("file", "artifact"),
    [
        ("kafka_2.13-4.4.0.jar", "kafka_2.13"),
        ("kafka-clients-4.4.0.jar", "kafka-clients"),
        ("log4j-slf4j-impl-2.25.1.jar", "log4j-slf4j-impl"),
        ("jackson-databind-2.19.0.jar", "jackson-databind"),
    ],
)
def test_a_jar_names_its_artifact(file: str, artifact: str) -> None:
    """The artifact is the jar's name without its version."""
    assert kafka._artifact(Path(file)) == artifact


@pytest.mark.parametrize(
    ("borrowed", "kept"),
    [
        (False, {"kafka-tools-4.3.1.jar", "argparse4j-0.7.0.jar"}),
        (True, {"kafka-tools-4.3.1.jar", "kafka-clients-4.3.1.jar", "argparse4j-0.7.0.jar"}),
    ],
)
def test_tools_keep_what_kafka_lacks(tmp_path: Path, kept: set[str], *, borrowed: bool) -> None:
    """Borrowed tools also keep the Kafka jars of their own release, and use those first."""
    libs, tools = tmp_path / "libs", tmp_path / "tools-libs"
    for directory, names in (
        (libs, ["kafka-clients-4.4.0.jar", "slf4j-api-1.7.36.jar"]),
        (
            tools,
            ["kafka-tools-4.3.1.jar", "kafka-clients-4.3.1.jar", "slf4j-api-1.7.36.jar", "argparse4j-0.7.0.jar"],
        ),
    ):
        directory.mkdir()
        for name in names:
            (directory / name).touch()
    kafka._drop_duplicates(libs, tools, borrowed=borrowed)
    assert {jar.name for jar in tools.iterdir()} == kept
