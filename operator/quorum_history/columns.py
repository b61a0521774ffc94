"""The types that describe a table and its columns, and the columns that many tables have."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """`type` is Spark's name; `unit` is empty if there is none."""

    name: str
    type: str
    meaning: str
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """`key`: the columns that no two rows share; empty if only all columns together distinguish rows."""

    name: str
    row: str
    command: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    tests: str


CLUSTER = Column("cluster", "string", "cluster id, or the folder of a log that came without one")
KIND = Column("kind", "string", "`segment` or `checkpoint`: where the record was")
AT_OFFSET = Column("at_offset", "bigint", "from where in the log it is known: a checkpoint's end, else the offset")
OFFSET = Column("offset", "bigint", "offset in the log; in a checkpoint, the record's place in it")
EPOCH = Column("leader_epoch", "int", "epoch of the leader that wrote it")
TIME = Column("timestamp", "timestamp", "when the record was written, by the leader's clock", "UTC")
QUORUM = (
    Column("clusterID", "string", "cluster id"),
    Column("namespace", "string", "of the quorum's resource"),
    Column("name", "string", "of the quorum's resource"),
)
QUORUM_KEY = tuple(column.name for column in QUORUM)
NODE = Column("node_id", "int", "controller or broker")
ENDPOINTS = "array<struct<name:string,host:string,port:int>>"
LISTENERS = "array<struct<name:string,host:string,port:int,security_protocol:string>>"
RANGES = "array<struct<name:string,minSupportedVersion:int,maxSupportedVersion:int>>"
REPLICAS = "array<struct<nodeID:int,directoryID:string,live:boolean,lagRecords:bigint>>"
LAG_ACCURACY = 10_000
"""Of the percentiles of a lag, as Spark takes it: the error of a rank is one divided by this."""
