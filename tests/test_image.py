"""What the operator's image is made of: a base by digest, packages and uv by hash, every licence."""

import re
import runpy
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[1]
LICENSES: dict[str, Any] = runpy.run_path(str(PROJECT / "licenses.py"))


def package(root: Path, name: str, *files: str) -> None:
    """An installed package with these files in its dist-info."""
    info = root / f"{name}-1.0.dist-info"
    for file in ("METADATA", *files):
        (info / file).parent.mkdir(parents=True, exist_ok=True)
        (info / file).write_text(f"Metadata-Version: 2.4\nName: {name}\nVersion: 1.0\n")
    (info / "RECORD").write_text("".join(f"{info.name}/{file},,\n" for file in ("METADATA", "RECORD", *files)))


def test_the_base_image_is_named_by_its_digest() -> None:
    """A tag can be moved; a digest cannot."""
    dockerfile = (PROJECT / "Dockerfile").read_text()
    (base,) = re.findall(r"^ARG BASE=(.*)$", dockerfile, flags=re.MULTILINE)
    assert re.fullmatch(r"python:3\.11-slim-bookworm@sha256:[0-9a-f]{64}", base)
    assert all(line.split()[1] == "${BASE}" for line in dockerfile.splitlines() if line.startswith("FROM "))


def test_uv_is_installed_by_hash() -> None:
    """What installs everything else is itself pinned: the lock has hashes of the Makefile's version."""
    makefile, lock = (PROJECT / "Makefile").read_text(), (PROJECT / "requirements-uv.lock").read_text()
    (version,) = re.findall(r"^UV_VERSION := (\S+)$", makefile, flags=re.MULTILINE)
    assert f"uv=={version} \\" in lock
    assert len(re.findall(r"--hash=sha256:[0-9a-f]{64}", lock)) > 5
    assert "--require-hashes -r requirements-uv.lock" in makefile
    assert '"uv==' not in makefile.split("lock: setup")[0]


def test_licences_are_collected(tmp_path: Path) -> None:
    """Each package's licence files, and the operator's own, end in one directory."""
    package(tmp_path, "one", "licenses/LICENSE", "licenses/NOTICE")
    package(tmp_path, "two", "COPYING")
    assert LICENSES["main"](str(tmp_path), str(PROJECT / "LICENSE")) == 0
    target = tmp_path / "licenses"
    found = {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()}
    assert found == {"one-1.0/LICENSE", "one-1.0/1-NOTICE", "two-1.0/COPYING", "kafka-quorum-operator/LICENSE"}


def test_a_package_without_a_licence_ends_the_build(tmp_path: Path) -> None:
    """An image with a package whose licence is missing is not made, nor one without packages."""
    package(tmp_path, "one", "LICENSE")
    package(tmp_path, "none", "entry_points.txt")
    assert LICENSES["main"](str(tmp_path), str(PROJECT / "LICENSE")) == 1
    empty = tmp_path / "empty"
    empty.mkdir()
    assert LICENSES["main"](str(empty), str(PROJECT / "LICENSE")) == 1
