"""What to read of a cluster's log to know its state, and what of that is damaged: `at` and `downgrade` replay the same.

A replay begins with a checkpoint or with the first record, and has every record up to an end. It begins with the latest
checkpoint that is whole in some replica, if the log is whole behind it; else with one that is damaged, or that has a
gap behind it. Damage counts if it concerns offsets behind that beginning, in any replica, whether others help or not.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, groupby

import numpy as np

from kraftlog import Column, Fault, NotALogError, Options, RecordBlock
from kraftlog.batches import BatchColumn
from quorum_history import damage
from quorum_history.conflicts import conflicts
from quorum_history.files import FileKind, LogFile, by_snapshot
from quorum_history.records import blocks_of
from quorum_history.replicas import ClusterLog, Stretch
from quorum_history.state import Found


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPlan:
    """What to read, up to the offset before `end`. `missing` are ranges of offsets on the way that are in no file.

    `checkpoint` is None if the first record is the beginning; `whole`: it is not damaged. `found` is all damage.
    """

    end: int
    checkpoint: LogFile | None
    whole: bool
    stretches: tuple[Stretch, ...]
    missing: tuple[tuple[int, int], ...]
    found: tuple[Found, ...] = ()

    @property
    def first(self) -> int:
        """The offset after the checkpoint."""
        return self.checkpoint.base_offset if self.checkpoint else 0

    @property
    def known(self) -> bool:
        """Whether everything that the state needs is there."""
        return self.whole and not self.missing

    @property
    def rank(self) -> tuple[bool, int, int]:
        """Which beginning is better: of those without a gap behind them one that is whole, of others the later one."""
        return (False, self.first, self.whole) if self.missing else (True, self.whole, self.first)


def replay_plan(log: ClusterLog, end: int | None = None) -> ReplayPlan:
    """What to replay for the state before the offset `end`; without it, for the last state that is known.

    That is the one at the end of the log, or in a checkpoint after it.
    """
    checkpoints = _Checkpoints(log)
    if end is not None:
        last = end > log.last_offset
        return _with_damage(log, _best(log, end, checkpoints), checkpoints, None if last else end)
    later = {file.base_offset for file in log.checkpoints if file.base_offset > log.end}
    plans: list[ReplayPlan] = []
    for each in [*sorted(later, reverse=True), *([log.end] if log.replicas or not later else [])]:
        plans.append(_best(log, each, checkpoints))
        if plans[-1].known:
            break
    whole_way = (plan for plan in plans if not plan.missing)
    chosen = plans[-1] if plans[-1].known else next(whole_way, plans[-1])
    return _with_damage(log, chosen, checkpoints, None)


class _Checkpoints:
    """The checkpoints of a log, each judged at most once."""

    def __init__(self, log: ClusterLog) -> None:
        self._log = log
        self._found: dict[LogFile, tuple[Found, ...]] = {}

    def usable(self, end: int) -> Iterator[tuple[LogFile, bool]]:
        """Those up to an offset, the latest one first, and whether they are whole: the best copy of each."""
        fitting = [file for file in self._log.checkpoints if file.base_offset <= end]
        for _, group in groupby(sorted(fitting, key=by_snapshot, reverse=True), key=by_snapshot):
            copies = list(group)
            whole = [file for file in copies if not self._judged(file)]
            for file in (whole or [file for file in copies if damage.readable(file)])[:1]:
                yield file, bool(whole)

    def _judged(self, file: LogFile) -> tuple[Found, ...]:
        if file not in self._found:
            self._found[file] = tuple(damage.of_checkpoint(file))
        return self._found[file]

    def found(self, first: int) -> Iterator[Found]:
        """The damage that was seen, from an offset on."""
        for file, found in self._found.items():
            yield from found if file.base_offset >= first else ()


def _best(log: ClusterLog, end: int, checkpoints: _Checkpoints) -> ReplayPlan:
    plans: list[ReplayPlan] = []
    for checkpoint, whole in chain(checkpoints.usable(end), [(None, True)]):
        plans.append(_from(log, checkpoint, end, whole=whole))
        if plans[-1].known:
            return plans[-1]
    return max(plans, key=lambda plan: plan.rank)


def _from(log: ClusterLog, checkpoint: LogFile | None, end: int, *, whole: bool) -> ReplayPlan:
    """What to read behind one beginning."""
    at = checkpoint.base_offset if checkpoint else 0
    stretches: list[Stretch] = []
    missing: list[tuple[int, int]] = []
    for each in log.stretches(at, log.end):
        if at >= end:
            break
        missing += [(at, each.first)] if each.first > at else []
        stretches += [_cut(log, each, end)] if each.first < end else []
        at = each.end
    missing += [(at, end)] if at < end else []
    return ReplayPlan(end=end, checkpoint=checkpoint, whole=whole, stretches=tuple(stretches), missing=tuple(missing))


def _cut(log: ClusterLog, stretch: Stretch, end: int) -> Stretch:
    """A stretch without the batches after the one that holds the offset before `end`: their damage does not count."""
    if stretch.end <= end:
        return stretch
    segments = (segment for replica in log.replicas for segment in replica.segments)
    batches = next(segment for segment in segments if segment.file == stretch.file).batches
    row = int(np.searchsorted(batches.column(BatchColumn.LAST_OFFSET), end - 1))
    last, stop = (int(batches.column(column)[row]) for column in (BatchColumn.LAST_OFFSET, BatchColumn.END))
    return replace(stretch, end=last + 1, stop=stop)


def _with_damage(log: ClusterLog, plan: ReplayPlan, checkpoints: _Checkpoints, end: int | None) -> ReplayPlan:
    """The plan with the damage from its beginning up to the offset `end`; None: up to the end of the log and behind."""
    found = [*checkpoints.found(plan.first), *damage.from_offset(log, plan.first, end)]
    if plan.missing:
        without = replace(log, checkpoints=())  # no usable one is behind the gap, or the replay would begin there
        found += [gap for gap, _ in damage.gaps(without, plan.stretches, plan.first)]
    held = [(each.first, each.end) for each in plan.stretches]
    found += damage.between(log, held, plan.first, end)
    found += [damage.of_disagreement(log, each) for each in conflicts(log, plan.first, log.end if end is None else end)]
    if end is None:
        found += damage.behind(log, 0)
    return replace(plan, found=tuple(found))


class Replay:
    """Reads what a plan names, and keeps what is wrong with it."""

    def __init__(self, plan: ReplayPlan, types: frozenset[str], idle: frozenset[str] = frozenset()) -> None:
        """`types` are those of the state: a record of such a type without a schema is a fault. `idle` are also read."""
        self._plan, self._types, self._idle = plan, types | idle, idle
        self.faults: list[Fault] = []
        """What is wrong in the blocks that were read. Whoever decodes a block adds to it."""
        self._others: dict[tuple[str, str], Found] = {}

    def files(self) -> Iterator[tuple[LogFile, Iterator[RecordBlock]]]:
        """The blocks of the checkpoint, then those of each stretch of the log (NotALogError)."""
        if self._plan.checkpoint is not None:
            yield self._plan.checkpoint, self._blocks(self._plan.checkpoint, Options(types=self._types))
        for each in self._plan.stretches:
            options = Options(types=self._types, start_position=each.start, end_position=each.stop)
            yield each.file, self._blocks(each.file, options)

    def _blocks(self, file: LogFile, options: Options) -> Iterator[RecordBlock]:
        for block in blocks_of(file.path, options, self.faults):
            offsets = block.column(Column.OFFSET)
            last = file.kind is FileKind.SEGMENT and bool(offsets.max(initial=-1) >= self._plan.end)
            wanted = block.only(np.flatnonzero(offsets < self._plan.end)) if last else block
            self._note_unknown(wanted)
            yield wanted
            if last:
                return

    def _note_unknown(self, block: RecordBlock) -> None:
        """One fault for each type and version in a file that no schema describes."""
        rows = np.flatnonzero(block.column(Column.SCHEMA) < 0)
        if rows.size == 0:
            return
        kinds = block.table[[Column.CONTROL, Column.KEY, Column.VERSION]][:, rows]
        for row in rows[np.unique(kinds, axis=1, return_index=True)[1]].tolist():
            name, offset = block.type_of(row), int(block.column(Column.OFFSET)[row])
            if name not in self._idle:
                position = block.position + int(block.column(Column.BATCH_AT)[row])
                text = f"{name} of version {block.column(Column.VERSION)[row]} has no schema here, and does not count"
                found = Found(file=block.path, position=position, offset=offset, text=text)
                self._others.setdefault((block.path, text), found)

    def cannot_read(self, error: NotALogError) -> None:
        """Keep it as a fault that a file was there when the plan was made, and is not any more."""
        self._others.setdefault((error.path, str(error)), damage.found(error))

    def found(self) -> tuple[Found, ...]:
        """All that is wrong, once each: the damage of the plan, and what its records have shown."""
        within = (damage.found(each) for each in self.faults if damage.within_a_batch(each))
        found = (*self._plan.found, *within, *self._others.values())
        return tuple({(each.file, each.position, each.text): each for each in reversed(found)}.values())[::-1]
