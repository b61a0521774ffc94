"""Files of observations, one line of JSON per look: which lines are new, which are no observations, and why.

A file may grow. Its last line counts when it is complete; until then it is reported as half-written.
"""

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from pyarrow import compute
from pyarrow import json as arrow_json

from kraftlog.places import opened, read_fully
from quorum_history.files import Stored, stored
from quorum_history.state import Found, LinesState

SUPPORTED_VERSION = 1
EARLIEST = datetime(2020, 1, 1, tzinfo=UTC)
"""Before any quorum. A look before this time, or after tomorrow, means a wrong clock or a wrong line."""
AHEAD = timedelta(days=1)
SUFFIXES = (".json", ".jsonl", ".ndjson")
_PIECE_BYTES = 8 << 20
_LONGEST_BYTES = 8 << 20
_REJECTED_PER_FILE = 100
_SHOWN = 200
HALF_WRITTEN = "half-written"
"""How the reason begins for a last line that may still be written."""

_REPLICA = pa.struct(
    [("nodeID", pa.int32()), ("directoryID", pa.string()), ("live", pa.bool_()), ("lagRecords", pa.int64())]
)
_RANGE = pa.struct([("name", pa.string()), ("minSupported", pa.int32()), ("maxSupported", pa.int32())])
_NODE = pa.struct([("nodeID", pa.int32()), ("kafkaVersion", pa.string()), ("features", pa.list_(_RANGE))])
_QUORUM = pa.struct(
    [
        ("leaderID", pa.int32()),
        ("leaderEpoch", pa.int32()),
        ("highWatermark", pa.int64()),
        ("voters", pa.list_(_REPLICA)),
        ("observers", pa.list_(_REPLICA)),
    ]
)
ARROW = pa.schema(
    [
        ("schemaVersion", pa.int32()),
        ("observedAt", pa.timestamp("us", tz="UTC")),
        ("namespace", pa.string()),
        ("name", pa.string()),
        ("clusterID", pa.string()),
        ("unknownReason", pa.string()),
        ("quorum", _QUORUM),
        ("nodes", pa.list_(_NODE)),
        ("features", pa.list_(pa.struct([("name", pa.string()), ("finalized", pa.int32())]))),
    ]
)
_PARSE = arrow_json.ParseOptions(explicit_schema=ARROW, unexpected_field_behavior="ignore")
_NEEDED = ("observedAt", "namespace", "name", "clusterID")


