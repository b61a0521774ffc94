"""The gates of the migration from ZooKeeper and of its roll back: what each one allows, and each reason to refuse."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest
from tests.model.values import SILENT, key, nothing, pod, situation, view, with_the_claim
from tests.plan.beside import (
    ALONE_LEADS,
    BACK,
    COPIED,
    DUAL,
    EMPTY,
    FINAL,
    KRAFT_LEADS,
    LEADS,
    LEAVE,
    MIGRATES,
    RETURN,
    STARTS,
    STOP,
    ZOOKEEPER_LEADS,
    At,
    at_name,
    confirming,
    judged,
    look_at,
    new_record,
    stopped,
    wanted,
    with_broker,
    with_driver,
    with_keeper,
)
from tests.plan.test_from_zookeeper import KEEPS, ended

from kafka_quorum.model.contract import Contract, StoredContract
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.identity import BootstrapPhase, FormatMode, IdentityRecord
from kafka_quorum.model.ids import ClusterID, NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.names import RETIRED
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.permit import Verdict
from kafka_quorum.model.situation import Situation
from kafka_quorum.model.zookeeper import ControllerNode, DriverState, MigrationNode
from kafka_quorum.plan.guards.rule1_formats import may_start
from kafka_quorum.plan.guards.rule6_volumes import may_delete_claim
from kafka_quorum.plan.guards.rule7_zookeeper import (
    may_attempt_again,
    may_be_finalized,
    may_copy_metadata,
    may_end_quorum,
    may_finalize,
    may_give_back,
    may_leave_zookeeper,
    may_let_zookeeper_lead,
    may_roll_back,
    may_stop_controllers,
)
from kafka_quorum.plan.guards.rule8_identity import may_mint_beside
from kit.token import ABSENT

Change = Callable[[Observed], Observed]
Judge = Callable[[Situation], Verdict]
PLAIN: Final = wanted()
FINALIZES: Final = wanted(finalize=True)
TURNS: Final = wanted(roll_back=True)
OTHER: Final = ClusterID("AAAACAAAAAgAAAAIAAAACA")


def record_of(look: Observed) -> IdentityRecord:
    """The record of a look that has one."""
    assert look.record is not None
    return look.record


def unpublished(look: Observed) -> Observed:
    """The same with the contract of another stage."""
    assert isinstance(look.contract, Known)
    assert look.contract.value is not None
    old: Contract = replace(look.contract.value.contract, settings=())
    return replace(look, contract=Known(value=StoredContract(contract=old)))


def behind(look: Observed) -> Observed:
    """The same, in which controller 3002 has not caught up."""
    return replace(look, quorum=Known(value=view(record_of(look).initial, behind=[key(3002)])))


def older(look: Observed) -> Observed:
    """The same, in which controller 3001 is made from another revision."""
    pods = tuple(replace(one, revision="alpha-earlier") if one.node_id == 3001 else one for one in look.pods)
    return replace(look, pods=pods)


def one_left(look: Observed) -> Observed:
    """The same with a pod of a controller that still runs."""
    record = record_of(look)
    return replace(look, pods=(pod(record, record.nodes[0]),))


def silent_leader(look: Observed) -> Observed:
    """The same without a leader."""
    return replace(look, quorum=SILENT)


def silent_driver(look: Observed) -> Observed:
    """The same without the leader's report of the migration."""
    return replace(look, driver=Unknown(reason="no metrics"))


def finalizing(look: Observed) -> Observed:
    """The same, in which controller 3001 has left ZooKeeper: its record is an old one, from a backup."""
    (made,) = look_at(FINAL).revisions
    pods = tuple(replace(one, revision=made.name) if one.node_id == 3001 else one for one in look.pods)
    return replace(look, pods=pods, revisions=(*look.revisions, made))


def unclear(look: Observed) -> Observed:
    """The same with a copy, and nobody says whose it is."""
    return silent_driver(with_keeper(look, migration=COPIED))


def silent_keeper(look: Observed) -> Observed:
    """The same without an answer of ZooKeeper."""
    return replace(look, zookeeper=Unknown(reason="connection refused"))


def silent_broker(look: Observed) -> Observed:
    """The same, in which broker 2 cannot be asked."""
    return with_broker(look, 2, "it does not answer")


