"""Expectations about the tables, checked at every run: keys, explained gaps, unknown time that is not hidden.

The rows of a table arrive as Arrow batches. No check holds a table: of each row, a key check keeps a code of 8 bytes,
the check for holes three numbers, and the sums of time are one row per quorum.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

from quorum_history.catalogue import BY_NAME
from quorum_history.state import ClusterState, State

Source = Callable[[Sequence[str]], Iterator[pa.RecordBatch]]
"""The rows of a table in batches, with these columns; each call begins again."""
_TOLERANCE_S = 1e-3
_QUORUM = ("clusterID", "namespace", "name")
_STATES = ("available", "unavailable", "unknown")
_NULL = -(2**62)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_Numbers = np.ndarray[Any, np.dtype[np.int64]]
_Codes = np.ndarray[Any, np.dtype[np.uint64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One expectation about one table."""

    check: str
    table: str
    passed: bool
    wrong: int
    example: str | None

    def row(self) -> dict[str, object]:
        """The verdict as a row of `quality`."""
        return asdict(self)

    def __str__(self) -> str:
        """One line for people, of a failed check."""
        return f"{self.table}: {self.check}: {self.wrong} wrong, first: {self.example}"


def check(tables: Mapping[str, Source], state: State | None) -> list[Verdict]:
    """Every expectation about the existing tables."""
    found = [of_key(name, rows) for name, rows in tables.items() if BY_NAME[name].key]
    if state is not None:
        found += of_state(state)
    if "spans" in tables:
        found.append(_verdict("holes", "spans", _holes(tables["spans"])))
    if "spans" in tables and "availability" in tables:
        found.append(_verdict("unknown", "availability", _hidden(tables["spans"], tables["availability"])))
    return found


def of_key(name: str, rows: Source) -> Verdict:
    """Whether no two rows of a table share its key."""
    return _verdict("key", name, doubles(BY_NAME[name].key, rows))


def of_state(state: State) -> list[Verdict]:
    """What the state of `ingest` shows about `records`, without reading them."""
    clusters = sorted(state.clusters.items())
    doubled = (f"cluster {name}: {each}" for name, cluster in clusters for each in cluster.doubled)
    return [_verdict("key", "records", doubled), _verdict("gaps", "records", _unexplained(state))]


def _verdict(name: str, table: str, wrong: Iterable[str]) -> Verdict:
    count, example = 0, None
    for each in wrong:
        count, example = count + 1, example or each
    return Verdict(check=name, table=table, passed=not count, wrong=count, example=example)


# --- keys -------------------------------------------------------------------------------------------------------------


def doubles(key: Sequence[str], rows: Source) -> Iterator[str]:
    """Keys of several rows. Only rows whose code occurs twice are read again, and compared in full."""
    codes = _joined([_codes(batch.select(key)) for batch in rows(key)], np.uint64)
    codes.sort()
    repeated = np.unique(codes[1:][codes[1:] == codes[:-1]])
    if not len(repeated):
        return
    alike = [batch.filter(pa.array(np.isin(_codes(batch.select(key)), repeated))).select(key) for batch in rows(key)]
    counted = pa.Table.from_batches(alike).group_by(list(key)).aggregate([([], "count_all")])
    for row in counted.filter(compute.greater(counted.column("count_all"), 1)).to_pylist():
        yield f"{row['count_all']} rows with { {name: row[name] for name in key} }"


def _codes(batch: pa.RecordBatch) -> _Codes:
    """A number for each row; rows with the same values have the same number."""
    total = np.zeros(batch.num_rows, dtype=np.uint64)
    for column in batch.columns:
        part = _text_codes(column) if pa.types.is_string(column.type) else _numbers(column).view(np.uint64)
        total = (total ^ part) * _FACTOR
        total ^= total >> np.uint64(29)
    return total


def _text_codes(column: pa.Array) -> _Codes:
    distinct = column.dictionary_encode(null_encoding="encode")
    codes = [
        0 if text is None else int.from_bytes(blake2b(text.encode(), digest_size=8).digest())
        for text in distinct.dictionary.to_pylist()
    ]
    of_rows: _Codes = np.array(codes, dtype=np.uint64)[distinct.indices.to_numpy()]
    return of_rows


def _numbers(column: pa.Array) -> _Numbers:
    """Integers, dates and times as numbers."""
    narrow = column.cast(pa.int32()) if pa.types.is_date32(column.type) else column
    numbers: _Numbers = np.array(narrow.cast(pa.int64()).fill_null(_NULL).to_numpy())
    return numbers


