"""Measurements as data: `measured.json`, one row for a pair of releases, a broker and a way, and one for a release.

A row collects all runs: some ways work or fail by chance, as the leader of the group decides.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.live.streams.ways import Result

FILE: Final = Path(__file__).with_name("measured.json")
VARIES: Final = "varies"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """What is measured; `protocol` is the new release's `group.protocol`, `over` the release between the two."""

    old: str
    new: str
    broker: str
    way: str
    upgrade_from: str | None = None
    wiped: bool = False
    protocol: str = "classic"
    over: str | None = None

    def __str__(self) -> str:
        """As a line of the progress begins."""
        more = [f"upgrade.from={self.upgrade_from}"] if self.upgrade_from else []
        more += [f"over {self.over}"] if self.over else []
        more += ["wiped"] if self.wiped else []
        more += [f"group.protocol={self.protocol}"] if self.protocol != "classic" else []
        return " ".join([f"{self.old} -> {self.new}", f"on {self.broker}:", self.way, *more])


@dataclass(slots=True, kw_only=True)
class Row:
    """Everything that was seen of a pair: how often each outcome, and the last run of the worst of them."""

    pair: Pair
    runs: dict[str, int] = field(default_factory=dict)
    reason: str = ""
    died: list[str] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)
    doubled: list[int] = field(default_factory=list)
    before: list[list[int]] = field(default_factory=list)
    between: list[list[int]] = field(default_factory=list)
    after: list[list[int]] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def outcome(self) -> str:
        """`works`, `fails`, `wrong counts`, or `varies`."""
        return next(iter(self.runs)) if len(self.runs) == 1 else VARIES

    def add(self, result: Result) -> None:
        """One more run."""
        self.runs[result.outcome] = self.runs.get(result.outcome, 0) + 1
        self.lost.append(result.lost)
        self.doubled.append(result.doubled)
        self.seconds = result.seconds
        self.before = result.before or self.before
        self.between, self.after = result.between or self.between, result.after or self.after
        if result.reason:
            self.reason, self.died = result.reason, list(result.died)


@dataclass(slots=True, kw_only=True)
class Release:
    """What a release does by itself. `upgrade_from`: accepted, refused, fails (`errors`) or ignored, by value."""

    version: str
    subscription: int
    upgrade_from: dict[str, str]
    errors: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Measured:
    """All rows."""

    pairs: list[Row] = field(default_factory=list)
    releases: list[Release] = field(default_factory=list)

    def row(self, pair: Pair) -> Row | None:
        """The row of a pair, if it was measured."""
        return next((row for row in self.pairs if row.pair == pair), None)

    def release(self, version: str) -> Release | None:
        """The row of a release, if it was measured."""
        return next((row for row in self.releases if row.version == version), None)

    def add(self, pair: Pair, result: Result) -> Row:
        """Adds a run of a pair."""
        row = self.row(pair)
        if row is None:
            row = Row(pair=pair)
            self.pairs.append(row)
        row.add(result)
        return row

    def put(self, release: Release) -> None:
        """Replaces the row of a release."""
        self.releases = [*(each for each in self.releases if each.version != release.version), release]

    def save(self, path: Path = FILE) -> None:
        """Writes the file, one row on a line, so that differences can be read."""
        pairs = [{**_flat(asdict(row.pair)), "outcome": row.outcome, **_flat(asdict(row))} for row in self.pairs]
        text = {"pairs": _lines(pairs), "releases": _lines([asdict(each) for each in self.releases])}
        path.write_text("{\n" + ",\n".join(f'"{name}": [\n{rows}\n]' for name, rows in text.items()) + "\n}\n")


def load(path: Path = FILE) -> Measured:
    """The file's rows; none if there is no file yet."""
    if not path.exists():
        return Measured()
    raw = json.loads(path.read_text())
    names = {field.name for field in Pair.__dataclass_fields__.values()}
    pairs = []
    for each in raw["pairs"]:
        wide = {"old": each.pop("from"), "new": each.pop("to"), **each}
        wide.pop("outcome")
        pair = Pair(**{name: wide.pop(name) for name in names if name in wide})
        pairs.append(Row(pair=pair, **wide))
    return Measured(pairs=pairs, releases=[Release(**each) for each in raw["releases"]])


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """With the names of the file, and without what is empty."""
    row.pop("pair", None)
    named = {{"old": "from", "new": "to"}.get(name, name): value for name, value in row.items()}
    return {name: value for name, value in named.items() if value not in (None, False, "", [], "classic")}


def _lines(rows: Sequence[object]) -> str:
    return ",\n".join(json.dumps(row) for row in rows)


def difference(row: Row | None, result: Result) -> str:
    """How a fresh result differs from the file; empty if it does not."""
    if row is None:
        return "it was not measured before"
    if result.outcome not in row.runs:
        return f"{result.outcome} ({result.reason}), but the file has {row.runs}"
    if result.after and row.after and result.after != row.after:
        return f"versions {result.after}, but the file has {row.after}"
    return ""
