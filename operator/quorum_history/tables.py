"""Records to typed tables: voter sets and their changes, leaders, levels, registrations, endpoints, migration states.

All are pure transforms. Each takes the rows of the data source and ends with a `select` that is its schema. `settled`
first removes rows that were superseded because an uncommitted tail was replaced.
"""

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from quorum_history.levels import named

_ENDPOINT = "struct<name:string,host:string,port:int>"
_VOTERS = (
    f"struct<voters:array<struct<voterId:int,voterDirectoryId:string,endpoints:array<{_ENDPOINT}>,"
    "kRaftVersionFeature:struct<minSupportedVersion:int,maxSupportedVersion:int>>>>"
)
_LEADER = "struct<leaderId:int,voters:array<struct<voterId:int>>,grantingVoters:array<struct<voterId:int>>>"
_FEATURE = "struct<name:string,featureLevel:int>"
_RANGE = "array<struct<name:string,minSupportedVersion:int,maxSupportedVersion:int>>"
_BROKER = f"struct<brokerId:int,incarnationId:string,rack:string,features:{_RANGE},logDirs:array<string>>"
_CONTROLLER = f"struct<controllerId:int,incarnationId:string,features:{_RANGE}>"
_LISTENERS = "array<struct<name:string,host:string,port:int,securityProtocol:int>>"
_PROTOCOLS = {0: "PLAINTEXT", 1: "SSL", 2: "SASL_PLAINTEXT", 3: "SASL_SSL"}
"""The names of Kafka's `SecurityProtocol`."""
_MIGRATION = {0: "NONE", 1: "MIGRATION", 2: "PRE_MIGRATION", 3: "POST_MIGRATION", 4: "ZK"}
"""The names of Kafka's `ZkMigrationState`. Only release 3.4 wrote 1 for PRE_MIGRATION; later ones read MIGRATION."""


def settled(records: DataFrame, types: Sequence[str] | None = None) -> DataFrame:
    """The records that remain: of several at one offset, the one of the highest leader epoch.

    Records of a lower epoch from the first offset of a higher one on were cut off, even if the new tail is still
    shorter than the old one was. `types` keeps only these, before anything is sorted.
    """
    state = f.when(f.col("kind") == "checkpoint", f.col("file"))
    per_offset = Window.partitionBy("cluster", "kind", state, "offset").orderBy(
        f.col("leader_epoch").desc(), f.col("crc_valid").desc(), f.col("file"), f.col("position")
    )
    kept = _standing(records, types).withColumn("_place", f.row_number().over(per_offset))
    return kept.where("_place = 1").select(*records.columns)


def _standing(records: DataFrame, types: Sequence[str] | None = None) -> DataFrame:
    """Records that no higher leader epoch has replaced."""
    rows = records.where(f.col("fault").isNull())
    wanted = rows if types is None else rows.where(f.col("type").isin(*types))
    return wanted.join(f.broadcast(_cuts(rows)), on=["cluster", "kind", "leader_epoch"], how="left").where(
        f.col("_cut").isNull() | (f.col("offset") < f.col("_cut"))
    )


def _cuts(rows: DataFrame) -> DataFrame:
    """Per leader epoch, the first offset of any higher one: one row per epoch, however many records there are."""
    keys = ("cluster", "kind", "leader_epoch")
    epochs = rows.where("kind = 'segment'").groupBy(*keys).agg(f.min("offset").alias("_first"))
    downwards = Window.partitionBy("cluster").orderBy(f.col("leader_epoch").desc())
    higher = downwards.rowsBetween(Window.unboundedPreceding, -1)
    return epochs.select(*keys, f.min("_first").over(higher).alias("_cut"))


def faults(records: DataFrame) -> DataFrame:
    """The faults of files, each once."""
    rows = records.where(f.col("fault").isNotNull())
    return (
        rows.groupBy("cluster", "file", "fault")
        .agg(f.min("position").alias("position"))
        .select("cluster", "file", "position", "fault")
    )


def log_files(records: DataFrame) -> DataFrame:
    """What was read from each file."""
    return (
        records.where(f.col("fault").isNull())
        .groupBy("cluster", "node_id", "kind", "file")
        .agg(
            f.min("offset").alias("first_offset"),
            f.max("offset").alias("last_offset"),
            f.count("*").alias("records"),
            f.min("timestamp").alias("first_timestamp"),
            f.max("timestamp").alias("last_timestamp"),
        )
        .select(
            "cluster",
            "node_id",
            "kind",
            "file",
            "first_offset",
            "last_offset",
            "records",
            "first_timestamp",
            "last_timestamp",
        )
    )


def _decoded(records: DataFrame, types: list[str], schema: str) -> DataFrame:
    rows = records.where(f.col("type").isin(types)).withColumn("d", f.from_json("data", schema))
    return rows.withColumn("at_offset", f.when(f.col("kind") == "checkpoint", _state_end()).otherwise(f.col("offset")))


def _state_end() -> Column:
    """The offset before which a checkpoint's state ends, by its name; its records have offsets of their own."""
    end = f.regexp_extract("file", r"(\d{20})-\d{10}\.checkpoint$", 1).try_cast("bigint")
    return f.coalesce(end, f.lit(-1))


