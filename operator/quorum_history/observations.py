"""Observations of a fleet to answers: availability, leader changes, lag, recovery, stale voters, upgrade readiness.

An observation is one look at one quorum (`schemas/observation-v1.json`). A look counts for the time until the next one,
but never for longer than `MAX_GAP_S`: time without a look is unknown, and unknown never counts as available.
"""

from functools import reduce
from operator import add

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from quorum_history.columns import LAG_ACCURACY
from quorum_history.columns import QUORUM_KEY as KEY
from quorum_history.levels import named
from quorum_history.lines import AHEAD, EARLIEST, SUPPORTED_VERSION
from quorum_history.outages import LEADER_LOST, MAJORITY_LOST, ROLL, UNKNOWN, explained, rolls
from quorum_history.trends import lag_drift

MAX_GAP_S = 150
"""Observations come at least once a minute; if two are missing, nothing is known."""

_REPLICA = "struct<nodeID:int,directoryID:string,live:boolean,lagRecords:bigint>"
_FEATURE_RANGE = "struct<name:string,minSupported:int,maxSupported:int>"
SCHEMA = (
    "schemaVersion int, observedAt timestamp, namespace string, name string, clusterID string, unknownReason string,"
    f" quorum struct<leaderID:int,leaderEpoch:int,highWatermark:bigint,voters:array<{_REPLICA}>,"
    f"observers:array<{_REPLICA}>>,"
    f" nodes array<struct<nodeID:int,kafkaVersion:string,features:array<{_FEATURE_RANGE}>>>,"
    " features array<struct<name:string,finalized:int>>, _corrupt string"
)


def distinct(observations: DataFrame) -> DataFrame:
    """One row per quorum and time, however often and late it was delivered; what is `rejected` is left out."""
    order = Window.partitionBy(*KEY, "observedAt").orderBy(f.to_json("quorum").desc_nulls_last())
    good = observations.where(~_bad())
    return good.withColumn("_place", f.row_number().over(order)).where("_place = 1").drop("_place")


def rejected(observations: DataFrame) -> DataFrame:
    """Lines that are no observation of a known version, or of an impossible time."""
    return observations.where(_bad()).select("schemaVersion", "observedAt", f.col("_corrupt").alias("line"))


def _bad() -> Column:
    """A time after tomorrow would make millions of unknown days before the next line."""
    version = f.coalesce(f.col("schemaVersion"), f.lit(0)).eqNullSafe(SUPPORTED_VERSION)
    latest = f.current_timestamp() + f.make_dt_interval(secs=f.lit(AHEAD.total_seconds()))
    time = f.col("observedAt")
    return ~version | time.isNull() | (time < f.lit(EARLIEST)) | (time > latest)


def _state() -> Column:
    available = (f.col("quorum.leaderID") >= 0) & _majority()
    return f.when(f.col("quorum").isNull(), "unknown").when(available, "available").otherwise("unavailable")


def _majority() -> Column:
    live = f.size(f.filter("quorum.voters", lambda voter: voter["live"]))
    return live * 2 > f.size("quorum.voters")


def _cause() -> Column:
    """What an unavailable quorum lacks; if the voters are unknown, it is still known that there is no leader."""
    return f.when(f.col("quorum.voters").isNotNull() & ~_majority(), MAJORITY_LOST).otherwise(LEADER_LOST)


def spans(observations: DataFrame, max_gap_s: int = MAX_GAP_S) -> DataFrame:
    """Stretches of time with one state each: `available`, `unavailable` or `unknown`, gaps included, without holes.

    The last look of a quorum counts for no time at all: nothing shows how long its state lasted.
    """
    return (
        _joined(_pieces(observations, max_gap_s), "state")
        .withColumn("seconds", _seconds("since", "until"))
        .select(*KEY, "state", "since", "until", "seconds")
    )


def _pieces(observations: DataFrame, max_gap_s: int) -> DataFrame:
    """The time for which each look counts, and the gaps after it; `cause` says what an unavailable quorum lacked.

    `looked` is the time of a look with a known state, `voters` how many voters it showed.
    """
    if max_gap_s <= 0:
        raise ValueError(f"a look cannot speak for {max_gap_s} s")
    order = Window.partitionBy(*KEY).orderBy("observedAt")
    looks = (
        distinct(observations)
        .withColumn("state", _state())
        .withColumn("cause", f.when(f.col("state") == "unavailable", _cause()))
        .withColumn("looked", f.when(f.col("state") != "unknown", f.col("observedAt")))
        .withColumn("voters", f.when(f.col("quorum.voters").isNotNull(), f.size("quorum.voters")))
        .withColumn("next", f.lead("observedAt").over(order))
        .where("next is not null")
        .withColumn("held", f.least("next", f.col("observedAt") + f.make_dt_interval(secs=f.lit(max_gap_s))))
    )
    columns = ("state", "cause", "looked", "voters")
    known = looks.select(*KEY, *columns, f.col("observedAt").alias("since"), f.col("held").alias("until"))
    nothing = {name: f.lit(None).cast(known.schema[name].dataType).alias(name) for name in columns}
    nothing["state"] = f.lit("unknown").alias("state")
    gaps = looks.where("held < next").select(
        *KEY, *nothing.values(), f.col("held").alias("since"), f.col("next").alias("until")
    )
    return known.unionByName(gaps)


