"""Copy a disk file by file, so that nothing that is done afterwards can lose it: checked by SHA-256, resumable.

A file gets its name in the target only when it is whole and on the disk. What is there already is compared, and never
overwritten. So an interrupted copy is continued by the same command, and a finished one is checked by it.
"""

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kraftlog.disk.errors import DiskError
from kraftlog.disk.files import FILES_MAX, LOCK, names, open_regular, sync_directory, system, unused
from kraftlog.disk.identity import identity

RESULT_SCHEMA: Final = 1
PARTIAL: Final = ".kraftlog-copy"
"""The end of the name of a file that is not whole yet."""
_LEFT_OUT = frozenset({LOCK, "lost+found"})
_CHUNK_BYTES = 1 << 20
_SPARE_BYTES = 16 << 20
"""Room that must stay in the target for directories."""
_DEPTH_MAX = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedFile:
    """A file by its path below the directory."""

    path: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """Every file of a copy. `copied` of them were written now; the others were there already, with the same content."""

    schema: int
    files: tuple[CopiedFile, ...]
    copied: int


def copy(source: Path, target: Path) -> Copied:
    """Copy the directory of a stopped server into another one (`DiskError`: not copied as a whole, and why).

    `source` has `meta.properties`. `target` is made if it is missing; it may have parts of the same copy, and nothing
    else. The lock file and `lost+found` are left out. Modes and times are kept.
    """
    identity(source)
    _apart(source, target)
    with unused(source, exclusive=False):
        with system(target):
            target.mkdir(exist_ok=True)
        with unused(target, exclusive=True):
            files = dict(_tree(source, source))
            sizes = {name: size for name, size in files.items() if size is not None}
            _check_target(target, files)
            _check_room(target, sizes)
            done = [_copy_entry(source, target, name, size) for name, size in files.items()]
            for name in (".", *(name for name, size in files.items() if size is None)):
                with system(target / name):
                    sync_directory(target / name)
    found = [each for each in done if each is not None]
    return Copied(
        schema=RESULT_SCHEMA, files=tuple(file for file, _ in found), copied=sum(written for _, written in found)
    )


def _apart(source: Path, target: Path) -> None:
    """Refuse two directories of which one is in the other."""
    with system(target):
        one, two = source.resolve(), target.resolve()
    if one == two or one in two.parents or two in one.parents:
        raise DiskError(
            f"{target}: not copied, because it is, contains, or is part of {source}: name another directory"
        )


def _tree(root: Path, directory: Path, depth: int = 0) -> Iterator[tuple[str, int | None]]:
    """The paths below a directory, parents first: with the size of a file, None for a directory (`DiskError`)."""
    if depth > _DEPTH_MAX:
        raise DiskError(f"{directory}: more than {_DEPTH_MAX} levels of directories: name the one of a Kafka server")
    with system(directory):
        found = names(directory)
    for name in found:
        path = directory / name
        if depth == 0 and name in _LEFT_OUT:
            continue
        with system(path):
            status = path.lstat()
        if stat.S_ISDIR(status.st_mode):
            yield str(path.relative_to(root)), None
            yield from _tree(root, path, depth + 1)
        elif stat.S_ISREG(status.st_mode):
            yield str(path.relative_to(root)), status.st_size
        else:
            raise DiskError(f"{path}: neither a file nor a directory: put the file itself into its place")


def _check_target(target: Path, files: dict[str, int | None]) -> None:
    """Refuse a target with anything that is not part of this copy."""
    if len(files) > FILES_MAX:
        raise DiskError(f"not copied: more than {FILES_MAX} files: name the directory of one Kafka server")
    if marked := next((name for name in files if name.endswith(PARTIAL)), None):
        raise DiskError(f"not copied: {marked} is named like a part of a copy: finish that copy, or remove the file")
    for name, size in _tree(target, target):
        whole = name.removesuffix(PARTIAL)
        if whole not in files or (files[whole] is None) != (size is None):
            raise DiskError(
                f"{target / name}: not copied, because this is no part of the copy: name an empty directory"
            )


