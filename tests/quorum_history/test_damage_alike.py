"""One table of damages, read in four ways: kind, file, position and offset of each fault are the same in each.

`kraftlog dump` reads one file at a time, so it does not see faults between files, such as replicas that disagree.
"""

import re
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyarrow import dataset
from pyspark.sql import SparkSession
from tests.kraftlog import logs
from tests.quorum_history import clusters
from tests.quorum_history.test_damage import DAMAGE

from kraftlog.__main__ import main as kraftlog
from kraftlog.codecs import Codec, pack
from kraftlog.errors import FaultKind
from kraftlog.schema import catalog
from kraftlog.values import unsigned_varint
from kraftlog.writer import NewBatch, NewRecord, batch_of, record_of
from quorum_history import commands
from quorum_history.__main__ import main as quorum_history
from quorum_history.source import FORMAT

_ONE = len(clusters.single(0, 1))
"""Bytes of a batch of one record, if its offset has one digit."""
_FRONT, _BACK = clusters.run(0, 3, 1), clusters.run(4, 6, 1)
_AFTER = 3 * _ONE
_UNREADABLE, _MISSING, _DISAGREEING, _UNUSED = "unreadable", "missing", "disagreeing", "unused"
_SEGMENT, _FIFTH = f"{0:020d}.log", f"{5:020d}.log"


@dataclass(frozen=True)
class Fault:
    """One fault of a file, as any way of reading reports it."""

    cluster: str
    node: int
    file: str
    kind: str
    position: int | None
    offset: int | None = None


def _summed(batch: bytes, at: int, value: bytes) -> bytes:
    """A batch with changed bytes and a valid checksum."""
    changed = batch[:at] + value + batch[at + len(value) :]
    return changed[:17] + struct.pack(">I", logs.crc(changed[21:])) + changed[21:]


def _with_content(content: bytes, codec: Codec) -> bytes:
    batch = logs.batch(3, "a", codec=codec)[:61] + content
    return _summed(batch, 8, struct.pack(">i", len(batch) - 12))


def _value(*varints: int) -> bytes:
    """A batch at offset 3 whose record begins with these numbers."""
    return batch_of(NewBatch(base_offset=3), [NewRecord(b"".join(map(unsigned_varint, varints)) + b"xyz")])


def _control(offset: int, kind: str) -> bytes:
    schema = next(each for each in catalog().schemas.values() if each.control and each.type_name == kind)
    data = {"version": 0, **({"lastContainedLogTimestamp": 0} if kind == "SnapshotHeader" else {})}
    return batch_of(NewBatch(base_offset=offset, leader_epoch=2, control=True), [record_of(schema, data)])


class Home:
    """A folder of clusters, and the faults that are expected of them."""

    def __init__(self, logs_: Path) -> None:
        """Starts empty."""
        self.logs = logs_
        self.cluster = ""
        self.in_files: set[Fault] = set()
        self.between_files: set[Fault] = set()

    def segment(self, base: int, content: bytes, node: int = 1) -> None:
        """Writes a segment of the cluster."""
        clusters.segment(clusters.replica(self.logs, self.cluster, node), base, content)

    def checkpoint(self, end: int, epoch: int, content: bytes) -> str:
        """Writes a checkpoint of the cluster, and returns its name."""
        name = f"{end:020d}-{epoch:010d}.checkpoint"
        (clusters.replica(self.logs, self.cluster, 1) / name).write_bytes(content)
        return name

    def place(self, base: int) -> Path:
        """The path of a segment."""
        return clusters.replica(self.logs, self.cluster, 1) / f"{base:020d}.log"

    def said(self, kind: str, position: int | None, file: str = _SEGMENT, node: int = 1) -> None:
        """Expects a fault that one file shows."""
        self.in_files.add(Fault(self.cluster, node, file, kind, position))

    def said_of_all(
        self, kind: str, offset: int, position: int | None = None, file: str = _SEGMENT, node: int = 1
    ) -> None:
        """Expects a fault that only all files together show."""
        self.between_files.add(Fault(self.cluster, node, file, kind, position, offset))


