"""The Spark session: embedded with this machine's cores, or the one that `spark-submit` has set up."""

import os
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from pyspark.sql import SparkSession

from quorum_history.source import register

_HERE = "127.0.0.1"
_EMBEDDED = {
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": _HERE,
    "spark.driver.host": _HERE,  # else a task's result of more than 1 MiB is fetched from an address without listener
}
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_BRIEF = "-XX:TieredStopAtLevel=1"
"""Without Java's second compiler, which costs a command of seconds more than it gains.

Measured: the timelines of a log of 1 GB take 31 instead of 64 CPU seconds, but 11 million whole records through
`spark.read` take 31 seconds instead of 21.
"""
_CHATTER = (
    b"WARNING: Using incubator modules", b"Setting default log level to", b"To adjust logging level use",
)  # fmt: skip
"""What Spark's Java prints at its start, with any configuration."""


class NoJavaError(Exception):
    """Spark cannot start here."""


def submitted() -> bool:
    """Whether `spark-submit` runs this program."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def session(master: str | None = None, **settings: str) -> SparkSession:
    """A session with the data source. `master` None leaves the choice to spark-submit, else it is `local[*]`.

    Times are always in UTC; workers run the Python that runs here, unless the environment sets another. Raises
    `NoJavaError` if Spark would have to start a Java that is not installed.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("quorum-history")
    if not submitted():
        _check_java()
        os.environ.setdefault("SPARK_LOCAL_IP", _HERE)  # else Spark uses this machine's name, which may not resolve
    if master or not submitted():
        builder = builder.master(master or "local[*]")
    defaults = {
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # for readers of the tables other than Spark
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
        **({} if submitted() else _EMBEDDED | {_JAVA_OPTIONS: _java()}),
    }
    for key, value in (defaults | settings).items():
        builder = builder.config(key, value)
    with _quiet():
        spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    register(spark)
    return spark


def brief_session(master: str | None = None) -> SparkSession:
    """The same for a command that takes seconds."""
    return session(master, **({} if submitted() else {_JAVA_OPTIONS: f"{_BRIEF} {_java()}"}))


def _java() -> str:
    return f"-XX:+UseSerialGC -Dlog4j2.configurationFile=file:{files('quorum_history') / 'log4j2.properties'}"


@contextmanager
def _quiet() -> Iterator[None]:
    """Send the standard error of a Java that starts meanwhile through a filter."""
    if submitted():
        yield
        return
    sys.stderr.flush()
    shown, (source, sink) = os.dup(2), os.pipe()
    os.dup2(sink, 2)
    os.close(sink)
    threading.Thread(target=_filter, args=(source, os.dup(shown)), daemon=True).start()
    try:
        yield
    finally:
        os.dup2(shown, 2)
        os.close(shown)


def _filter(source: int, target: int) -> None:
    """Pass lines on, except the usual ones; ends with the last process that writes."""
    with os.fdopen(source, "rb", buffering=0) as lines, os.fdopen(target, "wb", buffering=0) as shown:
        left = b""
        while piece := lines.read(1 << 16):
            whole, _, left = (left + piece).rpartition(b"\n")
            for line in whole.splitlines():
                if not line.startswith(_CHATTER):
                    shown.write(line + b"\n")


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if not (Path(home, "bin", "java").is_file() if home else shutil.which("java")):
        where = f"below JAVA_HOME, which is {home}" if home else "on the PATH"
        raise NoJavaError(f"there is no Java {where}: Spark needs one, of release 17 or later")
