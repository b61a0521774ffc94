"""The command line from logs to a report, embedded and on a Spark cluster of its own."""

import errno
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import SparkSession
from tests.kraftlog import logs
from tests.kraftlog.record_samples import SAMPLES
from tests.live.jars import ensure_kafka
from tests.live.process import ServerProcess
from tests.quorum_history import clusters, looks
from tests.quorum_history.looks import look

from quorum_history import jobs
from quorum_history.__main__ import main

pytestmark = pytest.mark.timeout(1500)
_OPERATOR = Path(__file__).resolve().parents[2] / "operator"
_TABLES = {
    ".lock", "ingest", "records", "observations", "log_files", "faults", "rejected_lines", "voter_sets",
    "voter_changes", "leaders", "feature_levels", "registrations", "spans", "availability", "leader_changes",
    "lag_percentiles", "recoveries", "stale_voters", "upgrade_readiness", "downgrade_losses", "downgrade_analysed",
    "last_looks", "quality", "service_levels", "endpoint_changes", "migration_states", "changes_compared",
    "lag_drift", "log_readiness", "voter_churn", "downgrade_verdicts",
}  # fmt: skip


def test_from_logs_to_a_report(spark: SparkSession, tmp_path: Path) -> None:
    """ingest, timeline, observe, downgrade and report run; another ingest adds nothing, and late observations count."""
    target = str(tmp_path / "tables")
    source = str(SAMPLES / "4.1.2")
    seen = tmp_path / "observations"
    looks.write(seen / "a.jsonl", [look(0), look(120, epoch=3)])
    ingest = ["ingest", "--target", target, "--logs", source, "--observations", str(seen)]
    assert main(ingest) == 0
    before = spark.read.parquet(f"{target}/records").count()
    assert before > 0
    looks.write(seen / "b.jsonl", [look(60, live=(1,)), look(120, epoch=3)])
    assert main(ingest) == 0
    assert spark.read.parquet(f"{target}/records").count() == before
    assert main(["timeline", "--target", target]) == 0
    assert main(["observe", "--target", target]) == 0
    assert main(["downgrade", "--target", target, "--logs", source]) == 0
    assert {path.name for path in (tmp_path / "tables").iterdir()} == _TABLES
    (row,) = spark.read.parquet(f"{target}/availability").collect()
    assert (row["available_s"], row["unavailable_s"]) == (60.0, 60.0)
    assert main(["report", "--target", target, "--output", str(tmp_path / "report")]) == 0
    text = (tmp_path / "report" / "index.html").read_text()
    assert "Voters and leaders" in text
    assert "ns/q was available for 50.000%" in text


@pytest.mark.full
@pytest.mark.timeout(1200)
def test_refresh_is_all_of_it(spark: SparkSession, tmp_path: Path) -> None:  # noqa: ARG001 - it must run
    """One command makes every table and the page; a damaged source sets the exit code, and the page is still made."""
    target, output, seen = tmp_path / "tables", tmp_path / "page", tmp_path / "observations"
    seen.mkdir()
    refresh = ["refresh", "--target", str(target), "--observations", str(seen), "--output", str(output)]
    assert main(refresh) == 0  # a schedule may start before the operator has written anything
    assert "No observations." in (output / "index.html").read_text()
    looks.write(seen / "a.jsonl", [look(0), look(120)])
    assert main([*refresh, "--logs", str(SAMPLES / "4.1.2")]) == 0
    assert {path.name for path in target.iterdir()} == _TABLES
    text = (output / "index.html").read_text()
    assert "Voters and leaders" in text
    assert "ns/q" in text
    assert "Not analysed" not in text
    (seen / "b.jsonl").write_text("no observation\n")
    looks.write(seen / "c.jsonl", [look(180, name="later")])
    assert main([*refresh, "--keep-days", "36500"]) == 3
    assert "ns/later" in (output / "index.html").read_text()