def in_order() -> Column:
    """A checkpoint's state comes before the log that continues it, even if the log has a gap before that."""
    return f.struct("at_offset", (f.col("kind") != "checkpoint").cast("int").alias("log"), "offset")


def voter_sets(records: DataFrame) -> DataFrame:
    """Every voter set that was written, with replica keys and supported versions: `voters` is sorted by node id."""
    return _decoded(records, ["KRaftVoters"], _VOTERS).select(
        "cluster",
        "kind",
        "at_offset",
        "offset",
        "leader_epoch",
        "timestamp",
        f.array_sort(
            f.transform(
                "d.voters",
                lambda voter: f.struct(
                    voter["voterId"].alias("node_id"),
                    voter["voterDirectoryId"].alias("directory_id"),
                    voter["endpoints"].alias("endpoints"),
                    voter["kRaftVersionFeature"]["minSupportedVersion"].alias("min_kraft_version"),
                    voter["kRaftVersionFeature"]["maxSupportedVersion"].alias("max_kraft_version"),
                ),
            )
        ).alias("voters"),
    )


def voter_changes(sets: DataFrame) -> DataFrame:
    """Added and removed voters, set by set; `previous_directory_id` is the disk that the node id had before.

    Changes within a gap are known from the checkpoint after it, and have its offset.
    """
    order = Window.partitionBy("cluster").orderBy(in_order())
    keys = f.transform("voters", lambda voter: f.struct(voter["node_id"], voter["directory_id"]))
    steps = (
        sets.withColumn("keys", keys)
        .withColumn("before", f.lag("keys").over(order))
        .where("before is not null")
        .withColumn("added", f.array_except("keys", "before"))
        .withColumn("removed", f.array_except("before", "keys"))
    )
    change = f.explode(
        f.concat(
            f.transform("added", lambda key: f.struct(f.lit("added").alias("change"), key.alias("key"))),
            f.transform("removed", lambda key: f.struct(f.lit("removed").alias("change"), key.alias("key"))),
        )
    )
    flat = steps.withColumn("c", change).select(
        "cluster",
        "kind",
        "at_offset",
        "offset",
        "leader_epoch",
        "timestamp",
        f.col("c.change").alias("change"),
        f.col("c.key.node_id").alias("node_id"),
        f.col("c.key.directory_id").alias("directory_id"),
    )
    of_node = Window.partitionBy("cluster", "node_id").orderBy(in_order()).rowsBetween(Window.unboundedPreceding, -1)
    previous = f.when(f.col("change") == "added", f.last("directory_id", ignorenulls=True).over(of_node))
    return flat.withColumn("previous_directory_id", previous).select(
        "cluster",
        f.col("at_offset").alias("offset"),
        "leader_epoch",
        "timestamp",
        "change",
        "node_id",
        "directory_id",
        "previous_directory_id",
    )


def leaders(records: DataFrame) -> DataFrame:
    """The leader of each epoch, its start, and the next leader's first record (null: it leads, as far as known)."""
    changes = _decoded(records, ["LeaderChange"], _LEADER).where("kind = 'segment'")
    order = Window.partitionBy("cluster").orderBy("offset")
    return (
        changes.withColumn("until", f.lead("timestamp").over(order))
        .withColumn("end_offset", f.lead("offset").over(order))
        .select(
            "cluster",
            "leader_epoch",
            f.col("d.leaderId").alias("leader_id"),
            f.col("offset").alias("start_offset"),
            "end_offset",
            f.col("timestamp").alias("since"),
            "until",
            f.sort_array(f.col("d.voters.voterId")).alias("voters"),
            f.sort_array(f.col("d.grantingVoters.voterId")).alias("granting_voters"),
        )
    )


def feature_levels(records: DataFrame) -> DataFrame:
    """Every level that a feature was set to, 0 being off; kraft.version comes from its control record."""
    plain = _decoded(records, ["FEATURE_LEVEL_RECORD"], _FEATURE).withColumn("level", f.col("d.featureLevel"))
    kraft = (
        _decoded(records, ["KRaftVersion"], "struct<kRaftVersion:int>")
        .withColumn("level", f.col("d.kRaftVersion"))
        .withColumn("d", f.struct(f.lit("kraft.version").alias("name"), f.col("level").alias("featureLevel")))
    )
    order = Window.partitionBy("cluster", "feature").orderBy(in_order())
    rows = plain.unionByName(kraft).withColumn("feature", f.col("d.name"))
    return (
        rows.withColumn("previous_level", f.lag("level").over(order))
        .where("previous_level is null or previous_level <> level")
        .select(*_PLACE, "feature", "level", "previous_level", named("level").alias("level_name"))
    )


