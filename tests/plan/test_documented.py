"""docs/operations.md names every reason that the planner's source gives a wait: the word is what a person looks up."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "operator" / "kafka_quorum" / "plan").rglob("*.py"))
TABLE = {
    word
    for line in (ROOT / "docs" / "operations.md").read_text().splitlines()
    if line.startswith("| `")
    for word in re.findall(r"`([A-Z][A-Za-z]+)`", line.split("|")[1])
}
"""The words in the first column of every table."""


def constants(tree: ast.Module) -> dict[str, str]:
    """The module's own names of texts."""
    found: dict[str, str] = {}
    for node in tree.body:
        names = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            found |= {name.id: value.value for name in names if isinstance(name, ast.Name)}
    return found


def reasons(tree: ast.Module) -> Iterator[str]:
    """The reasons of waits that stand in the source, as texts or as names of texts."""
    named = constants(tree)
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        callee = call.func.id if isinstance(call.func, ast.Name) else ""
        given = [keyword.value for keyword in call.keywords if keyword.arg == "held"]
        if callee == "Wait":
            given += [keyword.value for keyword in call.keywords if keyword.arg == "reason"]
        if callee in ("_wait", "progress"):
            given += call.args[1:2]
        for value in given:
            text = value.value if isinstance(value, ast.Constant) else named.get(getattr(value, "id", ""), "")
            if isinstance(text, str) and re.fullmatch("[A-Z][A-Za-z]+", text):
                yield text


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_every_reason_of_a_wait_is_documented(path: Path) -> None:
    """A word that DOING may show has a row that says what happened and what to do."""
    assert set(reasons(ast.parse(path.read_text()))) - TABLE == set()


def test_the_reasons_are_found() -> None:
    """The test above looks at something: the words that it was written for are among those it finds."""
    found = {reason for path in MODULES for reason in reasons(ast.parse(path.read_text()))}
    assert {"RestartHeld", "RollHeld", "PodRefused", "LostDisk", "NodeDown", "DiskNotReplaced", "Formatting"} <= found
