"""From ZooKeeper to KRaft and back, by the planner alone: stage by stage, parked, rolled back, and tried again."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.model.values import (
    SILENT,
    directory,
    formatter,
    kube_nodes,
    pod,
    situation,
    storage,
    with_pod,
    with_the_claim,
)
from tests.plan.beside import (
    ALONE,
    ALONE_LEADS,
    ALONE_STOP,
    ASIDE,
    BACK,
    BACKWARD,
    BESIDE,
    BROKERS,
    COPIED,
    DUAL,
    EMPTY,
    EVERY,
    FINAL,
    FORWARD,
    KRAFT_LEADS,
    LEADS,
    LEAVE,
    MIGRATES,
    RELEASE,
    RETURN,
    STARTS,
    STOP,
    ZOOKEEPER_LEADS,
    At,
    at_name,
    confirming,
    contract_of,
    follows,
    look_at,
    new_record,
    published,
    record_at,
    settled,
    stopped,
    wanted,
    with_broker,
    with_driver,
    with_keeper,
)
from tests.plan.reading import every, only, planned, reasons, wait

from kafka_quorum.model.actions import (
    AnnotateClaim,
    ApplyContract,
    CreateClaim,
    CreateRevision,
    DecideRecord,
    DeleteClaim,
    DeletePod,
    GiveBackNodes,
    RecordChange,
    WriteRecord,
)
from kafka_quorum.model.attempts import attempted_again
from kafka_quorum.model.conformance import differs
from kafka_quorum.model.desired import Desired, VolumeFate
from kafka_quorum.model.identity import BootstrapPhase, FormatMode, IdentityRecord
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.migration import MIGRATIONS, ZOOKEEPER_TO_KRAFT
from kafka_quorum.model.names import RETIRED, contract_name
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Severity
from kafka_quorum.model.pods import Running, Terminated
from kafka_quorum.model.registered import ASKING
from kafka_quorum.model.zookeeper import DriverState, MigrationNode, ZooKeeperAccess
from kafka_quorum.plan.facts.preflight import ACL
from kafka_quorum.plan.releases.token import token_given_back
from kit.token import Token

BACKWARD_SPEC = wanted(roll_back=True)
KEEPS = wanted(storage=storage(when_scaled=VolumeFate.RETAIN))


def where(record: IdentityRecord) -> At | None:
    """The stage of a record; None for none."""
    reached = record.migration
    return None if reached is None else (MIGRATIONS[reached.kind], reached.stage)


def moved(look: Observed, spec: Desired) -> DecideRecord:
    """The write of the record that the planner asks for."""
    return only(planned(look, spec), DecideRecord)


def journey(start: At, spec: Desired) -> Iterator[tuple[RecordChange, At | None]]:
    """Every write of the record from this stage on; after each of them its stage is complete at once."""
    look: Observed | None = look_at(start, spec)
    while look is not None:
        writes = every(planned(look, spec), DecideRecord)
        if not writes:
            return
        (write,) = writes
        at = where(write.record)
        yield write.change, at
        look = None if at is None else settled(at, spec, write.record)


# Forward


def test_the_way_to_the_decision() -> None:
    """Without a decision the migration goes to dual write, and stays there."""
    assert list(journey(STARTS, wanted())) == [
        (RecordChange.COPY_METADATA, MIGRATES),
        (RecordChange.LEAVE_ZOOKEEPER, DUAL),
    ]


def test_the_whole_way() -> None:
    """With the decision in the spec it goes to the end, and the quorum is a static one without ZooKeeper."""
    assert list(journey(STARTS, wanted(finalize=True))) == [
        (RecordChange.COPY_METADATA, MIGRATES),
        (RecordChange.LEAVE_ZOOKEEPER, DUAL),
        (RecordChange.FINALIZE, FINAL),
        (RecordChange.FINALIZED, None),
    ]
    ended = moved(look_at(FINAL), wanted(finalize=True)).record
    assert (ended.static, ended.migration, ended.overlay.measured) == (True, None, False)


def test_parked() -> None:
    """In dual write a person decides: the wait names both fields, and nothing else is done for any time."""
    said = planned(look_at(DUAL), wanted())
    assert said.actions == ()
    held = wait(said, "DualWrite")
    assert held.severity is Severity.HELD
    assert "spec.zookeeper.finalize" in held.message
    assert "spec.zookeeper.rollBack" in held.message


def test_not_parked_while_something_is_missing() -> None:
    """The decision is asked for when nothing else is missing: a broker that is not changed yet is named first."""
    late = with_broker(look_at(DUAL), 2, {"process.roles": ""})
    said = planned(late, wanted())
    assert "DualWrite" not in reasons(said)
    assert "broker 2" in wait(said, "MigrationHeld").message


def test_a_roll_back_waits_for_owners_of_brokers() -> None:
    """A KRaft broker holds the controllers until its owner acts; brokers that are only being asked need time."""
    late = with_broker(look_at(RETURN), 2, {"process.roles": "broker"})
    held = wait(planned(late, wanted(roll_back=True)), "MigrationHeld")
    assert "broker 2" in held.message
    assert "ConfigMap" in held.message
    asked = with_broker(look_at(RETURN), 2, next(iter(ASKING)))
    assert wait(planned(asked, wanted(roll_back=True)), "Migrating").severity is Severity.PROGRESS


def test_the_end_cannot_be_reverted() -> None:
    """A roll back that is requested while the controllers leave ZooKeeper is too late: the migration goes on."""
    assert moved(look_at(FINAL), BACKWARD_SPEC).change is RecordChange.FINALIZED


def test_nothing_moves_in_a_pause() -> None:
    """A pause stops the migration in every stage: no pod is deleted, and nothing is written to ZooKeeper."""
    for at in EVERY:
        assert planned(look_at(at), wanted(paused=True)).actions == (), at_name(at)


@pytest.mark.parametrize("at", [STARTS, MIGRATES, DUAL, FINAL], ids=at_name)
def test_a_lost_pod_is_replaced(at: At) -> None:
    """In every stage before a roll back a controller without a pod gets one."""
    look = look_at(at)
    said = planned(replace(look, pods=look.pods[1:]), wanted(finalize=True))
    assert any(type(action).__name__ == "CreatePod" for action in said.actions)


# Back


def test_back_before_a_broker_was_changed() -> None:
    """Before the brokers were told anything, only the controllers end: no broker has to follow a contract."""
    assert list(journey(STARTS, BACKWARD_SPEC))[:1] == [(RecordChange.ROLL_BACK, ALONE_STOP)]
    look = stopped(look_at(ALONE_STOP, BACKWARD_SPEC))
    assert moved(with_keeper(look, migration=None), BACKWARD_SPEC).change is RecordChange.GIVE_BACK
    assert moved(look_at(ALONE_LEADS, BACKWARD_SPEC), BACKWARD_SPEC).change is RecordChange.ZOOKEEPER_LEADS
    assert where(moved(look_at(ALONE_LEADS, BACKWARD_SPEC), BACKWARD_SPEC).record) == ALONE


@pytest.mark.parametrize("at", [MIGRATES, DUAL], ids=at_name)
def test_back_with_brokers_that_changed(at: At) -> None:
    """From every later stage the brokers return first, and then the controllers stop."""
    assert list(journey(at, BACKWARD_SPEC))[:2] == [
        (RecordChange.ROLL_BACK, RETURN),
        (RecordChange.STOP_CONTROLLERS, STOP),
    ]


def test_back_from_the_first_stage_if_something_was_copied() -> None:
    """Brokers whose owner was early have begun the copy: then the long way back is taken."""
    begun = with_keeper(look_at(STARTS, BACKWARD_SPEC), controller=KRAFT_LEADS)
    assert where(moved(begun, BACKWARD_SPEC).record) == RETURN
    copied = with_keeper(with_driver(begun, state=DriverState.MIGRATION), migration=COPIED)
    assert where(moved(copied, BACKWARD_SPEC).record) == RETURN


def test_back_from_the_first_stage_beside_what_others_left() -> None:
    """A copy that this quorum did not make is no reason to ask brokers for migration mode: only the controllers end."""
    another = replace(KRAFT_LEADS, kraft_epoch=70)
    for changes in ({"controller": another}, {"migration": COPIED}, {"controller": another, "migration": COPIED}):
        look = with_keeper(look_at(STARTS, BACKWARD_SPEC), **changes)
        assert where(moved(look, BACKWARD_SPEC).record) == ALONE_STOP


def test_the_rest_of_the_way_back() -> None:
    """When the controllers are gone: ZooKeeper is given back and leads, the brokers leave, volumes retire."""
    look = stopped(look_at(STOP, BACKWARD_SPEC))
    saved = moved(look, BACKWARD_SPEC)
    assert (saved.change, where(saved.record)) == (RecordChange.GIVE_BACK, LEADS)
    assert saved.record.migration is not None
    assert saved.record.migration.saved is not None
    assert saved.record.migration.saved.migration == COPIED.raw
    assert saved.record.migration.saved.controller == KRAFT_LEADS.raw
    assert saved.record.migration.saved.controller_epoch == "9"
    rest = list(journey(LEADS, BACKWARD_SPEC))
    assert rest == [(RecordChange.ZOOKEEPER_LEADS, LEAVE), (RecordChange.END_QUORUM, BACK)]


def test_an_old_confirmation_stops_nothing() -> None:
    """The contract of KRaft brokers is confirmed, and the one of the roll back cannot be written: nothing stops."""
    spec = confirming(BACKWARD_SPEC)
    look = replace(look_at(RETURN, spec), contract=look_at(DUAL, spec).contract, brokers=SILENT)
    failed = frozenset({("config map", contract_name(spec.name))})
    look = with_keeper(replace(look, failed=failed), brokers=())
    assert not every(planned(look, spec), DecideRecord)


@pytest.mark.parametrize("left", [None, EMPTY], ids=["no znode", "nothing copied"])
def test_controllers_that_do_not_lead_stop(left: MigrationNode | None) -> None:
    """A record and volumes of before were restored, and ZooKeeper leads: the controllers are stopped again."""
    look = with_keeper(look_at(RETURN, BACKWARD_SPEC), controller=ZOOKEEPER_LEADS, migration=left)
    assert moved(look, BACKWARD_SPEC).change is RecordChange.STOP_CONTROLLERS
    unknown = with_broker(look, 2, {"process.roles": "broker"})
    assert not every(planned(unknown, BACKWARD_SPEC), DecideRecord)


def test_what_was_saved_stays() -> None:
    """What was deleted is kept in the record to the end, and is not replaced by what is there later."""
    look = stopped(look_at(STOP, BACKWARD_SPEC))
    record = moved(look, BACKWARD_SPEC).record
    leads = settled(LEADS, BACKWARD_SPEC, record)
    after = moved(leads, BACKWARD_SPEC).record
    assert after.migration is not None
    assert record.migration is not None
    assert after.migration.saved == record.migration.saved


def test_the_nodes_are_deleted_until_they_are_gone() -> None:
    """In the stage before ZooKeeper leads, the write is repeated while anything of ours is there, and compares all."""
    look = with_keeper(look_at(LEADS, BACKWARD_SPEC), controller=KRAFT_LEADS, migration=COPIED, state_epoch=12)
    act = only(planned(look, BACKWARD_SPEC), GiveBackNodes)
    assert (act.what.controller, act.what.migration) == (KRAFT_LEADS, COPIED)
    assert act.what.epoch == 13, "above every epoch that a KRaft controller wrote (KAFKA-20488)"
    assert act.access.connect == wanted().migrate.beside.access.connect  # type: ignore[union-attr]  # the spec has one
    half = with_keeper(look_at(LEADS, BACKWARD_SPEC), migration=COPIED)
    act = only(planned(half, BACKWARD_SPEC), GiveBackNodes)
    assert (act.what.controller, act.what.migration, act.what.epoch) == (None, COPIED, None)


@pytest.mark.parametrize("at", [ALONE_LEADS, LEADS], ids=at_name)
def test_the_epoch_stays_under_a_controller_of_zookeeper(at: At) -> None:
    """A broker that stays the controller compares the version of the epoch with each write, and does not resign."""
    look = with_keeper(look_at(at, BACKWARD_SPEC), migration=EMPTY, state_epoch=9)  # as it writes its own epoch
    act = only(planned(look, BACKWARD_SPEC), GiveBackNodes)
    assert (act.what.controller, act.what.migration, act.what.epoch) == (None, EMPTY, None)


def test_a_controller_below_the_epochs_is_replaced() -> None:
    """A person deleted /controller before the epoch was raised: the broker that was elected makes room."""
    look = with_keeper(look_at(LEADS, BACKWARD_SPEC), migration=None, state_epoch=12)
    act = only(planned(look, BACKWARD_SPEC), GiveBackNodes)
    assert (act.what.controller, act.what.migration, act.what.epoch) == (ZOOKEEPER_LEADS, None, 13)


def test_zookeeper_is_not_given_back_beside_a_controller() -> None:
    """While a pod of a controller exists, nothing is written to ZooKeeper."""
    look = look_at(LEADS, BACKWARD_SPEC)
    assert look.record is not None
    left = pod(look.record, look.record.nodes[0])
    look = with_keeper(replace(look, pods=(left,)), controller=KRAFT_LEADS, migration=COPIED)
    said = planned(look, BACKWARD_SPEC)
    assert every(said, GiveBackNodes) == []
    assert left.name in wait(said, "Migrating").message


def test_a_roll_back_goes_on_when_the_request_is_taken_back() -> None:
    """What has turned round does not turn again: it goes on to ZooKeeper, and the next attempt begins after that."""
    assert moved(look_at(RETURN), wanted()).change is RecordChange.STOP_CONTROLLERS
    assert moved(look_at(LEADS), wanted()).change is RecordChange.ZOOKEEPER_LEADS


# The controllers end


def test_followers_stop_first() -> None:
    """The followers stop one after the other, so that the leader commits nothing more; it stops when they are gone."""
    look = look_at(STOP, BACKWARD_SPEC)
    assert sorted(action.pod.node_id for action in every(planned(look, BACKWARD_SPEC), DeletePod)) in ([3001], [3002])
    last = replace(look, pods=tuple(one for one in look.pods if one.node_id == 3000))
    assert [action.pod.node_id for action in every(planned(last, BACKWARD_SPEC), DeletePod)] == [3000]


def test_without_a_leader_the_last_claim_counts() -> None:
    """If no leader answers, and ZooKeeper is not of this quorum any more, the one stops last that led by ZooKeeper."""
    look = replace(look_at(STOP, BACKWARD_SPEC), quorum=SILENT)
    another = with_keeper(look, controller=replace(KRAFT_LEADS, node_id=NodeID(9)))
    assert len(every(planned(another, BACKWARD_SPEC), DeletePod)) == 1
    pair = replace(look, pods=tuple(one for one in look.pods if one.node_id != 3001))
    last = tuple(replace(one, deleting=one.node_id == 3002) for one in pair.pods)
    assert not every(planned(replace(pair, pods=last), BACKWARD_SPEC), DeletePod)  # 3000 has the claim


def test_what_is_committed_after_the_decision_is_waited_for() -> None:
    """Records that ZooKeeper lacks stop each stop, as long as the quorum can write them; the status says so."""
    look = with_driver(look_at(STOP, BACKWARD_SPEC), lag=1)
    begun = replace(look, pods=tuple(one for one in look.pods if one.node_id != 3001))
    silent = replace(look_at(STOP, BACKWARD_SPEC), driver=Unknown(reason="no metrics"))
    for each, words in ((look, "1 records behind"), (begun, "1 records behind"), (silent, "no metrics")):
        said = planned(each, BACKWARD_SPEC)
        assert not every(said, DeletePod)
        assert words in wait(said, "ControllersStop").message
    another = with_keeper(look, controller=ZOOKEEPER_LEADS)  # this quorum writes nothing to ZooKeeper any more
    assert every(planned(another, BACKWARD_SPEC), DeletePod)


def test_a_leader_is_waited_for_while_there_can_be_one() -> None:
    """An election may come between: the quorum stops when a leader has answered, or when no majority is left."""
    look = replace(look_at(STOP, BACKWARD_SPEC), quorum=SILENT, driver=SILENT)
    pair = replace(look, pods=tuple(one for one in look.pods if one.node_id != 3001))
    for each in (look, pair):
        said = planned(each, BACKWARD_SPEC)
        assert not every(said, DeletePod)
        assert "delete the pods" in wait(said, "ControllersStop").message
    down = replace(pair, kube_nodes=kube_nodes([pair.pods[1].node_name], ready=False))
    last = replace(pair, pods=tuple(one for one in pair.pods if one.node_id == 3000))
    for each in (down, last):
        assert every(planned(each, BACKWARD_SPEC), DeletePod)


def test_no_pod_is_made_for_a_controller_that_ended() -> None:
    """After the controllers stopped, no concern makes a pod, a claim or a formatter again."""
    for at in (STOP, LEADS, LEAVE, BACK, *ASIDE):
        look = stopped(look_at(at, BACKWARD_SPEC))
        said = planned(replace(look, claims=look.claims[1:]), BACKWARD_SPEC)
        kinds = {type(action).__name__ for action in said.actions}
        assert kinds <= {"DecideRecord", "AnnotateClaim", "DeleteClaim", "ApplyContract", "GiveBackNodes"}, at_name(at)


def test_controllers_that_nobody_depends_on_need_no_token() -> None:
    """Another quorum may lead ZooKeeper by the node id of our leader; the token is not read in this stage."""
    theirs = replace(KRAFT_LEADS, kraft_epoch=77)
    look = with_keeper(look_at(ALONE_STOP, BACKWARD_SPEC), controller=theirs, migration=COPIED)
    look = with_driver(look, state=DriverState.PRE_MIGRATION, lag=None)
    held = Token(holder="pool/brokers", since="", resource_version="7")
    for token in (Unknown(reason="it was not read"), Known(value=held)):
        deleted = {each.pod.node_id for each in every(planned(replace(look, token=token), BACKWARD_SPEC), DeletePod)}
        assert deleted == {3001}


@pytest.mark.parametrize("at", [STOP, LEADS, LEAVE, BACK], ids=at_name)
def test_the_token_is_given_back(at: At) -> None:
    """A quorum that had the disruption token when its controllers ended gives it back: brokers need it to leave."""
    ours = Token(holder="quorum/alpha", since="", resource_version="7")
    look = replace(stopped(look_at(at)), token=Known(value=ours))
    assert token_given_back(situation(BACKWARD_SPEC, look)).exclusive is not None
    others = replace(look, token=Known(value=replace(ours, holder="pool/brokers")))
    assert token_given_back(situation(BACKWARD_SPEC, others)).exclusive is None
    silent = replace(look_at(DUAL), quorum=SILENT, token=look.token)
    assert token_given_back(situation(BACKWARD_SPEC, silent)).exclusive is None


def test_a_pod_on_a_lost_node_is_named() -> None:
    """A pod that cannot terminate holds the roll back, with the command that a person runs if the machine is gone."""
    look = stopped(look_at(STOP, BACKWARD_SPEC))
    assert look.record is not None
    left = replace(pod(look.record, look.record.nodes[0]), deleting=True)
    down = kube_nodes([left.node_name], ready=False)
    said = planned(replace(look, pods=(left,), kube_nodes=down), BACKWARD_SPEC)
    held = wait(said, "ControllersStop")
    assert held.severity is Severity.DEGRADED
    assert "kubectl delete pod --force" in held.message
    assert wait(planned(replace(look, pods=(left,)), BACKWARD_SPEC), "ControllersStop").severity is Severity.PROGRESS


def test_a_formatter_is_removed() -> None:
    """A formatter that still exists when the controllers stop is deleted, too, when its tool has ended."""
    look = stopped(look_at(STOP, BACKWARD_SPEC))
    assert look.record is not None
    over = Terminated(exit_code=1, reason="Error", message="", finished_at="")
    left = formatter(look.record, look.record.nodes[0], container=over)
    (act,) = every(planned(replace(look, pods=(left,)), BACKWARD_SPEC), DeletePod)
    assert (act.pod, act.reason) == (left, "FormatterDone")
    at_work = replace(left, container=Running(started_at=""))
    assert every(planned(replace(look, pods=(at_work,)), BACKWARD_SPEC), DeletePod) == []


@pytest.mark.parametrize("at", [BACK, ALONE], ids=at_name)
def test_the_claims_are_retired_and_deleted(at: At) -> None:
    """At the end each claim is marked as retired, and after that deleted, because the policy says so."""
    look = look_at(at, BACKWARD_SPEC)
    marks = every(planned(look, BACKWARD_SPEC), AnnotateClaim)
    assert [(mark.claim.node_id, mark.retired, mark.directory_id) for mark in marks] == [
        (node_id, True, directory(node_id)) for node_id in (3000, 3001, 3002)
    ]
    for node_id in (3000, 3001, 3002):
        look = with_the_claim(look, node_id, phase=RETIRED)
    assert len(every(planned(look, BACKWARD_SPEC), DeleteClaim)) == 3
    kept = with_the_claim(look, 3001, kept=True)
    assert [act.claim.node_id for act in every(planned(kept, BACKWARD_SPEC), DeleteClaim)] == [3000, 3002]
    assert every(planned(look, BACKWARD_SPEC, repair_only=True), DeleteClaim) == []


@pytest.mark.parametrize("at", [STOP, LEADS, LEAVE, ALONE_STOP, ALONE_LEADS], ids=at_name)
def test_no_claim_is_touched_before_the_end(at: At) -> None:
    """Until ZooKeeper leads and the brokers have left, the volumes stay as they are."""
    said = planned(stopped(look_at(at, BACKWARD_SPEC)), BACKWARD_SPEC)
    assert every(said, AnnotateClaim) == []
    assert every(said, DeleteClaim) == []


# The end, and another attempt


def ended(at: At = BACK, *, gone: bool = True) -> Observed:
    """A rolled-back quorum whose volumes are retired, or gone."""
    look = look_at(at, BACKWARD_SPEC)
    claims = () if gone else tuple(replace(claim, phase=RETIRED) for claim in look.claims)
    return replace(look, claims=claims, status=replace(look.status, phase=BootstrapPhase.FORMATTING))


@pytest.mark.parametrize("at", [BACK, ALONE], ids=at_name)
def test_rolled_back_rests(at: At) -> None:
    """After a roll back nothing is done while spec.zookeeper.rollBack is true, and the wait says so."""
    said = planned(ended(at), BACKWARD_SPEC)
    assert said.actions == ()
    assert wait(said, "RolledBack").severity is Severity.HELD


@pytest.mark.parametrize("at", [BACK, ALONE], ids=at_name)
@pytest.mark.parametrize("gone", [True, False], ids=["deleted", "retained"])
def test_another_attempt(at: At, *, gone: bool) -> None:
    """The next attempt begins in the first stage, before the barrier, with other claims and no earlier directory id."""
    look = ended(at, gone=gone)
    write = moved(look, KEEPS)
    assert (write.change, where(write.record)) == (RecordChange.ATTEMPT_AGAIN, STARTS)
    made = write.record
    assert (made.phase, made.had_leader, made.static, made.levels) == (BootstrapPhase.FORMATTING, False, True, ())
    assert [node.generation for node in made.nodes] == [2, 2, 2]
    assert {(node.claim_uid, node.directory_id, node.mode, node.formatted) for node in made.nodes} == {
        (None, None, FormatMode.STATIC, False)
    }
    assert made.retired == {directory(node_id) for node_id in (3000, 3001, 3002)}
    assert made.cluster_id == record_at(at).cluster_id
    assert made.migration is not None
    assert made.migration.saved is None


@pytest.mark.parametrize("gone", [True, False], ids=["deleted", "retained"])
def test_what_the_earlier_attempt_left_is_no_conflict(*, gone: bool) -> None:
    """The status and the retired claims of the earlier attempt do not stop the next one: it makes its volumes."""
    look = ended(gone=gone)
    record = moved(look, KEEPS).record
    again = replace(look, record=record)
    first = only(planned(again, KEEPS), WriteRecord)
    assert first.change is RecordChange.REVISION
    said = planned(replace(again, record=first.record), KEEPS)
    assert reasons(said) == {"Formatting"}
    assert {one.severity for one in said.waits} == {Severity.PROGRESS}
    assert [action.node_id for action in every(said, CreateClaim)] == [3000, 3001, 3002]
    assert {action.generation for action in every(said, CreateClaim)} == {2}


@pytest.mark.parametrize("spec", [wanted(roll_back=True), wanted(dry_run=True)], ids=["rollBack", "dryRun"])
def test_nobody_asks_for_another_attempt(spec: Desired) -> None:
    """While rollBack or dryRun is true, a rolled-back quorum is not made again."""
    assert every(planned(ended(), spec), DecideRecord) == []


def test_no_attempt_before_the_end() -> None:
    """A record that has not gone back is never made again: its disks hold metadata."""
    for at in set(EVERY) - {BACK, ALONE}:
        with pytest.raises(ValueError, match="has not gone back"):
            attempted_again(record_at(at))


# What waits meanwhile


@pytest.mark.parametrize("at", FORWARD, ids=at_name)
def test_the_release_and_the_voters_wait(at: At) -> None:
    """4.x and more controllers follow after the migration: until then both wait, and say so."""
    spec = wanted(runtime=replace(wanted().runtime, release="4.1.0"), replicas=5, finalize=True)
    found = situation(spec, look_at(at))
    assert (found.runtime.release, found.wanted) == (RELEASE, found.record.node_ids)
    told = " ".join(one.message for one in planned(look_at(at), spec).waits if one.reason == "AfterMigration")
    assert "4.1.0" in told
    assert "voters" in told


@pytest.mark.parametrize("at", [STARTS, MIGRATES, DUAL, RETURN, STOP], ids=at_name)
@pytest.mark.parametrize(
    "change", [{"access": ZooKeeperAccess(connect="elsewhere:2181")}, {"listener": "IN"}, {"protocol": "SSL"}], ids=str
)
def test_another_address_is_refused(at: At, change: dict[str, Any]) -> None:
    """ZooKeeper's address and the brokers' listener stay as the controllers were started with, and a wait says so."""
    spec = elsewhere(**change)
    look = look_at(at)
    found = situation(spec, look)
    assert found.runtime.zookeeper == BESIDE
    assert found.older == ()
    held = wait(planned(look, spec), "NotSupportedYet")
    assert held.severity is Severity.HELD
    assert "spec.zookeeper" in held.message
    assert "NotSupportedYet" not in reasons(planned(look, wanted()))


@pytest.mark.parametrize("at", [FINAL, BACK, ALONE], ids=at_name)
def test_another_address_is_nothing_at_the_end(at: At) -> None:
    """After the end the address has no effect, and after a roll back it is that of the next attempt."""
    assert "NotSupportedYet" not in reasons(planned(look_at(at), elsewhere(listener="IN")))
    record = replace(record_at(FINAL), migration=None)
    assert "NotSupportedYet" not in reasons(planned(settled(FINAL, wanted(), record), elsewhere(listener="IN")))


def elsewhere(**changes: Any) -> Desired:  # noqa: ANN401 - whatever the field holds
    """The spec with another ZooKeeper, or another listener of the brokers."""
    spec = wanted()
    assert spec.migrate is not None
    return replace(spec, migrate=replace(spec.migrate, beside=replace(spec.migrate.beside, **changes)))


# The contract


@pytest.mark.parametrize(
    ("at", "roles", "migrates", "voters", "keeper"),
    [
        (STARTS, None, "false", False, True),
        (MIGRATES, None, "true", True, True),
        (DUAL, "broker", "false", True, False),
        (FINAL, "broker", "false", True, False),
        (RETURN, None, "true", True, True),
        (STOP, None, "true", True, True),
        (LEADS, None, "true", True, True),
        (LEAVE, None, "false", False, True),
        (BACK, None, "false", False, True),
        (ALONE_STOP, None, "false", False, True),
        (ALONE, None, "false", False, True),
    ],
)
def test_what_brokers_must_have(at: At, roles: str | None, migrates: str, *, voters: bool, keeper: bool) -> None:
    """The contract of each stage: role, migration mode, static voters, and whether brokers use ZooKeeper."""
    made = contract_of(look_at(at))
    found = {each.key: each.value for each in made.settings}
    assert found.get("process.roles") == roles
    assert found["zookeeper.metadata.migration.enable"] == migrates
    assert bool(found["controller.quorum.voters"]) is voters
    assert (made.zookeeper is not None) is keeper
    level = next((each for each in made.settings if each.key == "inter.broker.protocol.version"), None)
    assert (level is not None) is keeper
    assert level is None or (level.value, level.match.value) == ("3.9,3.9-IV0", "oneOf")


def test_the_authorizer_changes_with_the_role() -> None:
    """KRaft brokers have the controllers' authorizer; with it a broker of ZooKeeper would not answer."""
    name = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    spec = wanted(runtime=replace(wanted().runtime, config=(("authorizer.class.name", name),)))
    assert follows(contract_of(look_at(DUAL, spec)))["authorizer.class.name"] == name
    for at in (STARTS, MIGRATES, RETURN):
        assert follows(contract_of(look_at(at, spec)))["authorizer.class.name"] == ACL


