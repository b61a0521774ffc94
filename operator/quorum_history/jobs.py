"""Read, transform, write: the Spark jobs behind the command line. Each can be run again over its own results.

Tables that follow from others are computed again from all of them, so late data is in the next result.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, fields
from functools import partial
from importlib.util import find_spec
from typing import cast

import pyarrow as pa
from pyarrow import compute, dataset
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from kraftlog.places import filesystem_of
from quorum_history import delta, quality, rows, verdicts
from quorum_history import observations as looks
from quorum_history.catalogue import BY_NAME
from quorum_history.changes import compared
from quorum_history.downgrade import LEVELS, all_losses, level_name
from quorum_history.downgrade import verdicts as verdicts_of
from quorum_history.files import FileKind, LogFile, find_files
from quorum_history.image import Image
from quorum_history.lossy import lossy_state
from quorum_history.quality import Verdict
from quorum_history.readiness import log_readiness
from quorum_history.replay import replay_plan
from quorum_history.replicas import cluster_log
from quorum_history.sink import OBSERVATIONS, RECORDS, TABLE_FILE, Sink, write_whole
from quorum_history.state import ADDED_TYPES, Found, load
from quorum_history.store import RETIRED, STAGED, STAGED_ROWS, Store
from quorum_history.tables import timelines
from quorum_history.trends import voter_churn

_LOSS_COLUMNS = ("target", "target_name", "record_type", "effect", "what", "count", "examples")
_LOSS_SCHEMA = (
    "part string, cluster string, level int, level_name string, end_offset bigint, faults bigint,"
    " first_faults array<string>, target int, target_name string, record_type string, effect string, what string,"
    " count bigint, examples array<string>, verdict string, reason string, losses bigint"
)
_VERDICT_COLUMNS = ("target", "target_name", "level", "level_name", "verdict", "reason", "losses")
_CLUSTER_COLUMNS = ("level", "level_name", "end_offset", "faults")
_METADATA = "metadata.version"


Stored = Callable[[Sequence[str] | None], Iterator[pa.RecordBatch]]
"""The rows of a stored table in batches."""
_LOG_FILE = ",".join(f"{each.name}:{'bigint' if each.type is int else 'string'}" for each in fields(LogFile))


class JobError(Exception):
    """A job that cannot do what was requested; the text says what is missing."""


def table_format(wanted: str) -> str:
    """`parquet`, or `delta` if its package is installed (JobError)."""
    if wanted == "delta" and find_spec("deltalake") is None:
        raise JobError(
            "delta: the package deltalake is not installed here (pip install 'kafka-quorum-operator[delta]'); "
            "parquet needs nothing more"
        )
    return wanted


def read_ingested(spark: SparkSession, store: Store, table: str) -> DataFrame:
    """`records` or `observations`, up to the last commit (JobError if nothing was ingested)."""
    state = load(store)
    if state is None:
        raise JobError(f"{store.place} holds no {table}: run `quorum-history ingest` first")
    schema = {RECORDS: rows.SCHEMA, OBSERVATIONS: looks.SCHEMA}[table]
    folders = [batch.folder for batch in state.live(table)]
    if not folders:
        return spark.createDataFrame([], schema)
    if store.local:
        return spark.read.schema(schema).parquet(*(store.url(table, folder) for folder in folders))
    return _read_remotely(
        spark, [store.url(table, each, name) for each in folders for name in store.names(table, each)], schema
    )


def _read_remotely(spark: SparkSession, files: list[str], schema: str) -> DataFrame:
    """Parquet files of an object store, one task each. Arrow reads them, so Spark needs no connector of its own."""
    wanted = cast("StructType", StructType.fromDDL(schema))
    named = spark.createDataFrame([(file,) for file in files], "file string").repartition(len(files))
    return named.mapInArrow(partial(_file_rows, schema=to_arrow_schema(wanted, timezone="UTC")), wanted)


def _file_rows(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of the named files, with null for missing columns."""
    for place in (place for batch in batches for place in batch.column("file").to_pylist()):
        filesystem, path = filesystem_of(place)
        yield from dataset.dataset(path, schema=schema, format="parquet", filesystem=filesystem).to_batches()


def derived(store: Store, name: str) -> list[dict[str, object]] | None:
    """The rows of a table that a command computed, None if it did not (JobError for one that cannot be read)."""
    source = stored(store, name)
    return None if source is None else [row for batch in source(None) for row in batch.to_pylist()]


def stored(store: Store, name: str) -> Stored | None:
    """The rows of such a table in batches, with these columns or all; None and JobError as above."""
    if not store.exists(name):
        return None
    if delta.is_delta(store, name):
        table_format("delta")
        return partial(_batches, delta.read(store, name))
    files = [store.path(name, file) for file in _parquet_files(store, name)]
    if not files:
        return None  # a run that computes it ended before its first row
    return partial(_batches, dataset.dataset(files, format="parquet", filesystem=store.filesystem))


