"""One log out of several replicas of it: which file to read for which offsets, and where replicas disagree.

Every controller and broker holds a copy of the metadata log, some shorter than others, and one that was cut off may
end in records that never counted. As in an election, the replica with the highest last epoch wins, then the longest;
the others only fill in what it no longer has.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kraftlog.batches import BatchColumn, Batches, list_batches
from kraftlog.errors import NotALogError
from quorum_history.files import FileKind, LogFile

Epochs = tuple[tuple[int, int], ...]
"""Leader epochs with the first offset of each, ascending, as in Kafka's own leader-epoch checkpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Offsets `first` (inclusive) to `end` (exclusive) of a file, whose batches lie in bytes `start` to `stop`."""

    file: LogFile
    first: int
    end: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment and its batches."""

    file: LogFile
    batches: Batches

    @property
    def first(self) -> int:
        """Its first offset; that of its name when it is empty."""
        return int(self.batches.column(BatchColumn.BASE_OFFSET)[0]) if len(self.batches) else self.file.base_offset

    @property
    def end(self) -> int:
        """The offset behind its last whole batch."""
        return int(self.batches.column(BatchColumn.LAST_OFFSET)[-1]) + 1 if len(self.batches) else self.first

    def stretch(self, first: int, end: int) -> Stretch | None:
        """The batches that lie in these offsets as a whole."""
        bases, lasts = self.batches.column(BatchColumn.BASE_OFFSET), self.batches.column(BatchColumn.LAST_OFFSET)
        low, high = np.searchsorted(bases, first), np.searchsorted(lasts, end)
        if low >= high:
            return None
        positions = self.batches.column(BatchColumn.POSITION)
        stop = int(positions[high]) if high < len(self.batches) else self.batches.end_position
        last = int(lasts[high - 1])
        return Stretch(file=self.file, first=int(bases[low]), end=last + 1, start=int(positions[low]), stop=stop)


@dataclass(frozen=True, slots=True)
class Replica:
    """The segments of one replica, in order, up to the first that does not go on where the last one ended."""

    name: str
    segments: tuple[Segment, ...]

    @property
    def first(self) -> int:
        """Its first offset."""
        return self.segments[0].first

    @property
    def end(self) -> int:
        """The offset behind its last whole batch."""
        return self.segments[-1].end

    @property
    def epochs(self) -> Epochs:
        """Its history of leader epochs."""
        known: list[tuple[int, int]] = []
        for segment in self.segments:
            epochs = segment.batches.column(BatchColumn.LEADER_EPOCH)
            bases = segment.batches.column(BatchColumn.BASE_OFFSET)
            for row in np.flatnonzero(np.diff(epochs, prepend=-1)).tolist():
                if not known or known[-1][0] != int(epochs[row]):
                    known.append((int(epochs[row]), int(bases[row])))
        return tuple(known)

    @property
    def rank(self) -> tuple[int, int, str]:
        """What an election would compare; the name settles a tie for good."""
        epochs = self.epochs
        return (epochs[-1][0] if epochs else -1, self.end, self.name)


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
    """The replicas of one cluster, the trusted one first."""

    cluster: str
    replicas: tuple[Replica, ...]
    checkpoints: tuple[LogFile, ...]

    @property
    def end(self) -> int:
        """The offset behind the last whole batch of the trusted replica; 0 without any."""
        return self.replicas[0].end if self.replicas else 0

    @property
    def epochs(self) -> Epochs:
        """The trusted replica's history."""
        return self.replicas[0].epochs if self.replicas else ()

    def stretches(self, first: int, end: int) -> Iterator[Stretch]:
        """What to read for these offsets, each offset once, in order."""
        plan: list[Stretch] = []
        gaps = [(first, end)]
        for segment in (segment for replica in self.replicas for segment in replica.segments):
            left: list[tuple[int, int]] = []
            for low, high in gaps:
                found = segment.stretch(low, high)
                if found is None:
                    left.append((low, high))
                    continue
                plan.append(found)
                left += [gap for gap in ((low, found.first), (found.end, high)) if gap[0] < gap[1]]
            gaps = left
        yield from sorted(plan, key=lambda stretch: stretch.first)

    def first_checkpoint(self) -> LogFile | None:
        """The state from which the log goes on: the latest checkpoint that is not behind the first offset to be had.

        Where every checkpoint is behind it, the earliest one is nearest, and one that is there from its
        first record on needs none; without any log the latest checkpoint is all there is.
        """
        if not self.replicas:
            return max(self.checkpoints, key=_key, default=None)
        start = min(replica.first for replica in self.replicas)
        usable = [file for file in self.checkpoints if file.base_offset <= start]
        if usable or start == 0:
            return max(usable, key=_key, default=None)
        return min(self.checkpoints, key=_key, default=None)

    def disagreements(self) -> Iterator[Disagreement]:
        """For every other replica, the first batch that it has differently, below the end of the trusted one."""
        if not self.replicas:
            return
        trusted = self.replicas[0]
        known = _by_offset(trusted)
        for other in self.replicas[1:]:
            for offset, (epoch, crc) in _by_offset(other).items():
                if offset in known and known[offset] != (epoch, crc):
                    yield Disagreement(
                        cluster=self.cluster,
                        offset=offset,
                        trusted=trusted.name,
                        other=other.name,
                        trusted_epoch=known[offset][0],
                        other_epoch=epoch,
                    )
                    break


