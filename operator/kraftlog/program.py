"""Schemas as tables of integers, for the compiled decoder: one operation per field.

`render` interprets these tables. So a new Kafka release is only data here, and nothing needs to be compiled again.
"""

from dataclasses import dataclass
from enum import IntEnum
from functools import cache

import numpy as np

from kraftlog.compiled import Bytes, Ints, readable
from kraftlog.errors import SchemaError
from kraftlog.scan import MAX_KEYS, MAX_VERSIONS
from kraftlog.schema import Catalog, Field, Kind, Schema, catalog


class Op(IntEnum):
    """The columns of an operation."""

    KIND = 0
    ARRAY = 1
    NULLABLE = 2
    TAG = 3
    DEFAULT = 4  # for tagged fields: the number, the length of an array or string, -1 for null, 0 for a zero UUID
    NAME_AT = 5
    NAME_BYTES = 6
    INNER_FIRST = 7
    INNER_LAST = 8


@dataclass(frozen=True, slots=True)
class Program:
    """A catalog in tables.

    `ops[operation, Op]`; `names` holds `"name":` of all fields; `spans[schema]` is its first operation and its end;
    `schemas[(control * MAX_KEYS + key) * MAX_VERSIONS + version]` is the schema's number or -1; `described` by number.
    """

    ops: Ints
    names: Bytes
    spans: Ints
    schemas: Ints
    described: tuple[Schema, ...]


@cache
def program(release: str | None = None) -> Program:
    """The tables of a release's catalog (SchemaError)."""
    return compile_catalog(catalog(release))


def compile_catalog(source: Catalog) -> Program:
    """Lay the schemas of a catalog out in tables (SchemaError: a key or version beyond what the tables can hold)."""
    builder = _Builder()
    described = tuple(source.schemas.values())
    index = np.full(2 * MAX_KEYS * MAX_VERSIONS, -1, dtype=np.int64)
    spans = np.empty((len(described), 2), dtype=np.int64)
    for number, schema in enumerate(described):
        if not (0 <= schema.key < MAX_KEYS and 0 <= schema.version < MAX_VERSIONS):
            raise SchemaError(f"{schema.type_name}: key {schema.key} or version {schema.version} is out of range")
        index[(schema.control * MAX_KEYS + schema.key) * MAX_VERSIONS + schema.version] = number
        spans[number] = builder.lay(schema.fields)
    ops = np.array(builder.ops, dtype=np.int64).reshape(-1, len(Op))
    return Program(ops, readable(bytes(builder.names)), spans, index, described)


class _Builder:
    """Collects operations; those of a struct lie together, inner structs behind their outer one."""

    def __init__(self) -> None:
        self.ops: list[list[int]] = []
        self.names = bytearray()

    def lay(self, fields: tuple[Field, ...]) -> tuple[int, int]:
        first = len(self.ops)
        self.ops.extend([0] * len(Op) for _ in fields)
        for place, field in enumerate(fields, first):
            name = f'"{field.name}":'.encode()
            inner = self.lay(field.fields) if field.fields else (0, 0)
            row = (field.kind, field.array, field.nullable, field.tag, _default_of(field))
            self.ops[place] = [*map(int, row), len(self.names), len(name), *inner]
            self.names += name
        return first, first + len(fields)


def _default_of(field: Field) -> int:
    if field.default is None:
        return -1
    if field.array or not isinstance(field.default, str):
        return int(field.default)
    if field.tagged and field.default and field.kind is not Kind.UUID:
        raise SchemaError(
            f"{field.name}: a tagged field with the default {field.default!r}, which no record has had yet"
        )
    return 0
