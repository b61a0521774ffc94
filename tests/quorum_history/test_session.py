"""The Spark session that runs embedded."""

import os

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from quorum_history import session

pytestmark = pytest.mark.timeout(600)


def test_large_results_of_tasks_arrive(spark: SparkSession) -> None:
    """A large result is fetched from the address that Spark advertises, which is the one that it binds."""
    conf = spark.sparkContext.getConf()
    assert conf.get("spark.driver.host") == conf.get("spark.driver.bindAddress") == "127.0.0.1"
    rows = spark.range(0, 40, 1, 2).select(f.repeat(f.lit("x"), 200_000).alias("text")).collect()
    assert sum(len(row["text"]) for row in rows) == 40 * 200_000


def test_this_machines_name_is_not_asked_for(spark: SparkSession) -> None:
    """Spark uses the loopback address, so it starts even if the machine's name cannot be resolved, as in a sandbox."""
    assert spark._jvm is not None
    assert spark._jvm.java.lang.System.getenv("SPARK_LOCAL_IP") == "127.0.0.1"


def test_what_spark_always_says_is_left_out() -> None:
    """The log of a run has its actions and errors, but not Spark's usual advice."""
    said = [
        b"WARNING: Using incubator modules: jdk.incubator.vector\n",
        b'Setting default log level to "WARN".\n',
        b"To adjust logging level use sc.setLogLevel(newLevel). For SparkR, use setLogLevel(newLevel).\n",
        b"spark: 12:00:00 ERROR Disk is full\n",
    ]
    source, sink = os.pipe()
    shown, target = os.pipe()
    os.write(sink, b"".join(said))
    os.close(sink)
    session._filter(source, target)
    with os.fdopen(shown, "rb") as lines:
        assert lines.read() == said[-1]
