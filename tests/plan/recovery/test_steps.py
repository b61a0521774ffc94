"""The steps of a recovery: each one follows from the record and the look, can be repeated, and stops at a new fact."""

from dataclasses import replace
from typing import Any

import pytest
from tests.model.values import (
    NAME,
    NOW_S,
    claim,
    directory,
    formatter,
    key,
    kube_nodes,
    node,
    operation,
    pod,
    running,
    view,
)
from tests.plan.reading import every, only, planned, reasons, verdict, wait
from tests.plan.recovery.lost import (
    approved,
    asked,
    copied,
    copy,
    failed,
    inspected,
    journal,
    log,
    mountable,
    open_record,
    plan_hash,
    read,
    seeded,
    situation_of,
    stopped,
    voters,
    without_leader,
    worker,
)

from kafka_quorum.model.actions import (
    AnnotateClaim,
    CreateClaim,
    CreateConfig,
    CreateCopier,
    CreateCopy,
    CreateFormatter,
    CreateInspector,
    CreatePod,
    CreateRewriter,
    DecideRecord,
    DeleteClaim,
    DeleteConfig,
    DeleteCopy,
    DeletePod,
    DeleteWorker,
    FinishOperation,
    RecordChange,
    WriteRecord,
)
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.disk_work import RewriteDisk
from kafka_quorum.model.identity import IdentityRecord
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.journal import RecoveryStage
from kafka_quorum.model.known import Known
from kafka_quorum.model.memory import Memory
from kafka_quorum.model.observed import Observed, Stranger
from kafka_quorum.model.plan import Plan, Severity
from kafka_quorum.model.recovery import retired, rewritten
from kafka_quorum.model.recovery_request import Seed
from kafka_quorum.model.surveyed import LogEnd, Source
from kafka_quorum.plan.guards.rule1_formats import may_format_newcomer
from kafka_quorum.plan.guards.rule2_disks import may_run
from kafka_quorum.plan.guards.rule14_recovery import may_retire_others
from kafka_quorum.plan.recovery.steps import rewrite_of

SEED = Seed(claim="broker-0", path="kraft")
STOP, COPY, RETIRE = RecoveryStage.STOP, RecoveryStage.COPY, RecoveryStage.RETIRE
FORMAT, REWRITE, START = RecoveryStage.FORMAT, RecoveryStage.REWRITE, RecoveryStage.START


def written(said: Plan, change: RecordChange) -> IdentityRecord:
    """The record that the plan writes, alone, for this reason."""
    write = only(said, WriteRecord)
    assert write.change is change
    return write.record


def given_up(stage: RecoveryStage = RETIRE) -> IdentityRecord:
    """A record after every disk but that of 3000 was given up."""
    record = retired(open_record(COPY), 9)
    assert record.recovery is not None
    return replace(record, recovery=record.recovery.at(stage))


def fenced(record: IdentityRecord) -> Observed:
    """A look at which every old claim is marked."""
    look = stopped(record)
    old = running()
    marked = (
        claim(old, of, phase="Retired", kept=True, recovery=1) for of in old.nodes if record.node(of.node_id) != of
    )
    return replace(look, claims=(*look.claims, *marked))


def gone(record: IdentityRecord) -> Observed:
    """A look at which no pod exists, and no disk but those that the recovery relies on."""
    assert record.recovery is not None
    ids = {each.source.node_id for each in record.recovery.disks}
    return stopped(record, claims=tuple(claim(record, of) for of in record.nodes if of.node_id in ids))


def rewrite(record: IdentityRecord) -> RewriteDisk:
    """The work that makes 3000 the only voter."""
    assert record.recovery is not None
    work = rewrite_of(situation_of(asked(), fenced(record)), record.recovery)
    assert work is not None
    return work


# Reading


def test_nothing_is_read_unless_a_person_requests_it() -> None:
    """A lost majority alone starts no pod."""
    assert not every(planned(without_leader()), CreateInspector)


def test_each_disk_is_read_once() -> None:
    """There is one inspector for each claim that exists, on the Kubernetes node that has the volume already."""
    created = every(planned(mountable(without_leader(), SEED), asked(seeds=(SEED,))), CreateInspector)
    assert [each.work.source.claim for each in created] == ["alpha-3000-g1", "broker-0"]
    assert [each.kube_node for each in created] == ["worker-3000", ""]
    assert not every(planned(inspected(without_leader(), log()), asked()), CreateInspector)


