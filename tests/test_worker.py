"""The program of pods that work on disks: what it reports, and that it reports a failure as one."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.model.values import CLUSTER, directory

from kafka_quorum import worker
from kafka_quorum.model.disk_work import REPORT
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.surveyed import Beyond, EmptyDisk, EpochRange, EpochStart, LogEnd, LogRead
from kafka_quorum.observe.recovery import report_from
from kafka_quorum.resources.recovery import REQUEST
from kafka_quorum.resources.scripts import RECOVERY_MARK

Json = dict[str, Any]
LOOK: Json = {
    "schema": 2,
    "cluster_id": CLUSTER,
    "node_id": 3000,
    "directory_id": directory(3000),
    "quorum_state": {"leader_epoch": 9, "leader_id": None, "voted_id": None, "voted_directory_id": None},
    "checkpoint": {"offset": 400, "epoch": 6, "size_bytes": 1, "whole": True, "reason": ""},
    "segments": [{"base_offset": 0, "end_offset": 500, "batches": 1, "size_bytes": 1, "valid_bytes": 1}],
    "first_offset": 0,
    "end_offset": 500,
    "last_epoch": 7,
    "epochs": [{"epoch": 5, "offset": 0}, {"epoch": 7, "offset": 300}],
    "tail": {"size_bytes": 12, "zero_bytes": 0, "reason": "cut"},
    "damage": None,
    "voters_in_checkpoint": {
        "offset": 0,
        "voters": [
            {
                "node_id": 3001,
                "directory_id": directory(3001),
                "endpoints": [],
                "min_kraft_version": 0,
                "max_kraft_version": 1,
            }
        ],
    },
    "voters_in_log": None,
    "kraft_version": 1,
}


class Disk:
    """Stands for `kraftlog.disk`: answers by command, and remembers what it was asked."""

    def __init__(self, **answers: Json | str) -> None:
        """Take the answer of each command; a text is an error."""
        self.answers, self.asked = answers, list[Sequence[str]]()

    def __call__(self, arguments: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        """Answer."""
        self.asked.append(arguments)
        answer = self.answers[arguments[0]]
        if isinstance(answer, str):
            return subprocess.CompletedProcess(arguments, 1, "", f"kraftlog.disk: {answer}\n")
        return subprocess.CompletedProcess(arguments, 0, json.dumps(answer), "")


@pytest.fixture
def volume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A mounted volume with a log directory."""
    (tmp_path / "kraft").mkdir()
    (tmp_path / "kraft" / "meta.properties").write_text("version=1\n")
    monkeypatch.setattr("os.path.ismount", lambda path: Path(path) == tmp_path)
    return tmp_path


def request(volume: Path, kind: str = "inspect", **more: object) -> Json:
    """A request for this volume."""
    return {"kind": kind, "volume": str(volume), "directory": str(volume / "kraft"), **more}


