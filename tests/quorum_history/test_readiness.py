"""Which levels a cluster could have, from its log alone."""

import pytest
from pyspark.sql import Row, SparkSession

from quorum_history.readiness import log_readiness

pytestmark = pytest.mark.timeout(900)
_PLACE = "cluster string, kind string, at_offset bigint, offset bigint, "
_RANGES = "array<struct<name:string,minSupportedVersion:int,maxSupportedVersion:int>>"


def _range(maximum: int) -> list[tuple[str, int, int]]:
    return [("metadata.version", 7, maximum)]


def _nodes(rows: list[Row]) -> list[tuple[str, int]]:
    return [(row["role"], row["node_id"]) for row in rows]


def test_readiness_from_logs(spark: SparkSession) -> None:
    """The last registrations decide, unregistered nodes do not, and a node without ranges makes it unknown."""
    registered = [
        ("old", "segment", 1, 1, "broker", 1, "registered", _range(33)),
        ("old", "segment", 2, 2, "broker", 2, "registered", _range(25)),
        ("old", "segment", 3, 3, "controller", 7, "registered", _range(30)),
        ("old", "segment", 4, 4, "controller", 8, "registered", _range(21)),
        ("old", "segment", 5, 5, "controller", 8, "unregistered", None),
        ("silent", "segment", 1, 1, "broker", 1, "registered", []),
        ("silent", "segment", 2, 2, "controller", 1, "registered", _range(30)),
        ("alone", "segment", 1, 1, "broker", 1, "registered", _range(14)),
        ("fine", "segment", 1, 1, "broker", 1, "registered", _range(21)),
        ("fine", "segment", 2, 2, "broker", 9, "registered", _range(21)),
        ("fine", "checkpoint", 10, 0, "controller", 1, "registered", _range(33)),
        ("fine", "checkpoint", 10, 1, "broker", 1, "registered", _range(30)),
        ("fine", "segment", 12, 12, "broker", 1, "registered", _range(33)),
    ]
    frame = spark.createDataFrame(
        registered, _PLACE + f"role string, registered_id int, change string, features {_RANGES}"
    )
    levels = spark.createDataFrame(
        [("old", "segment", 0, 0, "metadata.version", 21), ("old", "segment", 6, 6, "metadata.version", 25),
         ("old", "segment", 0, 0, "group.version", 1)],
        _PLACE + "feature string, level int",
    )  # fmt: skip
    found = {(row["cluster"], row["feature"]): row for row in log_readiness(frame, levels).collect()}
    old = found["old", "metadata.version"]
    assert (old["finalized_name"], old["highest_common_name"]) == ("4.0-IV3 (25)", "4.0-IV3 (25)")
    assert (old["highest_anywhere_name"], old["ready"]) == ("4.4-IV2 (33)", False)
    assert _nodes(old["held_back_by"]) == [("broker", 2), ("controller", 7)]
    silent = found["silent", "metadata.version"]
    assert (silent["finalized"], silent["highest_common"], silent["ready"]) == (None, 30, None)
    assert _nodes(silent["unknown_nodes"]) == [("broker", 1)]
    assert found["alone", "metadata.version"]["ready"] is None, "no controller is registered"
    fine = found["fine", "metadata.version"]
    assert (fine["brokers"], fine["controllers"]) == (1, 1), "the checkpoint no longer has broker 9"
    assert (fine["highest_common"], fine["ready"]) == (33, True)
    group = found["old", "group.version"]
    assert (group["finalized_name"], group["highest_common"], group["held_back_by"]) == ("1", 0, [])


def test_features_are_bounded(spark: SparkSession) -> None:
    """Of a cluster with more features than Kafka could have, fifty are told: a finalized one is among them."""
    ranges = [(f"feature-{number:03d}", 0, 1) for number in range(60)]
    registered = [("many", "segment", 1, 1, "broker", 1, "registered", ranges)]
    frame = spark.createDataFrame(
        registered, _PLACE + f"role string, registered_id int, change string, features {_RANGES}"
    )
    finalized = [("many", "segment", 0, 0, "feature-059", 1)]
    levels = spark.createDataFrame(finalized, _PLACE + "feature string, level int")
    found = {row["feature"] for row in log_readiness(frame, levels).collect()}
    assert found == {f"feature-{number:03d}" for number in (*range(49), 59)}
