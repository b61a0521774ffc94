"""Damage is reported with file and position, and everything around it is read."""

import os
import struct
from pathlib import Path

import pytest
from tests.kraftlog import logs

from kraftlog import FaultKind, NotALogError, Options, SchemaError
from kraftlog.codecs import Codec, pack
from kraftlog.writer import NewBatch, NewRecord, batch_of


def test_a_whole_log(tmp_path: Path) -> None:
    """Every record of a whole log is read in order, with its batch's attributes."""
    records, faults = logs.read(logs.write(tmp_path, b"".join(logs.three_batches())))
    assert not faults
    assert [(record["offset"], record["base_offset"], record["data"]["name"]) for record in records] == [
        (0, 0, "a"), (1, 0, "b"), (2, 2, "c"), (3, 3, "d"), (4, 3, "e"),
    ]  # fmt: skip


def test_every_torn_tail(tmp_path: Path) -> None:
    """In a file that is cut at any byte, whole batches are read, and the rest is reported."""
    first, second, third = logs.three_batches()
    whole = first + second + third
    for size in range(len(first) + 1, len(whole)):
        path = logs.write(tmp_path, whole[:size])
        records, faults = logs.read(path)
        kept = 3 if size >= len(first) + len(second) else 2
        cut = len(first) + (len(second) if kept == 3 else 0)
        assert logs.offsets(records) == list(range(kept))
        if size == cut:
            assert not faults
        else:
            assert [(fault.kind, fault.position, fault.skipped_bytes) for fault in faults] == [
                (FaultKind.TORN_TAIL, cut, size - cut)
            ]
            assert str(path) in str(faults[0])


def test_zeros_at_the_end(tmp_path: Path) -> None:
    """A preallocated tail is a torn tail."""
    content = b"".join(logs.three_batches())
    records, faults = logs.read(logs.write(tmp_path, content + bytes(5000)))
    assert logs.offsets(records) == list(range(5))
    assert [(fault.kind, fault.position) for fault in faults] == [(FaultKind.TORN_TAIL, len(content))]


def test_a_wrong_checksum(tmp_path: Path) -> None:
    """The records of a batch with a wrong checksum are shown and marked, as in Kafka's tool."""
    first, second, third = logs.three_batches()
    broken = second.replace(b"c", b"x")
    records, faults = logs.read(logs.write(tmp_path, first + broken + third))
    assert [record["crc_valid"] for record in records] == [True, True, False, True, True]
    assert [(fault.kind, fault.position) for fault in faults] == [(FaultKind.CRC_MISMATCH, len(first))]


@pytest.mark.parametrize("length", [-5, 0, 20, 10**6, 2**31 - 1])
def test_a_wrong_length(tmp_path: Path, length: int) -> None:
    """After a wrong length, reading continues at the next batch with a valid checksum."""
    first, second, third = logs.three_batches()
    broken = second[:8] + struct.pack(">i", length) + second[12:]
    records, faults = logs.read(logs.write(tmp_path, first + broken + third))
    assert logs.offsets(records) == [0, 1, 3, 4]
    assert [(fault.kind, fault.position, fault.skipped_bytes) for fault in faults] == [
        (FaultKind.CORRUPT_BATCH, len(first), len(second))
    ]


def test_records_that_do_not_fill_their_batch(tmp_path: Path) -> None:
    """A batch that contradicts itself, with a valid checksum, is reported; its good records are kept."""
    first, third = logs.three_batches()[0], logs.batch(4, "d", "e")
    short = batch_of(NewBatch(base_offset=2), [NewRecord(b"\1\2\0" + bytes(20)), NewRecord(b"")])
    summed = bytearray(short)
    summed[60] = 3  # a third record that does not exist
    summed[17:21] = struct.pack(">I", logs.crc(bytes(summed[21:])))
    records, faults = logs.read(logs.write(tmp_path, first + bytes(summed) + third))
    assert logs.offsets(records) == [0, 1, 2, 3, 4, 5]
    assert {fault.kind for fault in faults} == {FaultKind.CORRUPT_BATCH, FaultKind.CORRUPT_RECORD}
    assert {fault.position for fault in faults} == {len(first)}


