"""The cause of each outage: what was lost first, a change of release that was under way, or unknown.

A change of release is visible in the releases that the nodes reported. The restarts that it needs explain an outage
that begins during it. What was lost first is only known if the look before the outage had an answer.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from quorum_history.columns import QUORUM_KEY as KEY

LEADER_LOST, MAJORITY_LOST, ROLL, UNKNOWN = "leader lost", "majority lost", "roll", "unknown"
_FEW_VOTERS = 2
"""A quorum of so few voters is unavailable whenever one of them restarts."""


def rolls(looks: DataFrame, max_gap_s: int) -> DataFrame:
    """Per quorum, an array of its changes of release: nodes that changed to one release, one after the other.

    Takes distinct looks. `old_at` is the last look that shows the old release of the first node, `new_at` the first
    look that shows its new one, `until` the look after the one that shows the new release of the last node. `early` is
    `old_at`, but at most `max_gap_s` before `new_at`, because a release may have been unknown for a long time.
    """
    order = Window.partitionBy(*KEY).orderBy("changed_at", "release", "node_id")
    another = f.lag("release").over(order).eqNullSafe(f.col("release"))
    number = f.sum(f.when(another, 0).otherwise(1)).over(order.rowsBetween(Window.unboundedPreceding, 0))
    each = _changes(looks).withColumn("number", number).groupBy(*KEY, "number")
    found = each.agg(
        f.min("old_at").alias("old_at"),
        f.min("changed_at").alias("new_at"),
        f.max(f.coalesce("next", "changed_at")).alias("until"),
    )
    early = f.greatest("old_at", f.col("new_at") - f.make_dt_interval(secs=f.lit(max_gap_s))).alias("early")
    return found.groupBy(*KEY).agg(f.collect_list(f.struct("old_at", "new_at", early, "until")).alias("rolls"))


def _changes(looks: DataFrame) -> DataFrame:
    """Every change of the release of a node. A release that is unknown in between is no change."""
    order = Window.partitionBy(*KEY).orderBy("observedAt")
    reported = f.array_sort(
        f.transform(
            f.filter(f.coalesce("nodes", f.array()), lambda node: node["kafkaVersion"].isNotNull()),
            lambda node: f.struct(node["nodeID"].alias("node_id"), node["kafkaVersion"].alias("release")),
        )
    )
    rows = looks.select(*KEY, "observedAt", f.lead("observedAt").over(order).alias("next"), reported.alias("reported"))
    edges = rows.where(f.size("reported") > 0)
    edges = (
        edges.withColumn("before", f.lag("reported").over(order))
        .withColumn("after", f.lead("reported").over(order))
        .where("not (before <=> reported and after <=> reported)")  # both sides of every change, and little else
    )
    of_node = Window.partitionBy(*KEY, "node_id").orderBy("changed_at")
    return (
        edges.withColumn("node", f.explode("reported"))
        .select(*KEY, f.col("observedAt").alias("changed_at"), "next", "node.node_id", "node.release")
        .withColumn("old", f.lag("release").over(of_node))
        .withColumn("old_at", f.lag("changed_at").over(of_node))
        .where("old <> release")
    )


def explained(stretches: DataFrame, changes: DataFrame, max_gap_s: int) -> DataFrame:
    """Stretches of a quorum with the outage to which each belongs (`outage`) and the cause of the outage.

    Takes stretches in one state without holes: `state`, `cause` (what an unavailable quorum lacked), `voters` (how many
    there were), `looked` (the last look of a known stretch), `since`, `until`; and `rolls`. Adds `end`, where the next
    stretch begins, and `outage_cause`.
    """
    order = Window.partitionBy(*KEY).orderBy("since")
    begin = Window.unboundedPreceding
    marked = (
        stretches.join(changes, on=list(KEY), how="left")
        .withColumn("outage", f.sum(f.when(_is("available"), 1).otherwise(0)).over(order.rowsBetween(begin, 0)))
        .withColumn("end", f.lead("since").over(order))
        .withColumn("unseen", f.coalesce(f.lag("state").over(order), f.lit("unknown")) == "unknown")
        .withColumn("known_at", f.last("looked", ignorenulls=True).over(order.rowsBetween(begin, -1)))
    )
    own = f.when(_within_a_roll(max_gap_s), ROLL).when(f.col("unseen"), UNKNOWN).otherwise(f.col("cause"))
    whole = Window.partitionBy(*KEY, "outage").orderBy("since").rowsBetween(begin, Window.unboundedFollowing)
    first = f.first(f.when(_is("unavailable"), own), ignorenulls=True).over(whole)
    return marked.withColumn("outage_cause", first).select(
        *KEY, "outage", "state", "cause", "since", "until", "end", "outage_cause"
    )


def _is(state: str) -> Column:
    return f.col("state") == state


def _within_a_roll(max_gap_s: int) -> Column:
    """Whether a change of release was under way from the last known look before the outage to its first one.

    Of one or two voters, the change may have begun at any time before the outage: its node restarts across it.
    """
    gap = f.make_dt_interval(secs=f.lit(max_gap_s))
    begun = f.when(f.col("unseen"), f.col("known_at")).otherwise(f.col("since"))

    def under_way(roll: Column) -> Column:
        few = f.greatest(roll["old_at"], f.least(f.col("since"), roll["new_at"]) - gap)
        start = f.when(f.col("voters") <= _FEW_VOTERS, few).otherwise(roll["early"])
        return (start <= begun) & (f.col("since") <= roll["until"])

    return f.coalesce(f.exists("rolls", under_way), f.lit(False))  # noqa: FBT003 -- a column's value