def test_a_seed_that_may_not_be_mounted_is_not_read() -> None:
    """Without the word of its claim no pod is made for it, and one that was made before is removed."""
    look = replace(seeded(without_leader(), SEED, log(7)), seeds=((SEED.claim, "its claim does not list the quorum"),))
    said = planned(look, asked(seeds=(SEED,)))
    assert [each.work.source.claim for each in every(said, CreateInspector)] == ["alpha-3000-g1"]
    assert [each.worker.name for each in every(said, DeleteWorker)] == [look.workers[0].name]


def test_a_disk_that_could_not_be_read_is_read_again() -> None:
    """A pod that ended without a log is removed after a while, so that another one looks again."""
    look = inspected(without_leader(lost=(3002,)), log(3000), of3001=failed())
    assert not every(planned(look, asked()), DeleteWorker)
    (gone,) = every(planned(look, asked(), now_s=NOW_S + 30.0), DeleteWorker)
    assert gone.worker.report == failed()


def test_inspectors_end_with_the_request_or_with_a_leader() -> None:
    """What was read counts only for this loss: when a leader leads, or nobody asks any more, the pods are removed."""
    look = inspected(without_leader(), log())
    assert every(planned(look), DeleteWorker)
    working = replace(look, quorum=Known(value=view(voters(3000, 3001, 3002))))
    said = planned(working, asked())
    assert every(said, DeleteWorker)
    assert not reasons(said) & {"RecoveryHeld", "RecoveryProposed", "RecoveryReads", "Recovering"}


# Beginning


def test_a_plan_is_proposed_and_waits_for_a_person() -> None:
    """With a verdict the plan shows its hash, and nothing begins."""
    look = inspected(without_leader(), log())
    said = planned(look, asked())
    assert plan_hash(asked(), look) in wait(said, "RecoveryProposed").message
    assert not every(said, WriteRecord)
    assert said.proposal is not None


def test_an_approved_plan_begins() -> None:
    """The hash of the present plan begins the recovery, which is in the record before anything stops."""
    look = inspected(without_leader(), log())
    record = written(planned(look, asked(plan=plan_hash(asked(), look))), RecordChange.RECOVERY_BEGUN)
    assert record.recovery == journal()
    assert record.recovery_epoch == 1
    assert record.nodes == running().nodes


def test_an_early_release_begins_nothing() -> None:
    """A release of a recovery that has not begun would delete its copies without another word."""
    look = inspected(without_leader(), log())
    wanted = asked(plan=plan_hash(asked(), look), released=1)
    said = planned(look, wanted)
    assert not every(said, WriteRecord)
    assert "release-recovery names recovery 1" in verdict(said, "14-begin-recovery").reason


def test_another_hash_begins_nothing() -> None:
    """A plan that was approved before a fact changed is refused."""
    said = planned(inspected(without_leader(), log()), asked(plan="0123456789"))
    assert "a fact has changed" in wait(said, "RecoveryHeld").message
    assert not every(said, WriteRecord)


def test_a_loss_needs_its_own_word() -> None:
    """A proven or unknown loss is not approved by the hash alone."""
    look = replace(inspected(without_leader(), log()), memory=Memory())
    hash_ = plan_hash(asked(), look)
    assert "acceptLoss" in wait(planned(look, asked(plan=hash_)), "RecoveryHeld").message
    written(planned(look, asked(plan=hash_, accept_loss=True)), RecordChange.RECOVERY_BEGUN)


def test_an_invalid_spec_begins_nothing() -> None:
    """While the spec has faults, no recovery begins."""
    look = inspected(without_leader(), log())
    said = planned(look, asked(plan=plan_hash(asked(), look)), repair_only=True)
    assert not verdict(said, "14-begin-recovery").allowed


# Stopping


def test_every_pod_is_stopped() -> None:
    """Each pod of a controller is deleted, one that runs at a time, and formatters as well."""
    record = open_record(STOP)
    look = without_leader(record, lost=())
    look = replace(look, pods=(*look.pods, formatter(record, node(record, 3002))))
    said = planned(look, approved(record))
    assert len([each for each in every(said, DeletePod) if each.pod.running]) == 1
    assert not every(said, WriteRecord)


