"""The tables that answer questions from metadata logs alone, for the `catalogue`."""

from quorum_history.columns import CLUSTER, Column, Table

_NODES = "array<struct<role:string,node_id:int>>"

FROM_LOGS = (
    Table(
        name="voter_churn",
        row="cluster and month with changes of voters",
        command="timeline",
        key=("cluster", "month"),
        columns=(
            CLUSTER,
            Column("month", "date", "its first day, in UTC"),
            Column("added", "bigint", "voters that were added", "voters"),
            Column("removed", "bigint", "voters that were removed", "voters"),
            Column("replaced", "bigint", "those added whose node id had another directory id before", "voters"),
        ),
        tests="test_trends",
    ),
    Table(
        name="log_readiness",
        row="cluster and feature that is finalized or supported",
        command="timeline",
        key=("cluster", "feature"),
        columns=(
            CLUSTER,
            Column("feature", "string", "as Kafka names it"),
            Column("finalized", "int", "its last level in the log, null if the log has none"),
            Column("finalized_name", "string", "`4.3-IV0 (30)` of `metadata.version`, the number of all others"),
            Column("highest_common", "int", "the highest level that every registered node which said so supports"),
            Column("highest_common_name", "string", "its name"),
            Column("highest_anywhere", "int", "the highest level that any registered node supports"),
            Column("highest_anywhere_name", "string", "its name"),
            Column("held_back_by", _NODES, "registered nodes that support less than that"),
            Column("unknown_nodes", _NODES, "nodes whose registration has no range of any feature"),
            Column("brokers", "bigint", "registered brokers", "nodes"),
            Column("controllers", "bigint", "registered controllers; below `3.7-IV0` none registers", "nodes"),
            Column("ready", "boolean", "whether all support the highest; null is unknown, as without any controller"),
        ),
        tests="test_readiness",
    ),
)

VERDICTS = Table(
    name="downgrade_verdicts",
    row="cluster and lower level",
    command="downgrade",
    key=("cluster", "target"),
    columns=(
        CLUSTER,
        Column("target", "int", "level of `metadata.version` to go down to"),
        Column("target_name", "string", "such as `4.3-IV0 (30)`"),
        Column("level", "int", "finalized level of `metadata.version`, null if it was never set"),
        Column("level_name", "string", "such as `4.3-IV0 (30)`"),
        Column("verdict", "string", "Kafka's answer to a safe downgrade: `accepted`, `refused`, null: unknown"),
        Column("reason", "string", "why"),
        Column("losses", "bigint", "kinds of loss that `downgrade_losses` has for this target", "kinds"),
    ),
    tests="test_downgrade",
)
