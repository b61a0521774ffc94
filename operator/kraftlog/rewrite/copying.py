"""Copy a disk file by file, so that nothing that is done afterwards can lose it: checked by SHA-256, resumable.

A file gets its name in the target only when it is whole and on the disk. What is there already is compared, and never
overwritten. So an interrupted copy is continued by the same command, and a finished one is checked by it.
"""

import hashlib
import os
import shutil
import stat
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kraftlog.disk.errors import DiskError
from kraftlog.disk.files import (
    FILES_MAX,
    LOCK,
    LOG_DIR,
    META,
    PARTITION,
    QUORUM_STATE,
    checkpoint_name,
    names,
    open_regular,
    sync_directory,
    system,
    unused,
)
from kraftlog.disk.identity import identity
from kraftlog.disk.looking import log_files, segment_path

RESULT_SCHEMA: Final = 1
PARTIAL: Final = ".kraftlog-copy"
"""The end of the name of a file that is not whole yet."""
_LEFT_OUT = frozenset({LOCK, "lost+found"})
_CHUNK_BYTES = 1 << 20
_SPARE_BYTES = 16 << 20
"""Room that must stay in the target for directories."""
_DEPTH_MAX = 8
_TOO_MANY = f"there are more than {FILES_MAX} files: name the directory of one Kafka server"


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedFile:
    """A file by its path below the directory."""

    path: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What was not copied, and why: nothing that a log needs."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """Every file of a copy. `copied` of them were written now; the others were there already, with the same content."""

    schema: int
    files: tuple[CopiedFile, ...]
    copied: int
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tree:
    """What is below a directory, parents first: the size of a file, None for a directory; and what is not copied."""

    entries: dict[str, int | None]
    left_out: dict[str, str]


def copy(source: Path, target: Path) -> Copied:
    """Copy the directory of a stopped server into another one (`DiskError`: not copied as a whole, and why).

    `source` has `meta.properties`. `target` is made if it is missing; it may have parts of the same copy, and nothing
    else. The copy always has the files that a log needs: a fault in one of them is an error. Anything else is left out
    if it is neither a file nor a directory, cannot be read, or does not fit, and the result names it. The lock file and
    `lost+found` are left out without a word. Modes and times are kept.
    """
    identity(source)
    _apart(source, target)
    with unused(source, exclusive=False):
        with system(target):
            target.mkdir(exist_ok=True)
        with unused(target, exclusive=True):
            needed = _needed(source)
            tree = _tree(source, needed)
            _check_target(target, tree)
            _check_room(
                target, {name: size for name, size in tree.entries.items() if size is not None and name in needed}
            )
            found, left_out = _copied(source, target, tree, needed)
            for name in (".", *(name for name, size in tree.entries.items() if size is None)):
                with system(target / name):
                    sync_directory(target / name)
    return Copied(
        schema=RESULT_SCHEMA,
        files=tuple(file for file, _ in found),
        copied=sum(written for _, written in found),
        left_out=tuple(LeftOut(path=path, reason=reason) for path, reason in left_out.items()),
    )


def _apart(source: Path, target: Path) -> None:
    """Refuse two directories of which one is in the other."""
    with system(target):
        one, two = source.resolve(), target.resolve()
    if one == two or one in two.parents or two in one.parents:
        raise DiskError(
            f"{target}: not copied, because it is, contains, or is part of {source}: name another directory"
        )


def _needed(source: Path) -> frozenset[str]:
    """The paths that a log needs, as far as they exist: who it is, its segments, its newest checkpoint, its epochs."""
    files = log_files(source / LOG_DIR)
    newest = () if files.checkpoint is None else (checkpoint_name(files.checkpoint[1], files.checkpoint[0]),)
    segments = (segment_path(source, base).name for base in files.bases)
    return frozenset({META, LOG_DIR, *(f"{LOG_DIR}/{name}" for name in (*segments, *newest, QUORUM_STATE, PARTITION))})


def _tree(root: Path, needed: frozenset[str]) -> _Tree:
    """What is below a directory (`DiskError`: something that is needed is no file or directory, or cannot be read)."""
    entries, left_out = dict[str, int | None](), dict[str, str]()
    with system(root):
        pending = deque((root, name) for name in names(root) if name not in _LEFT_OUT)
    full = False
    while pending:
        directory, name = pending.popleft()
        path = directory / name
        relative = str(path.relative_to(root))
        if full and relative not in needed:
            left_out[relative] = _TOO_MANY
            continue
        try:
            size, inside = _entry(path, relative)
        except DiskError as error:
            if relative in needed:
                raise
            left_out[relative] = str(error)
            continue
        full = full or len(entries) + len(pending) + len(inside) >= FILES_MAX
        entries[relative] = size
        if not full or relative in needed:
            pending += [(path, each) for each in inside]
        elif inside:
            left_out[f"{relative}/"] = _TOO_MANY
    return _Tree(entries=entries, left_out=left_out)


def _entry(path: Path, relative: str) -> tuple[int | None, list[str]]:
    """The size of a file, or None and the names in a directory (`DiskError`: it is neither, or is not copied)."""
    if path.name.endswith(PARTIAL):
        raise DiskError(f"{path}: named like a part of a copy: finish that copy, or remove the file")
    with system(path):
        status = path.lstat()
        if stat.S_ISDIR(status.st_mode):
            if relative.count("/") >= _DEPTH_MAX:
                raise DiskError(f"{path}: more than {_DEPTH_MAX} levels of directories: name the one of a Kafka server")
            return None, names(path)
    if not stat.S_ISREG(status.st_mode):
        raise DiskError(f"{path}: neither a file nor a directory: put the file itself into its place")
    return status.st_size, []


def _check_target(target: Path, tree: _Tree) -> None:
    """Refuse a target with anything that is not part of this copy. What is left out now may be there from before."""
    with system(target):
        pending = [target / name for name in names(target) if name not in _LEFT_OUT]
    while pending:
        path = pending.pop()
        with system(path):
            kind = path.lstat().st_mode
            inside = [path / name for name in names(path)] if stat.S_ISDIR(kind) else []
        whole = str(path.relative_to(target)).removesuffix(PARTIAL)
        if not stat.S_ISDIR(kind) and not stat.S_ISREG(kind):
            raise DiskError(f"{path}: neither a file nor a directory: name an empty directory")
        known = whole in tree.left_out or (
            whole in tree.entries and (tree.entries[whole] is None) == stat.S_ISDIR(kind)
        )
        if not known:
            raise DiskError(f"{path}: not copied, because this is no part of the copy: name an empty directory")
        pending += inside if whole not in tree.left_out else []


def _check_room(target: Path, sizes: dict[str, int]) -> None:
    """Refuse a target whose volume is too small for what a log needs."""
    missing = sum(size for name, size in sizes.items() if not (target / name).exists())
    free = _free_bytes(target)
    if missing and missing + _SPARE_BYTES > free:
        raise DiskError(
            f"{target}: not copied, because {missing + _SPARE_BYTES} bytes are needed and {free} are free: use a larger"
            f" volume"
        )


def _free_bytes(target: Path) -> int:
    with system(target):
        return shutil.disk_usage(target).free


def _copied(
    source: Path, target: Path, tree: _Tree, needed: frozenset[str]
) -> tuple[list[tuple[CopiedFile, bool]], dict[str, str]]:
    """Copy what a log needs, then everything else as far as it can be; returns each file, and what was left out."""
    found, left_out = list[tuple[CopiedFile, bool]](), dict(tree.left_out)
    for name in (name for name, size in tree.entries.items() if size is None):
        with system(target / name):
            (target / name).mkdir(exist_ok=True)
    files = [(name, size) for name, size in tree.entries.items() if size is not None]
    for name, size in sorted(files, key=lambda each: each[0] not in needed):
        if name not in needed and not (target / name).exists() and size + _SPARE_BYTES > _free_bytes(target):
            left_out[name] = f"there is no room for its {size} bytes"
            continue
        try:
            sha256, written = place(source / name, target / name)
        except DiskError:
            if name in needed or not (why := _why_unreadable(source / name)):
                raise
            left_out[name] = why
            with system(target / name):
                (target / f"{name}{PARTIAL}").unlink(missing_ok=True)
            continue
        found.append((CopiedFile(path=name, size_bytes=size, sha256=sha256), written))
    return found, left_out


def _why_unreadable(path: Path) -> str:
    """Why a file cannot be read; empty if it can: then something else has failed."""
    try:
        digest(path, None)
    except DiskError as error:
        return str(error)
    return ""


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
