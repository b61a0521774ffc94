"""One cluster's log as it is now, compared with what was read of it before: what to read next, and what is wrong.

A file that has not changed is not opened. A file that has grown is listed from a batch near its old end, if that is
still the same batch; else it was truncated or replaced, and is listed from its beginning. This module finds damage in
the files of every replica, whether their records are needed or not.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kraftlog import NotALogError
from kraftlog.batches import BatchColumn, Batches, list_batches
from quorum_history import damage
from quorum_history.files import FileKind, LogFile
from quorum_history.replicas import (
    Checks,
    ClusterLog,
    Epochs,
    Replica,
    Segment,
    Stretch,
    checks_of,
    cluster_log,
    divergence,
    epochs_of,
    runs_of,
)
from quorum_history.state import Anchor, ClusterState, FileState, Found

_ANCHOR_BYTES = 1 << 20
"""How far before the end of a file its next listing begins, so that followers with a small lag can be compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a file that a task reads: bytes `start` to `stop`, which are whole batches."""

    file: LogFile
    start: int
    stop: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to read of a cluster, and its state when that is done."""

    cluster: str
    parts: tuple[Part, ...]
    state: ClusterState


class Known(Segment):
    """A segment whose front an earlier run has listed. Batches are listed again only if they are needed."""

    def __init__(self, file: LogFile, before: FileState | None) -> None:
        """Opens the file only if it has changed (NotALogError)."""
        self.file = file
        self._all: Batches | None = None
        self._end_part: Batches | None = None
        self.changed = before is None or not before.same(file.size_bytes, file.modified_ns)
        self.listed_from = 0
        if before is None or self.changed:
            self.state = self._listed(before)
        else:
            self.state = before

    def _listed(self, before: FileState | None) -> FileState:
        anchor = before.anchor if before else None
        if before is not None and anchor is not None and self.file.size_bytes >= before.position:
            tail = list_batches(self.file.path, anchor.position)
            if len(tail) and _anchor(tail, 0) == anchor:
                self._end_part, self.listed_from = tail, anchor.position
                older = [(epoch, first) for epoch, first in before.epochs if first < anchor.base_offset]
                return self._state(tail, before.first, _joined(older, epochs_of(tail)))
        self._all = self._end_part = list_batches(self.file.path)
        first = int(self._all.column(BatchColumn.BASE_OFFSET)[0]) if len(self._all) else self.file.base_offset
        return self._state(self._all, first, epochs_of(self._all))

    def _state(self, batches: Batches, first: int, epochs: Epochs) -> FileState:
        if not len(batches):
            return FileState(size_bytes=self.file.size_bytes, modified_ns=self.file.modified_ns, first=first, end=first)
        near = int(np.searchsorted(batches.column(BatchColumn.POSITION), batches.end_position - _ANCHOR_BYTES))
        return FileState(
            size_bytes=self.file.size_bytes,
            modified_ns=self.file.modified_ns,
            first=first,
            end=int(batches.column(BatchColumn.LAST_OFFSET)[-1]) + 1,
            position=batches.end_position,
            anchor=_anchor(batches, min(near, len(batches) - 1)),
            epochs=epochs,
        )

    @property
    def batches(self) -> Batches:
        """All batches of the file, listed now if they were not yet."""
        if self._all is None:
            self._all = list_batches(self.file.path)
        return self._all

    @property
    def tail(self) -> Batches:
        """The batches from the anchor on."""
        if self._end_part is None:
            anchor = self.state.anchor
            self._end_part = list_batches(self.file.path, anchor.position) if anchor else self.batches
        return self._end_part

    def __len__(self) -> int:
        """0 if it has no batches, else a positive number."""
        return self.state.end - self.state.first

    @property
    def first(self) -> int:
        """Its first offset."""
        return self.state.first

    @property
    def end(self) -> int:
        """The offset after its last whole batch."""
        return self.state.end

    @property
    def finished(self) -> bool:
        """Whether its last whole batch is the end of the file."""
        return self.state.position == self.state.size_bytes

    @property
    def epochs(self) -> Epochs:
        """Its leader epochs."""
        return self.state.epochs

    @property
    def tail_first(self) -> int:
        """The first offset of the part that is listed again when the file changes."""
        return self.state.anchor.base_offset if self.state.anchor else self.first

    @property
    def compared_from(self) -> int:
        """The first offset that must be compared with other replicas in this run."""
        if not self.changed:
            return self.end
        return self.first if self.listed_from == 0 else int(self.tail.column(BatchColumn.BASE_OFFSET)[0])

    def runs(self, first: int, end: int) -> Iterator[Stretch]:
        """As for any segment; the front is read only if it is requested."""
        if end <= self.first or first >= self.end:
            return iter(())
        return runs_of(self.file, self._from(first), first, end)

    def checks(self, since: int) -> Checks:
        """As for any segment."""
        return checks_of(self._from(since), since)

    def _from(self, first: int) -> Batches:
        if self._end_part is None and self._all is None and first < self.tail_first:
            return self.batches
        tail = self.tail
        return tail if len(tail) and first >= int(tail.column(BatchColumn.BASE_OFFSET)[0]) else self.batches


