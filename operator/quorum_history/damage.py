"""What is wrong with the files of a cluster's log, by file and position, for every way of reading the log.

`ingest` and the Spark source both use it, so that both report the same. Faults within a batch are found when its
records are decoded; all others are found in the batches of a file, or between files.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np

from kraftlog import Fault, FaultKind, NotALogError, Options, read_blocks
from kraftlog.batches import BatchColumn, Batches, footer_faults, list_batches
from quorum_history.files import LogFile
from quorum_history.replicas import ClusterLog, Disagreement, Replica, Segment, Stretch
from quorum_history.state import Found

FAULTS_PER_FILE = 100
_ORDER = frozenset({FaultKind.GAP, FaultKind.OUT_OF_ORDER})
_EMPTY = frozenset({FaultKind.EMPTY})
_UNFINISHED = frozenset({FaultKind.EMPTY, FaultKind.TORN_TAIL})
_ENDLESS = 2**63 - 1
DISAGREEING = "replicas disagree"
"""How the text of such a fault begins."""


def of_segment(file: LogFile, batches: Batches, usual: Collection[FaultKind] = _EMPTY) -> Iterator[Found]:
    """The faults of a segment, from where its batches were listed on, without those that are `usual`."""
    yield from _listed(file, batches, usual)


def of_checkpoint(file: LogFile) -> Iterator[Found]:
    """The faults of a checkpoint: those of a segment, and it may be empty or end without its footer."""
    try:
        batches = list_batches(file.path)
        yield from _listed(file, batches, [])
        for fault in footer_faults(file.path, batches):
            yield found(fault)
    except NotALogError as error:
        yield found(error)


def readable(checkpoint: LogFile) -> bool:
    """Whether a damaged checkpoint has any records."""
    try:
        return len(list_batches(checkpoint.path)) > 0
    except NotALogError:
        return False


def best_copy(log: ClusterLog, checkpoint: LogFile) -> LogFile:
    """A copy of a checkpoint that is whole; this one if there is none, or no other."""
    copies = log.copies(checkpoint)
    whole = (file for file in copies if not any(of_checkpoint(file)))
    return next(whole, checkpoint) if len(copies) > 1 else checkpoint


def first_checkpoints(log: ClusterLog, wanted: str) -> list[LogFile]:
    """The checkpoint that a log continues (`first`), `all` or `none`: each from a replica in which it is whole."""
    first = log.first_checkpoint()
    distinct = {file.snapshot: file for file in log.checkpoints}.values()
    chosen = {"all": list(distinct), "none": []}.get(wanted, [first] if first else [])
    return [best_copy(log, file) for file in chosen]


def _listed(file: LogFile, batches: Batches, usual: Collection[FaultKind]) -> Iterator[Found]:
    faults: list[Fault | NotALogError] = list(batches.order_faults(file.path))
    if not batches.whole or not batches.size_bytes:
        faults += _between(file, batches.start_position, usual)
    for fault in faults[:FAULTS_PER_FILE]:
        yield found(fault)
    if len(faults) > FAULTS_PER_FILE:
        text = f"{file.path}: more than {FAULTS_PER_FILE} faults; the rest is not listed"
        yield Found(file=file.path, position=faults[-1].position, offset=None, text=text)


def _between(file: LogFile, start: int, usual: Collection[FaultKind]) -> list[Fault | NotALogError]:
    """The faults at places without a whole batch."""
    faults: list[Fault | NotALogError] = []
    try:
        items = read_blocks(file.path, Options(types=frozenset(), start_position=start))
        wrong = (item for item in items if isinstance(item, Fault) and item.kind not in _ORDER)
        faults += islice((item for item in wrong if item.kind not in usual), FAULTS_PER_FILE + 1)
    except NotALogError as error:
        faults.append(error)
    return faults


def found(wrong: Fault | NotALogError) -> Found:
    """A fault of a file, in the form in which it is kept."""
    return Found(file=wrong.path, position=wrong.position, offset=None, text=str(wrong))


def within_a_batch(wrong: Fault | NotALogError) -> bool:
    """Whether the batch has a right checksum. All other faults of a file are found when its batches are listed."""
    if not isinstance(wrong, Fault):
        return False
    return wrong.kind is FaultKind.CORRUPT_RECORD or (wrong.kind is FaultKind.CORRUPT_BATCH and not wrong.skipped_bytes)


def unused(log: ClusterLog, segments: Collection[Segment]) -> Iterator[Found]:
    """Segments that begin within the one before them, so that they were not read."""
    left_out = {file.path for file in log.left_out}
    yield from (_unused(segment) for segment in segments if len(segment) and segment.file.path in left_out)


def _unused(segment: Segment) -> Found:
    path = segment.file.path
    text = f"{path}: not read: offset {segment.first}, with which it begins, is in an earlier segment"
    return Found(file=path, position=0, offset=segment.first, text=text)


def from_offset(log: ClusterLog, first: int, end: int | None) -> Iterator[Found]:
    """The faults of segments that concern offsets from `first` up to `end`, or up to whatever may follow the log.

    A tail that may still be written is none: that of the last segment of a replica.
    """
    last = _ENDLESS if end is None else end
    newest = {file.replica: file for file in sorted(_segments(log), key=_end)}
    for replica in log.replicas:
        following = [segment.first for segment in replica.segments[1:]]
        for segment, behind_it in zip(replica.segments, [*following, _ENDLESS], strict=True):
            if behind_it > first and segment.file.base_offset < last:
                usual = _UNFINISHED if segment.file == newest[segment.file.replica] else _EMPTY
                wrong = of_segment(segment.file, segment.batches, usual)
                yield from (each for each in wrong if _concerns(segment, behind_it, each, first, last))
    for file in log.left_out:
        beside = (
            segment.first for replica in log.replicas if replica.name == file.replica for segment in replica.segments
        )
        behind_it = min((base for base in beside if base > file.base_offset), default=_ENDLESS)
        if behind_it > first and file.base_offset < last:
            yield from _of_left_out(file, _UNFINISHED if file == newest[file.replica] else _EMPTY)


def _segments(log: ClusterLog) -> Iterator[LogFile]:
    """Every segment, whether it is in a replica or not."""
    yield from (segment.file for replica in log.replicas for segment in replica.segments)
    yield from log.left_out


def _of_left_out(file: LogFile, usual: Collection[FaultKind]) -> Iterator[Found]:
    """The faults of a segment that is in no replica."""
    try:
        segment = Segment(file, list_batches(file.path))
    except NotALogError as error:
        yield found(error)
        return
    yield from of_segment(file, segment.batches, usual)
    if len(segment):
        yield _unused(segment)


def _concerns(segment: Segment, behind_it: int, wrong: Found, first: int, end: int) -> bool:
    """Whether the offsets around a fault are among those from `first` to `end`."""
    batches = segment.batches
    positions = batches.column(BatchColumn.POSITION)
    row = int(np.searchsorted(positions, wrong.position or 0))
    before = int(batches.column(BatchColumn.LAST_OFFSET)[row - 1]) if row else segment.file.base_offset - 1
    if row == len(batches):
        last = behind_it - 1
    elif int(positions[row]) == wrong.position:
        last = int(batches.column(BatchColumn.LAST_OFFSET)[row])
    else:
        last = int(batches.column(BatchColumn.BASE_OFFSET)[row]) - 1
    return last >= first and before + 1 < end


def covered(log: ClusterLog) -> int:
    """The offset from which on a log that was never read before must exist."""
    first = log.first_checkpoint()
    start = min((replica.first for replica in log.replicas), default=0)
    return first.base_offset if first and log.replicas and first.base_offset <= start else 0


def gaps(log: ClusterLog, stretches: Sequence[Stretch], since: int) -> Iterator[tuple[Found, LogFile | None]]:
    """Offsets that no replica has any more, each with the checkpoint that holds the state after them, if one does."""
    for stretch in stretches:
        if stretch.first > since:
            later = [file for file in log.checkpoints if since < file.base_offset]
            usable = [file for file in later if file.base_offset <= stretch.first]
            chosen = max(usable, key=_end, default=None) or min(later, key=_end, default=None)
            chosen = best_copy(log, chosen) if chosen else None
            state = (
                f"the state behind them comes from {chosen.path}"
                if chosen
                else "no checkpoint has the state behind them"
            )
            text = f"offsets {since} to {stretch.first - 1} are whole in no file: {state}"
            gap = Found(file=stretch.file.path, position=stretch.start, offset=since, text=text, lasting=True)
            yield gap, chosen
        since = max(since, stretch.end)


class _Extent(NamedTuple):
    """The offsets of a segment; `whole`: it has no damage at its end that explains what is missing after it."""

    file: LogFile
    first: int
    end: int
    whole: bool


def between(
    log: ClusterLog, held: Sequence[tuple[int, int]], first: int = 0, end: int | None = None
) -> Iterator[Found]:
    """Offsets between two segments of one replica, of those from `first` up to `end`, that no damage explains.

    `held` are the ranges of offsets that were read from any replica. Where nothing was read, `gaps` has the fault.
    """
    extents: dict[str, list[_Extent]] = {}
    for replica in log.replicas:
        for each in replica.segments:
            extent = _Extent(each.file, min(each.first, each.file.base_offset), each.end, each.finished)
            extents.setdefault(each.file.replica, []).append(extent)
    for file in log.left_out:
        extents.setdefault(file.replica, []).append(
            _Extent(file, file.base_offset, file.base_offset, file.size_bytes == 0)
        )
    for name in sorted(extents):
        for before, after in pairwise(sorted(extents[name], key=lambda each: each.first)):
            hole = (before.end, after.first)
            concerns = max(hole[0], first) < (hole[1] if end is None else min(hole[1], end))
            read = hole[0] >= log.end or any(start < hole[1] and hole[0] < stop for start, stop in held)
            if before.whole and concerns and read:
                text = f"offsets {hole[0]} to {hole[1] - 1} are missing before it in this replica"
                yield Found(file=after.file.path, position=0, offset=hole[0], text=f"{after.file.path}: {text}")


def behind(log: ClusterLog, done: int) -> Iterator[Found]:
    """Offsets between the end of the log and a later checkpoint: their records existed, and are not in the log."""
    end = max(done, log.end)
    last = max(log.checkpoints, key=_end, default=None)
    if log.replicas and last is not None and last.base_offset > end:
        text = f"offsets {end} to {last.base_offset - 1} are whole in no file, and the log goes on from this checkpoint"
        yield Found(file=last.path, position=None, offset=end, text=text)


def _end(file: LogFile) -> int:
    return file.base_offset


def of_disagreement(log: ClusterLog, each: Disagreement) -> Found:
    """The difference of two replicas, in the file of the one that is not trusted."""
    other = next(replica for replica in log.replicas if replica.name == each.other)
    segment = segment_at(other, each.offset)
    differing = f"epoch {each.other_epoch} here, epoch {each.trusted_epoch}"
    if each.other_epoch == each.trusted_epoch:
        differing = f"other records of epoch {each.other_epoch} here than"
    text = f"{DISAGREEING} at offset {each.offset}: {differing} in {each.trusted}, which was read"
    path = segment.file.path if segment else other.segments[0].file.path
    return Found(file=path, position=None, offset=each.offset, text=text)


def segment_at(replica: Replica, offset: int) -> Segment | None:
    """The segment of a replica that has an offset."""
    return next((each for each in replica.segments if each.first <= offset < each.end), None)