def driver(**changes: object) -> Change:
    """Other metrics of the leader."""
    return lambda look: with_driver(look, **changes)


def pool_stops(look: Observed) -> Observed:
    """The same, in which a pool stops a broker at this moment."""
    return replace(look, token=Known(value=replace(ABSENT, holder="pool/brokers", since="10:00")))


def without_registration(look: Observed) -> Observed:
    """The same, in which broker 2 is not registered in ZooKeeper."""
    assert isinstance(look.zookeeper, Known)
    left = tuple(each for each in look.zookeeper.value.brokers if each.node_id != 2)
    return with_keeper(look, brokers=left)


def keeper(**changes: object) -> Change:
    """Other content of ZooKeeper."""
    return lambda look: with_keeper(look, **changes)


def broker(**changes: str) -> Change:
    """Other settings of broker 2; `_` stands for a dot."""
    return lambda look: with_broker(look, 2, {name.replace("_", "."): value for name, value in changes.items()})


TWO_LAGS = {NodeID(2): 3}
MORE_BROKERS = {NodeID(id_): "orders-3" for id_ in (1, 2, 3, 7)}
ROWS: Final[tuple[tuple[Judge, At, Desired, Change, str], ...]] = (
    # 7-copy-metadata
    (may_copy_metadata, STARTS, PLAIN, silent_leader, "no leader"),
    (may_copy_metadata, STARTS, PLAIN, behind, "3002"),
    (may_copy_metadata, STARTS, PLAIN, older, "3001"),
    (may_copy_metadata, STARTS, PLAIN, silent_driver, "no metrics"),
    (may_copy_metadata, STARTS, PLAIN, driver(state=DriverState.NONE), "NONE"),
    (may_copy_metadata, STARTS, PLAIN, driver(state=DriverState.UNLOADED), "not loaded yet"),
    (may_copy_metadata, STARTS, PLAIN, silent_keeper, "connection refused"),
    (may_copy_metadata, STARTS, PLAIN, keeper(assigned=MORE_BROKERS), "broker 7"),
    (may_copy_metadata, STARTS, PLAIN, keeper(migration=COPIED), "delete it when the controllers have stopped"),
    (may_copy_metadata, STARTS, PLAIN, keeper(controller=KRAFT_LEADS), "KRaft controller 3000 leads"),
    (may_copy_metadata, STARTS, PLAIN, unpublished, "contract"),
    (may_copy_metadata, STARTS, PLAIN, silent_broker, "broker 2"),
    (may_copy_metadata, STARTS, PLAIN, broker(controller_quorum_voters="3000@h:1"), "controller.quorum.voters"),
    # 7-leave-zookeeper
    (may_leave_zookeeper, MIGRATES, PLAIN, silent_keeper, "connection refused"),
    (may_leave_zookeeper, MIGRATES, PLAIN, keeper(cluster_id=OTHER), OTHER),
    (may_leave_zookeeper, MIGRATES, PLAIN, unpublished, "contract"),
    (may_leave_zookeeper, MIGRATES, PLAIN, broker(zookeeper_metadata_migration_enable="false"), "broker 2"),
    (may_leave_zookeeper, MIGRATES, PLAIN, silent_broker, "broker 2"),
    (may_leave_zookeeper, MIGRATES, PLAIN, driver(state=DriverState.PRE_MIGRATION), "PRE_MIGRATION"),
    (may_leave_zookeeper, MIGRATES, PLAIN, keeper(controller=None), "/controller"),
    (may_leave_zookeeper, MIGRATES, PLAIN, keeper(controller=replace(KRAFT_LEADS, node_id=NodeID(3001))), "3000"),
    (may_leave_zookeeper, MIGRATES, PLAIN, keeper(migration=None), "/migration"),
    (may_leave_zookeeper, MIGRATES, PLAIN, keeper(migration=EMPTY), "/migration"),
    (may_leave_zookeeper, MIGRATES, PLAIN, keeper(controller=replace(KRAFT_LEADS, kraft_epoch=4)), "it leads in 5"),
    (may_leave_zookeeper, MIGRATES, PLAIN, keeper(migration=replace(COPIED, kraft_metadata_epoch=4)), "since it was"),
    (may_leave_zookeeper, MIGRATES, PLAIN, driver(lag=None), "how far"),
    (may_leave_zookeeper, MIGRATES, PLAIN, driver(lag=5000), "5000 records"),
    (may_leave_zookeeper, MIGRATES, PLAIN, driver(migrating=None), "3000 does not report how many"),
    (may_finalize, DUAL, FINALIZES, driver(migrating=None), "3000 does not report how many"),
    (may_leave_zookeeper, MIGRATES, PLAIN, driver(migrating=2), "2 of 3"),
    (may_leave_zookeeper, MIGRATES, PLAIN, keeper(assigned=MORE_BROKERS), "7"),
    (may_leave_zookeeper, MIGRATES, PLAIN, behind, "3002"),
    (may_leave_zookeeper, MIGRATES, PLAIN, keeper(behind=TWO_LAGS), "broker 2 with 3 of its partitions"),
    (may_leave_zookeeper, MIGRATES, PLAIN, keeper(behind=None), "are being read"),
    # 7-finalize
    (may_finalize, DUAL, FINALIZES, broker(process_roles=""), "broker 2"),
    (may_finalize, DUAL, FINALIZES, unpublished, "contract"),
    (may_finalize, DUAL, FINALIZES, driver(migrating=1), "1 brokers"),
    (may_finalize, DUAL, FINALIZES, silent_driver, "no metrics"),
    (may_finalize, DUAL, FINALIZES, driver(lag=5000), "5000"),
    (may_finalize, DUAL, FINALIZES, silent_keeper, "connection refused"),
    (may_finalize, DUAL, FINALIZES, behind, "3002"),
    (may_finalize, DUAL, FINALIZES, keeper(assigned=MORE_BROKERS), "brokers 7, which are not known to follow"),
    (may_copy_metadata, STARTS, confirming(PLAIN), keeper(assigned=MORE_BROKERS), "broker 7"),
    (may_finalize, DUAL, FINALIZES, keeper(behind=TWO_LAGS), "broker 2 with 3 of its partitions"),
    (may_finalize, DUAL, FINALIZES, keeper(behind=None), "are being read"),
    (may_finalize, DUAL, PLAIN, lambda look: look, "spec.zookeeper.finalize"),
    # 7-finalized
    (may_be_finalized, FINAL, FINALIZES, older, "3001"),
    (may_be_finalized, FINAL, FINALIZES, behind, "3002"),
    (may_be_finalized, FINAL, FINALIZES, driver(state=DriverState.MIGRATION), "POST_MIGRATION"),
    (may_be_finalized, FINAL, FINALIZES, silent_driver, "no metrics"),
    # 7-roll-back
    (may_roll_back, STARTS, TURNS, unclear, "not known whether"),
    (may_roll_back, DUAL, TURNS, finalizing, "pods alpha-3001-g1 run without ZooKeeper"),
    (may_roll_back, DUAL, TURNS, silent_keeper, "connection refused"),
    (may_roll_back, DUAL, TURNS, driver(state=DriverState.POST_MIGRATION), "given ZooKeeper up"),
    (may_roll_back, DUAL, TURNS, keeper(controller_epoch=None), "/controller_epoch"),
    # 7-stop-controllers
    (may_stop_controllers, RETURN, TURNS, silent_keeper, "connection refused"),
    (may_stop_controllers, RETURN, TURNS, broker(process_roles="broker"), "broker 2 is a KRaft broker"),
    (may_stop_controllers, RETURN, TURNS, silent_broker, "broker 2"),
    (may_stop_controllers, RETURN, TURNS, keeper(assigned=MORE_BROKERS), "broker 7"),
    (may_stop_controllers, RETURN, TURNS, lambda look: replace(look, brokers=SILENT), "which brokers"),
    (may_stop_controllers, RETURN, TURNS, unpublished, "not published"),
    (may_stop_controllers, RETURN, TURNS, keeper(brokers=()), "no broker is registered"),
    (may_stop_controllers, RETURN, TURNS, keeper(controller=ZOOKEEPER_LEADS), "does not name controller 3000"),
    (may_stop_controllers, RETURN, TURNS, keeper(denied=("ZooKeeper does not let us",)), "does not let us"),
    (may_stop_controllers, RETURN, TURNS, driver(lag=1), "1 records"),
    (may_stop_controllers, RETURN, TURNS, keeper(controller=replace(KRAFT_LEADS, kraft_epoch=4)), "it leads in 5"),
    (may_stop_controllers, RETURN, TURNS, keeper(migration=replace(COPIED, kraft_metadata_epoch=4)), "since it was"),
    (may_stop_controllers, STOP, TURNS, driver(lag=1), "1 records"),
    (may_stop_controllers, STOP, TURNS, silent_driver, "no metrics"),
    (may_stop_controllers, STOP, TURNS, silent_keeper, "connection refused"),
    (may_stop_controllers, STOP, TURNS, silent_leader, "delete the pods"),
    (may_stop_controllers, STOP, TURNS, keeper(controller=replace(KRAFT_LEADS, node_id=NodeID(3001))), "3000"),
    (may_stop_controllers, STOP, TURNS, keeper(controller=replace(KRAFT_LEADS, kraft_epoch=4)), "it leads in 5"),
    (may_stop_controllers, STOP, TURNS, keeper(migration=replace(COPIED, kraft_metadata_epoch=4)), "since it was"),
    (may_stop_controllers, RETURN, TURNS, pool_stops, "pool/brokers is stopping brokers since 10:00"),
    (may_stop_controllers, RETURN, TURNS, lambda look: replace(look, token=SILENT), "cannot be read"),
    (may_stop_controllers, STOP, TURNS, pool_stops, "pool/brokers is stopping brokers since 10:00"),
    (may_stop_controllers, RETURN, TURNS, driver(migrating=2), "2 of 3 brokers are registered in migration mode"),
    (may_stop_controllers, RETURN, TURNS, driver(migrating=None), "does not report how many brokers migrate"),
    (may_stop_controllers, RETURN, TURNS, without_registration, "brokers 2 have replicas, and are not registered"),
    (may_stop_controllers, RETURN, TURNS, silent_driver, "no metrics"),
    (may_stop_controllers, RETURN, TURNS, keeper(behind=TWO_LAGS), "broker 2 with 3 of its partitions"),
    (may_stop_controllers, RETURN, TURNS, keeper(behind=None), "are being read"),
    (may_stop_controllers, RETURN, TURNS, driver(state=DriverState.POST_MIGRATION), "POST_MIGRATION"),
    # 7-give-back
    (may_give_back, LEADS, TURNS, silent_keeper, "connection refused"),
    (may_give_back, LEADS, TURNS, one_left, "alpha-3000-g1"),
    (may_give_back, LEADS, TURNS, keeper(controller=replace(KRAFT_LEADS, node_id=NodeID(9))), "names 9"),
    (may_give_back, LEADS, TURNS, keeper(migration=MigrationNode(version=1, raw="{", fault="no JSON")), "no JSON"),
    (may_give_back, LEADS, TURNS, keeper(controller_epoch=None), "/controller_epoch"),
    (may_give_back, ALONE_LEADS, TURNS, keeper(controller=KRAFT_LEADS), "another quorum"),
    (may_give_back, ALONE_LEADS, TURNS, keeper(migration=COPIED), "another quorum"),
    (may_give_back, LEADS, TURNS, keeper(state_epoch=None), "being read"),
    # 7-zookeeper-leads
    (may_let_zookeeper_lead, LEADS, TURNS, silent_keeper, "connection refused"),
    (may_let_zookeeper_lead, LEADS, TURNS, one_left, "alpha-3000-g1"),
    (may_let_zookeeper_lead, LEADS, TURNS, keeper(migration=COPIED), "/migration"),
    (may_let_zookeeper_lead, LEADS, TURNS, keeper(controller=None), "no broker"),
    (may_let_zookeeper_lead, LEADS, TURNS, keeper(controller=KRAFT_LEADS), "KRaft controller"),
    (may_let_zookeeper_lead, LEADS, TURNS, keeper(brokers=()), "no registered broker"),
    # 7-end-quorum
    (may_end_quorum, LEAVE, TURNS, silent_keeper, "connection refused"),
    (may_end_quorum, LEAVE, TURNS, unpublished, "contract"),
    (may_end_quorum, LEAVE, TURNS, broker(zookeeper_metadata_migration_enable="true"), "broker 2"),
    (may_end_quorum, LEAVE, TURNS, silent_broker, "broker 2"),
    (may_end_quorum, LEAVE, TURNS, keeper(assigned=MORE_BROKERS), "7"),
    (may_end_quorum, LEAVE, TURNS, keeper(migration=EMPTY), "KRaft controller"),
    (may_end_quorum, LEAVE, TURNS, keeper(controller=KRAFT_LEADS), "KRaft controller"),
    (may_end_quorum, LEAVE, TURNS, one_left, "alpha-3000-g1"),
)


