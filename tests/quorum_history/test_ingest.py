"""`ingest`: no record is lost, doubled or hidden, and only logs that have grown are read again."""

import fcntl
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import dataset, parquet
from pyspark.sql import SparkSession
from tests.kraftlog.record_samples import SAMPLES
from tests.quorum_history import clusters, looks
from tests.quorum_history.killed import Killed, dying
from tests.quorum_history.looks import look

from kraftlog import places
from quorum_history import index, jobs, keys, lines, quality, replicas, retention, verdicts
from quorum_history.__main__ import main
from quorum_history.executor import Executor, OnSpark, Threads
from quorum_history.files import find_files
from quorum_history.ingest import Request, ingest
from quorum_history.sink import TABLE_FILE
from quorum_history.source import checked_options
from quorum_history.state import ADDED_TYPES, Found, State, StateError, load
from quorum_history.store import Store
from quorum_history.summary import Summary
from quorum_history.tables import TIMELINE_TYPES

_OPERATOR = Path(__file__).resolve().parents[2] / "operator"
NOW = looks.START + timedelta(days=2)


class Tables:
    """A folder of tables, for repeated ingests."""

    def __init__(self, home: Path, **options: str) -> None:
        """Starts empty, below `home`."""
        self.home, self.options, self.logs, self.looks = home, options, home / "logs", home / "looks"
        self.store = Store(str(home / "tables"))

    def ingest(self, executor: Executor | None = None) -> Summary:
        """Runs one ingest."""
        logs = str(self.logs) if self.logs.is_dir() else None
        options = checked_options({"path": str(self.logs), **self.options})
        seen = str(self.looks) if self.looks.is_dir() else None
        request = Request(logs=logs, observations=seen, options=options)
        summary = ingest(self.store, request, executor or Threads(), NOW)
        assert (summary.failed == ()) == all(row["passed"] for row in self.quality())
        return summary

    def quality(self) -> list[dict[str, Any]]:
        """The `quality` table."""
        return list(parquet.read_table(self.store.path("quality")).to_pylist())

    def rows(self, table: str) -> list[dict[str, Any]]:
        """The relevant columns of a table."""
        state = load(self.store)
        assert state is not None
        files = [
            self.store.path(table, batch.folder, name)
            for batch in state.live(table)
            for name in self.store.names(table, batch.folder)
        ]
        return list(dataset.dataset(files).to_table().to_pylist()) if files else []

    def records(self, kind: str = "segment") -> Counter[tuple[int, int]]:
        """How often each offset and epoch is there."""
        return Counter((row["offset"], row["leader_epoch"]) for row in self.rows("records") if row["kind"] == kind)

    def found(self) -> list[dict[str, Any]]:
        """The `faults` table."""
        rows = dataset.dataset(self.store.path("faults")).to_table().to_pylist()
        return sorted(rows, key=lambda row: (row["cluster"], row["file"], row["position"] or 0, row["offset"] or 0))


def once(*runs: tuple[int, int, int]) -> Counter[tuple[int, int]]:
    """Every offset of these runs of one epoch, each once."""
    return Counter((offset, epoch) for first, end, epoch in runs for offset in range(first, end))


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    """Tables with every type of record."""
    return Tables(tmp_path)


def test_growing_torn_and_rewritten_logs(tables: Tables) -> None:
    """Every record is there once after growth, a completed torn tail, a new segment, and a rewritten tail."""
    folder = clusters.replica(tables.logs, "c", 1)
    whole = clusters.run(0, 8, 1)
    path = clusters.segment(folder, 0, whole[:-20])
    tables.ingest()
    assert tables.records() == once((0, 7, 1))
    path.write_bytes(whole + clusters.run(8, 10, 1))
    assert tables.ingest().new_records == 3
    assert tables.records() == once((0, 10, 1))
    path.write_bytes(clusters.run(0, 6, 1))
    assert tables.ingest().new_records == 0, "a log that was only cut off has nothing new"
    path.write_bytes(clusters.run(0, 6, 1) + clusters.run(6, 8, 3))
    tables.ingest()
    assert tables.records() == once((0, 10, 1), (6, 8, 3))
    clusters.segment(folder, 8, clusters.run(8, 12, 3))
    tables.ingest()
    assert tables.records() == once((0, 10, 1), (6, 12, 3))
    shutil.rmtree(folder)
    clusters.segment(clusters.replica(tables.logs, "c", 2), 9, clusters.run(9, 15, 3))
    tables.ingest()
    assert tables.records() == once((0, 10, 1), (6, 15, 3))
    assert tables.found() == []


def test_replicas_that_disagree_and_what_is_no_log_are_told(tables: Tables) -> None:
    """Replicas that disagree, and a file that is no log, are faults; no cluster is missing because of them."""
    one, two = (clusters.replica(tables.logs, "c", number) for number in (1, 2))
    clusters.segment(one, 0, clusters.run(0, 4, 1) + clusters.run(4, 6, 2) + clusters.single(6, 2)[:50])
    clusters.segment(two, 0, clusters.run(0, 6, 1))
    bad = clusters.segment(clusters.replica(tables.logs, "d", 1), 0, b"not a log at all")
    summary = tables.ingest()
    assert tables.records() == once((0, 4, 1), (4, 6, 2))
    told = tables.found()
    assert [(row["cluster"], Path(row["file"]).parent.parent.name, row["position"], row["offset"]) for row in told] == [
        ("c", "node-1", len(clusters.run(0, 6, 1)), None), ("c", "node-2", None, 4), ("d", "node-1", 0, None),
    ]  # fmt: skip
    assert "torn-tail" in told[0]["fault"]
    assert "disagree at offset 4: epoch 1 here, epoch 2 in" in told[1]["fault"]
    assert "not a log" in told[2]["fault"]
    assert told[2]["file"] == str(bad)
    assert summary.newly_damaged
    assert not tables.ingest().new_found
    assert tables.found() == told, "what is still wrong is still told"


