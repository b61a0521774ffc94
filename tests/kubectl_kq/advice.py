"""What the pages say about each reason, as the plugin has it: docs/operations.md for quorums, docs/pools.md for pools.

`PYTHONPATH=operator:. python -m tests.kubectl_kq.advice` writes `operator/kubectl_kq/reasons.json` again.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
STORED: Final = ROOT / "operator" / "kubectl_kq" / "reasons.json"
TABLES: Final = {
    "KafkaQuorum": ("operations.md", "| reason | what happened | what to do |"),
    "KafkaBrokerPool": ("pools.md", "| reason | what happened | what to do |"),
}
"""By kind: the page, and the heading of its table of reasons."""
_COLUMNS: Final = 3
_NAMES: Final = re.compile(r"`([A-Z][A-Za-z]+)`")
CONDITIONS: Final = ("operations.md", "| condition | reason | what happened | what to do |")
"""The page, and the heading of its table of reasons that only conditions have."""


def plain(cell: str, page: str) -> str:
    """A cell of a page as text for a terminal: a link becomes its words and its page, marks of emphasis are removed."""

    def link(found: re.Match[str]) -> str:
        return f"{found[1]} (docs/{found[2].partition('#')[0] or page})"

    words = re.sub(r"\[([^\]]*)\]\(([^)]*)\)", link, cell)
    words = re.sub(r"\bsee below\b(?! \()", f"see docs/{page}", words)
    return re.sub(r"[`*]", "", words).strip()


def table(kind: str) -> dict[str, dict[str, str]]:
    """What happened and what to do, by reason."""
    page, heading = TABLES[kind]
    found: dict[str, dict[str, str]] = {}
    for cells in _rows(page, heading):
        reasons = _NAMES.findall(cells[0])
        if reasons and len(cells) >= _COLUMNS:
            found |= dict.fromkeys(reasons, _row(cells[1], cells[2], page))
    return found


def conditions() -> dict[str, dict[str, str]]:
    """The same for reasons that only conditions have, by `Condition/Reason`."""
    page, heading = CONDITIONS
    found: dict[str, dict[str, str]] = {}
    for cells in _rows(page, heading):
        names = [f"{kind}/{reason}" for kind in _NAMES.findall(cells[0]) for reason in _NAMES.findall(cells[1])]
        if names:
            found |= dict.fromkeys(names, _row(cells[2], cells[3], page))
    return found


def _rows(page: str, heading: str) -> Iterator[list[str]]:
    """The cells of the rows below a heading."""
    lines = iter((ROOT / "docs" / page).read_text().splitlines())
    for line in lines:
        if line == heading:
            break
    for line in lines:
        if not line.startswith("|"):
            break
        yield [cell.strip() for cell in line.strip("|").split(" | ")]


def _row(happened: str, do: str, page: str) -> dict[str, str]:
    return {"happened": plain(happened, page), "do": plain(do.rstrip("| "), page)}


def text() -> str:
    """The file of the plugin."""
    found = {kind: table(kind) for kind in TABLES} | {"Condition": conditions()}
    return json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


if __name__ == "__main__":
    STORED.write_text(text())
