"""Timelines from records: voter sets with their disks, leaders, features, registrations, endpoints, migrations."""

import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.testing import assertDataFrameEqual
from tests.kraftlog.record_samples import SAMPLES

from quorum_history import tables
from quorum_history.rows import SCHEMA
from quorum_history.source import FORMAT

pytestmark = pytest.mark.timeout(600)
_START = datetime(2026, 1, 1, tzinfo=UTC)


def _frame(spark: SparkSession, *rows: tuple[str, int, int, str, dict[str, Any]]) -> DataFrame:
    """Rows of the data source: kind, offset, epoch, type, data; one second per offset."""
    full = [
        ("c", 1, kind, "f", 0, offset, _START + timedelta(seconds=offset), epoch, offset, False, True, record_type, 0,
         json.dumps(data), None)
        for kind, offset, epoch, record_type, data in rows
    ]  # fmt: skip
    return spark.createDataFrame(full, SCHEMA)


def _voters(**keys: str) -> dict[str, Any]:
    rows = [{"voterId": int(node[1:]), "voterDirectoryId": key, "endpoints": []} for node, key in keys.items()]
    return {"version": 0, "voters": rows}


def test_a_replaced_tail_is_settled(spark: SparkSession) -> None:
    """Records of a lower epoch, from the first offset of a higher one on, do not count."""
    frame = _frame(
        spark,
        *(("segment", offset, 1, "NO_OP_RECORD", {}) for offset in range(6)),
        *(("segment", offset, 3, "NO_OP_RECORD", {}) for offset in (3, 4)),
        ("checkpoint", 5, 0, "NO_OP_RECORD", {}),
    )
    rows = tables.settled(frame).orderBy("kind", "offset").collect()
    assert [(row["kind"], row["offset"], row["leader_epoch"]) for row in rows] == [
        ("checkpoint", 5, 0), ("segment", 0, 1), ("segment", 1, 1), ("segment", 2, 1), ("segment", 3, 3),
        ("segment", 4, 3),
    ]  # fmt: skip


def test_settling_grows_with_the_rows_and_not_with_their_square(spark: SparkSession) -> None:
    """Four times the rows of one cluster take about four times as long, although epochs replace many tails."""
    took_s = []
    for rows in (20_000, 80_000):
        frame = _many(spark, rows)
        begun = time.monotonic()
        kept = tables.settled(frame).agg(f.count("*"), f.max("offset")).collect()[0]
        took_s.append(time.monotonic() - begun)
        assert tuple(kept) == (rows, rows - 1)
    assert took_s[1] < 4 * max(took_s[0], 4.0), took_s


