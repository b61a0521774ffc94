"""One log from several replicas of it: which file to read for which offsets, and where replicas disagree.

Every controller and broker holds a copy of the metadata log. Some copies are shorter, and one that was cut off may end
in records that never counted. As in an election, the replica with the highest last epoch wins, then the longest. The
others only supply what it no longer has.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from kraftlog.batches import BatchColumn, Batches, list_batches
from kraftlog.compiled import Ints
from kraftlog.errors import NotALogError
from quorum_history.files import FileKind, LogFile, by_snapshot

PIECE_BYTES = 64 << 20
"""The approximate size that one task reads of a segment."""

Epochs = tuple[tuple[int, int], ...]
"""Leader epochs with the first offset of each, ascending, as in Kafka's own leader-epoch checkpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Offsets `first` (inclusive) to `end` (exclusive) of a file, whose batches are in bytes `start` to `stop`."""

    file: LogFile
    first: int
    end: int
    start: int
    stop: int


Checks = tuple[Ints, Ints, Ints, Ints]
"""Base offsets of batches, with the leader epoch, the checksum and the last offset of each."""


def epochs_of(batches: Batches) -> Epochs:
    """The leader epochs of batches, with the first offset of each."""
    epochs, bases = batches.column(BatchColumn.LEADER_EPOCH), batches.column(BatchColumn.BASE_OFFSET)
    return tuple((int(epochs[row]), int(bases[row])) for row in np.flatnonzero(np.diff(epochs, prepend=-1)).tolist())


def checks_of(batches: Batches, since: int) -> Checks:
    """The values that distinguish batches, from an offset on."""
    rows = batches.table[:, batches.column(BatchColumn.BASE_OFFSET) >= since]
    base, epoch, crc, last = (
        rows[column]
        for column in (BatchColumn.BASE_OFFSET, BatchColumn.LEADER_EPOCH, BatchColumn.CRC, BatchColumn.LAST_OFFSET)
    )
    return base, epoch, crc, last


class Segment:
    """A segment and its batches."""

    def __init__(self, file: LogFile, batches: Batches) -> None:
        """`batches`: all of the file."""
        self.file = file
        self._batches = batches
        self._epochs: Epochs | None = None

    @property
    def batches(self) -> Batches:
        """All batches of the file."""
        return self._batches

    def __len__(self) -> int:
        """How many batches are known; 0 only if there are none."""
        return len(self._batches)

    @property
    def first(self) -> int:
        """Its first offset; if it is empty, the offset in its name."""
        return int(self.batches.column(BatchColumn.BASE_OFFSET)[0]) if len(self.batches) else self.file.base_offset

    @property
    def end(self) -> int:
        """The offset after its last whole batch."""
        return int(self.batches.column(BatchColumn.LAST_OFFSET)[-1]) + 1 if len(self.batches) else self.first

    @property
    def finished(self) -> bool:
        """Whether its last whole batch is the end of the file."""
        return self.batches.end_position == self.batches.size_bytes

    @property
    def epochs(self) -> Epochs:
        """Its leader epochs."""
        if self._epochs is None:
            self._epochs = epochs_of(self.batches)
        return self._epochs

    def epoch_at(self, offset: int) -> int:
        """The leader epoch of the first batch that ends at this offset or after it; there must be one."""
        row = int(np.searchsorted(self.batches.column(BatchColumn.LAST_OFFSET), offset))
        return int(self.batches.column(BatchColumn.LEADER_EPOCH)[row])

    def runs(self, first: int, end: int) -> Iterator[Stretch]:
        """The batches that are whole within these offsets, in runs without a gap."""
        return runs_of(self.file, self.batches, first, end)

    def pieces(self, stretch: Stretch, piece_bytes: int) -> Iterator[Stretch]:
        """A stretch of this segment in pieces of about this many bytes, cut where batches begin."""
        positions = self.batches.column(BatchColumn.POSITION)
        bases = self.batches.column(BatchColumn.BASE_OFFSET)
        start, first = stretch.start, stretch.first
        while stretch.stop - start > piece_bytes:
            row = int(np.searchsorted(positions, start + piece_bytes))
            if row >= len(positions) or int(positions[row]) >= stretch.stop:
                break
            yield replace(stretch, first=first, end=int(bases[row]), start=start, stop=int(positions[row]))
            start, first = int(positions[row]), int(bases[row])
        yield replace(stretch, first=first, start=start)

    def checks(self, since: int) -> Checks:
        """Base offset, leader epoch and checksum of every batch from an offset on."""
        return checks_of(self.batches, since)


