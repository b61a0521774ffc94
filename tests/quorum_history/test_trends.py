"""Slow changes: growing lag, and voters that are changed often."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.quorum_history import looks
from tests.quorum_history.looks import look

from quorum_history import observations
from quorum_history.trends import lag_drift, voter_churn

pytestmark = pytest.mark.timeout(900)
_DAY_S = 86_400


def test_lag_drift(spark: SparkSession, tmp_path: Path) -> None:
    """The last days are compared with the first ones, none counts twice, and the slope is that of all known days."""
    rows = [look(day * _DAY_S, lag=100 * day) for day in range(20)]
    rows += [look(day * _DAY_S, lag=30 * day, name="short") for day in (0, 1, 4)]
    rows += [look(0, lag=9, name="single"), look(60, lag=9, name="single")]
    path = looks.write(tmp_path / "a.jsonl", rows)
    frame = spark.read.schema(observations.SCHEMA).json(str(path))
    found = {row["name"]: tuple(row)[-5:] for row in lag_drift(observations.lags(frame)).where("node_id = 2").collect()}
    assert found["q"] == pytest.approx((20, 300.0, 1600.0, 1300.0, 100.0))
    assert found["short"] == pytest.approx((3, 0.0, 120.0, 120.0, 30.0))
    assert found["single"] == (1, None, None, None, None)


def test_voter_churn(spark: SparkSession) -> None:
    """A voter counts as replaced if its node id comes with another directory id; each month counts for itself."""
    january, february = datetime(2026, 1, 31, 23, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)
    rows = [
        ("c", january, "added", 1, "A", None),
        ("c", january, "removed", 1, "A", None),
        ("c", january, "added", 1, "B", "A"),
        ("c", february, "removed", 1, "B", None),
        ("c", february, "added", 1, "B", "B"),
    ]
    schema = (
        "cluster string, timestamp timestamp, change string, node_id int, directory_id string,"
        " previous_directory_id string"
    )
    found = voter_churn(spark.createDataFrame(rows, schema)).orderBy("month").collect()
    assert [tuple(row) for row in found] == [("c", date(2026, 1, 1), 2, 1, 1), ("c", date(2026, 2, 1), 1, 1, 0)]