def _epochs(first: int, end: int, epoch: int) -> bytes:
    """A batch for each of these offsets, each in a leader epoch of its own."""
    return b"".join(clusters.single(offset, epoch + offset - first) for offset in range(first, end))


def test_a_tail_of_many_older_epochs_fills_no_gap(tables: Tables) -> None:
    """However many epochs a segment has, another replica supplies nothing after the end of the epoch that follows."""
    one, two = (clusters.replica(tables.logs, "c", number) for number in (1, 2))
    clusters.segment(one, 0, clusters.run(0, 3, 1))
    clusters.segment(one, 8, clusters.single(8, 1) + clusters.single(9, 900))
    clusters.segment(two, 0, clusters.run(0, 5, 1))
    clusters.segment(two, 5, _epochs(5, 255, 2))
    tables.ingest()
    assert tables.records() == once((0, 5, 1), (8, 9, 1), (9, 10, 900))
    assert [row["offset"] for row in tables.found() if "whole in no file" in row["fault"]] == [5]


def test_many_epochs_are_read_once(tables: Tables) -> None:
    """A segment that has got hundreds of leader epochs since the last run adds each of its records once."""
    folder = clusters.replica(tables.logs, "c", 1)
    clusters.segment(folder, 0, clusters.run(0, 3, 1))
    path = clusters.segment(folder, 3, _epochs(3, 153, 2))
    tables.ingest()
    path.write_bytes(_epochs(3, 353, 2))
    assert tables.ingest().new_records == 200
    assert set(tables.records().values()) == {1}


def test_a_tail_of_many_epochs_that_was_written_again(tables: Tables) -> None:
    """It is read from the offset on from which it differs, although hundreds of epochs follow."""
    path = clusters.segment(clusters.replica(tables.logs, "c", 1), 0, _epochs(0, 300, 1))
    tables.ingest()
    path.write_bytes(_epochs(0, 50, 1) + _epochs(50, 400, 1000))
    assert tables.ingest().new_records == 350
    assert set(tables.records().values()) == {1}


@pytest.mark.parametrize("size", [1, 8, 30, 60, 90])
def test_a_torn_first_batch_is_no_damage(tables: Tables, size: int) -> None:
    """The first batch of a new segment is a torn tail until it is whole, as in any last segment."""
    folder = clusters.replica(tables.logs, "c", 1)
    clusters.segment(folder, 0, clusters.run(0, 3, 1))
    path = clusters.segment(folder, 3, clusters.run(3, 5, 1)[:size])
    summary = tables.ingest()
    (row,) = tables.found()
    assert (row["file"], row["position"]) == (str(path), 0)
    assert "torn-tail" in row["fault"]
    assert (len(summary.new_found), summary.newly_damaged) == (1, False)
    path.write_bytes(clusters.run(3, 5, 1))
    tables.ingest()
    assert tables.records() == once((0, 5, 1))
    assert not tables.found()


@pytest.mark.parametrize("size", [30, 90])
def test_a_torn_batch_before_another_segment_is_damage(tables: Tables, size: int) -> None:
    """It is no tail, so it counts as new damage, although another replica has its records."""
    one, two = (clusters.replica(tables.logs, "c", number) for number in (1, 2))
    clusters.segment(one, 0, clusters.run(0, 3, 1))
    clusters.segment(one, 3, clusters.run(3, 5, 1)[:size])
    clusters.segment(one, 5, clusters.run(5, 7, 1))
    clusters.segment(two, 0, clusters.run(0, 6, 1))
    summary = tables.ingest()
    assert tables.records() == once((0, 7, 1))
    assert ["torn-tail" in row["fault"] for row in tables.found()] == [True]
    assert summary.newly_damaged


def test_a_torn_checkpoint_is_damage(tables: Tables) -> None:
    """Kafka writes a checkpoint under another name and renames it, so a torn one is not being written."""
    folder = clusters.replica(tables.logs, "c", 1)
    clusters.segment(folder, 0, clusters.run(0, 7, 1))
    (folder / f"{5:020d}-{1:010d}.checkpoint").write_bytes(clusters.run(0, 5, 1)[:-9])
    assert tables.ingest().newly_damaged


def test_damage_below_a_folder_of_any_name_is_damage(tables: Tables) -> None:
    """What counts as damage does not depend on the name of a folder."""
    tables.logs /= "torn-tail: half-written"
    clusters.segment(clusters.replica(tables.logs, "c", 1), 0, b"not a log at all")
    assert tables.ingest().newly_damaged


def test_a_gap_between_files_is_told_while_it_is_there(tables: Tables) -> None:
    """A segment that one replica has lost is a fault of that replica, also if another one has it, until it is back."""
    one, two = (clusters.replica(tables.logs, "c", number) for number in (1, 2))
    clusters.segment(one, 0, clusters.run(0, 3, 1))
    clusters.segment(one, 5, clusters.run(5, 9, 1))
    clusters.segment(two, 0, clusters.run(0, 8, 1))
    for _ in range(2):
        tables.ingest()
        (row,) = tables.found()
        assert (Path(row["file"]).name, row["position"], row["offset"]) == (f"{5:020d}.log", 0, 3)
        assert "offsets 3 to 4 are missing before it in this replica" in row["fault"]
        clusters.segment(two, 0, clusters.run(0, 9, 1))
    clusters.segment(one, 3, clusters.run(3, 5, 1))
    tables.ingest()
    assert tables.records() == once((0, 9, 1))
    assert not tables.found()


