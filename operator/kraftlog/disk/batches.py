"""The batches of one file, front to back, with the standard library alone: what is valid, where and why it ends.

A batch is valid if it is whole, its checksum is right, and it follows the one before: the metadata log has every
offset once, in epochs that never decrease. Kafka itself cuts the log at the first batch that is not, when it starts.
Layout: Kafka's `DefaultRecordBatch` (magic 2).
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from kraftlog.disk.crc import crc32c
from kraftlog.disk.errors import DiskError
from kraftlog.values import MalformedError

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
"""Base offset, length, leader epoch, magic, checksum, attributes, last offset delta, base and max timestamp, producer's
id and epoch, base sequence, number of records."""
OVERHEAD_BYTES: Final = 12
"""Base offset and length, which the length does not count."""
SUMMED_FROM: Final = 21
"""The checksum covers everything from the attributes on."""
MAX_BATCH_BYTES: Final = 32 << 20
"""Four times Kafka's own limit (`KafkaRaftClient.MAX_BATCH_SIZE_BYTES`): a longer one is damage."""
MAGIC: Final = 2
CONTROL: Final = 0x20
_CODEC = 0x07
_MAGIC_AT = 16
_MIN_RECORD_BYTES = 7
_CHUNK_BYTES = 1 << 20
SUM_MAX_BYTES: Final = 64 << 20
"""How many bytes are summed up in looking for valid batches behind damage, so that hostile bytes end in an error."""


