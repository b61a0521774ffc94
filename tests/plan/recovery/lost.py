"""Quorums whose majority of disks is lost, as values: what inspectors, copiers and the rewriter reported of each disk.

Controllers 3000, 3001 and 3002; by default the disks of 3001 and 3002 are gone, and 3000 has its log up to offset 500
of epoch 7.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from tests.model.values import (
    CLUSTER,
    NAME,
    NOW_S,
    SILENT,
    at_rest,
    claim,
    desired,
    directory,
    key,
    node,
    pod,
    running,
)

from kafka_quorum.model.desired import Desired
from kafka_quorum.model.disk_work import (
    CopyDisk,
    DiskCopy,
    DiskWork,
    InspectDisk,
    RewriteDisk,
    Worker,
    WorkReport,
    copy_name,
    work_name,
)
from kafka_quorum.model.identity import IdentityRecord
from kafka_quorum.model.ids import NodeID, ReplicaKey
from kafka_quorum.model.journal import Journal, RecoveryStage
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.memory import Memory
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.permit import Verdict
from kafka_quorum.model.recovery_request import RecoveryRequest, Seed
from kafka_quorum.model.situation import Situation
from kafka_quorum.model.surveyed import EmptyDisk, LogEnd, LogRead, Source, Watermark
from kafka_quorum.plan.facts.proposal import journal_of, proposal
from kafka_quorum.plan.guards.rule14_recovery import (
    may_begin_recovery,
    may_copy,
    may_end_recovery,
    may_release,
    may_retire_others,
    may_rewrite,
    may_start_survivor,
    may_stop_for_recovery,
)
from kafka_quorum.plan.recovery.steps import rewrite_of

END: Final = LogEnd(epoch=7, offset=500)
WATERMARK: Final = Watermark(epoch=7, offset=500)


def voters(*ids: int) -> tuple[ReplicaKey, ...]:
    """The voters on their first disks."""
    return tuple(key(node_id) for node_id in ids)


def log(node_id: int = 3000, **changes: Any) -> LogRead:  # noqa: ANN401 - whatever the field holds
    """The log on a controller's first disk, with three voters."""
    plain = LogRead(
        cluster_id=CLUSTER,
        node_id=NodeID(node_id),
        directory_id=directory(node_id),
        leader_epoch=9,
        end=END,
        checkpoint=LogEnd(epoch=6, offset=400),
        torn_bytes=0,
        damaged_at=None,
        voters=voters(3000, 3001, 3002),
        kraft_version=1,
    )
    return replace(plain, **changes)


def source(record: IdentityRecord, node_id: int) -> Source:
    """The disk of a controller."""
    of = node(record, node_id)
    return Source(claim=f"{NAME}-{node_id}-g{of.generation}", claim_uid=of.claim_uid or "", node_id=NodeID(node_id))


def worker(work: DiskWork, report: WorkReport | None, **changes: Any) -> Worker:  # noqa: ANN401 - as above
    """The pod of this work, which ended a second ago if it has a report."""
    plain = Worker(
        name=work_name(NAME, work),
        uid=f"uid-{work_name(NAME, work)}",
        resource_version="50",
        deleting=False,
        finished=report is not None,
        finished_at_s=NOW_S - 1.0 if report is not None else 0.0,
        node_name="worker-1",
        why="",
        report=report,
    )
    return replace(plain, **changes)


def read(found: LogRead | EmptyDisk, **changes: Any) -> WorkReport:  # noqa: ANN401 - as above
    """A report of work that was done."""
    return replace(WorkReport(done=True, found=Known(value=found)), **changes)


def failed(why: str = "the volume cannot be read") -> WorkReport:
    """A report of work that was not done."""
    return WorkReport(done=False, found=Unknown(reason=why), message=why)


def asked(**changes: Any) -> Desired:  # noqa: ANN401 - as above
    """A spec in which a person has the disks read."""
    return desired(recovery=replace(RecoveryRequest(inspect=True), **changes))


def without_leader(
    record: IdentityRecord | None = None,
    lost: Iterable[int] = (3001, 3002),
    **changes: Any,  # noqa: ANN401 - as above
) -> Observed:
    """A quorum without a leader: the claims of some controllers are gone, and their pods."""
    known, gone = record or running(), set(lost)
    rest = replace(at_rest(replace(known, had_leader=False)), record=known)
    plain = replace(
        rest,
        quorum=SILENT,
        memory=Memory(watermark=WATERMARK),
        claims=tuple(one for one in rest.claims if one.node_id not in gone),
        pods=tuple(one for one in rest.pods if one.node_id not in gone),
    )
    return replace(plain, **changes)


