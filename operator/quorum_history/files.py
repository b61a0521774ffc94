"""Find metadata logs below directories and globs, and the cluster of each.

A log directory of Kafka has a `meta.properties` with the ids of cluster, node and directory beside the folder
`__cluster_metadata-0`. If that file is missing, the folder's place stands for the cluster: a copy without ids is a
cluster of its own.
"""

import glob
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from pyarrow import fs

from kraftlog.archives import MARK, is_archive
from kraftlog.order import MAX_OFFSET, named_offset
from kraftlog.places import archive_at, filesystem_of, is_url, opened

PARTITION = "__cluster_metadata-0"
_PROPERTIES_BYTES = 1 << 16
_MAX_EPOCH = 2**31 - 1
_CHECKPOINT = re.compile(r"^(\d{20})-(\d{10})\.checkpoint$")


class NoLogsError(Exception):
    """A path that names no metadata log; the text says which."""


class FileKind(StrEnum):
    """A stretch of the log, or the state at one offset."""

    SEGMENT = "segment"
    CHECKPOINT = "checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class LogFile:
    """One file. `base_offset`: the first offset of a segment, the end offset of a checkpoint, by the file's name."""

    cluster: str
    replica: str
    node_id: int
    directory_id: str
    kind: FileKind
    base_offset: int
    epoch: int
    path: str
    size_bytes: int = -1
    modified_ns: int = 0

    @property
    def snapshot(self) -> tuple[int, int]:
        """The end offset and epoch of a checkpoint: the same in each replica's copy of it."""
        return (self.base_offset, self.epoch)


def by_snapshot(checkpoint: LogFile) -> tuple[int, int]:
    """The key by which the latest checkpoint is found."""
    return checkpoint.snapshot


@dataclass(frozen=True, slots=True)
class Stored:
    """A file of any kind: the path or URL that names it, and how many folders below the requested path it is."""

    path: str
    size_bytes: int
    modified_ns: int
    depth: int

    @property
    def folder(self) -> str:
        """The folder that holds it."""
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        """Its own name."""
        return self.path.rpartition("/")[2]


def find_files(paths: str) -> tuple[LogFile, ...]:
    """Segments and checkpoints below comma-separated directories, globs, files or URLs (NoLogsError without any)."""
    found: dict[str, LogFile] = {}
    properties: dict[str, dict[str, str]] = {}
    for pattern in filter(None, (part.strip() for part in paths.split(","))):
        below = [file for file in map(_named, stored(pattern)) if file]
        if not below:
            raise NoLogsError(f"{pattern}: {_why_none(pattern)}")
        for file, kind, offset, epoch in below:
            if file.folder not in properties:
                properties[file.folder] = _properties_beside(file.folder)
            found[file.path] = _described(file, kind, offset, epoch, properties[file.folder])
    if not found:
        raise NoLogsError("no path was given")
    return tuple(sorted(found.values()))


def _why_none(pattern: str) -> str:
    """Why a path names no metadata log, in words."""
    if is_url(pattern) or glob.glob(os.path.expanduser(pattern), recursive=True):  # noqa: PTH111, PTH207 -- patterns may be absolute
        return f"no metadata log is there ({PARTITION}/*.log or *.checkpoint)"
    return "there is no such file or directory"


def _refuse_unreadable(error: OSError) -> None:
    """A folder that cannot be listed may hold a cluster: an error, unless it is ext4's own, is a file, or is gone."""
    name = str(error.filename or "")
    if isinstance(error, FileNotFoundError | NotADirectoryError) or Path(name).name == "lost+found":
        return
    raise OSError(f"{name}: cannot be listed: {error.strerror}. Run this as a user who may read it, or leave it out")


def stored(pattern: str) -> Iterator[Stored]:
    """Every file at or below a directory, glob, file or URL."""
    return _stored_remotely(pattern) if is_url(pattern) else _stored_locally(pattern)


def _stored_locally(pattern: str) -> Iterator[Stored]:
    for match in sorted(glob.glob(os.path.expanduser(pattern), recursive=True)):  # noqa: PTH111, PTH207 -- patterns may be absolute
        path = Path(match)
        if path.is_file() or _is_in_place_of_a_log(path):
            yield from _opened(_on_disk(str(path.resolve().parent / path.name), 0))
        for folder, folders, names in os.walk(path, onerror=_refuse_unreadable):
            resolved = Path(folder).resolve()
            depth = len(Path(folder).relative_to(path).parts) + 1
            files = (resolved / name for name in sorted([*folders, *names]))
            for file in files:
                if file.is_file() or _is_in_place_of_a_log(file):
                    yield from _opened(_on_disk(str(file), depth))


