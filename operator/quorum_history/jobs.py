"""Read, transform, write: the jobs behind the command line. Every one can be run again over what it has written.

Streams write each micro-batch into a folder of its own, named by its number, in overwrite mode: a batch that is
repeated after a crash replaces itself. Tables that follow from others are computed anew from all of them, so late data
is in the next result.
"""

from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from quorum_history import observations as looks
from quorum_history.downgrade import LEVELS, all_losses, image_of
from quorum_history.files import find_files
from quorum_history.replicas import cluster_logs
from quorum_history.source import FORMAT
from quorum_history.tables import timelines

LOSS_SCHEMA = (
    "cluster string, target int, target_name string, record_type string, effect string, what string, count bigint,"
    " examples array<string>"
)
_BATCH = "batch"


class JobError(Exception):
    """A job that cannot do what was asked; the text says what is missing."""


def table_format(wanted: str) -> str:
    """`parquet`, or `delta` where its package is installed (JobError)."""
    if wanted == "delta" and find_spec("delta") is None:
        raise JobError("delta: the package delta-spark is not installed here; parquet needs nothing more")
    return wanted


def ingest_records(
    spark: SparkSession, options: dict[str, str], target: Path, *, every_s: float | None, done: Callable[[int], None]
) -> StreamingQuery:
    """Append what is new in the logs to `target/records`; `every_s` None reads what is there and ends."""
    stream = spark.readStream.format(FORMAT).options(**options).load()
    return _append(stream, target / "records", target / "checkpoints" / "records", every_s=every_s, done=done)


def ingest_observations(
    spark: SparkSession, source: str, target: Path, *, every_s: float | None, done: Callable[[int], None]
) -> StreamingQuery:
    """Append new lines of observations to `target/observations`."""
    stream = (
        spark.readStream.schema(looks.SCHEMA)
        .option("columnNameOfCorruptRecord", "_corrupt")
        .option("recursiveFileLookup", "true")
        .option("pathGlobFilter", "*.json*")
        .json(source)
    )
    place = target / "observations"
    return _append(stream, place, target / "checkpoints" / "observations", every_s=every_s, done=done)


def _append(
    stream: DataFrame, place: Path, checkpoint: Path, *, every_s: float | None, done: Callable[[int], None]
) -> StreamingQuery:
    def write(batch: DataFrame, number: int) -> None:
        batch.write.mode("overwrite").parquet(str(place / f"{_BATCH}={number}"))
        done(number)

    writer = stream.writeStream.foreachBatch(write).option("checkpointLocation", str(checkpoint))
    trigger = (
        writer.trigger(availableNow=True) if every_s is None else writer.trigger(processingTime=f"{every_s} seconds")
    )
    return trigger.start()


def read_table(spark: SparkSession, target: Path, name: str) -> DataFrame:
    """A table of `target` (JobError if it was not written)."""
    place = target / name
    if not place.is_dir():
        raise JobError(f"{place} is not there: run `quorum-history ingest` first")
    return spark.read.format(stored_format(place)).load(str(place))


def stored_format(place: Path) -> str:
    """How a table was written. A Delta table read as Parquet would show what was overwritten as well."""
    return "delta" if (place / "_delta_log").is_dir() else "parquet"


def write_tables(tables: dict[str, DataFrame], target: Path, form: str, done: Callable[[str], None]) -> None:
    """Write each table anew, in one file each, which is what tables of this size want to be."""
    for name, table in tables.items():
        table.coalesce(1).write.mode("overwrite").format(form).save(str(target / name))
        done(name)


def timeline_tables(spark: SparkSession, target: Path) -> dict[str, DataFrame]:
    """Voters, leaders, features, registrations, from the records of `target`."""
    return timelines(read_table(spark, target, "records").drop(_BATCH))


def observation_tables(spark: SparkSession, target: Path, max_gap_s: int) -> dict[str, DataFrame]:
    """Availability and the rest, from the observations of `target`."""
    return looks.answers(read_table(spark, target, "observations").drop(_BATCH), max_gap_s)


def downgrade_losses(spark: SparkSession, paths: str) -> DataFrame:
    """For every cluster and every lower level of metadata.version, what going there would lose; a task a cluster."""
    clusters: dict[str, list[str]] = {}
    for file in find_files(paths):
        clusters.setdefault(file.cluster, []).append(file.path)
    work = spark.createDataFrame(sorted(clusters.items()), "cluster string, files array<string>")
    return work.repartition(len(clusters), "cluster").mapInArrow(_losses, LOSS_SCHEMA)


def _losses(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for row in batch.to_pylist():
            (log,) = cluster_logs(find_files(",".join(row["files"])))
            found = [
                {
                    "cluster": row["cluster"],
                    "target": loss.target,
                    "target_name": LEVELS[loss.target],
                    "record_type": loss.record_type,
                    "effect": loss.effect.value,
                    "what": loss.what,
                    "count": loss.count,
                    "examples": list(loss.examples),
                }
                for loss in all_losses(image_of(log, []))
            ]
            yield pa.RecordBatch.from_pylist(found, schema=_LOSSES)


_LOSSES = pa.schema(
    [
        ("cluster", pa.string()),
        ("target", pa.int32()),
        ("target_name", pa.string()),
        ("record_type", pa.string()),
        ("effect", pa.string()),
        ("what", pa.string()),
        ("count", pa.int64()),
        ("examples", pa.list_(pa.string())),
    ]
)