def runs_of(file: LogFile, batches: Batches, first: int, end: int) -> Iterator[Stretch]:
    """Runs of batches without a gap or a stray between them. Other bytes after a run are read with it."""
    bases, lasts = batches.column(BatchColumn.BASE_OFFSET), batches.column(BatchColumn.LAST_OFFSET)
    low, high = int(np.searchsorted(bases, first)), int(np.searchsorted(lasts, end))
    positions, strays = batches.column(BatchColumn.POSITION), batches.strays[BatchColumn.POSITION]
    before = np.searchsorted(strays, positions[low:high])  # how many strays are before each batch
    breaks = (bases[low + 1 : high] != lasts[low : max(high - 1, low)] + 1) | (np.diff(before) != 0)
    for start, stop in pairwise([low, *(np.flatnonzero(breaks) + low + 1).tolist(), high]):
        if start < stop:
            after = int(positions[stop]) if stop < len(batches) else batches.end_position
            after = min([after, *strays[before[stop - 1 - low] : before[stop - 1 - low] + 1].tolist()])
            place = {"start": int(positions[start]), "stop": after}
            yield Stretch(file=file, first=int(bases[start]), end=int(lasts[stop - 1]) + 1, **place)


@dataclass(frozen=True, slots=True)
class Replica:
    """The segments of one replica, in order, up to the first that does not continue the one before it."""

    name: str
    segments: tuple[Segment, ...]

    @property
    def first(self) -> int:
        """Its first offset."""
        return self.segments[0].first

    @property
    def end(self) -> int:
        """The offset after its last whole batch."""
        return self.segments[-1].end

    @property
    def epochs(self) -> Epochs:
        """Its history of leader epochs."""
        known: list[tuple[int, int]] = []
        for segment in self.segments:
            for epoch, first in segment.epochs:
                if not known or known[-1][0] != epoch:
                    known.append((epoch, first))
        return tuple(known)

    def epoch_at(self, offset: int) -> int:
        """The leader epoch of the first batch at an offset or after it; of the last batch if there is none; else -1."""
        found = next((segment.epoch_at(offset) for segment in self.segments if segment.end > offset), None)
        return found if found is not None else self.epochs[-1][0] if self.epochs else -1

    def end_of(self, epoch: int) -> int:
        """The offset after its last batch of a leader epoch; 0 if it has none of it."""
        epochs = self.epochs
        ends = [*(first for _, first in epochs[1:]), self.end]
        return next((end for (known, _), end in zip(epochs, ends, strict=True) if known == epoch), 0)

    def checks(self, since: int) -> Checks:
        """Base offset, leader epoch and checksum of every batch from an offset on."""
        parts = [segment.checks(since) for segment in self.segments if segment.end > since]
        if not parts:
            empty: Ints = np.empty(0, dtype=np.int64)
            return empty, empty, empty, empty
        bases, epochs, crcs, lasts = (np.concatenate(column) for column in zip(*parts, strict=True))
        return bases, epochs, crcs, lasts

    @property
    def rank(self) -> tuple[int, int, str]:
        """The values that an election would compare; the name decides a tie."""
        epochs = self.epochs
        return (epochs[-1][0] if epochs else -1, self.end, self.name)


class _Gap(NamedTuple):
    """Offsets that are not found yet, and the leader epoch of what follows; None before the trusted replica is read."""

    low: int
    high: int
    epoch: int | None


