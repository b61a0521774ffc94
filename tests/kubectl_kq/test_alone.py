"""The plugin stands alone: one file, the standard library, no word of the operator's source."""

import ast
import re
import subprocess
import sys
import tomllib
import zipapp
from pathlib import Path

import pytest
from tests.kubectl_kq.fake_kubectl import Fake
from tests.kubectl_kq.worlds import prepared

import kubectl_kq
from kubectl_kq import rules

PACKAGE = Path(kubectl_kq.__file__).parent
ROOT = PACKAGE.parents[1]
MODULES = sorted(PACKAGE.glob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_only_the_standard_library_is_imported(path: Path) -> None:
    """Every import is of the standard library or of the package itself, also inside of functions."""
    imported = {
        name.partition(".")[0]
        for node in ast.walk(ast.parse(path.read_text()))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported - sys.stdlib_module_names - {"kubectl_kq"} == set()


@pytest.fixture
def single(tmp_path: Path) -> Path:
    """The plugin as one file, made as the Makefile makes it."""
    stage = tmp_path / "stage" / "kubectl_kq"
    stage.mkdir(parents=True)
    for path in [*MODULES, PACKAGE / "reasons.json"]:
        (stage / path.name).write_bytes(path.read_bytes())
    target = tmp_path / "kubectl-kq"
    zipapp.create_archive(
        stage.parent, target, interpreter="/usr/bin/env python3", main="kubectl_kq.__main__:run", compressed=True
    )
    target.chmod(0o755)
    return target


def test_one_file_is_the_whole_plugin(single: Path, fake: Fake) -> None:
    """The single file runs without anything else on the path of Python, has its data, and ends with its exit codes."""
    fake.prepare(prepared())

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-I", str(single), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, env={"PATH": fake.path()})

    done = run("explain", "demo", "-n", "kafka")
    assert (done.returncode, done.stderr) == (0, "")
    assert "The quorum waits for nothing." in done.stdout
    assert run("nothing").returncode == 64
    assert run("doctor", "other", "-n", "kafka").returncode == 2
    assert single.stat().st_size < 200_000


def test_the_wheel_has_every_file() -> None:
    """The wheel of the plugin has the version of the operator, no dependency, and what the package reads."""
    plugin = tomllib.loads((PACKAGE / "pyproject.toml").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert plugin["project"]["version"] == project["version"]
    assert plugin["project"]["requires-python"] == project["requires-python"]
    assert plugin["project"]["dependencies"] == []
    included = plugin["tool"]["hatch"]["build"]["targets"]["wheel"]["include"]
    assert {path.name for path in PACKAGE.iterdir() if path.is_file() and path.suffix != ".py"} == {
        *(name.strip("/") for name in included if "*" not in name),
        "pyproject.toml",
    }


def test_an_old_python_is_told() -> None:
    """The first lines of the entry are readable for an old Python, and name the version that is needed."""
    text = (PACKAGE / "__main__.py").read_text()
    first = text.index("from kubectl_kq")
    assert text.index("sys.version_info") < first
    assert re.search(r"needs Python 3\.11", text[:first])
    ast.parse(text[:first], feature_version=(3, 7))


def test_advice_is_read_from_the_package() -> None:
    """What unblocks a reason comes from the package's own file."""
    assert rules.advice(rules.QUORUM, "Paused") == rules.Advice(happened="spec.paused is true", todo="set it to false")
    assert rules.unblocks(rules.QUORUM, "Paused") == "set it to false"
