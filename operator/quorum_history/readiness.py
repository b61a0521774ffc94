"""Which feature levels a cluster could have, from its metadata log alone: its registrations and finalized levels."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from quorum_history.levels import named
from quorum_history.tables import in_order

_NODE = "struct<role:string,node_id:int>"
_FEATURES_MAX = 50
"""Kafka 4.4 has seven features. Of a cluster with more than this, the others are left out: each costs a row a node."""


def log_readiness(registrations: DataFrame, feature_levels: DataFrame) -> DataFrame:
    """Per cluster and feature: the level that every registered node supports, and which nodes hold it back.

    A node that registered without any range is unknown. One that registered without this feature has level 0. `ready`
    is null if a node is unknown or no controller is registered, as below 3.7-IV0: that is not a yes.
    """
    nodes = _registered(registrations)
    finalized = _finalized(feature_levels)
    keys = ["cluster", "feature"]
    features = _features(finalized, nodes.select("cluster", f.explode("ranges.name").alias("feature")))
    found = features.join(nodes, on="cluster", how="left").join(finalized, on=keys, how="left")
    return _named(found.withColumn("max", _highest()).groupBy(*keys, "finalized").agg(*_summary()))


def _features(finalized: DataFrame, supported: DataFrame) -> DataFrame:
    """The features of each cluster: the finalized ones first, then by name, and no more than the bound."""
    last = f.lit(1).alias("last")
    found = finalized.select("cluster", "feature", f.lit(0).alias("last")).union(supported.select("*", last))
    each = found.groupBy("cluster", "feature").agg(f.min("last").alias("last"))
    order = Window.partitionBy("cluster").orderBy("last", "feature")
    return (
        each.withColumn("number", f.row_number().over(order))
        .where(f.col("number") <= _FEATURES_MAX)
        .drop("number", "last")
    )


def _registered(registrations: DataFrame) -> DataFrame:
    """The last registration of each node that has not been unregistered; a checkpoint replaces what was before it."""
    whole = Window.partitionBy("cluster")
    in_checkpoint = f.col("kind") == "checkpoint"
    begin = f.max(f.when(in_checkpoint, f.col("at_offset"))).over(whole)
    standing = begin.isNull() | (f.col("at_offset") >= begin)
    latest = Window.partitionBy("cluster", "role", "registered_id").orderBy(in_order().desc())
    rows = registrations.withColumn("standing", standing).where("standing")
    last = rows.withColumn("number", f.row_number().over(latest)).where("number = 1 and change = 'registered'")
    node = f.struct("role", f.col("registered_id").alias("node_id")).alias("node")
    ranges = f.when(f.size("features") > 0, f.col("features"))
    return last.select("cluster", node, ranges.alias("ranges"))


def _finalized(feature_levels: DataFrame) -> DataFrame:
    """The last level of each feature."""
    latest = Window.partitionBy("cluster", "feature").orderBy(in_order().desc())
    rows = feature_levels.withColumn("number", f.row_number().over(latest)).where("number = 1")
    return rows.select("cluster", "feature", f.col("level").alias("finalized"))


def _highest() -> Column:
    """The highest level of the feature that a node supports, null if the node is unknown."""
    of_feature = f.filter("ranges", lambda each: each["name"] == f.col("feature"))
    highest = f.array_max(f.transform(of_feature, lambda each: each["maxSupportedVersion"]))
    return f.when(f.col("ranges").isNotNull(), f.coalesce(highest, f.lit(0)))


def _summary() -> tuple[Column, ...]:
    role = f.col("node.role")
    return (
        f.min("max").alias("highest_common"),
        f.max("max").alias("highest_anywhere"),
        f.collect_list(f.struct("node", "max")).alias("nodes"),
        f.count(f.when(role == "broker", 1)).alias("brokers"),
        f.count(f.when(role == "controller", 1)).alias("controllers"),
    )


def _named(summary: DataFrame) -> DataFrame:
    known = f.filter("nodes", lambda each: each["node"].isNotNull())
    behind = f.filter(known, lambda each: each["max"] < f.col("highest_anywhere"))
    silent = f.filter(known, lambda each: each["max"].isNull())
    unknown = (f.size("unknown_nodes") > 0) | (f.col("controllers") == 0)
    ready = f.when(~unknown, f.col("highest_common") == f.col("highest_anywhere"))
    rows = summary.withColumn("unknown_nodes", _nodes(silent)).withColumn("held_back_by", _nodes(behind))
    return rows.select(
        "cluster",
        "feature",
        "finalized",
        named("finalized").alias("finalized_name"),
        "highest_common",
        named("highest_common").alias("highest_common_name"),
        "highest_anywhere",
        named("highest_anywhere").alias("highest_anywhere_name"),
        "held_back_by",
        "unknown_nodes",
        "brokers",
        "controllers",
        ready.alias("ready"),
    )


def _nodes(rows: Column) -> Column:
    return f.array_sort(f.transform(rows, lambda each: each["node"])).cast(f"array<{_NODE}>")
