"""docs/operations.md names every reason of a condition, because people look the reason up."""

import ast
import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
STATUS: Final = ROOT / "operator" / "kafka_quorum" / "status"
TABLES: Final = {
    word
    for line in (ROOT / "docs" / "operations.md").read_text().splitlines()
    if line.startswith("|")
    for word in re.findall(r"`([A-Z][A-Za-z]+)`", line)
}
"""Every word in a table of the page."""


def reasons() -> set[str]:
    """The reasons of conditions in the source that are literals; waits have tests of their own."""
    found = set()
    for path in STATUS.rglob("*.py"):
        for call in (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)):
            name = call.func.id if isinstance(call.func, ast.Name) else ""
            if name == "_finding" and len(call.args) > 1 and isinstance(call.args[1], ast.Constant):
                found.add(str(call.args[1].value))
    return found


def test_every_reason_of_a_condition_is_documented() -> None:
    """Each reason that a condition can have stands in a table of docs/operations.md."""
    assert {"AllVotersCaughtUp", "RollingBack", "Finalized"} <= reasons()
    assert reasons() - TABLES == set()