def test_a_survivor_that_goes_with_its_pod_is_not_stopped() -> None:
    """If the claim of a surviving disk is being deleted, its pod is the last to hold it, and stays."""
    record = open_record(STOP)
    look = without_leader(record, lost=(3001, 3002))
    look = replace(look, claims=(claim(record, node(record, 3000), deleting=True),))
    said = planned(look, approved(record))
    assert not every(said, DeletePod)
    assert "only this pod still holds the disk" in wait(said, "RecoveryStuck").message


def test_a_pod_on_a_node_that_is_down_is_forced_only_if_given_up() -> None:
    """The end of a pod on a dead Kubernetes node is skipped only if a person gave its disk up; evidence is no word."""
    record = open_record(STOP)
    down = kube_nodes(["worker-3000", "worker-3001"], ready=False)
    for of, without, force in ((3000, (3000,), False), (3001, (), False), (3001, (3001,), True)):
        ending = pod(record, node(record, of), deleting=True)
        look = replace(without_leader(record), pods=(ending,), kube_nodes=down)
        said = planned(look, approved(record, without=tuple(map(NodeID, without))))
        assert [each.force for each in every(said, DeletePod)] == ([True] if force else [])
        assert force or "--force" in wait(said, "RecoveryStuck").message


def test_an_open_operation_is_given_up() -> None:
    """A voter change that was open when the majority was lost ends: no leader can continue it."""
    record = open_record(STOP)
    look = stopped(record)
    look = replace(look, status=replace(look.status, open=operation(key(3002))))
    assert only(planned(look, approved(record)), FinishOperation).reason == "GivenUp"


def test_a_leader_ends_a_recovery_that_has_given_nothing_up() -> None:
    """If the old majority returns before a disk was given up, the recovery ends and nothing was changed."""
    for stage in (STOP, COPY):
        record = open_record(stage)
        look = replace(without_leader(record, lost=()), quorum=Known(value=view(voters(3000, 3001, 3002))))
        back = written(planned(look, approved(record)), RecordChange.RECOVERY_ABANDONED)
        assert (back.recovery, back.recovery_epoch, back.nodes) == (None, 0, running().nodes)


def test_a_person_can_call_it_off() -> None:
    """Without the approval, a recovery that has given nothing up ends."""
    record = open_record(COPY)
    written(planned(stopped(record), asked()), RecordChange.RECOVERY_ABANDONED)


def test_copying_begins_when_nothing_runs() -> None:
    """When no pod is left, the next stage is written."""
    record = open_record(STOP)
    moved = written(planned(stopped(record), approved(record)), RecordChange.RECOVERY_COPIES)
    assert moved.recovery is not None
    assert moved.recovery.stage is COPY


def test_copying_waits_for_a_pod_that_is_not_ours() -> None:
    """A copy of a pod of ours, as `kubectl debug --copy-to` makes it, has its labels and its volume."""
    record = open_record(STOP)
    stranger = Stranger(kind="Pod", name="debug", identified=False, on_disk=True)
    said = planned(replace(stopped(record), strangers=(stranger,)), approved(record))
    assert not every(said, WriteRecord)
    told = [wait.message for wait in said.waits if wait.reason == "ForeignObject"]
    assert [text for text in told if "Delete" in text and "Remove the labels" not in text] == told != []
    (stuck,) = [wait for wait in said.waits if wait.reason == "RecoveryStuck"]  # nothing but a person ends it
    assert "pod debug, which the operator did not create, uses a disk of this quorum: delete it" in stuck.message
    assert stuck.severity is Severity.DEGRADED


def test_copying_does_not_wait_for_a_pod_that_only_has_our_labels() -> None:
    """It has no disk of ours, so that it writes to none."""
    record = open_record(STOP)
    stranger = Stranger(kind="Pod", name="web-1", identified=False)
    (write,) = every(planned(replace(stopped(record), strangers=(stranger,)), approved(record)), WriteRecord)
    assert write.record.recovery is not None
    assert write.record.recovery.stage is COPY


# Copying


def test_every_surviving_disk_is_copied() -> None:
    """Each surviving disk gets a claim for its copy, and a pod that makes it."""
    record = open_record(COPY)
    said = planned(stopped(record), approved(record))
    (made,), (copier,) = every(said, CreateCopy), every(said, CreateCopier)
    assert (made.claim.name, made.name) == ("alpha-3000-g1", copier.work.copy)
    assert not every(said, WriteRecord)


