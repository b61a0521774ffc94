"""What comes back, is read late, or goes away in the middle of a recovery: it counts, and nothing waits in vain."""

from dataclasses import replace
from typing import Any

import pytest
from tests.model.values import NAME, NOW_S, claim, directory, kube_nodes, node, pod, running
from tests.plan.reading import every, only, planned, verdict, wait
from tests.plan.recovery.lost import (
    approved,
    asked,
    copied,
    copy,
    inspected,
    journal,
    log,
    open_record,
    read,
    seeded,
    situation_of,
    stopped,
    without_leader,
    worker,
)
from tests.plan.recovery.test_steps import SEED, fenced, given_up, gone, rewrite, seeded_record, started, written

from kafka_quorum.model.actions import (
    AnnotateClaim,
    CreateCopy,
    CreateInspector,
    DeletePod,
    DeleteWorker,
    RecordChange,
    WriteRecord,
)
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.disk_work import CopyDisk, InspectDisk, Worker, copy_name
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.journal import RecoveryStage
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Severity
from kafka_quorum.model.pods import Waiting
from kafka_quorum.model.proposal import LossVerdict, VerdictKind
from kafka_quorum.model.surveyed import EmptyDisk, LogEnd, Source
from kafka_quorum.plan.facts.reach import PLACED_WITHIN_S, READS_WITHIN_S
from kafka_quorum.plan.facts.verdict import LEADER_EPOCH_MAX
from kafka_quorum.plan.facts.verdict import verdict as verdict_of
from kafka_quorum.plan.guards.rule14_recovery import may_retire_others

COPY, RETIRE, FORMAT = RecoveryStage.COPY, RecoveryStage.RETIRE, RecoveryStage.FORMAT
REWRITE, START = RecoveryStage.REWRITE, RecoveryStage.START
WITHOUT = asked(without=(NodeID(3001),))


def judged(observed: Observed, wanted: Desired | None = None) -> LossVerdict:
    """The verdict on a look."""
    return verdict_of(situation_of(wanted or asked(), observed))


def inspector(observed: Observed, node_id: int, **changes: Any) -> Worker:  # noqa: ANN401 - whatever the field holds
    """The pod that reads a controller's disk, which was made a second ago and does not run yet."""
    record = observed.record
    assert record is not None
    of = node(record, node_id)
    source = Source(claim=f"{NAME}-{node_id}-g{of.generation}", claim_uid=of.claim_uid or "", node_id=NodeID(node_id))
    return worker(InspectDisk(source=source), None, **({"created_at_s": NOW_S - 1.0, "node_name": ""} | changes))


def one_lost(**changes: Any) -> Observed:  # noqa: ANN401 - as above
    """3002 has lost its disk, 3000 was read, and the pod that reads 3001 is in this state."""
    look = inspected(without_leader(lost=(3002,)), log(3000))
    return replace(look, workers=(*look.workers, inspector(look, 3001, **changes)))


# Before a plan


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"running": True, "created_at_s": NOW_S - 3600.0},
        {"deleting": True},
        {"unschedulable": True},
        {"finished": True, "why": "its pod was refused: OutOfcpu"},
    ],
)
def test_a_disk_that_may_still_be_read_is_not_given_up(state: dict[str, Any]) -> None:
    """`without` does not give up a disk whose pod reads it, has just been made, or is made again."""
    found = judged(one_lost(**state), WITHOUT)
    assert found.kind is VerdictKind.READING
    assert "may still be readable" in found.message


def test_a_disk_without_a_pod_is_not_given_up() -> None:
    """`without` counts only after a pod was made for the disk."""
    assert judged(inspected(without_leader(lost=(3002,)), log(3000)), WITHOUT).kind is VerdictKind.READING


def test_a_disk_out_of_reach_is_given_up() -> None:
    """`without` counts if the pod has ended without a log, does not start for long, or its machine is down."""
    late = one_lost(created_at_s=NOW_S - READS_WITHIN_S - 1.0)
    placeless = one_lost(created_at_s=NOW_S - PLACED_WITHIN_S - 1.0, unschedulable=True)
    off = replace(one_lost(bound_to="worker-3001"), kube_nodes=kube_nodes(["worker-3001"], ready=False))
    ended = one_lost(finished=True, finished_at_s=NOW_S - 1.0)
    for look in (late, placeless, off, ended):
        assert judged(look, WITHOUT).kind is VerdictKind.NO_LOSS
        assert judged(look).kind is VerdictKind.MAJORITY_MAY_RETURN


