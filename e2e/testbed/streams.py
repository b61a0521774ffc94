"""The jars of a Kafka Streams release, with everything that an application needs to run with it."""

import shutil
from pathlib import Path

from testbed import packages
from testbed.config import SOURCE, Paths
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


def _pom(version: str) -> str:
    kafka = ["kafka-streams", *(["connect-json"] if version.startswith(_WITHOUT_JSON) else [])]
    wanted = [*(("org.apache.kafka", name, version) for name in kafka), _LOGGING]
    return _POM.format(dependencies="".join(_DEPENDENCY.format(*each) for each in wanted))