def test_the_event_names_what_a_copy_does_not_have() -> None:
    """Files that no log needs, and that could not be copied, are on the old disk alone."""
    record = open_record(COPY)
    look = copied(gone(record), log(leader_epoch=40))
    whole = only(planned(look, approved(record)), DecideRecord).message
    words = "not in the copy, and not needed: a-pipe"
    rows = [replace(each, report=replace(each.report, message=words)) for each in look.workers if each.report]
    said = only(planned(replace(look, workers=tuple(rows)), approved(record)), DecideRecord).message
    assert said == f"{whole}. Claim {look.copies[0].name}: {words}"


def test_disks_are_given_up_after_the_copies() -> None:
    """When every copy is verified, each controller but the survivor gets a new claim and a new directory id."""
    record = open_record(COPY)
    look = copied(gone(record), log(leader_epoch=40))
    after = written(planned(look, approved(record)), RecordChange.RECOVERY_RETIRES)
    assert after.recovery is not None
    assert (after.recovery.stage, after.recovery.leader_epoch) == (RETIRE, 40)
    assert {of.node_id: of.generation for of in after.nodes} == {3000: 1, 3001: 2, 3002: 2}
    assert after.retired == {directory(3001), directory(3002)}
    assert node(after, 3000) == node(record, 3000)


@pytest.mark.parametrize(
    "changed", [{"end": LogEnd(epoch=7, offset=501)}, {"checkpoint": None}, {"directory_id": directory(3000, 2)}]
)
def test_a_log_that_has_changed_leads_back(changed: dict[str, Any]) -> None:
    """If a copied log is not the one of the plan, nothing is given up: a person reads the new plan."""
    record = open_record(COPY)
    look = copied(stopped(record), log(**changed))
    back = written(planned(look, approved(record)), RecordChange.RECOVERY_ABANDONED)
    assert (back.recovery, back.nodes) == (None, running().nodes)
    assert not may_retire_others(situation_of(approved(record), look)).allowed


def test_an_invalid_spec_gives_nothing_up() -> None:
    """While the spec is not valid, an earlier one counts: a person may just have taken the approval back."""
    record = open_record(COPY)
    said = planned(copied(gone(record), log()), approved(record), repair_only=True)
    assert not every(said, WriteRecord)
    assert "the spec is not valid" in wait(said, "RecoveryStuck").message


def holding(wanted: Desired, *node_ids: int) -> Desired:
    """The same spec, while a person holds these controllers."""
    return replace(wanted, hold=Known(value=frozenset(map(NodeID, node_ids))))


def test_a_controller_that_a_person_holds_is_left_alone() -> None:
    """A hold that begins after the recovery: its pod is not stopped, no disk is given up, and none is rewritten."""
    stops, copies, retires = open_record(STOP), open_record(COPY), given_up(RETIRE)
    looks = (
        (stops, without_leader(stops), 3000),
        (copies, copied(gone(copies), log()), 3001),
        (retires, fenced(retires), 3000),
    )
    for record, look, node_id in looks:
        said = planned(look, holding(approved(record), node_id))
        assert not every(said, DeletePod)
        assert not every(said, WriteRecord)
        assert "person holds" in wait(said, "RecoveryStuck").message


def test_a_copy_that_failed_is_made_again() -> None:
    """A copier that ended without a copy is removed after a while; until then nothing is given up."""
    record = open_record(COPY)
    look = copied(stopped(record), log())
    look = replace(look, workers=tuple(replace(each, report=failed()) for each in look.workers))
    assert every(planned(look, approved(record), now_s=NOW_S + 30.0), DeleteWorker)
    assert not every(planned(look, approved(record)), WriteRecord)


# Giving up and rewriting


def test_old_claims_are_marked_and_kept() -> None:
    """Every claim that no controller has any more is marked as retired and kept, by the epoch of the recovery."""
    record = given_up()
    look = stopped(record)
    old = running()
    look = replace(look, claims=(*look.claims, *(claim(old, node(old, of)) for of in (3001, 3002))))
    marks = [each for each in every(planned(look, approved(record)), AnnotateClaim) if each.retired]
    assert {each.claim.node_id for each in marks} == {3001, 3002}
    assert all(each.kept and each.recovery == 1 for each in marks)


