"""Object stores without a server: what holds for every store. `test_s3` has a real one."""

import io
import random
import tarfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import fs
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from tests.kraftlog.record_samples import SAMPLES
from tests.quorum_history import clusters, fleets, looks
from tests.quorum_history.looks import look

from kraftlog import archives, places
from kraftlog.__main__ import main as kraftlog
from quorum_history import commands, delta, jobs, rows
from quorum_history.__main__ import main
from quorum_history.sink import write_small
from quorum_history.store import Store

_SECRET = "wJalrXUtnFEMI"  # noqa: S105 -- nobody's


@pytest.mark.parametrize(
    "url",
    [
        f"s3://AKUSER:{_SECRET}@history",
        f"s3a://AKUSER:{_SECRET}/K7MDENG@history",
        f"s3://AKUSER:{_SECRET}",
        f"abfs://container:{_SECRET}@account.dfs.core.windows.net",
        f"hdfs://user:{_SECRET}@namenode:8020",
    ],
)
def test_credentials_in_a_url_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], url: str) -> None:
    """Every command refuses credentials in a URL before it reads or writes, and its message does not have them."""
    codes = [
        main(["ingest", "--logs", f"{url}/logs", "--target", str(tmp_path / "tables")]),
        main(["ingest", "--logs", str(SAMPLES / "4.4.0"), "--target", f"{url}/tables"]),
        main(["ingest", "--observations", f"{url}/looks", "--target", str(tmp_path / "tables")]),
        main(["at", "--logs", f"{url}/logs/*"]),
        main(["verify", f"{url}/{0:020d}.log", "--kafka-home", str(tmp_path)]),
        kraftlog(["dump", f"{url}/{0:020d}.log"]),
    ]
    said = capsys.readouterr()
    assert codes == [1] * 6
    assert said.err.count("a URL must not hold credentials") == 6
    assert _SECRET not in said.err + said.out
    assert not list(tmp_path.glob("**/*.parquet"))


@pytest.mark.parametrize(
    "url", ["abfs://container@account.dfs.core.windows.net", "gs://anonymous@bucket", "hdfs://n:1"]
)
def test_names_and_ports_are_no_credentials(url: str) -> None:
    """Names of some stores contain the same characters as credentials, and are accepted."""
    scheme, _, authority = url.partition("://")
    assert not places._holds_credentials(scheme, authority)


class _Flaky:
    """A store that is a folder of this machine, and fails like S3 for a file with a certain name."""

    def __init__(self, failing: str) -> None:
        self._disk, self._failing = fs.LocalFileSystem(), failing

    def get_file_info(self, what: Any) -> Any:  # noqa: ANN401 -- pyarrow has no types
        return self._disk.get_file_info(what)

    def open_input_file(self, path: str) -> Any:  # noqa: ANN401 -- pyarrow has no types
        if path.endswith(self._failing):
            raise OSError(f"When reading information for key '{path}': AWS Error NETWORK_CONNECTION")
        return self._disk.open_input_file(path)


@pytest.mark.parametrize("failing", ["meta.properties", f"{5:020d}.log"])
def test_a_store_that_fails_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], failing: str
) -> None:
    """A store that fails ends the run and is no damage, because the unread records would be skipped for ever."""
    folder = clusters.replica(tmp_path / "bucket", "one", 1)
    clusters.segment(folder, 0, clusters.run(0, 5, 1))
    clusters.segment(folder, 5, clusters.run(5, 9, 1))
    arguments = ["ingest", "--all-types", "--logs", "s3://bucket", "--target", str(tmp_path / "tables")]
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://store.example:7070")
    monkeypatch.setattr(places, "_store", lambda *_: (_Flaky(failing), str(tmp_path / "bucket")))
    assert main(arguments) == 1
    said = capsys.readouterr().err
    assert f"{failing}: cannot be read" in said
    assert "http://store.example:7070" in said
    assert not list((tmp_path / "tables" / "ingest").glob("*"))
    monkeypatch.setattr(places, "_store", lambda *_: (_Flaky("none"), str(tmp_path / "bucket")))
    assert main(arguments) == 0
    assert "new records: 9;" in capsys.readouterr().out


class _Counted:
    """A file of a store that counts each read as a request."""

    def __init__(self, content: bytes) -> None:
        self._content, self.size, self.reads = content, len(content), 0

    def read(self, position: int, size: int) -> bytes:
        self.reads += 1
        return self._content[position : position + size]


