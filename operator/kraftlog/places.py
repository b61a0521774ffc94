"""Files in any place: a local path, or the URL of a store that Arrow supports (`s3://`, `gs://`, `abfs://`, `hdfs://`).

A place within a tar archive is `ARCHIVE!/MEMBER` (`archives.py`). `s3a://`, Hadoop's name, is `s3://`. Credentials come
from the same sources as for the store's own tools: environment, configuration files, the instance. A URL with
credentials is refused, because places are printed and stored in tables.

A store that does not answer is no damaged file: it raises `PlaceError`, which ends the command. A file that does not
exist raises `FileNotFoundError`, as on a disk.
"""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from pyarrow import fs

from kraftlog.archives import MARK, Archive, ArchiveError, Spool, archive, split
from kraftlog.compiled import Bytes, readable
from kraftlog.errors import KraftLogError

_URL = re.compile(r"^([a-z][a-z0-9+.-]*)://([^/]*)(/.*)?$")
_OF_BUCKETS = ("s3", "gs")
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_DENIED = "ACCESS_DENIED"
_SAME = {"s3a": "s3", "s3n": "s3", "wasb": "abfs", "wasbs": "abfss"}


class PlaceError(KraftLogError):
    """A URL whose store is unknown, or cannot be reached."""


class OpenFile(Protocol):
    """A file that is read at any position."""

    size: int

    def read(self, position: int, size: int) -> bytes:
        """The bytes at this position, or fewer at the end."""


class _Local:
    def __init__(self, path: str) -> None:
        self._file = Path(path).open("rb", buffering=0)  # noqa: SIM115 -- `opened` closes it
        self.size = os.fstat(self._file.fileno()).st_size

    def read(self, position: int, size: int) -> bytes:
        return os.pread(self._file.fileno(), size, position)

    def close(self) -> None:
        self._file.close()


class _Remote:
    def __init__(self, url: str) -> None:
        self._url = url
        filesystem, path = filesystem_of(url)
        with _reached(url):
            self._file = filesystem.open_input_file(path)
            self.size = int(self._file.size())

    def read(self, position: int, size: int) -> bytes:
        with _reached(self._url):
            return bytes(self._file.read_at(size, position))

    def close(self) -> None:
        self._file.close()


class _Member:
    """A file in a tar archive: a part of the archive, or of its unpacked contents."""

    def __init__(self, place: str, name: str) -> None:
        whole = archive_at(place)
        member = whole.members.get(name)
        if member is None:
            raise FileNotFoundError(errno.ENOENT, "the archive has no such file", f"{place}{MARK}{name}")
        self.size, self._start = member.size_bytes, member.start
        self._source = whole.unpacked or _file(place)

    def read(self, position: int, size: int) -> bytes:
        return self._source.read(self._start + position, max(0, min(size, self.size - position)))

    def close(self) -> None:
        if not isinstance(self._source, Spool):  # all readers share the spool
            self._source.close()


def archive_at(place: str) -> Archive:
    """The contents of a tar archive (OSError, PlaceError). It is read again only if its size or time changed."""
    filesystem, path = filesystem_of(place)
    with _reached(place):
        info = filesystem.get_file_info(path)
    version = (info.size, info.mtime_ns)
    known = _archives().get(place)
    if known is None or known[0] != version:
        try:
            with opened(place) as source:
                known = _archives()[place] = (version, archive(place, source))
        except ArchiveError as error:
            raise PlaceError(str(error)) from error
    return known[1]


@lru_cache(maxsize=1)
def _archives() -> dict[str, tuple[tuple[int | None, int | None], Archive]]:
    """Every archive that was read, with its size and time then: unpacking one costs more than all else."""
    return {}


def _file(place: str) -> "_Local | _Remote | _Member":
    if within := split(place):
        return _Member(*within)
    return _Remote(place) if is_url(place) else _Local(place)


@contextmanager
def opened(path: str | Path) -> Iterator[OpenFile]:
    """A file for reading (OSError, PlaceError)."""
    file = _file(str(path))
    try:
        yield file
    finally:
        file.close()


