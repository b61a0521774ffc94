"""Look at a metadata log directory, and write nothing: where its log ends, what is damaged, and who the voters are.

A server of Kafka checks every batch when it starts, and cuts the log at the first one that is not valid. So only what
is valid from the first segment on counts here. What is behind it is either a tail, which no write ended, or damage,
with valid batches behind it: those would be lost, and only a person may decide that.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

from kraftlog.disk.batches import Batch, Budget, Walk, find_valid
from kraftlog.disk.control import Control, Controls
from kraftlog.disk.errors import DiskError, UnreadableDiskError
from kraftlog.disk.files import LOG_DIR, checkpoint_id, checkpoint_name, names, opened, segment_base, system
from kraftlog.disk.identity import identity, quorum_state
from kraftlog.disk.model import (
    BEHIND_MAX,
    LOOK_SCHEMA,
    Checkpoint,
    Damage,
    DiskLook,
    EpochStart,
    Segment,
    Tail,
)

EPOCHS_MAX: Final = 1000
"""The most leader epochs of a log that are reported: the newest ones."""
_CHUNK_BYTES = 1 << 20


def look(metadata_dir: Path) -> DiskLook:
    """What a recovery needs of the disk of one controller, or of the metadata log of a broker.

    `metadata_dir` has `meta.properties` and `__cluster_metadata-0`. `DiskError` instead of a guess: a file that is
    missing, cannot be read or contradicts another one, a checkpoint beyond the log, records that are missing.
    """
    own = identity(metadata_dir)
    log_dir = metadata_dir / LOG_DIR
    files = log_files(log_dir)
    state = quorum_state(metadata_dir, own.cluster_id)
    controls = Controls()
    checkpoint = _checkpoint(log_dir, files.checkpoint, controls) if files.checkpoint else None
    in_checkpoint, controls.voters = controls.voters, None
    log = _Log(log_dir, files.bases, checkpoint, controls)
    log.read()
    log.check()
    return DiskLook(
        schema=LOOK_SCHEMA,
        cluster_id=own.cluster_id,
        node_id=own.node_id,
        directory_id=own.directory_id,
        quorum_state=state,
        checkpoint=checkpoint,
        segments=tuple(log.segments),
        first_offset=log.first_offset,
        end_offset=log.end_offset,
        last_epoch=log.last_epoch,
        epochs=tuple(log.epochs),
        tail=log.tail,
        damage=log.damage,
        voters_in_checkpoint=in_checkpoint,
        voters_in_log=controls.voters,
        kraft_version=controls.kraft_version or 0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFiles:
    """The files of a log directory that count. `checkpoint`: epoch and offset of the newest one, in Kafka's order."""

    bases: tuple[int, ...]
    checkpoint: tuple[int, int] | None
    checkpoints: tuple[str, ...]


def log_files(log_dir: Path) -> LogFiles:
    """The segments and checkpoints in a directory (`DiskError`: there is no such directory)."""
    if log_dir.is_symlink():
        raise DiskError(f"{log_dir}: a link is not followed: put the directory itself into its place")
    try:
        found = names(log_dir)
    except FileNotFoundError as error:
        raise DiskError(
            f"{log_dir}: there is no such directory, so this disk has no metadata log: name the directory of"
            f" metadata.log.dir, or of the first of log.dirs"
        ) from error
    except OSError as error:
        raise UnreadableDiskError.of(error, log_dir) from error
    ids = {name: found_id for name in found if (found_id := checkpoint_id(name)) is not None}
    return LogFiles(
        bases=tuple(base for name in found if (base := segment_base(name)) is not None),
        checkpoint=max(ids.values(), default=None),
        checkpoints=tuple(ids),
    )


def segment_path(log_dir: Path, base_offset: int) -> Path:
    """The file of a segment."""
    return log_dir / f"{base_offset:020d}.log"


