"""How long observations are kept. Records stay: a timeline begins with the first of them."""

from dataclasses import replace
from datetime import datetime, timedelta

import pyarrow as pa
from pyarrow import compute, parquet

from quorum_history.ingest import clean
from quorum_history.sink import OBSERVATIONS, ROW_GROUP_ROWS, SCHEMAS, Sink
from quorum_history.state import Batch, StateError, commit, load
from quorum_history.store import Store

_SLACK = timedelta(days=1)


def keep(store: Store, days: int, now: datetime) -> int:
    """Remove the observations older than this many days; returns how many. The tables' folder must be `locked`.

    Everything that stays is written again, so this is done once a day, however often a schedule runs it.
    """
    oldest, before = _oldest(store), now - timedelta(days=days)
    return prune(store, before) if oldest is not None and oldest < before - _SLACK else 0


def _oldest(store: Store) -> datetime | None:
    """The time of the first look; None if there is none."""
    state = load(store)
    firsts: list[datetime] = []
    for batch in state.live(OBSERVATIONS) if state else ():
        for name in store.names(OBSERVATIONS, batch.folder):
            path = store.path(OBSERVATIONS, batch.folder, name)
            with parquet.ParquetFile(path, filesystem=store.filesystem) as file:
                times = (rows.column(0) for rows in file.iter_batches(ROW_GROUP_ROWS, columns=["observedAt"]))
                firsts += (compute.min(some).as_py() for some in times if len(some))
    return min(firsts, default=None)


def prune(store: Store, before: datetime) -> int:
    """Remove the observations before a time; returns how many. The tables' folder must be `locked` (StateError).

    What is left becomes one batch. Files that were read are not read again, even if rows of them were removed.
    """
    state = load(store)
    if state is None:
        raise StateError(f"{store.place} holds no observations: run `quorum-history ingest` first")
    clean(store, state)
    live = state.live(OBSERVATIONS)
    number = state.number + 1
    with Sink(store, SCHEMAS[OBSERVATIONS], OBSERVATIONS, f"batch={number}", "part-00000.parquet") as sink:
        for batch in live:
            for name in store.names(OBSERVATIONS, batch.folder):
                path = store.path(OBSERVATIONS, batch.folder, name)
                with parquet.ParquetFile(path, filesystem=store.filesystem) as file:
                    for rows in file.iter_batches(ROW_GROUP_ROWS):
                        kept = rows.filter(compute.greater_equal(rows.column("observedAt"), pa.scalar(before)))
                        sink.add(kept)
    removed = sum(batch.rows for batch in live) - sink.rows
    if removed:
        left = (Batch(number=number, rows=sink.rows, size_bytes=sink.size_bytes),) if sink.rows else ()
        state = commit(store, replace(state, batches={**state.batches, OBSERVATIONS: left}))
    clean(store, state)
    return removed