Case = Callable[[Home], None]
CASES: dict[str, Case] = {}


def case(make: Case) -> Case:
    """A damage, with the name of the function that makes it."""
    CASES[make.__name__] = make
    return make


@case
def a_batch_of_another_log(home: Home) -> None:
    """Its checksum is right and its offset is not; the batches behind it still count."""
    home.segment(0, _FRONT + clusters.single(7, 1) + clusters.run(3, 6, 1))
    home.said(FaultKind.OUT_OF_ORDER, _AFTER)


@case
def a_batch_of_another_log_in_front(home: Home) -> None:
    """The same, as the first batch."""
    home.segment(0, clusters.single(7, 1) + clusters.run(0, 4, 1))
    home.said(FaultKind.OUT_OF_ORDER, 0)


@case
def a_batch_twice(home: Home) -> None:
    """Its records count once."""
    home.segment(0, _FRONT + clusters.single(1, 1) + clusters.run(3, 6, 1))
    home.said(FaultKind.OUT_OF_ORDER, _AFTER)


@case
def a_last_offset_too_high(home: Home) -> None:
    """A batch that claims the offsets of those behind it."""
    home.segment(0, _FRONT + _summed(clusters.single(3, 1), 23, struct.pack(">i", 5)) + _BACK)
    home.said(FaultKind.OUT_OF_ORDER, _AFTER)
    home.said_of_all(_MISSING, 3, _AFTER + _ONE)


@case
def a_last_offset_too_low(home: Home) -> None:
    """A batch that ends before it begins."""
    home.segment(0, _FRONT + _summed(clusters.single(3, 1), 23, struct.pack(">i", -5)) + _BACK)
    home.said(FaultKind.OUT_OF_ORDER, _AFTER)
    home.said_of_all(_MISSING, 3, _AFTER + _ONE)


@case
def a_negative_offset(home: Home) -> None:
    """No checksum covers the base offset."""
    home.segment(0, _FRONT + struct.pack(">q", -7) + clusters.single(3, 1)[8:] + _BACK)
    home.said(FaultKind.OUT_OF_ORDER, _AFTER)
    home.said_of_all(_MISSING, 3, _AFTER + _ONE)


@case
def an_epoch_that_falls(home: Home) -> None:
    """The end of another log behind the front of this one."""
    home.segment(0, clusters.run(0, 3, 5) + clusters.run(3, 6, 2))
    home.said(FaultKind.OUT_OF_ORDER, _AFTER)


@case
def a_gap_in_a_file(home: Home) -> None:
    """Offsets are missing, but no bytes are."""
    home.segment(0, _FRONT + clusters.run(7, 9, 1))
    home.said(FaultKind.GAP, _AFTER)
    home.said_of_all(_MISSING, 3, _AFTER)


@case
def a_gap_that_another_replica_fills(home: Home) -> None:
    """The file has a gap, but the log has none."""
    home.segment(0, _FRONT + clusters.run(7, 9, 1))
    home.segment(0, clusters.run(0, 8, 1), node=2)
    home.said(FaultKind.GAP, _AFTER)


@case
def a_gap_between_files(home: Home) -> None:
    """A segment is missing."""
    home.segment(0, _FRONT)
    home.segment(5, clusters.run(5, 7, 1))
    home.said_of_all(_MISSING, 3, 0, _FIFTH)


@case
def a_gap_between_files_that_another_replica_fills(home: Home) -> None:
    """A segment of one replica is missing, but no record of the log is."""
    home.segment(0, _FRONT)
    home.segment(5, clusters.run(5, 7, 1))
    home.segment(0, clusters.run(0, 6, 1), node=2)
    home.said_of_all(_MISSING, 3, 0, _FIFTH)


@case
def a_gap_before_a_torn_first_batch(home: Home) -> None:
    """A segment that was just rolled has the name of the offset that comes next."""
    home.segment(0, _FRONT)
    home.segment(5, clusters.single(5, 1)[:40])
    home.said(FaultKind.TORN_TAIL, 0, _FIFTH)
    home.said_of_all(_MISSING, 3, 0, _FIFTH)