def _joined(pieces: DataFrame, *alike: str) -> DataFrame:
    """Pieces that follow each other and are alike as one stretch: a quiet month is one row, not forty thousand."""
    order = Window.partitionBy(*KEY).orderBy("since")
    goes_on = f.lag("until").over(order) == f.col("since")
    for name in alike:
        goes_on &= f.lag(name).over(order).eqNullSafe(f.col(name))
    number = f.sum(f.when(goes_on, 0).otherwise(1)).over(order.rowsBetween(Window.unboundedPreceding, 0))
    return (
        pieces.withColumn("_stretch", number)
        .groupBy(*KEY, *alike, "_stretch")
        .agg(
            f.min("since").alias("since"),
            f.max("until").alias("until"),
            f.max("looked").alias("looked"),
            f.min_by("voters", "since").alias("voters"),
        )
    )


def _explained(observations: DataFrame, max_gap_s: int) -> DataFrame:
    """Stretches with the outage to which each belongs, and its cause."""
    stretches = _joined(_pieces(observations, max_gap_s), "state", "cause")
    return explained(stretches, rolls(distinct(observations), max_gap_s), max_gap_s)


def _seconds(start: str, end: str) -> Column:
    return (f.unix_micros(f.col(end)) - f.unix_micros(f.col(start))) / f.lit(1e6)


def last_looks(observations: DataFrame) -> DataFrame:
    """Per quorum: its first and last look, its last answer, and its state at the last look."""
    known = f.max(f.when(f.col("quorum").isNotNull(), f.col("observedAt")))
    return (
        distinct(observations)
        .withColumn("state", _state())
        .groupBy(*KEY)
        .agg(
            f.count("*").alias("looks"),
            f.min("observedAt").alias("first_look"),
            f.max("observedAt").alias("last_look"),
            known.alias("last_known"),
            f.max_by("state", "observedAt").alias("state"),
            f.max_by("unknownReason", "observedAt").alias("unknown_reason"),
        )
        .select(*KEY, "looks", "first_look", "last_look", "last_known", "state", "unknown_reason")
    )


def availability(observations: DataFrame, max_gap_s: int = MAX_GAP_S) -> DataFrame:
    """Per quorum and day: seconds in each state, and the share of the known time."""
    days = _by_day(spans(observations, max_gap_s))
    totals = days.groupBy(*KEY, "day").agg(
        *(
            f.sum(f.when(f.col("state") == state, f.col("seconds")).otherwise(0.0)).alias(f"{state}_s")
            for state in _STATES
        )
    )
    known = f.col("available_s") + f.col("unavailable_s")
    return totals.withColumn("availability", f.when(known > 0, f.col("available_s") / known)).select(
        *KEY, "day", "available_s", "unavailable_s", "unknown_s", "availability"
    )


_STATES = ("available", "unavailable", "unknown")
OBJECTIVE = 0.999
"""The target share of the known time for which a quorum is available."""


_SPENT_ON = {
    "leader_lost_s": LEADER_LOST,
    "majority_lost_s": MAJORITY_LOST,
    "roll_s": ROLL,
    "unknown_cause_s": UNKNOWN,
}
"""Unavailable time by its cause: these columns add up to all of it."""


def service_levels(observations: DataFrame, max_gap_s: int = MAX_GAP_S, objective: float = OBJECTIVE) -> DataFrame:
    """Per quorum and month: how much of its error budget is spent, and on what.

    The budget is a share of the known time: unknown time neither spends it nor adds to it. Time of an outage during a
    change of release, or of an unknown cause, is counted there, and all other time by what the quorum lacked.
    """
    of_outage = f.when(f.col("outage_cause").isin(ROLL, UNKNOWN), f.col("outage_cause")).otherwise(f.col("cause"))
    stretches = _explained(observations, max_gap_s).withColumn("spent_on", of_outage)
    days = _by_day(stretches).withColumn("month", f.trunc("day", "month"))
    unavailable = {
        name: (f.col("state") == "unavailable") & (f.col("spent_on") == cause) for name, cause in _SPENT_ON.items()
    }
    conditions = {
        "available_s": f.col("state") == "available",
        **unavailable,
        "unknown_s": f.col("state") == "unknown",
    }
    totals = days.groupBy(*KEY, "month").agg(
        *(f.sum(f.when(held, f.col("seconds")).otherwise(0.0)).alias(name) for name, held in conditions.items())
    )
    down = reduce(add, map(f.col, _SPENT_ON))
    known = f.col("available_s") + down
    budget = known * f.lit(1.0 - objective)
    return totals.select(
        *KEY,
        "month",
        *conditions,
        f.when(known > 0, f.col("available_s") / known).alias("availability"),
        f.lit(objective).alias("objective"),
        budget.alias("budget_s"),
        f.when(budget > 0, down / budget).alias("budget_spent"),
    )


