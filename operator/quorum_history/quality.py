"""Expectations about the tables, checked at every run: keys, explained gaps, unknown time that is not hidden."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from quorum_history.catalogue import BY_NAME
from quorum_history.state import ClusterState, State

Row = Mapping[str, Any]
_TOLERANCE_S = 1e-3


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


def check(tables: Mapping[str, Sequence[Row]], state: State | None) -> list[Verdict]:
    """Every expectation about the existing tables."""
    found = [_verdict("key", name, _doubles(name, rows)) for name, rows in tables.items() if BY_NAME[name].key]
    if state is not None:
        found.append(_verdict("gaps", "records", _unexplained(state)))
    if "spans" in tables:
        found.append(_verdict("holes", "spans", _holes(tables["spans"])))
    if "spans" in tables and "availability" in tables:
        found.append(_verdict("unknown", "availability", _hidden(tables["spans"], tables["availability"])))
    return found


def _verdict(name: str, table: str, wrong: Iterable[str]) -> Verdict:
    listed = list(wrong)
    return Verdict(check=name, table=table, passed=not listed, wrong=len(listed), example=listed[0] if listed else None)


def _doubles(name: str, rows: Sequence[Row]) -> Iterator[str]:
    key = BY_NAME[name].key
    counts = Counter(tuple(row[column] for column in key) for row in rows)
    for values, count in counts.items():
        if count > 1:
            yield f"{count} rows with {dict(zip(key, values, strict=True))}"


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


def _by_quorum(rows: Sequence[Row], order: Callable[[Row], Any]) -> dict[tuple[str, ...], list[Row]]:
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in sorted(rows, key=order):
        groups.setdefault((str(row["clusterID"]), str(row["namespace"]), str(row["name"])), []).append(row)
    return groups


def _holes(spans: Sequence[Row]) -> Iterator[str]:
    for quorum, rows in _by_quorum(spans, lambda row: row["since"]).items():
        for row, following in pairwise(rows):
            if row["until"] != following["since"]:
                yield f"{'/'.join(quorum[1:])}: nothing between {row['until']} and {following['since']}"


def _hidden(spans: Sequence[Row], days: Sequence[Row]) -> Iterator[str]:
    """Time of a state that the days lack, or an availability although nothing is known."""
    kept = _by_quorum(days, lambda row: row["day"])
    for quorum, rows in _by_quorum(spans, lambda row: row["since"]).items():
        for state in ("available", "unavailable", "unknown"):
            spanned = sum(row["seconds"] for row in rows if row["state"] == state)
            counted = sum(row[f"{state}_s"] for row in kept.get(quorum, ()))
            if abs(spanned - counted) > _TOLERANCE_S * (1 + len(rows)):
                yield f"{'/'.join(quorum[1:])}: {spanned:.3f} s {state} in spans, {counted:.3f} s in days"
    for row in days:
        if row["available_s"] + row["unavailable_s"] <= 0 and row["availability"] is not None:
            yield f"{row['namespace']}/{row['name']}: an availability for {row['day']}, of which nothing is known"