@case
def a_torn_first_batch(home: Home) -> None:
    """Its header is not whole."""
    home.segment(0, clusters.run(0, 5, 1))
    home.segment(5, clusters.single(5, 1)[:40])
    home.said(FaultKind.TORN_TAIL, 0, _FIFTH)


@case
def a_torn_segment_before_another(home: Home) -> None:
    """It is not a tail, although it looks like one."""
    home.segment(0, clusters.run(0, 5, 1)[:-9])
    home.segment(5, clusters.run(5, 7, 1))
    home.said(FaultKind.TORN_TAIL, 4 * _ONE)
    home.said_of_all(_MISSING, 4, 0, _FIFTH)


@case
def a_log_without_its_front(home: Home) -> None:
    """There is no checkpoint either."""
    home.segment(5, clusters.run(5, 7, 1))
    home.said_of_all(_MISSING, 0, 0, _FIFTH)


@case
def a_log_without_its_front_behind_a_checkpoint(home: Home) -> None:
    """The checkpoint does not reach it."""
    home.segment(5, clusters.run(5, 7, 1))
    home.checkpoint(3, 1, clusters.batch(0, 1, "ab"))
    home.said_of_all(_MISSING, 3, 0, _FIFTH)


@case
def a_checkpoint_that_is_newer_than_the_log(home: Home) -> None:
    """Records between them are in no file."""
    home.segment(0, _FRONT)
    name = home.checkpoint(9, 1, clusters.batch(0, 1, "ab"))
    home.said_of_all(_MISSING, 3, None, name)


@case
def a_torn_checkpoint(home: Home) -> None:
    """The checkpoint that the log continues from."""
    home.segment(5, clusters.run(5, 7, 2))
    whole = clusters.batch(0, 2, "abc")
    home.said(FaultKind.TORN_TAIL, len(whole), home.checkpoint(5, 2, whole + clusters.batch(3, 2, "de")[:-9]))


@case
def a_torn_checkpoint_that_is_not_needed(home: Home) -> None:
    """The log has its first record."""
    home.segment(0, clusters.run(0, 7, 2))
    whole = clusters.batch(0, 2, "abc")
    home.said(FaultKind.TORN_TAIL, len(whole), home.checkpoint(5, 2, whole + clusters.batch(3, 2, "de")[:-9]))


@case
def a_checkpoint_that_was_cut_behind_a_batch(home: Home) -> None:
    """Every batch is complete, but the end mark of a checkpoint is missing."""
    home.segment(5, clusters.run(5, 7, 2))
    content = _control(0, "SnapshotHeader") + clusters.batch(1, 2, "abc")
    home.said(FaultKind.TORN_TAIL, len(content), home.checkpoint(5, 2, content))


@case
def a_whole_checkpoint(home: Home) -> None:
    """No fault."""
    home.segment(5, clusters.run(5, 7, 2))
    home.checkpoint(5, 2, _control(0, "SnapshotHeader") + clusters.batch(1, 2, "a") + _control(2, "SnapshotFooter"))


@case
def an_empty_checkpoint(home: Home) -> None:
    """A segment may be empty for a moment, a checkpoint may not."""
    home.segment(5, clusters.run(5, 7, 2))
    home.said(FaultKind.EMPTY, 0, home.checkpoint(5, 2, b""))


@case
def a_folder_in_place_of_a_checkpoint(home: Home) -> None:
    """The checkpoint that the log continues from."""
    home.segment(5, clusters.run(5, 7, 2))
    name = f"{5:020d}-{2:010d}.checkpoint"
    (home.place(5).parent / name).mkdir()
    home.said(_UNREADABLE, 0, name)


@case
def a_wrong_name(home: Home) -> None:
    """A segment with the name of another one."""
    home.segment(5, _FRONT)
    home.said(FaultKind.OUT_OF_ORDER, 0, _FIFTH)


@case
def a_segment_within_another(home: Home) -> None:
    """It is not read, because its front is in another segment."""
    home.segment(0, clusters.run(0, 8, 1))
    home.segment(5, clusters.run(5, 9, 1))
    home.said_of_all(_UNUSED, 5, 0, _FIFTH)


