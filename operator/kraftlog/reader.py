"""Read a metadata log file from front to back: blocks of records, with the faults between them.

The file is read in windows, never mapped, because a controller may truncate it at any time. Any damage is a Fault with
file and position; reading continues after it, at the next batch whose checksum is right. A file is given up only if it
does not begin like a log at all.
"""

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kraftlog.blocks import RecordBlock
from kraftlog.codecs import MAX_UNPACKED_BYTES, CodecError, unpack
from kraftlog.compiled import Bytes, Ints, readable
from kraftlog.errors import Fault, FaultKind, NotALogError, SchemaError
from kraftlog.order import follows, named_offset
from kraftlog.places import OpenFile, opened, read_fully
from kraftlog.program import Program, program
from kraftlog.scan import (
    BATCH_HEADER_BYTES,
    BATCH_LENGTH_AT,
    BATCH_OVERHEAD_BYTES,
    MAGIC,
    MAX_KEYS,
    MIN_RECORD_BYTES,
    Column,
    Stop,
    find_batch,
    int32,
    int64,
    read_header,
    scan,
    scan_records,
)

WINDOW_BYTES = 4 << 20
MAX_BATCH_BYTES = MAX_UNPACKED_BYTES
"""A length beyond this is damage."""
_BLOCK_RECORDS = 1 << 17
"""The most records in a block. A larger batch is cut: seven bytes can be a record, whose columns take a hundred."""
_MAGIC_AT = 16
SUM_WINDOWS = 16  # how often over a window's bytes may be summed up in looking for the next good batch

_CHECKPOINT = ".checkpoint"

UNKNOWN_TYPES = "UNKNOWN"
"""Stands among wanted types for all records without a schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to read. `types`: names as a dump prints them, None for all; `release`: whose schemas, None for any."""

    release: str | None = None
    types: frozenset[str] | None = None
    start_position: int = 0
    end_position: int | None = None
    window_bytes: int = WINDOW_BYTES


def read_blocks(path: str | Path, options: Options | None = None) -> Iterator[RecordBlock | Fault]:
    """All records from `start_position`, which must be the position of a batch (NotALogError, SchemaError)."""
    chosen = options or Options()
    return _Reading(str(path), chosen).run()


def wanted_slots(code: Program, types: Iterable[str] | None) -> Bytes:
    """A choice of types in the form that `scan` takes (SchemaError for a name that no schema has)."""
    slots = np.full(2 * MAX_KEYS + 1, types is None, dtype=np.uint8)
    if types is not None:
        known = {schema.type_name: schema.control * MAX_KEYS + schema.key for schema in code.described}
        for name in types:
            if name == UNKNOWN_TYPES:
                slots[[slot for slot in range(slots.size) if slot not in set(known.values())]] = 1
            elif name in known:
                slots[known[name]] = 1
            else:
                raise SchemaError(f"no record type {name!r}; there are {', '.join(sorted(known))} and {UNKNOWN_TYPES}")
    return readable(slots.tobytes())


_Steps = Generator[RecordBlock | Fault, None, int]
"""What was found on the way, and in the end the place in the window where to continue."""