@pytest.mark.parametrize("gone", [True, False])
def test_a_difference_is_told_while_it_is_there(tables: Tables, *, gone: bool) -> None:
    """When the trusted replica is removed, or becomes equal, the other one does not disagree any more."""
    one, two = (clusters.replica(tables.logs, "c", number) for number in (1, 2))
    path = clusters.segment(one, 0, clusters.run(0, 4, 1) + clusters.run(4, 6, 2))
    clusters.segment(two, 0, clusters.run(0, 6, 1))
    clusters.segment(clusters.replica(tables.logs, "c", 3), 0, clusters.run(0, 2, 1))
    tables.ingest()
    assert [row["offset"] for row in tables.found()] == [4]
    if gone:
        shutil.rmtree(one)
    else:
        path.write_bytes(clusters.run(0, 5, 1))
    tables.ingest()
    assert not tables.found()


def test_a_torn_tail_is_told_until_it_is_whole(tables: Tables) -> None:
    """A torn tail is reported in every run until its batch is complete."""
    folder = clusters.replica(tables.logs, "c", 1)
    path = clusters.segment(folder, 0, clusters.run(0, 8, 1)[:-20])
    for _ in range(2):
        tables.ingest()
        assert [row["position"] for row in tables.found()] == [len(clusters.run(0, 7, 1))]
    path.write_bytes(clusters.run(0, 9, 1))
    tables.ingest()
    assert tables.found() == []


def test_a_log_that_lost_its_front_is_told_and_goes_on_from_its_checkpoint(tables: Tables) -> None:
    """Offsets that were deleted before they were read are a fault, and the state comes from a checkpoint."""
    folder = clusters.replica(tables.logs, "c", 1)
    clusters.segment(folder, 0, clusters.run(0, 5, 1))
    tables.ingest()
    (folder / f"{0:020d}.log").unlink()
    clusters.segment(folder, 20, clusters.run(20, 24, 2))
    checkpoint = folder / f"{20:020d}-0000000002.checkpoint"
    checkpoint.write_bytes(clusters.batch(0, 2, "state"))
    (folder / f"{3:020d}-0000000001.checkpoint").write_bytes(clusters.batch(0, 1, "older"))
    summary = tables.ingest()
    assert tables.records() == once((0, 5, 1), (20, 24, 2))
    assert {row["file"] for row in tables.rows("records") if row["kind"] == "checkpoint"} == {str(checkpoint)}
    (gap,) = tables.found()
    assert (gap["cluster"], gap["offset"]) == ("c", 5)
    assert "offsets 5 to 19 are whole in no file" in gap["fault"]
    assert summary.newly_damaged
    clusters.segment(folder, 24, clusters.run(24, 26, 2))
    tables.ingest()
    assert tables.found() == [gap], "what is missing stays missing"