@pytest.mark.parametrize(
    ("judge", "at", "spec", "rule"),
    [
        (may_copy_metadata, STARTS, PLAIN, "7-copy-metadata"),
        (may_leave_zookeeper, MIGRATES, PLAIN, "7-leave-zookeeper"),
        (may_finalize, DUAL, FINALIZES, "7-finalize"),
        (may_be_finalized, FINAL, FINALIZES, "7-finalized"),
        (may_roll_back, STARTS, TURNS, "7-roll-back"),
        (may_roll_back, MIGRATES, TURNS, "7-roll-back"),
        (may_roll_back, DUAL, TURNS, "7-roll-back"),
        (may_stop_controllers, RETURN, TURNS, "7-stop-controllers"),
        (may_stop_controllers, STOP, TURNS, "7-stop-controllers"),
        (may_give_back, LEADS, TURNS, "7-give-back"),
        (may_give_back, ALONE_LEADS, TURNS, "7-give-back"),
        (may_let_zookeeper_lead, LEADS, TURNS, "7-zookeeper-leads"),
        (may_end_quorum, LEAVE, TURNS, "7-end-quorum"),
    ],
)
def test_allowed(judge: Judge, at: At, spec: Desired, rule: str) -> None:
    """A stage that is complete lets its gate open, with a sentence."""
    verdict = judge(judged(look_at(at, spec), spec))
    assert (verdict.allowed, verdict.rule) == (True, rule), verdict.reason
    assert verdict.reason


