"""The content of the images: a base by digest, packages and uv by hash, every licence."""

import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest

from kafka_quorum.resources.agent import AGENT_JAR
from testbed import agent

PROJECT = Path(__file__).parents[1]
DOCKERFILES = ("Dockerfile", "Dockerfile.history")
LICENSES: dict[str, Any] = runpy.run_path(str(PROJECT / "licenses.py"))


def package(root: Path, name: str, *files: str) -> None:
    """An installed package with these files in its dist-info."""
    info = root / f"{name}-1.0.dist-info"
    for file in ("METADATA", *files):
        (info / file).parent.mkdir(parents=True, exist_ok=True)
        (info / file).write_text(f"Metadata-Version: 2.4\nName: {name}\nVersion: 1.0\n")
    (info / "RECORD").write_text("".join(f"{info.name}/{file},,\n" for file in ("METADATA", "RECORD", *files)))


def locked(name: str) -> set[tuple[str, str]]:
    """The packages of a lock, each with a version that has a hash."""
    text = (PROJECT / name).read_text()
    found = re.findall(r"^([\w.-]+)==(\S+) (?:; [^\\]+)?\\\n    --hash=sha256:", text, flags=re.MULTILINE)
    assert len(found) == len(re.findall(r"^[\w.-]+==", text, flags=re.MULTILINE))
    return set(found)


@pytest.mark.parametrize("name", DOCKERFILES)
def test_the_base_image_is_named_by_its_digest(name: str) -> None:
    """The base image is named by its digest, because a tag can be moved."""
    dockerfile = (PROJECT / name).read_text()
    (base,) = re.findall(r"^ARG BASE=(.*)$", dockerfile, flags=re.MULTILINE)
    assert re.fullmatch(r"python:3\.11-slim-bookworm@sha256:[0-9a-f]{64}", base)
    assert all(line.split()[1] == "${BASE}" for line in dockerfile.splitlines() if line.startswith("FROM "))


def test_uv_is_installed_by_hash() -> None:
    """uv, which installs everything else, is pinned by hash, in the version of the Makefile."""
    makefile, lock = (PROJECT / "Makefile").read_text(), (PROJECT / "requirements-uv.lock").read_text()
    (version,) = re.findall(r"^UV_VERSION := (\S+)$", makefile, flags=re.MULTILINE)
    assert f"uv=={version} \\" in lock
    assert len(re.findall(r"--hash=sha256:[0-9a-f]{64}", lock)) > 5
    assert "--require-hashes -r requirements-uv.lock" in makefile
    assert '"uv==' not in makefile.split("lock: setup")[0]


def test_both_images_have_one_base() -> None:
    """Both images have the same base."""
    bases = [re.findall(r"^ARG BASE=.*$", (PROJECT / name).read_text(), flags=re.MULTILINE) for name in DOCKERFILES]
    assert bases[0] == bases[1]


def test_the_history_installs_what_was_tested_and_nothing_of_the_operator() -> None:
    """The lock of the history has its extra's packages in the tested versions, and none of the operator's."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    history, tested = locked("requirements-history.lock"), locked("requirements-dev.lock")
    asked = {re.split(r"[<>=]", item)[0] for item in project["optional-dependencies"]["history"]}
    names = {name for name, _ in history}
    assert asked <= names
    assert history <= tested
    operators = {re.split(r"[<>=]", item)[0] for item in project["dependencies"]}
    assert not operators & names
    assert {name for name, _ in locked("requirements-build.lock")} == {"setuptools"}


@pytest.mark.parametrize("name", DOCKERFILES)
def test_the_build_context_has_what_the_dockerfile_copies(name: str) -> None:
    """`.dockerignore` keeps everything that the Dockerfile copies."""
    kept = {line[1:] for line in (PROJECT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    lines = re.findall(r"^COPY (?!--from)(.+) \S+$", (PROJECT / name).read_text(), flags=re.MULTILINE)
    copied = {word for line in lines for word in line.split()}
    assert {word.rstrip("*") for word in copied} <= kept
    assert all((PROJECT / word).exists() for word in copied if not word.endswith("*"))


def test_the_agent_is_the_one_that_the_tests_use() -> None:
    """The image pins the JMX agent by the version and the hash with which the test-bed fetches it."""
    dockerfile = (PROJECT / "Dockerfile").read_text()
    assert f"ARG AGENT_VERSION={agent.COORDINATES[2]}\n" in dockerfile
    assert f"ARG AGENT_SHA256={agent.SHA256}\n" in dockerfile
    assert "sha256sum -c" in dockerfile
    assert AGENT_JAR == "/opt/agent/jmx_prometheus_javaagent.jar"
    assert "COPY --from=packages /agent /opt/agent\n" in dockerfile


def test_licences_are_collected(tmp_path: Path) -> None:
    """The licence files of each package, and the operator's own, are collected in one directory."""
    package(tmp_path, "one", "licenses/LICENSE", "licenses/NOTICE")
    package(tmp_path, "two", "COPYING")
    assert LICENSES["main"](str(tmp_path), str(PROJECT / "LICENSE")) == 0
    target = tmp_path / "licenses"
    found = {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()}
    assert found == {"one-1.0/LICENSE", "one-1.0/1-NOTICE", "two-1.0/COPYING", "kafka-quorum-operator/LICENSE"}


def test_a_package_without_a_licence_ends_the_build(tmp_path: Path) -> None:
    """The build fails if the licence of a package is missing, or if there are no packages."""
    package(tmp_path, "one", "LICENSE")
    package(tmp_path, "none", "entry_points.txt")
    assert LICENSES["main"](str(tmp_path), str(PROJECT / "LICENSE")) == 1
    empty = tmp_path / "empty"
    empty.mkdir()
    assert LICENSES["main"](str(empty), str(PROJECT / "LICENSE")) == 1