def _by_day(stretches: DataFrame) -> DataFrame:
    """Stretches cut at midnight (UTC), so that each lies within one `day`."""
    touched = f.explode(f.sequence(f.to_date("since"), f.to_date("until")))
    pieces = (
        stretches.withColumn("day", touched)
        .withColumn("since", f.greatest("since", f.col("day").cast("timestamp")))
        .withColumn("until", f.least("until", f.date_add("day", 1).cast("timestamp")))
    )
    return pieces.where("since < until").withColumn("seconds", _seconds("since", "until"))


def leader_changes(observations: DataFrame, max_gap_s: int = MAX_GAP_S) -> DataFrame:
    """Per quorum: epochs that began between two looks, and their rate over the hours for which anything is known."""
    order = Window.partitionBy(*KEY).orderBy("observedAt")
    epochs = (
        distinct(observations)
        .where("quorum.leaderEpoch is not null")  # without a leader there is no epoch to compare
        .withColumn("step", f.col("quorum.leaderEpoch") - f.lag("quorum.leaderEpoch").over(order))
        .groupBy(*KEY)
        .agg(f.coalesce(f.sum(f.greatest("step", f.lit(0))), f.lit(0)).alias("leader_changes"))
    )
    known = spans(observations, max_gap_s).where("state <> 'unknown'").groupBy(*KEY)
    hours = known.agg((f.sum("seconds") / 3600).alias("known_hours"))
    joined = epochs.join(hours, on=list(KEY), how="left")
    rate = f.when(f.col("known_hours") > 0, f.col("leader_changes") / f.col("known_hours"))
    return joined.withColumn("changes_per_hour", rate).select(*KEY, "leader_changes", "known_hours", "changes_per_hour")


def lags(observations: DataFrame) -> DataFrame:
    """Per look and replica: how many records it was behind the leader, where that is known."""
    replicas = f.explode(f.concat(_with_role("voters", "voter"), _with_role("observers", "observer")))
    rows = distinct(observations).where("quorum is not null").withColumn("r", replicas)
    rows = rows.where("r.lagRecords is not null and r.nodeID <> quorum.leaderID")
    return rows.select(
        *KEY, "observedAt", f.col("r.nodeID").alias("node_id"), "r.role", f.col("r.lagRecords").alias("lag")
    )


def lag_percentiles(observations: DataFrame) -> DataFrame:
    """Per quorum and replica: how many records it was behind the leader, over all looks that have this number."""
    quantiles = f.percentile_approx("lag", [0.5, 0.95, 0.99], LAG_ACCURACY)
    return (
        lags(observations)
        .groupBy(*KEY, "node_id", "role")
        .agg(quantiles.alias("q"), f.max("lag").alias("max_lag_records"), f.count("*").alias("looks"))
        .select(
            *KEY,
            "node_id",
            "role",
            f.col("q")[0].alias("p50_lag_records"),
            f.col("q")[1].alias("p95_lag_records"),
            f.col("q")[2].alias("p99_lag_records"),
            "max_lag_records",
            "looks",
        )
    )


def _with_role(column: str, role: str) -> Column:
    return f.transform(
        f.coalesce(f.col(f"quorum.{column}"), f.array()),
        lambda replica: f.struct(
            replica["nodeID"].alias("nodeID"),
            replica["directoryID"].alias("directoryID"),
            replica["live"].alias("live"),
            replica["lagRecords"].alias("lagRecords"),
            f.lit(role).alias("role"),
        ),
    )


def recoveries(observations: DataFrame, max_gap_s: int = MAX_GAP_S) -> DataFrame:
    """Every outage: from the first unavailable stretch until the next available one, with its cause.

    `unknown_s` of it had no look; `until` null means that it lasts, as far as is known.
    """
    seconds = f.when(f.col("state") == "unknown", _seconds("since", "until")).otherwise(0.0)
    begun = f.min(f.when(f.col("state") == "unavailable", f.col("since"))).over(Window.partitionBy(*KEY, "outage"))
    down = (
        _explained(observations, max_gap_s)
        .where("state <> 'available'")
        .withColumn("begun", begun)
        .where("since >= begun")  # unknown time before the outage is no part of it
        .groupBy(*KEY, "outage", "outage_cause")
        .agg(f.min("since").alias("first"), f.max_by("end", "since").alias("until"), f.sum(seconds).alias("unknown_s"))
        .withColumnRenamed("first", "since")
    )
    return down.withColumn("recovery_s", f.when(f.col("until").isNotNull(), _seconds("since", "until"))).select(
        *KEY, "since", "until", "recovery_s", "unknown_s", f.col("outage_cause").alias("cause")
    )