def test_the_config_maps_of_before_are_deleted_first() -> None:
    """While a config map of before exists, a late pod could start on an old disk: the log is not rewritten."""
    record = given_up()
    look = fenced(record)
    before = without_leader(running()).support
    look = replace(look, support=tuple(each for each in before if each.kind != "ConfigMap"))
    with_old = replace(look, support=before)
    said = planned(with_old, approved(record))
    assert every(said, DeleteConfig)
    assert every(said, CreateConfig)
    assert not verdict(said, "14-rewrite").allowed


def test_the_log_is_rewritten_when_no_other_disk_can_start() -> None:
    """After the marks, the stage moves on, and then one pod rewrites the log as the plan says."""
    record = given_up()
    after = written(planned(fenced(record), approved(record)), RecordChange.RECOVERY_REWRITES)
    said = planned(fenced(after), approved(after))
    work = only(replace(said, actions=tuple(every(said, CreateRewriter))), CreateRewriter).work
    assert (work.directory_id, work.end, work.leader_epoch, work.seed) == (directory(3000), log().end, 9, None)
    assert work.listeners[0].host == "alpha-3000.alpha-controllers.kafka.svc"


def test_no_pod_runs_kafka_before_the_log_is_rewritten() -> None:
    """In every stage before the last, no pod of Kafka is created."""
    for stage in (STOP, COPY):
        record = open_record(stage)
        assert not every(planned(stopped(record), approved(record)), CreatePod)
    for stage in (RETIRE, REWRITE):
        record = given_up(stage)
        assert not every(planned(fenced(record), approved(record)), CreatePod)


def test_the_survivor_starts_when_it_is_the_only_voter() -> None:
    """The report of the rewritten log decides: it lists the survivor alone, behind the records of the plan."""
    record = given_up(REWRITE)
    done = log(voters=voters(3000), end=LogEnd(epoch=1009, offset=501))
    look = replace(fenced(record), workers=(worker(rewrite(record), read(done)),))
    after = written(planned(look, approved(record)), RecordChange.RECOVERY_STARTS)
    assert after.recovery is not None
    assert after.recovery.stage is START


@pytest.mark.parametrize(
    "wrong",
    [
        log(voters=voters(3000, 3001), end=LogEnd(epoch=1009, offset=501)),
        log(voters=voters(3000)),
        log(voters=voters(3000), end=LogEnd(epoch=1009, offset=501), directory_id=directory(3000, 2)),
    ],
)
def test_another_log_does_not_start(wrong: object) -> None:
    """A log that lists another voter, that did not grow, or that is another disk's does not start."""
    record = given_up(REWRITE)
    look = replace(fenced(record), workers=(worker(rewrite(record), read(wrong)),))  # type: ignore[arg-type]
    assert not every(planned(look, approved(record)), WriteRecord)


# Starting


def test_only_the_survivor_starts() -> None:
    """At the last stage the survivor's pod is created, made for the epoch, and no other one is started."""
    record = given_up(START)
    look = fenced(record)
    said = planned(look, approved(record))
    assert [each.node_id for each in every(said, CreatePod)] == [3000]
    assert not every(said, CreateFormatter)  # the new claims are not bound yet


def with_new_claims(record: IdentityRecord) -> IdentityRecord:
    """The same, after the controllers that lost their disks got new claims."""
    nodes = (of if of.formatted else replace(of, claim_uid=f"claim-{of.node_id}-2") for of in record.nodes)
    return replace(record, nodes=tuple(nodes))


@pytest.mark.parametrize("survivor_leads", [False, True])
def test_new_disks_are_formatted_while_the_survivor_starts(*, survivor_leads: bool) -> None:
    """They cannot vote, and nothing starts on them; before that stage no pod may be near a disk."""
    record = with_new_claims(started())
    look = leads(record, high_watermark=501) if survivor_leads else fenced(record)
    said = planned(look, approved(record))
    assert [each.node_id for each in every(said, CreateFormatter)] == [3001, 3002]
    assert not [each for each in every(said, CreatePod) if each.node_id != 3000]
    for of in record.nodes[1:]:
        formatted = replace(of, formatted=True, directory_id=directory(of.node_id, 2))
        assert not may_run(situation_of(approved(record), look), formatted, mirrored=True).allowed
    for stage in (RETIRE, REWRITE):
        early = with_new_claims(given_up(stage))
        assert not every(planned(fenced(early), approved(early)), CreateFormatter)
        assert not may_format_newcomer(situation_of(approved(early), fenced(early)), early.nodes[1]).allowed
    assert not may_format_newcomer(situation_of(approved(record), look), record.nodes[0]).allowed