def find_lines(paths: str) -> tuple[Stored, ...]:
    """The files of observations below comma-separated directories, globs, files or URLs, but for unfinished ones."""
    found = {
        file.path: file
        for pattern in filter(None, (part.strip() for part in paths.split(",")))
        for file in stored(pattern)
        if file.name.endswith(SUFFIXES) and not file.name.startswith((".", "_"))
    }
    return tuple(found[path] for path in sorted(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Whole lines of a file that are observations, and those that are not."""

    table: pa.Table
    lines: int
    rejected: tuple[Found, ...]
    end: int
    path: str


def read_lines(file: Stored, start: int, now: datetime) -> Iterator[Piece]:
    """The whole lines of a file from a position on, some megabytes at a time (OSError)."""
    with opened(file.path) as source:
        position, want = start, _PIECE_BYTES
        while position < source.size:
            data = bytes(read_fully(source, position, min(want, source.size - position)))
            end = data.rfind(b"\n") + 1
            if end == 0 and len(data) < _LONGEST_BYTES + _PIECE_BYTES and position + len(data) < source.size:
                want *= 2
                continue
            if end == 0:
                return
            yield _piece(file.path, position, data[:end], now)
            position, want = position + end, _PIECE_BYTES


def half_written(file: Stored, position: int) -> Found | None:
    """What is reported about a file that does not end with a line's end."""
    if position >= file.size_bytes:
        return None
    left = file.size_bytes - position
    return _rejected(file.path, position, f"{HALF_WRITTEN}: {left} bytes without the end of a line", b"")


def _piece(path: str, position: int, data: bytes, now: datetime) -> Piece:
    lines = data.count(b"\n")
    try:
        table = arrow_json.read_json(io.BytesIO(data), parse_options=_PARSE, read_options=_one_block(data))
        if table.num_rows == lines and _all_good(table, now):
            return Piece(table=table.select(ARROW.names), lines=lines, rejected=(), end=position + len(data), path=path)
    except (pa.ArrowException, ValueError):
        pass  # some line is wrong: look at each
    return _line_by_line(path, position, data, now)


def _one_block(data: bytes) -> arrow_json.ReadOptions:
    return arrow_json.ReadOptions(use_threads=False, block_size=max(len(data), 1))


def _all_good(table: pa.Table, now: datetime) -> bool:
    if any(table.column(name).null_count for name in (*_NEEDED, "schemaVersion")):
        return False
    versions = set(table.column("schemaVersion").unique().to_pylist())
    times = compute.min_max(table.column("observedAt").cast(pa.int64())).as_py()
    return versions <= {SUPPORTED_VERSION} and _plausible(times["min"], now) and _plausible(times["max"], now)


def _plausible(at_us: int, now: datetime) -> bool:
    return EARLIEST.timestamp() * 1e6 <= at_us <= (now + AHEAD).timestamp() * 1e6


def _line_by_line(path: str, position: int, data: bytes, now: datetime) -> Piece:
    good: list[pa.Table] = []
    rejected: list[Found] = []
    at = position
    for line in data.splitlines(keepends=True):
        if line.strip():
            read = _line(line, now)
            if isinstance(read, str):
                rejected.append(_rejected(path, at, read, line))
            else:
                good.append(read)
        at += len(line)
    table = pa.concat_tables([ARROW.empty_table(), *good])
    return Piece(
        table=table, lines=table.num_rows + len(rejected), rejected=tuple(rejected), end=position + len(data), path=path
    )


def _line(line: bytes, now: datetime) -> pa.Table | str:
    """One line as a table of one row, or why it is no observation."""
    try:
        read: Any = json.loads(line)
    except ValueError as error:
        return f"no JSON: {error}"
    return _look(read, line, now) if isinstance(read, dict) else "no JSON object"


def _look(read: dict[str, Any], line: bytes, now: datetime) -> pa.Table | str:
    if read.get("schemaVersion") != SUPPORTED_VERSION:
        return f"schemaVersion {read.get('schemaVersion')!r}, where {SUPPORTED_VERSION} is known"
    try:
        table = arrow_json.read_json(io.BytesIO(line), parse_options=_PARSE, read_options=_one_block(line))
    except (pa.ArrowException, ValueError) as error:
        return f"not as the schema has it: {error}"
    if missing := [name for name in _NEEDED if table.column(name).null_count]:
        return f"without {', '.join(missing)}"
    if not _plausible(table.column("observedAt").cast(pa.int64())[0].as_py(), now):
        return f"observedAt {read['observedAt']} lies before {EARLIEST:%Y} or after tomorrow"
    return table.select(ARROW.names)


def _rejected(path: str, position: int, reason: str, line: bytes) -> Found:
    shown = line[:_SHOWN].decode(errors="replace").strip()
    return Found(file=path, position=position, offset=None, text=f"{reason}: {shown}" if shown else reason)


def joined(file: Stored, before: LinesState | None, start: int, pieces: list[Piece]) -> LinesState:
    """The state of a file after these pieces of it are read; `start` 0 forgets the earlier state."""
    kept = before if before is not None and start > 0 else None
    rejected = [*(each for each in kept.rejected if (each.position or 0) < start)] if kept else []
    rejected += [found for piece in pieces for found in piece.rejected]
    position = pieces[-1].end if pieces else start
    return LinesState(
        size_bytes=file.size_bytes,
        modified_ns=file.modified_ns,
        position=position,
        lines=(kept.lines if kept else 0) + sum(piece.lines for piece in pieces),
        rejected_lines=(kept.rejected_lines if kept else 0) + sum(len(piece.rejected) for piece in pieces),
        rejected=(*rejected[:_REJECTED_PER_FILE], *filter(None, [half_written(file, position)])),
    )