@pytest.mark.parametrize(
    "value", [b"\1\x7f\0\5", b"\1\2\x1f\5", b"\1\2\x21", b"\1\x80\x04\0abc", b"\0\2\0", b"\2\2\0", b""], ids=repr
)
def test_unknown_types_and_versions_are_bytes(tmp_path: Path, value: bytes) -> None:
    """Records without a schema keep their bytes, and are no fault."""
    records, faults = logs.read(logs.write(tmp_path, batch_of(NewBatch(base_offset=0), [NewRecord(value)])))
    assert not faults
    assert isinstance(records[0]["data"], str)


def test_an_unknown_control_record_is_bytes(tmp_path: Path) -> None:
    """A control record of an unknown type keeps its bytes."""
    record = NewRecord(b"\0\0abc", key=b"\0\0\0\x09")
    records, faults = logs.read(logs.write(tmp_path, batch_of(NewBatch(base_offset=0, control=True), [record])))
    assert not faults
    assert (records[0]["type"], records[0]["data"]) == ("UNKNOWN_9", "AABhYmM=")


@pytest.mark.parametrize("codec", list(Codec))
def test_compressed_batches(tmp_path: Path, codec: Codec) -> None:
    """Compressed batches of any codec are read among others."""
    content = logs.batch(0, "a") + logs.batch(1, *"bcdef", codec=codec) + logs.batch(6, "g")
    records, faults = logs.read(logs.write(tmp_path, content))
    assert not faults
    assert [record["data"]["name"] for record in records] == list("abcdefg")


def test_a_compressed_batch_of_noise(tmp_path: Path) -> None:
    """A batch that cannot be unpacked is reported, and the next one is read."""
    bad = bytearray(logs.batch(1, "b" * 50, codec=Codec.ZSTD))
    bad[70:80] = bytes(10)
    bad[17:21] = struct.pack(">I", logs.crc(bytes(bad[21:])))
    records, faults = logs.read(logs.write(tmp_path, logs.batch(0, "a") + bytes(bad) + logs.batch(2, "c")))
    assert logs.offsets(records) == [0, 2]
    assert [fault.kind for fault in faults] == [FaultKind.CORRUPT_BATCH]


@pytest.mark.parametrize("codec", list(Codec)[1:])
def test_a_bomb_is_refused(tmp_path: Path, codec: Codec) -> None:
    """A small batch that would unpack to far more than Kafka writes is damage, and the next one is read."""
    bomb = bytearray(logs.batch(1, "b", codec=codec))
    packed = pack(codec, bytes(64 << 20))
    bomb[61:] = packed
    bomb[8:12] = struct.pack(">i", len(bomb) - 12)
    bomb[17:21] = struct.pack(">I", logs.crc(bytes(bomb[21:])))
    path = logs.write(tmp_path, logs.batch(0, "a") + bytes(bomb) + logs.batch(2, "c"))
    records, faults = logs.read(path)
    assert logs.offsets(records) == [0, 2]
    assert [fault.kind for fault in faults] == [FaultKind.CORRUPT_BATCH]
    assert "when unpacked" in faults[0].reason


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_many_small_records_come_in_several_blocks(tmp_path: Path, codec: Codec) -> None:
    """A batch of a million records is split into blocks, so that few bytes do not become gigabytes of columns."""
    count = 1_000_000
    record = bytes([12, 0, 0, 0, 1, 0, 0])
    content = record * count
    batch = bytearray(logs.batch(0, "a", codec=codec))
    batch[61:] = content if codec is Codec.NONE else pack(codec, content)
    batch[8:12], batch[57:61] = struct.pack(">i", len(batch) - 12), struct.pack(">i", count)
    batch[17:21] = struct.pack(">I", logs.crc(bytes(batch[21:])))
    found = logs.blocks(logs.write(tmp_path, bytes(batch) + logs.batch(1, "b")))
    assert sum(map(len, found)) == count + 1
    assert max(map(len, found)) <= 1 << 17
    assert found[0].next_position == len(batch)


