"""What one log has that another one, the log that a quorum would continue with, does not have: so what would be lost.

Each epoch has one leader, so an offset of an epoch is the same record in every log, and two logs that share a record
share everything before it. So only the epochs of the chosen log and its end are needed, not the log itself. Valid
batches behind damage count here, because a person decides about them: a look ends before the damage.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from kraftlog.disk.batches import Batch, Budget, Walk, find_valid
from kraftlog.disk.contents import TOPICS_MAX, checkpoint_batches
from kraftlog.disk.errors import DiskError
from kraftlog.disk.files import LOG_DIR, opened, system
from kraftlog.disk.identity import identity
from kraftlog.disk.looking import log_files, segment_path
from kraftlog.disk.model import BEYOND_SCHEMA, Beyond, Chosen, EpochRange, EpochStart
from kraftlog.disk.tally import Tally

RANGES_MAX: Final = 100
"""The most leader epochs that are listed: the newest ones."""
RESUMES_MAX: Final = 50
"""How often a valid batch is looked for behind damage, in the whole log: hostile bytes do not hold this up."""


def beyond(metadata_dir: Path, chosen: Chosen) -> Beyond:
    """The records of this log behind the last one that the chosen log has, too (`DiskError`: it cannot be read)."""
    identity(metadata_dir)
    log_dir = metadata_dir / LOG_DIR
    files = log_files(log_dir)
    tally = Tally()
    for batch in checkpoint_batches(log_dir, files):
        tally.learn(batch)
    strewn = _Strewn(log_dir, files.bases)
    parted = _Parted(chosen, tally)
    for batch in strewn:
        parted.take(batch)
    ranges = tuple(parted.ranges)
    topics = tally.contents()
    return Beyond(
        schema=BEYOND_SCHEMA,
        end_offset=strewn.end_offset,
        last_epoch=strewn.last_epoch,
        shared=parted.shared,
        records=tally.types.total(),
        undecided_records=parted.undecided,
        unread_records=tally.unread,
        whole=strewn.whole and not tally.full and not parted.dropped,
        first_offset=parted.first,
        last_offset=ranges[-1].last_offset if ranges else None,
        epochs=ranges,
        types=tally.counts(),
        topics=topics[:TOPICS_MAX],
        topics_total=len(topics),
    )


@dataclass(slots=True)
class _Parted:
    """Batches in order, divided at the last record that the chosen log has, too."""

    chosen: Chosen
    tally: Tally
    shared: EpochStart | None = None
    undecided: int = 0
    first: int | None = None
    ranges: deque[EpochRange] = field(default_factory=lambda: deque(maxlen=RANGES_MAX))
    dropped: bool = False

    def take(self, batch: Batch) -> None:
        """Count one batch, or the part of it that the chosen log does not have."""
        match self.chosen.has(batch.leader_epoch, batch.base_offset):
            case True:
                end = min(batch.last_offset + 1, self.chosen.until(batch.leader_epoch))
                self._share(EpochStart(epoch=batch.leader_epoch, offset=end - 1))
                self.tally.learn(batch)
                if end <= batch.last_offset:
                    self._count(batch, end)
            case None if self.first is None:
                self.undecided += batch.last_offset + 1 - batch.base_offset
                self.tally.learn(batch)
            case _:
                self._count(batch, batch.base_offset)

    def _share(self, last: EpochStart) -> None:
        """Both logs have this record, so they share everything before it, too."""
        self.shared, self.undecided = last, 0
        if self.first is not None:
            self.tally.forget()
            self.ranges.clear()
            self.first, self.dropped = None, False

    def _count(self, batch: Batch, start: int) -> None:
        before = self.tally.types.total()
        self.tally.count(batch, start)
        records = self.tally.types.total() - before
        self.first = start if self.first is None else self.first
        first = start
        if self.ranges and self.ranges[-1].epoch == batch.leader_epoch:
            last = self.ranges.pop()
            first, records = last.first_offset, last.records + records
        elif len(self.ranges) == RANGES_MAX:
            self.dropped = True
        self.ranges.append(
            EpochRange(epoch=batch.leader_epoch, first_offset=first, last_offset=batch.last_offset, records=records)
        )


class _Strewn:
    """Every valid batch of a log that follows the ones before, also behind damage.

    Afterwards, `end_offset` and `last_epoch` say where the log ends before any damage, and `whole` that nothing is
    missing between the batches, and nothing was left out.
    """

    def __init__(self, log_dir: Path, bases: tuple[int, ...]) -> None:
        """The segments of a log by their base offsets, ascending."""
        self._log_dir, self._bases = log_dir, bases
        self._resumes, self._budget, self._broken = RESUMES_MAX, Budget(), False
        self._next, self._epoch = bases[0] if bases else 0, 0
        self.end_offset, self.last_epoch, self.whole = self._next, 0, True

    def __iter__(self) -> Iterator[Batch]:
        """The batches in order, by offset and by epoch (`DiskError`: a file cannot be read)."""
        for base in self._bases:
            self.whole = self.whole and not self._broken
            path = segment_path(self._log_dir, base)
            with system(path), opened(path) as (file, size_bytes):
                for batch in self._batches(file, size_bytes, base):
                    if batch.base_offset < self._next or batch.leader_epoch < self._epoch:
                        self.whole = False
                        continue
                    self.whole = self.whole and batch.base_offset == self._next
                    self._next, self._epoch = batch.last_offset + 1, batch.leader_epoch
                    if self.whole:
                        self.end_offset, self.last_epoch = self._next, self._epoch
                    yield batch

    def _batches(self, file: BinaryIO, size_bytes: int, base: int) -> Iterator[Batch]:
        """The valid batches of one file, whatever lies between them."""
        position: int | None = 0
        first: int | None = base
        while position is not None:
            walk = Walk(file, size_bytes, position=position, offset=first)
            yield from walk
            if not walk.reason:
                return
            self._broken = True
            past = walk.position + (walk.position == position and first is None)
            position, first = self._resumed(file, past, size_bytes), None

    def _resumed(self, file: BinaryIO, position: int, size_bytes: int) -> int | None:
        """Where the next valid batch begins; None if there is none, or if looking for it takes too long."""
        self._resumes -= 1
        if self._resumes < 0:
            self.whole = False
            return None
        try:
            found = find_valid(file, position, size_bytes, self._budget)
        except DiskError:
            self.whole = False
            return None
        self.whole = self.whole and found is None
        return found