def test_a_machine_that_is_not_known_to_be_down_is_waited_for() -> None:
    """While Kubernetes has not said that a machine is down, its disk counts as one that may be read."""
    assert judged(one_lost(bound_to="worker-3001"), WITHOUT).kind is VerdictKind.READING


def test_a_claim_in_deletion_is_shown_and_not_given_up() -> None:
    """A disk that only its pod still holds is listed with the way out, and its pod is not stopped."""
    look = without_leader(lost=(3002,))
    record = look.record
    assert record is not None
    going = claim(record, node(record, 3001), deleting=True)
    look = inspected(replace(look, claims=(*(each for each in look.claims if each.node_id != 3001), going)), log(3000))
    (row,) = (each for each in judged(look).surveys if each.source.node_id == 3001)
    assert "being deleted" in str(row.found)
    open_ = open_record(RecoveryStage.STOP)
    stopping = stopped(open_, claims=look.claims, pods=(pod(open_, node(open_, 3001)),))
    assert not every(planned(stopping, approved(open_)), DeletePod)


def test_a_retired_disk_that_exists_is_named() -> None:
    """A claim with a retired disk of a voter may have more records: the verdict names it, until it is a seed."""
    record = running()
    replaced = replace(
        record,
        nodes=tuple(
            replace(of, retired=(directory(3001),), directory_id=directory(3001, 2)) if of.node_id == 3001 else of
            for of in record.nodes
        ),
    )
    old = claim(record, node(record, 3001), name=f"{NAME}-3001-g9", generation=9, phase="Retired")
    look = without_leader(replaced)
    look = inspected(replace(look, claims=(*look.claims, old)), log(3000))
    assert f"Claim {NAME}-3001-g9 holds a retired disk" in judged(look).message


def test_a_newcomer_without_records_does_not_count_as_static() -> None:
    """The level is that of the best log: a disk that never fetched has none."""
    newcomer = log(3001, end=LogEnd(epoch=0, offset=0), checkpoint=None, voters=(), kraft_version=0)
    found = judged(inspected(without_leader(lost=(3002,)), log(3000), newcomer))
    assert found.kind is not VerdictKind.UNSUPPORTED


@pytest.mark.parametrize(
    ("odd", "words"),
    [({"kraft_version": 2}, "kraft.version 2"), ({"leader_epoch": LEADER_EPOCH_MAX + 1}, "leader epoch")],
)
def test_what_the_rewriter_refuses_has_no_plan(odd: dict[str, Any], words: str) -> None:
    """A level or an epoch with which no voter set can be written is found out before anything is given up."""
    found = judged(inspected(without_leader(), log(3000, **odd)))
    assert found.kind is VerdictKind.UNSUPPORTED
    assert words in found.message


def test_a_pod_that_waits_for_another_machine_is_made_again() -> None:
    """The volume has moved: the pod that reads it is removed, and made for the present machine."""
    look = one_lost(bound_to="worker-old", created_at_s=NOW_S - 60.0)
    assert "worker-old" in only(planned(look, asked()), DeleteWorker).worker.bound_to
    assert not every(planned(one_lost(bound_to="worker-3001", created_at_s=NOW_S - 60.0), asked()), DeleteWorker)


def test_a_wrong_clock_does_not_delay_the_next_try() -> None:
    """A pod that ended in the future, by its machine's clock, is made again at once."""
    assert every(planned(one_lost(finished=True, finished_at_s=NOW_S + 3600.0), asked()), DeleteWorker)


# Before the others are given up


def returned(record_read: object = None) -> tuple[Observed, Desired]:
    """The copy of 3000 is made; the claim of 3001, which the plan gives up, exists and was found like this."""
    record = open_record(COPY)
    look = copied(stopped(record, claims=tuple(claim(record, node(record, each)) for each in (3000, 3001))), log())
    if isinstance(record_read, Worker):
        look = replace(look, workers=(*look.workers, record_read))
    return look, approved(record)


def test_given_up_disks_are_read_once_more() -> None:
    """Each one that has a claim is read again after everything has stopped, before anything is given up."""
    look, wanted = returned()
    said = planned(look, wanted)
    assert [each.work.source.node_id for each in every(said, CreateInspector)] == [3001]
    assert not every(said, WriteRecord)