def _is_in_place_of_a_log(path: Path) -> bool:
    """A folder, or a link to nothing, with the name of a segment or checkpoint: its reader reports what is wrong."""
    named = named_offset(path.name) >= 0 or _snapshot_of(path.name) is not None
    return named and os.path.lexists(path) and not path.is_file()


def _opened(file: Stored) -> Iterator[Stored]:
    """A file, or the contents of a tar archive."""
    if not is_archive(file.name):
        yield file
        return
    for member in archive_at(file.path).members.values():
        depth = file.depth + member.name.count("/") + 1
        yield Stored(f"{file.path}{MARK}{member.name}", member.size_bytes, member.modified_ns, depth)


def _on_disk(path: str, depth: int) -> Stored:
    stat = os.stat(path, follow_symlinks=os.path.exists(path))  # noqa: PTH110, PTH116 -- thousands of files
    return Stored(path, stat.st_size, stat.st_mtime_ns, depth)


def _stored_remotely(pattern: str) -> Iterator[Stored]:
    """The matches of a glob, on whole path components; if a folder matches, all of its files count."""
    parts = pattern.rstrip("/").split("/")
    plain = next((place for place, part in enumerate(parts) if place > 2 and re.search(r"[*?\[]", part)), len(parts))  # noqa: PLR2004 -- scheme, nothing, authority
    filesystem, base = filesystem_of("/".join(parts[:plain]))
    url = "/".join(parts[:plain])
    info = filesystem.get_file_info(base)
    if info.type == fs.FileType.File:
        yield from _opened(Stored(url, info.size, info.mtime_ns or 0, 0))
        return
    for each in filesystem.get_file_info(fs.FileSelector(base, recursive=True, allow_not_found=True)):
        below = PurePosixPath(each.path).relative_to(base).parts
        wanted = parts[plain:]
        if each.type == fs.FileType.File and len(below) >= len(wanted) and all(map(fnmatchcase, below, wanted)):
            file = Stored("/".join([url, *below]), each.size, each.mtime_ns or 0, len(below) - len(wanted))
            yield from _opened(file)


def _named(file: Stored) -> tuple[Stored, FileKind, int, int] | None:
    if file.depth > 1 and not file.folder.endswith(f"/{PARTITION}"):
        return None  # the log of another partition
    if (first := named_offset(file.name)) >= 0:
        return file, FileKind.SEGMENT, first, -1
    if (snapshot := _snapshot_of(file.name)) is not None:
        return file, FileKind.CHECKPOINT, *snapshot
    return None


def _snapshot_of(name: str) -> tuple[int, int] | None:
    """The offset and the epoch in a checkpoint's name; None for any other name, and for numbers that are none."""
    found = _CHECKPOINT.match(name)
    if found is None or int(found[1]) > MAX_OFFSET or int(found[2]) > _MAX_EPOCH:
        return None
    return int(found[1]), int(found[2])


def _described(file: Stored, kind: FileKind, offset: int, epoch: int, meta: dict[str, str]) -> LogFile:
    return LogFile(
        cluster=meta.get("cluster.id", file.folder),
        replica=file.folder,
        node_id=_number(meta.get("node.id", "")),
        directory_id=meta.get("directory.id", ""),
        kind=kind,
        base_offset=offset,
        epoch=epoch,
        path=file.path,
        size_bytes=file.size_bytes,
        modified_ns=file.modified_ns,
    )


def _number(written: str) -> int:
    """A node id, -1 if the text is not one."""
    return int(written) if written.isdecimal() and written.isascii() else -1


def _properties_beside(folder: str) -> dict[str, str]:
    """The properties beside the folder of a log; above the top of an archive there are none."""
    return {} if folder.endswith(MARK[:-1]) else _properties(folder.rpartition("/")[0] + "/meta.properties")


def _properties(place: str) -> dict[str, str]:
    try:
        with opened(place) as file:
            lines = file.read(0, _PROPERTIES_BYTES).decode(errors="replace").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    pairs = (line.partition("=") for line in lines if "=" in line and not line.startswith("#"))
    return {key.strip(): value.strip().replace("\\", "") for key, _, value in pairs}
