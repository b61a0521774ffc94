"""Images of the counting application of `tests/live/streams/app`, one for each release of Kafka Streams."""

import shutil
from pathlib import Path
from typing import Final

from testbed import streams
from testbed.baseimages import JAVA_IMAGE, ensure_java
from testbed.config import SOURCE
from testbed.engine import Engine
from testbed.images import ensure_image
from testbed.keys import content_key

_FILES: Final = SOURCE / "streams_app"


def ensure(engine: Engine, version: str) -> str:
    """Build `testbed/streams:VERSION` if it is missing; returns the tag."""
    java, tag = ensure_java(engine), f"testbed/streams:{version}"
    classes = streams.ensure_classes(engine.paths, version)
    key = content_key(java, version, _FILES, classes)

    def fill(context: Path) -> None:
        shutil.copy(_FILES / "start", context / "start")
        dockerfile = (_FILES / "Dockerfile").read_text()
        (context / "Dockerfile").write_text(dockerfile.replace("ARG JAVA", f"ARG JAVA={JAVA_IMAGE}"))
        shutil.copytree(classes.parent / "libs", context / "libs")
        shutil.copytree(classes, context / "classes")

    ensure_image(engine, [tag], key, fill)
    return tag
