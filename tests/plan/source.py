"""The files that the planner's tests read: the operator's source and the documents.

Every test of `tests/plan` and `tests/model` that reads a file finds it here, so that `mutation.py` knows what it must
put into the copy in which mutmut runs.
"""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
OPERATOR: Final = ROOT / "operator" / "kafka_quorum"
READ: Final = (
    *("docs/architecture.md", "docs/operations.md", "docs/safety.md", "docs/zookeeper.md"),
    *("operator/kafka_quorum", "operator/kit"),
)
"""All files that are read. A mutant runs with these files unchanged, because only imported modules are mutated."""


def document(name: str) -> str:
    """The text of a page of docs/."""
    return (ROOT / "docs" / name).read_text()
