"""Derived tables in Delta's format: each run is one MERGE, so a version holds only the changes since the last one.

They are written by delta-rs (the package `deltalake`), which needs neither a jar nor Spark. It reaches object stores by
itself, with credentials from the same places as everything else. A run that is killed before its commit leaves files
that no version names, and a mark. Because of the mark a later run removes these files.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import dataset

from kraftlog.places import canonical, s3_endpoint
from quorum_history import quality
from quorum_history.store import STAGED, Store

if TYPE_CHECKING:
    from deltalake import DeltaTable

_MARK = "_writing"
_LOG = "_delta_log"
_BATCH_ROWS = 1 << 16
_ORPHANED = timedelta(days=1)
"""A file that no version names may be about to be committed by another run, unless it is older than this."""


def write(store: Store, name: str, rows: dataset.Dataset, key: tuple[str, ...]) -> None:
    """Make the table `name` these rows. Without a unique key, or with another schema, it is replaced as a whole.

    The rows are read a batch at a time, more than once. delta-rs holds of a merge what its join needs.
    """
    if not is_delta(store, name):
        _create(store, name, rows)
        return
    killed = store.exists(name, _MARK)
    store.write(b"", name, _MARK)
    if key and _is_unique(rows, key) and _schema(table := opened(store, name)) == rows.schema:
        with _failing_as_files_do(store, name):
            _merge(table, rows, key)
    else:
        _overwrite(store, name, rows)
    if not killed or _swept(store, name):
        store.delete(name, _MARK)


def _create(store: Store, name: str, rows: dataset.Dataset) -> None:
    """Make the table at another place first: without its log, a reader would read it as Parquet."""
    store.retire(name)  # of another format: computed again from the same records
    if store.local:
        store.delete(f"{STAGED}{name}")
        _overwrite(store, f"{STAGED}{name}", rows)
        store.replace((f"{STAGED}{name}",), (name,))
    else:
        _overwrite(store, name, rows)


def _overwrite(store: Store, name: str, rows: dataset.Dataset) -> None:
    from deltalake import write_deltalake  # noqa: PLC0415 -- an extra

    with _failing_as_files_do(store, name):
        write_deltalake(
            canonical(store.url(name)),
            _reader(rows),
            mode="overwrite",
            schema_mode="overwrite",
            storage_options=_options(),
        )


def _swept(store: Store, name: str) -> bool:
    """Remove files that no version names, except young ones that another run may need; returns whether none is left."""
    live = {uri.rpartition("/")[2] for uri in opened(store, name).file_uris()}
    files = [file for file in store.names(name) if file.endswith(".parquet") and file not in live]
    logs = [store.read(name, _LOG, each) for each in store.names(name, _LOG) if each.endswith(".json")] if files else []
    orphans = [file for file in files if not any(file.encode() in log for log in logs)]
    latest = datetime.now(UTC) - _ORPHANED
    young = [file for file in orphans if store.modified(name, file) > latest]
    for file in set(orphans) - set(young):
        store.delete(name, file)
    return not young


def read(store: Store, name: str) -> dataset.Dataset:
    """The rows of the latest version."""
    table = opened(store, name)
    with _failing_as_files_do(store, name):
        return table.to_pyarrow_dataset()


def piecewise(rows: dataset.Dataset, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Rows in batches, with these columns or all, and without reading far ahead."""
    yield from _scanner(rows, columns).to_batches()


def _scanner(rows: dataset.Dataset, columns: Sequence[str] | None) -> dataset.Scanner:
    return rows.scanner(
        columns=None if columns is None else list(columns),
        batch_size=_BATCH_ROWS,
        batch_readahead=1,
        fragment_readahead=1,
    )


def _reader(rows: dataset.Dataset) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(rows.schema, piecewise(rows))


def opened(store: Store, name: str) -> "DeltaTable":
    """The table as a delta-rs object."""
    from deltalake import DeltaTable  # noqa: PLC0415 -- an extra

    with _failing_as_files_do(store, name):
        return DeltaTable(canonical(store.url(name)), storage_options=_options())


def is_delta(store: Store, name: str) -> bool:
    """Whether a table is stored in this format. Read as Parquet it would also show overwritten rows."""
    return store.exists(name, _LOG)


def _options() -> dict[str, str]:
    """The options that delta-rs needs besides the environment: whether a store may be reached over http."""
    return {"allow_http": "true"} if s3_endpoint().startswith("http://") else {}


@contextmanager
def _failing_as_files_do(store: Store, name: str) -> Iterator[None]:
    """Turn delta-rs's errors into an OSError that names the table."""
    from deltalake.exceptions import DeltaError  # noqa: PLC0415 -- an extra

    try:
        yield
    except (DeltaError, OSError) as error:
        raise OSError(f"{store.url(name)}: the Delta table cannot be read or written: {error}") from error


def _merge(table: "DeltaTable", rows: dataset.Dataset, key: tuple[str, ...]) -> None:
    same = " AND ".join(f'(target."{name}" IS NOT DISTINCT FROM source."{name}")' for name in key)
    others = [name for name in rows.schema.names if name not in key]
    differs = " OR ".join(f'(target."{name}" IS DISTINCT FROM source."{name}")' for name in others)
    merge = table.merge(source=_reader(rows), predicate=same, source_alias="source", target_alias="target")
    if others:
        merge = merge.when_matched_update_all(predicate=differs)
    merge.when_not_matched_insert_all().when_not_matched_by_source_delete().execute()


def _is_unique(rows: dataset.Dataset, key: tuple[str, ...]) -> bool:
    return not any(True for _ in quality.doubles(key, lambda columns: piecewise(rows, columns)))


def _schema(table: "DeltaTable") -> Any:  # noqa: ANN401 -- pyarrow has no types
    return pa.schema(table.schema().to_arrow())