@pytest.mark.parametrize(("judge", "at", "spec", "change", "words"), ROWS)
def test_refused(judge: Judge, at: At, spec: Desired, change: Change, words: str) -> None:
    """One thing that is missing or unknown closes the gate, and the sentence names it."""
    verdict = judge(judged(change(look_at(at, spec)), spec))
    assert not verdict.allowed
    assert words in verdict.reason, verdict.reason


def test_what_a_confirmation_counts_for() -> None:
    """For brokers that cannot be asked the owner may confirm; a broker that reports another setting still holds."""
    for judge, at in ((may_leave_zookeeper, MIGRATES), (may_stop_controllers, RETURN), (may_end_quorum, LEAVE)):
        look = silent_broker(look_at(at))
        assert not judge(judged(look)).allowed
        assert judge(judged(look, confirming(PLAIN))).allowed
        wrong = with_broker(look_at(at), 2, {"process.roles": "broker", "zookeeper.metadata.migration.enable": "x"})
        assert not judge(judged(wrong, confirming(PLAIN))).allowed


def test_a_confirmation_counts_for_no_broker_of_zookeeper() -> None:
    """ZooKeeper is not given up while a broker is registered in it: a person may have confirmed too early."""
    added = tuple(each for each in look_at(STARTS).zookeeper.value.brokers if each.node_id == 2)  # type: ignore[union-attr]  # it is known
    look = silent_broker(look_at(DUAL, FINALIZES))
    assert may_finalize(judged(look, confirming(FINALIZES))).allowed
    verdict = may_finalize(judged(with_keeper(look, brokers=added), confirming(FINALIZES)))
    assert not verdict.allowed
    assert "brokers 2 are registered in ZooKeeper" in verdict.reason