def test_a_disk_that_is_back_ends_the_recovery() -> None:
    """If one of them has a log, the recovery leads back to where it began: the facts are others than the plan's."""
    look, wanted = returned()
    look = inspected(look, log(3001))
    after = written(planned(look, wanted), RecordChange.RECOVERY_ABANDONED)
    assert (after.recovery, after.recovery_epoch, after.nodes) == (None, 0, running().nodes)
    assert "can be read again" in only(planned(look, wanted), WriteRecord).message
    assert not may_retire_others(situation_of(wanted, look)).allowed


def test_a_newcomer_without_records_ends_nothing() -> None:
    """A disk of a controller that never fetched does not lead back: it has nothing that the plan gives up."""
    look, wanted = returned()
    newcomer = log(3001, end=LogEnd(epoch=0, offset=0), checkpoint=None, voters=(), kraft_version=0)
    written(planned(inspected(look, newcomer), wanted), RecordChange.RECOVERY_RETIRES)


@pytest.mark.parametrize(
    "unusable", [{"damaged_at": 100, "end": LogEnd(epoch=7, offset=100)}, {"directory_id": directory(3001, 7)}]
)
def test_a_disk_whose_log_cannot_be_used_ends_nothing(unusable: dict[str, Any]) -> None:
    """The plan gave it up as it is: the same log is found once more, and no other plan would follow from it."""
    before = inspected(without_leader(lost=(3002,)), log(3000), log(3001, **unusable))
    assert judged(before, WITHOUT).kind is VerdictKind.NO_LOSS
    look, wanted = returned()
    written(planned(inspected(look, log(3001, **unusable)), wanted), RecordChange.RECOVERY_RETIRES)


def test_disks_that_stay_away_are_given_up() -> None:
    """If they are empty again, or out of reach, the recovery goes on."""
    look, wanted = returned()
    written(planned(inspected(look, of3001=read(EmptyDisk())), wanted), RecordChange.RECOVERY_RETIRES)
    late = inspector(look, 3001, created_at_s=NOW_S - READS_WITHIN_S - 1.0)
    written(planned(returned(late)[0], wanted), RecordChange.RECOVERY_RETIRES)
    assert not every(planned(returned(inspector(look, 3001, running=True))[0], wanted), WriteRecord)


def test_a_copy_whose_claim_is_gone_is_made_again() -> None:
    """What a copier reported never counts for another claim: it is removed before the claim is made again."""
    record = open_record(COPY)
    look = replace(copied(gone(record), log()), copies=())
    said = planned(look, approved(record))
    assert not every(said, WriteRecord)
    assert not every(said, CreateCopy)
    (delete,) = every(said, DeleteWorker)
    assert "is gone" in delete.message
    assert every(planned(gone(record), approved(record)), CreateCopy)


def test_a_claim_without_a_volume_is_no_copy() -> None:
    """A copy counts only on a claim that has a volume."""
    record = open_record(COPY)
    look = copied(gone(record), log())
    look = replace(look, copies=tuple(replace(each, bound=False) for each in look.copies))
    assert not verdict(planned(look, approved(record)), "14-retire-others").allowed


def test_an_epoch_that_has_grown_too_far_gives_nothing_up() -> None:
    """The same is true for an epoch that a controller reached after the plan was made."""
    record = open_record(COPY)
    said = planned(copied(gone(record), log(leader_epoch=LEADER_EPOCH_MAX + 1)), approved(record))
    assert "no higher one can be written" in verdict(said, "14-retire-others").reason


def test_claims_of_before_are_left_alone() -> None:
    """Only claims that this recovery takes from controllers are marked as kept by it: a release deletes these."""
    record = given_up()
    look = fenced(record)
    former = claim(running(), node(running(), 3001), name=f"{NAME}-3001-g7", generation=7, phase="Retired")
    earlier = replace(former, directory_id=directory(3001, 7))
    removed = claim(running(), node(running(), 3001), name=f"{NAME}-3009-g1", node_id=NodeID(3009), generation=1)
    look = replace(look, claims=(*look.claims, earlier, removed))
    said = planned(look, approved(record))
    assert not [each for each in every(said, AnnotateClaim) if each.claim.name in (earlier.name, removed.name)]


