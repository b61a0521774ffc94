"""Kafka images made from Maven artifacts, laid out as the official ones: /opt/kafka, user 1000 `appuser`."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from testbed import packages
from testbed.baseimages import JAVA_IMAGE, ensure_java
from testbed.config import SOURCE, Paths
from testbed.engine import Engine
from testbed.images import ensure_image, take_public
from testbed.keys import content_key, once
from testbed.process import run

_LOG4J = (
    ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.1"),
    ("org.apache.logging.log4j", "log4j-core", "2.25.1"),
)
_RELOAD4J = (
    ("org.slf4j", "slf4j-reload4j", "1.7.36"),
    ("io.dropwizard.metrics", "metrics-core", "4.1.12.1"),  # the embedded ZooKeeper's server needs these two
    ("org.xerial.snappy", "snappy-java", "1.1.10.5"),
)
_EXCLUDED = {
    "kafka_2.13": ("kafka-tools-api",),  # named by 4.4.0's POM but absent from Maven Central, and not needed
    # These would add 40 jars of a web server.
    "kafka-tools": ("connect-api", "connect-json", "connect-runtime", "connect-transforms"),
}

Coordinates = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Recipe:
    """The origin of one Kafka version's jars, and its logging library."""

    version: str
    tools_version: str
    logging: tuple[Coordinates, ...]
    config: tuple[str, ...]


def recipe(version: str) -> Recipe:
    """4.x logs with log4j 2, 3.x with reload4j; 4.4.0's kafka-tools is not published, so 4.3.1's is used."""
    tools_version = "4.3.1" if version == "4.4.0" else version
    if version.startswith("3."):
        return Recipe(version, tools_version, _RELOAD4J, ("log4j.properties", "tools-log4j.properties"))
    return Recipe(version, tools_version, _LOG4J, ("log4j2.yaml", "tools-log4j2.yaml"))


def ensure_image_of(engine: Engine, version: str) -> str:
    """`testbed/kafka:VERSION`, the public image if it is available; returns the tag."""
    tag, chosen = f"testbed/kafka:{version}", recipe(version)
    if take_public(engine, f"apache/kafka:{version}", tag):
        return tag
    java = ensure_java(engine)
    files = [SOURCE / "kafka" / "bin", *(SOURCE / "kafka" / "config" / name for name in chosen.config)]
    key = content_key(java, repr(chosen), SOURCE / "kafka" / "Dockerfile", SOURCE / "kafka.py", *files)

    def fill(context: Path) -> None:
        jars = ensure_jars(engine.paths, version)
        dockerfile = (SOURCE / "kafka" / "Dockerfile").read_text()
        (context / "Dockerfile").write_text(dockerfile.replace("ARG JAVA", f"ARG JAVA={JAVA_IMAGE}"))
        shutil.copytree(SOURCE / "kafka" / "bin", context / "bin")
        (context / "config").mkdir()
        for name in chosen.config:
            shutil.copy(SOURCE / "kafka" / "config" / name, context / "config" / name)
        for name in ("libs", "tools-libs"):
            shutil.copytree(jars / name, context / name)

    ensure_image(engine, [tag], key, fill)
    return tag


def ensure_jars(paths: Paths, version: str) -> Path:
    """A directory with `libs`, Kafka itself, and `tools-libs`, for the command line tools only.

    Needs neither docker nor the cluster; Java and Maven are installed if they are missing.
    """
    chosen = recipe(version)
    target = paths.work / "jars" / version
    packages.ensure(paths, packages.JAVA)

    def stage() -> None:
        packages.ensure(paths, packages.MAVEN)
        shutil.rmtree(target, ignore_errors=True)
        kafka = ("org.apache.kafka", "kafka_2.13", chosen.version)
        tools = ("org.apache.kafka", "kafka-tools", chosen.tools_version)
        _copy_jars(paths, (kafka, *chosen.logging), target / "libs")
        _copy_jars(paths, (tools,), target / "tools-libs")
        borrowed = chosen.tools_version != chosen.version
        _drop_duplicates(target / "libs", target / "tools-libs", borrowed=borrowed)

    key = content_key(repr(chosen), SOURCE / "kafka.py")
    once(paths, f"jars of Kafka {chosen.version}", key, target, stage)
    return target


def _copy_jars(paths: Paths, wanted: tuple[Coordinates, ...], target: Path) -> None:
    """Resolve artifacts with all dependencies, and copy the jars."""
    target.mkdir(parents=True)
    pom = target.with_suffix(".pom.xml")
    pom.write_text(_pom(wanted))
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={target}", "-DincludeScope=runtime"]
    run(["mvn", "-q", "-B", "-f", pom, *goal], paths.log / "maven.log")


def _pom(wanted: tuple[Coordinates, ...]) -> str:
    project = ET.Element("project", xmlns="http://maven.apache.org/POM/4.0.0")
    identity = {"modelVersion": "4.0.0", "groupId": "testbed", "artifactId": "jars", "version": "1"}
    for tag, text in identity.items():
        ET.SubElement(project, tag).text = text
    dependencies = ET.SubElement(project, "dependencies")
    for group, artifact, version in wanted:
        entry = ET.SubElement(dependencies, "dependency")
        for tag, text in (("groupId", group), ("artifactId", artifact), ("version", version)):
            ET.SubElement(entry, tag).text = text
        exclusions = ET.SubElement(entry, "exclusions")
        for excluded in _EXCLUDED.get(artifact, ()):
            exclusion = ET.SubElement(exclusions, "exclusion")
            ET.SubElement(exclusion, "groupId").text = group
            ET.SubElement(exclusion, "artifactId").text = excluded
    return ET.tostring(project, encoding="unicode")


def _drop_duplicates(libs: Path, tools: Path, *, borrowed: bool) -> None:
    """Keep of the tools what Kafka's own class path lacks, and of borrowed tools their own Kafka jars.

    A tool runs with `tools-libs` first, so a borrowed one uses the classes of its own release.
    """
    have = {_artifact(jar) for jar in libs.glob("*.jar")}
    for jar in tools.glob("*.jar"):
        if _artifact(jar) in have and not (borrowed and jar.name.startswith("kafka")):
            jar.unlink()


def _artifact(jar: Path) -> str:
    """A jar's name up to its version: `kafka_2.13-4.4.0.jar` is `kafka_2.13`."""
    words = jar.stem.split("-")
    return "-".join(word for word in words if not word[0].isdigit())
