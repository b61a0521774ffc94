"""The Spark session: embedded with this machine's cores, or the one that `spark-submit` has set up."""

import os
import sys

from pyspark.sql import SparkSession

from quorum_history.source import register


def session(master: str | None = None, **settings: str) -> SparkSession:
    """A session that knows the data source. `master` None leaves the choice to spark-submit, else `local[*]`.

    Times are in UTC throughout; workers run the Python that runs here, unless the environment says otherwise.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("quorum-history")
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
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
