"""The table of Kafka's own metrics in docs/metrics-kafka.md: what a controller shows, by release and role."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).parents[1] / "docs" / "metrics-kafka.md"
EVERY: Final = "every controller"
LEADER: Final = "the leader"
_COLUMNS: Final = ("metric", "releases", "on", "Kafka's MBean and attribute", "meaning")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One metric. `first` and `last` are lines of releases, such as (4, 0); `last` is None for all later ones."""

    name: str
    first: tuple[int, int]
    last: tuple[int, int] | None
    leader_only: bool
    source: str
    meaning: str

    def on(self, release: str, *, leader: bool) -> bool:
        """Whether a controller of this release shows it."""
        major, minor, *_ = map(int, release.split("."))
        late_enough = (major, minor) >= self.first
        return late_enough and (self.last is None or (major, minor) <= self.last) and (leader or not self.leader_only)


def table() -> tuple[Row, ...]:
    """Every row of the table (ValueError)."""
    lines = PAGE.read_text().splitlines()
    begin = lines.index(f"| {' | '.join(_COLUMNS)} |") + 2
    rows = []
    for line in lines[begin:]:
        if not line.startswith("|"):
            break
        name, releases, on, source, meaning = (cell.strip() for cell in line.strip("|").split(" | "))
        if on not in (EVERY, LEADER):
            raise ValueError(f"{name} is on {on!r}, neither {EVERY!r} nor {LEADER!r}")
        first, last = _lines(releases)
        rows.append(
            Row(
                name=name.strip("`"),
                first=first,
                last=last,
                leader_only=on == LEADER,
                source=source.strip("`"),
                meaning=meaning,
            )
        )
    return tuple(rows)


def _lines(text: str) -> tuple[tuple[int, int], tuple[int, int] | None]:
    """`all`, `from 4.0` or `3.9` as the first and the last line."""
    if text == "all":
        return (3, 9), None
    major, minor = map(int, text.removeprefix("from ").split("."))
    return (major, minor), None if text.startswith("from ") else (major, minor)