def test_a_lost_disk_does_not_hold_the_migration() -> None:
    """A controller on a replaced disk cannot come back before the quorum is dynamic, so no gate waits for it."""
    look = look_at(STARTS)
    record = record_of(look)
    nodes = tuple(
        replace(node, mode=FormatMode.NO_INITIAL_CONTROLLERS) if node.node_id == 3002 else node for node in record.nodes
    )
    look = behind(replace(look, record=replace(record, nodes=nodes)))
    assert may_copy_metadata(judged(look)).allowed


def test_before_the_copy_zookeeper_has_everything() -> None:
    """Controllers in pre-migration have written nothing but /migration: they may stop without dual write."""
    look = with_driver(with_keeper(look_at(RETURN), controller=look_at(STARTS).zookeeper.value.controller), migrating=0)  # type: ignore[union-attr]  # it is known
    early = with_driver(look, state=DriverState.PRE_MIGRATION, lag=None)
    assert may_stop_controllers(judged(early)).allowed
    assert may_stop_controllers(judged(with_keeper(early, behind=TWO_LAGS))).allowed
    assert may_stop_controllers(judged(pool_stops(early))).allowed  # ZooKeeper's controller lets the broker go
    assert not may_stop_controllers(judged(with_keeper(early, controller=KRAFT_LEADS))).allowed


