"""The jars of a Kafka Streams release, and the counting application of `tests/live/streams/app`, compiled for it."""

import shutil
from pathlib import Path
from typing import Final

from testbed import packages
from testbed.config import PROJECT, SOURCE, Paths
from testbed.keys import content_key, once
from testbed.process import run

_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>testbed</groupId><artifactId>streams</artifactId><version>1</version>
  <dependencies>{dependencies}</dependencies>
</project>
"""
_DEPENDENCY = """
    <dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>
      <exclusions>
        <exclusion><groupId>org.slf4j</groupId><artifactId>slf4j-log4j12</artifactId></exclusion>
        <exclusion><groupId>org.slf4j</groupId><artifactId>slf4j-reload4j</artifactId></exclusion>
      </exclusions>
    </dependency>"""
_LOGGING = ("org.slf4j", "slf4j-simple", "1.7.36")
_WITHOUT_JSON = ("2.6.", "2.7.", "2.8.")
"""Their kafka-streams uses connect-json, and its POM does not name it."""
_PROGRAMS: Final = PROJECT / "tests" / "live" / "streams" / "app"
_BUILDERS: Final = (((1, 0), "builder-1.0"), ((0, 10, 1), "builder-0.10.1"), ((0, 10, 0), "builder-0.10.0"))
"""The first release of each way to write a topology, the newest first."""


def ensure_jars(paths: Paths, version: str) -> Path:
    """A directory with the jars in `libs`. Needs neither docker nor the cluster, but Java and Maven."""
    target = paths.work / "streams" / version
    packages.ensure(paths, packages.JAVA)

    def stage() -> None:
        packages.ensure(paths, packages.MAVEN)
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        pom = target / "pom.xml"
        pom.write_text(_pom(version))
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={target / 'libs'}", "-DincludeScope=runtime"]
        run(["mvn", "-q", "-B", "-f", pom, *goal], paths.log / "maven.log")

    once(paths, f"jars of Kafka Streams {version}", content_key(_pom(version), SOURCE / "streams.py"), target, stage)
    return target


def ensure_classes(paths: Paths, version: str) -> Path:
    """The application in `classes` beside the jars' `libs`. Needs a JDK too."""
    home = ensure_jars(paths, version)
    target = home / "classes"
    number = tuple(int(word) for word in version.split("."))
    builder = next(name for first, name in _BUILDERS if number >= first)
    folders = (_PROGRAMS / "common", _PROGRAMS / builder)
    packages.ensure(paths, packages.JDK)

    def stage() -> None:
        shutil.rmtree(target, ignore_errors=True)
        sources = sorted(source for folder in folders for source in folder.glob("*.java"))
        command = ["javac", "-nowarn", "-Xlint:none", "-cp", f"{home / 'libs'}/*", "-d", target, *sources]
        run(command, paths.log / "javac.log")

    once(paths, f"the counting application for {version}", content_key(version, *folders), target, stage)
    return target


def _pom(version: str) -> str:
    kafka = ["kafka-streams", *(["connect-json"] if version.startswith(_WITHOUT_JSON) else [])]
    wanted = [*(("org.apache.kafka", name, version) for name in kafka), _LOGGING]
    return _POM.format(dependencies="".join(_DEPENDENCY.format(*each) for each in wanted))
