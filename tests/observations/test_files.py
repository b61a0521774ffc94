"""Files of lines: complete or absent, written soon for news, bounded in size and number, on disks and via fsspec."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import fsspec
import pytest
from tests.clocks import MovingClock

from kafka_quorum.observations import files
from kafka_quorum.observations.files import Directory, Files, Remote, Store
from kafka_quorum.observations.recorder import Line

START = datetime(2026, 1, 1, tzinfo=UTC)
_MEMORY = "memory://observations-of-tests"


class Failing(Directory):
    """A directory in which nothing can be stored for a while."""

    def __init__(self, path: Path) -> None:
        """Starts failing."""
        super().__init__(path)
        self.works = False
        self.tried = 0

    def put(self, name: str, content: bytes) -> None:
        """Fails, or stores the content."""
        self.tried += 1
        if not self.works:
            raise OSError("no space left on device")
        super().put(name, content)


def line(text: str, *, new: bool = False) -> Line:
    """A line of a cluster."""
    return Line(key="c", text=text.encode(), new=new)


def sink(store: Store, *, max_bytes: int = 1 << 30) -> tuple[Files, MovingClock]:
    """A sink in which old news wait for a hundred seconds."""
    clock = MovingClock()
    return Files(store, clock, holder="pod-1", hold_s=100.0, max_bytes=max_bytes), clock


def stored(directory: Path) -> list[str]:
    """The content of the files, in order; there is nothing else in the directory."""
    found = sorted(directory.iterdir()) if directory.is_dir() else []
    assert all(path.name.startswith("observations-2026") and path.suffix == ".jsonl" for path in found)
    return [path.read_text() for path in found]


def test_news_soon_and_the_rest_with_company(tmp_path: Path) -> None:
    """Old news wait until they are due or a new line comes, new lines wait a few seconds; files never change."""
    made, clock = sink(Directory(tmp_path))
    made.write([line("a")])
    clock.seconds = 99.0
    made.write([])
    assert stored(tmp_path) == []
    clock.seconds = 100.0
    made.write([])
    assert stored(tmp_path) == ["a\n"]
    made.write([line("b"), line("c", new=True)])
    assert stored(tmp_path) == ["a\n"]
    clock.seconds += files.NEW_S
    made.write([])
    assert stored(tmp_path) == ["a\n", "b\nc\n"]
    made.write([line("d")])
    made.close()
    made.close()
    assert stored(tmp_path) == ["a\n", "b\nc\n", "d\n"]


def test_a_full_file_waits_for_nobody(tmp_path: Path) -> None:
    """A line that fills a file is stored at once."""
    made, _ = sink(Directory(tmp_path))
    made.write([line("x" * files.FILE_BYTES)])
    assert len(stored(tmp_path)) == 1


def _folder(tmp_path: Path) -> tuple[Store, Callable[[], set[str]]]:
    return Directory(tmp_path), lambda: {path.name for path in tmp_path.iterdir()}


def _object_store(_: Path) -> tuple[Store, Callable[[], set[str]]]:
    filesystem = fsspec.filesystem("memory")
    if filesystem.exists("/observations-of-tests"):
        filesystem.rm("/observations-of-tests", recursive=True)
    listed = "/observations-of-tests"
    return Remote(_MEMORY), lambda: {name.rpartition("/")[2] for name in filesystem.ls(listed, detail=False)}


@pytest.mark.parametrize("place", [_folder, _object_store])
def test_the_oldest_files_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: Callable[[Path], tuple[Store, Callable[[], set[str]]]]
) -> None:
    """Beyond the bound in bytes the sink deletes its oldest files, and keeps the files of others."""
    monkeypatch.setattr(files, "_PRUNE_EVERY", 2)
    store, names = place(tmp_path)
    store.put("somebody-elses.txt", b"y" * 5000)
    made, clock = sink(store, max_bytes=1000)
    for _ in range(21):
        made.write([line("x" * 99, new=True)])
        clock.seconds += files.NEW_S
        made.write([])
    ours = sorted(name for name in names() if name != "somebody-elses.txt")
    assert len(names()) == len(ours) + 1
    assert 9 <= len(ours) <= 11
    assert "T000145" in ours[-1]
    monkeypatch.setattr(files, "FILES_MAX", 3)
    made.write([line("z", new=True)])
    made.close()
    made.write([line("z", new=True)])
    clock.seconds += files.NEW_S
    made.close()
    assert len(names()) <= 5


def test_through_fsspec(tmp_path: Path) -> None:
    """A URL stores the same files, and missing folders are created."""
    made, _ = sink(Remote(f"file://{tmp_path}/deep/er"))
    made.write([line("a", new=True)])
    made.close()
    assert stored(tmp_path / "deep" / "er") == ["a\n"]


def test_an_address_is_told_without_its_credentials() -> None:
    """The text before an @ in an address is not logged."""
    assert str(Remote("ftp://user:word@host/folder/")) == "ftp://host/folder"


def test_a_store_that_fails(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Lines that cannot be stored are kept up to a bound, the newest first, and stored after a pause."""
    store = Failing(tmp_path)
    made, clock = sink(store)
    made.write([line("first", new=True)])
    clock.seconds += files.NEW_S
    with pytest.raises(OSError, match="no space"):
        made.write([])
    made.write([])
    assert store.tried == 1
    store.works = True
    clock.seconds += 20.0
    made.write([line("second")])
    assert stored(tmp_path) == ["first\nsecond\n"]
    store.works = False
    size, failed = 64 * 1024, 0
    for number in range(200):
        try:
            made.write([line(f"{number:05d}" + "x" * size)])
        except OSError:
            failed += 1
    assert failed == 1
    store.works = True
    made.close()
    last = stored(tmp_path)[-1]
    assert len(last) <= files.HELD_BYTES_MAX
    assert last.splitlines()[-1].startswith("00199")
    lost = str(200 - len(last.splitlines()))
    assert any(lost in row.getMessage() and str(tmp_path) in row.getMessage() for row in caplog.records)


def test_a_half_written_file_is_never_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If storing fails half-way, the directory does not change."""

    def full(_: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="no space"):
        Directory(tmp_path).put("observations-x.jsonl", b"abc\n")
    assert list(tmp_path.iterdir()) == []
