"""The Spark data source `kraft-metadata`: records of the metadata logs of many clusters, batch and streaming.

Each cluster is read once, from any replicas (`replicas`). A task reads one stretch of one file, and passes Arrow
batches on; a large segment is cut at batches. A row is a record or a fault: then `fault` describes it, and the record's
columns are null.

Options: `path` (directories, globs or files, comma-separated), `types` (record types, comma-separated), `release`,
`checkpoints` (`first`, the default: the state that each log continues; `all`; `none`), `highWatermarks` (JSON: cluster
to the offset that is not passed), `maxOffsetsPerTrigger`.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from kraftlog import NotALogError, Options
from kraftlog.batches import BatchColumn, list_batches
from kraftlog.program import program
from kraftlog.reader import wanted_slots
from quorum_history import damage
from quorum_history.files import FileKind, LogFile, NoLogsError, find_files
from quorum_history.replicas import ClusterLog, Segment, cluster_log, cluster_logs, divergence, with_watermarks
from quorum_history.rows import SCHEMA, Wrong, fault_rows, read_rows
from quorum_history.state import Found

FORMAT = "kraft-metadata"
_TO_END = -1
_KEPT_EPOCHS = 200
"""How many leader epochs an offset of a stream remembers; a rewritten tail is at most a few epochs old."""


class OptionError(ValueError):
    """An option that makes no sense; the text names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """The options, checked."""

    path: str
    types: frozenset[str] | None
    release: str | None
    checkpoints: str
    high_watermarks: Mapping[str, int]
    max_offsets: int | None


_KNOWN = {"path", "types", "release", "checkpoints", "highwatermarks", "maxoffsetspertrigger"}


def checked_options(given: Mapping[str, str]) -> SourceOptions:
    """Read the options (OptionError, SchemaError)."""
    options = {key.lower(): value for key, value in given.items()}
    if unknown := sorted(set(options) - _KNOWN):
        raise OptionError(f"no option {', '.join(unknown)}; there are {', '.join(sorted(_KNOWN))}")
    if not options.get("path"):
        raise OptionError("path: name directories, globs or files with metadata logs")
    checkpoints = options.get("checkpoints", "first")
    if checkpoints not in {"first", "all", "none"}:
        raise OptionError(f"checkpoints: {checkpoints!r} is none of first, all, none")
    types = frozenset(options["types"].split(",")) if "types" in options else None
    wanted_slots(program(options.get("release")), types)
    return SourceOptions(
        path=options["path"],
        types=types,
        release=options.get("release"),
        checkpoints=checkpoints,
        high_watermarks=_watermarks(options.get("highwatermarks", "{}")),
        max_offsets=_positive("maxOffsetsPerTrigger", options.get("maxoffsetspertrigger")),
    )


