"""An addition of each kind works in a copy of the source, with as many files as CONTRIBUTING.md counts."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.api.specs import resource
from tests.contributions.additions import ADDITIONS, Addition

from kafka_quorum.api.validation import validate
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.names import inputs_hash

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "operator"
ROWS = {
    cells[0].rpartition(": ")[2]: cells
    for line in (ROOT / "CONTRIBUTING.md").read_text().splitlines()
    if len(cells := [cell.strip() for cell in line.strip("|").split("|")]) > 2
}
"""The rows of the tables, by the example that each row names."""


def added(addition: Addition, place: Path) -> Path:
    """A copy of the source with this addition."""
    source = place / "operator"
    for package in ("kafka_brokers", "kafka_quorum", "kafka_streams", "kit"):
        shutil.copytree(SOURCE / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name, old, new in addition.edits:
        path = source / "kafka_quorum" / name
        before = path.read_text() if path.exists() else ""
        assert before.count(old) == 1 if old else not before, f"{name} has this {before.count(old)} times: {old!r}"
        path.write_text(before.replace(old, new) if old else new)
    return source


def changed(source: Path) -> frozenset[str]:
    """The files of the copy that the source does not have like this."""
    paths = (path.relative_to(source) for path in source.rglob("*.py"))
    return frozenset(
        str(path.relative_to("kafka_quorum"))
        for path in paths
        if not (SOURCE / path).exists() or (SOURCE / path).read_bytes() != (source / path).read_bytes()
    )


@pytest.mark.parametrize("addition", ADDITIONS, ids=lambda addition: addition.name.strip("`"))
def test_an_addition_works_with_as_many_files_as_are_counted(addition: Addition, tmp_path: Path) -> None:
    """The addition does what it is for, and changes as many production files as its row of the table counts."""
    source = added(addition, tmp_path)
    plain = validate(resource())
    assert isinstance(plain, Desired)
    program = f"UNCHANGED = {inputs_hash(plain.runtime)!r}\n{addition.program}"
    environment = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert changed(source) == addition.files
    assert str(len(addition.files)) == ROWS[addition.name][1]