def revisions(*stages: At) -> list[int]:
    """The revision of the contract at each of these stages, one after the other."""
    look, found = look_at(stages[0]), []
    for at in stages:
        look = published(replace(look_at(at), contract=look.contract), wanted())
        found.append(contract_of(look).revision)
    return found


def test_the_revision_goes_up_when_brokers_must_change() -> None:
    """One new revision for migration mode and one for KRaft on the way there, and one each on the way back."""
    assert revisions(*FORWARD) == [1, 2, 3, 3]
    assert revisions(DUAL, *BACKWARD) == [1, 2, 2, 2, 3, 3]
    assert revisions(MIGRATES, *BACKWARD) == [1, 1, 1, 1, 2, 2]
    assert revisions(STARTS, *ASIDE) == [1, 1, 1, 1]


def test_no_broker_changes_after_the_end() -> None:
    """When the migration has ended, less is required, and the revision stays: no broker has to change."""
    look = look_at(FINAL, wanted(finalize=True))
    record = moved(look, wanted(finalize=True)).record
    after = published(replace(look, record=record), wanted(finalize=True))
    assert contract_of(after).revision == contract_of(look).revision
    assert contract_of(after) != contract_of(look)
    assert all(not differs(each, follows(contract_of(look))) for each in contract_of(after).settings)


