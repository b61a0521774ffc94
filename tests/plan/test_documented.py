"""docs/operations.md names every reason of a wait in the planner's source, because people look the reason up."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.plan.source import OPERATOR, document

MODULES = sorted((OPERATOR / "plan").rglob("*.py"))
TABLE = {
    word
    for line in document("operations.md").splitlines()
    if line.startswith("| `")
    for word in re.findall(r"`([A-Z][A-Za-z]+)`", line.split("|")[1])
}
"""The words in the first column of every table."""


def constants(tree: ast.Module) -> dict[str, str]:
    """The string constants of the module, by name."""
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
    """The reasons of waits in the source, as literals or as names of constants."""
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
    """Every reason of a wait has a row in a table of docs/operations.md."""
    assert set(reasons(ast.parse(path.read_text()))) - TABLE == set()


def test_the_reasons_are_found() -> None:
    """The search for reasons finds the ones that it was written for."""
    found = {reason for path in MODULES for reason in reasons(ast.parse(path.read_text()))}
    assert {"RestartHeld", "RollHeld", "PodRefused", "LostDisk", "NodeDown", "DiskNotReplaced", "Formatting"} <= found