def run(asked: Json, disk: Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"], into: Path) -> Json:
    """The report of a run, as the kubelet reads it."""
    message = into / "message"
    code = worker.main({REQUEST: json.dumps(asked)}, message, disk)
    found: Json = json.loads(message.read_text())
    assert code == (0 if found["done"] else 1)
    assert len(message.read_text()) < 4096
    return found


def test_a_log_is_reported(volume: Path, tmp_path: Path) -> None:
    """What was read is reported in the form that the operator reads back."""
    report = report_from(json.dumps(run(request(volume), Disk(look=LOOK), tmp_path)))
    assert report is not None
    assert isinstance(report.found, Known)
    log = report.found.value
    assert isinstance(log, LogRead)
    assert (log.end, log.checkpoint) == (LogEnd(epoch=7, offset=500), LogEnd(epoch=6, offset=400))
    assert (log.leader_epoch, log.torn_bytes, log.damaged_at, log.kraft_version) == (9, 12, None, 1)
    assert [key.node_id for key in log.voters] == [3001]
    assert log.epochs == (EpochStart(epoch=5, offset=0), EpochStart(epoch=7, offset=300))


def test_an_empty_volume_is_reported(volume: Path, tmp_path: Path) -> None:
    """A mounted volume without a log is empty, and nothing is run on it."""
    (volume / "kraft" / "meta.properties").unlink()
    disk = Disk()
    report = report_from(json.dumps(run(request(volume), disk, tmp_path)))
    assert report is not None
    assert report.found == Known(value=EmptyDisk())
    assert disk.asked == []


def test_a_volume_that_is_not_mounted_is_unknown(volume: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a mount nothing is known of the disk: it is not empty."""
    monkeypatch.setattr("os.path.ismount", lambda _: False)
    report = report_from(json.dumps(run(request(volume), Disk(), tmp_path)))
    assert report is not None
    assert isinstance(report.found, Unknown)
    assert "no volume is mounted" in report.found.reason


@pytest.mark.parametrize(
    ("look", "words"),
    [
        ("two cluster ids", "two cluster ids"),
        (LOOK | {"checkpoint": LOOK["checkpoint"] | {"whole": False, "reason": "cut"}}, "newest checkpoint"),
        (LOOK | {"segments": []}, "no segment"),
        (LOOK | {"schema": 3}, "form 3"),
    ],
)
def test_a_log_that_cannot_be_used_is_unknown(volume: Path, tmp_path: Path, look: Json | str, words: str) -> None:
    """What the program refuses, and a log from which no controller starts, is unknown, with the reason."""
    report = report_from(json.dumps(run(request(volume), Disk(look=look), tmp_path)))
    assert report is not None
    assert not report.done
    assert isinstance(report.found, Unknown)
    assert words in report.found.reason


MOST = 2**63 - 1
BEYOND: Json = {
    "schema": 1,
    "end_offset": 500,
    "last_epoch": 7,
    "shared": {"epoch": 7, "offset": 399},
    "records": 100,
    "undecided_records": 0,
    "unread_records": 2,
    "whole": True,
    "first_offset": 400,
    "last_offset": 499,
    "epochs": [{"epoch": 7, "first_offset": 400, "last_offset": 499, "records": 100}],
    "types": [{"type": "TOPIC_RECORD", "records": 100}],
    "topics": [
        {"name": "orders", "topic_id": "AAAAAAAAAAAAAAAAAAAAAA", "created": True, "removed": False, "records": 99},
        {"name": None, "topic_id": "BBBBBBBBBBBBBBBBBBBBBB", "created": False, "removed": False, "records": 1},
    ],
    "topics_total": 2,
}
CHOSEN: Json = {"schema": 1, "epochs": [{"epoch": 7, "offset": 0}], "end_offset": 400}


def test_a_comparison_is_reported(volume: Path, tmp_path: Path) -> None:
    """What a log has more than the chosen one is reported in the form that the operator reads back."""
    disk = Disk(beyond=BEYOND)
    report = report_from(json.dumps(run(request(volume, "compare", chosen=CHOSEN), disk, tmp_path)))
    assert report is not None
    assert report.done
    assert isinstance(report.found, Unknown)
    assert report.beyond == Beyond(
        end=LogEnd(epoch=7, offset=500),
        shared=LogEnd(epoch=7, offset=399),
        records=100,
        undecided=0,
        unread=2,
        whole=True,
        first=400,
        last=499,
        epochs=(EpochRange(epoch=7, first=400, last=499, records=100),),
        types=(("TOPIC_RECORD", 100),),
        topics=("orders", "(id BBBBBBBBBBBBBBBBBBBBBB)"),
        topics_total=2,
    )
    assert disk.asked == [["beyond", str(volume / "kraft"), "--chosen", json.dumps(CHOSEN)]]


@pytest.mark.parametrize("letter", ["a", "\u202e", '"'])
def test_the_largest_comparison_fits_into_the_message(volume: Path, tmp_path: Path, letter: str) -> None:
    """However much a log has, and however long its names are, the report has room, and the totals stay."""
    numbers = dict.fromkeys(("end_offset", "records", "undecided_records", "unread_records", "last_offset"), MOST)
    most = BEYOND | numbers | {
        "first_offset": MOST,
        "epochs": [dict.fromkeys(("first_offset", "last_offset", "records"), MOST) | {"epoch": 2**31 - 1}] * 100,
        "types": [{"type": "UNKNOWN_34359738367", "records": MOST}] * 1000,
        "topics": [BEYOND["topics"][0] | {"name": letter * 249}] * 1000,
        "topics_total": 200_000,
    }  # fmt: skip
    report = report_from(json.dumps(run(request(volume, "compare", chosen=CHOSEN), Disk(beyond=most), tmp_path)))
    assert report is not None
    assert report.beyond is not None
    assert (report.beyond.records, report.beyond.topics_total) == (MOST, 200_000)
    assert len(report.beyond.topics) < 30


@pytest.mark.parametrize("answer", ["not a log", BEYOND | {"schema": 2}])
def test_a_comparison_that_failed_shows_nothing(volume: Path, tmp_path: Path, answer: Json | str) -> None:
    """A disk that cannot be compared, or a form that is not known, is unknown, and is not one without records."""
    report = report_from(json.dumps(run(request(volume, "compare", chosen=CHOSEN), Disk(beyond=answer), tmp_path)))
    assert report is not None
    assert (report.done, report.beyond) == (False, None)
    assert report.message


def test_an_empty_volume_is_not_compared(volume: Path, tmp_path: Path) -> None:
    """A volume without a log has nothing to compare, which is a failure and no result."""
    (volume / "kraft" / "meta.properties").unlink()
    assert "holds no log" in run(request(volume, "compare", chosen=CHOSEN), Disk(), tmp_path)["message"]


def test_a_copy_is_read_again(volume: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log that is reported is that of the copy, and all files of it have one digest."""
    monkeypatch.setattr("os.path.ismount", lambda _: True)
    target = {"volume": str(tmp_path), "directory": str(tmp_path / "copy")}
    files = [{"path": "meta.properties", "size_bytes": 1, "sha256": "ab"}]
    left_out = [{"path": f"core{number}", "reason": "a link"} for number in range(5)]
    disk = Disk(copy={"schema": 1, "files": files, "copied": 1, "left_out": left_out}, look=LOOK)
    report = run(request(volume, "copy", target=target), disk, tmp_path)
    assert "'core0', 'core1', 'core2' and 2 more" in report["message"]
    assert disk.asked == [["copy", str(volume / "kraft"), str(tmp_path / "copy")], ["look", str(tmp_path / "copy")]]
    assert len(report["digest"]) == 64


@pytest.mark.parametrize("seeded", [False, True])
def test_a_rewritten_disk_is_marked(volume: Path, tmp_path: Path, *, seeded: bool) -> None:
    """After the log was rewritten, or seeded, the disk has the epoch of the recovery; a second run does the same."""
    mark = {"path": str(volume / ".kafka-quorum-recovery"), "epoch": 3}
    seed = {"seed": {"volume": "/seed", "directory": "/seed/kraft"}} if seeded else {}
    asked = request(volume, "rewrite", plan={"schema": 1}, mark=mark, **seed)
    command = "seed" if seeded else "rewrite"
    for _ in range(2):
        disk = Disk(**{command: {"schema": 1}, "look": LOOK})
        assert run(asked, disk, tmp_path)["done"]
        assert disk.asked[0][0] == command
        assert (volume / ".kafka-quorum-recovery").read_text() == "3"


def test_a_disk_that_was_not_rewritten_is_not_marked(volume: Path, tmp_path: Path) -> None:
    """If the program refuses the disk, it stays as it is."""
    mark = {"path": str(volume / ".kafka-quorum-recovery"), "epoch": 3}
    report = run(request(volume, "rewrite", plan={}, mark=mark), Disk(rewrite="not the disk of the plan"), tmp_path)
    assert not report["done"]
    assert not (volume / ".kafka-quorum-recovery").exists()


def test_a_request_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a request the program ends with 2; an unknown kind is reported."""
    assert worker.main({}, tmp_path / "message") == 2
    assert REQUEST in capsys.readouterr().err
    assert "does not know" in run({"kind": "erase"}, Disk(), tmp_path)["message"]


def test_both_sides_have_one_form() -> None:
    """The program and the operator agree on the number of the report and on the variable."""
    assert (worker.REPORT, worker.REQUEST) == (REPORT, REQUEST)
    assert Path(RECOVERY_MARK).name in worker._OWN_MARKS


EMPTY: list[tuple[str, ...]] = [
    (),
    ("kraft/",),
    ("lost+found/",),
    ("lost+found/", "kraft/", ".kafka-quorum-format", ".kafka-quorum-recovery", ".kafka-quorum-recovery.new"),
]


def fill(volume: Path, *paths: str) -> None:
    """Put these files, links (`name -> target`) and directories (`name/`) on an empty volume."""
    shutil.rmtree(volume / "kraft")
    for path in paths:
        name, arrow, target = path.partition(" -> ")
        place = volume / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if arrow:
            place.symlink_to(target)
        elif name.endswith("/"):
            place.mkdir(exist_ok=True)
        else:
            place.write_text("x")


@pytest.mark.parametrize("paths", EMPTY)
def test_a_volume_without_anything_is_empty(volume: Path, paths: tuple[str, ...]) -> None:
    """Empty directories of the file system and of Kafka, and our own marks, are no data."""
    fill(volume, *paths)
    assert worker.report(request(volume), Disk())["found"] == "empty"


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        (("lost+found/#12/meta.properties",), "'lost+found/#12'"),
        (("kraft-old/meta.properties", "kraft/"), "'kraft-old'"),
        (("kraft -> gone",), "is a link"),
        (("kraft -> kraft",), "is a link"),
        (("kraft",), "Not a directory"),
        (("lost+found",), "'lost+found'"),
        ((".kafka-quorum-recovery -> /etc/hostname",), "'.kafka-quorum-recovery'"),
        (("etc/", "usr/", "boot/", "var/", "home/"), "'boot', 'etc', 'home' and 2 more"),
        (("a\n\x1b[2J\u00e9",), r"'a\n\x1b[2J\xe9'"),
    ],
)
def test_a_volume_that_holds_something_else_is_unknown(volume: Path, paths: tuple[str, ...], words: str) -> None:
    """Whatever is there may be the log, so such a disk is not lost; the report names a few of the names."""
    fill(volume, *paths)
    said = worker.report(request(volume), Disk())
    assert (said["done"], said["found"]) == (False, "unknown")
    assert words in said["message"]


def test_a_lost_and_found_that_cannot_be_listed_is_unknown(volume: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What fsck has moved there may be the log."""
    fill(volume, "lost+found/")
    real = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("lost+found"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    said = worker.report(request(volume), Disk())
    assert (said["done"], said["found"]) == (False, "unknown")
    assert "lost+found" in said["message"]


def test_a_seed_whose_path_is_a_file_is_unknown(volume: Path) -> None:
    """A file where a directory of the path should be is named."""
    fill(volume, "data")
    said = worker.report(request(volume, directory=str(volume / "data" / "kraft")), Disk())
    assert (said["done"], said["found"]) == (False, "unknown")
    assert "'data'" in said["message"]


def test_the_mark_follows_no_link(volume: Path, tmp_path: Path) -> None:
    """A link with the name of the mark, or of its new file, is replaced, and what it leads to stays as it was."""
    log = volume / "kraft" / "meta.properties"
    before = log.read_bytes()
    for name in (".kafka-quorum-recovery.new", ".kafka-quorum-recovery"):
        (volume / name).symlink_to(log)
    mark = {"path": str(volume / ".kafka-quorum-recovery"), "epoch": 3}
    assert run(request(volume, "rewrite", plan={}, mark=mark), Disk(rewrite={}, look=LOOK), tmp_path)["done"]
    assert log.read_bytes() == before
    assert not (volume / ".kafka-quorum-recovery").is_symlink()
    assert (volume / ".kafka-quorum-recovery").read_text() == "3"
