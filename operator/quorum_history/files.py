"""Find metadata logs below directories and globs, and say whose they are.

A log directory of Kafka has a `meta.properties` with the ids of cluster, node and directory beside the folder
`__cluster_metadata-0`. Where that file did not come along, the folder's place stands for the cluster: a copy that says
nothing about itself is a cluster of its own.
"""

import glob
import os
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

PARTITION = "__cluster_metadata-0"
_SEGMENT = re.compile(r"^(\d{20})\.log$")
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


def find_files(paths: str) -> tuple[LogFile, ...]:
    """Segments and checkpoints below comma-separated directories, globs or files (NoLogsError for one without any)."""
    found: dict[str, LogFile] = {}
    for pattern in filter(None, (part.strip() for part in paths.split(","))):
        matches = [Path(match) for match in sorted(glob.glob(os.path.expanduser(pattern), recursive=True))]  # noqa: PTH111, PTH207 -- patterns may be absolute
        below = [file for match in matches for file in _below(match)]
        if not below:
            raise NoLogsError(f"{pattern}: no metadata log is there ({PARTITION}/*.log or *.checkpoint)")
        found |= {file.path: file for file in below}
    if not found:
        raise NoLogsError("no path was given")
    return tuple(sorted(found.values()))


def _below(path: Path) -> list[LogFile]:
    if path.is_file():
        return [file for file in [_described(path)] if file]
    if not path.is_dir():
        return []
    names = [path] if path.name == PARTITION else [*path.rglob(PARTITION), path]
    files = (file for folder in names if folder.is_dir() for file in sorted(folder.iterdir()))
    return [file for file in map(_described, files) if file]


def _described(path: Path) -> LogFile | None:
    segment, checkpoint = _SEGMENT.match(path.name), _CHECKPOINT.match(path.name)
    named = segment or checkpoint
    if not named:
        return None
    folder = path.resolve().parent
    meta = _properties(folder.parent / "meta.properties")
    return LogFile(
        cluster=meta.get("cluster.id", str(folder)),
        replica=str(folder),
        node_id=int(meta.get("node.id", "-1")),
        directory_id=meta.get("directory.id", ""),
        kind=FileKind.SEGMENT if segment else FileKind.CHECKPOINT,
        base_offset=int(named[1]),
        epoch=int(checkpoint[2]) if checkpoint else -1,
        path=str(folder / path.name),
    )


def _properties(path: Path) -> dict[str, str]:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.partition("=") for line in lines if "=" in line and not line.startswith("#"))
    return {key.strip(): value.strip().replace("\\", "") for key, _, value in pairs}
