"""The folder of the tables, on a local disk or in an object store: small files, whole or not at all.

On a disk Spark reads and writes tables by itself. This module stores the state of `ingest`, the files that it writes
without Spark, and all tables of an object store, for which Spark would need a connector of its own.
"""

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from pyarrow import fs

from kraftlog.places import filesystem_of, join

_LOCK = ".lock"
_UNFINISHED = "_unfinished-"
"""The prefix of a file that is being written. Spark and Arrow read no file whose name begins like this."""
STAGED, STAGED_ROWS, RETIRED = "_staged-", "_staged-rows-", "_retired-"
"""The prefixes of a table that is being written, of its rows alone, and of a table that is being removed."""


class BusyError(Exception):
    """Another process writes to the same tables; the text says which folder."""


class Store:
    """A folder, by a path or a URL. `local`: Spark reads and writes there by itself."""

    def __init__(self, place: str) -> None:
        """The folder need not exist yet."""
        self.place = place.rstrip("/") or "/"
        self.filesystem, self._base = filesystem_of(self.place)
        self.local = isinstance(self.filesystem, fs.LocalFileSystem)

    def url(self, *names: str) -> str:
        """The form that Spark takes."""
        return join(self.place, *names)

    def path(self, *names: str) -> str:
        """The form that `filesystem` takes."""
        return join(self._base, *names)

    def exists(self, *names: str) -> bool:
        """Whether a file or folder exists."""
        return bool(self.filesystem.get_file_info(self.path(*names)).type != fs.FileType.NotFound)

    def modified(self, *names: str) -> datetime:
        """When a file was last written."""
        written: datetime = self.filesystem.get_file_info(self.path(*names)).mtime
        return written

    def names(self, *folder: str) -> tuple[str, ...]:
        """The names in a folder; none if it does not exist."""
        selector = fs.FileSelector(self.path(*folder), allow_not_found=True)
        return tuple(sorted(info.base_name for info in self.filesystem.get_file_info(selector)))

    def read(self, *names: str) -> bytes:
        """The content of a file (OSError)."""
        with self.filesystem.open_input_stream(self.path(*names)) as stream:
            return bytes(stream.read())

    def write(self, content: bytes, *names: str) -> None:
        """Store a file whole: a concurrent reader finds the old one or the new one."""
        path = self.path(*names)
        self.folder(*names[:-1])
        there = self.path(*names[:-1], f"{_UNFINISHED}{names[-1]}") if self.local else path
        with self.filesystem.open_output_stream(there) as stream:
            stream.write(content)
        if self.local:
            self.sync(there)
            Path(there).replace(path)

    def replace(self, old: tuple[str, ...], new: tuple[str, ...]) -> None:
        """Replace one whole file with another: in one step, if the store has such a step."""
        self.sync(self.path(*old))
        self.filesystem.move(self.path(*old), self.path(*new))

    def retire(self, name: str) -> None:
        """Remove a table. On a disk it is gone in one step, so that no reader finds a part of it."""
        if not self.local:
            self.delete(name)
            return
        self.delete(f"{RETIRED}{name}")
        if self.exists(name):
            self.filesystem.move(self.path(name), self.path(f"{RETIRED}{name}"))
            self.delete(f"{RETIRED}{name}")

    def folder(self, *names: str) -> None:
        """Make a folder, if the store has real folders."""
        self.filesystem.create_dir(self.path(*names), recursive=True)

    def sync(self, path: str) -> None:
        """Make a local file, by the path of `filesystem`, survive a loss of power."""
        if self.local:
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def delete(self, *names: str) -> None:
        """Remove a file, or a folder with all its content."""
        path = self.path(*names)
        kind: Any = self.filesystem.get_file_info(path).type
        with suppress(FileNotFoundError):
            if kind == fs.FileType.Directory:
                self.filesystem.delete_dir(path)
            elif kind == fs.FileType.File:
                self.filesystem.delete_file(path)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep every other writer of this machine out meanwhile (BusyError). The lock ends with the process."""
        if self.local:
            self.folder()
            place = Path(self.path(_LOCK))
        else:
            digest = hashlib.sha256(self.place.encode()).hexdigest()[:32]
            place = Path(tempfile.gettempdir(), f"quorum-history-{os.getuid()}-{digest}.lock")
        with place.open("a", encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise BusyError(
                    f"{self.place}: another ingest writes here; wait for it to end, or name another --target"
                ) from error
            yield
