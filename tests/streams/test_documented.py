"""docs/streams.md and docs/safety.md name what people look up: reasons, ways, forms, and the guards of rule 12."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kafka_streams.api.spec import StateSpec, UpgradeFromSpec
from kafka_streams.model.way import Kind
from kafka_streams.plan.guards import rule12_adoption, rule12_instances
from kafka_streams.plan.guards.registry import GUARDS

ROOT: Final = Path(__file__).resolve().parents[2]
SOURCE: Final = ROOT / "operator" / "kafka_streams"
PAGE: Final = (ROOT / "docs" / "streams.md").read_text()
SAFETY: Final = (ROOT / "docs" / "safety.md").read_text()
ROWS: Final = [line for line in PAGE.splitlines() if line.startswith("|")]
TABLES: Final = {word for line in ROWS for word in re.findall(r"`([A-Z][A-Za-z]+)`", line)}
_REASON: Final = re.compile(r"[A-Z][A-Za-z]+")


def _texts(node: ast.AST) -> Iterator[str]:
    """The words that an expression may be: of a choice, each of both."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    if isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield from _texts(node.orelse)


def reasons() -> set[str]:
    """The reasons of waits and conditions in the source."""
    found: set[str] = set()
    for path in (*(SOURCE / "plan").rglob("*.py"), *(SOURCE / "status").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                given = [keyword.value for keyword in node.keywords if keyword.arg == "reason"]
                given += node.args[1:2] if ast.unparse(node.func) == "waiting" else []
                found |= {text for value in given for text in _texts(value)}
            if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):  # reason, sentence, truth
                found |= {text for value in node.value.elts[:1] for text in _texts(value)}
    return {text for text in found if _REASON.fullmatch(text)}


def test_every_reason_is_documented() -> None:
    """Each reason that a status can have stands in a table of docs/streams.md."""
    assert {"Gate", "NoUpgradeFrom", "OnlyOffline", "NoWay", "Changing", "GroupUnknown", "Paused"} <= reasons()
    assert reasons() - TABLES == set()


def test_every_guard_is_documented() -> None:
    """Each guard of Streams applications has a row in docs/safety.md, and each row names a guard."""
    assert {rule12_adoption.__name__, rule12_instances.__name__} <= set(GUARDS.values())
    assert set(re.findall(r"^\| `(12-[a-z-]+)`", SAFETY, flags=re.MULTILINE)) == set(GUARDS)


def test_every_form_is_shown() -> None:
    """Each way has a row; each field of `upgradeFrom`, and each type of state, is in an example."""
    assert {kind.value for kind in Kind} <= TABLES
    examples = "\n".join(re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
    fields = [field.alias or name for name, field in UpgradeFromSpec.model_fields.items()]
    types = re.findall(r"'(\w+)'", str(StateSpec.model_fields["type"].annotation))
    assert types == ["Ephemeral", "VolumeClaim"]
    assert [word for word in (*fields, *types) if not re.search(rf"\b{word}\b", examples)] == []