def valid_batches(log_dir: Path, bases: tuple[int, ...]) -> Iterator[Batch]:
    """The valid batches of a log up to the first thing that is not valid (`DiskError`: a file cannot be read)."""
    offset, epoch = bases[0] if bases else 0, 0
    for base in bases:
        if base != offset:
            return
        path = segment_path(log_dir, base)
        with system(path), opened(path) as (file, size_bytes):
            walk = Walk(file, size_bytes, offset=offset, leader_epoch=epoch)
            yield from walk
        offset, epoch = walk.offset or 0, walk.leader_epoch
        if walk.reason:
            return


def _checkpoint(log_dir: Path, newest: tuple[int, int], controls: Controls) -> Checkpoint:
    """The newest checkpoint; its control records are taken if it is whole.

    Whole: valid from front to back, from a SnapshotHeader to a SnapshotFooter. Kafka gives a checkpoint its name only
    when it is.
    """
    epoch, offset = newest
    path = log_dir / checkpoint_name(offset, epoch)
    first: frozenset[int] | None = None
    last: frozenset[int] = frozenset()
    inside = Controls()
    with system(path), opened(path) as (file, size_bytes):
        walk = Walk(file, size_bytes)
        for batch in walk:
            last = inside.take(batch, str(path)) if batch.control else frozenset()
            first = last if first is None else first
    reason = ""
    if walk.reason:
        reason = f"position {walk.position}: {walk.reason}"
    elif Control.SNAPSHOT_HEADER not in (first or ()):
        reason = "it does not begin with a SnapshotHeader"
    elif Control.SNAPSHOT_FOOTER not in last:
        reason = "it does not end with a SnapshotFooter"
    else:
        controls.voters, controls.kraft_version = inside.voters, inside.kraft_version
    return Checkpoint(offset=offset, epoch=epoch, size_bytes=size_bytes, whole=not reason, reason=reason)


