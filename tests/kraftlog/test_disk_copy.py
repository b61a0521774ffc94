"""A copy has every file of a disk, is continued when it was lost, and overwrites nothing."""

import hashlib
import os
import shutil
from pathlib import Path

import pytest
from tests.kraftlog import disks
from tests.kraftlog.test_disk_rewrite import until_done

from kraftlog.disk import DiskError
from kraftlog.disk.files import open_regular
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
    """A copy into itself, of no disk, onto a link, and onto a volume that is too small, is refused."""
    home = source(tmp_path)
    keeps(home, home, "another directory")
    keeps(home, home / "copy", "another directory")
    keeps(home / "topic-0", tmp_path / "target", "no such file")
    keeps(home, tmp_path / "missing" / "target", "No such file or directory")


def test_a_volume_that_is_too_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without room for what the log needs, no file is copied."""
    home, target = source(tmp_path), tmp_path / "target"
    target.mkdir()
    usage = shutil.disk_usage(tmp_path)._replace(free=1 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    keeps(home, target, "1048576 are free: use a larger volume")


def test_what_no_log_needs_may_be_left_out(tmp_path: Path) -> None:
    """Links, pipes, parts of other copies and trees without end are left out, and the result names them."""
    home, target = source(tmp_path), tmp_path / "target"
    expects = expected(home)
    (home / "core").symlink_to("/dev/null")
    (home / disks.LOG / "loop").symlink_to("loop")
    os.mkfifo(home / "topic-0" / "pipe")
    (home / disks.LOG / f"x{copying.PARTIAL}").mkdir()
    deep = home.joinpath(*"abcdefghijk")
    deep.mkdir(parents=True)
    (deep / "file").touch()
    done = copy(home, target)
    assert disks.files(target) == expects
    assert {each.path for each in done.left_out} == {
        "core",
        f"{disks.LOG}/loop",
        "topic-0/pipe",
        f"{disks.LOG}/x{copying.PARTIAL}",
        "a/b/c/d/e/f/g/h/i",
    }
    assert copy(home, target).left_out == done.left_out


def test_only_so_many_files_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a number of files only what the log needs is copied, and the directories with the others are named."""
    home, target = source(tmp_path), tmp_path / "target"
    for name in ("aa", "zz"):
        (home / name).mkdir()
        for number in range(30):
            (home / name / str(number)).touch()
    monkeypatch.setattr(copying, "FILES_MAX", 20)
    done = copy(home, target)
    log = {str(each.relative_to(home)) for each in (home / disks.LOG).iterdir()}
    assert log <= {each.path for each in done.files}
    assert {"aa/", "zz"} <= {each.path for each in done.left_out}
    assert copy(home, target).copied == 0


NEEDED = [f"{disks.LOG}/{name}" for name in (disks.FIRST, "00000000000000000000.log", "quorum-state")]


@pytest.mark.parametrize("name", ["meta.properties", *NEEDED])
def test_what_a_log_needs_is_never_left_out(tmp_path: Path, name: str) -> None:
    """A link in place of a file that the log needs is refused."""
    home = source(tmp_path)
    (home / name).rename(home / "other")
    (home / name).symlink_to(home / "other")
    keeps(home, tmp_path / "target", "put the file itself into its place")


def unreadable(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Files with these names give an error of the device when they are read."""
    real = open_regular

    def fail(path: Path, flags: int = os.O_RDONLY) -> int:
        if path.name in names:
            raise OSError(5, "Input/output error")
        return real(path, flags)

    monkeypatch.setattr(copying, "open_regular", fail)


def test_a_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that cannot be read is left out, also if an earlier copy has it; a segment ends the copy."""
    home, target = source(tmp_path), tmp_path / "target"
    (home / disks.LOG / "00000000000000000000.index").write_bytes(b"index")
    unreadable(monkeypatch, "00000000000000000000.index")
    (only,) = copy(home, target).left_out
    assert only.path == f"{disks.LOG}/00000000000000000000.index"
    assert "Input/output error" in only.reason
    monkeypatch.undo()
    assert copy(home, target).left_out == ()
    unreadable(monkeypatch, "00000000000000000000.index")
    assert [each.path for each in copy(home, target).left_out] == [only.path]
    shutil.rmtree(target)
    unreadable(monkeypatch, disks.segment(home).name)
    with pytest.raises(DiskError, match="Input/output error"):
        copy(home, target)


def test_a_target_that_cannot_be_written_is_no_reason_to_leave_a_file_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a file can be read, and is not copied all the same, the copy has failed."""
    home, target = source(tmp_path), tmp_path / "target"
    real = copying._write

    def fail(one: Path, partial: Path, limit_bytes: int | None) -> tuple[str, int]:
        if one.name == "x.log":
            raise DiskError("the target fails")
        return real(one, partial, limit_bytes)

    monkeypatch.setattr(copying, "_write", fail)
    with pytest.raises(DiskError, match="the target fails"):
        copy(home, target)


def test_room_for_the_log_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other files are left out when they do not fit."""
    home, target = source(tmp_path), tmp_path / "target"
    usage = shutil.disk_usage(tmp_path)._replace(free=(16 << 20) + (1 << 20))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    done = copy(home, target)
    assert [each.path for each in done.left_out] == ["topic-0/x.log"]
    assert disks.segment(target).read_bytes() == disks.segment(home).read_bytes()


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
