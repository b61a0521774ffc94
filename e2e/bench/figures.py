"""Figures for output: aligned columns of at most a hundred characters, and the same values as JSON."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from harness.shell import Json

WIDTH = 100


@dataclass(slots=True)
class Figures:
    """Every table of a run, and its values."""

    tables: list[str] = field(default_factory=list)
    values: Json = field(default_factory=dict)

    def add(
        self, name: str, title: str, head: Sequence[str], rows: Iterable[Sequence[object]], **values: object
    ) -> None:
        """Add a table, and its values under a name."""
        self.tables.append(table(title, head, rows))
        self.values[name] = values


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A title and aligned columns: the first to the left, numbers to the right."""
    cells = [list(head), *([_cell(value) for value in row] for row in rows)]
    widths = [max(len(row[index]) for row in cells) for index in range(len(head))]
    lines = title.splitlines()
    for first, *rest in cells:
        right = (text.rjust(width) for text, width in zip(rest, widths[1:], strict=True))
        lines.append("  " + "  ".join((first.ljust(widths[0]), *right)).rstrip())
    assert max(map(len, lines)) <= WIDTH, "a table must fit a terminal"
    return "\n".join(lines)


def _cell(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)
