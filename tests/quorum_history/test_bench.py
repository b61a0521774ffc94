"""Figures from one run: kafka-dump-log compared with this package on one log, and Spark on one core and on two.

CPU seconds are those of the whole child process; for kafka-dump-log the start of the JVM, measured on a log of one
batch, is subtracted and printed. `BENCH_MB` chooses the size of the log (default 500), `BENCH_BESIDE` another version.
"""

import os
import subprocess
import time
from pathlib import Path

import pytest
from tests.kraftlog import large
from tests.kraftlog.oracle import dump_log_command
from tests.live.jars import ensure_kafka
from tests.quorum_history import clusters
from tests.quorum_history.versions import Version, children_s, load, versions

pytestmark = [pytest.mark.bench, pytest.mark.timeout(7200)]

_RELEASE = "4.3.1"
_SIZE_BYTES = int(os.environ.get("BENCH_MB", "500")) << 20
_SPARK_BYTES = 2 * _SIZE_BYTES
"""Large enough that the start of the workers is a small part."""
_FILES = 8
_TIMELINE = (
    "KRaftVoters,KRaftVersion,LeaderChange,FEATURE_LEVEL_RECORD,REGISTER_BROKER_RECORD,REGISTER_CONTROLLER_RECORD"
)
_SPARK = """
import sys, time
from pyspark.sql import functions as f
from quorum_history.session import session
spark = session(sys.argv[1])
frame = spark.read.format("kraft-metadata").load(sys.argv[2])
frame.limit(1).collect()
begun = time.monotonic()
print("RESULT", frame.agg(f.count("*"), f.sum(f.length("data"))).collect()[0][0], time.monotonic() - begun)
"""


def _cpu_s(command: list[str], cwd: Path, environment: dict[str, str]) -> float:
    """CPU seconds of a command, user and system, its output thrown away."""
    before_s = children_s()
    done = subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=cwd, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return children_s() - before_s


def test_decoding(tmp_path: Path) -> None:
    """Full decoding and timeline mode compared with kafka-dump-log, in records per CPU second."""
    path, small = tmp_path / "00000000000000000000.log", tmp_path / "small" / "00000000000000000000.log"
    small.parent.mkdir()
    small.write_bytes(clusters.single(0, 1))
    records = large.write_log(path, _SIZE_BYTES)
    size_mb = path.stat().st_size / 1e6
    kafka = ensure_kafka(_RELEASE)
    start_s = _cpu_s(dump_log_command(kafka, [small]), tmp_path, dict(os.environ))
    theirs_s = _cpu_s(dump_log_command(kafka, [path]), tmp_path, dict(os.environ)) - start_s
    print(f"\n{records} records, {size_mb:.0f} MB; CPU seconds, start of the process included unless told otherwise")
    print(
        f"kafka-dump-log {_RELEASE}: {theirs_s:.1f} s without {start_s:.2f} s of JVM start: {records / theirs_s:,.0f}/s"
    )
    for version in versions():
        dump = [version.python, "-m", "kraftlog", "dump"]
        _cpu_s([*dump, str(small)], version.operator, version.environment)  # compiles the decoder, once
        own_start_s = _cpu_s([*dump, str(small)], version.operator, version.environment)
        for name, more in (("full", ()), ("timeline", ("--types", _TIMELINE))):
            seconds = _cpu_s([*dump, str(path), *more], version.operator, version.environment)
            rate, ratio = f"{records / seconds:,.0f}/s", theirs_s / seconds
            print(
                f"{version.name}, {name}: {seconds:.2f} s ({own_start_s:.2f} s of it start): {rate}, {ratio:.1f} times"
            )
            without = seconds - own_start_s
            print(f"  without the start: {records / without:,.0f}/s, {theirs_s / without:.1f} times")


@pytest.mark.parametrize("version", versions(), ids=lambda version: version.name)
def test_spark_on_two_cores(tmp_path: Path, version: Version) -> None:
    """The same files on one core and on two, in wall-clock seconds of the query alone.

    All of Spark is limited to these cores: with `local[1]` alone, the JVM and its Python worker use a core each.
    """
    present = sorted(os.sched_getaffinity(0))
    assert len(present) > 1, "two cores are needed for this comparison"
    for number in range(_FILES):
        folder = clusters.replica(tmp_path, f"cluster-{number}", 1)
        large.write_log(folder / "00000000000000000000.log", _SPARK_BYTES // _FILES, seed=number)
    seconds = {}
    for cores in (1, 2):
        held = ["taskset", "-c", ",".join(map(str, present[:cores]))]
        command = [*held, version.python, "-c", _SPARK, f"local[{cores}]", str(tmp_path)]
        begun = time.monotonic()
        done = subprocess.run(
            command, capture_output=True, text=True, env=version.environment, timeout=3600, check=True
        )
        (line,) = (line for line in done.stdout.splitlines() if line.startswith("RESULT"))
        _, records, took = line.split()
        seconds[cores] = float(took)
        whole = f"the whole process {time.monotonic() - begun:.1f} s"
        print(f"\n{version.name}: Spark, {cores} core(s): {records} records in {float(took):.1f} s ({whole})")
    print(f"two cores are {seconds[1] / seconds[2]:.2f} times as fast as one; load of the machine meanwhile: {load()}")