def test_the_last_controllers_do_not_wait_for_a_pool() -> None:
    """Once one has stopped, the others follow: to wait would not give the broker its controllers back."""
    look = pool_stops(look_at(STOP))
    left = replace(look, pods=tuple(one for one in look.pods if one.node_id != 3002))
    assert may_stop_controllers(judged(left, TURNS)).allowed


@pytest.mark.parametrize(
    ("leads", "allowed"),
    [
        (ZOOKEEPER_LEADS, True),
        (None, False),
        (KRAFT_LEADS, False),
        (replace(ZOOKEEPER_LEADS, node_id=NodeID(9)), False),
    ],
    ids=["a broker", "nobody", "KRaft", "a broker that is not registered"],
)
def test_zookeeper_was_given_back_before(leads: ControllerNode | None, *, allowed: bool) -> None:
    """If /migration is gone and a registered broker leads, the controllers write nothing any more: they may stop."""
    look = with_keeper(look_at(RETURN, TURNS), migration=None, controller=leads)
    assert may_stop_controllers(judged(look, TURNS)).allowed is allowed


@pytest.mark.parametrize("at", [STARTS, MIGRATES, DUAL], ids=at_name)
def test_a_roll_back_needs_zookeeper_only(at: At) -> None:
    """A leader that reports nothing prevents no roll back; nor does a missing epoch before anything was copied."""
    for change in (silent_driver, keeper(migration=None, controller_epoch=None), keeper(migration=EMPTY)):
        assert may_roll_back(judged(change(look_at(at, TURNS)), TURNS)).allowed
    uncopied = keeper(migration=EMPTY, controller_epoch=None)
    assert may_roll_back(judged(uncopied(look_at(at, TURNS)), TURNS)).allowed


def test_another_controller_of_zookeeper_stays() -> None:
    """A broker that was elected meanwhile is no reason to refuse: only what is of this quorum is deleted."""
    look = with_keeper(look_at(LEADS), migration=COPIED)
    for leads in (ZOOKEEPER_LEADS, None):
        assert may_give_back(judged(with_keeper(look, controller=leads), TURNS)).allowed


# Another attempt


@pytest.mark.parametrize(
    ("change", "spec", "words"),
    [
        (lambda look: look, TURNS, "spec.zookeeper.rollBack"),
        (lambda look: look, wanted(dry_run=True), "spec.zookeeper.dryRun"),
        (lambda look: look, wanted(migrate=None), "spec.zookeeper.rollBack"),
        (silent_keeper, KEEPS, "connection refused"),
        (one_left, KEEPS, "alpha-3000-g1"),
        (lambda look: with_the_claim(look, 3001, phase="Started"), KEEPS, "alpha-3001-g1"),
        (lambda look: replace(look, status=replace(look.status, phase=BootstrapPhase.STARTED)), KEEPS, "the status"),
        (keeper(migration=EMPTY), KEEPS, "KRaft controller"),
        (keeper(controller=KRAFT_LEADS), KEEPS, "KRaft controller"),
        (lambda look: replace(look, quorum=Known(value=view([key(3000)]))), KEEPS, "a quorum answers"),
        (lambda look: replace(look, record=look_at(LEAVE).record), KEEPS, "not complete"),
    ],
)
def test_no_other_attempt(change: Change, spec: Desired, words: str) -> None:
    """Every trace of the earlier quorum, and a request against it, refuses another attempt."""
    look = ended(gone=False)
    assert may_attempt_again(judged(look, KEEPS)).allowed
    verdict = may_attempt_again(judged(change(look), spec))
    assert (verdict.allowed, verdict.rule) == (False, "7-attempt-again")
    assert words in verdict.reason, verdict.reason


