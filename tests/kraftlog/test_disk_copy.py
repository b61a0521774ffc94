"""A copy has every file of a disk, is continued when it was lost, and overwrites nothing."""

import hashlib
import os
import shutil
from pathlib import Path

import pytest
from tests.kraftlog import disks
from tests.kraftlog.test_disk_rewrite import until_done

from kraftlog.disk import DiskError
from kraftlog.rewrite import copy, copying


def source(tmp_path: Path) -> Path:
    """A disk with directories and files that are not Kafka's."""
    home = disks.make(tmp_path / "source")
    (home / "topic-0").mkdir()
    (home / "topic-0" / "x.log").write_bytes(os.urandom((1 << 20) + 5))
    (home / "empty").mkdir()
    for name in (".lock", "bootstrap.checkpoint"):
        (home / name).touch()
    (home / "lost+found").mkdir()
    return home


def expected(home: Path) -> dict[str, bytes]:
    """What a copy must have."""
    return {name: content for name, content in disks.files(home).items() if name != ".lock"}


def test_a_copy(tmp_path: Path) -> None:
    """A copy has every file and directory with its time, and the result has their sums."""
    home, target = source(tmp_path), tmp_path / "target"
    os.utime(home / "meta.properties", ns=(1, 10**18))
    done = copy(home, target)
    assert disks.files(target) == expected(home)
    assert {each.path: each.sha256 for each in done.files} == {
        name: hashlib.sha256(content).hexdigest() for name, content in expected(home).items()
    }
    assert done.copied == len(done.files)
    assert (target / "empty").is_dir()
    assert (target / "meta.properties").stat().st_mtime_ns == 10**18
    again = copy(home, target)
    assert (again.copied, again.files) == (0, done.files)


def test_a_copy_that_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often a copy is lost, the same command completes it."""
    home, target = source(tmp_path), tmp_path / "target"
    assert until_done(monkeypatch, lambda: copy(home, target)) > 5
    assert disks.files(target) == expected(home)


def test_a_partial_file_is_written_again(tmp_path: Path) -> None:
    """A file that is not whole yet is no part of the copy, and is replaced."""
    home, target = source(tmp_path), tmp_path / "target"
    target.mkdir()
    (target / f"meta.properties{copying.PARTIAL}").write_bytes(b"node")
    copy(home, target)
    assert disks.files(target) == expected(home)


def keeps(home: Path, target: Path, words: str) -> None:
    """Checks that a copy is refused with these words, and that nothing was changed."""
    before = disks.files(target.parent)
    with pytest.raises(DiskError, match=words):
        copy(home, target)
    assert disks.files(target.parent) == before


def test_other_data_is_never_overwritten(tmp_path: Path) -> None:
    """A target with other files, or with other content in one of them, is refused."""
    home, target = source(tmp_path), tmp_path / "target"
    target.mkdir()
    (target / "foreign").write_bytes(b"data")
    keeps(home, target, "no part of the copy")
    (target / "foreign").unlink()
    (target / "topic-0").write_bytes(b"a file in place of a directory")
    keeps(home, target, "no part of the copy")
    shutil.rmtree(target)
    copy(home, target)
    for content in (b"node.id=7", b"", (home / "meta.properties").read_bytes() + b"#"):
        (target / "meta.properties").write_bytes(content)
        keeps(home, target, "not overwritten")


def test_places_that_are_refused(tmp_path: Path) -> None:
    """A copy into itself, of links, of no disk, and onto a volume that is too small, is refused."""
    home = source(tmp_path)
    keeps(home, home, "another directory")
    keeps(home, home / "copy", "another directory")
    keeps(home / "topic-0", tmp_path / "target", "no such file")
    keeps(home, tmp_path / "missing" / "target", "No such file or directory")
    (home / "link").symlink_to("/etc/hostname")
    with pytest.raises(DiskError, match="neither a file nor a directory"):
        copy(home, tmp_path / "target")


def test_a_volume_that_is_too_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without room for all files, none is copied."""
    home, target = source(tmp_path), tmp_path / "target"
    target.mkdir()
    usage = shutil.disk_usage(tmp_path)._replace(free=1 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    keeps(home, target, "1048576 are free: use a larger volume")


def test_a_disk_that_changes_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that grows while it is copied ends the copy, and gets no name in the target."""
    home, target = source(tmp_path), tmp_path / "target"
    real = os.posix_fadvise

    def grow(descriptor: int, offset: int, length: int, advice: int) -> None:
        with disks.segment(home).open("ab") as file:
            file.write(b"more")
        real(descriptor, offset, length, advice)

    monkeypatch.setattr(os, "posix_fadvise", grow)
    with pytest.raises(DiskError, match="changed while it was copied: stop the server"):
        copy(home, target)
    assert not disks.segment(target).exists()


def test_a_volume_that_stores_something_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that reads back with another content ends the copy."""
    home, target = source(tmp_path), tmp_path / "target"
    real = copying._write

    def wrong(one: Path, partial: Path, limit_bytes: int | None) -> tuple[str, int]:
        found = real(one, partial, limit_bytes)
        partial.write_bytes(b"other")
        return found

    monkeypatch.setattr(copying, "_write", wrong)
    with pytest.raises(DiskError, match="reads back with another content"):
        copy(home, target)