def test_nothing_is_read_again_that_has_not_grown(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of unchanged size and time are not opened, and of a file that grew only the end is read."""
    folders = [clusters.replica(tables.logs, name, 1) for name in ("a", "b")]
    content = b"".join(clusters.batch(10 * number, 1, ["x" * 300] * 10) for number in range(2000))
    for folder in folders:
        clusters.segment(folder, 0, content)
    tables.ingest()
    read: Counter[str] = Counter()

    def counted(file: Any, position: int, size: int) -> bytes:  # noqa: ANN401 -- kraftlog's own
        data: bytes = original(file, position, size)
        opened_path = Path(f"/proc/self/fd/{file._file.fileno()}").readlink()
        if opened_path.name != "meta.properties":  # which names the cluster, and is read each time
            read[opened_path.relative_to(tables.logs).parts[0]] += len(data)
        return data

    original = places._Local.read
    monkeypatch.setattr(places._Local, "read", counted)
    assert tables.ingest().new_records == 0
    assert read == {}
    with (folders[0] / f"{0:020d}.log").open("ab") as file:
        file.write(clusters.run(20_000, 20_003, 1))
    assert tables.ingest().new_records == 3
    assert set(read) == {"a"}
    assert read["a"] < len(content) / 2


def test_large_segments_are_cut_at_batches(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several tasks share a segment, and every record is there once."""
    monkeypatch.setattr(replicas.ClusterLog.pieces, "__defaults__", (1000,))
    clusters.segment(clusters.replica(tables.logs, "c", 1), 0, clusters.run(0, 300, 1))
    files = replicas.cluster_logs(find_files(str(tables.logs)))
    pieces = list(files[0].pieces(0, 300))
    assert len(pieces) > 20
    assert [piece.first for piece in pieces[1:]] == [piece.end for piece in pieces[:-1]]
    tables.ingest()
    assert tables.records() == once((0, 300, 1))


def test_batches_become_few_and_large(tables: Tables) -> None:
    """A table has few files after any number of runs, and all its rows."""
    folder = clusters.replica(tables.logs, "c", 1)
    path = clusters.segment(folder, 0, b"")
    for number in range(30):
        with path.open("ab") as file:
            file.write(clusters.run(10 * number, 10 * number + 10, 1))
        tables.ingest()
    assert tables.records() == once((0, 300, 1))
    assert len(tables.store.names("records")) <= 12


def test_a_batch_of_many_files_becomes_one(tables: Tables) -> None:
    """A batch of many small files, as on a large Spark cluster, becomes one file at once."""

    class Wide(Threads):
        """Threads that pretend to be a cluster."""

        def __init__(self) -> None:
            super().__init__()
            self.parallelism = 64

    for number in range(60):
        looks.write(tables.looks / f"{number}.jsonl", [look(60 * number)])
    tables.ingest(Wide())
    assert len([*Path(tables.store.place, "observations").rglob("*.parquet")]) == 1
    assert len(tables.rows("observations")) == 60


def test_a_fleet_is_a_few_files(tables: Tables) -> None:
    """A hundred clusters of three replicas make as many files as tasks, not as clusters."""
    for number in range(100):
        for node in (1, 2, 3):
            clusters.segment(clusters.replica(tables.logs, f"c{number}", node), 0, clusters.run(0, 3, 1))
    summary = tables.ingest()
    assert (summary.clusters, summary.files, summary.new_records) == (100, 300, 300)
    assert len([*Path(tables.store.place, "records").rglob("*.parquet")]) <= 4


def test_the_samples_of_real_clusters(tmp_path: Path) -> None:
    """Real logs give the same rows in one ingest or in two, and only empty ones are left out."""
    at_once = Tables(tmp_path / "once")
    shutil.copytree(SAMPLES, at_once.logs)
    at_once.ingest()
    stepped = Tables(tmp_path / "stepped")
    shutil.copytree(SAMPLES, stepped.logs)
    last = [max(folder.glob("*.log")) for folder in stepped.logs.rglob("__cluster_metadata-0")]
    contents = {path: path.read_bytes() for path in last}
    for path, content in contents.items():
        path.write_bytes(content[: 9 * len(content) // 10])
    stepped.ingest()
    for path, content in contents.items():
        path.write_bytes(content)
    stepped.ingest()

    def rows(tables: Tables) -> Counter[tuple[object, ...]]:
        return Counter(
            (row["cluster"], row["kind"], row["offset"], row["leader_epoch"], row["type"], row["data"])
            for row in tables.rows("records")
        )

    assert rows(stepped) == rows(at_once)
    assert at_once.found() == stepped.found() == []


@pytest.mark.timeout(1800)
def test_spark_and_threads_write_the_same(spark: SparkSession, tmp_path: Path) -> None:
    """Threads and Spark write the same rows, faults and account of files."""
    made = [Tables(tmp_path / name) for name in ("threads", "spark")]
    for number in range(3):
        folder = clusters.replica(tmp_path / "logs", f"c{number}", 1)
        clusters.segment(folder, 0, clusters.run(0, 9, 1) + clusters.single(9, 1)[:30])
    looks.write(tmp_path / "looks" / "a.jsonl", [look(0), {"no": "look"}])
    executors: list[Executor] = [Threads(), OnSpark(spark)]
    for tables, executor in zip(made, executors, strict=True):
        tables.logs, tables.looks = tmp_path / "logs", tmp_path / "looks"
        tables.ingest(executor)
    for table in ("records", "observations"):
        first, second = (sorted(map(str, tables.rows(table))) for tables in made)
        assert first == second
        assert first
    assert made[0].found() == made[1].found()
    first_state, second_state = (load(tables.store) for tables in made)
    assert first_state is not None
    assert second_state is not None
    assert (first_state.clusters, first_state.lines) == (second_state.clusters, second_state.lines)


def test_watermarks_hold_back_and_let_go(tmp_path: Path) -> None:
    """Records past a high watermark are counted as waiting, and read when it has moved."""
    tables = Tables(tmp_path, highWatermarks='{"c": 4}')
    clusters.segment(clusters.replica(tables.logs, "c", 1), 0, clusters.run(0, 9, 1))
    assert tables.ingest().waiting == 1
    assert tables.records() == once((0, 4, 1))
    tables.options = {"highWatermarks": '{"c": 9}'}
    assert tables.ingest().waiting == 0
    assert tables.records() == once((0, 9, 1))


# --- observations -----------------------------------------------------------------------------------------------------


def test_lines_are_read_once_as_files_come_and_grow(tables: Tables) -> None:
    """New files, lines added to a file, and a last line that was half-written, are each read once."""
    path = looks.write(tables.looks / "a.jsonl", [look(0)])
    assert tables.ingest().new_looks == 1
    line = json.dumps(look(60)) + "\n"
    with path.open("a") as file:
        file.write(line[:100])
    summary = tables.ingest()
    assert summary.new_looks == 0
    assert any("half-written: 100 bytes" in each for each in summary.found)
    assert not summary.newly_damaged
    with path.open("a") as file:
        file.write(line[100:])
    looks.write(tables.looks / "deep" / "b.json", [look(120), look(180)])
    summary = tables.ingest()
    assert (summary.new_looks, summary.found, summary.rejected_lines) == (3, [], 0)
    times = sorted(row["observedAt"] for row in tables.rows("observations"))
    assert times == [looks.START + timedelta(seconds=60 * number) for number in range(4)]


def test_what_is_no_observation_is_counted_and_told(tables: Tables) -> None:
    """Each invalid line is reported with file, position and reason: broken, another version, or an invalid time."""
    good = json.dumps(look(0))
    wrong = {
        '{"schemaVersion": 1, "observedAt"': "no JSON",
        "[1]": "no JSON object",
        json.dumps({**look(0), "schemaVersion": 2}): "schemaVersion 2",
        json.dumps({**look(0), "observedAt": None}): "without observedAt",
        json.dumps({**look(0), "observedAt": "9999-01-01T00:00:00Z"}): "before 2020 or after tomorrow",
        json.dumps({**look(0), "observedAt": "0001-01-01T00:00:00Z"}): "before 2020 or after tomorrow",
        json.dumps({**look(0), "observedAt": "yesterday"}): "not as the schema has it",
        json.dumps({**look(0), "nodes": "none"}): "not as the schema has it",
    }
    path = tables.looks / "a.jsonl"
    path.parent.mkdir()
    path.write_text("".join(f"{line}\n{good}\n\n" for line in wrong))
    summary = tables.ingest()
    assert (summary.new_looks, summary.rejected_lines) == (len(wrong), len(wrong))
    assert summary.newly_damaged
    rows = dataset.dataset(tables.store.path("rejected_lines")).to_table().to_pylist()
    text = path.read_text()
    for line, reason in wrong.items():
        assert any(row["position"] == text.index(line) and reason in row["reason"] for row in rows), reason


def test_files_that_are_being_written_are_left_alone(tables: Tables) -> None:
    """A temporary file is not read, whatever its name."""
    looks.write(tables.looks / "a.jsonl", [look(0)])
    looks.write(tables.looks / "b.json.tmp", [look(60)])
    looks.write(tables.looks / ".c.jsonl", [look(120)])
    assert tables.ingest().new_looks == 1


def test_old_observations_can_be_removed(tables: Tables, capsys: pytest.CaptureFixture[str]) -> None:
    """Observations before a day are removed; later ones, and the records, are kept."""
    clusters.segment(clusters.replica(tables.logs, "c", 1), 0, clusters.run(0, 3, 1))
    looks.write(tables.looks / "a.jsonl", [look(0), look(60)])
    tables.ingest()
    looks.write(tables.looks / "b.jsonl", [look(86_400), look(86_460)])
    tables.ingest()
    assert main(["prune", "--target", tables.store.place, "--before", "2026-01-02"]) == 0
    assert "removed observations: 2" in capsys.readouterr().out
    assert len(tables.rows("observations")) == 2
    assert min(row["observedAt"] for row in tables.rows("observations")) == looks.START + timedelta(days=1)
    assert tables.ingest().new_looks == 0, "what was removed is not read again"
    assert tables.records() == once((0, 3, 1))
    assert main(["prune", "--target", tables.store.place, "--before", "2027-01-01"]) == 0
    assert tables.rows("observations") == []


def test_old_observations_are_removed_by_whole_days(tables: Tables) -> None:
    """Old observations are removed a whole day (UTC) at a time, however often a schedule runs it."""
    assert retention.keep(tables.store, 2, looks.START) == 0, "nothing was ingested yet"
    looks.write(tables.looks / "a.jsonl", [look(0), look(60), look(86_400), look(3 * 86_400)])
    tables.ingest()
    assert retention.keep(tables.store, 2, looks.START + timedelta(days=3, seconds=-1)) == 0
    assert retention.keep(tables.store, 2, looks.START + timedelta(days=3)) == 2
    assert retention.keep(tables.store, 2, looks.START + timedelta(days=3, hours=23)) == 0
    assert [row["observedAt"] for row in tables.rows("observations")] == [
        looks.START + timedelta(days=1), looks.START + timedelta(days=3)
    ]  # fmt: skip


@pytest.mark.parametrize("kind", [pa.timestamp("ns"), pa.timestamp("us"), pa.timestamp("us", tz="UTC")], ids=str)
def test_times_of_computed_tables_have_a_zone(tmp_path: Path, kind: Any) -> None:  # noqa: ANN401 -- Arrow's types
    """Times of computed tables have a zone, whichever type Spark stored."""
    store = Store(str(tmp_path))
    store.folder("spans")
    parquet.write_table(pa.table({"since": pa.array([0], kind)}), store.path("spans", "part-0.parquet"))
    assert jobs.derived(store, "spans") == [{"since": datetime.fromtimestamp(0, UTC)}]
    assert jobs.derived(store, "leaders") is None


# --- quality ----------------------------------------------------------------------------------------------------------


def test_each_ingest_checks_its_tables(tables: Tables) -> None:
    """After an ingest `quality` has a row of each check of its tables; rows of other tables stay."""
    clusters.segment(clusters.replica(tables.logs, "c", 1), 0, clusters.run(0, 3, 1))
    other = {"check": "key", "table": "spans", "passed": True, "wrong": 0, "example": None}
    stale = {"check": "key", "table": "records", "passed": False, "wrong": 1, "example": "of an earlier run"}
    tables.store.folder("quality")
    kinds = [("check", pa.string()), ("table", pa.string()), ("passed", pa.bool_()), ("wrong", pa.int64())]
    schema = pa.schema([*kinds, ("example", pa.string())])
    parquet.write_table(pa.Table.from_pylist([other, stale], schema), tables.store.path("quality", TABLE_FILE))
    tables.ingest()
    found = {(row["check"], row["table"]): row["passed"] for row in tables.quality()}
    assert found == dict.fromkeys(
        [("key", "records"), ("gaps", "records"), ("key", "faults"), ("key", "rejected_lines"), ("key", "spans")], True
    )


def test_an_ingest_with_nothing_new_writes_nothing(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """An ingest with nothing new writes no file, starts no task, and reads no row."""
    clusters.segment(clusters.replica(tables.logs, "c", 1), 0, clusters.run(0, 3, 1))
    looks.write(tables.looks / "a.jsonl", [look(0)])
    tables.ingest()
    before = {path: path.stat().st_mtime_ns for path in Path(tables.store.place).rglob("*")}
    monkeypatch.setattr(verdicts, "_rows", None)

    class Idle(Threads):
        """Threads that get no work."""

        def run(self, function: Any, items: Any) -> Any:  # noqa: ANN401 -- as in the base class
            assert not items
            return super().run(function, items)

    tables.ingest(Idle())
    assert {path: path.stat().st_mtime_ns for path in Path(tables.store.place).rglob("*")} == before


def _reading(monkeypatch: pytest.MonkeyPatch, *bounds: tuple[int, int]) -> None:
    """Lets the next ingest read these byte ranges of the first file of each plan."""
    original = index.plan

    def again(*arguments: Any, **named: Any) -> index.Plan:  # noqa: ANN401 -- as in the original
        plan = original(*arguments, **named)
        file = arguments[1][0]
        return replace(plan, parts=tuple(index.Part(file=file, start=start, stop=stop) for start, stop in bounds))

    monkeypatch.setattr(index, "plan", again)


@pytest.mark.parametrize("types", [None, "TOPIC_RECORD"])
def test_records_that_are_written_twice_are_found(
    tables: Tables, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], types: str | None
) -> None:
    """Records that a run writes again, or that an earlier run wrote, break the key, and stay reported."""
    tables.options = {} if types is None else {"types": types}
    path = clusters.segment(clusters.replica(tables.logs, "c", 1), 0, clusters.run(0, 10, 1))
    tables.ingest()
    size = path.stat().st_size
    path.write_bytes(clusters.run(0, 20, 1))
    with monkeypatch.context() as patched:
        _reading(patched, (size - size // 10, -1))
        failed = tables.ingest().failed
    assert failed == (f"records: key: 1 wrong, first: cluster c: {path}: offsets 9 to 9 of epoch 1 are there twice",)
    path.write_bytes(clusters.run(0, 30, 1))
    with monkeypatch.context() as patched:
        _reading(patched, (2 * size, -1), (2 * size, -1))
        assert "records: key: 2 wrong" in tables.ingest().failed[0]
    assert "records: key: 2 wrong" in tables.ingest().failed[0], "an ingest with nothing new reports it as well"
    assert main(["ingest", "--all-types", "--logs", str(tables.logs), "--target", tables.store.place]) == (
        3 if types is None else 1
    )
    assert ("failed check: records: key: 2 wrong" in capsys.readouterr().out) == (types is None)


def test_rows_of_one_file_within_a_batch() -> None:
    """A range ends where the epoch changes, and where an offset is there again."""

    def rows(*offsets: tuple[int, int]) -> pa.RecordBatch:
        return pa.RecordBatch.from_pydict(
            {"offset": [offset for offset, _ in offsets], "leader_epoch": [epoch for _, epoch in offsets]}
        )

    ranges: list[keys.Range] = []
    for batch in (rows((0, 1), (2, 1)), rows(), rows((3, 1), (4, 2), (4, 2))):
        keys.appended(ranges, keys.ranges_of(batch))
    assert ranges == [(1, 0, 3), (2, 4, 4), (2, 4, 4)]
    assert keys.joined({}, {"f": ranges}) == (
        {"f": ((1, 0, 3), (2, 4, 4))},
        ("f: offsets 4 to 4 of epoch 2 are there twice",),
    )


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_all_types_cannot_be_added_to_some(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All types cannot be added to a target with some types, because earlier records were skipped."""
    logs, target = str(SAMPLES / "4.3.1"), str(tmp_path / "tables")
    assert main(["ingest", "--target", target, "--logs", logs]) == 0
    assert main(["ingest", "--target", target, "--logs", logs, "--all-types"]) == 1
    assert "did not add all record types" in capsys.readouterr().err
    assert main(["ingest", "--target", target, "--logs", logs]) == 0


def test_tables_of_a_version_that_read_fewer_types(
    tables: Tables, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    """`ingest` continues them and says what they lack; `timeline` then leaves out the table of it."""
    earlier = sorted(set(TIMELINE_TYPES) - ADDED_TYPES)
    clusters.segment(clusters.replica(tables.logs, "c", 1), 0, clusters.run(0, 3, 1))
    tables.options = {"types": ",".join(earlier)}
    tables.ingest()
    assert main(["ingest", "--target", tables.store.place, "--logs", str(tables.logs)]) == 0
    assert "not kept: ZK_MIGRATION_STATE_RECORD: an earlier version made these tables" in capsys.readouterr().out
    made = jobs.timeline_tables(spark, tables.store)
    assert "migration_states" not in made
    assert "feature_levels" in made


def test_fewer_types_go_on_with_all(tables: Tables) -> None:
    """A target with all types keeps all types."""
    folder = clusters.replica(tables.logs, "c", 1)
    clusters.segment(folder, 0, clusters.run(0, 3, 1))
    tables.ingest()
    clusters.segment(folder, 3, clusters.run(3, 6, 1))
    tables.options = {"types": "LeaderChange"}
    tables.ingest()
    assert tables.records() == once((0, 6, 1))


def test_tables_of_an_earlier_layout_are_refused(tables: Tables) -> None:
    """Tables of an earlier release are refused by name, and not changed."""
    clusters.segment(clusters.replica(tables.logs, "c", 1), 0, clusters.run(0, 3, 1))
    Path(tables.store.place, "checkpoints").mkdir(parents=True)
    with pytest.raises(StateError, match="earlier release"):
        tables.ingest()
    assert tables.store.names() == ("checkpoints",)


def test_a_second_ingest_at_once_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A second ingest at the same time is refused with the reason."""
    target = tmp_path / "tables"
    target.mkdir()
    with (target / ".lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert main(["ingest", "--target", str(target), "--logs", str(SAMPLES / "4.3.1")]) == 1
    assert "another ingest writes here" in capsys.readouterr().err


@pytest.mark.parametrize("way", [lambda path: f"file://{path}", str], ids=["url", "path"])
def test_urls_are_places_like_any_other(tmp_path: Path, way: Any) -> None:  # noqa: ANN401 -- path to text
    """Tables, logs and observations can be named by URL or by path."""
    logs = tmp_path / "logs"
    clusters.segment(clusters.replica(logs, "c", 1), 0, clusters.run(0, 3, 1))
    clusters.segment(clusters.replica(logs, "d", 1), 0, clusters.run(0, 2, 1))
    looks.write(tmp_path / "looks" / "a.jsonl", [look(0)])
    target = tmp_path / "tables"
    arguments = ["ingest", "--target", way(target), "--logs", way(logs), "--observations", way(tmp_path / "looks")]
    assert main([*arguments, "--all-types"]) == 0
    state = load(Store(str(target)))
    assert state is not None
    assert set(state.clusters) == {"c", "d"}
    assert [batch.rows for batch in state.live("records")] == [5]
    assert [batch.rows for batch in state.live("observations")] == [1]
    assert main(["ingest", "--target", way(target), "--logs", f"{way(logs)}/*/node-1", "--all-types"]) == 0


@pytest.mark.parametrize(("target", "logs"), [("{t}", "gopher://host/logs"), ("gopher://host/tables", "{t}")])
def test_an_unknown_store_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], target: str, logs: str) -> None:
    """A URL of an unknown kind is refused with the URL."""
    places = [place.format(t=tmp_path) for place in (target, logs)]
    assert main(["ingest", "--target", places[0], "--logs", places[1]]) == 1
    assert "gopher://host: this store cannot be read" in capsys.readouterr().err


def test_a_log_that_comes_after_its_checkpoint_has_no_gap(tables: Tables) -> None:
    """If a checkpoint is read first, and the segment behind it in a later run, no gap is reported."""
    folder = clusters.replica(tables.logs, "c", 1)
    (folder / f"{20:020d}-0000000002.checkpoint").write_bytes(clusters.batch(0, 2, "state"))
    tables.ingest()
    clusters.segment(folder, 20, clusters.run(20, 24, 2))
    tables.ingest()
    assert tables.records() == once((20, 24, 2))
    assert tables.found() == []


def test_a_gap_behind_a_tail_that_was_replaced_is_explained(tables: Tables) -> None:
    """The checks of quality find each missing offset among the faults, also if a tail was cut off before the gap."""
    folder = clusters.replica(tables.logs, "c", 1)
    clusters.segment(folder, 0, clusters.run(0, 6, 1) + clusters.run(6, 10, 2))
    tables.ingest()
    clusters.segment(folder, 0, clusters.run(0, 6, 1))
    clusters.segment(folder, 20, clusters.run(20, 24, 5))
    tables.ingest()
    state = load(tables.store)
    assert state is not None
    assert state.clusters["c"].read == ((0, 6), (20, 24))
    assert [(each.check, each.passed) for each in quality.check({}, state)] == [("key", True), ("gaps", True)]


def test_node_ids_that_are_none_are_unknown(tables: Tables) -> None:
    """An invalid node id in meta.properties becomes -1."""
    folder = clusters.replica(tables.logs, "c", 1)
    clusters.segment(folder, 0, clusters.run(0, 3, 1))
    (folder.parent / "meta.properties").write_text("cluster.id=c\nnode.id=one\n")
    tables.ingest()
    assert {row["node_id"] for row in tables.rows("records")} == {-1}


# --- continuous -------------------------------------------------------------------------------------------------------


def _running(tables: Tables) -> subprocess.Popen[bytes]:
    arguments = ["--logs", str(tables.logs), "--target", tables.store.place, "--all-types", "--continuous", "0.2"]
    return subprocess.Popen([sys.executable, "-m", "quorum_history", "ingest", *arguments], cwd=_OPERATOR)


def _until(process: subprocess.Popen[bytes], condition: Callable[[], bool]) -> None:
    """Waits until it holds, while the process runs."""
    deadline = time.monotonic() + 240.0
    while not condition():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.3)


@pytest.mark.timeout(600)
def test_a_running_ingest_while_its_logs_change(tables: Tables) -> None:
    """A continuous ingest reads a file that grows byte by byte and loses its tail, and survives its own end."""
    folder = clusters.replica(tables.logs, "c", 1)
    path = clusters.segment(folder, 0, clusters.run(0, 3, 1))
    later = clusters.run(3, 40, 1)

    def ingested() -> Counter[tuple[int, int]]:
        return tables.records() if tables.store.exists("ingest") else Counter()

    process = _running(tables)
    try:
        _until(process, lambda: bool(ingested()))
        with path.open("ab", buffering=0) as file:
            for at in range(0, len(later), 97):  # never at the end of a batch
                file.write(later[at : at + 97])
                time.sleep(0.02)
        _until(process, lambda: ingested() == once((0, 40, 1)))
        path.write_bytes(clusters.run(0, 30, 1) + clusters.run(30, 35, 4))
        _until(process, lambda: ingested() == once((0, 40, 1), (30, 35, 4)))
        process.terminate()
        assert process.wait(60) == 0, "a signal between two runs is a good end"
        path.write_bytes(path.read_bytes() + clusters.run(35, 50, 4))
        process = _running(tables)
        _until(process, lambda: ingested() == once((0, 40, 1), (30, 50, 4)))
    finally:
        process.kill()
        process.wait()


def test_what_breaks_ends_a_running_ingest(
    tables: Tables, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If observations cannot be read any more, a continuous ingest ends, and does not read only logs."""
    clusters.segment(clusters.replica(tables.logs, "c", 1), 0, clusters.run(0, 3, 1))
    looks.write(tables.looks / "a.jsonl", [look(0)])
    runs: list[int] = []

    def failing(paths: str) -> Any:  # noqa: ANN401 -- files
        runs.append(1)
        if len(runs) > 2:
            raise OSError("the volume is gone")
        return original(paths)

    original = lines.find_lines
    monkeypatch.setattr(lines, "find_lines", failing)
    arguments = ["--logs", str(tables.logs), "--observations", str(tables.looks), "--target", tables.store.place]
    assert main(["ingest", *arguments, "--continuous", "0.01"]) == 1
    assert "the volume is gone" in capsys.readouterr().err


# --- what is killed ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_a_run_that_is_killed_anywhere_is_made_good_by_the_next(
    tables: Tables, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """After any file operation as the last one, the next run ends with the rows of an undisturbed run."""
    folder = clusters.replica(tables.logs, "c", 1)
    path = clusters.segment(folder, 0, clusters.run(0, 20, 1))
    looks.write(tables.looks / "a.jsonl", [look(0), look(60)])
    tables.ingest()
    path.write_bytes(clusters.run(0, 15, 1) + clusters.run(15, 30, 2) + b"\0" * 10)
    looks.write(tables.looks / "b.jsonl", [look(120)])
    left = [seed]
    with monkeypatch.context() as patched:
        for name in ("write", "folder", "sync", "delete"):
            patched.setattr(Store, name, dying(left, getattr(Store, name)))
        try:
            tables.ingest()
        except Killed:
            assert left == [0]
    tables.ingest()
    assert tables.records() == once((0, 20, 1), (15, 30, 2))
    assert len(tables.rows("observations")) == 3
    assert ["torn-tail" in row["fault"] for row in tables.found()] == [True]


@pytest.mark.full
@pytest.mark.timeout(1800)
def test_a_process_that_is_killed_at_random_moments(tmp_path: Path) -> None:
    """After ten SIGKILLs at random moments the tables are those of an undisturbed run."""
    seed = random.randrange(10**6)
    print(f"seed {seed}")  # noqa: T201 -- to repeat it
    rng = random.Random(seed)
    disturbed, undisturbed = Tables(tmp_path / "disturbed"), Tables(tmp_path / "undisturbed")
    for tables in (disturbed, undisturbed):
        tables.logs = tmp_path / "logs"
    arguments = ["--logs", str(disturbed.logs), "--target", disturbed.store.place, "--all-types"]
    for number in range(10):
        for cluster in ("a", "b"):
            folder = clusters.replica(disturbed.logs, cluster, 1)
            clusters.segment(folder, 500 * number, clusters.run(500 * number, 500 * number + 500, 1 + number // 4))
        process = subprocess.Popen([sys.executable, "-m", "quorum_history", "ingest", *arguments], cwd=_OPERATOR)
        time.sleep(rng.uniform(0.0, 6.0))
        process.kill()
        process.wait()
    disturbed.ingest()
    undisturbed.ingest()
    assert disturbed.records() == undisturbed.records()
    assert disturbed.found() == undisturbed.found() == []


def test_a_state_survives_its_file(tmp_path: Path) -> None:
    """A stored state is read back unchanged."""
    tables = Tables(tmp_path)
    shutil.copytree(SAMPLES / "4.3.1", tables.logs)
    looks.write(tables.looks / "a.jsonl", [look(0), {"no": "look"}])
    tables.ingest()
    state = load(tables.store)
    assert isinstance(state, State)
    written = json.loads(tables.store.read("ingest", f"state-{state.number:010d}.json"))
    assert written["version"] == 1
    (cluster,) = state.clusters.values()
    assert cluster.end > 100
    assert all(each.anchor for name, each in cluster.files.items() if name.endswith("0.log") and each.size_bytes)
    (file,) = state.lines.values()
    assert isinstance(file.rejected[0], Found)


def test_an_unchanged_cluster_needs_no_look(tables: Tables) -> None:
    """An unchanged cluster needs no plan; another file, or another time, needs one."""
    folder = clusters.replica(tables.logs, "c", 1)
    path = clusters.segment(folder, 0, clusters.run(0, 3, 1))
    tables.ingest()
    state = load(tables.store)
    assert state is not None

    def files() -> Any:  # noqa: ANN401 -- log files
        return find_files(str(tables.logs))

    assert index.unchanged(files(), state.clusters["c"])
    os.utime(path, ns=(0, 0))
    assert not index.unchanged(files(), state.clusters["c"])
    assert tables.ingest().new_records == 0


def test_the_clock_of_a_summary_is_now(tables: Tables) -> None:
    """Without a given clock, an observation of today is accepted, and one of next week is rejected."""
    now = datetime.now(UTC)
    tables.looks.mkdir()
    for name, days in (("a", 0), ("b", 7)):
        at = (now + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
        (tables.looks / f"{name}.jsonl").write_text(json.dumps({**look(0), "observedAt": at}) + "\n")
    request = Request(logs=None, observations=str(tables.looks), options=checked_options({"path": "x"}))
    summary = ingest(tables.store, request, Threads())
    assert (summary.new_looks, summary.rejected_lines) == (1, 1)