def _filled(replica: Replica, gap: _Gap, plan: list[Stretch]) -> Iterator[_Gap]:
    """Add what a replica is known to have of a gap to the plan; what is left of it follows."""
    at = gap.low
    until = gap.high if gap.epoch is None else min(gap.high, replica.end_of(gap.epoch))
    for segment in replica.segments:
        for found in segment.runs(at, until) if segment.end > at < until else ():
            plan.append(found)
            if at < found.first:
                yield _Gap(at, found.first, replica.epoch_at(found.first))
            at = found.end
    if at < gap.high:
        yield _Gap(at, gap.high, replica.epoch_at(gap.high) if gap.epoch is None else gap.epoch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """Two replicas that hold different batches at one offset."""

    cluster: str
    offset: int
    trusted: str
    other: str
    trusted_epoch: int
    other_epoch: int


@dataclass(frozen=True, slots=True)
class ClusterLog:
    """The replicas of one cluster, the trusted one first, and every copy of every checkpoint.

    `left_out` are segments in no replica: empty, unreadable, or beginning within the one before.
    """

    cluster: str
    replicas: tuple[Replica, ...]
    checkpoints: tuple[LogFile, ...]
    left_out: tuple[LogFile, ...] = ()

    @property
    def end(self) -> int:
        """The offset after the last whole batch of the trusted replica; 0 without any."""
        return self.replicas[0].end if self.replicas else 0

    @property
    def last_offset(self) -> int:
        """The last offset with a known state, from the log or a checkpoint; -1 if there is none."""
        return max([self.end, *(file.base_offset for file in self.checkpoints)]) - 1

    @property
    def epochs(self) -> Epochs:
        """The trusted replica's history."""
        return self.replicas[0].epochs if self.replicas else ()

    def stretches(self, first: int, end: int) -> Iterator[Stretch]:
        """What to read for these offsets, each offset once, in order.

        Another replica fills a gap of the trusted one, or the part before it, only if it has the leader epoch that
        follows. Then its log is the same up to there (KIP-595). Without that epoch its records may never have counted.
        """
        plan: list[Stretch] = []
        gaps = [_Gap(first, end, None)]
        for replica in self.replicas:
            gaps = [left for gap in gaps for left in _filled(replica, gap, plan)]
        yield from sorted(plan, key=lambda stretch: stretch.first)

    def pieces(self, first: int, end: int, piece_bytes: int = PIECE_BYTES) -> Iterator[Stretch]:
        """The same with large stretches cut at batches, so that several tasks can share a segment."""
        by_path = {segment.file.path: segment for replica in self.replicas for segment in replica.segments}
        for stretch in self.stretches(first, end):
            if stretch.stop - stretch.start > piece_bytes:
                yield from by_path[stretch.file.path].pieces(stretch, piece_bytes)
            else:
                yield stretch

    def first_checkpoint(self) -> LogFile | None:
        """The state that the log continues: the latest checkpoint that is not after the first available offset.

        If every checkpoint is after it, the earliest one is nearest. A log that begins with its first record needs
        none. Without any log, the latest checkpoint is all there is.
        """
        if not self.replicas:
            return max(self.checkpoints, key=by_snapshot, default=None)
        start = min(replica.first for replica in self.replicas)
        usable = max((file for file in self.checkpoints if file.base_offset <= start), key=by_snapshot, default=None)
        if usable or start == 0:
            return usable
        return min(self.checkpoints, key=by_snapshot, default=None)

    def copies(self, checkpoint: LogFile) -> tuple[LogFile, ...]:
        """A checkpoint in every replica that has it."""
        return tuple(file for file in self.checkpoints if file.snapshot == checkpoint.snapshot)

    def disagreements(self, since: Callable[[Replica], int] = lambda _: 0) -> Iterator[Disagreement]:
        """For every other replica, the first batch in which it differs; `since`: the offset to begin at."""
        for other in self.replicas[1:]:
            trusted = self.replicas[0]
            first = since(other)
            mine, theirs = trusted.checks(first), other.checks(first)
            _, here, there = np.intersect1d(mine[0], theirs[0], return_indices=True)
            differ = np.flatnonzero((mine[1][here] != theirs[1][there]) | (mine[2][here] != theirs[2][there]))
            if differ.size:
                row = int(differ[0])
                yield Disagreement(
                    cluster=self.cluster,
                    offset=int(mine[0][here[row]]),
                    trusted=trusted.name,
                    other=other.name,
                    trusted_epoch=int(mine[1][here[row]]),
                    other_epoch=int(theirs[1][there[row]]),
                )


def listed(file: LogFile) -> Segment | None:
    """A segment with its batches; None for a file that cannot be read, which its reader reports."""
    try:
        return Segment(file, list_batches(file.path))
    except NotALogError:
        return None


def cluster_logs(files: Iterable[LogFile]) -> tuple[ClusterLog, ...]:
    """The clusters among these files."""
    by_cluster: dict[str, list[LogFile]] = {}
    for file in files:
        by_cluster.setdefault(file.cluster, []).append(file)
    return tuple(cluster_log(name, members) for name, members in sorted(by_cluster.items()))


def cluster_log(name: str, files: Sequence[LogFile], load: Callable[[LogFile], Segment | None] = listed) -> ClusterLog:
    """The replicas in these files of one cluster; `load` returns the batches of a segment."""
    segments: dict[str, list[LogFile]] = {}
    for file in files:
        if file.kind is FileKind.SEGMENT:
            segments.setdefault(file.replica, []).append(file)
    replicas = [replica for replica in (_replica(key, each, load) for key, each in segments.items()) if replica]
    checkpoints = sorted(file for file in files if file.kind is FileKind.CHECKPOINT)
    used = {segment.file for replica in replicas for segment in replica.segments}
    left_out = sorted(file for file in files if file.kind is FileKind.SEGMENT and file not in used)
    ranked = sorted(replicas, key=lambda replica: replica.rank, reverse=True)
    return ClusterLog(name, tuple(ranked), tuple(checkpoints), tuple(left_out))


def _replica(name: str, files: Sequence[LogFile], load: Callable[[LogFile], Segment | None]) -> Replica | None:
    chain: list[Segment] = []
    for file in sorted(files, key=lambda each: each.base_offset):
        segment = load(file)
        if segment is not None and len(segment) and (not chain or segment.first >= chain[-1].end):
            chain.append(segment)
    return Replica(name, tuple(chain)) if chain else None


def divergence(emitted: Epochs, emitted_end: int, current: Epochs, current_end: int) -> int:
    """The offset up to which two histories of one log are the same, found in the way of Raft's followers.

    An epoch has one leader, which writes each offset once. So histories agree while their epochs begin at the same
    offsets. Within the last common epoch they agree until one of them ends or leaves it.
    """
    if emitted and current:
        oldest = max(emitted[0][0], current[0][0])  # what either has deleted at its front proves nothing
        since = max(emitted[0][1], current[0][1])
        emitted, current = _from_epoch(emitted, oldest, since), _from_epoch(current, oldest, since)
    common = 0
    while common < min(len(emitted), len(current)) and emitted[common] == current[common]:
        common += 1
    if common == 0:
        return min([emitted_end, current_end, *(start for _, start in (*emitted[:1], *current[:1]))])
    leaves = [history[common][1] for history in (emitted, current) if common < len(history)]
    return min(emitted_end, current_end, *leaves) if leaves else min(emitted_end, current_end)


def _from_epoch(history: Epochs, oldest: int, since: int) -> Epochs:
    return tuple((epoch, max(start, since)) for epoch, start in history if epoch >= oldest)


def with_watermarks(end: int, cluster: str, watermarks: Mapping[str, int]) -> int:
    """An end offset, not past the high watermark if that is known."""
    return min(end, watermarks.get(cluster, end))