def test_a_pod_that_may_write_to_the_disk_is_waited_for() -> None:
    """While the rewriter exists, Kafka does not start on its disk."""
    record = given_up(START)
    look = replace(fenced(record), workers=(worker(rewrite(record), read(log())),))
    said = planned(look, approved(record))
    assert not every(said, CreatePod)
    assert every(said, DeleteWorker)


def started() -> IdentityRecord:
    """A record whose survivor starts with a log that ends at offset 501."""
    return rewritten(given_up(REWRITE), 501)


def leads(record: IdentityRecord, *, high_watermark: int, others: tuple[int, ...] = ()) -> Observed:
    """The survivor leads, with this high watermark."""
    seen = view(voters(3000, *others))
    seen = replace(seen, answer=replace(seen.answer, high_watermark=high_watermark))
    return replace(fenced(record), quorum=Known(value=seen), pods=(pod(record, node(record, 3000)),))


def test_the_recovery_ends_with_committed_records() -> None:
    """The survivor leads alone, and its high watermark shows records that it wrote itself."""
    record = started()
    waits = planned(leads(record, high_watermark=501), approved(record))
    assert "high watermark" in wait(waits, "Recovering").message
    after = written(planned(leads(record, high_watermark=520), approved(record)), RecordChange.RECOVERED)
    assert (after.recovery, after.recovery_epoch) == (None, 1)


def test_a_rival_is_reported() -> None:
    """If there are other voters than the survivor, the recovery does not end."""
    record = given_up(START)
    said = planned(leads(record, high_watermark=520, others=(3001,)), approved(record))
    assert "other voters" in wait(said, "RecoveryStuck").message


def test_the_others_join_afterwards() -> None:
    """After the recovery, the other controllers get new claims and join like any newcomer."""
    record = replace(given_up(START), recovery=None)
    look = leads(replace(record, recovery=None), high_watermark=520)
    made = every(planned(replace(look, record=record), asked()), CreateClaim)
    assert {(each.node_id, each.generation) for each in made} == {(3001, 2), (3002, 2)}


# A seed


def seeded_record(stage: RecoveryStage) -> tuple[IdentityRecord, Desired]:
    """A recovery that continues with the log of a broker, after every disk of a controller is lost."""
    look = seeded(without_leader(lost=(3000, 3001, 3002)), SEED, log(7, directory_id=directory(7)))
    begun = journal(asked(seeds=(SEED,)), look)
    record = open_record(COPY, begun)
    wanted = approved(record, seeds=(SEED,))
    assert record.recovery is not None
    if stage in (STOP, COPY):
        return replace(record, recovery=record.recovery.at(stage)), wanted
    after = retired(record, 9)
    assert after.recovery is not None
    return replace(after, recovery=after.recovery.at(stage)), wanted


def test_a_seed_is_read_again_before_disks_are_given_up() -> None:
    """A seed is not copied: another pod reads it when everything has stopped, and a difference stops the recovery."""
    record, wanted = seeded_record(COPY)
    found = log(7, directory_id=directory(7))
    create = next(iter(every(planned(gone(record), wanted), CreateInspector)))
    assert create.work.source.claim == SEED.claim
    after = written(planned(seeded(gone(record), SEED, found), wanted), RecordChange.RECOVERY_RETIRES)
    assert {of.generation for of in after.nodes} == {2}
    for other in (
        replace(found, end=LogEnd(epoch=found.end.epoch, offset=found.end.offset + 1)),
        replace(found, node_id=NodeID(8)),
        replace(found, directory_id=directory(8)),
        replace(found, checkpoint=LogEnd(epoch=1, offset=2)),
    ):
        look = seeded(gone(record), SEED, other)
        written(planned(look, wanted), RecordChange.RECOVERY_ABANDONED)
        assert not may_retire_others(situation_of(wanted, look)).allowed


