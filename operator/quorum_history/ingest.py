"""`ingest`: append what is new in metadata logs and observations to the tables; remember how far each file was read.

A run checks every file's size and time, plans each cluster that has changed (`index`) and reads the parts that are new.
It writes them as a few Parquet files into a folder of their own (`sink`), and commits (`state`). Until then nothing
counts, so the next run replaces everything that a killed run leaves. Many batches become few (`compaction`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

import pyarrow as pa

from kraftlog import Options
from quorum_history import index, keys, lines, quality, verdicts
from quorum_history.compaction import clean, compacted
from quorum_history.damage import within_a_batch
from quorum_history.executor import Executor
from quorum_history.files import FileKind, LogFile, Stored, find_files
from quorum_history.index import Part, Plan
from quorum_history.progress import Progress
from quorum_history.quality import Verdict
from quorum_history.rows import Wrong, read_rows
from quorum_history.sink import (
    OBSERVATIONS,
    RECORDS,
    Written,
    published,
    write_bins,
    write_numbered,
)
from quorum_history.source import SourceOptions
from quorum_history.state import ADDED_TYPES, Batch, ClusterState, Found, State, StateError, commit, load
from quorum_history.store import Store
from quorum_history.summary import Summary

_TASK_BYTES = 64 << 20
_BINS_PER_CORE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to ingest. `logs` and `observations` are paths or URLs, None for none."""

    logs: str | None
    observations: str | None
    options: SourceOptions


def ingest(store: Store, request: Request, executor: Executor, now: datetime | None = None) -> Summary:
    """Append what is new; the tables' folder must be `locked` (NoLogsError, StateError, OSError)."""
    before, now = load(store), now or datetime.now(UTC)
    state = before or State(types=_types(request.options))
    summary = Summary(skipped_types=_skipped_types(store, state, request.options))
    clean(store, state)
    number = state.number + 1
    changed = state
    if request.logs:
        changed = _records(store, changed, request, executor, number, summary)
    if request.observations:
        changed = _observations(store, changed, request, executor, number, summary, now)
    if changed != state or before is None:
        state = commit(store, changed)
    state = compacted(store, state, now)
    summary.failed = tuple(str(each) for each in _publish(store, state) if not each.passed)
    summary.account(before, state)
    return summary


def _types(options: SourceOptions) -> tuple[str, ...] | None:
    return None if options.types is None else tuple(sorted(options.types))


def _skipped_types(store: Store, state: State, options: SourceOptions) -> tuple[str, ...]:
    """The types that the tables lack because an earlier version made them (StateError for any other missing type)."""
    if state.types is None or not state.clusters:
        return ()
    wanted = _types(options)
    missing = None if wanted is None else set(wanted) - set(state.types)
    if missing is None or missing - ADDED_TYPES:
        kinds = "all record types" if missing is None else ", ".join(sorted(missing))
        raise StateError(
            f"{store.place}: did not add {kinds}: earlier runs kept {', '.join(state.types)} alone and have read past"
            f" the rest; name a new --target for more"
        )
    return tuple(sorted(missing))


# --- records ----------------------------------------------------------------------------------------------------------


def _records(store: Store, state: State, request: Request, executor: Executor, number: int, summary: Summary) -> State:
    by_cluster: dict[str, list[LogFile]] = {}
    for file in find_files(request.logs or ""):
        by_cluster.setdefault(file.cluster, []).append(file)
    summary.clusters, summary.files = len(by_cluster), sum(map(len, by_cluster.values()))
    work = [
        (name, files, state.clusters.get(name))
        for name, files in by_cluster.items()
        if not index.unchanged(files, state.clusters.get(name))
    ]
    summary.changed_clusters = len(work)
    plans: list[Plan] = []
    with Progress("clusters looked at", len(work)) as progress:
        for group in executor.run(partial(_plan, options=request.options), _groups(work, executor.parallelism)):
            plans += group
            progress.step(number=len(group))
    parts = [part for plan in sorted(plans, key=lambda plan: plan.cluster) for part in plan.parts]
    options = replace(request.options, types=None if state.types is None else frozenset(state.types))
    written = write_bins(
        store, RECORDS, number, _bins(parts, executor.parallelism), partial(_part_rows, options), executor
    )
    summary.new_records, summary.read_bytes = written.rows, sum(map(_size, parts))
    clusters = dict(state.clusters)
    for plan in plans:
        faults = {path: found for path, found in written.found.items() if path in plan.state.files}
        kept, doubled = _keys(state.clusters.get(plan.cluster), plan, written)
        clusters[plan.cluster] = replace(index.with_record_faults(plan.state, faults), kept=kept, doubled=doubled)
    return _with_batch(replace(state, clusters=clusters), RECORDS, number, written)


def _keys(before: ClusterState | None, plan: Plan, written: Written) -> tuple[keys.Ranges, tuple[str, ...]]:
    """The keys of a cluster's rows in `records` after this run, and those that are there twice."""
    new = {part.file.path: written.ranges.get(part.file.path, []) for part in plan.parts}
    kept, doubled = keys.joined(before.kept if before else {}, new)
    return kept, tuple(dict.fromkeys((*(before.doubled if before else ()), *doubled)))