def _anchor(batches: Batches, row: int) -> Anchor:
    number = [int(value) for value in batches.table[:, row]]
    return Anchor(
        position=number[BatchColumn.POSITION],
        base_offset=number[BatchColumn.BASE_OFFSET],
        leader_epoch=number[BatchColumn.LEADER_EPOCH],
        crc=number[BatchColumn.CRC],
    )


def _joined(older: Sequence[tuple[int, int]], newer: Epochs) -> Epochs:
    """Two lists of epochs, of which the second continues the first."""
    goes_on = bool(older and newer and older[-1][0] == newer[0][0])
    return (*older, *(newer[1:] if goes_on else newer))


class _Index:
    """The files of a cluster, each looked at once."""

    def __init__(self, before: ClusterState) -> None:
        self.before = before
        self.segments: dict[str, Known] = {}
        self.found: list[Found] = []
        self.unread: set[str] = set()

    def load(self, file: LogFile) -> Known | None:
        """The segment; None if it cannot be read, which is a fault."""
        earlier = self.before.files.get(file.path)
        old = self._old(file)
        try:
            segment = Known(file, earlier)
        except NotALogError as error:
            self.found.append(Found(file=file.path, position=error.position, offset=None, text=str(error)))
            self.unread.add(file.path)
            return None
        if not segment.changed:
            self.found += old
        else:
            kept = [each for each in old if (each.position or 0) < segment.listed_from]
            self.found += [*kept, *damage.of_segment(file, segment.tail)]
        self.segments[file.path] = segment
        return segment

    def _old(self, file: LogFile) -> list[Found]:
        found = (each for each in self.before.found if each.file == file.path)
        return [each for each in found if not each.lasting and each.offset is None]

    def checkpoint(self, file: LogFile) -> None:
        """Look at a checkpoint that is new or has changed."""
        earlier = self.before.files.get(file.path)
        same = earlier is not None and earlier.same(file.size_bytes, file.modified_ns)
        self.found += self._old(file) if same else damage.of_checkpoint(file)

    def files(self, files: Sequence[LogFile]) -> dict[str, FileState]:
        """The state of every file but those that cannot be opened, which are tried again."""
        return {
            file.path: self.segments[file.path].state
            if file.path in self.segments
            else FileState(size_bytes=file.size_bytes, modified_ns=file.modified_ns)
            for file in files
            if file.path not in self.unread
        }