@dataclass(slots=True)
class Budget:
    """How many bytes may still be summed up in such a search. Searches of one log share it."""

    left_bytes: int = SUM_MAX_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A valid batch: where it is (bytes), its offsets, and its records as bytes. `codec` is 0 if not compressed."""

    position: int
    size_bytes: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    control: bool
    codec: int
    count: int
    body: bytes

    @property
    def end_position(self) -> int:
        """Where the next batch begins."""
        return self.position + self.size_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRecord:
    """One record of a batch. `key` is None if it has none."""

    offset: int
    key: bytes | None
    value: bytes


class Walk:
    """The valid batches of a file from a position on. After the last one, `position` and `reason` say where it ended.

    `offset` is the one that must come next (None: any), `leader_epoch` the lowest that may come. An empty `reason`
    means that the file ends with a whole batch.
    """

    def __init__(
        self, file: BinaryIO, size_bytes: int, *, position: int = 0, offset: int | None = None, leader_epoch: int = 0
    ) -> None:
        """`file` must be open for reading; it is read from `position` (bytes) to `size_bytes`."""
        self._file, self._size = file, size_bytes
        self.position, self.offset, self.leader_epoch = position, offset, leader_epoch
        self.reason = ""

    def __iter__(self) -> Iterator[Batch]:
        """The batches in order (OSError)."""
        self._file.seek(self.position)
        while self.position < self._size:
            batch = self._next()
            if batch is None:
                return
            self.position, self.offset, self.leader_epoch = (
                batch.end_position,
                batch.last_offset + 1,
                batch.leader_epoch,
            )
            yield batch

    def _next(self) -> Batch | None:
        head = self._file.read(min(HEADER.size, self._size - self.position))
        if len(head) < HEADER.size:
            self.reason = f"{len(head)} bytes, fewer than the header of a batch"
            return None
        length = HEADER.unpack(head)[1]
        size, left = length + OVERHEAD_BYTES, self._size - self.position
        if not any(head):
            self.reason = "zeros in place of a batch"
        elif not HEADER.size <= size <= MAX_BATCH_BYTES:
            self.reason = f"a batch with a length of {length} bytes"
        elif size > left:
            self.reason = f"{left} bytes of a batch of {size}"
        if self.reason:
            return None
        body = self._file.read(size - HEADER.size)
        if len(body) < size - HEADER.size:
            self.reason = f"the file became shorter while a batch of {size} bytes was read"
            return None
        batch, self.reason = checked(self.position, head, body, self.offset, self.leader_epoch)
        return batch


def checked(
    position: int, head: bytes, body: bytes, offset: int | None = None, leader_epoch: int = 0
) -> tuple[Batch | None, str]:
    """A batch from its header and its records if it is valid, else None and the reason."""
    base, length, epoch, magic, _, attributes, delta, *_, count = HEADER.unpack(head)
    batch, reason = None, ""
    if magic != MAGIC:
        reason = f"a batch with magic {magic}, not {MAGIC}"
    elif not _summed(head, body):
        reason = "a batch with a wrong checksum"
    elif base < 0 or delta < 0 or base + delta >= 2**63 - 1 or epoch < 0:
        reason = f"a batch of offset {base}, {delta} more offsets and leader epoch {epoch}"
    elif offset is not None and base != offset:
        reason = f"offset {base} in place of {offset}"
    elif epoch < leader_epoch:
        reason = f"leader epoch {epoch} behind {leader_epoch}"
    elif not 0 <= count <= len(body) // _MIN_RECORD_BYTES and not attributes & _CODEC:
        reason = f"a batch with {count} records in {len(body)} bytes"
    else:
        batch = Batch(
            position=position,
            size_bytes=length + OVERHEAD_BYTES,
            base_offset=base,
            last_offset=base + delta,
            leader_epoch=epoch,
            control=bool(attributes & CONTROL),
            codec=attributes & _CODEC,
            count=count,
            body=body,
        )
    return batch, reason


def _summed(head: bytes, body: bytes) -> bool:
    """Whether the checksum in a header is that of the batch."""
    checksum: int = HEADER.unpack(head)[4]
    return crc32c(head[SUMMED_FROM:] + body) == checksum


def find_valid(file: BinaryIO, position: int, size_bytes: int, budget: Budget) -> int | None:
    """Where the next batch with a right checksum begins, of any offset and epoch; None if no one is left in the file.

    `DiskError` if so many places look like a batch that it cannot be decided within the budget.
    """
    while position + HEADER.size <= size_bytes:
        file.seek(position)
        chunk = file.read(min(_CHUNK_BYTES + HEADER.size, size_bytes - position))
        at = 0
        while (found := chunk.find(MAGIC.to_bytes(1, "big"), at + _MAGIC_AT)) >= 0:
            at = found - _MAGIC_AT
            if at + HEADER.size > len(chunk):
                break
            size = HEADER.unpack_from(chunk, at)[1] + OVERHEAD_BYTES
            if HEADER.size <= size <= min(MAX_BATCH_BYTES, size_bytes - position - at):
                budget.left_bytes -= size
                if budget.left_bytes < 0:
                    raise DiskError(
                        f"position {position + at}: too many places look like a batch, so it cannot be decided whether"
                        f" the log goes on behind the damage: use another disk"
                    )
                file.seek(position + at + HEADER.size)
                body = file.read(size - HEADER.size)
                if len(body) == size - HEADER.size and _summed(chunk[at : at + HEADER.size], body):
                    return position + at
            at += 1
        if len(chunk) <= HEADER.size:
            break
        position += max(1, len(chunk) - HEADER.size + 1)
    return None


def records(batch: Batch) -> Iterator[RawRecord]:
    """The records of a batch (MalformedError: it contradicts itself, or is compressed, as Kafka never does here)."""
    if batch.codec:
        raise MalformedError("a compressed batch")
    body, at = batch.body, 0
    for _ in range(batch.count):
        length, at = _varlong(body, at, len(body))
        end = at + length
        if length < 1 or end > len(body):
            raise MalformedError(f"a record of {length} bytes in {len(body) - at}")
        _, at = _varlong(body, at + 1, end)
        delta, at = _varlong(body, at, end)
        key, at = _sized(body, at, end)
        value, at = _sized(body, at, end)
        if not 0 <= delta <= batch.last_offset - batch.base_offset:
            raise MalformedError(f"offset {batch.base_offset} and {delta} more, beyond the batch")
        yield RawRecord(offset=batch.base_offset + delta, key=key, value=value or b"")
        at = end
    if at != len(body):
        raise MalformedError(f"{len(body) - at} bytes behind the last record of a batch")


def control_type(record: RawRecord) -> int | None:
    """The type of a control record, None if its key has no form that is known."""
    form = struct.Struct(">hh")
    if record.key is None or len(record.key) < form.size:
        return None
    number: int = form.unpack_from(record.key)[1]
    return number


def _sized(data: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    size, at = _varlong(data, at, end)
    if size > end - at:
        raise MalformedError(f"{size} bytes wanted, {end - at} left")
    return (None, at) if size < 0 else (data[at : at + size], at + size)


def _varlong(data: bytes, at: int, end: int) -> tuple[int, int]:
    """A zigzag number of at most 64 bits, and the position behind it (MalformedError)."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= end:
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 1 << 7:
            return value >> 1 ^ -(value & 1), at
    raise MalformedError("a number that does not end")
