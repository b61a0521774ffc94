"""Images of the counting application of `tests/live/streams/app`, one for each release of Kafka Streams."""

import shutil
from pathlib import Path
from typing import Final

from testbed import packages, streams
from testbed.baseimages import JAVA_IMAGE, ensure_java
from testbed.config import PROJECT, SOURCE, Paths
from testbed.engine import Engine
from testbed.images import ensure_image
from testbed.keys import content_key, once
from testbed.process import run

_FILES: Final = SOURCE / "streams_app"
_PROGRAMS: Final = PROJECT / "tests" / "live" / "streams" / "app"
_BUILDERS: Final = (((1, 0), "builder-1.0"), ((0, 10, 1), "builder-0.10.1"), ((0, 10, 0), "builder-0.10.0"))
"""The first release of each way to write a topology, the newest first."""


def ensure(engine: Engine, version: str) -> str:
    """Build `testbed/streams:VERSION` if it is missing; returns the tag."""
    java, tag = ensure_java(engine), f"testbed/streams:{version}"
    jars, classes = streams.ensure_jars(engine.paths, version), ensure_classes(engine.paths, version)
    key = content_key(java, version, _FILES, classes)

    def fill(context: Path) -> None:
        shutil.copy(_FILES / "start", context / "start")
        dockerfile = (_FILES / "Dockerfile").read_text()
        (context / "Dockerfile").write_text(dockerfile.replace("ARG JAVA", f"ARG JAVA={JAVA_IMAGE}"))
        shutil.copytree(jars / "libs", context / "libs")
        shutil.copytree(classes, context / "classes")

    ensure_image(engine, [tag], key, fill)
    return tag


def ensure_classes(paths: Paths, version: str) -> Path:
    """The application, compiled for this release. Needs a JDK."""
    target = paths.work / "streams-classes" / version
    number = tuple(int(word) for word in version.split("."))
    builder = next(name for first, name in _BUILDERS if number >= first)
    folders = (_PROGRAMS / "common", _PROGRAMS / builder)
    packages.ensure(paths, packages.JDK)

    def stage() -> None:
        shutil.rmtree(target, ignore_errors=True)
        sources = sorted(source for folder in folders for source in folder.glob("*.java"))
        libs = streams.ensure_jars(paths, version) / "libs"
        command = ["javac", "-nowarn", "-Xlint:none", "-cp", f"{libs}/*", "-d", target, *sources]
        run(command, paths.log / "javac.log")

    once(paths, f"the counting application for {version}", content_key(version, *folders), target, stage)
    return target
