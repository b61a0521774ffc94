"""Takes the report of every pass over a quorum, and replaces the series of that quorum.

What only several passes show is remembered here: counters, since when a voter set is not committed, and since when a
migration is in its stage. It may be lost at any time, as with the process: counters then begin at zero.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from kafka_quorum.metrics import catalogue as metrics
from kafka_quorum.metrics import quorum
from kafka_quorum.model.known import Known
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import EARLIER_RESOURCE
from kafka_quorum.report import Decided
from kafka_quorum.status.build import own
from kafka_quorum.status.finding import Pass
from kit.clock import Clock
from kit.key import ObjectKey
from kit.metrics.conditions import condition_rows, unknown_rows
from kit.metrics.series import Latest, ResourceSeries, Row, Since
from kit.report.report import PassReport


@dataclass(slots=True)
class _Remembered:
    """What the passes over one quorum have shown. `uid` is that of its resource; times are monotonic seconds."""

    uid: str
    looked_at: Latest | None = None
    """When it was last looked at, in Unix seconds; if it never was, when it was first known that it cannot be."""
    epoch: int | None = None
    leader_changes: int = 0
    uncommitted_since_s: float | None = None
    stage: tuple[str, int] | None = None
    stage_since_s: float = 0.0
    refusing: frozenset[str] = frozenset()
    refusals: Counter[str] = field(default_factory=Counter)
    acts: Counter[tuple[str, str]] = field(default_factory=Counter)


class QuorumMetrics:
    """A subscriber of passes. `series` has what it made of them."""

    def __init__(self, clock: Clock, may_act: Callable[[], bool]) -> None:
        """`may_act` says whether this operator holds the lease: without it, there are no series."""
        self.series = ResourceSeries(metrics.QUORUM, clock, may_act)
        self._clock = clock
        self._may_act = may_act
        self._remembered: dict[ObjectKey, _Remembered] = {}

    async def take(self, report: PassReport[Observed]) -> None:
        """Replace the series of the quorum. A pass that ended before it decided leaves them as they are."""
        metadata = report.resource["metadata"]
        if "deletionTimestamp" in metadata:
            self.forget(report.key)
        elif report.withdrawn and report.status is not None:
            known = self._of(report.key, metadata)
            if known.looked_at is None:  # so that an alert can say for how long no look has been possible
                known.looked_at = Latest(self._clock.now().timestamp())
            rows = (*condition_rows(metrics.CONDITION, report.status), *_counted(known))
            self.series.put(report.key, rows, rows)
        elif isinstance(report.decided, Decided) and report.status is not None and self._may_act():
            known = self._of(report.key, metadata)
            known.looked_at = Latest((report.seen_at or self._clock.now()).timestamp())
            lasting = tuple(self._lasting(known, report.decided.done))
            counted, held = tuple(_counted(known)), quorum.held(report.decided.done)
            present = (*condition_rows(metrics.CONDITION, report.status), *lasting, *held, *counted)
            self.series.put(report.key, present, (*unknown_rows(metrics.CONDITION, report.status), *counted))

    def unchanged(self, key: ObjectKey) -> None:
        """The leader has just said what the last look saw: its series are of now."""
        known = self._remembered.get(key)
        if known is not None and known.looked_at is not None:
            known.looked_at.value = self._clock.now().timestamp()
            self.series.confirm(key)

    def forget(self, key: ObjectKey) -> None:
        """The quorum is gone."""
        self._remembered.pop(key, None)
        self.series.drop(key)

    def clear(self) -> None:
        """Forget all: another operator may have acted meanwhile."""
        self._remembered.clear()
        self.series.clear()

    def _of(self, key: ObjectKey, metadata: dict[str, object]) -> _Remembered:
        uid = str(metadata.get("uid", ""))
        known = self._remembered.get(key)
        if known is None or known.uid != uid:
            known = self._remembered[key] = _Remembered(uid=uid)
        return known

    def _lasting(self, known: _Remembered, done: Pass | None) -> Iterator[Row]:
        """The series of what was seen. Notes what later passes need."""
        if done is None:
            return
        now_s = self._clock.monotonic()
        refusing = quorum.refusing(done)
        known.refusals.update(refusing - known.refusing)
        known.refusing = refusing
        known.acts.update(quorum.acted(done))
        done = own(done)
        yield from quorum.rows(done)
        yield from _leader(known, done, now_s)
        yield from _stage(known, done, now_s)


def _leader(known: _Remembered, done: Pass, now_s: float) -> Iterator[Row]:
    """For how long the voter set is not committed, and the change of the leader, if one answers."""
    seen = done.observed.quorum
    if done.observed.record is None or not isinstance(seen, Known):
        return
    epoch = seen.value.answer.leader_epoch
    if known.epoch is not None and epoch > known.epoch:
        known.leader_changes += 1
    known.epoch = epoch
    if seen.value.committed:
        known.uncommitted_since_s = None
        yield metrics.UNCOMMITTED_AGE, (), 0
        return
    if known.uncommitted_since_s is None:
        known.uncommitted_since_s = now_s
    yield metrics.UNCOMMITTED_AGE, (), Since(known.uncommitted_since_s)


def _stage(known: _Remembered, done: Pass, now_s: float) -> Iterator[Row]:
    """For how long a migration has been in its stage."""
    planned = quorum.migration(done)
    if planned is None:
        if isinstance(done.observed.quorum, Known) and not done.waits_for(EARLIER_RESOURCE):
            known.stage = None
        return
    stage = (planned.kind, planned.stage)
    if stage != known.stage:
        known.stage, known.stage_since_s = stage, now_s
    yield metrics.MIGRATION_AGE, (planned.kind,), Since(known.stage_since_s)


def _counted(known: _Remembered) -> Iterator[Row]:
    """What stays true whatever becomes of the quorum: counters, and the time of the last look."""
    if known.looked_at is not None:
        yield metrics.LAST_LOOK, (), known.looked_at
    yield metrics.LEADER_CHANGES, (), known.leader_changes
    yield from quorum.refusals(known.refusals)
    yield from quorum.acts(known.acts)