def _by_offset(replica: Replica) -> dict[int, tuple[int, int]]:
    columns = (BatchColumn.BASE_OFFSET, BatchColumn.LEADER_EPOCH, BatchColumn.CRC)
    rows = (
        zip(*(segment.batches.column(each).tolist() for each in columns), strict=True) for segment in replica.segments
    )
    return {offset: (epoch, crc) for segment in rows for offset, epoch, crc in segment}


def cluster_logs(files: Iterable[LogFile]) -> tuple[ClusterLog, ...]:
    """The clusters among these files. Files that cannot be read are left to whoever reads them to complain about."""
    by_cluster: dict[str, list[LogFile]] = {}
    for file in files:
        by_cluster.setdefault(file.cluster, []).append(file)
    return tuple(_cluster(name, members) for name, members in sorted(by_cluster.items()))


def _cluster(name: str, files: Sequence[LogFile]) -> ClusterLog:
    segments: dict[str, list[LogFile]] = {}
    for file in files:
        if file.kind is FileKind.SEGMENT:
            segments.setdefault(file.replica, []).append(file)
    replicas = [replica for replica in (_replica(key, each) for key, each in segments.items()) if replica]
    checkpoints = tuple(sorted({_key(file): file for file in files if file.kind is FileKind.CHECKPOINT}.values()))
    return ClusterLog(name, tuple(sorted(replicas, key=lambda replica: replica.rank, reverse=True)), checkpoints)


def _key(file: LogFile) -> tuple[int, int]:
    return (file.base_offset, file.epoch)


def _replica(name: str, files: Sequence[LogFile]) -> Replica | None:
    chain: list[Segment] = []
    for file in sorted(files, key=lambda each: each.base_offset):
        try:
            segment = Segment(file, list_batches(file.path))
        except NotALogError:
            continue
        if len(segment.batches) and (not chain or segment.first >= chain[-1].end):
            chain.append(segment)
    return Replica(name, tuple(chain)) if chain else None


def divergence(emitted: Epochs, emitted_end: int, current: Epochs, current_end: int) -> int:
    """The offset up to which two histories of one log are the same, as Raft's followers find it.

    An epoch has one leader, who writes each offset once: histories agree as long as their epochs begin alike, and
    within the last common epoch up to where either of them leaves it.
    """
    if emitted and current:
        oldest = max(emitted[0][0], current[0][0])  # what either has deleted in front says nothing
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
    """An end offset, not past the high watermark where that is known."""
    return min(end, watermarks.get(cluster, end))