@case
def zeros(home: Home) -> None:
    """A file with only zeros."""
    home.segment(0, bytes(300))
    home.said(_UNREADABLE, 0)


@case
def a_folder(home: Home) -> None:
    """A folder with the name of a segment."""
    home.place(0).mkdir()
    home.segment(5, clusters.run(5, 7, 1))
    home.said(_UNREADABLE, 0)
    home.said_of_all(_MISSING, 0, 0, _FIFTH)


@case
def a_link_to_nothing(home: Home) -> None:
    """A link with the name of a segment."""
    home.place(0).symlink_to("nowhere")
    home.segment(5, clusters.run(5, 7, 1))
    home.said(_UNREADABLE, 0)
    home.said_of_all(_MISSING, 0, 0, _FIFTH)


@case
def a_file_that_cannot_be_opened(home: Home) -> None:
    """A link to itself, which not even root can open."""
    home.place(0).symlink_to(home.place(0))
    home.segment(5, clusters.run(5, 7, 1))
    home.said(_UNREADABLE, 0)
    home.said_of_all(_MISSING, 0, 0, _FIFTH)


@case
def replicas_that_disagree(home: Home) -> None:
    """From one offset on."""
    home.segment(0, clusters.run(0, 4, 1) + clusters.run(4, 6, 2))
    home.segment(0, clusters.run(0, 6, 1), node=2)
    home.said_of_all(_DISAGREEING, 4, node=2)


@case
def replicas_of_two_clusters(home: Home) -> None:
    """Two logs with the same cluster id that have nothing in common."""
    home.segment(0, clusters.batch(0, 1, "abc"))
    home.segment(0, clusters.batch(0, 2, "abc"), node=2)
    home.said_of_all(_DISAGREEING, 0)


@case
def damage_in_a_replica_that_is_not_needed(home: Home) -> None:
    """Another replica has every record."""
    home.segment(0, clusters.run(0, 9, 2))
    home.segment(0, clusters.run(0, 3, 2) + bytes(30) + clusters.run(4, 6, 2), node=2)
    home.said(FaultKind.CORRUPT_BATCH, _AFTER, node=2)


@case
def varints_without_an_end(home: Home) -> None:
    """In place of a record's length."""
    home.segment(0, _FRONT + _with_content(b"\xff" * 12, Codec.NONE) + _BACK)
    home.said(FaultKind.CORRUPT_BATCH, _AFTER)


@case
def a_bomb(home: Home) -> None:
    """In another codec than in the first table."""
    home.segment(0, _FRONT + _with_content(pack(Codec.ZSTD, bytes(64 << 20)), Codec.ZSTD) + _BACK)
    home.said(FaultKind.CORRUPT_BATCH, _AFTER)


@case
def types_and_versions_of_the_future(home: Home) -> None:
    """No damage: every way of reading keeps their bytes."""
    home.segment(0, _FRONT + _value(1, 200, 0) + batch_of(NewBatch(base_offset=4), [NewRecord(b"\1\2\x09xyz")]))


_KINDS = {
    FaultKind.TORN_TAIL: ("torn-in-offset", "torn-in-header", "torn-before-end", "zeros-behind"),
    FaultKind.CRC_MISMATCH: ("wrong-checksum", "wrong-checksum-behind"),
    FaultKind.CORRUPT_RECORD: ("record-cut-short",),
    _UNREADABLE: ("no-log",),
}
_LOST = ("garbage-between", "torn-between", "wrong-checksum", "wrong-magic", "negative-length", "no-length",
         "huge-length")  # fmt: skip
"""The logs of the first table in which the batch at offset 3 is lost, and others follow."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A folder with a cluster for each damage, including those of the first table."""
    made = Home(tmp_path_factory.mktemp("damages") / "logs")
    for name, (content, position) in DAMAGE.items():
        made.cluster = name
        made.segment(0, content)
        made.said(next((kind for kind, names in _KINDS.items() if name in names), FaultKind.CORRUPT_BATCH), position)
        if name in _LOST:
            made.said_of_all(_MISSING, 3, len(content) - len(_BACK))
    for name, make in CASES.items():
        made.cluster = name
        make(made)
    assert len(DAMAGE) + len(CASES) > 50
    return made