def test_the_contract_is_published_after_the_controllers_stopped() -> None:
    """The brokers get their settings from the contract when no controller runs any more."""
    look = look_at(LEAVE, BACKWARD_SPEC)
    before = published(replace(look_at(LEADS), contract=Known(value=None)), wanted())
    (act,) = every(planned(replace(look, contract=before.contract), BACKWARD_SPEC), ApplyContract)
    assert act.contract.revision == 2
    assert act.contract.zookeeper is not None


# What a person reads


def test_the_plan_shows_every_stage() -> None:
    """Stage n of m, its name and sentence, and the way back."""
    for at in EVERY:
        shown = planned(look_at(at), wanted()).migration
        assert shown is not None
        assert (shown.kind, shown.name) == (at[0].kind.value, at[1])
        assert (shown.stage, shown.stages) == (at[0].index(at[1]) + 1, len(at[0].stages))
        assert ("spec.zookeeper.rollBack" in shown.way_back) is (at in (STARTS, MIGRATES, DUAL, BACK, ALONE))


def test_a_silent_driver_moves_nothing() -> None:
    """Without the leader's own report no gate opens, whatever ZooKeeper shows; nor without ZooKeeper."""
    for at in FORWARD:
        spec = wanted(finalize=True)
        look = look_at(at, spec)
        assert every(planned(replace(look, driver=SILENT), spec), DecideRecord) == [], at_name(at)
        if at != FINAL:
            assert every(planned(replace(look, zookeeper=SILENT), spec), DecideRecord) == [], at_name(at)