_Work = tuple[str, list[LogFile], ClusterState | None]


def _plan(work: Sequence[_Work], options: SourceOptions) -> list[Plan]:
    return [
        index.plan(
            name,
            files,
            before,
            checkpoints=options.checkpoints,
            watermark=options.high_watermarks.get(name),
        )
        for name, files, before in work
    ]


def _groups(work: Sequence[_Work], parallelism: int) -> list[list[_Work]]:
    """Clusters in groups of about the same size, several for each core."""
    count = max(1, min(len(work), 4 * parallelism))
    ordered = sorted(work, key=lambda each: -sum(file.size_bytes for file in each[1]))
    return [list(ordered[place::count]) for place in range(count)] if work else []


def _size(part: Part) -> int:
    return (part.file.size_bytes if part.stop < 0 else part.stop) - part.start


def _bins(parts: Sequence[Part], parallelism: int) -> list[list[Part]]:
    """Parts in order, in bins of one output file each: one per core, or more if there is much to read."""
    total = sum(map(_size, parts))
    most = min(max(parallelism, total // _TASK_BYTES), _BINS_PER_CORE * parallelism)
    count = max(1, min(len(parts), most if total > _TASK_BYTES // 8 else 1))
    bins: list[list[Part]] = [[]]
    filled = 0
    for part in parts:
        if bins[-1] and filled >= total * len(bins) / count:
            bins.append([])
        bins[-1].append(part)
        filled += _size(part)
    return [each for each in bins if each]


def _part_rows(options: SourceOptions, part: Part) -> Iterator[pa.RecordBatch | Found]:
    wanted = Options(
        release=options.release,
        types=options.types,
        start_position=part.start,
        end_position=None if part.stop < 0 else part.stop,
    )
    for item in read_rows(part.file, wanted):
        if not isinstance(item, Wrong):
            yield item
        elif part.file.kind is FileKind.CHECKPOINT or within_a_batch(item):
            yield Found(file=item.path, position=item.position, offset=None, text=str(item), lasting=True)


# --- observations -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lines:
    """New lines of a file."""

    file: Stored
    start: int


def _observations(
    store: Store, state: State, request: Request, executor: Executor, number: int, summary: Summary, now: datetime
) -> State:
    files = lines.find_lines(request.observations or "")
    new = [
        _Lines(file=file, start=before.position if before and before.position <= file.size_bytes else 0)
        for file in files
        if (before := state.lines.get(file.path)) is None
        or (before.size_bytes, before.modified_ns) != (file.size_bytes, file.modified_ns)
    ]
    count = max(1, min(len(new), executor.parallelism))
    bins = [new[place::count] for place in range(count)] if new else []
    written = write_bins(store, OBSERVATIONS, number, bins, partial(_line_rows, now), executor)
    summary.files += len(files)
    summary.new_looks = written.rows
    summary.read_bytes += sum(each.file.size_bytes - each.start for each in new)
    known = {path: each for path, each in state.lines.items() if path in {file.path for file in files}}
    for each in new:
        pieces = written.pieces.get(each.file.path, [])
        known[each.file.path] = lines.joined(each.file, state.lines.get(each.file.path), each.start, pieces)
    return _with_batch(replace(state, lines=known), OBSERVATIONS, number, written)


def _line_rows(now: datetime, new: _Lines) -> Iterator[pa.RecordBatch | lines.Piece]:
    for piece in lines.read_lines(new.file, new.start, now):
        yield from piece.table.to_batches()
        yield replace(piece, table=lines.ARROW.empty_table())


def _with_batch(state: State, table: str, number: int, written: Written) -> State:
    if not written.rows:
        return state
    batch = Batch(number=number, rows=written.rows, size_bytes=written.size_bytes)
    return replace(state, batches={**state.batches, table: (*state.live(table), batch)})


# --- afterwards -------------------------------------------------------------------------------------------------------


_FAULTS = pa.schema(
    [("cluster", pa.string()), ("file", pa.string()), ("position", pa.int64()), ("offset", pa.int64()),
     ("fault", pa.string())]
)  # fmt: skip
_REJECTED = pa.schema([("file", pa.string()), ("position", pa.int64()), ("reason", pa.string())])


def _piecewise(content: pa.Table, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    yield from content.select(list(names)).to_batches()


def _publish(store: Store, state: State) -> list[Verdict]:
    """Write the faults, and the checks of the tables of `ingest`, as of the last commit; returns the checks."""
    faults = [
        {"cluster": cluster, "file": each.file, "position": each.position, "offset": each.offset, "fault": each.text}
        for cluster, each in state.found()
    ]
    rejected = [
        {"file": each.file, "position": each.position, "reason": each.text}
        for file in state.lines.values()
        for each in file.rejected
    ]
    checks = quality.of_state(state)
    for table, rows, schema in (("faults", faults, _FAULTS), ("rejected_lines", rejected, _REJECTED)):
        content = pa.Table.from_pylist(rows, schema)
        checks.append(quality.of_key(table, partial(_piecewise, content)))
        if published(store, table) != state.number:
            write_numbered(store, table, content, state.number)
    verdicts.replace_some(store, state, checks)
    return checks
