"""Many records at once, as columns: what the reader yields, and what dumps, Spark and jobs use.

A block keeps the bytes of its records, so their content is decoded when it is needed, or never.
"""

import base64
import json
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kraftlog import values
from kraftlog.compiled import Bytes, Ints
from kraftlog.errors import STEERING, Fault, FaultKind
from kraftlog.find import find
from kraftlog.program import Program
from kraftlog.render import render
from kraftlog.scan import Column
from kraftlog.schema import CONTROL_TYPES

_OUT_BYTES_PER_BYTE = 4
_OUT_BYTES_PER_RECORD = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record. `type` is None if its frame makes no sense; `data` is base64 if no schema fits it."""

    offset: int
    timestamp_ms: int
    leader_epoch: int
    base_offset: int
    control: bool
    crc_valid: bool
    type: str
    version: int
    data: values.Data | str


@dataclass(frozen=True, slots=True)
class Rendered:
    """The JSON of a block's records in one run of bytes: that of record i is `text[ends[i - 1]:ends[i]]`, from 0."""

    text: Bytes
    ends: Ints
    faults: tuple[Fault, ...]


@dataclass(frozen=True, slots=True)
class RecordBlock:
    """Records of one stretch of a file, in order: `table[Column, record]`, `data` being the bytes it points into.

    `position` is where in the file the batch of a row begins, less its BATCH_AT. `next_position` is that of the first
    batch after the block, where a later read can continue.
    """

    path: str
    position: int
    next_position: int
    data: Bytes
    table: Ints
    program: Program

    def __len__(self) -> int:
        """The number of records."""
        return int(self.table.shape[1])

    def column(self, column: Column) -> Ints:
        """One value a record."""
        values_: Ints = self.table[column]
        return values_

    def type_of(self, row: int) -> str:
        """The type as a dump prints it; `UNKNOWN_n` for a key that no schema has, `UNKNOWN` if there is no frame."""
        return type_name(self.program, int(self.table[Column.CONTROL, row]), int(self.table[Column.KEY, row]))

    def of_types(self, names: Iterable[str]) -> Ints:
        """The rows of these types of record, in order."""
        wanted = {(schema.control, schema.key) for schema in self.program.described if schema.type_name in set(names)}
        control, key = self.table[Column.CONTROL], self.table[Column.KEY]
        found = [(control == each[0]) & (key == each[1]) for each in wanted]
        return np.flatnonzero(np.logical_or.reduce(found)) if found else np.empty(0, dtype=np.int64)

    def only(self, rows: Ints) -> "RecordBlock":
        """The block with only these of its rows."""
        return replace(self, table=self.table[:, rows])

    def find(self, rows: Ints, names: Sequence[str]) -> Ints:
        """Where in `data` the value of each of these fields begins: `found[name, n]` is that of record `rows[n]`.

        ABSENT (-1) if a record does not have the field, UNREAD (-2) in all of a record that must be decoded. Fields in
        structs are not found.
        """
        slots = np.full(len(self.program.ops), -1, dtype=np.int64)
        for schema, (first, _) in zip(self.program.described, self.program.spans.tolist(), strict=True):
            for place, field in enumerate(schema.fields, first):
                if field.name in names:
                    slots[place] = names.index(field.name)
        found = np.empty((rows.size, len(names)), dtype=np.int64)
        find(self.data, self.table, rows, self.program.ops, self.program.spans, slots, found)
        return found.T

    def render(self) -> Rendered:
        """Every record's data as JSON: an object, or a string in base64 if no schema fits."""
        count = len(self)
        size = int((self.table[Column.BODY_END] - self.table[Column.BODY_START]).sum())
        out = np.empty(size * _OUT_BYTES_PER_BYTE + count * _OUT_BYTES_PER_RECORD + 256, dtype=np.uint8)
        ends, row, filled = np.empty(count, dtype=np.int64), 0, 0
        code = self.program
        while True:
            row, filled = render(self.data, self.table, row, count, code.ops, code.spans, code.names, out, filled, ends)
            if row == count:
                break
            out = np.concatenate((out, np.empty_like(out)))
        left = np.flatnonzero(ends < 0)
        if left.size == 0:
            return Rendered(out[:filled], ends, ())
        return self._with_slow_rows(out[:filled], ends, left)

    def _with_slow_rows(self, text: Bytes, ends: Ints, left: Ints) -> Rendered:
        """Insert the rows that the compiled decoder left to the reference codec."""
        ends = np.where(ends < 0, -1 - ends, ends)
        pieces, added, faults, done = [], np.zeros(ends.size, dtype=np.int64), [], 0
        for row in left.tolist():
            written, fault = self._slow_json(row)
            if fault:
                faults.append(fault)
            pieces += [text[done : ends[row]], np.frombuffer(written, dtype=np.uint8)]
            done, added[row] = int(ends[row]), len(written)
        pieces.append(text[done:])
        return Rendered(np.concatenate(pieces), ends + np.cumsum(added), tuple(faults))

    def _slow_json(self, row: int) -> tuple[bytes, Fault | None]:
        data, fault = self._data_of(row)
        text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
        escaped = STEERING.sub(lambda found: "".join(f"\\u{unit:04x}" for unit in _utf16(found[0])), text)
        return escaped.encode("utf-8", "surrogatepass"), fault

    def _data_of(self, row: int) -> tuple[values.Data | str, Fault | None]:
        """A record's data by the reference codec."""
        start, end = int(self.table[Column.BODY_START, row]), int(self.table[Column.BODY_END, row])
        body, schema = bytes(self.data[start:end]), int(self.table[Column.SCHEMA, row])
        if schema < 0:
            return base64.b64encode(body).decode(), None
        try:
            return values.decode(self.program.described[schema], body), None
        except values.MalformedError as error:
            fault = Fault(
                kind=FaultKind.CORRUPT_RECORD,
                path=self.path,
                position=self.position + int(self.table[Column.BATCH_AT, row]),
                skipped_bytes=0,
                reason=f"offset {self.table[Column.OFFSET, row]}: {error}",
            )
            return base64.b64encode(body).decode(), fault

    def records(self) -> Iterator[Record]:
        """The records one at a time, by the reference codec: for small logs and for tests."""
        for row in range(len(self)):
            numbers = [int(number) for number in self.table[:, row]]
            yield Record(
                offset=numbers[Column.OFFSET],
                timestamp_ms=numbers[Column.TIMESTAMP],
                leader_epoch=numbers[Column.LEADER_EPOCH],
                base_offset=numbers[Column.BASE_OFFSET],
                control=bool(numbers[Column.CONTROL]),
                crc_valid=bool(numbers[Column.CRC_VALID]),
                type=self.type_of(row),
                version=numbers[Column.VERSION],
                data=self._data_of(row)[0],
            )


def _utf16(character: str) -> tuple[int, ...]:
    """The numbers by which JSON escapes a character: beyond U+FFFF it takes two."""
    return struct.unpack(f">{len(character.encode('utf-16-be')) // 2}H", character.encode("utf-16-be"))


def type_name(program: Program, control: int, key: int) -> str:
    """The name of a type in a dump (see RecordBlock.type_of)."""
    if control and key in CONTROL_TYPES:
        return CONTROL_TYPES[key]
    for schema in program.described:
        if not control and not schema.control and schema.key == key:
            return schema.type_name
    return "UNKNOWN" if key < 0 else f"UNKNOWN_{key}"
