"""What is wrong with the files of a cluster's log, by file and position, whichever way the log is read.

`ingest` and the Spark source take it from here, so that both report the same. What is wrong within a batch is found
when its records are decoded; all else shows in the batches of a file, or between files.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from kraftlog import Fault, FaultKind, NotALogError, Options, read_blocks
from kraftlog.batches import Batches, footer_faults, list_batches
from quorum_history.files import LogFile
from quorum_history.replicas import ClusterLog, Disagreement, Replica, Segment, Stretch
from quorum_history.state import Found

FAULTS_PER_FILE = 100
_ORDER = frozenset({FaultKind.GAP, FaultKind.OUT_OF_ORDER})


def of_segment(file: LogFile, batches: Batches) -> Iterator[Found]:
    """What is wrong with a segment from where its batches were listed on."""
    yield from _listed(file, batches, [FaultKind.EMPTY])


def of_checkpoint(file: LogFile) -> Iterator[Found]:
    """What is wrong with a checkpoint: besides what a segment can have, it may be empty or end without its footer."""
    try:
        batches = list_batches(file.path)
        yield from _listed(file, batches, [])
        for fault in footer_faults(file.path, batches):
            yield _found(file, fault)
    except NotALogError as error:
        yield _found(file, error)


def _listed(file: LogFile, batches: Batches, usual: Collection[FaultKind]) -> Iterator[Found]:
    faults: list[Fault | NotALogError] = list(batches.order_faults(file.path))
    if not batches.whole or not batches.size_bytes:
        faults += _between(file, batches.start_position, usual)
    for fault in faults[:FAULTS_PER_FILE]:
        yield _found(file, fault)
    if len(faults) > FAULTS_PER_FILE:
        text = f"{file.path}: more than {FAULTS_PER_FILE} faults; the rest is not listed"
        yield Found(file=file.path, position=faults[-1].position, offset=None, text=text)


def _between(file: LogFile, start: int, usual: Collection[FaultKind]) -> list[Fault | NotALogError]:
    """What lies where no whole batch is."""
    faults: list[Fault | NotALogError] = []
    try:
        items = read_blocks(file.path, Options(types=frozenset(), start_position=start))
        wrong = (item for item in items if isinstance(item, Fault) and item.kind not in _ORDER)
        faults += islice((item for item in wrong if item.kind not in usual), FAULTS_PER_FILE + 1)
    except NotALogError as error:
        faults.append(error)
    return faults


def _found(file: LogFile, wrong: Fault | NotALogError) -> Found:
    return Found(file=file.path, position=wrong.position, offset=None, text=str(wrong))


def within_a_batch(wrong: Fault | NotALogError) -> bool:
    """Whether the batch has a right checksum. All else that is wrong with a file shows as its batches are listed."""
    if not isinstance(wrong, Fault):
        return False
    return wrong.kind is FaultKind.CORRUPT_RECORD or (wrong.kind is FaultKind.CORRUPT_BATCH and not wrong.skipped_bytes)


def unused(log: ClusterLog, segments: Collection[Segment]) -> Iterator[Found]:
    """Segments that begin within the one before them, so that they were not read."""
    used = {segment.file.path for replica in log.replicas for segment in replica.segments}
    for segment in segments:
        if len(segment) and segment.file.path not in used:
            path = segment.file.path
            text = f"{path}: not read: offset {segment.first}, with which it begins, is in an earlier segment"
            yield Found(file=path, position=0, offset=segment.first, text=text)


def covered(log: ClusterLog) -> int:
    """The offset from which on a log that was never read before has to be there."""
    first = log.first_checkpoint()
    start = min((replica.first for replica in log.replicas), default=0)
    return first.base_offset if first and log.replicas and first.base_offset <= start else 0


def gaps(log: ClusterLog, stretches: Sequence[Stretch], since: int) -> Iterator[tuple[Found, LogFile | None]]:
    """Offsets that no replica has any more, each with the checkpoint that holds the state behind them, if one does."""
    for stretch in stretches:
        if stretch.first > since:
            later = [file for file in log.checkpoints if since < file.base_offset]
            usable = [file for file in later if file.base_offset <= stretch.first]
            chosen = max(usable, key=_end, default=None) or min(later, key=_end, default=None)
            state = (
                f"the state behind them comes from {chosen.path}"
                if chosen
                else "no checkpoint has the state behind them"
            )
            text = f"offsets {since} to {stretch.first - 1} are whole in no file: {state}"
            found = Found(file=stretch.file.path, position=stretch.start, offset=since, text=text, lasting=True)
            yield found, chosen
        since = max(since, stretch.end)


def behind(log: ClusterLog, done: int) -> Iterator[Found]:
    """Offsets between the end of the log and a later checkpoint: what is in it did happen, and is not in the log."""
    end = max([done, *(replica.end for replica in log.replicas)])
    last = max(log.checkpoints, key=_end, default=None)
    if log.replicas and last is not None and last.base_offset > end:
        text = f"offsets {end} to {last.base_offset - 1} are whole in no file, and the log goes on from this checkpoint"
        yield Found(file=last.path, position=None, offset=end, text=text)


def _end(file: LogFile) -> int:
    return file.base_offset


def of_disagreement(log: ClusterLog, each: Disagreement) -> Found:
    """Where two replicas differ, in the file of the one that is not trusted."""
    other = next(replica for replica in log.replicas if replica.name == each.other)
    segment = segment_at(other, each.offset)
    text = (
        f"replicas disagree at offset {each.offset}: epoch {each.other_epoch} here, epoch {each.trusted_epoch}"
        f" in {each.trusted}, which was read"
    )
    path = segment.file.path if segment else other.segments[0].file.path
    return Found(file=path, position=None, offset=each.offset, text=text)


def segment_at(replica: Replica, offset: int) -> Segment | None:
    """The segment of a replica that has an offset."""
    return next((each for each in replica.segments if each.first <= offset < each.end), None)
