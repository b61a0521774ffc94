"""The answers from observations: a gap is unknown, never available."""

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.testing import assertDataFrameEqual
from tests.clocks import MovingClock
from tests.model import values
from tests.quorum_history import looks
from tests.quorum_history.looks import START, look

from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.observed import Observed
from kafka_quorum.observations.files import Directory, Files
from kafka_quorum.observations.recorder import Recorder
from quorum_history import observations

pytestmark = pytest.mark.timeout(600)


def _frame(spark: SparkSession, home: Path, rows: Iterable[dict[str, Any]]) -> DataFrame:
    path = looks.write(home / "observations.jsonl", rows)
    return spark.read.schema(observations.SCHEMA).option("columnNameOfCorruptRecord", "_corrupt").json(str(path))


def _story() -> list[dict[str, Any]]:
    """Six minutes of a story: fine, one voter lost, no majority, no looks for five minutes, fine again."""
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
    """The test data fits the schema of the operator's lines."""
    schema = json.loads((Path(observations.__file__).parent / "schemas" / "observation-v1.json").read_text())
    for observation in _story():
        jsonschema.validate(observation, schema)


def test_states_follow_without_holes(spark: SparkSession, tmp_path: Path) -> None:
    """A look is valid until the next one, for at most 150 seconds; late and doubled lines change nothing."""
    story = _story()
    rows = observations.spans(_frame(spark, tmp_path, [*reversed(story), story[2], story[2]]))
    found = [(row["state"], row["seconds"]) for row in rows.orderBy("since").collect()]
    assert found == [
        ("available", 120.0), ("unavailable", 60.0), ("unknown", 60.0), ("available", 150.0), ("unknown", 250.0),
        ("available", 60.0),
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
            [(*of, START + timedelta(seconds=120), START + timedelta(seconds=240), 120.0, 60.0, "majority lost")],
            key + "since timestamp, until timestamp, recovery_s double, unknown_s double, cause string",
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


def test_an_outage_begins_where_it_was_seen(spark: SparkSession, tmp_path: Path) -> None:
    """An outage begins with the look that showed it; one without a seen end has no end."""
    story = [
        look(0),
        look(60, known=False),
        look(120, live=(1,)),
        look(180),
        look(240, live=(1,)),
        look(300, live=(1,)),
    ]
    rows = observations.recoveries(_frame(spark, tmp_path, story)).orderBy("since").collect()
    assert [(row["recovery_s"], row["unknown_s"]) for row in rows] == [(60.0, 0.0), (None, 0.0)]


def test_a_day_ends_at_midnight(spark: SparkSession, tmp_path: Path) -> None:
    """A stretch across midnight counts for both days by its share, and a day inside a gap is unknown."""
    day_s = 86_400
    frame = _frame(spark, tmp_path, [look(day_s - 40), look(day_s + 20), look(3 * day_s), look(3 * day_s + 10)])
    rows = observations.availability(frame).orderBy("day").collect()
    assert [(row["day"].day, row["available_s"], row["unknown_s"]) for row in rows] == [
        (1, 40.0, 0.0), (2, 170.0, day_s - 170.0), (3, 0.0, float(day_s)), (4, 10.0, 0.0),
    ]  # fmt: skip
    assert rows[2]["availability"] is None


@pytest.mark.parametrize(("maximum", "ready", "held"), [(27, False, [2]), (None, None, [])])
def test_a_node_that_lags_or_is_silent(
    spark: SparkSession, tmp_path: Path, maximum: int | None, *, ready: bool | None, held: list[int]
) -> None:
    """An old controller blocks the upgrade and is named; a silent one makes the answer unknown."""
    (row,) = observations.upgrade_readiness(_frame(spark, tmp_path, [look(0, maximum=maximum)])).collect()
    assert (row["ready"], row["held_back_by"]) == (ready, held)


def _written_by_the_operator(place: Path) -> None:
    """A minute each: fine, a silent voter, no leader, unknown, fine again under a new epoch."""
    keys = [values.key(node_id) for node_id in values.IDS]

    def led(epoch: int, *behind: int) -> Observed:
        seen = values.view(keys, behind=[values.key(node_id) for node_id in behind])
        return values.at_rest(quorum=Known(value=replace(seen, answer=replace(seen.answer, leader_epoch=epoch))))

    silent = values.at_rest(quorum=Unknown(reason="no answer"))
    clock = MovingClock(start=START)
    files = Files(Directory(place), clock, holder="operator-0", hold_s=300.0, max_bytes=1 << 20)
    recorder = Recorder([files], clock)
    for seen in (led(5), led(5, 3001), replace(silent, pods=()), silent, led(8), led(8)):
        recorder.saw("ns", "q", seen)
        clock.seconds += 60.0
    recorder.close(30.0)


def test_what_the_operator_writes_is_what_is_read(spark: SparkSession, tmp_path: Path) -> None:
    """The operator's looks, written to files and read back, give the right answers, without losses or additions."""
    _written_by_the_operator(tmp_path / "looks")
    frame = spark.read.schema(observations.SCHEMA).option("columnNameOfCorruptRecord", "_corrupt")
    rows = frame.json(str(tmp_path / "looks")).cache()
    assert observations.rejected(rows).count() == 0
    found = [(row["state"], row["seconds"]) for row in observations.spans(rows).orderBy("since").collect()]
    assert found == [("available", 120.0), ("unavailable", 60.0), ("unknown", 60.0), ("available", 60.0)]
    (changes,) = observations.leader_changes(rows).collect()
    assert changes["leader_changes"] == 3
    assert observations.stale_voters(rows).count() == 0
    (outage,) = observations.recoveries(rows).collect()
    assert (outage["recovery_s"], outage["unknown_s"]) == (120.0, 60.0)


def test_lines_of_an_earlier_version(spark: SparkSession) -> None:
    """Lines of 0.1.0 are accepted: one of a quorum with a leader, and one of an unknown quorum."""
    path = Path(__file__).resolve().parents[1] / "stored_samples" / "0.1.0" / "observations.jsonl"
    schema = json.loads((Path(observations.__file__).parent / "schemas" / "observation-v1.json").read_text())
    for line in path.read_text().splitlines():
        jsonschema.validate(json.loads(line), schema)
    frame = spark.read.schema(observations.SCHEMA).option("columnNameOfCorruptRecord", "_corrupt").json(str(path))
    assert observations.rejected(frame).count() == 0
    assert sorted(str(row["unknownReason"]) for row in frame.collect()) == ["None", "no controller answers"]


def test_service_levels_say_what_the_budget_was_spent_on(spark: SparkSession, tmp_path: Path) -> None:
    """The budget of a month is spent on time without a leader or without a majority, and not on unknown time."""
    seen = [look(0), look(60, leader=-1), look(120), look(180, live=(1,)), look(240), look(300, known=False), look(360)]
    later = [look(40 * 86_400), look(40 * 86_400 + 60)]
    frame = _frame(spark, tmp_path, [*seen, *later])
    rows = observations.service_levels(frame).orderBy("month").collect()
    assert [str(row["month"]) for row in rows] == ["2026-01-01", "2026-02-01"]
    first = rows[0]
    assert (first["leader_lost_s"], first["majority_lost_s"]) == (60.0, 60.0)
    assert first["available_s"] == 180.0 + 150.0, "the last look of the month speaks for 150 s"
    assert first["availability"] == pytest.approx(330 / 450)
    assert first["budget_spent"] == pytest.approx(120 / (450 * 0.001))
    assert rows[1]["budget_spent"] == 0.0
    causes = [row["cause"] for row in observations.recoveries(frame).orderBy("since").collect()]
    assert causes == ["leader lost", "majority lost"]


def test_looks_of_impossible_times_are_left_out(spark: SparkSession, tmp_path: Path) -> None:
    """A line with an impossible time, such as the year 9999, is rejected and creates no days."""
    wrong = [{**look(0), "observedAt": time} for time in ("9999-01-01T00:00:00Z", "1900-01-01T00:00:00Z")]
    frame = _frame(spark, tmp_path, [look(0), look(60), *wrong])
    assert observations.availability(frame).count() == 1
    assert observations.rejected(frame).count() == 2


def test_the_last_look_of_each_quorum(spark: SparkSession, tmp_path: Path) -> None:
    """The last look of each quorum, its last answer, and the reason why there was none since."""
    frame = _frame(spark, tmp_path, [look(0), look(60), look(120, known=False), look(0, name="other", live=(1,))])
    one, other = observations.last_looks(frame).orderBy("name").collect()[::-1]
    assert (one["looks"], one["state"], one["unknown_reason"]) == (3, "unknown", "no answer")
    assert (one["last_look"] - one["last_known"]).total_seconds() == 60.0
    assert (other["state"], other["last_known"] == other["last_look"]) == ("unavailable", True)


@pytest.mark.parametrize("max_gap_s", [0, -5])
def test_a_look_speaks_for_some_time(spark: SparkSession, tmp_path: Path, max_gap_s: int) -> None:
    """A validity of zero or less is refused."""
    with pytest.raises(ValueError, match="cannot speak"):
        observations.spans(_frame(spark, tmp_path, [look(0)]), max_gap_s)


def test_what_is_no_observation_is_kept_apart(spark: SparkSession, tmp_path: Path) -> None:
    """Invalid lines and other schema versions are rejected, and not counted."""
    path = looks.write(tmp_path / "x.jsonl", [look(0), {**look(60), "schemaVersion": 2}])
    path.write_text(path.read_text() + "no json\n")
    frame = spark.read.schema(observations.SCHEMA).option("columnNameOfCorruptRecord", "_corrupt").json(str(path))
    assert observations.distinct(frame).count() == 1
    assert observations.rejected(frame).count() == 2