def read_fully(file: OpenFile, position: int, size: int) -> Bytes:
    """The bytes at the file's present position, or fewer at its end."""
    pieces, have = [], 0
    while have < size and (piece := file.read(position + have, size - have)):
        pieces.append(piece)
        have += len(piece)
    return readable(pieces[0] if len(pieces) == 1 else b"".join(pieces))


def is_url(place: str) -> bool:
    """Whether a place is named by a URL, not by a local path."""
    return _URL.match(place) is not None


def join(place: str, *names: str) -> str:
    """A place below a path or URL."""
    return "/".join([place.rstrip("/") or "/", *names])


def canonical(place: str) -> str:
    """A place with the one name that its scheme has here."""
    scheme, mark, rest = place.partition("://")
    return f"{_SAME.get(scheme, scheme)}{mark}{rest}" if is_url(place) else place


def filesystem_of(place: str) -> tuple[Any, str]:
    """Arrow's file system for a path or URL, and the path there (PlaceError)."""
    found = _URL.match(canonical(place))
    if not found:
        return fs.LocalFileSystem(), str(Path(place).absolute())
    scheme, authority, path = found.groups()
    filesystem, base = _store(scheme, authority)
    return filesystem, (base.rstrip("/") + (path or "")) or "/"


@lru_cache(maxsize=64)
def _store(scheme: str, authority: str) -> tuple[Any, str]:
    if _holds_credentials(scheme, authority):
        raise PlaceError(
            f"{scheme}://…: a URL must not hold credentials, because it is printed and stored in tables: write"
            f" {scheme}://NAME/PATH, and give credentials in the environment (for s3, AWS_ACCESS_KEY_ID and"
            f" AWS_SECRET_ACCESS_KEY) or in the store's own configuration files"
        )
    url = f"{scheme}://{authority}"
    try:
        filesystem, base = fs.FileSystem.from_uri(f"{url}/" if scheme == "file" else url)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise PlaceError(f"{url}: this store cannot be read: {error}{hint(error)}") from error
    if scheme in _OF_BUCKETS and not _bucket_is_there(url, filesystem, base):
        raise PlaceError(
            f"{url}: there is no such bucket{_endpoint(scheme)}, or the store does not know these credentials"
        )
    return filesystem, str(base)


def _holds_credentials(scheme: str, authority: str) -> bool:
    """`NAME:PASSWORD@` in any store; a bucket's name has neither sign, but a secret key may end the authority early."""
    user, at, _ = authority.rpartition("@")
    return ":" in user or (scheme == "s3" and bool(at or ":" in authority))


def _bucket_is_there(url: str, filesystem: Any, bucket: str) -> bool:  # noqa: ANN401 -- pyarrow has no types
    """Check that a bucket exists: a missing one would look like an empty folder (PlaceError: no answer)."""
    try:
        return bool(filesystem.get_file_info(bucket).type != fs.FileType.NotFound)
    except OSError as error:
        if _DENIED in str(error):
            return True  # or it may exist: these credentials may be only for some of its objects
        raise PlaceError(f"{url}: this store cannot be read: {error}{hint(error)}") from error


@contextmanager
def _reached(place: str) -> Iterator[None]:
    """Distinguish a store that fails from a file that does not exist."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise PlaceError(f"{place}: cannot be read: {error}{hint(error)}") from error


def hint(error: Exception) -> str:
    """What to check after an error of an S3 store: Arrow's text names bucket and key, but not the store."""
    if "AWS Error" not in str(error):
        return ""
    return f"; check the store{_endpoint('s3')} and the credentials (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)"


def s3_endpoint() -> str:
    """The address of the S3 store in the environment; empty for Amazon's."""
    return next((os.environ[name] for name in _ENDPOINTS if os.environ.get(name)), "")


def _endpoint(scheme: str) -> str:
    """The store's address, if the environment has it."""
    named = s3_endpoint() if scheme == "s3" else ""
    return f" at {named.rpartition('@')[2]} (AWS_ENDPOINT_URL)" if named else ""
