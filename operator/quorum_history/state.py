"""The state of `ingest`: per file how far it was read, per cluster where its log ended, and the faults.

One JSON file per commit, `ingest/state-N.json` in the folder of the tables. It also names the batches of rows that
count: rows that a run wrote before it was killed count from the commit on, or never.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from quorum_history.keys import Ranges
from quorum_history.replicas import Epochs
from quorum_history.store import Store

VERSION = 1
"""The version of the layout of `ingest`'s tables, and of this state."""
ADDED_TYPES = frozenset({"ZK_MIGRATION_STATE_RECORD"})
"""The record types that the first version of the timelines did not read. Its tables are continued without them."""
_FOLDER = "ingest"
_KEPT = 2


class StateError(Exception):
    """Tables that this version cannot continue; the text gives the reason and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A fault in a file: `position` in bytes and `offset` in the log, as far as either is known.

    `lasting`: the fault was in records that were read, and stays whatever happens to the file.
    """

    file: str
    position: int | None
    offset: int | None
    text: str
    lasting: bool = False

    def __str__(self) -> str:
        """One line for people."""
        if self.text.startswith(self.file):
            return self.text
        return f"{self.file}: {f'position {self.position}: ' if self.position is not None else ''}{self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A batch near the end of what was read, by which the file is recognised."""

    position: int
    base_offset: int
    leader_epoch: int
    crc: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState:
    """A segment or checkpoint as it was read last. `first` and `end` are offsets, `position` ends the last batch."""

    size_bytes: int
    modified_ns: int
    first: int = 0
    end: int = 0
    position: int = 0
    anchor: Anchor | None = None
    epochs: Epochs = ()

    def same(self, size_bytes: int, modified_ns: int) -> bool:
        """Whether the file has not changed since."""
        return (self.size_bytes, self.modified_ns) == (size_bytes, modified_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState:
    """`end`: after the last offset that was read; `waiting`: there is more, past the given high watermark.

    `read`: the ranges of offsets that were read, ends excluded. `kept`: the keys of the rows in `records`; `doubled`:
    those that were written twice.
    """

    end: int = 0
    epochs: Epochs = ()
    waiting: bool = False
    read: tuple[tuple[int, int], ...] = ()
    files: Mapping[str, FileState] = field(default_factory=dict)
    found: tuple[Found, ...] = ()
    kept: Ranges = field(default_factory=dict)
    doubled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LinesState:
    """A file of observations: read up to `position`; `rejected` names some of the lines that are no observations."""

    size_bytes: int
    modified_ns: int
    position: int
    lines: int
    rejected_lines: int
    rejected: tuple[Found, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Rows that one commit added, or that a compaction merged.

    `period`: the day or month (UTC) of all of them, as `2026-01-31` or `2026-01`; empty for no single one.
    """

    number: int
    rows: int
    size_bytes: int
    period: str = ""

    @property
    def folder(self) -> str:
        """Their folder, below that of their table."""
        return f"batch={self.number}{f'-{self.period}' if self.period else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The whole state. `types`: the record types that are kept, None for all; `batches` by table."""

    number: int = 0
    types: tuple[str, ...] | None = None
    clusters: Mapping[str, ClusterState] = field(default_factory=dict)
    lines: Mapping[str, LinesState] = field(default_factory=dict)
    batches: Mapping[str, tuple[Batch, ...]] = field(default_factory=dict)

    def live(self, table: str) -> tuple[Batch, ...]:
        """The batches of a table that count."""
        return self.batches.get(table, ())

    def keeps(self, types: frozenset[str]) -> bool:
        """Whether records of these types are kept."""
        return self.types is None or types <= set(self.types)

    def found(self) -> list[tuple[str, Found]]:
        """Every fault with its cluster."""
        return [(name, each) for name, cluster in sorted(self.clusters.items()) for each in cluster.found]


def load(store: Store) -> State | None:
    """The last commit, None before the first (StateError)."""
    for name in sorted(_states(store), reverse=True):
        written = json.loads(store.read(_FOLDER, name))
        if written.get("version") != VERSION:
            raise StateError(
                f"{store.place}: the tables have layout {written.get('version')}, this program writes {VERSION}:"
                f" name a new --target"
            )
        return _read(written)
    if store.exists("checkpoints"):
        raise StateError(
            f"{store.place}: the tables were written by an earlier release, which kept no account of files: name a new"
            f" --target and ingest again"
        )
    return None


def commit(store: Store, state: State) -> State:
    """Make a state the valid one; returns it with its number."""
    numbered = replace(state, number=state.number + 1)
    store.write(json.dumps({"version": VERSION, **asdict(numbered)}).encode(), _FOLDER, _name(numbered.number))
    for name in sorted(_states(store))[:-_KEPT]:
        store.delete(_FOLDER, name)
    return numbered


def _name(number: int) -> str:
    return f"state-{number:010d}.json"


def _states(store: Store) -> list[str]:
    return [name for name in store.names(_FOLDER) if name.startswith("state-") and name.endswith(".json")]


def _read(written: Mapping[str, Any]) -> State:
    return State(
        number=written["number"],
        types=None if written["types"] is None else tuple(written["types"]),
        clusters={name: _cluster(each) for name, each in written["clusters"].items()},
        lines={
            name: LinesState(**{**each, "rejected": _found(each["rejected"])})
            for name, each in written["lines"].items()
        },
        batches={name: tuple(Batch(**each) for each in batches) for name, batches in written["batches"].items()},
    )


def _cluster(written: Mapping[str, Any]) -> ClusterState:
    return ClusterState(
        end=written["end"],
        epochs=_pairs(written["epochs"]),
        waiting=written["waiting"],
        read=_pairs(written["read"]),
        files={name: _file(each) for name, each in written["files"].items()},
        found=_found(written["found"]),
        kept={
            file: tuple((epoch, first, last) for epoch, first, last in ranges)
            for file, ranges in written.get("kept", {}).items()
        },
        doubled=tuple(written.get("doubled", ())),
    )


def _file(written: Mapping[str, Any]) -> FileState:
    anchor = Anchor(**written["anchor"]) if written["anchor"] else None
    return FileState(**{**written, "anchor": anchor, "epochs": _pairs(written["epochs"])})


def _pairs(written: list[list[int]]) -> tuple[tuple[int, int], ...]:
    return tuple((int(first), int(second)) for first, second in written)


def _found(written: list[Mapping[str, Any]]) -> tuple[Found, ...]:
    return tuple(Found(**each) for each in written)
