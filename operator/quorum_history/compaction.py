"""Few, large files: small batches of `records` become one; observations get a file for each day, later for each month.

Observations are needed and removed by time. Records are sorted by cluster and offset, as every command reads them: a
file for each day would cut the log of each cluster, and the row groups of a file have the first and last time anyway.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
from pyarrow import compute, parquet

from quorum_history.sink import OBSERVATIONS, RECORDS, ROW_GROUP_ROWS, SCHEMAS, TABLE_FILE, Sink
from quorum_history.state import Batch, State, commit
from quorum_history.store import Store

_BATCHES = 12
_FILES = 48
"""Up to this many batches, and files, of a table are left as they are; then the small batches become one."""
_SMALL_BYTES = 256 << 20
_LATE = timedelta(days=7)
"""So long after its end, the days of a month become one file."""
_MONTH = len("2026-01")


def compacted(store: Store, state: State, now: datetime) -> State:
    """Merge the batches of a table that are small, or of no single period, when there are many."""
    for table in (RECORDS, OBSERVATIONS):
        files = {each: len(store.names(table, each.folder)) for each in state.live(table) if not each.period}
        small = [each for each in files if table == OBSERVATIONS or each.size_bytes < _SMALL_BYTES]
        many = len(files) > _BATCHES or sum(files.values()) > _FILES
        if not many or sum(files[batch] for batch in small) <= 1:
            continue
        batches = _divided(store, state, now) if table == OBSERVATIONS else _merged(store, state, small)
        state = commit(store, replace(state, batches={**state.batches, table: batches}))
        clean(store, state)
    return state


def clean(store: Store, state: State) -> None:
    """Remove what a run wrote that was killed before its commit, and what the last commit replaced."""
    for table in (RECORDS, OBSERVATIONS):
        live = {batch.folder for batch in state.live(table)}
        for name in store.names(table):
            if name.startswith("batch=") and name not in live:
                store.delete(table, name)


def rows_of(store: Store, table: str, batch: Batch) -> Iterator[pa.RecordBatch]:
    """The rows of a batch, some at a time."""
    for name in store.names(table, batch.folder):
        path = store.path(table, batch.folder, name)
        with parquet.ParquetFile(path, filesystem=store.filesystem) as file:
            yield from file.iter_batches(ROW_GROUP_ROWS)


def _merged(store: Store, state: State, small: list[Batch]) -> tuple[Batch, ...]:
    merged = Batch(number=state.number + 1, rows=0, size_bytes=0)
    with Sink(store, SCHEMAS[RECORDS], RECORDS, merged.folder, TABLE_FILE) as sink:
        for batch in small:
            for rows in rows_of(store, RECORDS, batch):
                sink.add(rows)
    merged = replace(merged, rows=sink.rows, size_bytes=sink.size_bytes)
    return (merged, *(batch for batch in state.live(RECORDS) if batch not in small))


# --- observations -----------------------------------------------------------------------------------------------------


def bounds(period: str) -> tuple[datetime, datetime]:
    """When a day or month (UTC) begins, and when the next one does."""
    if len(period) > _MONTH:
        first = date.fromisoformat(period)
        end = first + timedelta(days=1)
    else:
        first = date.fromisoformat(f"{period}-01")
        end = (first + timedelta(days=31)).replace(day=1)
    begin, following = (datetime(each.year, each.month, each.day, tzinfo=UTC) for each in (first, end))
    return begin, following


def _period(day: date, now: datetime) -> str:
    """The file of a day: that of its month if the month ended long ago."""
    month = f"{day:%Y-%m}"
    return month if bounds(month)[1] + _LATE <= now else day.isoformat()


def _divided(store: Store, state: State, now: datetime) -> tuple[Batch, ...]:
    """The batches of observations, of one day or month each. Only those with new rows are written again."""
    live = state.live(OBSERVATIONS)
    with ExitStack() as stack:
        files = _Files(store, state, now, stack)
        for batch in live:
            if not batch.period or _period(bounds(batch.period)[0].date(), now) != batch.period:
                files.replaced.add(batch)
                for rows in rows_of(store, OBSERVATIONS, batch):
                    files.add(rows)
    return tuple(sorted((*(set(live) - files.replaced), *files.batches()), key=lambda batch: batch.period))


class _Files:
    """A file for each period, which begins with the rows that the period has already."""

    def __init__(self, store: Store, state: State, now: datetime, stack: ExitStack) -> None:
        self._store, self._number, self._now, self._stack = store, state.number + 1, now, stack
        self._known = {batch.period: batch for batch in state.live(OBSERVATIONS) if batch.period}
        self._sinks: dict[str, Sink] = {}
        self.replaced: set[Batch] = set()

    def add(self, rows: pa.RecordBatch) -> None:
        """Divide rows by day."""
        days = rows.column("observedAt").cast(pa.date32())
        for day in sorted(days.unique().to_pylist()):
            self._append(_period(day, self._now), rows.filter(compute.equal(days, pa.scalar(day))))

    def _append(self, period: str, rows: pa.RecordBatch) -> None:
        """Add rows of a period. All files together hold no more rows than a row group."""
        self._sink(period).add(rows)
        if sum(each.held for each in self._sinks.values()) >= ROW_GROUP_ROWS:
            max(self._sinks.values(), key=lambda each: each.held).flush()

    def _sink(self, period: str) -> Sink:
        if period not in self._sinks:
            folder = Batch(number=self._number, rows=0, size_bytes=0, period=period).folder
            sink = Sink(self._store, SCHEMAS[OBSERVATIONS], OBSERVATIONS, folder, TABLE_FILE)
            self._sinks[period] = self._stack.enter_context(sink)
            known = self._known.get(period)
            if known is not None:
                self.replaced.add(known)
                for rows in rows_of(self._store, OBSERVATIONS, known):
                    self._append(period, rows)
        return self._sinks[period]

    def batches(self) -> Iterator[Batch]:
        """What was written, when all files are closed."""
        for period, sink in self._sinks.items():
            yield Batch(number=self._number, rows=sink.rows, size_bytes=sink.size_bytes, period=period)
