"""Each roll and each level step of a quorum, with how the quorum was before, during and after it, from observations.

A roll is seen by the releases that nodes report, a level step by the finalized levels: each lies between two looks.
What no look shows is null, never fine. A roll that keeps the release, such as one for a setting, cannot be seen here.
"""

from pyspark.sql import Column, DataFrame, GroupedData, Window
from pyspark.sql import functions as f

from quorum_history.columns import LAG_ACCURACY
from quorum_history.columns import QUORUM_KEY as KEY
from quorum_history.observations import MAX_GAP_S, distinct, spans

STRETCH_S = 3600
"""The stretches before and after a change are not longer than this."""
_CHANGE = (*KEY, "kind", "until", "after")
_PARTS = ("before", "during", "after")


def compared(observations: DataFrame, max_gap_s: int = MAX_GAP_S) -> DataFrame:
    """Per quorum and change: the quorum during it, and in two equal stretches right before and right after it.

    A stretch ends at the neighbouring change, and at the first or last look. A share is that of the known time.
    """
    looks = distinct(observations)
    found = _bounded(_rolls(looks).unionByName(_level_steps(looks)), looks).persist()
    stretches = _stretches(found)
    measured = stretches
    for values in (
        _times(stretches, spans(observations, max_gap_s)),
        _elections(stretches, looks),
        _lags(stretches, looks),
    ):
        measured = measured.join(values, on=[*_CHANGE, "part"], how="left")
    joined = found.join(_in_parts(measured), on=list(_CHANGE), how="left")
    return joined.select(
        *KEY,
        "kind",
        "before",
        "after",
        "since",
        "until",
        ((_micros("until") - _micros("since")) / 1e6).alias("seconds"),
        f.col("unavailable_s_during").alias("unavailable_s"),
        f.col("unknown_s_during").alias("unknown_s"),
        f.col("leader_changes_during").alias("leader_changes"),
        (f.col("length") / 1e6).alias("compared_s"),
        "availability_before",
        "availability_after",
        f.col("unknown_s_before").alias("unknown_before_s"),
        f.col("unknown_s_after").alias("unknown_after_s"),
        f.col("p95_lag_before").alias("p95_lag_before_records"),
        f.col("p95_lag_after").alias("p95_lag_after_records"),
        "leader_changes_before",
        "leader_changes_after",
    )


# --- the changes ------------------------------------------------------------------------------------------------------


def _rolls(looks: DataFrame) -> DataFrame:
    """Nodes that came to the same release one after the other, as one change.

    It begins with the last look at the earlier release of any of them, and ends with the first look at the new release
    of the last one. A change of a node to another release begins another roll.
    """
    nodes = looks.select(*KEY, "observedAt", f.explode("nodes").alias("node")).where("node.kafkaVersion is not null")
    of_node = Window.partitionBy(*KEY, "node.nodeID").orderBy("observedAt", "release")
    changed = (
        nodes.withColumn("release", f.col("node.kafkaVersion"))
        .withColumn("earlier", f.lag("release").over(of_node))
        .withColumn("seen", f.lag("observedAt").over(of_node))
        .where("earlier <> release")
    )
    order = Window.partitionBy(*KEY).orderBy("observedAt", "release", "node.nodeID")
    begins = f.when(f.lag("release").over(order) == f.col("release"), 0).otherwise(1)
    upto = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    numbered = changed.withColumn("_begins", begins).withColumn("_roll", f.sum("_begins").over(upto))
    return (
        numbered.groupBy(*KEY, "_roll", "release")
        .agg(
            f.min("seen").alias("since"),
            f.max("observedAt").alias("until"),
            f.concat_ws(", ", f.array_sort(f.collect_set("earlier"))).alias("before"),
        )
        .select(*KEY, f.lit("roll").alias("kind"), "since", "until", "before", f.col("release").alias("after"))
    )


def _level_steps(looks: DataFrame) -> DataFrame:
    """Finalized levels that differ from those of the last look that had any; a feature that is not listed is off."""
    order = Window.partitionBy(*KEY).orderBy("observedAt")
    known = (
        looks.where("features is not null")
        .withColumn("earlier", f.lag("features").over(order))
        .withColumn("since", f.lag("observedAt").over(order))
        .where("earlier is not null")
    )
    names = f.array_union(*(f.transform(each, lambda feature: feature["name"]) for each in ("earlier", "features")))
    steps = (
        known.withColumn("feature", f.explode(names))
        .where("feature is not null")
        .withColumn("_before", _level("earlier"))
        .withColumn("_after", _level("features"))
        .where("_before <> _after")
    )
    return steps.select(
        *KEY,
        f.lit("level step").alias("kind"),
        "since",
        f.col("observedAt").alias("until"),
        f.concat_ws(" ", "feature", "_before").alias("before"),
        f.concat_ws(" ", "feature", "_after").alias("after"),
    )


def _level(features: str) -> Column:
    """The level of `feature` in this column, 0 if it is not listed."""
    listed = f.filter(features, lambda each: each["name"] == f.col("feature"))
    return f.coalesce(f.array_max(f.transform(listed, lambda each: each["finalized"])), f.lit(0))


