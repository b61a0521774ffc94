"""The Spark session: embedded with this machine's cores, or the one that `spark-submit` has set up."""

import os
import shutil
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from quorum_history.source import register


class NoJavaError(Exception):
    """Spark cannot start here."""


def session(master: str | None = None, **settings: str) -> SparkSession:
    """A session that knows the data source. `master` None leaves the choice to spark-submit, else `local[*]`.

    Times are in UTC throughout; workers run the Python that runs here, unless the environment says otherwise.
    Raises `NoJavaError` where Spark would have to start a Java that is not there.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("quorum-history")
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if not submitted:
        _check_java()
    if master or not submitted:
        builder = builder.master(master or "local[*]")
    defaults = {
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
        **({} if submitted else {"spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1"}),
    }
    for key, value in (defaults | settings).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    register(spark)
    return spark


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if not (Path(home, "bin", "java").is_file() if home else shutil.which("java")):
        where = f"below JAVA_HOME, which is {home}" if home else "on the PATH"
        raise NoJavaError(f"there is no Java {where}: Spark needs one, of release 17 or later")
