"""What observations say, and what they do not: a gap is unknown, never available."""

import json
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.testing import assertDataFrameEqual
from tests.quorum_history import looks
from tests.quorum_history.looks import START, look

from quorum_history import observations

pytestmark = pytest.mark.timeout(600)


def _frame(spark: SparkSession, home: Path, rows: Iterable[dict[str, Any]]) -> DataFrame:
    path = looks.write(home / "observations.jsonl", rows)
    return spark.read.schema(observations.SCHEMA).option("columnNameOfCorruptRecord", "_corrupt").json(str(path))


def _story() -> list[dict[str, Any]]:
    """Six minutes: fine, one voter lost, no majority, nobody looks for five minutes, fine again."""
    return [
        look(0),
        look(60, live=(1, 2), lag=5),
        look(120, live=(1,), leader=-1, epoch=2),
        look(180, known=False),
        look(240, leader=2, epoch=4, live=(2, 3)),
        look(240 + 400, leader=2, epoch=4, live=(2, 3), lag=100),
        look(240 + 460, leader=2, epoch=4, live=(2, 3)),
    ]


def test_observations_fit_their_schema() -> None:
    """The test data is what the operator may write."""
    schema = json.loads((Path(observations.__file__).parent / "schemas" / "observation-v1.json").read_text())
    for observation in _story():
        jsonschema.validate(observation, schema)


def test_states_follow_without_holes(spark: SparkSession, tmp_path: Path) -> None:
    """A look speaks until the next one, for 150 seconds at most; late and doubled lines change nothing."""
    story = _story()
    rows = observations.spans(_frame(spark, tmp_path, [*reversed(story), story[2], story[2]]))
    found = [(row["state"], row["seconds"]) for row in rows.orderBy("since").collect()]
    assert found == [
        ("available", 60.0), ("available", 60.0), ("unavailable", 60.0), ("unknown", 60.0), ("available", 150.0),
        ("unknown", 250.0), ("available", 60.0),
    ]  # fmt: skip


def test_all_answers(spark: SparkSession, tmp_path: Path) -> None:
    """Availability, leader changes, recovery, lag, stale voters and readiness of the story."""
    frame = _frame(spark, tmp_path, _story()).cache()
    key = "clusterID string, namespace string, name string, "
    of = ("c-q", "ns", "q")
    tables = observations.answers(frame)
    assertDataFrameEqual(
        tables["availability"],
        spark.createDataFrame(
            [(*of, START.date(), 330.0, 60.0, 310.0, 330 / 390)],
            key + "day date, available_s double, unavailable_s double, unknown_s double, availability double",
        ),
    )
    assertDataFrameEqual(
        tables["leader_changes"].drop("known_hours"),
        spark.createDataFrame([(*of, 3, 3 / (390 / 3600))], key + "leader_changes bigint, changes_per_hour double"),
    )
    assertDataFrameEqual(
        tables["recoveries"],
        spark.createDataFrame(
            [(*of, START + timedelta(seconds=120), START + timedelta(seconds=240), 120.0, 60.0)],
            key + "since timestamp, until timestamp, recovery_s double, unknown_s double",
        ),
    )
    (stale,) = tables["stale_voters"].collect()
    assert (stale["node_id"], stale["last_live"].timestamp(), stale["stale_s"]) == (1, START.timestamp() + 120, 580.0)
    lags = {
        row["node_id"]: (row["p50_lag_records"], row["max_lag_records"]) for row in tables["lag_percentiles"].collect()
    }
    assert lags[3] == (0, 100)
    (ready,) = tables["upgrade_readiness"].collect()
    assert (ready["ready"], ready["highest_common"], ready["held_back_by"]) == (True, 33, [])


@pytest.mark.parametrize(("maximum", "ready", "held"), [(27, False, [2]), (None, None, [])])
def test_a_node_that_lags_or_is_silent(
    spark: SparkSession, tmp_path: Path, maximum: int | None, *, ready: bool | None, held: list[int]
) -> None:
    """An old node holds the fleet back and is named; one that said nothing makes the answer unknown."""
    (row,) = observations.upgrade_readiness(_frame(spark, tmp_path, [look(0, maximum=maximum)])).collect()
    assert (row["ready"], row["held_back_by"]) == (ready, held)


def test_what_is_no_observation_is_kept_apart(spark: SparkSession, tmp_path: Path) -> None:
    """Garbage and other schema versions are told, and counted nowhere."""
    path = looks.write(tmp_path / "x.jsonl", [look(0), {**look(60), "schemaVersion": 2}])
    path.write_text(path.read_text() + "no json\n")
    frame = spark.read.schema(observations.SCHEMA).option("columnNameOfCorruptRecord", "_corrupt").json(str(path))
    assert observations.distinct(frame).count() == 1
    assert observations.rejected(frame).count() == 2