def plan(
    cluster: str,
    files: Sequence[LogFile],
    before: ClusterState | None,
    *,
    checkpoints: str = "first",
    watermark: int | None = None,
) -> Plan:
    """What is new in a cluster's files."""
    index = _Index(before or ClusterState())
    log = cluster_log(cluster, files, index.load)
    for file in files:
        if file.kind is FileKind.CHECKPOINT:
            index.checkpoint(file)
    reach = log.end if watermark is None else min(log.end, watermark)
    done = before.end if before else 0
    same_until = divergence(before.epochs, done, log.epochs, reach) if before and before.epochs else 0
    new = before is None or not (same_until >= min(done, reach) and reach <= done)
    parts: list[Part] = []
    if before is None:
        parts += [_whole(file) for file in damage.first_checkpoints(log, checkpoints)]
    read = index.before.read
    if new:
        stretches = list(log.pieces(same_until, reach))
        standing = [(first, min(end, same_until)) for first, end in read if first < same_until]
        read = _ranges([*standing, *((each.first, each.end) for each in stretches)])
        parts += [Part(file=each.file, start=each.start, stop=each.stop) for each in stretches]
        since = same_until if before is not None and before.read else damage.covered(log)
        for gap, behind in damage.gaps(log, stretches, since):
            index.found.append(gap)
            parts += [_whole(behind)] if behind is not None and checkpoints != "none" else []
    index.found += [*damage.unused(log, index.segments.values()), *damage.behind(log, done)]
    index.found += damage.between(log, read)
    index.found += _disagreements(log, index.before)
    state = ClusterState(
        end=reach if new else done,
        epochs=tuple(each for each in log.epochs if each[1] < reach) if new else index.before.epochs,
        waiting=reach < log.end,
        read=read,
        files=index.files(files),
        found=_once([*(each for each in index.before.found if each.lasting), *index.found]),
    )
    return Plan(cluster=cluster, parts=tuple(dict.fromkeys(parts)), state=state)


def unchanged(files: Sequence[LogFile], before: ClusterState | None) -> bool:
    """Whether every file of a cluster is unchanged, and everything in it that counts was read."""
    if before is None or before.waiting:
        return False
    return {file.path for file in files} == set(before.files) and all(
        before.files[file.path].same(file.size_bytes, file.modified_ns) for file in files
    )


def _whole(file: LogFile) -> Part:
    return Part(file=file, start=0, stop=-1)


def _ranges(pieces: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Ranges of offsets joined where they touch."""
    joined: list[tuple[int, int]] = []
    for first, end in sorted(pieces):
        if joined and first <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((first, end))
    return tuple(joined)


def _disagreements(log: ClusterLog, before: ClusterState) -> Iterator[Found]:
    """Where replicas differ: in this run's new batches, and from the first difference of earlier runs on.

    That one may be gone, or concern other replicas, when the trusted replica was removed or written again.
    """
    known = [
        each.offset
        for each in before.found
        if each.offset is not None and not each.lasting and each.text.startswith(damage.DISAGREEING)
    ]

    def since(other: Replica) -> int:
        pair = [*log.replicas[0].segments, *other.segments]
        return min([*known, *(each.compared_from for each in pair if isinstance(each, Known) and each.changed), 2**62])

    yield from (damage.of_disagreement(log, each) for each in log.disagreements(since))


def _once(found: Sequence[Found]) -> tuple[Found, ...]:
    """Each fault once, in the form in which it was found first."""
    kept: dict[tuple[str, int | None, int | None, str], Found] = {}
    for each in found:
        kept.setdefault((each.file, each.position, each.offset, each.text), each)
    return tuple(kept.values())


def with_record_faults(state: ClusterState, found: Mapping[str, Sequence[Found]]) -> ClusterState:
    """A state with the record faults that were found when its parts were decoded, by file.

    Records that were read in spite of a fault have that fault for good, even if the faults of the file itself are
    removed.
    """
    more = [each for file in sorted(found) for each in found[file][: damage.FAULTS_PER_FILE]]
    places = {(each.file, each.position, each.text) for each in more}
    kept = [each for each in state.found if each.lasting or (each.file, each.position, each.text) not in places]
    known = {(each.file, each.position, each.text) for each in kept}
    added = [each for each in more if (each.file, each.position, each.text) not in known]
    return replace(state, found=_once([*kept, *added]))