def test_a_retired_disk_of_a_voter_is_kept() -> None:
    """The verdict says that it may have more records, so it is not deleted with the claims that nothing needs."""
    record = given_up()
    look = fenced(record)
    former = claim(running(), node(running(), 3001), name=f"{NAME}-3001-g7", generation=7, phase="Retired")
    back = replace(former, name=f"{NAME}-3002-g7", uid="back", node_id=NodeID(3002), kept=True)
    said = planned(replace(look, claims=(*look.claims, former, back)), approved(record))
    (mark,) = [each for each in every(said, AnnotateClaim) if each.claim.generation == 7]
    assert (mark.claim.name, mark.kept, mark.recovery) == (former.name, True, 1)
    marked = replace(former, kept=True, recovery=1)
    written(planned(replace(look, claims=(*look.claims, marked)), approved(record)), RecordChange.RECOVERY_REWRITES)


# Machines that are off


def on_a_dead_machine(work: InspectDisk | CopyDisk) -> Observed:
    """A pod that works on a disk, and is being deleted on a Kubernetes node that is down."""
    record = open_record(RecoveryStage.STOP)
    left = worker(work, None, deleting=True, node_name="worker-3001")
    return stopped(record, workers=(left,), kube_nodes=kube_nodes(["worker-3001"], ready=False))


SOURCE = Source(claim=f"{NAME}-3001-g1", claim_uid="uid", node_id=NodeID(3001))


def test_a_pod_that_only_reads_is_not_waited_for_on_a_dead_machine() -> None:
    """It is removed by force: nothing is lost, whether it still runs or not."""
    look = on_a_dead_machine(InspectDisk(source=SOURCE))
    (delete,) = every(planned(look, approved(open_record(RecoveryStage.STOP))), DeleteWorker)
    assert delete.force
    assert "worker-3001 is down" in delete.message


def test_a_pod_that_writes_is_named_with_its_machine() -> None:
    """A copier there is waited for, and a person is told which pod, where, and what to do."""
    look = on_a_dead_machine(CopyDisk(source=SOURCE, copy=copy_name(SOURCE.claim, "0123456789"), epoch=1))
    said = planned(look, approved(open_record(RecoveryStage.STOP)))
    assert not every(said, DeleteWorker)
    found = wait(said, "RecoveryStuck")
    assert found.severity is Severity.DEGRADED
    assert "worker-3001" in found.message
    assert "--force" in found.message


def left_behind(look: Observed, node_id: int = 3001) -> Observed:
    """The pod that reads a controller's disk does not end: its Kubernetes node went down."""
    stuck = inspector(look, node_id, deleting=True, node_name="worker-3001", created_at_s=NOW_S - 3600.0)
    down = kube_nodes(["worker-3001"], ready=False)
    return replace(look, workers=(*look.workers, stuck), kube_nodes=down)


def test_a_pod_that_reads_a_disk_of_a_dead_machine_is_made_again() -> None:
    """Its name is taken as long as it exists, and the disk counts as one that may be read: it is removed by force."""
    before = left_behind(inspected(without_leader(lost=(3002,)), log(3000)))
    look, wanted = returned()
    for said in (planned(before, WITHOUT), planned(left_behind(look), wanted)):
        (delete,) = every(said, DeleteWorker)
        assert delete.force


def test_a_pod_that_never_ran_has_read_nothing() -> None:
    """A machine that has just started may refuse a pod: the disk is not given up, and is read by another pod."""
    look, wanted = returned()
    why = "its pod was refused: OutOfcpu (no room)"
    refused = inspector(look, 3001, finished=True, why=why)
    said = planned(returned(refused)[0], wanted)
    assert not every(said, WriteRecord)
    assert not every(said, DeleteWorker)
    assert why in wait(said, "Recovering").message
    later = inspector(look, 3001, finished=True, created_at_s=NOW_S - 16.0)
    assert every(planned(returned(later)[0], wanted), DeleteWorker)
    assert why in judged(one_lost(finished=True, why=why), WITHOUT).message


@pytest.mark.parametrize("ends", [{"deleting": True}, {"running": True}])
def test_work_that_a_dead_machine_holds_is_named(ends: dict[str, Any]) -> None:
    """A copier and a rewriter whose machine goes down are waited for, and named with the way out."""
    down = kube_nodes(["worker-3001"], ready=False)
    copies, rewrites = open_record(COPY), given_up(REWRITE)
    assert copies.recovery is not None
    disk = copies.recovery.survivor.source
    copier = CopyDisk(source=disk, copy=copy_name(disk.claim, copies.recovery.plan), epoch=1)
    looks = (
        (copies, replace(gone(copies), copies=(copy(copier.copy),)), worker(copier, None, node_name="worker-3001")),
        (rewrites, fenced(rewrites), worker(rewrite(rewrites), None, node_name="worker-3001")),
    )
    for record, look, held in looks:
        said = planned(replace(look, workers=(replace(held, **ends),), kube_nodes=down), approved(record))
        first = next(each for each in said.waits if each.reason in ("Recovering", "RecoveryStuck"))
        assert held.name in first.message
        assert "--force" in first.message


