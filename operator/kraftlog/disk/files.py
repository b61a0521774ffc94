"""The files of a metadata log directory, opened so that nothing else is reached: no link is followed.

A directory here is what `metadata.log.dir` names (or the first of `log.dirs`): it has `meta.properties`, and the log in
`__cluster_metadata-0`. A disk may have been written by anybody: every name and size is checked before it is used.
"""

import fcntl
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from kraftlog.disk.errors import DiskError, UnreadableDiskError

LOG_DIR: Final = "__cluster_metadata-0"
META: Final = "meta.properties"
QUORUM_STATE: Final = "quorum-state"
PARTITION: Final = "partition.metadata"
LOCK: Final = ".lock"
"""A server of Kafka holds a lock on this file as long as it uses the directory."""
SMALL_MAX_BYTES: Final = 1 << 16
"""The largest `meta.properties` or `quorum-state` that is read: Kafka's have a few hundred bytes."""
FILES_MAX: Final = 10_000
"""The most files in one directory."""
_SEGMENT = re.compile(r"(\d{20})\.log", re.ASCII)
_CHECKPOINT = re.compile(r"(\d{20})-(\d{10})\.checkpoint", re.ASCII)
_OFFSET_MAX = 2**63 - 1
_EPOCH_MAX = 2**31 - 1


@contextmanager
def system(path: Path) -> Iterator[None]:
    """Every error of the system within becomes an `UnreadableDiskError` about this path."""
    try:
        yield
    except OSError as error:
        raise UnreadableDiskError.of(error, path) from error


def open_regular(path: Path, flags: int = os.O_RDONLY) -> int:
    """The descriptor of a regular file (OSError; `DiskError` for a link, a device or a directory)."""
    if path.is_symlink():
        raise DiskError(f"{path}: a link is not followed: put the file itself into its place")
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise DiskError(f"{path}: not a regular file: put the file itself into its place")
    return descriptor


@contextmanager
def opened(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """A regular file for reading, and its size in bytes (OSError, `DiskError`)."""
    with os.fdopen(open_regular(path), "rb", buffering=1 << 20) as file:
        yield file, os.fstat(file.fileno()).st_size


def small(path: Path) -> bytes:
    """The content of a small file (OSError; `DiskError` if it is larger than Kafka writes it)."""
    with opened(path) as (file, size_bytes):
        if size_bytes > SMALL_MAX_BYTES:
            raise DiskError(f"{path}: {size_bytes} bytes, at most {SMALL_MAX_BYTES} are read: it is not Kafka's file")
        return file.read(SMALL_MAX_BYTES)


def names(directory: Path) -> list[str]:
    """The names in a directory, sorted (OSError; `DiskError` if there are more than `FILES_MAX`)."""
    found = []
    with os.scandir(directory) as entries:
        for entry in entries:
            found.append(entry.name)
            if len(found) > FILES_MAX:
                raise DiskError(f"{directory}: more than {FILES_MAX} files: name the directory of one Kafka server")
    return sorted(found)


def segment_base(name: str) -> int | None:
    """The base offset in a segment's name, None for any other name."""
    found = _SEGMENT.fullmatch(name)
    return int(found[1]) if found and int(found[1]) <= _OFFSET_MAX else None


def checkpoint_id(name: str) -> tuple[int, int] | None:
    """Epoch and end offset in a checkpoint's name, in the order by which Kafka compares them; None for other names."""
    found = _CHECKPOINT.fullmatch(name)
    if not found or int(found[1]) > _OFFSET_MAX or int(found[2]) > _EPOCH_MAX:
        return None
    return int(found[2]), int(found[1])


def checkpoint_name(offset: int, epoch: int) -> str:
    """The name of a checkpoint that ends at this offset."""
    return f"{offset:020d}-{epoch:010d}.checkpoint"


def sync_directory(directory: Path) -> None:
    """Write the names in a directory to its disk (OSError)."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def unused(directory: Path, *, exclusive: bool) -> Iterator[None]:
    """Keep servers and other runs of these commands away from a directory (`DiskError` if one is there).

    `exclusive`: for writing, through no link. Nothing is created: a directory without `.lock` has had no server.
    """
    if exclusive and directory.is_symlink():
        raise DiskError(f"{directory}: a link is not followed: name the directory itself")
    kind = (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB
    with system(directory):
        own = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _take(directory, "another run of this command uses it: wait for its end", lambda: fcntl.flock(own, kind))
        with _without_server(directory, kind, exclusive=exclusive):
            yield
    finally:
        os.close(own)


@contextmanager
def _without_server(directory: Path, kind: int, *, exclusive: bool) -> Iterator[None]:
    path = directory / LOCK
    with system(path):
        try:
            descriptor = open_regular(path, os.O_RDWR if exclusive else os.O_RDONLY)
        except FileNotFoundError:
            descriptor = -1
    if descriptor < 0:
        yield
        return
    try:
        _take(directory, "a Kafka server uses it: stop the server first", lambda: fcntl.lockf(descriptor, kind))
        yield
    finally:
        os.close(descriptor)


def _take(directory: Path, held: str, lock: Callable[[], None]) -> None:
    with system(directory):
        try:
            lock()
        except (BlockingIOError, PermissionError) as error:
            raise DiskError(f"{directory}: {held}") from error
