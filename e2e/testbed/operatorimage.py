"""The operator's own image, from the project's one Dockerfile.

On a machine with a registry `docker build .` makes it from the base that the Dockerfile names, with pip in the build.
If a build has no network, the wheels of requirements.lock and the jar of the JMX agent are in the build context. Their
hashes are checked on the host and again in the build, so both ways end in the same files.
"""

import os
import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from testbed import agent, baseimages, packages
from testbed.config import PROJECT, PYTHON_VERSION, Paths
from testbed.engine import Engine
from testbed.images import ensure_image
from testbed.keys import content_key, once
from testbed.process import TestbedError, run

REPOSITORY = "kafka-quorum-operator"
_LOCK = PROJECT / "requirements.lock"
_CODE = tuple(
    PROJECT / "operator" / name for name in ("kafka_brokers", "kafka_quorum", "kafka_streams", "kit", "kraftlog")
)
_DOCKERFILE = PROJECT / "Dockerfile"
LICENSES = (PROJECT / "LICENSE", PROJECT / "licenses.py")
_AGENT_LICENSE = PROJECT / "LICENSE.agent"


def ensure(engine: Engine) -> list[str]:
    """Build missing images; returns the tags: one that follows the content, and `:dev` for people."""
    base = baseimages.ensure_python(engine)
    key = content_key(base, _DOCKERFILE, _LOCK, *_CODE, *LICENSES, _AGENT_LICENSE)
    tags = [f"{REPOSITORY}:dev-{key}", f"{REPOSITORY}:dev"]
    ensure_image(engine, tags, key, lambda context: _fill(engine.paths, context))
    return tags


def _fill(paths: Paths, context: Path) -> None:
    (context / "Dockerfile").write_text(on_base(_DOCKERFILE.read_text(), baseimages.PYTHON_IMAGE))
    for path in (_LOCK, *LICENSES, _AGENT_LICENSE):
        shutil.copy(path, context / path.name)
    for code in _CODE:
        shutil.copytree(code, context / "operator" / code.name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ensure_wheels(paths), context / "wheels")
    (context / "jmx-agent").mkdir()
    shutil.copy(agent.ensure_agent(paths), context / "jmx-agent" / "jmx_prometheus_javaagent.jar")


def on_base(dockerfile: str, image: str) -> str:
    """The same Dockerfile on another base image."""
    changed, count = re.subn(r"^ARG BASE=.*$", f"ARG BASE={image}", dockerfile, flags=re.MULTILINE)
    if count != 1:
        raise TestbedError(f"the Dockerfile names its base {count} times, not once: ARG BASE=…")
    return changed


def ensure_wheels(paths: Paths) -> Path:
    """A directory with the wheels of requirements.lock, for the image's Python and this machine's architecture."""
    return ensure_packages(paths, paths.work / "wheels", "wheels of requirements.lock", "--only-binary=:all:", _LOCK)


def ensure_packages(paths: Paths, target: Path, name: str, which: str, *locks: Path) -> Path:
    """A directory with the packages of locks, by hash; `which`: `--only-binary=:all:`, or `--no-deps` for sources."""
    platforms = platform_tags(os.uname().machine)

    def download() -> None:
        shutil.rmtree(target, ignore_errors=True)
        python = ["--python-version", PYTHON_VERSION, "--implementation", "cp"]
        named = [argument for platform in platforms for argument in ("--platform", platform)]
        for lock in locks:
            command = [*_pip(paths), "download", *python, *named, "--require-hashes", which, "-r", lock]
            run([*command, "--dest", target], paths.log / "pip.log")

    once(paths, name, content_key(*locks, PYTHON_VERSION, *platforms), target, download)
    return target


def platform_tags(machine: str) -> tuple[str, ...]:
    """The wheels that Debian 12 can use: those of every common manylinux up to its glibc, 2.36."""
    if machine not in ("x86_64", "aarch64"):
        raise TestbedError(f"no wheels are looked for on {machine}: build the image with a network")
    return tuple(f"{standard}_{machine}" for standard in ("manylinux2014", "manylinux_2_17", "manylinux_2_28"))


def _pip(paths: Paths) -> list[object]:
    """This Python's pip; if it has none, that of a virtual environment in the cache."""
    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    home = paths.work / "pip"
    python = home / "bin" / "python"

    def make() -> None:
        packages.ensure_venv(paths)
        run([sys.executable, "-m", "venv", "--clear", home], paths.log / "pip.log")

    once(paths, "virtual environment with pip", content_key(sys.version), python, make)
    return [python, "-m", "pip"]
