"""Docker images, each labelled with the content key of its inputs."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from testbed import rootfs
from testbed.config import DEBIAN_SUITE
from testbed.engine import Engine
from testbed.keys import content_key
from testbed.process import run, succeeds
from testbed.progress import step

_LABEL = "testbed.key"
_PULL_TIMEOUT_S = 600
DEBIAN_IMAGE = f"testbed/debian:{DEBIAN_SUITE}"

Fill = Callable[[Path], None]
"""Writes a Dockerfile, and the files that it copies, into an empty directory."""


def ensure_image(engine: Engine, tags: Sequence[str], key: str, fill: Fill) -> None:
    """Build an image under one or more tags, unless it is there with the same key under the first one.

    The other tags may have moved to an image of other sources: they are set again.
    """
    if engine.image_label(tags[0], _LABEL) == key:
        for tag in tags[1:]:
            engine.docker("tag", tags[0], tag)
        return
    with step(f"image {tags[0]}"):
        context = engine.paths.work / "context"
        shutil.rmtree(context, ignore_errors=True)
        context.mkdir(parents=True)
        fill(context)
        named = [argument for tag in tags for argument in ("-t", tag)]
        command = ["docker", "build", "--label", f"{_LABEL}={key}", *named, context]
        run(command, engine.paths.log / "docker-build.log", env=engine.env())
        shutil.rmtree(context)


def take_public(engine: Engine, public: str, tag: str) -> str | None:
    """If docker can reach a registry, `tag` is the public image; its id then, else None."""
    if engine.kind != "stock":
        return None
    here = succeeds(["docker", "image", "inspect", public], env=engine.env())
    if not here:
        with step(f"docker pull {public}"):
            if not succeeds(["docker", "pull", public], env=engine.env(), timeout_s=_PULL_TIMEOUT_S):
                return None
    engine.docker("tag", public, tag)
    return engine.docker("image", "inspect", "-f", "{{.Id}}", tag).strip()


def ensure_debian(engine: Engine) -> str:
    """The base image that all others share; returns its key."""
    key = rootfs.base_key()
    if engine.image_label(DEBIAN_IMAGE, _LABEL) != key:
        rootfs.ensure_base(engine.paths)
        with step(f"image {DEBIAN_IMAGE}"):
            archive = engine.paths.work / "base.tar"
            rootfs.pack_base(engine.paths, archive)
            changes = ["-c", f"LABEL {_LABEL}={key}", "-c", 'CMD ["bash"]']
            command = ["docker", "import", *changes, archive, DEBIAN_IMAGE]
            run(command, engine.paths.log / "docker-build.log", env=engine.env())
            archive.unlink()
    return key


def ensure_debian_with(engine: Engine, tag: str, packages: tuple[str, ...], instructions: str = "") -> str:
    """The base image plus packages, and further lines of Dockerfile; returns its key."""
    base = ensure_debian(engine)
    key = content_key(base, *packages, "--", instructions)

    def fill(context: Path) -> None:
        rootfs.pack_layer(engine.paths, packages, context / "layer.tar")
        (context / "Dockerfile").write_text(f"FROM {DEBIAN_IMAGE}\nADD layer.tar /\n{instructions}")

    ensure_image(engine, [tag], key, fill)
    return key