def _batches(rows: dataset.Dataset, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
    for batch in delta.piecewise(rows, columns):
        yield _in_utc(batch)


def complete(name: str, rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """The rows with every column of the table; those that an earlier version did not write are null."""
    absent: dict[str, object] = dict.fromkeys(column.name for column in BY_NAME[name].columns)
    return [{**absent, **row} for row in rows]


def _parquet_files(store: Store, *folder: str) -> list[str]:
    return [file for file in store.names(*folder) if file.endswith(".parquet") and not file.startswith(("_", "."))]


def _in_utc(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Every time with its zone, also if a version of Spark wrote it without one."""
    for place, field in enumerate(batch.schema):
        if pa.types.is_timestamp(field.type):
            times = batch.column(place).cast(pa.timestamp("us", tz=field.type.tz), safe=False)
            aware = times if field.type.tz else compute.assume_timezone(times, "UTC")
            batch = batch.set_column(place, field.name, aware)
    return batch


def checked(store: Store) -> list[Verdict]:
    """Check the existing tables, and write the results as the table `quality`."""
    state = load(store)
    tables = {name: stored(store, name) for name in BY_NAME if name not in {RECORDS, OBSERVATIONS, verdicts.QUALITY}}
    found = quality.check({name: rows for name, rows in tables.items() if rows is not None}, state)
    verdicts.replace_all(store, state, found)
    return found


def write_tables(tables: dict[str, DataFrame], store: Store, form: str, done: Callable[[str], None]) -> None:
    """Write each table again, in one file each, which suits tables of this size; Delta's are merged.

    A task of Spark writes the file beside the table, and this process moves it into its place: no process holds the
    rows of a table. Whenever this ends, each table is the earlier one or the new one: readers never find a part of it.
    """
    for name, table in tables.items():
        staged = f"{STAGED_ROWS}{name}"
        for left in (staged, f"{STAGED}{name}"):
            store.delete(left)  # by a killed run
        if form == "delta":
            schema = _write_with_arrow(table, store, staged)
            delta.write(store, name, _one_file(store, staged, schema), BY_NAME[name].key)
        else:
            if store.local:
                table.coalesce(1).write.mode("overwrite").parquet(store.url(staged))
            else:
                _write_with_arrow(table, store, staged)
            _move(store, staged, name)
        store.delete(staged)
        done(name)


def _move(store: Store, staged: str, name: str) -> None:
    store.delete(f"{RETIRED}{name}")
    written = _parquet_files(store, staged)
    if len(written) != 1:
        raise JobError(f"{store.url(staged)}: Spark wrote {len(written)} files, where one was asked for")
    if set(store.names(name)) - {TABLE_FILE}:
        store.retire(name)  # of another format
    store.folder(name)
    store.replace((staged, written[0]), (name, TABLE_FILE))


def _write_with_arrow(table: DataFrame, store: Store, folder: str) -> pa.Schema:
    """Let one task write the rows with Arrow, which needs no connector of Spark's, a batch at a time."""
    schema = to_arrow_schema(table.schema, timezone="UTC")
    task = partial(_written_rows, place=store.place, folder=folder, schema=schema)
    written = table.coalesce(1).mapInArrow(task, "rows bigint").collect()
    if not sum(row["rows"] for row in written):
        write_whole(store, folder, schema.empty_table())
    return schema


def _written_rows(
    batches: Iterable[pa.RecordBatch], place: str, folder: str, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Write rows to a file; their number."""
    with Sink(Store(place), schema, folder, TABLE_FILE) as sink:
        for batch in batches:
            sink.add(batch.cast(schema))
    yield pa.RecordBatch.from_pydict({"rows": pa.array([sink.rows], pa.int64())})


def _one_file(store: Store, folder: str, schema: pa.Schema) -> dataset.Dataset:
    path = store.path(folder, TABLE_FILE)
    return dataset.dataset(path, schema=schema, format="parquet", filesystem=store.filesystem)


def timeline_tables(spark: SparkSession, store: Store) -> dict[str, DataFrame]:
    """Voters, leaders, features and the rest, from the records of `store`; its faults are a table already.

    A table whose records an earlier version did not keep is left out: without a row it would show that there are none.
    """
    made = with_answers(timelines(read_ingested(spark, store, RECORDS)))
    state = load(store)
    lacks = {"faults"} if state is None or state.keeps(ADDED_TYPES) else {"faults", "migration_states"}
    return {name: table for name, table in made.items() if name not in lacks}


def with_answers(made: dict[str, DataFrame]) -> dict[str, DataFrame]:
    """The timelines, and the tables that follow from them."""
    return made | {
        "log_readiness": log_readiness(made["registrations"], made["feature_levels"]),
        "voter_churn": voter_churn(made["voter_changes"]),
    }


def observation_tables(spark: SparkSession, store: Store, max_gap_s: int) -> dict[str, DataFrame]:
    """Availability and the rest, from the observations of `store`."""
    seen = read_ingested(spark, store, OBSERVATIONS)
    return looks.answers(seen, max_gap_s) | {"changes_compared": compared(seen, max_gap_s)}


def downgrade_tables(spark: SparkSession, paths: str) -> dict[str, DataFrame]:
    """For every cluster and every lower level of metadata.version, the losses of a change to it, and Kafka's verdict.

    `downgrade_analysed` has a row for each cluster, so that one without losses differs from one that was not analysed.
    """
    return losses_as_tables(replayed(spark, paths))


def replayed(spark: SparkSession, paths: str) -> DataFrame:
    """Rows of three parts: a row for each cluster, with its faults, one for each loss, one for each lower level.

    There is one task per cluster.
    """
    clusters: dict[str, list[dict[str, object]]] = {}
    for file in find_files(paths):
        clusters.setdefault(file.cluster, []).append(asdict(file))
    work = spark.createDataFrame(sorted(clusters.items()), f"cluster string, files array<struct<{_LOG_FILE}>>")
    return work.repartition(len(clusters), "cluster").mapInArrow(_losses, _LOSS_SCHEMA).persist()


def losses_as_tables(found: DataFrame) -> dict[str, DataFrame]:
    """The tables of `downgrade` from what was `replayed`."""
    return {
        "downgrade_losses": found.where("part = 'loss'").select("cluster", *_LOSS_COLUMNS),
        "downgrade_verdicts": found.where("part = 'verdict'").select("cluster", *_VERDICT_COLUMNS),
        "downgrade_analysed": found.where("part = 'cluster'").select("cluster", *_CLUSTER_COLUMNS),
    }


def faults_of(found: DataFrame) -> list[tuple[str, int, list[str]]]:
    """The clusters of what was `replayed` that have faults: the number of faults, and the text of the first ones."""
    rows = found.where("faults > 0").select("cluster", "faults", "first_faults").orderBy("cluster").collect()
    return [(row["cluster"], row["faults"], list(row["first_faults"])) for row in rows]


def _losses(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for row in batch.to_pylist():
            files = [LogFile(**{**each, "kind": FileKind(each["kind"])}) for each in row["files"]]
            plan = replay_plan(cluster_log(row["cluster"], files))
            faults: list[Found] = []
            image = lossy_state(plan, faults)
            level = image.features.get(_METADATA)
            common = {
                **dict.fromkeys(_LOSSES.names),
                "cluster": row["cluster"],
                "level": level,
                "level_name": None if level is None else level_name(_METADATA, level),
            }
            analysed: dict[str, object] = {
                "part": "cluster",
                "end_offset": plan.end,
                "faults": len(faults),
                "first_faults": [str(each) for each in faults[:_TOLD]],
            }
            rows = [{**common, **each} for each in (analysed, *_rows_of(image, len(faults)))]
            yield pa.RecordBatch.from_pylist(rows, schema=_LOSSES)


def _rows_of(image: Image, faults: int) -> Iterator[dict[str, object]]:
    """The losses and the verdicts of one cluster."""
    found = list(all_losses(image))
    for loss in found:
        yield {
            "part": "loss",
            "target": loss.target,
            "target_name": LEVELS[loss.target],
            "record_type": loss.record_type,
            "effect": loss.effect.value,
            "what": loss.what,
            "count": loss.count,
            "examples": list(loss.examples),
        }
    counts = Counter(loss.target for loss in found)
    for each in verdicts_of(image, faults=faults):
        yield {
            "part": "verdict",
            "target": each.target,
            "target_name": level_name(_METADATA, each.target),
            "verdict": {True: "accepted", False: "refused", None: None}[each.accepted],
            "reason": each.reason,
            "losses": counts[each.target],
        }


_TOLD = 20
"""The text of no more faults of a cluster is kept."""
_LOSSES = pa.schema(
    [
        ("part", pa.string()),
        ("cluster", pa.string()),
        ("level", pa.int32()),
        ("level_name", pa.string()),
        ("end_offset", pa.int64()),
        ("faults", pa.int64()),
        ("first_faults", pa.list_(pa.string())),
        ("target", pa.int32()),
        ("target_name", pa.string()),
        ("record_type", pa.string()),
        ("effect", pa.string()),
        ("what", pa.string()),
        ("count", pa.int64()),
        ("examples", pa.list_(pa.string())),
        ("verdict", pa.string()),
        ("reason", pa.string()),
        ("losses", pa.int64()),
    ]
)
