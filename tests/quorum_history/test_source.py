"""The Spark data source on real and artificial logs, batch and streaming."""

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.kraftlog.record_samples import SAMPLES, recorded
from tests.quorum_history import clusters

from kraftlog import SchemaError
from quorum_history.source import FORMAT, OptionError, checked_options

pytestmark = pytest.mark.timeout(600)
Read = Callable[[], Counter[tuple[int, int]]]


def _rows(frame: DataFrame) -> list[tuple[object, ...]]:
    return [tuple(row) for row in frame.collect()]


def test_each_cluster_once_however_many_replicas(spark: SparkSession) -> None:
    """All offsets of the longest replica are there once, with the data that Kafka printed."""
    frame = spark.read.format(FORMAT).option("checkpoints", "none").load(str(SAMPLES / "4.3.1"))
    assert frame.where("fault is not null").count() == 0
    rows = frame.select("offset", "type", "version", "leader_epoch", "control").orderBy("offset").collect()
    _, expected = recorded(SAMPLES / "4.3.1")
    in_logs = {line["offset"]: line for line in expected if line["leader_epoch"] > 0}
    assert [row["offset"] for row in rows] == list(range(len(rows)))
    assert len(rows) >= max(in_logs)
    known = [row for row in rows if row["offset"] in in_logs and not row["control"]]
    assert len(known) > 200
    assert Counter(row["type"] for row in rows)["KRaftVoters"] >= 4


def test_faults_and_disagreements_are_rows(spark: SparkSession, tmp_path: Path) -> None:
    """A torn tail, a file that is no log, and replicas that differ are rows with file and position."""
    one, two = (clusters.replica(tmp_path, "c", number) for number in (1, 2))
    clusters.segment(one, 0, clusters.run(0, 4, 1) + clusters.run(4, 6, 2) + clusters.single(6, 2)[:50])
    clusters.segment(two, 0, clusters.run(0, 6, 1))
    clusters.segment(clusters.replica(tmp_path, "d", 1), 0, b"not a log at all")
    frame = spark.read.format(FORMAT).load(str(tmp_path)).cache()
    good = frame.where("fault is null")
    assert sorted(row["offset"] for row in good.collect()) == list(range(6))
    said = [row["fault"] for row in frame.where("fault is not null").orderBy("cluster", "position").collect()]
    assert any("torn-tail" in text and str(one) in text for text in said)
    assert any("disagree at offset 4" in text for text in said)
    assert any("not a log" in text for text in said)
    assert len(said) == 3


def test_types_and_watermarks(spark: SparkSession, tmp_path: Path) -> None:
    """Only the requested types are read, and no record past the high watermark."""
    clusters.segment(clusters.replica(tmp_path, "c", 1), 0, clusters.run(0, 9, 1))
    reader = spark.read.format(FORMAT).option("highWatermarks", '{"c": 4}')
    assert reader.load(str(tmp_path)).count() == 4
    assert reader.option("types", "LeaderChange").load(str(tmp_path)).count() == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "path"),
        ({"path": "x", "checkpoint": "all"}, "no option checkpoint"),
        ({"path": "x", "checkpoints": "some"}, "none of first"),
        ({"path": "x", "highWatermarks": "[]"}, "highWatermarks"),
        ({"path": "x", "maxOffsetsPerTrigger": "-1"}, "maxOffsetsPerTrigger"),
        ({"path": "x", "types": "TOPICS"}, "TOPICS"),
        ({"path": "x", "release": "2.8"}, "2.8"),
    ],
)
def test_wrong_options_are_named(options: dict[str, str], said: str) -> None:
    """An invalid option is refused before anything is read."""
    with pytest.raises((OptionError, SchemaError), match=said):
        checked_options(options)


class _Stream:
    """A stream into a folder, which runs until nothing is left, again and again from one checkpoint."""

    def __init__(self, spark: SparkSession, home: Path, **options: str) -> None:
        self.spark, self.home, self.options = spark, home, options

    def read(self) -> Counter[tuple[int, int]]:
        """Everything that was emitted until now, by offset and epoch."""
        source = self.spark.readStream.format(FORMAT).options(**self.options).load(str(self.home / "logs"))
        query = (
            source.writeStream.format("parquet")
            .option("checkpointLocation", str(self.home / "checkpoint"))
            .trigger(availableNow=True)
            .start(str(self.home / "out"))
        )
        query.awaitTermination()
        rows = self.spark.read.schema(source.schema).parquet(str(self.home / "out")).where("fault is null")
        return Counter((row["offset"], row["leader_epoch"]) for row in rows.collect())


def _once(*runs: tuple[int, int, int]) -> Counter[tuple[int, int]]:
    return Counter((offset, epoch) for first, end, epoch in runs for offset in range(first, end))


def test_a_stream_over_growing_torn_and_rewritten_logs(spark: SparkSession, tmp_path: Path) -> None:
    """Every record is there once after growth, a completed torn tail, a new segment, and a rewritten tail.

    Every reading is a new query from the same checkpoint, as after a restart.
    """
    stream = _Stream(spark, tmp_path)
    folder = clusters.replica(tmp_path / "logs", "c", 1)
    whole = clusters.run(0, 8, 1)
    path = clusters.segment(folder, 0, whole[:-20])
    assert stream.read() == _once((0, 7, 1))
    path.write_bytes(whole + clusters.run(8, 10, 1))
    assert stream.read() == _once((0, 10, 1))
    path.write_bytes(clusters.run(0, 6, 1))
    assert stream.read() == _once((0, 10, 1)), "a log that was only cut off has nothing new"
    path.write_bytes(clusters.run(0, 6, 1) + clusters.run(6, 8, 3))
    assert stream.read() == _once((0, 10, 1), (6, 8, 3))
    clusters.segment(folder, 8, clusters.run(8, 12, 3))
    assert stream.read() == _once((0, 10, 1), (6, 12, 3))
    shutil.rmtree(folder)
    other = clusters.replica(tmp_path / "logs", "c", 2)
    clusters.segment(other, 9, clusters.run(9, 15, 3))
    assert stream.read() == _once((0, 10, 1), (6, 15, 3))


def test_a_stream_in_small_steps(spark: SparkSession, tmp_path: Path) -> None:
    """`maxOffsetsPerTrigger` ends micro-batches at whole batches, and together they have every record."""
    folder = clusters.replica(tmp_path / "logs", "c", 1)
    clusters.segment(folder, 0, clusters.batch(0, 1, "abcde") + clusters.batch(5, 1, "fg") + clusters.run(7, 9, 1))
    stream = _Stream(spark, tmp_path, maxOffsetsPerTrigger="3")
    assert stream.read() == _once((0, 9, 1))