def test_the_disk_for_a_seed_is_formatted_first() -> None:
    """The lowest controller gets a new disk, formatted without initial controllers, and no other one does."""
    record, wanted = seeded_record(RETIRE)
    after = written(planned(stopped(record), wanted), RecordChange.RECOVERY_FORMATS)
    nodes = tuple(replace(of, claim_uid=f"claim-{of.node_id}-2") for of in after.nodes)
    bound = replace(after, nodes=nodes)
    assert [each.node_id for each in every(planned(stopped(bound), wanted), CreateFormatter)] == [3000]


def with_new_disk(record: IdentityRecord) -> IdentityRecord:
    """The same, after the disk of 3000 for the log of a seed was formatted."""
    nodes = tuple(
        replace(of, claim_uid=f"claim-{of.node_id}-2", directory_id=directory(3000, 2), formatted=True)
        if of.node_id == 3000
        else of
        for of in record.nodes
    )
    return replace(record, nodes=nodes)


def test_the_seed_is_written_to_the_formatted_disk() -> None:
    """When the new disk is formatted, its log is filled from the seed and rewritten in one piece of work."""
    record, wanted = seeded_record(REWRITE)
    said = planned(stopped(with_new_disk(record)), wanted)
    (made,) = every(said, CreateRewriter)
    assert made.work.seed is not None
    assert (made.work.seed.source, made.work.directory_id) == (
        Source(claim="broker-0", path="kraft"),
        directory(3000, 2),
    )


def test_a_seed_that_may_not_be_mounted_any_more_is_named() -> None:
    """Without its claim, or its annotation, the recovery waits with the reason and the way out."""
    why = f"claim {SEED.claim} does not exist"
    for stage in (COPY, FORMAT, REWRITE):
        record, wanted = seeded_record(stage)
        at = record if stage is COPY else with_new_disk(record)
        look = gone(at) if stage is COPY else stopped(at)
        said = planned(replace(look, seeds=((SEED.claim, why),)), wanted)
        assert not every(said, CreateRewriter)
        assert any(why in each.message for each in said.waits if each.reason in ("Recovering", "RecoveryStuck"))


# Releasing


def released(epoch: int, **changes: object) -> Plan:
    """The plan for a quorum that works, whose recovery a person has released."""
    record = replace(running(), recovery_epoch=1)
    look = without_leader(record, lost=())
    old = claim(record, node(record, 3001), name=f"{NAME}-3001-g9", uid="old", phase="Retired", kept=True, recovery=1)
    working = view(voters(3000, 3001, 3002))
    look = replace(look, claims=(*look.claims, replace(old, generation=9)), quorum=Known(value=working), **changes)  # type: ignore[arg-type]
    look = replace(look, copies=(copy("alpha-3000-g1-copy-0123456789"),))
    return planned(look, asked(released=epoch))


def test_copies_and_old_disks_stay_until_a_person_releases_them() -> None:
    """Nothing of a recovery is deleted without the annotation, nor for another epoch."""
    for epoch in (0, 2):
        said = released(epoch)
        assert not every(said, DeleteClaim)
        assert not every(said, DeleteCopy)


def test_a_release_deletes_them() -> None:
    """With the epoch of the recovery, copies and old claims are deleted while every controller is a voter."""
    said = released(1)
    assert [each.claim.uid for each in every(said, DeleteClaim)] == ["old"]
    assert len(every(said, DeleteCopy)) == 1


def test_nothing_is_released_while_a_controller_is_missing() -> None:
    """Copies stay while a controller is not a caught-up voter again."""
    record = replace(running(), recovery_epoch=1)
    look = without_leader(record, lost=())
    behind = view(voters(3000, 3001, 3002), behind=voters(3002))
    look = replace(look, quorum=Known(value=behind), copies=(copy("alpha-3000-g1-copy-0123456789"),))
    said = planned(look, asked(released=1))
    assert not every(said, DeleteCopy)
    assert not verdict(said, "14-release").allowed


def test_a_decision_of_a_recovery_takes_its_permit() -> None:
    """Every stage that cannot be taken back is decided with the permit of its guard."""
    record = open_record(STOP)
    write = only(planned(stopped(record), approved(record)), DecideRecord)
    assert write.permit.rule == "14-copy"
