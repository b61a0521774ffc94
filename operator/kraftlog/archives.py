"""Files within tar archives, plain or compressed, without unpacking them into a folder.

A place within an archive is written `ARCHIVE!/MEMBER`. A plain archive is read in place, at the member's position. A
compressed one is read once from front to back, and the members that a reader of logs may need are kept in an unnamed
temporary file. Names in an archive are only compared: no file is ever created with one of them, and links are not
followed.
"""

import io
import lzma
import os
import re
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Self

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from kraftlog.places import OpenFile

MARK = "!/"
_NAME = r"\.(?:tar|tgz|tbz2|txz|tar\.gz|tar\.bz2|tar\.xz)"
_ARCHIVE = re.compile(rf".+{_NAME}$", re.IGNORECASE)
_PLACE = re.compile(rf"^(.+?{_NAME}){re.escape(MARK)}(.+)$", re.IGNORECASE | re.DOTALL)
_WANTED = re.compile(r"(?:^|/)(?:\d{20}\.log|\d{20}-\d{10}\.checkpoint|meta\.properties|[^/]+\.(?:json|jsonl|ndjson))$")
"""Segments, checkpoints, files that identify a replica, and observations. A volume also holds large indexes."""
_ALWAYS_BYTES = 1 << 30
_TIMES = 100
"""A compressed archive may unpack to a gibibyte, and to this many times its own size."""
_PIECE_BYTES = 1 << 20
_REQUEST_BYTES = 4 << 20
_HEADER_BYTES = 1 << 16
"""How much is read at a time, of a compressed archive and of a plain one: for an object store each is a request."""
_EXTRA_BYTES = 1 << 20
_EXTRAS = frozenset(
    {tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK}
)
_ENDS = (
    tarfile.EmptyHeaderError,  # type: ignore[attr-defined]
    tarfile.TruncatedHeaderError,  # type: ignore[attr-defined]
    tarfile.InvalidHeaderError,  # type: ignore[attr-defined]
)
"""What `tarfile` takes for the end of an archive, besides the real end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A regular file in an archive, at `start` in the archive or in the temporary file."""

    name: str
    size_bytes: int
    modified_ns: int
    start: int


@dataclass(frozen=True, slots=True)
class Archive:
    """The contents of an archive. `unpacked` holds the contents of a compressed one, None for a plain one."""

    members: Mapping[str, Member]
    unpacked: "Spool | None"


class Spool:
    """An unnamed temporary file: it is gone when nothing refers to it any more, or with the process."""

    def __init__(self) -> None:
        """Open it."""
        self._file = tempfile.TemporaryFile(prefix="kraftlog-")  # noqa: SIM115 -- for as long as this object

    def __del__(self) -> None:
        """Close the file."""
        self._file.close()

    def append(self, content: IO[bytes]) -> int:
        """Add what can be read; returns its length in bytes."""
        before = self._file.tell()
        shutil.copyfileobj(content, self._file, _PIECE_BYTES)
        return self._file.tell() - before

    def flush(self) -> None:
        """Make everything that was added readable."""
        self._file.flush()

    def read(self, position: int, size: int) -> bytes:
        """The bytes at this position, or fewer at the end."""
        return os.pread(self._file.fileno(), size, position)


class _Header(tarfile.TarInfo):
    """A header that ends the archive only at its real end: by itself `tarfile` takes any broken one for the end."""

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> Self:
        """The next header (ReadError)."""
        try:
            return super().fromtarfile(tarfile_)
        except _ENDS as error:
            raise tarfile.ReadError(f"{error}, where the archive does not end") from error

    def _proc_member(self, tarfile_: tarfile.TarFile) -> tarfile.TarInfo:
        """Refuse long names and attributes that would take all memory."""
        if self.type in _EXTRAS and self.size > _EXTRA_BYTES:
            raise tarfile.ReadError(f"a header has {self.size:,} bytes of attributes")
        proceed: Callable[[tarfile.TarFile], tarfile.TarInfo] = super()._proc_member  # type: ignore[misc]
        return proceed(tarfile_)


class ArchiveError(Exception):
    """An archive that cannot be read; the text names it and gives the reason."""


def is_archive(name: str) -> bool:
    """Whether a file's name is that of a tar archive."""
    return _ARCHIVE.match(name) is not None


def split(place: str) -> tuple[str, str] | None:
    """The archive and the member of a place within an archive; None for any other place."""
    found = _PLACE.match(place)
    return (found[1], found[2]) if found else None


def archive(place: str, source: "OpenFile") -> Archive:
    """The regular files of the archive `source`, which is named by `place` (ArchiveError, OSError)."""
    try:
        if source.read(0, 512)[257:262] == b"ustar" or not place.lower().endswith(("z", "z2")):
            raw = io.BufferedReader(_Raw(source), _HEADER_BYTES)
            with tarfile.open(fileobj=raw, mode="r:", tarinfo=_Header) as plain:
                return Archive(dict(_plain(plain, source.size)), None)
        raw, unpacked = io.BufferedReader(_Raw(source), _REQUEST_BYTES), Spool()
        with tarfile.open(fileobj=raw, mode="r|*", tarinfo=_Header) as packed:
            return Archive(dict(_unpacked(packed, unpacked, source.size)), unpacked)
    except (tarfile.TarError, EOFError, ValueError, ArithmeticError, RecursionError, lzma.LZMAError) as error:
        raise ArchiveError(f"{place}: no tar archive that can be read to its end: {error}") from error


def _plain(tar: tarfile.TarFile, size: int) -> Iterator[tuple[str, Member]]:
    for name, info in _files(tar):
        if info.offset_data + info.size > size:
            raise tarfile.ReadError(f"it ends within {name}")
        yield name, _member(name, info, info.offset_data)


def _unpacked(tar: tarfile.TarFile, into: Spool, packed_bytes: int) -> Iterator[tuple[str, Member]]:
    limit, at = _ALWAYS_BYTES + _TIMES * packed_bytes, 0
    for name, info in _files(tar):
        if not _WANTED.search(name):
            continue
        if at + info.size > limit:
            raise tarfile.ReadError(f"it unpacks to more than {limit:,} bytes")
        content = tar.extractfile(info)
        assert content is not None  # noqa: S101 -- a regular file has content
        if into.append(content) != info.size:
            raise tarfile.ReadError(f"it ends within {name}")
        yield name, _member(name, info, at)
        at += info.size
    into.flush()


def _member(name: str, info: tarfile.TarInfo, start: int) -> Member:
    return Member(name=name, size_bytes=info.size, modified_ns=int(info.mtime * 10**9), start=start)


def _files(tar: tarfile.TarFile) -> Iterator[tuple[str, tarfile.TarInfo]]:
    """Regular files, by names without `./` before them."""
    for info in tar:
        if info.isreg() and not info.issparse():
            yield "/".join(part for part in info.name.split("/") if part not in ("", ".")), info


class _Raw(io.RawIOBase):
    """A source as the file object that `tarfile` reads."""

    def __init__(self, source: "OpenFile") -> None:
        self._source, self._at = source, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._source.size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer).cast("B")
        found = self._source.read(self._at, min(len(view), max(0, self._source.size - self._at)))
        view[: len(found)] = found
        self._at += len(found)
        return len(found)
