"""The stage of a migration from ZooKeeper, if the record was lost: it follows from the contract and the revisions."""

from dataclasses import replace

import pytest
from tests.model.values import NO_STATUS
from tests.plan.beside import (
    ALONE_STOP,
    BACK,
    COPIED,
    DUAL,
    FINAL,
    KRAFT_LEADS,
    LEADS,
    LEAVE,
    MIGRATES,
    RETURN,
    STARTS,
    STOP,
    At,
    at_name,
    contract_of,
    look_at,
    new_record,
    record_at,
    stopped,
    wanted,
    with_keeper,
)
from tests.plan.reading import only, planned, wait

from kafka_quorum.model.actions import WriteRecord
from kafka_quorum.model.desired import BootstrapMode, Desired
from kafka_quorum.model.identity import BootstrapPhase, FormatMode, IdentityRecord
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.migration import MIGRATIONS
from kafka_quorum.model.observed import Observed
from kafka_quorum.plan.identity.rebuilt_stage import rebuilt_migration

TURNS = wanted(roll_back=True)


def rebuilt(look: Observed, *, back: bool) -> IdentityRecord:
    """The record that the plan writes for this look, whose record is lost."""
    return only(planned(replace(look, record=None), TURNS if back else wanted()), WriteRecord).record


@pytest.mark.parametrize(
    ("at", "back", "gone", "stage"),
    [
        (STARTS, False, False, STARTS),
        (MIGRATES, False, False, MIGRATES),
        (DUAL, False, False, DUAL),
        (FINAL, False, False, FINAL),
        (STARTS, True, False, STARTS),
        (MIGRATES, True, False, RETURN),
        (DUAL, True, False, DUAL),
        (FINAL, True, False, FINAL),
        (RETURN, True, False, RETURN),
        (STOP, True, True, STOP),
        (LEADS, True, True, STOP),
        (LEAVE, True, True, ALONE_STOP),
        (BACK, True, True, ALONE_STOP),
        (ALONE_STOP, True, True, ALONE_STOP),
    ],
)
def test_the_stage(at: At, stage: At, *, back: bool, gone: bool) -> None:
    """No case leads to a stage in which more was given up than before: the gates find the way from there again."""
    look = look_at(at, TURNS if back else wanted())
    made = rebuilt(stopped(look) if gone else look, back=back)
    assert made.migration is not None
    assert (MIGRATIONS[made.migration.kind], made.migration.stage) == stage, at_name(at)
    assert (made.static, made.migration.release) == (True, "3.9.2")
    assert made.format.mode is record_at(at).format.mode
    assert {node.mode for node in made.nodes} == {FormatMode.STATIC}


def test_before_the_barrier() -> None:
    """A quorum that never started is at the first stage."""
    record = new_record()
    look = replace(look_at(STARTS), record=record, pods=())
    status = replace(look.status, phase=BootstrapPhase.FORMATTING, initial=(), controllers=())
    claims = tuple(replace(claim, phase="Formatting", directory_id=None) for claim in look.claims)
    made = rebuilt(replace(look, status=status, claims=claims), back=False)
    assert made.migration is not None
    assert (made.phase, made.migration.stage) == (BootstrapPhase.FORMATTING, STARTS[1])


def test_after_the_end() -> None:
    """Controllers that neither use ZooKeeper nor report metrics have ended their migration."""
    look = look_at(FINAL)
    (made,) = look.revisions
    ended = replace(made, runtime=replace(made.runtime, measured=False))
    record = rebuilt(replace(look, revisions=(ended,)), back=False)
    assert (record.migration, record.static) == (None, True)


@pytest.mark.parametrize("lost", ["the revision", "the contract", "an unreadable contract"])
def test_a_stage_that_cannot_be_known(lost: str) -> None:
    """Without the contract, or without what the controllers run, nothing is rebuilt: a person restores a backup."""
    look = replace(look_at(DUAL), record=None)
    if lost == "the revision":
        look = replace(look, revisions=())
    else:
        unknown = Unknown(reason="it cannot be read")
        look = replace(look, contract=Known(value=None) if lost == "the contract" else unknown)
    said = planned(look, wanted())
    assert said.actions == ()
    assert "estore" in wait(said, "IdentityLost").message


def test_other_quorums_have_none() -> None:
    """The record of a quorum of another mode is rebuilt without a stage."""
    plain = replace(wanted(), bootstrap=type(wanted().bootstrap).STATIC)
    assert rebuilt_migration(plain, look_at(DUAL), None, started=True) is None
    assert NO_STATUS.cluster_id is None


def lost(look: Observed, spec: Desired | None = None) -> str:
    """Why the plan does not rebuild the record of this look; it does nothing else either."""
    said = planned(replace(look, record=None), spec or wanted())
    assert said.actions == ()
    return wait(said, "IdentityLost").message


@pytest.mark.parametrize("at", [MIGRATES, DUAL, STARTS], ids=at_name)
def test_an_end_of_an_earlier_attempt(at: At) -> None:
    """A status that was restored says that an earlier attempt ended: the controllers of this one are not stopped."""
    look = look_at(at)
    look = replace(look, status=replace(look.status, ended=True))
    assert "a controller has a pod" in lost(look)
    if at != STARTS:
        assert "brokers migrate" in lost(stopped(look))
    assert "without the broker contract" in lost(stopped(replace(look, contract=Known(value=None))))


def test_an_end_that_is_the_present_one() -> None:
    """A quorum that ended, and lost its record, has ended."""
    look = look_at(BACK)
    made = rebuilt(replace(look, status=replace(look.status, ended=True)), back=False)
    assert made.has_ended


def test_a_status_from_before_the_roll_back() -> None:
    """An old status says that the migration goes on, and ZooKeeper was given back: no controller starts again."""
    look = look_at(LEADS)
    assert contract_of(look).zookeeper is not None
    assert "may have stopped them" in lost(look)
    look = replace(look, status=replace(look.status, migration="ZooKeeperToKRaft"))
    assert "/migration is gone" in lost(look)
    assert "being read" in lost(replace(look, zookeeper=Unknown(reason="it is being read")))
    assert "cluster id none" in lost(with_keeper(look, cluster_id="", migration=COPIED))
    made = rebuilt(with_keeper(look, controller=KRAFT_LEADS, migration=COPIED), back=False)
    assert made.migration is not None
    assert (MIGRATIONS[made.migration.kind], made.migration.stage) == MIGRATES


def test_in_the_middle_of_the_end() -> None:
    """One of three controllers runs without ZooKeeper: a roll back would wait for ever once it is elected."""
    look, end = look_at(DUAL, TURNS), look_at(FINAL)
    (final,) = end.revisions
    pods = (*look.pods[:2], replace(look.pods[2], revision=final.name))
    made = rebuilt(replace(look, revisions=(*look.revisions, final), pods=pods), back=True)
    assert made.migration is not None
    assert made.migration.stage == FINAL[1]


def test_another_mode_in_the_spec() -> None:
    """Without the stage the controllers would restart without ZooKeeper: the mode of the spec does not decide that."""
    for mode in (BootstrapMode.STATIC, BootstrapMode.INITIAL_CONTROLLERS):
        assert "spec.bootstrap.mode" in lost(look_at(DUAL), replace(wanted(), bootstrap=mode))