def test_a_claim_that_is_being_deleted_is_no_trace() -> None:
    """A claim that goes away does not delay another attempt: the next one has another name."""
    look = with_the_claim(ended(gone=False), 3001, phase="Started", deleting=True)
    assert may_attempt_again(judged(look, KEEPS)).allowed


# Other rules


def test_the_barrier_waits_for_the_preflight() -> None:
    """Rule 1: the controllers of a migration start only if nothing is in its way; their start writes to ZooKeeper."""
    look = with_keeper(look_at(STARTS), migration=None)
    record = record_of(look)
    ready = replace(record, phase=BootstrapPhase.FORMATTING)
    look = replace(look, pods=(), record=ready)
    assert may_start(judged(look), ready.nodes, "alpha").allowed
    for change, spec in ((keeper(controller=None), PLAIN), (keeper(), TURNS), (keeper(), wanted(dry_run=True))):
        verdict = may_start(judged(change(look), spec), ready.nodes, "alpha")
        assert (verdict.allowed, verdict.rule) == (False, "1-start")


@pytest.mark.parametrize(
    ("changes", "pods", "words"),
    [
        ({"cluster_id": OTHER}, False, OTHER),
        ({"phase": "Started"}, False, "not marked as retired"),
        ({}, True, "alpha-3000-g1"),
        ({"kept": True}, False, "data was found"),
    ],
)
def test_a_claim_of_an_ended_quorum(changes: dict[str, object], words: str, *, pods: bool) -> None:
    """Rule 6: after a roll back a claim goes if it is ours, retired, not kept, and no pod uses it; else it stays."""
    look = with_the_claim(look_at(BACK), 3000, phase=RETIRED)
    assert may_delete_claim(judged(look), look.claims[0]).allowed
    look = with_the_claim(one_left(look) if pods else look, 3000, **changes)
    verdict = may_delete_claim(judged(look), look.claims[0])
    assert (verdict.allowed, verdict.rule) == (False, "6-delete-volume")
    assert words in verdict.reason


def test_no_claim_goes_before_the_end_of_a_roll_back() -> None:
    """Rule 6: without a leader and before the end, no claim is deleted, even a retired one."""
    look = with_the_claim(stopped(look_at(LEADS)), 3000, phase=RETIRED)
    assert not may_delete_claim(judged(look), look.claims[0]).allowed


@pytest.mark.parametrize(
    ("look", "words"),
    [
        (replace(nothing(), zookeeper=Unknown(reason="connection refused")), "connection refused"),
        (replace(look_at(STARTS), record=None), "traces"),
        (replace(nothing(), record=new_record(), zookeeper=look_at(STARTS).zookeeper), "identity ConfigMap"),
    ],
)
def test_no_identity_beside_traces(look: Observed, words: str) -> None:
    """Rule 8: with any trace of an earlier quorum, or without ZooKeeper, no identity is made."""
    verdict = may_mint_beside(PLAIN, look)
    assert (verdict.allowed, verdict.rule) == (False, "8-mint-beside")
    assert words in verdict.reason


def test_a_stale_znode_is_no_reason_against_the_identity() -> None:
    """The identity and the volumes are made before the preflight is clean; the start waits for it."""
    look = replace(nothing(), zookeeper=look_at(STARTS).zookeeper)
    assert may_mint_beside(PLAIN, look).allowed


def test_another_quorum_asks_no_zookeeper() -> None:
    """The start of a quorum of another mode depends on no preflight."""
    plain = situation()
    ready = replace(plain.record, phase=BootstrapPhase.FORMATTING)
    look = replace(plain.observed, pods=(), record=ready)
    assert may_start(situation(observed=look), ready.nodes, "alpha").allowed