def test_a_report_of_another_controller_is_none() -> None:
    """Only the state that the present leader reports counts."""
    look = with_driver(look_at(STARTS), node_id=BROKERS[0])
    assert "3000 leads" in wait(planned(look, wanted()), "Migrating").message
    idle = with_driver(look_at(STARTS), active=False)
    assert every(planned(idle, wanted()), DecideRecord) == []


def test_a_controller_that_lags_holds_the_gate() -> None:
    """No stage ends while a controller does not run."""
    look = with_pod(look_at(MIGRATES), 3002, deleting=True, gate="False")
    assert every(planned(look, wanted()), DecideRecord) == [] or "3002" in str(planned(look, wanted()).verdicts)


def test_the_first_stage_is_the_one_that_is_minted() -> None:
    """A quorum beside ZooKeeper is born in the first stage of its migration."""
    made = new_record()
    assert made.migration is not None
    assert (made.migration.kind, made.migration.stage) == (ZOOKEEPER_TO_KRAFT.kind, STARTS[1])
    assert (made.static, made.phase) == (True, BootstrapPhase.FORMATTING)


@pytest.mark.parametrize("at", [MIGRATES, DUAL, RETURN], ids=at_name)
def test_a_lost_revision_does_not_lead_elsewhere(at: At) -> None:
    """Controllers that write to ZooKeeper are not made from a spec that has none, or that of another cluster."""
    look = replace(look_at(at), revisions=())
    only(planned(look, wanted()), CreateRevision)
    other = with_keeper(look, cluster_id="AAAACAAAAAgAAAAIAAAACA")
    silent = replace(look, zookeeper=Unknown(reason="connection refused"))
    for seen, spec in ((other, wanted()), (silent, wanted()), (look, replace(wanted(), migrate=None))):
        said = planned(seen, spec)
        assert not every(said, CreateRevision)
        assert "spec.zookeeper" in wait(said, "RevisionLost").message
