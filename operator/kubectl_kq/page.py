"""What a command answers, before it is text, JSON or YAML: all three are made from this value, so they say the same.

Pure. A page consists of sections: facts with a label each, or a table. Every cell is a plain value.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

from kubectl_kq.ages import When

Cell: TypeAlias = str | int | bool | When | tuple[int, ...] | tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One value with its name: `key` in JSON, `label` in the text."""

    key: str
    label: str
    value: Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Some facts. Without a key they belong to the page itself."""

    key: str = ""
    title: str = ""
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column. In the text, one that is `below` is written under its row, because it has sentences."""

    key: str
    label: str
    below: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows with a cell for each column. `empty` is the sentence for a table without rows; none hides the table."""

    key: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    empty: str = ""


Section: TypeAlias = Facts | Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The answer of a command about one quorum or several, and the exit code that goes with it."""

    command: str
    sections: tuple[Section, ...]
    code: int = 0


DONE: Final = 0
WARN: Final = 1
CRIT: Final = 2
UNKNOWN: Final = 3
REFUSED: Final = 4
MISUSED: Final = 64
INTERRUPTED: Final = 130

CODES: Final[dict[int, str]] = {
    DONE: "done; of `doctor`: every check is OK",
    WARN: "`doctor` found something to look at (WARN), and nothing worse",
    CRIT: "`doctor` found that something is lost, broken or stopped (CRIT)",
    UNKNOWN: "something could not be read: no answer in time, no rights, no such quorum. What was read is shown",
    REFUSED: "the plugin did not act, because that would do harm; the message says what to do",
    MISUSED: "a wrong command or option",
    INTERRUPTED: "interrupted by Ctrl-C",
}
"""Every exit code, with its meaning in the help and in the documentation."""
