"""Rows of `records` and `observations` into Parquet files, one file per task, in any place that holds tables."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import pyarrow as pa
from pyarrow import parquet

from quorum_history import keys, lines, rows
from quorum_history.executor import Executor
from quorum_history.lines import Piece
from quorum_history.progress import Progress
from quorum_history.state import Found
from quorum_history.store import Store

RECORDS, OBSERVATIONS = "records", "observations"
SCHEMAS: Mapping[str, pa.Schema] = {RECORDS: rows.ARROW, OBSERVATIONS: lines.ARROW}
ROW_GROUP_ROWS = 200_000
_COMMIT = b"quorum-history.commit"
TABLE_FILE = "part-00000.parquet"
"""The one file of a table that is always written as a whole."""

Rows = Callable[[Any], Iterator[pa.RecordBatch | Found | Piece]]
"""Reads an item of a bin: rows, and the faults of its file."""


@dataclass(slots=True)
class Written:
    """What a task wrote; by file, the faults of what it read, and the keys of the records."""

    rows: int = 0
    size_bytes: int = 0
    found: dict[str, list[Found]] = field(default_factory=dict)
    pieces: dict[str, list[Piece]] = field(default_factory=dict)
    ranges: dict[str, list[keys.Range]] = field(default_factory=dict)


class Sink:
    """A Parquet file that is created with its first rows, in row groups of useful size."""

    def __init__(self, store: Store, schema: pa.Schema, *names: str) -> None:
        """Nothing is created until there are rows."""
        self._store, self._schema, self._names = store, schema, names
        self._waiting: list[pa.RecordBatch] = []
        self.held = 0
        """The rows that wait to be written."""
        self._writer: parquet.ParquetWriter | None = None
        self.rows = self.size_bytes = 0

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def add(self, batch: pa.RecordBatch) -> None:
        """Rows to write, now or with the next ones."""
        self._waiting.append(batch)
        self.held += batch.num_rows
        self.rows += batch.num_rows
        if self.held >= ROW_GROUP_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write the waiting rows as a row group."""
        if not self.held:
            return
        if self._writer is None:
            self._store.folder(*self._names[:-1])
            self._writer = parquet.ParquetWriter(
                self._store.path(*self._names), self._schema, filesystem=self._store.filesystem, compression="zstd"
            )
        self._writer.write_table(pa.Table.from_batches(self._waiting, self._schema))
        self._waiting, self.held = [], 0

    def __exit__(self, *error: object) -> None:
        """Store the whole file on its disk."""
        if error[0] is None:
            self.flush()
        if self._writer is not None:
            self._writer.close()
            path = self._store.path(*self._names)
            self._store.sync(path)
            self.size_bytes = int(self._store.filesystem.get_file_info(path).size)


def write_small(store: Store, table: str, rows_: Sequence[Mapping[str, object]], schema: pa.Schema) -> None:
    """Write a small table again, whole: its one file, and no other beside it."""
    write_whole(store, table, pa.Table.from_pylist(list(rows_), schema))


def write_whole(store: Store, table: str, content: pa.Table) -> None:
    """The same, with rows that are in Arrow's memory already."""
    sink = pa.BufferOutputStream()
    parquet.write_table(content, sink)
    store.write(sink.getvalue().to_pybytes(), table, TABLE_FILE)
    for other in store.names(table):
        if other != TABLE_FILE:
            store.delete(table, other)


def write_numbered(store: Store, table: str, content: pa.Table, number: int) -> None:
    """The same, of the commit with this number."""
    write_whole(store, table, content.replace_schema_metadata({_COMMIT: str(number)}))


def published(store: Store, table: str) -> int:
    """The number of the commit to which an existing table belongs, alone in its folder; -1 for none."""
    if store.names(table) != (TABLE_FILE,):
        return -1
    kept = parquet.read_schema(store.path(table, TABLE_FILE), filesystem=store.filesystem).metadata or {}
    return int(kept.get(_COMMIT, -1))


def write_bins(
    store: Store, table: str, number: int, bins: Sequence[Sequence[object]], read: Rows, executor: Executor
) -> Written:
    """Write every bin to a file of its own in a batch's folder; the results of all of them together."""
    total = Written()
    work = [(place, list(each)) for place, each in enumerate(bins)]
    with Progress(f"{table}: files written", len(work)) as progress:
        for written in executor.run(partial(_write_bin, store.place, table, number, read), work):
            total.rows += written.rows
            total.size_bytes += written.size_bytes
            total.found |= {path: [*total.found.get(path, []), *found] for path, found in written.found.items()}
            total.pieces |= written.pieces
            for path, ranges in written.ranges.items():
                total.ranges.setdefault(path, []).extend(ranges)
            progress.step()
    return total


def _write_bin(place: str, table: str, number: int, read: Rows, work: tuple[int, list[object]]) -> Written:
    """Write one file of a batch; none if there are no rows."""
    store, written = Store(place), Written()
    with Sink(store, SCHEMAS[table], table, f"batch={number}", f"part-{work[0]:05d}.parquet") as sink:
        for item in work[1]:
            for found in read(item):
                if isinstance(found, pa.RecordBatch):
                    sink.add(found)
                    if table == RECORDS and found.num_rows:
                        path = found.column("file")[0].as_py()
                        keys.appended(written.ranges.setdefault(path, []), keys.ranges_of(found))
                elif isinstance(found, Found):
                    written.found.setdefault(found.file, []).append(found)
                else:
                    written.pieces.setdefault(found.path, []).append(found)
    written.rows, written.size_bytes = sink.rows, sink.size_bytes
    return written
