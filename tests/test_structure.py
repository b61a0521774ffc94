"""The shape of the operator's source: every module is short enough to be read at once."""

from pathlib import Path

import kafka_quorum

OPERATOR = Path(kafka_quorum.__file__).parents[1]
LINES_MAX = 400
PAGE = (OPERATOR.parent / "docs" / "architecture.md").read_text()


def test_no_module_is_longer_than_it_can_be_read() -> None:
    """Each module of `operator/` has at most 400 lines."""
    long = {
        str(path.relative_to(OPERATOR)): lines
        for path in OPERATOR.rglob("*.py")
        if (lines := path.read_text().count("\n")) > LINES_MAX
    }
    assert long == {}


def test_documentation_lists_every_package() -> None:
    """docs/architecture.md has a row for each package of `operator/`, and for each of the operator's own."""
    packages = {path.parent for of in (OPERATOR, OPERATOR / "kafka_quorum") for path in of.glob("*/__init__.py")}
    rows = "\n".join(line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `"))
    assert {path.name for path in packages if f"`{path.name}/`" not in rows} == set()
    assert len(packages) > 10