def _many(spark: SparkSession, rows: int) -> DataFrame:
    """One cluster with an epoch per 1000 offsets; each epoch except the last has ten further records, cut off later."""
    number = spark.range(rows).withColumn("epoch", (f.col("id") / 1000).cast("int") + 1)
    lost = spark.range(rows // 1000 - 1).select(f.explode(f.sequence(f.lit(0), f.lit(9))).alias("n"), "id")
    tails = lost.select(
        ((f.col("id") + 1) * 1000 + f.col("n")).alias("id"), (f.col("id") + 1).cast("int").alias("epoch")
    )
    return number.unionByName(tails).select(
        f.lit("c").alias("cluster"), f.lit(1).alias("node_id"), f.lit("segment").alias("kind"),
        f.lit("f").alias("file"), f.lit(0).cast("bigint").alias("position"), f.col("id").alias("offset"),
        f.lit(_START).alias("timestamp"), f.col("epoch").alias("leader_epoch"), f.col("id").alias("base_offset"),
        f.lit(False).alias("control"), f.lit(True).alias("crc_valid"),  # noqa: FBT003 -- a column's value
        f.lit("NO_OP_RECORD").alias("type"), f.lit(0).alias("version"), f.lit("{}").alias("data"),
        f.lit(None).cast("string").alias("fault"),
    )  # fmt: skip


def test_voter_changes_with_lineage(spark: SparkSession) -> None:
    """Voter changes follow from the first checkpoint, and a replaced disk is linked to the disk before it."""
    frame = _frame(
        spark,
        ("checkpoint", 2, 0, "KRaftVoters", _voters(n1="A")),
        ("segment", 0, 1, "KRaftVoters", _voters(n1="A")),
        ("segment", 5, 1, "KRaftVoters", _voters(n1="A", n2="B")),
        ("segment", 7, 1, "KRaftVoters", _voters(n1="A")),
        ("segment", 9, 1, "KRaftVoters", _voters(n1="A", n2="C")),
    )
    changes = tables.voter_changes(tables.voter_sets(frame)).drop("timestamp", "cluster")
    expected = [
        (5, 1, "added", 2, "B", None),
        (7, 1, "removed", 2, "B", None),
        (9, 1, "added", 2, "C", "B"),
    ]
    assertDataFrameEqual(
        changes,
        spark.createDataFrame(
            expected,
            "offset bigint, leader_epoch int, change string, node_id int, directory_id string,"
            " previous_directory_id string",
        ),
    )


def test_a_checkpoint_behind_a_gap_takes_its_place_in_the_log(spark: SparkSession) -> None:
    """A checkpoint behind a gap counts at the offset where it ends, and shows the changes inside the gap."""
    frame = _frame(
        spark,
        ("segment", 3, 1, "KRaftVoters", _voters(n1="A")),
        ("segment", 25, 2, "KRaftVoters", _voters(n1="A", n2="B")),
    ).unionByName(
        _frame(spark, ("checkpoint", 2, 2, "KRaftVoters", _voters(n1="A", n2="B", n3="C"))).withColumn(
            "file", f.lit("/x/00000000000000000020-0000000002.checkpoint")
        )
    )
    changes = tables.voter_changes(tables.voter_sets(frame)).orderBy("offset", "node_id").collect()
    assert [(row["offset"], row["change"], row["node_id"]) for row in changes] == [
        (20, "added", 2), (20, "added", 3), (25, "removed", 3),
    ]  # fmt: skip


def test_leaders_and_features(spark: SparkSession) -> None:
    """A leader leads until the next one's first record; a feature that is set to its present level is no step."""
    elected = {"version": 0, "leaderId": 1, "voters": [{"voterId": 2}, {"voterId": 1}], "grantingVoters": []}
    level = {"name": "metadata.version", "featureLevel": 21}
    frame = _frame(
        spark,
        ("segment", 0, 1, "LeaderChange", elected),
        ("segment", 1, 1, "FEATURE_LEVEL_RECORD", level),
        ("segment", 2, 1, "FEATURE_LEVEL_RECORD", level),
        ("segment", 3, 1, "KRaftVersion", {"version": 0, "kRaftVersion": 1}),
        ("segment", 4, 2, "LeaderChange", {**elected, "leaderId": 2}),
        ("segment", 6, 2, "FEATURE_LEVEL_RECORD", {**level, "featureLevel": 22}),
    )
    leaders = tables.leaders(frame).orderBy("leader_epoch").collect()
    assert [(row["leader_id"], row["start_offset"], row["end_offset"], row["voters"]) for row in leaders] == [
        (1, 0, 4, [1, 2]), (2, 4, None, [1, 2]),
    ]  # fmt: skip
    steps = tables.feature_levels(frame).orderBy("offset").collect()
    assert [(row["offset"], row["feature"], row["previous_level"], row["level"]) for row in steps] == [
        (1, "metadata.version", None, 21), (3, "kraft.version", None, 1), (6, "metadata.version", 21, 22),
    ]  # fmt: skip


def _listener(name: str, port: int, *, security: int | None = None) -> dict[str, Any]:
    return {"name": name, "host": "h", "port": port} | ({} if security is None else {"securityProtocol": security})


def _voter(*listeners: dict[str, Any], maximum: int = 1) -> dict[str, Any]:
    versions = {"minSupportedVersion": 0, "maxSupportedVersion": maximum}
    voter = {"voterId": 1, "voterDirectoryId": "A", "endpoints": listeners, "kRaftVersionFeature": versions}
    return {"version": 0, "voters": [voter]}


def _registered(role: str, *listeners: dict[str, Any]) -> dict[str, Any]:
    return {f"{role}Id": 1, "incarnationId": "I", "endPoints": listeners, "features": []}


def test_a_voter_set_has_the_kraft_version_that_each_voter_supports(spark: SparkSession) -> None:
    """The range of kraft.version in a voter set is that of the record; a record without one has none."""
    frame = _frame(
        spark,
        ("segment", 0, 1, "KRaftVoters", _voters(n1="A")),
        ("segment", 1, 1, "KRaftVoters", _voter(maximum=2)),
    )
    sets = tables.voter_sets(frame).orderBy("offset").collect()
    ranges = [(voter["min_kraft_version"], voter["max_kraft_version"]) for row in sets for voter in row["voters"]]
    assert ranges == [(None, None), (0, 2)]


def test_endpoints_that_differ_from_the_last_ones(spark: SparkSession) -> None:
    """A change has the listeners before and after; the first ones, another order and other fields are no change."""
    plain, secure = _listener("B", 1, security=0), _listener("C", 2, security=1)
    frame = _frame(
        spark,
        ("checkpoint", 4, 0, "REGISTER_BROKER_RECORD", _registered("broker", plain, secure)),
        ("segment", 1, 1, "KRaftVoters", _voter(_listener("C", 2))),
        ("segment", 2, 1, "REGISTER_CONTROLLER_RECORD", _registered("controller", plain)),
        ("segment", 3, 1, "REGISTER_BROKER_RECORD", _registered("broker", secure, plain)),
        ("segment", 4, 1, "BROKER_REGISTRATION_CHANGE_RECORD", {"brokerId": 1, "brokerEpoch": 3, "fenced": -1}),
        ("segment", 5, 1, "KRaftVoters", _voter(_listener("C", 2), maximum=2)),
        ("segment", 6, 1, "REGISTER_BROKER_RECORD", _registered("broker", plain)),
        ("segment", 7, 1, "REGISTER_CONTROLLER_RECORD", _registered("controller", {**plain, "securityProtocol": 9})),
        ("segment", 8, 1, "KRaftVoters", _voter(_listener("C", 3))),
    )
    found = tables.endpoint_changes(frame).orderBy("offset").collect()
    assert [(row["offset"], row["role"], row["node_id"], _short(row["before"]), _short(row["after"]))
            for row in found] == [
        (6, "broker", 1, ["B h:1 PLAINTEXT", "C h:2 SSL"], ["B h:1 PLAINTEXT"]),
        (7, "controller", 1, ["B h:1 PLAINTEXT"], ["B h:1 UNKNOWN_9"]),
        (8, "voter", 1, ["C h:2 None"], ["C h:3 None"]),
    ]  # fmt: skip


def _short(endpoints: list[Any]) -> list[str]:
    return [f"{each['name']} {each['host']}:{each['port']} {each['security_protocol']}" for each in endpoints]


def test_endpoints_that_changed_in_a_gap(spark: SparkSession) -> None:
    """A change in a gap of the log is known from the checkpoint behind it, at the offset where that ends."""
    frame = _frame(
        spark,
        ("segment", 3, 1, "KRaftVoters", _voter(_listener("C", 2))),
        ("segment", 25, 2, "KRaftVoters", _voter(_listener("C", 3))),
    ).unionByName(
        _frame(spark, ("checkpoint", 2, 2, "KRaftVoters", _voter(_listener("C", 3)))).withColumn(
            "file", f.lit("/x/00000000000000000020-0000000002.checkpoint")
        )
    )
    (change,) = tables.endpoint_changes(frame).collect()
    assert (change["kind"], change["at_offset"]) == ("checkpoint", 20)


def test_states_of_a_migration(spark: SparkSession) -> None:
    """The states have Kafka's names, in which MIGRATION is 1 and PRE_MIGRATION 2; the same state again is no step."""
    states = (0, 2, 2, 1, 3, 7)
    frame = _frame(
        spark,
        *(("segment", offset, 1, "ZK_MIGRATION_STATE_RECORD", {"zkMigrationState": state})
          for offset, state in enumerate(states)),
        ("checkpoint", 9, 0, "ZK_MIGRATION_STATE_RECORD", {"zkMigrationState": 0}),
    )  # fmt: skip
    steps = tables.migration_states(frame).orderBy("at_offset").collect()
    assert [(row["at_offset"], row["state"], row["number"], row["previous_state"]) for row in steps] == [
        (-1, "NONE", 0, None), (1, "PRE_MIGRATION", 2, "NONE"), (3, "MIGRATION", 1, "PRE_MIGRATION"),
        (4, "POST_MIGRATION", 3, "MIGRATION"), (5, "UNKNOWN_7", 7, "POST_MIGRATION"),
    ]  # fmt: skip


def test_a_cluster_that_never_migrated(spark: SparkSession) -> None:
    """The sample of 3.9 was created in KRaft mode, and its checkpoints repeat that without a further row."""
    options = {"types": ",".join(tables.TIMELINE_TYPES), "path": str(SAMPLES / "3.9.2")}
    made = tables.timelines(spark.read.format(FORMAT).options(**options).load())
    (state,) = made["migration_states"].collect()
    assert (state["state"], state["number"], state["previous_state"]) == ("NONE", 0, None)
    newest = made["voter_sets"].orderBy(f.col("at_offset").desc()).first()
    assert newest is not None
    assert [(voter["min_kraft_version"], voter["max_kraft_version"]) for voter in newest["voters"]] == [(0, 1)] * 3


def test_the_life_of_a_real_cluster(spark: SparkSession) -> None:
    """The sample of 4.1: two controllers joined, one lost its disk, the levels rose, the leader changed."""
    options = {"types": ",".join(tables.TIMELINE_TYPES), "path": str(SAMPLES / "4.1.2")}
    made = tables.timelines(spark.read.format(FORMAT).options(**options).load().cache())
    changes = made["voter_changes"].orderBy("offset").collect()
    assert [(row["change"], row["node_id"]) for row in changes] == [
        ("added", 2),
        ("added", 3),
        ("removed", 3),
        ("added", 3),
    ]
    assert changes[3]["previous_directory_id"] == changes[2]["directory_id"] == changes[1]["directory_id"]
    steps = made["feature_levels"].where("feature = 'metadata.version'").orderBy("offset").collect()
    assert [row["level"] for row in steps] == [21, 22, 23, 24, 25, 26, 27]
    assert made["leaders"].count() >= 2
    roles = {(row["role"], row["registered_id"]) for row in made["registrations"].collect()}
    assert {("broker", 1), ("controller", 1), ("controller", 2), ("controller", 3)} <= roles
    moved = made["endpoint_changes"].collect()
    assert all(row["before"] != row["after"] and row["after"] for row in moved)