def stale_voters(observations: DataFrame) -> DataFrame:
    """Voters that were not live in the last look with a known quorum, and since when no look has shown them as live."""
    seen = distinct(observations).where("quorum is not null").withColumn("r", f.explode("quorum.voters"))
    replica: tuple[str | Column, ...] = (
        *KEY,
        f.col("r.nodeID").alias("node_id"),
        f.col("r.directoryID").alias("directory_id"),
    )
    last = Window.partitionBy(*KEY)
    rows = seen.withColumn("newest", f.max("observedAt").over(last))
    grouped = rows.groupBy(*replica).agg(
        f.max(f.when(f.col("r.live"), f.col("observedAt"))).alias("last_live"),
        f.min("observedAt").alias("first_seen"),
        f.max("observedAt").alias("last_seen"),
        f.max("newest").alias("newest"),
        f.max_by(f.col("r.live"), f.col("observedAt")).alias("live"),
    )
    stale = grouped.where("last_seen = newest and not live")
    return stale.withColumn("stale_s", _seconds_between(f.coalesce("last_live", "first_seen"), f.col("newest"))).select(
        *KEY, "node_id", "directory_id", "last_live", f.col("newest").alias("as_of"), "stale_s"
    )


def _seconds_between(start: Column, end: Column) -> Column:
    return (f.unix_micros(end) - f.unix_micros(start)) / f.lit(1e6)


def upgrade_readiness(observations: DataFrame) -> DataFrame:
    """Per quorum and feature, from its newest look: the level that all nodes support, and which nodes hold it back.

    `ready` is null if a node's ranges are unknown: that is not a yes.
    """
    newest = Window.partitionBy(*KEY).orderBy(f.col("observedAt").desc())
    looks = distinct(observations).withColumn("_n", f.row_number().over(newest)).where("_n = 1").drop("_n")
    finalized = looks.select(*KEY, "observedAt", "nodes", f.explode("features").alias("feature"))
    unknown = f.transform(f.filter("nodes", lambda node: node["features"].isNull()), lambda node: node["nodeID"])
    ranges = finalized.select(
        *KEY,
        "observedAt",
        f.col("feature.name").alias("feature"),
        f.col("feature.finalized").alias("finalized"),
        unknown.alias("unknown_nodes"),
        f.explode_outer("nodes").alias("node"),
    )
    supported = f.filter("node.features", lambda each: each["name"] == f.col("feature"))[0]["maxSupported"]
    per_node = ranges.withColumn("max", f.when(f.col("node.features").isNotNull(), f.coalesce(supported, f.lit(0))))
    summary = per_node.groupBy(*KEY, "observedAt", "feature", "finalized", "unknown_nodes").agg(
        f.min("max").alias("highest_common"),
        f.max("max").alias("highest_anywhere"),
        f.collect_list(f.struct(f.col("node.nodeID").alias("node_id"), f.col("max").alias("max"))).alias("nodes"),
    )
    blocking = f.transform(
        f.filter("nodes", lambda node: node["max"] < f.col("highest_anywhere")), lambda node: node["node_id"]
    )
    ready = f.when(f.size("unknown_nodes") > 0, f.lit(None)).otherwise(
        f.col("highest_common") == f.col("highest_anywhere")
    )
    return summary.select(
        *KEY,
        f.col("observedAt").alias("as_of"),
        "feature",
        "finalized",
        named("finalized").alias("finalized_name"),
        "highest_common",
        named("highest_common").alias("highest_common_name"),
        "highest_anywhere",
        named("highest_anywhere").alias("highest_anywhere_name"),
        f.array_sort(blocking).alias("held_back_by"),
        "unknown_nodes",
        ready.alias("ready"),
    )


def answers(observations: DataFrame, max_gap_s: int = MAX_GAP_S) -> dict[str, DataFrame]:
    """Every table of this module by its name."""
    return {
        "last_looks": last_looks(observations),
        "spans": spans(observations, max_gap_s),
        "availability": availability(observations, max_gap_s),
        "service_levels": service_levels(observations, max_gap_s),
        "leader_changes": leader_changes(observations, max_gap_s),
        "lag_percentiles": lag_percentiles(observations),
        "lag_drift": lag_drift(lags(observations)),
        "recoveries": recoveries(observations, max_gap_s),
        "stale_voters": stale_voters(observations),
        "upgrade_readiness": upgrade_readiness(observations),
    }