def test_append_time(tmp_path: Path) -> None:
    """With append time, every record has the batch's largest timestamp."""
    records = [NewRecord(logs.topic("a").value), NewRecord(logs.topic("b").value, timestamp_delta_ms=30)]
    for append_time, expected in ((False, [100, 130]), (True, [130, 130])):
        place = NewBatch(base_offset=0, timestamp_ms=100, append_time=append_time)
        found, _ = logs.read(logs.write(tmp_path, batch_of(place, records)))
        assert [record["timestamp"] for record in found] == expected


@pytest.mark.parametrize("window", [61, 64, 100, 1000, 1 << 20])
def test_windows_of_any_size(tmp_path: Path, window: int) -> None:
    """The size of the read window changes nothing, with and without damage."""
    parts = [logs.batch(number, f"topic-{number}" * (1 + number % 7)) for number in range(60)]
    parts[20] = parts[20][:40]
    parts[33] = parts[33].replace(b"topic", b"cipot")
    path = logs.write(tmp_path, b"".join(parts) + parts[0][:50])
    wanted = logs.read(path)
    assert logs.offsets(wanted[0]) == [offset for offset in range(60) if offset != 20]
    records, faults = logs.read(path, Options(window_bytes=window))
    assert logs.offsets(records) == logs.offsets(wanted[0])
    assert {fault.kind for fault in faults} == {fault.kind for fault in wanted[1]}
    assert sum(fault.skipped_bytes for fault in faults) == sum(fault.skipped_bytes for fault in wanted[1])


def test_a_choice_of_types(tmp_path: Path) -> None:
    """Only the chosen types are read; `UNKNOWN` is a choice too."""
    unknown = batch_of(NewBatch(base_offset=5), [NewRecord(b"\1\x7f\0")])
    path = logs.write(tmp_path, b"".join(logs.three_batches()) + unknown)
    assert logs.offsets(logs.read(path, Options(types=frozenset({"UNKNOWN"})))[0]) == [5]
    assert logs.offsets(logs.read(path, Options(types=frozenset({"TOPIC_RECORD"})))[0]) == list(range(5))
    with pytest.raises(SchemaError, match="TOPIC_RECORDS"):
        logs.read(path, Options(types=frozenset({"TOPIC_RECORDS"})))


def test_going_on_behind_a_block(tmp_path: Path) -> None:
    """A block has the position of the next one, and reading can start there."""
    path = logs.write(tmp_path, b"".join(logs.three_batches()))
    (first,) = logs.blocks(path, Options(end_position=len(logs.three_batches()[0])))
    assert logs.offsets(logs.read(path, Options(start_position=first.next_position))[0]) == [2, 3, 4]


@pytest.mark.parametrize("content", [b"hello", b"\x89PNG" + bytes(range(256)), b"no log " * 500, bytes(200)])
def test_what_is_not_a_log(tmp_path: Path, content: bytes) -> None:
    """A file that is no log is refused with file and position."""
    path = logs.write(tmp_path, content)
    with pytest.raises(NotALogError, match=r"00000\.log: position 0: "):
        logs.read(path)


def test_an_empty_file_is_said_to_be_empty(tmp_path: Path) -> None:
    """An empty file is no error, but it is reported, because a segment may be empty for a moment."""
    records, faults = logs.read(logs.write(tmp_path, b""))
    assert not records
    assert [fault.kind for fault in faults] == [FaultKind.EMPTY]


@pytest.mark.parametrize("make", [Path.mkdir, None], ids=["directory", "missing"])
def test_what_cannot_be_opened(tmp_path: Path, make: object) -> None:
    """A directory or a missing file raises an error of ours."""
    path = tmp_path / "x.log"
    if make is not None:
        path.mkdir()
    with pytest.raises(NotALogError, match=r"x\.log"):
        logs.read(path)


def test_a_file_that_shrinks(tmp_path: Path) -> None:
    """If a controller truncates the log between two windows, the rest is a torn tail."""
    path = logs.write(tmp_path, b"".join(logs.batch(number, "x" * 50) for number in range(50)))
    found = []
    for block in logs.read_blocks(path, Options(window_bytes=1000)):
        if isinstance(block, logs.RecordBlock):
            found += block.column(logs.Column.OFFSET).tolist()
            os.truncate(path, 1100)
    assert found == sorted(set(found))
    assert len(found) < 20
