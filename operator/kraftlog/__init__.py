"""Kafka's metadata log: record batches, record schemas, and a compiled decoder. No Spark, no Kubernetes.

`read_blocks(path)` yields columns of records and the faults between them; `python -m kraftlog dump` prints them. Names
are imported on first use, so that the command line can report which package is missing. `kraftlog.disk` and
`kraftlog.rewrite` look at the disk of a stopped controller and change it, with the standard library alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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

_HOMES = {
    "blocks": ("Record", "RecordBlock", "Rendered"),
    "errors": ("Fault", "FaultKind", "KraftLogError", "NotALogError", "SchemaError"),
    "reader": ("Options", "read_blocks"),
    "scan": ("Column",),
    "schema": ("Catalog", "Schema", "catalog", "releases"),
}


def __getattr__(name: str) -> object:
    """Import what `__all__` names from where it is."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