def _watermarks(written: str) -> dict[str, int]:
    try:
        return {str(cluster): int(offset) for cluster, offset in json.loads(written).items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise OptionError(f"highWatermarks: {written!r} is no JSON object of cluster to offset") from error


def _positive(name: str, written: str | None) -> int | None:
    if written is None:
        return None
    if not written.isdigit() or int(written) == 0:
        raise OptionError(f"{name}: {written!r} is no positive number")
    return int(written)


@dataclass(frozen=True)
class Task(InputPartition):
    """A part of a file to read; `stop` -1 means to its end, faults included."""

    file: LogFile
    start: int
    stop: int
    first: int
    end: int


@dataclass(frozen=True)
class Notice(InputPartition):
    """A fault that was found while planning: damage between batches, or between files."""

    file: LogFile
    position: int | None
    offset: int | None
    text: str


class KraftMetadataSource(DataSource):
    """Register with `register(spark)`."""

    @classmethod
    def name(cls) -> str:
        """The name in `format(…)`."""
        return FORMAT

    def schema(self) -> StructType | str:
        """One schema for every release: the differences between record types are in `data`, as JSON."""
        return SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 -- Spark's signature
        """For `spark.read`."""
        return _BatchReader(checked_options(self.options))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802, ARG002 -- Spark's signature
        """For `spark.readStream`."""
        return _StreamReader(checked_options(self.options))


def register(spark: SparkSession) -> None:
    """Register the format in a session."""
    spark.dataSource.register(KraftMetadataSource)


class _BatchReader(DataSourceReader):
    def __init__(self, options: SourceOptions) -> None:
        self.options = options

    def partitions(self) -> Sequence[InputPartition]:
        clusters: dict[str, list[LogFile]] = {}
        for file in find_files(self.options.path):
            clusters.setdefault(file.cluster, []).append(file)
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            found = pool.map(lambda each: list(self._of(*each)), sorted(clusters.items()))
            return [task for tasks in found for task in tasks]

    def _of(self, cluster: str, files: Sequence[LogFile]) -> Iterator[InputPartition]:
        """What to read of a cluster, and the faults of its files."""
        loaded = _Loaded()
        log = cluster_log(cluster, files, loaded.load)
        end = with_watermarks(log.end, cluster, self.options.high_watermarks)
        stretches = list(log.pieces(0, end))
        checkpoints = list(_checkpoints(log, self.options))
        for found, state in damage.gaps(log, stretches, damage.covered(log)):
            loaded.found.append(found)
            if state is not None and self.options.checkpoints != "none":
                checkpoints.append(Task(state, 0, _TO_END, 0, 2**62))
        for file in files:
            if file.kind is FileKind.CHECKPOINT:
                loaded.found += damage.of_checkpoint(file)
        loaded.found += [*damage.unused(log, loaded.segments), *damage.behind(log, 0)]
        loaded.found += damage.between(log, [(each.first, each.end) for each in stretches])
        loaded.found += [damage.of_disagreement(log, each) for each in log.disagreements()]
        yield from dict.fromkeys(checkpoints)
        yield from (Task(each.file, each.start, each.stop, each.first, each.end) for each in stretches)
        by_path = {file.path: file for file in files}
        yield from (Notice(by_path[each.file], each.position, each.offset, each.text) for each in loaded.found)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(partition, self.options)


class _Loaded:
    """The segments of a cluster, each listed once, and their faults."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self.found: list[Found] = []

    def load(self, file: LogFile) -> Segment | None:
        try:
            batches = list_batches(file.path)
        except NotALogError as error:
            self.found.append(Found(file=file.path, position=error.position, offset=None, text=str(error)))
            return None
        self.found += damage.of_segment(file, batches)
        self.segments.append(Segment(file, batches))
        return self.segments[-1]


def _checkpoints(log: ClusterLog, options: SourceOptions) -> list[InputPartition]:
    return [Task(file, 0, _TO_END, 0, 2**62) for file in damage.first_checkpoints(log, options.checkpoints)]


class _StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """An offset is, per cluster, the offset after the last whole batch, and the leader epochs that led to it.

    If a tail was truncated and written again, the epochs differ from some offset on: reading starts there again. The
    new records have another epoch, so `(cluster, offset, leader_epoch)` stays a key.
    """

    def __init__(self, options: SourceOptions) -> None:
        self.options = options
        self._until: dict[str, int] | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 -- Spark's name
        """Nothing of any cluster."""
        return {"clusters": {}}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 -- Spark's name
        """Everything; `maxOffsetsPerTrigger` is this source's own limit."""
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 -- Spark's name
        """Remember where the logs end now: an available-now query stops there, however much is written later."""
        logs = self._logs()
        self._until = {log.cluster: log.end for log in logs}

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802, ARG002 -- Spark's
        """Where the next micro-batch ends."""
        clusters = dict(start["clusters"])
        for log in self._logs():
            before = clusters.get(log.cluster)
            clusters[log.cluster] = self._next(log, before)
        return {"clusters": clusters}

    def _next(self, log: ClusterLog, before: dict[str, Any] | None) -> dict[str, Any]:
        done = int(before["end"]) if before else 0
        epochs = _epochs(before)
        end = with_watermarks(log.end, log.cluster, self.options.high_watermarks)
        if self._until is not None:
            end = min(end, self._until.get(log.cluster, 0))
        same_until = divergence(epochs, done, log.epochs, end) if before else 0
        if before and same_until >= min(done, end) and end <= done:
            return before  # nothing new, or a replica that is behind: what was read is still valid
        if self.options.max_offsets is not None:
            end = _batch_end(log, min(end, same_until + self.options.max_offsets), same_until)
        kept = [[epoch, first] for epoch, first in log.epochs if first < end]
        return {"end": end, "epochs": kept[-_KEPT_EPOCHS:]}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The stretches between two offsets; a rewritten tail is read from where it differs."""
        tasks: list[InputPartition] = []
        for log in self._logs():
            before, after = start["clusters"].get(log.cluster), end["clusters"].get(log.cluster)
            if after is None or after == before:
                continue
            if before is None:
                tasks += _checkpoints(log, self.options)
            first = divergence(_epochs(before), int(before["end"]), _epochs(after), int(after["end"])) if before else 0
            stretches = log.pieces(first, int(after["end"]))
            tasks += [Task(each.file, each.start, each.stop, each.first, each.end) for each in stretches]
        return tasks or [Notice(_NOWHERE, None, None, "")]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a task."""
        return _read(partition, self.options)

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing to release: the logs are not ours."""

    def _logs(self) -> tuple[ClusterLog, ...]:
        try:
            return cluster_logs(find_files(self.options.path))
        except NoLogsError:
            return ()  # a stream may be started before the first log is there


_NOWHERE = LogFile(
    cluster="", replica="", node_id=-1, directory_id="", kind=FileKind.SEGMENT, base_offset=0, epoch=-1, path=""
)


def _epochs(offset: dict[str, Any] | None) -> tuple[tuple[int, int], ...]:
    return tuple((int(epoch), int(first)) for epoch, first in offset["epochs"]) if offset else ()


def _batch_end(log: ClusterLog, wanted: int, first: int) -> int:
    """The end of the last batch that ends by `wanted`, or of the first one after `first`."""
    ends = [segment.batches.column(BatchColumn.LAST_OFFSET) + 1 for segment in log.replicas[0].segments]
    behind = np.concatenate(ends)
    fitting = behind[(behind <= wanted) & (behind > first)]
    return int(fitting[-1]) if fitting.size else int(behind[behind > first][0])


def _read(partition: InputPartition, options: SourceOptions) -> Iterator[pa.RecordBatch]:
    if isinstance(partition, Notice):
        if partition.text:
            yield fault_rows(partition.file, [(partition.position, partition.offset, partition.text)])
        return
    if not isinstance(partition, Task):
        raise TypeError(f"{partition!r} is no task of this source")
    wanted = Options(
        release=options.release,
        types=options.types,
        start_position=partition.start,
        end_position=None if partition.stop == _TO_END else partition.stop,
    )
    for found in read_rows(partition.file, wanted):
        if not isinstance(found, Wrong):
            yield found
        elif damage.within_a_batch(found):
            yield fault_rows(partition.file, [(found.position, None, str(found))])
