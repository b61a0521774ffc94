"""One cluster's log as it is now against what was read of it before: what to read next, and what is wrong.

A file that has not changed is not opened. One that has grown is listed from a batch near its old end, if that is still
the same batch; else it was truncated or replaced, and is listed from its beginning. Damage is found here in the files
of every replica, whether or not their records are needed.
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
"""How far before the end of a file its next listing begins, so that followers which lag a little can be compared."""
_KEPT_EPOCHS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a file that a task reads: bytes `start` to `stop`, which are batches as a whole."""

    file: LogFile
    start: int
    stop: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to read of a cluster, and its state once that is done."""

    cluster: str
    parts: tuple[Part, ...]
    state: ClusterState


class Known(Segment):
    """A segment of which an earlier run has listed the front. Batches are listed again only where they are needed."""

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
            epochs=epochs[-_KEPT_EPOCHS:],
        )

    @property
    def batches(self) -> Batches:
        """All of the file, listed now if it was not yet."""
        if self._all is None:
            self._all = list_batches(self.file.path)
        return self._all

    @property
    def tail(self) -> Batches:
        """Those from the anchor on."""
        if self._end_part is None:
            anchor = self.state.anchor
            self._end_part = list_batches(self.file.path, anchor.position) if anchor else self.batches
        return self._end_part

    def __len__(self) -> int:
        """Whether there are any."""
        return self.state.end - self.state.first

    @property
    def first(self) -> int:
        """Its first offset."""
        return self.state.first

    @property
    def end(self) -> int:
        """The offset behind its last whole batch."""
        return self.state.end

    @property
    def epochs(self) -> Epochs:
        """Its leader epochs."""
        return self.state.epochs

    @property
    def tail_first(self) -> int:
        """The first offset of what is listed again whenever the file changes."""
        return self.state.anchor.base_offset if self.state.anchor else self.first

    @property
    def compared_from(self) -> int:
        """The first offset that has to be compared with other replicas in this run."""
        if not self.changed:
            return self.end
        return self.first if self.listed_from == 0 else int(self.tail.column(BatchColumn.BASE_OFFSET)[0])

    def runs(self, first: int, end: int) -> Iterator[Stretch]:
        """As of any segment, without a look at the front where that is not asked for."""
        if end <= self.first or first >= self.end:
            return iter(())
        return runs_of(self.file, self._from(first), first, end)

    def checks(self, since: int) -> Checks:
        """As of any segment."""
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
    """Two lists of epochs, the second of which goes on where the first ends."""
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
        parts += [_whole(file) for file in _first_checkpoints(log, checkpoints)]
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
    index.found += _disagreements(log, index.before)
    state = ClusterState(
        end=reach if new else done,
        epochs=tuple(each for each in log.epochs if each[1] < reach)[-_KEPT_EPOCHS:] if new else index.before.epochs,
        waiting=reach < log.end,
        read=read,
        files=index.files(files),
        found=_once([*(each for each in index.before.found if each.lasting), *index.found]),
    )
    return Plan(cluster=cluster, parts=tuple(dict.fromkeys(parts)), state=state)


def unchanged(files: Sequence[LogFile], before: ClusterState | None) -> bool:
    """Whether every file of a cluster is as it was, and all that counts of it was read."""
    if before is None or before.waiting:
        return False
    return {file.path for file in files} == set(before.files) and all(
        before.files[file.path].same(file.size_bytes, file.modified_ns) for file in files
    )


def _whole(file: LogFile) -> Part:
    return Part(file=file, start=0, stop=-1)


def _first_checkpoints(log: ClusterLog, wanted: str) -> Sequence[LogFile]:
    first = log.first_checkpoint()
    return {"all": log.checkpoints, "none": ()}.get(wanted, (first,) if first else ())


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
    """Where replicas differ: those that were known and still stand, and what this run's new batches show."""
    paths = {segment.file.path: replica for replica in log.replicas for segment in replica.segments}
    for each in before.found:
        if each.lasting or each.offset is None:
            continue
        replica = paths.get(each.file)
        segment = damage.segment_at(replica, each.offset) if replica else None
        if isinstance(segment, Known) and segment.compared_from > each.offset:
            yield each

    def since(other: Replica) -> int:
        pair = [*log.replicas[0].segments, *other.segments]
        return min((each.compared_from for each in pair if isinstance(each, Known) and each.changed), default=2**62)

    yield from (damage.of_disagreement(log, each) for each in log.disagreements(since))


def _once(found: Sequence[Found]) -> tuple[Found, ...]:
    """Each thing once, as it was found first."""
    kept: dict[tuple[str, int | None, int | None, str], Found] = {}
    for each in found:
        kept.setdefault((each.file, each.position, each.offset, each.text), each)
    return tuple(kept.values())


def with_record_faults(state: ClusterState, found: Mapping[str, Sequence[Found]]) -> ClusterState:
    """A state to which the decoding of its parts has added what was wrong with records, by file.

    What was read in spite of a fault has that fault for good, also where the file's own faults go with it.
    """
    more = [each for file in sorted(found) for each in found[file][: damage.FAULTS_PER_FILE]]
    places = {(each.file, each.position, each.text) for each in more}
    kept = [each for each in state.found if each.lasting or (each.file, each.position, each.text) not in places]
    known = {(each.file, each.position, each.text) for each in kept}
    added = [each for each in more if (each.file, each.position, each.text) not in known]
    return replace(state, found=_once([*kept, *added]))
