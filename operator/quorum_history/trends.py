"""Slow changes: replicas that fall further behind from day to day, and voters that are changed from month to month."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from quorum_history.columns import LAG_ACCURACY
from quorum_history.columns import QUORUM_KEY as KEY

_END_DAYS = 7
"""How many days at each end are compared; of fewer than 14 known days, half of them, so that none counts twice."""


def lag_drift(lags: DataFrame) -> DataFrame:
    """Per replica: its daily lag (95 %) in the first and the last known days, and how it grows.

    Takes a row for each look and replica: `observedAt`, `node_id`, `role`, `lag`. Without two known days all is null.
    """
    replica = (*KEY, "node_id", "role")
    days = lags.groupBy(*replica, f.to_date("observedAt").alias("day")).agg(
        f.percentile_approx("lag", 0.95, LAG_ACCURACY).cast("double").alias("p95")
    )
    of_replica = Window.partitionBy(*replica)
    end = f.least(f.lit(_END_DAYS), f.floor(f.col("known_days") / 2))
    placed = (
        days.withColumn("known_days", f.count("*").over(of_replica))
        .withColumn("place", f.row_number().over(of_replica.orderBy("day")))
        .withColumn("at_first", f.col("place") <= end)
        .withColumn("at_last", f.col("place") > f.col("known_days") - end)
    )
    found = placed.groupBy(*replica, "known_days").agg(
        f.avg(f.when(f.col("at_first"), f.col("p95"))).alias("first_p95_lag_records"),
        f.avg(f.when(f.col("at_last"), f.col("p95"))).alias("last_p95_lag_records"),
        f.regr_slope(f.col("p95"), f.unix_date("day").cast("double")).alias("slope"),
    )
    return found.select(
        *replica,
        "known_days",
        "first_p95_lag_records",
        "last_p95_lag_records",
        (f.col("last_p95_lag_records") - f.col("first_p95_lag_records")).alias("drift_lag_records"),
        f.when(f.col("known_days") > 1, f.col("slope")).alias("slope_records_per_day"),
    )


def voter_churn(voter_changes: DataFrame) -> DataFrame:
    """Per cluster and month: voters added and removed, and how many of those added replaced another disk of their node.

    Takes `voter_changes`.
    """

    def counted(condition: Column) -> Column:
        return f.count(f.when(condition, 1))

    added, previous = f.col("change") == "added", f.col("previous_directory_id")
    months = voter_changes.withColumn("month", f.to_date(f.trunc("timestamp", "month")))
    return months.groupBy("cluster", "month").agg(
        counted(added).alias("added"),
        counted(f.col("change") == "removed").alias("removed"),
        counted(added & (previous != f.col("directory_id"))).alias("replaced"),
    )
