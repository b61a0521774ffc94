"""What the pages say about each reason, as the plugin has it: docs/operations.md for quorums, docs/pools.md for pools.

`PYTHONPATH=operator:. python -m tests.kubectl_kq.advice` writes `operator/kubectl_kq/reasons.json` again.
"""

import json
import re
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
    lines = iter((ROOT / "docs" / page).read_text().splitlines())
    found: dict[str, dict[str, str]] = {}
    for line in lines:
        if line == heading:
            break
    for line in lines:
        if not line.startswith("|"):
            break
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        reasons = re.findall(r"`([A-Z][A-Za-z]+)`", cells[0])
        if reasons and len(cells) >= _COLUMNS:
            row = {"happened": plain(cells[1], page), "do": plain(cells[2].rstrip("| "), page)}
            found |= dict.fromkeys(reasons, row)
    return found


def text() -> str:
    """The file of the plugin."""
    return json.dumps({kind: table(kind) for kind in TABLES}, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


if __name__ == "__main__":
    STORED.write_text(text())