class _Reading:
    """One pass over one file."""

    def __init__(self, path: str, options: Options) -> None:
        self.path, self.options = path, options
        self.program = program(options.release)
        self.wanted = wanted_slots(self.program, options.types)
        self.position = options.start_position  # of the window's first byte in the file
        self.data = readable(b"")
        self.size = 0
        self.table = np.empty((len(Column), _BLOCK_RECORDS), dtype=np.int64)
        self.place: Ints = np.array([named_offset(path), -1, 1], dtype=np.int64)  # in the form of `follows`

    def run(self) -> Iterator[RecordBlock | Fault]:
        try:
            with opened(self.path) as file:
                self.size = file.size
                if self.options.end_position is not None:
                    self.size = min(self.size, self.options.end_position)
                yield from self._windows(file)
            if self.options.start_position == 0 and self.options.end_position is None:
                yield from self._order()
        except OSError as error:
            raise NotALogError.of(error, self.path, self.position) from error

    def _order(self) -> Iterator[Fault]:
        """Batches that do not follow the one before: the batches are listed again if one did not."""
        from kraftlog.batches import footer_faults, list_batches  # noqa: PLC0415 -- it needs this module's bounds

        checkpoint = self.path.endswith(_CHECKPOINT)
        if checkpoint or not self.place[2]:
            batches = list_batches(self.path)
            yield from batches.order_faults(self.path)
            if checkpoint:
                yield from footer_faults(self.path, batches)

    def _windows(self, file: OpenFile) -> Iterator[RecordBlock | Fault]:
        if self.size == 0:
            yield self._fault(FaultKind.EMPTY, 0, 0, "the file is empty")
        want = self.options.window_bytes
        while self.position < self.size:
            self.data = read_fully(file, self.position, min(want, self.size - self.position))
            if self.data.size < min(want, self.size - self.position):
                self.size = self.position + self.data.size  # truncated under us: what is left is a torn tail
            used = yield from self._window(last=self.position + self.data.size >= self.size)
            want = self.options.window_bytes if used else min(2 * want, MAX_BATCH_BYTES + self.options.window_bytes)
            self.position += used

    def _window(self, *, last: bool) -> _Steps:
        """Everything in the window up to its last whole batch; returns the number of bytes used."""
        at, end = 0, self.data.size
        while True:
            code, stop, rows = scan(self.data, at, end, self.wanted, self.program.schemas, self.table)
            follows(self.data, at, stop, self.place)
            if code != Stop.BAD_RECORDS and stop > at:
                yield self._block(self.data, self.table[:, :rows].copy(), self.position + stop)
            if code == Stop.END:
                if stop == end:
                    return stop
                after = yield from self._incomplete(stop, last=last)
            elif code == Stop.COMPRESSED or (code == Stop.FULL and int32(self.data, stop + 57) > _BLOCK_RECORDS):
                after = yield from self._apart(stop)
            elif code == Stop.FULL:
                after = stop  # the rows before it were passed on, so the table is empty again
            else:
                after = yield from self._damaged(stop, Stop(code), rows, last=last)
            if after < 0:
                return stop
            at = after

    def _incomplete(self, at: int, *, last: bool) -> Generator[Fault, None, int]:
        """Fewer bytes than a batch: the next window may have more (-1), else they are the file's torn tail."""
        left = self.data.size - at
        size = int32(self.data, at + BATCH_LENGTH_AT) + BATCH_OVERHEAD_BYTES if left >= BATCH_HEADER_BYTES else 0
        if not last and size <= MAX_BATCH_BYTES:
            return -1
        found = self._next_batch(at + 1)
        if found >= 0 or not last:
            return (yield from self._skip(at, found, f"a length of {size} bytes, {left} left", last=last))
        if not self._begins_like_a_batch(at, left, size):
            self._refuse_first(at, f"not a log: {left} bytes that do not begin like a batch")
        reason = f"{left} bytes of a batch of {size}" if size else f"{left} bytes, fewer than a batch's header"
        yield self._fault(FaultKind.TORN_TAIL, at, left, reason)
        return self.data.size

    def _begins_like_a_batch(self, at: int, left: int, size: int) -> bool:
        """Whether these bytes may be the front of a batch; of less than a header, as many as a segment begins with.

        A segment begins with the offset in its name. So a first append that is under way can be distinguished from a
        file that is no log.
        """
        if left >= BATCH_HEADER_BYTES:
            return size >= BATCH_HEADER_BYTES and bool(self.data[at + 16] == MAGIC)
        front, base = bytes(self.data[at:]), named_offset(self.path)
        if base < 0 or front[:8] != base.to_bytes(8, "big")[:left]:
            return False
        if left >= BATCH_OVERHEAD_BYTES:
            size = int32(self.data, at + BATCH_LENGTH_AT) + BATCH_OVERHEAD_BYTES
            if not BATCH_HEADER_BYTES <= size <= MAX_BATCH_BYTES:
                return False
        return left <= _MAGIC_AT or front[_MAGIC_AT] == MAGIC

    def _damaged(self, at: int, code: Stop, rows: int, *, last: bool) -> _Steps:
        """A damaged batch; returns where to continue, or -1 for the next window."""
        if code in {Stop.BAD_RECORDS, Stop.BAD_COUNT}:
            after = at + self._batch_bytes(at)
            follows(self.data, at, after, self.place)
            if rows and code == Stop.BAD_RECORDS:
                yield self._block(self.data, self.table[:, :rows].copy(), self.position + after)
            yield from self._bad_content(at, "its records do not fill it")
            return after
        if at > 0 and not last:
            return -1  # look at it again as a window's first batch, with everything that may follow it
        if code == Stop.BAD_CRC and self._followed(at):
            yield from self._crc_mismatch(at)
            return at + self._batch_bytes(at)
        if not self.data[at:].any() and last:
            self._refuse_first(at, "zeros")
            yield self._fault(FaultKind.TORN_TAIL, at, self.data.size - at, "zeros up to the end")
            return self.data.size
        reasons = {
            Stop.BAD_MAGIC: f"magic {self.data[at + 16]}, not {MAGIC}",
            Stop.BAD_LENGTH: f"a length of {int32(self.data, at + BATCH_LENGTH_AT)} bytes",
        }
        found = self._next_batch(at + 1)
        if found < 0:
            self._refuse_first(at, f"not a log: {reasons.get(code, 'wrong checksum')}")
        return (yield from self._skip(at, found, reasons.get(code, "wrong checksum"), last=last))

    def _skip(self, at: int, found: int, reason: str, *, last: bool) -> Generator[Fault, None, int]:
        """Continue at the next good batch; without one, keep a possible beginning of one for the next window."""
        if found < 0:
            found = self.data.size if last else max(at + 1, self.data.size - BATCH_HEADER_BYTES)
        yield self._fault(FaultKind.CORRUPT_BATCH, at, found - at, reason)
        return found

    def _refuse_first(self, at: int, reason: str) -> None:
        if self.position + at == 0:
            raise NotALogError(self.path, 0, reason)

    def _next_batch(self, at: int) -> int:
        return find_batch(self.data, at, self.data.size, SUM_WINDOWS * self.data.size)

    def _batch_bytes(self, at: int) -> int:
        return int32(self.data, at + BATCH_LENGTH_AT) + BATCH_OVERHEAD_BYTES

    def _followed(self, at: int) -> bool:
        """Whether a batch's length is right although its checksum is not: the next one begins where it ends."""
        after = at + self._batch_bytes(at)
        if self.position + after == self.size:
            return True
        if after + BATCH_HEADER_BYTES > self.data.size:
            return False
        return bool(self.data[after + 16] == MAGIC) and int64(self.data, after) > int64(self.data, at)

    def _crc_mismatch(self, at: int) -> Iterator[RecordBlock | Fault]:
        stop = at + self._batch_bytes(at)
        yield self._fault(FaultKind.CRC_MISMATCH, at, 0, "the checksum of the batch is wrong")
        content = self.data[at + BATCH_HEADER_BYTES : stop]
        yield from self._unpacked(at, content, crc_valid=False)

    def _apart(self, at: int) -> _Steps:
        stop = at + self._batch_bytes(at)
        follows(self.data, at, stop, self.place)
        yield from self._unpacked(at, self.data[at + BATCH_HEADER_BYTES : stop], crc_valid=True)
        return stop

    def _unpacked(self, at: int, content: Bytes, *, crc_valid: bool) -> Iterator[RecordBlock | Fault]:
        """The records of a single batch, with its content unpacked if necessary."""
        header: Ints = np.zeros(9, dtype=np.int64)
        read_header(self.data, at, header)
        header[6], header[8] = crc_valid, 0
        try:
            codec = int(self.data[at + 22]) & 7
            unpacked = readable(unpack(codec, bytes(content)) if codec else bytes(content))
        except CodecError as error:
            yield from self._bad_content(at, str(error))
            return
        if not 0 <= header[7] <= unpacked.size // MIN_RECORD_BYTES:
            yield from self._bad_content(at, f"{header[7]} records in {unpacked.size} bytes")
            return
        yield from self._cut(at, unpacked, header)

    def _cut(self, at: int, content: Bytes, header: Ints) -> Iterator[RecordBlock | Fault]:
        """The records of one batch in blocks of bounded size."""
        left, start, ok = int(header[7]), 0, 1
        while ok and left > 0:
            header[7] = min(left, _BLOCK_RECORDS)
            table: Ints = np.empty((len(Column), int(header[7])), dtype=np.int64)
            rows, start, ok = scan_records(
                content, header, start, content.size, self.wanted, self.program.schemas, table, 0
            )
            left -= int(header[7])
            block = self._block(content, table[:, :rows], self.position + at + self._batch_bytes(at))
            yield replace(block, position=self.position + at)
        if not ok or start != content.size:
            yield from self._bad_content(at, "its records do not fill it")

    def _bad_content(self, at: int, reason: str) -> Iterator[Fault]:
        base_offset = int64(self.data, at)
        yield self._fault(FaultKind.CORRUPT_BATCH, at, 0, f"base offset {base_offset}: {reason}")

    def _block(self, data: Bytes, table: Ints, next_position: int) -> RecordBlock:
        return RecordBlock(self.path, self.position, next_position, data, table, self.program)

    def _fault(self, kind: FaultKind, at: int, skipped: int, reason: str) -> Fault:
        return Fault(kind=kind, path=self.path, position=self.position + at, skipped_bytes=skipped, reason=reason)