# --- the stretches of time --------------------------------------------------------------------------------------------


def _bounded(changes: DataFrame, looks: DataFrame) -> DataFrame:
    """The changes with the length of the stretches around each: as long before as after, 0 if there is none."""
    observed = looks.groupBy(*KEY).agg(f.min("observedAt").alias("first"), f.max("observedAt").alias("last"))
    begun = Window.partitionBy(*KEY).orderBy(_micros("since")).rangeBetween(Window.unboundedPreceding, -1)
    ended = Window.partitionBy(*KEY).orderBy(_micros("until")).rangeBetween(1, Window.unboundedFollowing)
    free = (
        changes.withColumn("_last_end", f.max("until").over(begun))
        .withColumn("_next_begin", f.min("since").over(ended))
        .join(observed, on=list(KEY), how="left")
        .withColumn("_from", f.greatest("first", "_last_end"))
        .withColumn("_to", f.least("last", "_next_begin"))
    )
    length = f.least(
        f.lit(STRETCH_S * 1_000_000), _micros("since") - _micros("_from"), _micros("_to") - _micros("until")
    )
    return free.withColumn("length", f.greatest(f.lit(0), length)).select(*changes.columns, "length")


def _stretches(changes: DataFrame) -> DataFrame:
    """Three rows a change: before, during and after it, each from `begin` to `end`."""
    since, until = _micros("since"), _micros("until")
    limits = ((since - f.col("length"), since), (since, until), (until, until + f.col("length")))
    parts = f.array(
        *(
            f.struct(f.lit(part).alias("part"), begin.alias("begin"), end.alias("end"))
            for part, (begin, end) in zip(_PARTS, limits, strict=True)
        )
    )
    return changes.withColumn("p", f.explode(parts)).select(*_CHANGE, "p.part", "p.begin", "p.end")


def _micros(column: str) -> Column:
    return f.unix_micros(f.col(column))


def _in_parts(measured: DataFrame) -> DataFrame:
    """One row a change, with a column for each value and part."""
    values = ("availability", "unavailable_s", "unknown_s", "leader_changes", "p95_lag")
    return measured.groupBy(*_CHANGE).agg(
        *(
            f.max(f.when(f.col("part") == part, f.col(value))).alias(f"{value}_{part}")
            for value in values
            for part in _PARTS
        )
    )


# --- what is measured in each -----------------------------------------------------------------------------------------


def _times(stretches: DataFrame, states: DataFrame) -> DataFrame:
    """Unknown seconds; unavailable ones and the availability, null if all of it is unknown."""
    named = states.select(*KEY, "state", _micros("since").alias("_since"), _micros("until").alias("_until"))
    cut = stretches.join(named, on=list(KEY), how="inner").where("_since < end and _until > begin")
    seconds = (f.least("_until", "end") - f.greatest("_since", "begin")) / 1e6
    totals = cut.groupBy(*_CHANGE, "part").agg(
        *(
            f.sum(f.when(f.col("state") == state, seconds).otherwise(0.0)).alias(f"_{state}")
            for state in ("available", "unavailable", "unknown")
        )
    )
    known = f.col("_available") + f.col("_unavailable")
    return totals.select(
        *_CHANGE,
        "part",
        f.when(known > 0, f.col("_available") / known).alias("availability"),
        f.when(known > 0, f.col("_unavailable")).alias("unavailable_s"),
        f.col("_unknown").alias("unknown_s"),
    )


def _elections(stretches: DataFrame, looks: DataFrame) -> DataFrame:
    """Leader epochs that began since the last look with an epoch, at the look that shows them; none if no look does."""
    order = Window.partitionBy(*KEY).orderBy("observedAt")
    epochs = looks.where("quorum.leaderEpoch is not null").withColumn("epoch", f.col("quorum.leaderEpoch"))
    earlier = f.lag("epoch").over(order)
    steps = epochs.withColumn("earlier", earlier).where("earlier is not null")
    step = f.greatest(f.col("epoch") - f.col("earlier"), f.lit(0)).alias("step")
    seen = steps.select(*KEY, _micros("observedAt").alias("_at"), step)
    return _within(stretches, seen).agg(f.sum("step").alias("leader_changes"))


def _lags(stretches: DataFrame, looks: DataFrame) -> DataFrame:
    """How many records the voters were behind the leader, 95 % of the looks and voters."""
    voters = looks.withColumn("v", f.explode("quorum.voters"))
    voters = voters.where("v.lagRecords is not null and v.nodeID <> quorum.leaderID")
    seen = voters.select(*KEY, _micros("observedAt").alias("_at"), f.col("v.lagRecords").alias("lag"))
    return _within(stretches, seen).agg(f.percentile_approx("lag", 0.95, LAG_ACCURACY).alias("p95_lag"))


def _within(stretches: DataFrame, seen: DataFrame) -> GroupedData:
    """What was seen after the beginning of each stretch and until its end."""
    rows = stretches.join(seen, on=list(KEY), how="inner").where("_at > begin and _at <= end")
    return rows.groupBy(*_CHANGE, "part")
