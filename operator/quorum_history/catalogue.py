"""Every table that this program writes: a row's meaning, its key, and each column with type, unit and meaning.

`python -m quorum_history.catalogue` prints docs/tables.md. Tests compare the computed tables with this, and `quality`
checks the keys at every run.
"""

import sys
from collections.abc import Iterator

from quorum_history.catalogue_answers import ANSWERS
from quorum_history.catalogue_logs import FROM_LOGS, VERDICTS
from quorum_history.columns import (
    AT_OFFSET,
    CLUSTER,
    ENDPOINTS,
    EPOCH,
    KIND,
    LISTENERS,
    NODE,
    OFFSET,
    QUORUM,
    RANGES,
    REPLICAS,
    TIME,
    Column,
    Table,
)
from quorum_history.state import VERSION

TABLES = (
    Table(
        name="records",
        row="record of a metadata log or checkpoint",
        command="ingest",
        key=("cluster", "kind", "file", "offset", "leader_epoch"),
        columns=(
            CLUSTER,
            Column("node_id", "int", "controller or broker whose copy it was read from, -1 if unknown"),
            KIND,
            Column("file", "string", "path or URL"),
            Column("position", "bigint", "of its batch in the file", "bytes"),
            OFFSET,
            TIME,
            EPOCH,
            Column("base_offset", "bigint", "first offset of its batch"),
            Column("control", "boolean", "whether it is a control record"),
            Column("crc_valid", "boolean", "whether the checksum of its batch is right"),
            Column("type", "string", "as `kafka-dump-log` names it, `UNKNOWN_n` for what no schema has"),
            Column("version", "int", "of the record's schema"),
            Column("data", "string", "JSON as `kafka-dump-log` prints it; base64 where no schema fits"),
            Column("fault", "string", "null here; what is wrong where Spark reads `kraft-metadata` itself"),
        ),
        tests="test_ingest, test_source",
    ),
    Table(
        name="observations",
        row="look at a quorum",
        command="ingest",
        key=(),
        columns=(
            Column("schemaVersion", "int", "of the line; 1"),
            Column("observedAt", "timestamp", "when the operator looked", "UTC"),
            QUORUM[1],
            QUORUM[2],
            QUORUM[0],
            Column("unknownReason", "string", "why `quorum` is null"),
            Column(
                "quorum",
                "struct<leaderID:int,leaderEpoch:int,highWatermark:bigint,"
                f"voters:{REPLICAS},observers:{REPLICAS}>",
                "what the leader said; null is unknown",
            ),
            Column(
                "nodes",
                "array<struct<nodeID:int,kafkaVersion:string,"
                "features:array<struct<name:string,minSupported:int,maxSupported:int>>>>",
                "release and supported versions of each node; null is unknown",
            ),
            Column("features", "array<struct<name:string,finalized:int>>", "finalized levels; null is unknown"),
        ),
        tests="test_ingest, test_observations",
    ),
    Table(
        name="faults",
        row="thing that is wrong with a log",
        command="ingest",
        key=("cluster", "file", "position", "offset", "fault"),
        columns=(
            CLUSTER,
            Column("file", "string", "path or URL"),
            Column("position", "bigint", "in the file, null where only the offset is known", "bytes"),
            Column("offset", "bigint", "in the log, null where only the position is known"),
            Column("fault", "string", "what it is"),
        ),
        tests="test_ingest",
    ),
    Table(
        name="rejected_lines",
        row="line that is no observation, up to 100 of a file",
        command="ingest",
        key=("file", "position"),
        columns=(
            Column("file", "string", "path or URL"),
            Column("position", "bigint", "where the line begins", "bytes"),
            Column("reason", "string", "why, and the beginning of the line"),
        ),
        tests="test_ingest",
    ),
    Table(
        name="log_files",
        row="file that records were kept of",
        command="timeline",
        key=("cluster", "node_id", "kind", "file"),
        columns=(
            CLUSTER,
            NODE,
            KIND,
            Column("file", "string", "path or URL"),
            Column("first_offset", "bigint", "of the records that were kept"),
            Column("last_offset", "bigint", "of the records that were kept"),
            Column("records", "bigint", "how many were kept", "records"),
            Column("first_timestamp", "timestamp", "of the records that were kept", "UTC"),
            Column("last_timestamp", "timestamp", "of the records that were kept", "UTC"),
        ),
        tests="test_tables",
    ),
    Table(
        name="voter_sets",
        row="voter set that was written",
        command="timeline",
        key=("cluster", "kind", "at_offset", "offset"),
        columns=(
            CLUSTER,
            KIND,
            AT_OFFSET,
            OFFSET,
            EPOCH,
            TIME,
            Column(
                "voters",
                f"array<struct<node_id:int,directory_id:string,endpoints:{ENDPOINTS},"
                "min_kraft_version:int,max_kraft_version:int>>",
                "replica keys, endpoints and supported range of `kraft.version`, by node id",
            ),
        ),
        tests="test_tables",
    ),
    Table(
        name="voter_changes",
        row="voter that was added or removed",
        command="timeline",
        key=("cluster", "offset", "change", "node_id", "directory_id"),
        columns=(
            CLUSTER,
            Column("offset", "bigint", "from where in the log it is known"),
            EPOCH,
            TIME,
            Column("change", "string", "`added` or `removed`"),
            NODE,
            Column("directory_id", "string", "of the voter's disk"),
            Column("previous_directory_id", "string", "of the disk that the node id had before, if it had one"),
        ),
        tests="test_tables",
    ),
    Table(
        name="leaders",
        row="leader epoch",
        command="timeline",
        key=("cluster", "leader_epoch"),
        columns=(
            CLUSTER,
            EPOCH,
            Column("leader_id", "int", "controller that led"),
            Column("start_offset", "bigint", "first offset of the epoch"),
            Column("end_offset", "bigint", "first offset of the next epoch, null for the last"),
            Column("since", "timestamp", "when the leader began", "UTC"),
            Column("until", "timestamp", "when the next leader began, null: still, as far as is known", "UTC"),
            Column("voters", "array<int>", "node ids of the voters, as the leader wrote them"),
            Column("granting_voters", "array<int>", "node ids of those that voted for it"),
        ),
        tests="test_tables",
    ),
    Table(
        name="feature_levels",
        row="step of a feature's finalized level",
        command="timeline",
        key=("cluster", "kind", "at_offset", "offset", "feature"),
        columns=(
            CLUSTER,
            KIND,
            AT_OFFSET,
            OFFSET,
            EPOCH,
            TIME,
            Column("feature", "string", "as Kafka names it"),
            Column("level", "int", "finalized level; 0 is off"),
            Column("previous_level", "int", "before, null for the first that is known"),
            Column("level_name", "string", "the level: `4.3-IV0 (30)` of `metadata.version`, the number of all others"),
        ),
        tests="test_tables",
    ),
    Table(
        name="registrations",
        row="broker or controller that registered or went",
        command="timeline",
        key=("cluster", "kind", "at_offset", "offset", "role", "registered_id"),
        columns=(
            CLUSTER,
            KIND,
            AT_OFFSET,
            OFFSET,
            EPOCH,
            TIME,
            Column("role", "string", "`broker` or `controller`"),
            Column("registered_id", "int", "its node id"),
            Column("change", "string", "`registered` or `unregistered`"),
            Column("incarnation_id", "string", "of its process"),
            Column("rack", "string", "of a broker"),
            Column("features", RANGES, "versions that it said to support"),
        ),
        tests="test_tables",
    ),
    Table(
        name="endpoint_changes",
        row="voter, broker or controller whose listeners changed",
        command="timeline",
        key=("cluster", "kind", "at_offset", "offset", "role", "node_id"),
        columns=(
            CLUSTER,
            KIND,
            AT_OFFSET,
            OFFSET,
            EPOCH,
            TIME,
            Column("role", "string", "`voter` (in the voter set), `broker` or `controller` (in their registrations)"),
            NODE,
            Column("before", LISTENERS, "its last listeners, by name; a voter set has no security protocol"),
            Column("after", LISTENERS, "its listeners from here on"),
        ),
        tests="test_tables",
    ),
    Table(
        name="migration_states",
        row="step of a migration from ZooKeeper",
        command="timeline",
        key=("cluster", "kind", "at_offset", "offset"),
        columns=(
            CLUSTER,
            KIND,
            AT_OFFSET,
            OFFSET,
            EPOCH,
            TIME,
            Column("state", "string", "as Kafka names it: `NONE`, `PRE_MIGRATION`, `MIGRATION`, `POST_MIGRATION`"),
            Column("number", "int", "of the state in the record; only 3.4 wrote 1 for `PRE_MIGRATION`"),
            Column("previous_state", "string", "before, null for the first that is known"),
        ),
        tests="test_tables",
    ),
    *FROM_LOGS,
    *ANSWERS,
    Table(
        name="downgrade_analysed",
        row="cluster whose log was replayed",
        command="downgrade",
        key=("cluster",),
        columns=(
            CLUSTER,
            Column("level", "int", "finalized level of `metadata.version`, null if it was never set"),
            Column("level_name", "string", "such as `4.3-IV0 (30)`"),
            Column("end_offset", "bigint", "up to where the log was replayed, or that of a checkpoint newer than it"),
            Column("faults", "bigint", "damage from the checkpoint on with which the replay began, in any replica, and"
                   " records without a schema; with any, losses are not known in full", "faults"),
        ),
        tests="test_downgrade",
    ),
    Table(
        name="downgrade_losses",
        row="cluster, target level and kind of loss",
        command="downgrade",
        key=("cluster", "target", "record_type", "effect", "what"),
        columns=(
            CLUSTER,
            Column("target", "int", "level of `metadata.version` to go down to"),
            Column("target_name", "string", "its name, such as `4.3-IV0`"),
            Column("record_type", "string", "of what is lost"),
            Column("effect", "string", "`drop`: the records go; `truncate`: they lose a field"),
            Column("what", "string", "what Kafka tells its loss handler"),
            Column("count", "bigint", "how many", "records"),
            Column("examples", "array<string>", "up to five of them"),
        ),
        tests="test_downgrade",
    ),
    VERDICTS,
    Table(
        name="quality",
        row="expectation that was checked",
        command="ingest, timeline, observe, downgrade",
        key=("check", "table"),
        columns=(
            Column("check", "string", "`key`: no two rows share it (of `records`: no file's offsets of an epoch twice);"
                   " `gaps`: every missing offset is a fault;"
                   " `holes`: spans follow each other; `unknown`: days add up to spans, unknown time included"),
            Column("table", "string", "that was checked"),
            Column("passed", "boolean", "whether all of it was as it should be"),
            Column("wrong", "bigint", "how much was not", "rows"),
            Column("example", "string", "the first of it"),
        ),
        tests="test_quality",
    ),
)  # fmt: skip
"""In the order in which commands write them."""

BY_NAME = {table.name: table for table in TABLES}


def page() -> Iterator[str]:
    """The lines of docs/tables.md."""
    yield "# The tables of `quorum-history`"
    yield ""
    yield "Generated from `operator/quorum_history/catalogue.py` by `make tables`. Types are Spark's, times are UTC."
    yield f"A null is unknown or does not apply, never zero. The layout has version {VERSION}, which"
    yield "`ingest/state-*.json` in the folder of the tables names."
    for table in TABLES:
        key = ", ".join(f"`{name}`" for name in table.key) or "none"
        yield ""
        yield f"## `{table.name}`"
        yield ""
        yield f"One row per {table.row}. Written by {table.command}. Key: {key}. Tests: {table.tests}."
        yield ""
        yield "| column | type | unit | meaning |"
        yield "|---|---|---|---|"
        yield from (f"| `{each.name}` | `{each.type}` | {each.unit} | {each.meaning} |" for each in table.columns)


if __name__ == "__main__":
    sys.stdout.write("\n".join(page()) + "\n")
