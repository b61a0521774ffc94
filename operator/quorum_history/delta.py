"""Derived tables in Delta's format: each run is one MERGE, so a version holds only what has changed since the last one.

Written by delta-rs (the package `deltalake`), which needs neither a jar nor Spark.
"""

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import compute

from kraftlog.places import canonical
from quorum_history.store import Store

if TYPE_CHECKING:
    from deltalake import DeltaTable


def write(store: Store, name: str, rows: pa.Table, key: tuple[str, ...]) -> None:
    """Make the table `name` these rows. Without a key, or where two rows share one, it is replaced as a whole."""
    from deltalake import write_deltalake  # noqa: PLC0415 -- an extra

    if not is_delta(store, name):
        store.delete(name)  # of another format: computed anew from the same records
    elif key and _is_unique(rows, key) and _schema(table := opened(store, name)) == rows.schema:
        _merge(table, rows, key)
        return
    write_deltalake(canonical(store.url(name)), rows, mode="overwrite", schema_mode="overwrite")


def read(store: Store, name: str) -> pa.Table:
    """The rows of the latest version."""
    return opened(store, name).to_pyarrow_table()


def opened(store: Store, name: str) -> "DeltaTable":
    """The table as delta-rs has it."""
    from deltalake import DeltaTable  # noqa: PLC0415 -- an extra

    return DeltaTable(canonical(store.url(name)))


def is_delta(store: Store, name: str) -> bool:
    """Whether a table is stored in this format. Read as Parquet it would show what was overwritten as well."""
    return store.exists(name, "_delta_log")


def _merge(table: "DeltaTable", rows: pa.Table, key: tuple[str, ...]) -> None:
    same = " AND ".join(f'(target."{name}" IS NOT DISTINCT FROM source."{name}")' for name in key)
    others = [name for name in rows.column_names if name not in key]
    differs = " OR ".join(f'(target."{name}" IS DISTINCT FROM source."{name}")' for name in others)
    merge = table.merge(source=rows, predicate=same, source_alias="source", target_alias="target")
    if others:
        merge = merge.when_matched_update_all(predicate=differs)
    merge.when_not_matched_insert_all().when_not_matched_by_source_delete().execute()


def _is_unique(rows: pa.Table, key: tuple[str, ...]) -> bool:
    counted = rows.group_by(list(key)).aggregate([([], "count_all")])
    return not len(counted) or compute.max(counted.column("count_all")).as_py() == 1


def _schema(table: "DeltaTable") -> Any:  # noqa: ANN401 -- pyarrow has no types
    return pa.schema(table.schema().to_arrow())
