"""Kafka's metadata log: record batches, record schemas, and a compiled decoder. No Spark, no Kubernetes.

`read_blocks(path)` yields columns of records and the faults between them; `python -m kraftlog dump` prints them.
"""

from kraftlog.blocks import Record, RecordBlock, Rendered
from kraftlog.errors import Fault, FaultKind, KraftLogError, NotALogError, SchemaError
from kraftlog.reader import Options, read_blocks
from kraftlog.scan import Column
from kraftlog.schema import Catalog, Schema, catalog, releases

__all__ = [
    "Catalog",
    "Column",
    "Fault",
    "FaultKind",
    "KraftLogError",
    "NotALogError",
    "Options",
    "Record",
    "RecordBlock",
    "Rendered",
    "Schema",
    "SchemaError",
    "catalog",
    "read_blocks",
    "releases",
]