def _check_room(target: Path, sizes: dict[str, int]) -> None:
    """Refuse a target whose volume is too small."""
    missing = sum(size for name, size in sizes.items() if not (target / name).exists())
    with system(target):
        free = shutil.disk_usage(target).free
    if missing and missing + _SPARE_BYTES > free:
        raise DiskError(
            f"{target}: not copied, because {missing + _SPARE_BYTES} bytes are needed and {free} are free: use a larger"
            f" volume"
        )


def _copy_entry(source: Path, target: Path, name: str, size: int | None) -> tuple[CopiedFile, bool] | None:
    """Copy one file, or make one directory; returns the file, and whether it was written now."""
    if size is None:
        with system(target / name):
            (target / name).mkdir(exist_ok=True)
        return None
    sha256, written = place(source / name, target / name)
    return CopiedFile(path=name, size_bytes=size, sha256=sha256), written


def place(source: Path, target: Path, limit_bytes: int | None = None) -> tuple[str, bool]:
    """Make a file with the content of another one, or check that it has it; returns SHA-256, and whether it was made.

    `limit_bytes`: only so much of its beginning is copied; a file that goes on behind it counts as copied. `DiskError`:
    the target has other content, or the source changed meanwhile.
    """
    with system(target):
        there = os.path.lexists(target)
    if there:
        sha256, size = digest(source, limit_bytes)
        with system(target):
            longer = limit_bytes is None and target.lstat().st_size != size
        if longer or digest(target, size) != (sha256, size):
            raise DiskError(
                f"{target}: not overwritten: it has another content than {source}: name an empty directory, or move"
                f" this file away if it is not needed"
            )
        return sha256, False
    partial = target.with_name(target.name + PARTIAL)
    sha256, size = _write(source, partial, limit_bytes)
    if digest(partial, None) != (sha256, size):
        raise DiskError(f"{partial}: it reads back with another content than was written: use another volume")
    with system(target):
        partial.rename(target)
        sync_directory(target.parent)
    return sha256, True


def _write(source: Path, partial: Path, limit_bytes: int | None) -> tuple[str, int]:
    """Write a file that has no name of its own yet; returns SHA-256 and size (`DiskError`)."""
    summed, size = hashlib.sha256(), 0
    with system(source):
        reading = os.fdopen(open_regular(source), "rb", buffering=0)
    with reading, system(partial):
        partial.unlink(missing_ok=True)
        before = os.fstat(reading.fileno())
        with partial.open("xb", buffering=0) as file:
            while chunk := reading.read(_wanted(limit_bytes, size)):
                summed.update(chunk)
                size += len(chunk)
                left = memoryview(chunk)
                while left:
                    left = left[file.write(left) :]
            os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))
            os.utime(file.fileno(), ns=(before.st_atime_ns, before.st_mtime_ns))
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)  # it is read back from the disk, not memory
        after = os.fstat(reading.fileno())
    changed = (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns)
    if (changed or size != before.st_size) if limit_bytes is None else size != limit_bytes:
        raise DiskError(f"{source}: it changed while it was copied: stop the server, and repeat the command")
    return summed.hexdigest(), size


def digest(path: Path, limit_bytes: int | None) -> tuple[str, int]:
    """SHA-256 of a file, or of so much of its beginning, and how many bytes that are (`DiskError`)."""
    summed, size = hashlib.sha256(), 0
    with system(path), os.fdopen(open_regular(path), "rb", buffering=0) as file:
        while chunk := file.read(_wanted(limit_bytes, size)):
            summed.update(chunk)
            size += len(chunk)
    return summed.hexdigest(), size


def _wanted(limit_bytes: int | None, size: int) -> int:
    return _CHUNK_BYTES if limit_bytes is None else min(_CHUNK_BYTES, limit_bytes - size)