def _joined(parts: Sequence[Any], kind: type) -> Any:  # noqa: ANN401 -- an array of this kind
    return np.concatenate(parts, axis=-1) if parts else np.zeros(0, dtype=kind)


# --- gaps -------------------------------------------------------------------------------------------------------------


def _unexplained(state: State) -> Iterator[str]:
    """Offsets between those that were read, if no fault reports them as missing."""
    for name, cluster in sorted(state.clusters.items()):
        explained = {each.offset for each in cluster.found if each.lasting}
        for first, end in missing(cluster):
            if first not in explained:
                yield f"cluster {name}: offsets {first} to {end - 1}"


def missing(cluster: ClusterState) -> Iterator[tuple[int, int]]:
    """Offsets between the ranges that were read."""
    for (_, end), (first, _) in pairwise(cluster.read):
        yield end, first


# --- time -------------------------------------------------------------------------------------------------------------


def _holes(spans: Source) -> Iterator[str]:
    """Time between two spans of a quorum that follow each other."""
    numbers: dict[tuple[str, ...], int] = {}
    rows = (
        np.stack([_quorums(batch, numbers), *(_numbers(batch.column(name)) for name in ("since", "until"))])
        for batch in spans((*_QUORUM, "since", "until"))
    )
    whole = _joined([np.zeros((3, 0), dtype=np.int64), *rows], np.int64)
    quorum, since, until = whole[:, np.lexsort((whole[1], whole[0]))]
    named = {number: "/".join(names[1:]) for names, number in numbers.items()}
    for place in np.flatnonzero((quorum[1:] == quorum[:-1]) & (until[:-1] != since[1:])):
        yield f"{named[int(quorum[place])]}: nothing between {_time(until[place])} and {_time(since[place + 1])}"


def _time(at_us: np.int64) -> object:
    return pa.scalar(int(at_us), pa.timestamp("us", tz="UTC")).as_py()


def _quorums(batch: pa.RecordBatch, numbers: dict[tuple[str, ...], int]) -> _Numbers:
    """The number of each row's quorum; new quorums get the next ones."""
    columns = [batch.column(name).dictionary_encode(null_encoding="encode") for name in _QUORUM]
    places, back = np.unique(np.stack([each.indices.to_numpy() for each in columns]), axis=1, return_inverse=True)
    names = [each.dictionary.to_pylist() for each in columns]
    known = [
        numbers.setdefault(tuple(str(some[at]) for some, at in zip(names, place, strict=True)), len(numbers))
        for place in places.T
    ]
    return np.array(known, dtype=np.int64)[back.reshape(-1)]


def _hidden(spans: Source, days: Source) -> Iterator[str]:
    """Time of a state that the days lack, or an availability although nothing is known."""
    spanned: dict[tuple[str, ...], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    counted: dict[tuple[str, ...], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    rows: dict[tuple[str, ...], int] = defaultdict(int)
    for batch in spans((*_QUORUM, "state", "seconds")):
        for some in _summed(batch, (*_QUORUM, "state"), ("seconds",)):
            spanned[_quorum(some)][some["state"]] += some["seconds_sum"] or 0.0
            rows[_quorum(some)] += some["count_all"]
    false: list[str] = []
    for batch in days((*_QUORUM, "day", *(f"{state}_s" for state in _STATES), "availability")):
        for some in _summed(batch, _QUORUM, [f"{state}_s" for state in _STATES]):
            for state in _STATES:
                counted[_quorum(some)][state] += some[f"{state}_s_sum"] or 0.0
        false += _invented(batch)
    for quorum in sorted(spanned):
        for state in _STATES:
            there, here = spanned[quorum][state], counted[quorum][state]
            if abs(there - here) > _TOLERANCE_S * (1 + rows[quorum]):
                yield f"{'/'.join(quorum[1:])}: {there:.3f} s {state} in spans, {here:.3f} s in days"
    yield from false


def _invented(days: pa.RecordBatch) -> Iterator[str]:
    known = compute.add(days.column("available_s"), days.column("unavailable_s"))
    said = compute.and_(compute.less_equal(known, 0), compute.is_valid(days.column("availability")))
    for row in days.filter(said).to_pylist():
        yield f"{row['namespace']}/{row['name']}: an availability for {row['day']}, of which nothing is known"


def _summed(batch: pa.RecordBatch, key: Sequence[str], columns: Sequence[str]) -> list[dict[str, Any]]:
    wanted: list[tuple[object, str]] = [*((name, "sum") for name in columns), ([], "count_all")]
    rows: list[dict[str, Any]] = pa.Table.from_batches([batch]).group_by(list(key)).aggregate(wanted).to_pylist()
    return rows


def _quorum(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in _QUORUM)
