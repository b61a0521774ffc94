"""Twenty damaged or torn logs: each fault is reported with file and position by every way of reading."""

import re
import struct
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyarrow import dataset
from pyspark.sql import SparkSession
from tests.kraftlog import logs
from tests.quorum_history import clusters

from kraftlog.__main__ import main as kraftlog
from kraftlog.codecs import Codec, pack
from kraftlog.writer import NewBatch, NewRecord, batch_of
from quorum_history import commands
from quorum_history.__main__ import main as quorum_history
from quorum_history.source import FORMAT

_FRONT = clusters.run(0, 3, 1)
_MIDDLE = clusters.single(3, 1)
_BACK = clusters.run(4, 6, 1)
Places = set[tuple[str, int]]


def _patched(batch: bytes, at: int, value: bytes, *, summed: bool = False) -> bytes:
    changed = batch[:at] + value + batch[at + len(value) :]
    return changed[:17] + struct.pack(">I", logs.crc(changed[21:])) + changed[21:] if summed else changed


def _packed(content: bytes, codec: Codec) -> bytes:
    """A batch at offset 3 with this content, marked with this codec."""
    batch = logs.batch(3, "a", codec=codec)[:61] + content
    return _patched(batch, 8, struct.pack(">i", len(batch) - 12), summed=True)


def _between(middle: bytes) -> bytes:
    return _FRONT + middle + _BACK


DAMAGE: dict[str, tuple[bytes, int]] = {
    "torn-in-offset": (_FRONT + _MIDDLE[:5], len(_FRONT)),
    "torn-in-header": (_FRONT + _MIDDLE[:40], len(_FRONT)),
    "garbage-before": (b"\xa5" * 77 + _FRONT, 0),
    "torn-before-end": (_FRONT + _MIDDLE[:-1], len(_FRONT)),
    "zeros-behind": (_FRONT + bytes(500), len(_FRONT)),
    "garbage-behind": (_FRONT + b"\xa5" * 500, len(_FRONT)),
    "garbage-between": (_between(b"\xa5" * 77), len(_FRONT)),
    "torn-between": (_between(_MIDDLE[:50]), len(_FRONT)),
    "wrong-checksum": (_between(_MIDDLE.replace(b"t-3", b"x-3")), len(_FRONT)),
    "wrong-checksum-behind": (_FRONT + _MIDDLE.replace(b"t-3", b"x-3"), len(_FRONT)),
    "wrong-magic": (_between(_patched(_MIDDLE, 16, b"\1")), len(_FRONT)),
    "negative-length": (_between(_patched(_MIDDLE, 8, struct.pack(">i", -5))), len(_FRONT)),
    "no-length": (_between(_patched(_MIDDLE, 8, struct.pack(">i", 0))), len(_FRONT)),
    "huge-length": (_between(_patched(_MIDDLE, 8, struct.pack(">i", 2**31 - 1))), len(_FRONT)),
    "too-many-records": (_between(_patched(_MIDDLE, 57, struct.pack(">i", 9), summed=True)), len(_FRONT)),
    "negative-records": (_between(_patched(_MIDDLE, 57, struct.pack(">i", -9), summed=True)), len(_FRONT)),
    "noise-compressed": (_between(_packed(b"\xa5" * 50, Codec.ZSTD)), len(_FRONT)),
    "bomb": (_between(_packed(pack(Codec.GZIP, bytes(64 << 20)), Codec.GZIP)), len(_FRONT)),
    "record-cut-short": (_between(batch_of(NewBatch(base_offset=3), [NewRecord(b"\1\2\0\x7f")])), len(_FRONT)),
    "no-log": (b"this is no log, but it lies where one should be", 0),
}
"""A segment's content, and the position of its fault."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with a cluster for each damaged log."""
    assert len(DAMAGE) == 20
    for name, (content, _) in DAMAGE.items():
        clusters.segment(clusters.replica(tmp_path / "logs", name, 1), 0, content)
    return tmp_path


def _expected() -> Places:
    return {(name, position) for name, (_, position) in DAMAGE.items()}


def _named(file: str) -> str:
    return Path(file).parents[2].name


def _faults(target: Path) -> Places:
    rows = dataset.dataset(str(target / "faults")).to_table().to_pylist()
    assert len(rows) == len({(row["file"], row["position"]) for row in rows}), "each thing once"
    return {(_named(row["file"]), row["position"]) for row in rows if row["offset"] is None}


def _gaps(target: Path) -> set[str]:
    rows = dataset.dataset(str(target / "faults")).to_table().to_pylist()
    assert all("offsets 3 to 3 are whole in no file" in row["fault"] for row in rows if row["offset"] is not None)
    return {_named(row["file"]) for row in rows if row["offset"] is not None}


_LOST = {"garbage-between", "torn-between", "wrong-checksum", "wrong-magic", "negative-length", "no-length",
         "huge-length"}  # fmt: skip
"""The logs in which the batch at offset 3 is lost, and others follow."""


def test_dump_tells_each(home: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """`kraftlog dump` reports each fault on standard error, and by the exit code."""
    files = [str(path) for path in sorted((home / "logs").rglob("*.log"))]
    assert kraftlog(["dump", *files]) == 1
    said = re.findall(r"kraftlog: (/.*?\.log): position (\d+): ", capfdbinary.readouterr().err.decode())
    assert {(_named(file), int(position)) for file, position in said} == _expected()


def test_ingest_tells_each(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`ingest` reports each fault in the table `faults` and in the summary; a second run adds and loses none."""
    arguments = ["ingest", "--logs", str(home / "logs"), "--target", str(home / "tables"), "--all-types"]
    assert quorum_history(arguments) == 3
    assert f"{len(DAMAGE) + len(_LOST)} of them new" in capsys.readouterr().out
    assert _faults(home / "tables") == _expected()
    assert _gaps(home / "tables") == _LOST
    assert quorum_history(arguments) == 0
    assert _faults(home / "tables") == _expected()


def test_a_running_ingest_tells_each(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A continuous ingest reports each fault, also if the damage comes later."""
    logs_ = home / "logs"
    contents = {path: path.read_bytes() for path in logs_.rglob("*.log")}
    for path in contents:
        path.write_bytes(_FRONT)

    def slept(steps: list[Callable[[], object]]) -> Callable[[float], None]:
        def sleep(_: float) -> None:
            if not steps:
                raise KeyboardInterrupt
            steps.pop(0)()

        return sleep

    def damage() -> None:
        for path, content in contents.items():
            path.write_bytes(content)

    # Only this module's `time`, because other threads, such as those of Spark, also sleep.
    monkeypatch.setattr(commands, "time", SimpleNamespace(sleep=slept([damage])))
    arguments = ["ingest", "--logs", str(logs_), "--target", str(home / "tables"), "--all-types"]
    assert quorum_history([*arguments, "--continuous", "5"]) == 3
    assert _faults(home / "tables") == _expected()
    assert _gaps(home / "tables") == _LOST


@pytest.mark.timeout(1200)
def test_spark_tells_each(spark: SparkSession, home: Path) -> None:
    """Spark reports each fault as a row."""
    rows = spark.read.format(FORMAT).load(str(home / "logs")).where("fault is not null").collect()
    assert {(_named(row["file"]), row["position"]) for row in rows if row["offset"] is None} == _expected()
    assert {_named(row["file"]) for row in rows if row["offset"] is not None} == _LOST