def registrations(records: DataFrame) -> DataFrame:
    """Registrations and unregistrations of brokers and controllers; `features` holds their reported ranges."""
    broker = _decoded(records, ["REGISTER_BROKER_RECORD", "UNREGISTER_BROKER_RECORD"], _BROKER).select(
        *_REGISTRATION, f.lit("broker").alias("role"), f.col("d.brokerId").alias("registered_id"),
        f.col("d.incarnationId").alias("incarnation_id"), f.col("d.rack").alias("rack"),
        f.col("d.features").alias("features"),
    )  # fmt: skip
    controller = _decoded(records, ["REGISTER_CONTROLLER_RECORD", "UNREGISTER_CONTROLLER_RECORD"], _CONTROLLER).select(
        *_REGISTRATION, f.lit("controller").alias("role"), f.col("d.controllerId").alias("registered_id"),
        f.col("d.incarnationId").alias("incarnation_id"), f.lit(None).cast("string").alias("rack"),
        f.col("d.features").alias("features"),
    )  # fmt: skip
    gone = f.col("type").startswith("UNREGISTER")
    return broker.unionByName(controller).select(
        *_PLACE, "role", "registered_id",
        f.when(gone, "unregistered").otherwise("registered").alias("change"), "incarnation_id", "rack", "features",
    )  # fmt: skip


def endpoint_changes(records: DataFrame) -> DataFrame:
    """Voters, brokers and controllers whose listeners differ from their last ones, by name: their order has no meaning.

    The first listeners of each are no change. BROKER_REGISTRATION_CHANGE_RECORD has no listeners in any version.
    """
    voter = _decoded(records, ["KRaftVoters"], _VOTERS).withColumn("v", f.explode("d.voters"))
    endpoints = f.transform("v.endpoints", lambda each: _endpoint(each, f.lit(None).cast("string")))
    found = voter.select(
        *_PLACE, f.lit("voter").alias("role"), f.col("v.voterId").alias("node_id"), endpoints.alias("endpoints")
    )
    for role in ("broker", "controller"):
        schema = f"struct<{role}Id:int,endPoints:{_LISTENERS}>"
        registered = _decoded(records, [f"REGISTER_{role.upper()}_RECORD"], schema)
        endpoints = f.transform(
            "d.endPoints", lambda each: _endpoint(each, _named(each["securityProtocol"], _PROTOCOLS))
        )
        found = found.unionByName(
            registered.select(
                *_PLACE, f.lit(role).alias("role"), f.col(f"d.{role}Id").alias("node_id"), endpoints.alias("endpoints")
            )
        )
    order = Window.partitionBy("cluster", "role", "node_id").orderBy(in_order())
    return (
        found.withColumn("after", f.array_sort("endpoints"))
        .withColumn("before", f.lag("after").over(order))
        .where("before <> after")
        .select(*_PLACE, "role", "node_id", "before", "after")
    )


def _endpoint(each: Column, security_protocol: Column) -> Column:
    return f.struct(each["name"].alias("name"), each["host"].alias("host"), each["port"].alias("port"),
                    security_protocol.alias("security_protocol"))  # fmt: skip


def _named(number: Column, names: Mapping[int, str]) -> Column:
    """The name of a number; `UNKNOWN_n` if it has none here."""
    pairs = [f.lit(each) for pair in names.items() for each in pair]
    return f.coalesce(f.create_map(*pairs)[number], f.concat(f.lit("UNKNOWN_"), number))


def migration_states(records: DataFrame) -> DataFrame:
    """Every state of a migration from ZooKeeper that a cluster came to; a state that is written again is no step."""
    rows = _decoded(records, ["ZK_MIGRATION_STATE_RECORD"], "struct<zkMigrationState:int>")
    order = Window.partitionBy("cluster").orderBy(in_order())
    return (
        rows.withColumn("number", f.col("d.zkMigrationState"))
        .withColumn("state", _named(f.col("number"), _MIGRATION))
        .withColumn("previous_state", f.lag("state").over(order))
        .where("previous_state is null or previous_state <> state")
        .select(*_PLACE, "state", "number", "previous_state")
    )


_PLACE = ("cluster", "kind", "at_offset", "offset", "leader_epoch", "timestamp")
_REGISTRATION = (*_PLACE, "type")

TIMELINE_TYPES = (
    "KRaftVoters",
    "KRaftVersion",
    "LeaderChange",
    "FEATURE_LEVEL_RECORD",
    "REGISTER_BROKER_RECORD",
    "UNREGISTER_BROKER_RECORD",
    "REGISTER_CONTROLLER_RECORD",
    "UNREGISTER_CONTROLLER_RECORD",
    "ZK_MIGRATION_STATE_RECORD",
)
"""The record types that the timelines need; nothing else of a log has to be decoded for them."""


def timelines(records: DataFrame) -> dict[str, DataFrame]:
    """Every table of this module by its name."""
    rows = settled(records, TIMELINE_TYPES).persist()
    sets = voter_sets(rows)
    return {
        "log_files": log_files(_standing(records)),
        "faults": faults(records),
        "voter_sets": sets,
        "voter_changes": voter_changes(sets),
        "leaders": leaders(rows),
        "feature_levels": feature_levels(rows),
        "registrations": registrations(rows),
        "endpoint_changes": endpoint_changes(rows),
        "migration_states": migration_states(rows),
    }