def _kind(text: str) -> str:
    for kind in FaultKind:
        if f": {kind}: " in text:
            return kind
    words = {
        "whole in no file": _MISSING,
        "replicas disagree": _DISAGREEING,
        "missing before it in this replica": _MISSING,
        "not read: offset": _UNUSED,
    }
    return next((kind for said, kind in words.items() if said in text), _UNREADABLE)


def _fault(file: str, position: int | None, offset: int | None, text: str) -> Fault:
    path = Path(file)
    node = int(path.parents[1].name.removeprefix("node-"))
    return Fault(path.parents[2].name, node, path.name, _kind(text), position, offset)


def _same(found: Iterable[Fault], expected: set[Fault]) -> None:
    listed = list(found)
    assert len(listed) == len(set(listed)), "each thing once"
    assert set(listed) - expected == set()
    assert expected - set(listed) == set()


def test_dump(home: Home, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Standard error has one line for each fault of a file, and standard output the bytes that no schema describes."""
    files = sorted(path for path in home.logs.rglob("*") if path.suffix in {".log", ".checkpoint"})
    assert kraftlog(["dump", *map(str, files)]) == 1
    out, err = capfdbinary.readouterr()
    lines = [re.fullmatch(r"kraftlog: (/.*?): position (\d+): .*", line) for line in err.decode().splitlines()]
    _same([_fault(line[1], int(line[2]), None, line[0]) for line in lines if line], home.in_files)
    assert all(lines)
    assert out.count(b"UNKNOWN_200") == 1


def _table(target: Path) -> list[Fault]:
    rows = dataset.dataset(str(target / "faults")).to_table().to_pylist()
    return [_fault(row["file"], row["position"], row["offset"], row["fault"]) for row in rows]


def test_ingest(home: Home, tmp_path: Path) -> None:
    """The table `faults` has every fault, and a second run does not change it."""
    arguments = ["ingest", "--logs", str(home.logs), "--target", str(tmp_path), "--all-types"]
    assert quorum_history(arguments) == 3
    _same(_table(tmp_path), home.in_files | home.between_files)
    assert quorum_history(arguments) == 0
    _same(_table(tmp_path), home.in_files | home.between_files)
    rows = dataset.dataset(str(tmp_path / "records")).to_table().to_pylist()
    read = [(row["cluster"], row["offset"]) for row in rows if row["kind"] == "segment"]
    assert len(read) == len(set(read)), "no record twice"
    later = [row for row in rows if row["cluster"] == types_and_versions_of_the_future.__name__]
    assert [(row["type"], row["version"]) for row in later[3:]] == [("UNKNOWN_200", 0), ("TOPIC_RECORD", 9)]
    for name in ("a_batch_of_another_log", "a_batch_twice"):
        assert {offset for cluster, offset in read if cluster == name} == set(range(6)), "nothing behind it is lost"


def test_a_running_ingest(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A continuous ingest has the same faults after every look."""
    left = [1, 2]

    def sleep(_: float) -> None:
        if not left:
            raise KeyboardInterrupt
        left.pop()

    monkeypatch.setattr(commands, "time", SimpleNamespace(sleep=sleep))
    arguments = ["ingest", "--logs", str(home.logs), "--target", str(tmp_path), "--all-types"]
    assert quorum_history([*arguments, "--continuous", "5"]) == 3
    _same(_table(tmp_path), home.in_files | home.between_files)


@pytest.mark.timeout(1800)
def test_spark(spark: SparkSession, home: Home) -> None:
    """Spark has a row for every fault, and the same records as `ingest`."""
    rows = (
        spark.read.format(FORMAT).load(str(home.logs)).select("cluster", "kind", "file", "position", "offset", "fault")
    )
    wrong = [row for row in rows.collect() if row["fault"] is not None]
    _same([_fault(row["file"], row["position"], row["offset"], row["fault"]) for row in wrong],
          home.in_files | home.between_files)  # fmt: skip