def inspected(observed: Observed, *logs: LogRead, **others: WorkReport) -> Observed:
    """The same, after inspectors have read the disks of these controllers."""
    record = observed.record
    assert record is not None
    found = tuple(worker(InspectDisk(source=source(record, log_.node_id)), read(log_)) for log_ in logs)
    said = tuple(
        worker(InspectDisk(source=source(record, int(name.removeprefix("of")))), report)
        for name, report in others.items()
    )
    return replace(observed, workers=(*observed.workers, *found, *said))


def seeded(observed: Observed, seed: Seed, found: LogRead) -> Observed:
    """The same, after a seed was read."""
    at = Source(claim=seed.claim, path=seed.path)
    done = worker(InspectDisk(source=at), read(found))
    return replace(mountable(observed, seed), workers=(*observed.workers, done))


def mountable(observed: Observed, *seeds: Seed) -> Observed:
    """The same, when the claims of these seeds list the quorum."""
    return replace(observed, seeds=(*observed.seeds, *((seed.claim, "") for seed in seeds)))


def situation_of(wanted: Desired, observed: Observed) -> Situation:
    """The situation of a pass."""
    assert observed.record is not None
    return Situation(desired=wanted, observed=observed, record=observed.record, now_s=NOW_S)


def plan_hash(wanted: Desired, observed: Observed) -> str:
    """The hash of the plan that would be proposed."""
    found = proposal(situation_of(wanted, observed))
    assert found is not None
    return found.hash


def journal(wanted: Desired | None = None, observed: Observed | None = None) -> Journal:
    """The journal with which the recovery of `without_leader()` begins."""
    look = observed or inspected(without_leader(), log())
    at = situation_of(wanted or asked(), look)
    found = proposal(at)
    assert found is not None
    return journal_of(at, found)


def open_record(stage: RecoveryStage = RecoveryStage.STOP, of: Journal | None = None) -> IdentityRecord:
    """A record with an open recovery, before anything was given up."""
    begun = (of or journal()).at(stage)
    return replace(running(), recovery=begun, recovery_epoch=begun.epoch)


def approved(record: IdentityRecord, **changes: Any) -> Desired:  # noqa: ANN401 - as above
    """A spec that approves the plan of the open recovery."""
    assert record.recovery is not None
    return asked(plan=record.recovery.plan, **changes)


def copied(observed: Observed, *logs: LogRead) -> Observed:
    """The same, with a verified copy of each of these disks."""
    record = observed.record
    assert record is not None
    assert record.recovery is not None
    rows = []
    for log_ in logs:
        at = next(each.source for each in record.recovery.disks if each.source.node_id == log_.node_id)
        name = copy_name(at.claim, record.recovery.plan)
        work = CopyDisk(source=at, copy=name, epoch=record.recovery.epoch)
        rows.append((worker(work, read(log_, digest="d" * 64)), copy(name, record.recovery.epoch)))
    return replace(
        observed,
        workers=(*observed.workers, *(made for made, _ in rows)),
        copies=(*observed.copies, *(kept for _, kept in rows)),
    )


def rewriting() -> RewriteDisk:
    """The work that makes 3000 the only voter."""
    work = rewrite_of(situation_of(asked(), stopped(open_record())), journal())
    assert work is not None
    return work


def judged_in_a_recovery() -> tuple[Verdict, ...]:
    """What every guard of rule 14 answers about the first stage of a recovery."""
    record = open_record()
    at = situation_of(approved(record), stopped(record))
    before = situation_of(asked(), inspected(without_leader(), log()))
    planned = proposal(before)
    first = node(record, 3000)
    assert planned is not None
    return (
        may_begin_recovery(before, planned),
        may_stop_for_recovery(at, pod(record, first)),
        may_copy(at),
        may_retire_others(at),
        may_rewrite(at),
        may_start_survivor(at, first, rewriting()),
        may_end_recovery(at, first),
        may_release(at, 1, "alpha-3000-g1", ()),
    )


def copy(name: str, epoch: int = 1) -> DiskCopy:
    """A claim that holds a copy."""
    return DiskCopy(name=name, uid=f"uid-{name}", resource_version="60", epoch=epoch, deleting=False, bound=True)


def stopped(record: IdentityRecord, **changes: Any) -> Observed:  # noqa: ANN401 - as above
    """A look at which no pod exists, with the claims of the record and the config maps of its epoch."""
    plain = without_leader(record, lost=(), pods=())
    there = tuple(claim(record, of) for of in record.nodes if of.claim_uid is not None)
    return replace(replace(plain, claims=there), **changes)
