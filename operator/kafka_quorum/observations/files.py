"""Observations as files of JSON lines: on a volume, or in any store of fsspec. Bounded in size and in number.

A file is stored whole and under its final name. So a reader of the directory never sees half of one, and never has to
read one twice. A new fact is stored within seconds; a line without news waits for more lines. When the directory is
full, the oldest files are deleted.
"""

import logging
import os
from collections.abc import Sequence
from datetime import UTC
from pathlib import Path
from typing import Any, Final, Protocol

from kafka_quorum.observations.recorder import Line
from kit.clock import Clock

NEW_S: Final = 5.0
"""How long a new fact waits for more lines."""
FILE_BYTES: Final = 1 << 20
"""A file of this size is full."""
HELD_BYTES_MAX: Final = 8 << 20
"""At most this much is held while nothing can be stored; after that the oldest lines are dropped."""
FILES_MAX: Final = 20_000
_RETRY_S: Final = 15.0
_PRUNE_EVERY: Final = 50
_PREFIX, _SUFFIX = "observations-", ".jsonl"

logger = logging.getLogger(__name__)


class Store(Protocol):
    """A flat directory. Every method may wait and may raise."""

    def put(self, name: str, content: bytes) -> None:
        """Store a file, all of it or nothing."""

    def sizes(self) -> dict[str, int]:
        """The files that are there, with their sizes in bytes."""

    def remove(self, name: str) -> None:
        """Delete a file; it is no fault if it is gone."""


class Directory:
    """A directory of a mounted volume."""

    def __init__(self, path: Path) -> None:
        """The directory is created when the first file is stored."""
        self._path = path

    def __str__(self) -> str:
        """For messages."""
        return str(self._path)

    def put(self, name: str, content: bytes) -> None:
        """The file first has a hidden name, which no reader takes for a file of lines."""
        self._path.mkdir(parents=True, exist_ok=True)
        hidden = self._path / f".{name}"
        try:
            with hidden.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            hidden.replace(self._path / name)
        except OSError:
            hidden.unlink(missing_ok=True)  # on a full disk half a file would stay
            raise

    def sizes(self) -> dict[str, int]:
        """The files that are there, with their sizes in bytes."""
        return {entry.name: entry.stat().st_size for entry in os.scandir(self._path) if entry.is_file()}

    def remove(self, name: str) -> None:
        """Delete a file; it is no fault if it is gone."""
        (self._path / name).unlink(missing_ok=True)


class Remote:
    """A place that fsspec supports: `s3://bucket/folder`, `gs://…`, `abfs://…`, with the driver of that kind."""

    def __init__(self, url: str) -> None:
        """The first use connects."""
        self._url = url.rstrip("/")

    def __str__(self) -> str:
        """For messages, without credentials that the address may contain."""
        scheme, _, rest = self._url.partition("://")
        return f"{scheme}://{rest.rpartition('@')[2]}"

    def put(self, name: str, content: bytes) -> None:
        """Store a whole object or none, in one request. Only a store with real folders needs a folder first."""
        filesystem, path = self._connected()
        try:
            filesystem.pipe_file(f"{path}/{name}", content)
        except FileNotFoundError:
            filesystem.makedirs(path, exist_ok=True)
            filesystem.pipe_file(f"{path}/{name}", content)

    def sizes(self) -> dict[str, int]:
        """The files that are there, with their sizes in bytes."""
        filesystem, path = self._connected()
        filesystem.invalidate_cache()
        listed = filesystem.ls(path, detail=True)
        return {item["name"].rpartition("/")[2]: int(item["size"] or 0) for item in listed if item["type"] == "file"}

    def remove(self, name: str) -> None:
        """Delete a file; it is no fault if it is gone."""
        filesystem, path = self._connected()
        try:
            filesystem.rm_file(f"{path}/{name}")
        except FileNotFoundError:
            return

    def _connected(self) -> tuple[Any, str]:
        """The file system, which fsspec keeps once it is connected, and the path there."""
        from fsspec.core import url_to_fs  # noqa: PLC0415 - an extra that may be missing

        filesystem, path = url_to_fs(self._url)
        return filesystem, path


class Files:
    """Lines into files of a store."""

    def __init__(self, store: Store, clock: Clock, *, holder: str, hold_s: float, max_bytes: int) -> None:
        """`holder` keeps the names of two operators apart; lines without news wait `hold_s`; `max_bytes` bounds all."""
        self._store, self._clock = store, clock
        self._holder, self._hold_s, self._max_bytes = holder, hold_s, max_bytes
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._due_at_s: float | None = None
        self._not_before_s = 0.0
        self._stored = 0
        self._lost_lines = 0

    def __str__(self) -> str:
        """For messages."""
        return str(self._store)

    def write(self, lines: Sequence[Line]) -> None:
        """Hold these lines, and store what is due."""
        now_s = self._clock.monotonic()
        for line in lines:
            self._held.append(line.text + b"\n")
            self._held_bytes += len(line.text) + 1
            due_at_s = now_s + (min(NEW_S, self._hold_s) if line.new else self._hold_s)
            self._due_at_s = due_at_s if self._due_at_s is None else min(self._due_at_s, due_at_s)
        self._bound()
        due = self._due_at_s is not None and now_s >= self._due_at_s
        if (due or self._held_bytes >= FILE_BYTES) and now_s >= self._not_before_s:
            self._flush(now_s)

    def close(self) -> None:
        """Store what is held."""
        if self._held:
            self._flush(self._clock.monotonic())

    def _bound(self) -> None:
        while self._held_bytes > HELD_BYTES_MAX:
            self._held_bytes -= len(self._held.pop(0))
            self._lost_lines += 1

    def _flush(self, now_s: float) -> None:
        self._not_before_s = now_s + _RETRY_S  # unless it succeeds
        stamp = self._clock.now().astimezone(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        self._store.put(f"{_PREFIX}{stamp}-{self._stored:06d}-{self._holder}{_SUFFIX}", b"".join(self._held))
        self._held.clear()
        self._held_bytes, self._due_at_s, self._not_before_s = 0, None, 0.0
        self._stored += 1
        if self._lost_lines:
            logger.warning("observations: %d lost while %s took none", self._lost_lines, self)
            self._lost_lines = 0
        if self._stored % _PRUNE_EVERY == 1:
            self._prune()

    def _prune(self) -> None:
        """Delete our oldest files until the rest fits; names begin with their time."""
        ours = {
            name: size
            for name, size in self._store.sizes().items()
            if name.startswith(_PREFIX) and name.endswith(_SUFFIX)
        }
        total_bytes, count = sum(ours.values()), len(ours)
        for name in sorted(ours):
            if total_bytes <= self._max_bytes and count <= FILES_MAX:
                return
            self._store.remove(name)
            total_bytes, count = total_bytes - ours[name], count - 1