def test_a_damaged_checkpoint_of_one_cluster(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`downgrade` reports it with exit code 3 and analyses every cluster; `refresh` makes the page."""
    target, output, source = tmp_path / "tables", tmp_path / "page", tmp_path / "logs"
    for name in ("damaged", "fine"):
        clusters.segment(clusters.replica(source, name, 1), 5, clusters.run(5, 8, 1))
        content = b"garbage " * 99 if name == "damaged" else clusters.single(0, 1)
        (clusters.replica(source, name, 1) / f"{5:020d}-0000000001.checkpoint").write_bytes(content)
    arguments = ["--target", str(target), "--logs", str(source)]
    assert main(["downgrade", *arguments]) == 3
    said = capsys.readouterr().out
    assert "faults: 2; clusters whose losses are not known in full: 1" in said
    assert "  cluster damaged: /" in said
    assert "not a log: magic" in said
    rows = spark.read.parquet(str(target / "downgrade_analysed")).orderBy("cluster").collect()
    assert [(row["cluster"], row["end_offset"], row["faults"]) for row in rows] == [("damaged", 8, 2), ("fine", 8, 0)]
    refresh = ["refresh", *arguments, "--output", str(output)]
    assert main(refresh) == 3
    assert "what a downgrade would lose is not known in full" in (output / "index.html").read_text()
    assert main(refresh) == 0, "nothing of it is new"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["refresh", "--target", "{t}", "--output", "{t}"], 2, "--logs"),
        (
            ["refresh", "--target", "{t}", "--output", "{t}", "--observations", "{t}", "--max-gap-s", "0"],
            2,
            "--max-gap-s",
        ),
        (["refresh", "--target", "{t}", "--output", "{t}", "--observations", "{t}", "--keep-days", "0"], 2, "days: 0"),
        (["ingest", "--target", "{t}"], 2, "--logs"),
        (["ingest", "--target", "{t}", "--logs", "{t}/nothing"], 1, "no such file or directory"),
        (["ingest", "--target", "{t}", "--logs", "{t}", "--high-watermarks", "[]"], 2, "highWatermarks"),
        (["downgrade", "--target", "{t}", "--logs", "{t}"], 1, "no metadata log"),
        (["verify", "{t}/x.log", "--kafka-home", "{t}"], 1, "no Kafka installation"),
        (["ingest", "--target", "{t}", "--logs", "{t}", "--continuous", "-1"], 2, "--continuous: -1.0"),
        (["ingest", "--target", "{t}", "--logs", "{t}", "--continuous", "nan"], 2, "--continuous: nan"),
        (["observe", "--target", "{t}", "--max-gap-s", "-5"], 2, "--max-gap-s: -5"),
        (["observe", "--target", "{t}", "--max-gap-s", "0"], 2, "--max-gap-s: 0"),
        (["report", "--target", "{t}/nothing", "--output", "{t}"], 1, "holds no tables"),
    ],
)
def test_wrong_requests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, said: str
) -> None:
    """A wrong request is refused with a sentence that names the fault, before Spark starts."""
    assert main([argument.format(t=tmp_path) for argument in arguments]) == code
    assert said in capsys.readouterr().err


def test_a_quorum_that_is_not_there_is_no_page_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A report of an unknown quorum is refused, and no page is written."""
    rows = [{"cluster": "c", "clusterID": "c", "namespace": "ns", "name": "q"}]
    monkeypatch.setattr(jobs, "derived", lambda _, name: rows if name in ("leaders", "last_looks") else None)
    asked = ["report", "--target", str(tmp_path), "--output", str(tmp_path / "page"), "--quorum", "ns/p"]
    assert main([*asked, "--quorum", "ns/q"]) == 2
    assert "--quorum: ns/p: no such quorum or cluster in" in capsys.readouterr().err
    assert not (tmp_path / "page").exists()


@pytest.mark.parametrize(
    "arguments", [["prune", "--before", "yesterday"], ["report", "--output", "x", "--since", "yesterday"]]
)
def test_a_day_is_written_as_a_date(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    """A text that is no day is refused with an example."""
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--target", "x"])
    assert ended.value.code == 2
    assert "'yesterday' is not a day: write it as 2026-01-31" in capsys.readouterr().err


@pytest.mark.parametrize("folder", ["__cluster_metadata-0", "lost+found"])
def test_a_folder_that_cannot_be_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: str
) -> None:
    """A folder that cannot be listed is an error that names it, except ext4's own folder."""
    (tmp_path / folder).mkdir()
    listed = os.scandir

    def refusing(path: str) -> Any:  # noqa: ANN401 - an iterator that is a context manager, as os.scandir gives
        if Path(path).name == folder:
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return listed(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert main(["at", "--logs", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert (f"{folder}: cannot be listed: Permission denied" in said) == (folder != "lost+found")


@pytest.mark.parametrize(("package", "arguments"), [("quorum_history", "timeline"), ("kraftlog", "dump")])
def test_no_writable_folder_for_the_decoder(tmp_path: Path, package: str, arguments: str) -> None:
    """If Numba finds no folder for its compiled code, the error names the variable for one."""
    (tmp_path / "numba.py").write_text("raise RuntimeError(\"cannot cache function 'crc32c': no locator available\")")
    command = [sys.executable, "-m", package, arguments]
    path = f"{tmp_path}:{_OPERATOR}"
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path}, cwd=tmp_path
    )
    assert done.returncode == 1
    assert "set NUMBA_CACHE_DIR" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("package", ["pyspark", "numba", "pyarrow"])
def test_a_missing_package_is_named(package: str) -> None:
    """Without the extra `history`, the command prints what to install, and no traceback."""
    hidden = f"import sys, runpy; sys.modules[{package!r}] = None; sys.argv = ['quorum-history', 'timeline']"
    code = f"{hidden}; runpy.run_module('quorum_history', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=_OPERATOR)
    assert done.returncode == 1
    assert f"the Python package {package} is missing" in done.stderr
    assert "pip install 'kafka-quorum-operator[history]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_verify_without_java(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without Java, the error names Java."""
    monkeypatch.setenv("PATH", str(tmp_path))
    path = logs.write(tmp_path, b"".join(logs.three_batches()))
    assert main(["verify", str(path), "--kafka-home", str(tmp_path)]) == 1
    assert "Java" in capsys.readouterr().err


@pytest.mark.parametrize(("home", "said"), [("", "on the PATH"), ("{t}", "below JAVA_HOME, which is {t}")])
def test_spark_without_java(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], home: str, said: str
) -> None:
    """Without Java, the error names Java and the place where it was searched for."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", home.format(t=tmp_path))
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    assert main(["timeline", "--target", str(tmp_path)]) == 1
    assert f"there is no Java {said.format(t=tmp_path)}" in capsys.readouterr().err


@pytest.mark.full
def test_verify_against_kafka(capsys: pytest.CaptureFixture[str]) -> None:
    """Every record of a real log is equal."""
    home = ensure_kafka("4.3.1").libs.parent
    path = next((SAMPLES / "4.3.1" / "node-1").rglob("*.log"))
    assert main(["verify", str(path), "--kafka-home", str(home)]) == 0
    first, _, equal = capsys.readouterr().out.partition(": ")
    assert first == str(path)
    assert equal.split()[0] == equal.split()[2]


@pytest.fixture
def spark_master(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A standalone master and two workers as processes of their own."""
    home = Path(pyspark.__file__).parent
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    java = ["java", "-Xmx512m", "-cp", f"{home}/jars/*"]
    deploy = "org.apache.spark.deploy"
    url = f"spark://127.0.0.1:{port}"
    for name, value in {"LOCAL_IP": "127.0.0.1", "HOME": str(home), "SCALA_VERSION": "2.13"}.items():
        monkeypatch.setenv(f"SPARK_{name}", value)  # as Spark's own start scripts set it
    started = [
        ServerProcess(
            [*java, f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"],
            tmp_path / "master.log",
        )
    ]
    for number in (1, 2):
        arguments = [
            "--cores",
            "1",
            "--memory",
            "1g",
            "--webui-port",
            "0",
            "--work-dir",
            str(tmp_path / f"work-{number}"),
        ]
        command = [*java, f"{deploy}.worker.Worker", *arguments, url]
        started.append(ServerProcess(command, tmp_path / f"worker-{number}.log"))
    yield url
    for process in started:
        process.kill()


@pytest.mark.full
def test_under_spark_submit_on_a_cluster(spark_master: str, tmp_path: Path) -> None:
    """The same commands run with spark-submit on a master with two workers, and both workers do a part of each."""
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    environment = {
        **os.environ,
        "PYTHONPATH": str(_OPERATOR),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    target = tmp_path / "tables"
    for count, (name, table) in enumerate([("ingest", "records/batch=1"), ("downgrade", "downgrade_losses")], start=1):
        command = [
            str(submit), "--master", spark_master, "--conf", "spark.executor.memory=512m",
            "--conf", f"spark.executorEnv.PYTHONPATH={_OPERATOR}", "--conf", "spark.driver.host=127.0.0.1",
            str(_OPERATOR / "quorum_history" / "__main__.py"), name, "--logs", str(SAMPLES), "--target", str(target),
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        assert list((target / table).glob("*.parquet"))
        worked = [list((tmp_path / f"work-{number}").glob("app-*/*/stderr")) for number in (1, 2)]
        assert [len(each) for each in worked] == [count, count]