@dataclass(slots=True)
class _Log:
    """The segments of a log, read in order."""

    log_dir: Path
    bases: tuple[int, ...]
    checkpoint: Checkpoint | None
    controls: Controls
    segments: list[Segment] = field(default_factory=list)
    end_offset: int = 0
    last_epoch: int = 0
    batches: int = 0
    epochs: deque[EpochStart] = field(default_factory=lambda: deque(maxlen=EPOCHS_MAX))
    tail: Tail | None = None
    damage: Damage | None = None
    budget: Budget = field(default_factory=Budget)

    @property
    def first_offset(self) -> int:
        return self.bases[0] if self.bases else 0

    def read(self) -> None:
        """Read every segment (`DiskError`: it cannot be read)."""
        self.end_offset = self.first_offset
        for place, base in enumerate(self.bases):
            path = segment_path(self.log_dir, base)
            with system(path), opened(path) as (file, size_bytes):
                if self.damage is not None:
                    self._behind(file, size_bytes, base)
                elif base != self.end_offset:
                    self._damage(base, 0, f"a segment that begins with offset {base} in place of {self.end_offset}")
                    self._behind(file, size_bytes, base)
                else:
                    self._segment(file, size_bytes, base, last=place + 1 == len(self.bases))
        if not self.batches and self.checkpoint:
            self.last_epoch = self.checkpoint.epoch

    def _segment(self, file: BinaryIO, size_bytes: int, base: int, *, last: bool) -> None:
        """One segment whose beginning fits; `last`: no other one is behind it."""
        path = segment_path(self.log_dir, base)
        start = self.checkpoint.offset if self.checkpoint else 0
        walk = Walk(file, size_bytes, offset=base, leader_epoch=self.last_epoch)
        count = 0
        for batch in walk:
            count += 1
            if not self.epochs or batch.leader_epoch > self.epochs[-1].epoch:
                self.epochs.append(EpochStart(epoch=batch.leader_epoch, offset=batch.base_offset))
            if batch.control and batch.last_offset >= start:
                self.controls.take(batch, str(path))
        self.batches += count
        self.end_offset, self.last_epoch = walk.offset or base, walk.leader_epoch
        self.segments.append(
            Segment(
                base_offset=base,
                end_offset=self.end_offset,
                batches=count,
                size_bytes=size_bytes,
                valid_bytes=walk.position,
            )
        )
        if not walk.reason:
            return
        if not last:
            self._damage(base, walk.position, walk.reason)
        elif (found := self._valid(file, walk.position, size_bytes, path)) is not None:
            self._damage(base, walk.position, walk.reason)
            self._count(file, found, size_bytes, path)
        else:
            zeros = _zeros_at_end(file, walk.position, size_bytes)
            self.tail = Tail(size_bytes=size_bytes - walk.position, zero_bytes=zeros, reason=walk.reason)
        if not last:
            self._count(file, walk.position, size_bytes, path)

    def _damage(self, base: int, position: int, reason: str) -> None:
        self.damage = Damage(
            offset=self.end_offset,
            segment_base=base,
            position=position,
            reason=reason,
            batches_behind=0,
            last_offset_behind=self.end_offset,
        )

    def _behind(self, file: BinaryIO, size_bytes: int, base: int) -> None:
        """A segment behind the damage: it is only counted."""
        self.segments.append(
            Segment(base_offset=base, end_offset=base, batches=0, size_bytes=size_bytes, valid_bytes=0)
        )
        self._count(file, 0, size_bytes, segment_path(self.log_dir, base))

    def _count(self, file: BinaryIO, position: int, size_bytes: int, path: Path) -> None:
        """Count the valid batches behind the damage, up to `BEHIND_MAX`: more of them decide nothing."""
        if self.damage is None:
            return
        count, highest = self.damage.batches_behind, self.damage.last_offset_behind
        while count < BEHIND_MAX and (found := self._valid(file, position, size_bytes, path)) is not None:
            walk = Walk(file, size_bytes, position=found)
            for batch in islice(walk, BEHIND_MAX - count):
                count, highest = count + 1, max(highest, batch.last_offset)
            if walk.position == found:  # its checksum is right, and its offsets are impossible
                count += 1
            position = max(walk.position, found + 1)
        self.damage = Damage(
            offset=self.damage.offset,
            segment_base=self.damage.segment_base,
            position=self.damage.position,
            reason=self.damage.reason,
            batches_behind=count,
            last_offset_behind=highest,
        )

    def _valid(self, file: BinaryIO, position: int, size_bytes: int, path: Path) -> int | None:
        try:
            return find_valid(file, position, size_bytes, self.budget)
        except DiskError as error:
            raise DiskError(f"{path}: {error}") from error

    def check(self) -> None:
        """Refuse what Kafka would repair by deleting records, and what it could not start from (`DiskError`)."""
        newest = self.checkpoint
        if newest is None and self.first_offset > 0:
            raise DiskError(
                f"{self.log_dir}: the log begins with offset {self.first_offset}, and there is no checkpoint with what"
                f" was before: records are missing, use another disk"
            )
        if newest is None:
            return
        name = checkpoint_name(newest.offset, newest.epoch)
        if self.first_offset > newest.offset:
            raise DiskError(
                f"{self.log_dir}: the log begins with offset {self.first_offset}, behind the newest checkpoint {name}:"
                f" the records between them are missing, use another disk"
            )
        beyond = newest.offset > self.end_offset or newest.epoch > self.last_epoch
        if beyond and (newest.offset or newest.epoch):
            cause = f"it is damaged at offset {self.damage.offset}" if self.damage else "it was cut, or lost writes"
            raise DiskError(
                f"{self.log_dir}: the newest checkpoint {name} is beyond the end of the log, offset {self.end_offset}"
                f" of leader epoch {self.last_epoch}: {cause}, and Kafka would delete it; use another disk"
            )


def _zeros_at_end(file: BinaryIO, position: int, size_bytes: int) -> int:
    """How many zeros a file has at its end, behind a position."""
    end = size_bytes
    while end > position:
        start = max(position, end - _CHUNK_BYTES)
        file.seek(start)
        chunk = file.read(end - start)
        rest = len(chunk.rstrip(b"\0"))
        if rest:
            return size_bytes - start - rest
        end = start
    return size_bytes - position
