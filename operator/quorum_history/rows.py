"""A part of a metadata log as Arrow batches in the columns of the `records` table."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from kraftlog import Column, Fault, FaultKind, NotALogError, Options, RecordBlock, SchemaError, read_blocks
from kraftlog.blocks import type_name
from quorum_history.files import LogFile

SCHEMA = (
    "cluster string, node_id int, kind string, file string, position bigint, offset bigint, timestamp timestamp,"
    " leader_epoch int, base_offset bigint, control boolean, crc_valid boolean, type string, version int, data string,"
    " fault string"
)
ARROW = pa.schema(
    [
        ("cluster", pa.string()),
        ("node_id", pa.int32()),
        ("kind", pa.string()),
        ("file", pa.string()),
        ("position", pa.int64()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("leader_epoch", pa.int32()),
        ("base_offset", pa.int64()),
        ("control", pa.bool_()),
        ("crc_valid", pa.bool_()),
        ("type", pa.string()),
        ("version", pa.int32()),
        ("data", pa.string()),
        ("fault", pa.string()),
    ]
)
Wrong = Fault | NotALogError
"""What can be wrong with a file."""


def read_rows(file: LogFile, options: Options) -> Iterator[pa.RecordBatch | Wrong]:
    """The records of a part of a file, and its faults, in the order of the file (SchemaError)."""
    try:
        for item in read_blocks(file.path, options):
            if isinstance(item, Fault):
                if item.kind is not FaultKind.EMPTY:
                    yield item
            elif len(item):
                rendered = item.render()
                yield _record_rows(item, file, rendered.text, rendered.ends)
                yield from rendered.faults
    except SchemaError:
        raise
    except NotALogError as error:
        yield error


def _record_rows(
    block: RecordBlock,
    file: LogFile,
    text: np.ndarray[Any, np.dtype[np.uint8]],
    ends: np.ndarray[Any, np.dtype[np.int64]],
) -> pa.RecordBatch:
    count = len(block)
    limits = np.concatenate((np.zeros(1, dtype=np.int64), ends))
    data = pa.LargeStringArray.from_buffers(count, pa.py_buffer(limits), pa.py_buffer(np.ascontiguousarray(text)))
    column = block.column
    times = pa.array(column(Column.TIMESTAMP) * 1000, pa.int64()).cast(pa.timestamp("us", tz="UTC"))
    columns = {
        "cluster": _same(file.cluster, count),
        "node_id": pa.array(np.full(count, file.node_id, dtype=np.int32)),
        "kind": _same(file.kind.value, count),
        "file": _same(file.path, count),
        "position": pa.array(block.position + column(Column.BATCH_AT)),
        "offset": pa.array(column(Column.OFFSET)),
        "timestamp": times,
        "leader_epoch": pa.array(column(Column.LEADER_EPOCH).astype(np.int32)),
        "base_offset": pa.array(column(Column.BASE_OFFSET)),
        "control": pa.array(column(Column.CONTROL).astype(bool)),
        "crc_valid": pa.array(column(Column.CRC_VALID).astype(bool)),
        "type": _types(block),
        "version": pa.array(column(Column.VERSION).astype(np.int32)),
        "data": data.cast(pa.string()),
        "fault": pa.nulls(count, pa.string()),
    }
    return pa.RecordBatch.from_arrays([columns[name] for name in ARROW.names], schema=ARROW)


def _same(value: str, count: int) -> pa.Array:
    indices = pa.array(np.zeros(count, dtype=np.int32))
    return pa.DictionaryArray.from_arrays(indices, pa.array([value])).cast(pa.string())


def _types(block: RecordBlock) -> pa.Array:
    codes = block.column(Column.CONTROL) << 32 | (block.column(Column.KEY) & 0xFFFFFFFF)
    distinct, places = np.unique(codes, return_inverse=True)
    keys = [(int(code) >> 32, int(np.int32(np.uint32(code & 0xFFFFFFFF)))) for code in distinct]
    names = pa.array([type_name(block.program, control, key) for control, key in keys])
    return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32)), names).cast(pa.string())


def fault_rows(file: LogFile, faults: list[tuple[int | None, int | None, str]]) -> pa.RecordBatch:
    """Rows that are no records: position, offset and text of a fault."""
    rows = [
        {
            **dict.fromkeys(ARROW.names),
            "cluster": file.cluster,
            "node_id": file.node_id,
            "kind": file.kind.value,
            "file": file.path,
            "position": position,
            "offset": offset,
            "fault": text,
        }
        for position, offset, text in faults
    ]
    return pa.RecordBatch.from_pylist(rows, schema=ARROW)