# The survivor is lost


@pytest.mark.parametrize("stage", [RETIRE, REWRITE, START])
def test_a_lost_survivor_ends_the_recovery(stage: RecoveryStage) -> None:
    """The recovery ends without a quorum, and names the copy, which a person lists as a seed of the next plan."""
    record = given_up(stage) if stage is not START else started()
    look = replace(fenced(record), claims=())
    after = written(planned(look, approved(record)), RecordChange.RECOVERY_ENDED)
    assert (after.recovery, after.recovery_epoch) == (None, record.recovery_epoch)
    assert f"claim {NAME}-3000-g1-copy-" in only(planned(look, approved(record)), WriteRecord).message


@pytest.mark.parametrize("stage", [RecoveryStage.STOP, COPY])
def test_a_lost_survivor_leads_back_before_disks_are_given_up(stage: RecoveryStage) -> None:
    """If a disk that the plan relies on is lost before that, the recovery leads back to where it began."""
    record = open_record(stage)
    after = written(planned(stopped(record, claims=()), approved(record)), RecordChange.RECOVERY_ABANDONED)
    assert (after.recovery, after.nodes) == (None, running().nodes)


def test_copies_of_before_are_named() -> None:
    """Without any disk the verdict names the copy that an earlier recovery made."""
    name = copy_name(f"{NAME}-3000-g1", "0123456789")
    look = replace(without_leader(lost=(3000, 3001, 3002)), copies=(copy(name),))
    assert f"Claim {name} holds a copy" in judged(look).message


def test_a_controller_that_never_fetched_is_no_candidate() -> None:
    """Its disk holds no record: there is nothing to continue with."""
    newcomer = log(3000, end=LogEnd(epoch=0, offset=0), checkpoint=None, voters=(), kraft_version=0)
    assert judged(inspected(without_leader(), newcomer)).kind is VerdictKind.NO_CANDIDATE


def test_a_copy_leads_to_the_next_plan() -> None:
    """With the copy as a seed there is a plan again, although no controller has a disk."""
    record = written(
        planned(replace(fenced(given_up(REWRITE)), claims=()), approved(given_up(REWRITE))), RecordChange.RECOVERY_ENDED
    )
    look = seeded(without_leader(record, lost=(3000, 3001, 3002)), SEED, log())
    found = judged(look, asked(seeds=(SEED,)))
    assert found.kind is VerdictKind.NO_LOSS
    assert journal(asked(seeds=(SEED,)), look).epoch == 2


def test_a_lost_disk_for_a_seed_is_formatted_again() -> None:
    """The disk that was to get the seed's log had nothing of its own: its controller gets another one."""
    for stage in (FORMAT, REWRITE):
        record, wanted = seeded_record(stage)
        formatted = tuple(
            replace(of, formatted=True, claim_uid="uid-new", directory_id=directory(3000, 5))
            if of.node_id == 3000
            else of
            for of in record.nodes
        )
        record = replace(record, nodes=formatted)
        after = written(planned(stopped(record, claims=()), wanted), RecordChange.RECOVERY_FORMATS)
        assert after.recovery is not None
        assert after.recovery.stage is FORMAT
        assert node(after, 3000).generation == node(record, 3000).generation + 1
        assert directory(3000, 5) in after.retired


def test_a_disk_for_a_seed_that_has_no_claim_yet_is_not_lost() -> None:
    """Before its claim exists, nothing is given up for it."""
    record, wanted = seeded_record(FORMAT)
    assert not every(planned(fenced(record), wanted), WriteRecord)


@pytest.mark.parametrize("stage", [COPY, RETIRE, FORMAT, REWRITE])
def test_a_pod_that_was_requested_before_and_comes_late_is_stopped(stage: RecoveryStage) -> None:
    """It waits for its config map for ever, and everything else for its end."""
    record = open_record(stage) if stage is COPY else given_up(stage)
    look = stopped(record) if stage is COPY else fenced(record)
    waits = Waiting(reason="ContainerCreating", message="", last_exit=None)
    late = replace(pod(running(), node(running(), 3001)), container=waits)
    said = planned(replace(look, pods=(late,)), approved(record))
    assert [each.pod for each in every(said, DeletePod)] == [late]
