"""How long observations are kept. Records stay: a timeline begins with the first of them."""

from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
from pyarrow import compute, parquet

from quorum_history.compaction import clean, rows_of
from quorum_history.sink import OBSERVATIONS, SCHEMAS, TABLE_FILE, Sink
from quorum_history.state import Batch, StateError, commit, load
from quorum_history.store import Store

_TIME = "observedAt"


def keep(store: Store, days: int, now: datetime) -> int:
    """Remove the days (UTC) that ended before this many days; returns how many observations. As `prune` otherwise."""
    before = (now - timedelta(days=days)).astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return prune(store, before) if load(store) is not None else 0


def prune(store: Store, before: datetime) -> int:
    """Remove the observations before a time; returns how many. The tables' folder must be `locked` (StateError).

    A batch that is older is removed as a whole, and a later one stays as it is. Only batches with both kinds of rows
    are written again. Files that were read are not read again, even if rows of them were removed.
    """
    state = load(store)
    if state is None:
        raise StateError(f"{store.place} holds no observations: run `quorum-history ingest` first")
    clean(store, state)
    live = state.live(OBSERVATIONS)
    times = {batch: _times(store, batch) for batch in live}
    later = [batch for batch, (first, _) in times.items() if first >= before]
    cut = [batch for batch, (first, last) in times.items() if first < before <= last]
    left = (*later, *_cut(store, cut, before, state.number + 1))
    removed = sum(batch.rows for batch in live) - sum(batch.rows for batch in left)
    if removed:
        state = commit(store, replace(state, batches={**state.batches, OBSERVATIONS: left}))
    clean(store, state)
    return removed


def _cut(store: Store, batches: list[Batch], before: datetime, number: int) -> list[Batch]:
    """What is left of batches that have older rows and later ones: a batch of each period, and one of all others."""
    sinks: dict[str, Sink] = {}
    with ExitStack() as stack:
        for batch in batches:
            if batch.period not in sinks:
                folder = replace(batch, number=number).folder
                sink = Sink(store, SCHEMAS[OBSERVATIONS], OBSERVATIONS, folder, TABLE_FILE)
                sinks[batch.period] = stack.enter_context(sink)
            for rows in rows_of(store, OBSERVATIONS, batch):
                sinks[batch.period].add(rows.filter(compute.greater_equal(rows.column(_TIME), pa.scalar(before))))
    return [
        Batch(number=number, rows=sink.rows, size_bytes=sink.size_bytes, period=period)
        for period, sink in sinks.items()
        if sink.rows
    ]


def _times(store: Store, batch: Batch) -> tuple[datetime, datetime]:
    """The first time of a batch and its last one, from the statistics of its files: no row is read."""
    firsts, lasts = [datetime.max.replace(tzinfo=UTC)], [datetime.min.replace(tzinfo=UTC)]
    for name in store.names(OBSERVATIONS, batch.folder):
        path = store.path(OBSERVATIONS, batch.folder, name)
        held = parquet.read_metadata(path, filesystem=store.filesystem)
        for number in range(held.num_row_groups):
            group = held.row_group(number)
            (column,) = (each for each in map(group.column, range(group.num_columns)) if each.path_in_schema == _TIME)
            firsts.append(column.statistics.min)
            lasts.append(column.statistics.max)
    return min(firsts), max(lasts)