@pytest.mark.parametrize(("form", "most"), [("tar", 20), ("tar.gz", 8)])
def test_an_archive_takes_few_requests(form: str, most: int) -> None:
    """An archive takes few requests, because each one costs as much as a megabyte."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz" if form == "tar.gz" else "w:") as tar:
        for number in range(8):
            info = tarfile.TarInfo(f"__cluster_metadata-0/{number:020d}.log")
            info.size = 2 << 20
            tar.addfile(info, io.BytesIO(random.Random(number).randbytes(info.size)))
    source = _Counted(packed.getvalue())
    assert len(archives.archive(f"a.{form}", source).members) == 8
    assert source.reads <= most


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("table", ["records", "observations"])
def test_tables_by_arrow_are_those_by_spark(spark: SparkSession, tmp_path: Path, table: str) -> None:
    """Tables read and written by Arrow, as in an object store, equal Spark's, and may replace them."""
    seen = looks.write(tmp_path / "seen" / "a.jsonl", [look(0), look(60, live=(1,)), look(120, known=False)])
    target = str(tmp_path / "tables")
    logs = str(SAMPLES / "4.4.0")
    assert main(["ingest", "--logs", logs, "--observations", str(seen.parent), "--target", target]) == 0
    read, written = [], []
    for local in (True, False):
        store = Store(target)
        store.local = local
        made = jobs.read_ingested(spark, store, table)
        read.append((made.dtypes, sorted(map(str, made.collect()))))
        jobs.write_tables({"made": made}, store, "parquet", lambda _: None)
        written.append(sorted(map(str, jobs.derived(store, "made") or ())))
    assert read[0] == read[1]
    assert written[0] == written[1]
    assert len(written[0]) >= 3
    assert [each.name for each in (tmp_path / "tables" / "made").iterdir()] == ["part-00000.parquet"]


@pytest.mark.timeout(1200)
def test_a_task_that_cannot_read_says_why(spark: SparkSession, tmp_path: Path) -> None:
    """The error of a task names the reason and the file, and is not the first line of a traceback."""
    with pytest.raises(PySparkException) as failed:
        jobs._read_remotely(spark, [str(tmp_path / "gone.parquet")], rows.SCHEMA).collect()
    assert str(tmp_path / "gone.parquet") in commands._essence(str(failed.value))


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("form", ["tar", "tgz"])
def test_a_downgrade_from_an_archive(spark: SparkSession, tmp_path: Path, form: str) -> None:
    """The losses from an archive are the same as from its folder."""
    sample, losses = SAMPLES / "4.4.0" / "node-1", []
    archive = tmp_path / f"volume.{form}"
    with tarfile.open(archive, "w:gz" if form == "tgz" else "w") as tar:
        tar.add(sample, arcname=".")
    for place in (sample, archive):
        made = jobs.downgrade_tables(spark, str(place))
        losses.append({name: sorted(map(str, table.collect())) for name, table in made.items()})
    assert losses[0] == losses[1]
    assert losses[0]["downgrade_analysed"]


def test_a_page_at_a_url(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A page at a URL is stored there, and not in a folder with the URL as its name."""
    store = Store(str(tmp_path / "tables"))
    row = {"cluster": "a", "level": 30, "end_offset": 9, "faults": 0}
    kinds = {str: pa.string(), int: pa.int64()}
    schema = pa.schema([(name, kinds[type(value)]) for name, value in row.items()])
    write_small(store, "downgrade_analysed", [row], schema)
    output = f"file://{tmp_path}/page"
    assert main(["report", "--target", store.place, "--output", output]) == 0
    assert capsys.readouterr().out == f"{output}/index.html\n"
    assert "<html" in (tmp_path / "page" / "index.html").read_text()


def test_a_page_of_tables_of_an_earlier_version(tmp_path: Path) -> None:
    """A table that an earlier version wrote without a column is shown, and the column is empty."""
    store = Store(str(tmp_path / "tables"))
    for name, missing in (("last_looks", ()), ("service_levels", ("roll_s", "unknown_cause_s"))):
        rows = [{key: value for key, value in row.items() if key not in missing} for row in fleets.one()[name]]
        write_small(store, name, rows, pa.Table.from_pylist(rows).schema)
    assert main(["report", "--target", store.place, "--output", str(tmp_path / "page")]) == 0
    assert "unknown cause (s)" in (tmp_path / "page" / "index.html").read_text()


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("form", ["parquet", "delta"])
def test_a_table_of_several_batches_passes_through_no_process(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """A table larger than one batch is written by a task, batch by batch, and read and replaced in several batches."""

    def whole(_: object) -> None:
        raise AssertionError("the driver holds the table")

    monkeypatch.setattr(DataFrame, "toArrow", whole)
    monkeypatch.setattr(delta, "_BATCH_ROWS", 1000)
    store = Store(str(tmp_path))
    store.local = False
    for count in (0, 5000, 4000):
        made = spark.range(count).selectExpr(
            "'c' cluster", "id offset", "cast(id as int) leader_epoch", "timestamp_seconds(id) at", "array(id) ids"
        )
        jobs.write_tables({"leaders": made}, store, form, lambda _: None)
        source = jobs.stored(store, "leaders")
        assert source is not None
        batches = list(source(None))
        assert max((len(batch) for batch in batches), default=0) <= 1000
        assert sorted(row["offset"] for batch in batches for row in batch.to_pylist()) == list(range(count))
        assert batches == [] or batches[0].schema.field("at").type == pa.timestamp("us", tz="UTC")
    assert {name for name in store.names() if name.startswith("_")} == set()
    if form == "delta":
        metrics = delta.opened(store, "leaders").history(1)[0]["operationMetrics"]
        assert (metrics["num_target_rows_deleted"], metrics["num_target_rows_updated"]) == (1000, 0)
