"""Migrations: which stage a quorum is in, what each gate waits for, what waits meanwhile, and what may be reverted."""

from dataclasses import fields, replace

import pytest
from tests.model.values import (
    CLUSTER,
    SILENT,
    desired,
    node,
    operation,
    pod,
    revision,
    running,
    runtime,
    saying,
    situation,
    speaking,
    stepping,
    view,
)
from tests.plan.reading import only, planned, reasons, verdict, wait

from kafka_quorum.api.features import KRAFT
from kafka_quorum.model.actions import ApplyContract, BeginFeatureStep, DecideRecord, RecordChange, WriteRecord
from kafka_quorum.model.admission import Admission, PodQuestion
from kafka_quorum.model.contract import Contract, Match, StoredContract
from kafka_quorum.model.desired import BootstrapMode, Desired, FeatureLevel
from kafka_quorum.model.identity import BootstrapPhase, FormatMode, IdentityRecord, with_migration
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.migration import (
    MIGRATIONS,
    ROLLED_BACK,
    STATIC_TO_DYNAMIC,
    FoundBy,
    Keeper,
    Listens,
    MigrationKind,
    Overlay,
    Reached,
    is_known,
)
from kafka_quorum.model.names import inputs_hash, revision_name
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.permit import Verdict
from kafka_quorum.model.plan import Plan, Severity
from kafka_quorum.model.record_faults import fault_of
from kafka_quorum.model.registered import BrokerAccess, BrokerSeen
from kafka_quorum.plan.facts.contract import due_contract
from kafka_quorum.plan.guards.rule7_migrations import (
    may_begin_migration,
    may_end_at_brokers,
    may_leave_controllers,
    may_revert_level,
)
from kafka_quorum.plan.migrations.engine import WAYS, migration_plan, migrations
from kafka_quorum.plan.migrations.way import Way
from kafka_quorum.plan.order import CONCERNS

VOTERS = "controller.quorum.voters"
ASKED = (FeatureLevel(name=KRAFT, level=1),)
RAISE, CONTROLLERS, BROKERS = (stage.name for stage in STATIC_TO_DYNAMIC.stages)


def wanted(**changes: object) -> Desired:
    """A static quorum that is asked for kraft.version 1."""
    return desired(**{"bootstrap": BootstrapMode.STATIC, "features": ASKED, **changes})


def at(stage: str | None) -> IdentityRecord:
    """The record of a running quorum at this stage; None for a static quorum before the migration."""
    record = replace(running(), static=True)
    if stage is not None:
        made = runtime()
        reached = Reached(kind=MigrationKind.STATIC_TO_DYNAMIC, stage=stage, release=made.release, image=made.image)
        record = with_migration(record, reached)
    static = record.node_ids if record.static else ()
    return replace(record, applied_revision=named(runtime(static_voters=static)))


def named(made: object) -> str:
    """The name of the revision of this runtime."""
    return revision_name("alpha", inputs_hash(made))  # type: ignore[arg-type]  # a Runtime


def look_at(stage: str | None, *, kraft: int, raised: bool | None = None) -> Observed:
    """A quorum at rest at this stage, with its level and its contract."""
    record = at(stage)
    made = revision(runtime(static_voters=record.node_ids if record.static else ()))
    look = speaking(record, saying(kraft_version=kraft), revisions=(made,))
    static = kraft == 0 if raised is None else not raised
    look = replace(look, quorum=Known(value=replace(view(record.initial), static=static)))
    return published(look)


def published(look: Observed) -> Observed:
    """The same look with the contract that is due, and no broker."""
    due = due_contract(situation(wanted(), look), None, may_go_down=False)
    return replace(look, contract=Known(value=StoredContract(contract=due)), brokers=Known(value=()))


def moved(look: Observed, spec: Desired | None = None) -> DecideRecord:
    """The write that the migration's concern asks for."""
    write = migrations(situation(spec or wanted(), look)).exclusive
    assert isinstance(write, DecideRecord)
    return write


def stage_of(write: DecideRecord) -> str | None:
    """The stage that a write sets; None for none."""
    return None if write.record.migration is None else write.record.migration.stage


def held(verdict: Verdict, rule: str, *mentioned: object) -> None:
    """The guard refuses, and mentions these."""
    assert (verdict.rule, verdict.allowed) == (rule, False)
    assert all(str(each) in verdict.reason for each in mentioned), verdict.reason


def passed(verdict: Verdict, rule: str) -> None:
    """The guard allows."""
    assert (verdict.rule, verdict.allowed) == (rule, True), verdict.reason


# The data


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.migration.kind.value)
def test_every_migration_is_complete(way: Way) -> None:
    """Each has unique stages with sentences, a gate out of each, and a way back wherever it says that there is one.

    From the end of a roll back, the way back is the gate onwards: the migration begins again.
    """
    migration = way.migration
    names = [stage.name for stage in migration.stages]
    assert len(set(names)) == len(names) == len(way.gates)
    assert all(stage.sentence for stage in migration.stages)
    ends = [stage.name == ROLLED_BACK for stage in migration.stages]
    assert [bool(stage.way_back) for stage in migration.stages] == [
        back is not None or end for back, end in zip(way.backs, ends, strict=True)
    ]
    assert MIGRATIONS[migration.kind] is migration
    with pytest.raises(ValueError, match=migration.kind.value):
        replace(way, gates=way.gates[1:])


def test_a_controller_loses_a_setting_before_the_brokers_do() -> None:
    """In no stage have brokers less than the controllers, which lose a setting first.

    Without static voters at the brokers there are none at the controllers; and while a broker uses ZooKeeper beside
    KRaft controllers that run, these write to ZooKeeper.
    """
    for stage in (stage for migration in MIGRATIONS.values() for stage in migration.stages):
        controllers, brokers = stage.controllers, stage.brokers
        assert controllers.found_by is FoundBy.BOOTSTRAP or brokers.found_by is FoundBy.VOTERS
        assert brokers.keeper not in (Keeper.PLAIN, Keeper.MIGRATES) or controllers.keeper is Keeper.MIGRATES
        assert (brokers.stopped, brokers.measured) == (False, False)
        assert controllers.listens in HAS[brokers.listens]
    known = ["found_by", "keeper", "stopped", "measured", "listens", "signed_by_new"]
    assert [field.name for field in fields(Overlay)] == known


HAS = {
    Listens.PRESENT: {Listens.PRESENT},
    Listens.OLD_FIRST: {Listens.OLD_FIRST, Listens.NEW_FIRST},
    Listens.NEW: {Listens.OLD_FIRST, Listens.NEW_FIRST, Listens.NEW},
}
"""The controllers that have the listener of these brokers."""


def test_only_known_stages_are_known() -> None:
    """A kind or a stage of a later version is not known, nor is text of any other type."""
    assert is_known("StaticToDynamic", CONTROLLERS)
    assert not is_known("StaticToDynamic", "Later")
    assert not is_known("Later", CONTROLLERS)
    assert not is_known(None, CONTROLLERS)
    assert not is_known(["StaticToDynamic"], {})


def test_a_record_that_contradicts_its_stage_is_not_valid() -> None:
    """A static quorum is not at a stage without static voters, nor the other way round."""
    assert fault_of(at(CONTROLLERS)) is None
    assert CONTROLLERS in str(fault_of(replace(at(CONTROLLERS), static=True)))
    assert RAISE in str(fault_of(replace(at(RAISE), static=False)))


# The way through


def test_it_begins_when_it_is_asked_for() -> None:
    """Asked for kraft.version 1, a static quorum begins at the first stage, with the release of the spec."""
    write = moved(look_at(None, kraft=0))
    assert (write.change, stage_of(write), write.record.static) == (RecordChange.MIGRATION_BEGUN, RAISE, True)
    assert write.record.migration is not None
    assert write.record.migration.release == runtime().release


@pytest.mark.parametrize(
    "record",
    [
        at(None),
        replace(at(None), static=False, applied_revision=named(runtime())),
        replace(at(None), phase=BootstrapPhase.FORMATTING, had_leader=False),
    ],
    ids=["not asked", "dynamic", "before the barrier"],
)
def test_it_does_not_begin_by_itself(record: IdentityRecord) -> None:
    """Without a request, on a dynamic quorum, or before the barrier, no migration begins, and none is shown."""
    look = replace(look_at(None, kraft=0), record=record, pods=())
    look = replace(look, revisions=(*look.revisions, revision(runtime())))
    said = planned(look, wanted(features=()))
    assert not any(isinstance(action, DecideRecord) for action in said.actions)
    assert said.migration is None


def test_the_level_is_raised_in_the_first_stage_only() -> None:
    """The feature step begins in the first stage; before it, the request alone begins the migration."""
    assert not any(isinstance(action, BeginFeatureStep) for action in planned(look_at(None, kraft=0), wanted()).actions)
    said = planned(look_at(RAISE, kraft=0), wanted())
    assert not any(isinstance(action, DecideRecord) for action in said.actions)
    assert {"SteppingFeature", "Soaking"} & reasons(said)


def test_static_voters_are_given_up() -> None:
    """When no controller uses the static voters any more, the record drops them, and the roll follows from it."""
    write = moved(look_at(RAISE, kraft=1))
    assert (write.change, stage_of(write), write.record.static) == (RecordChange.DYNAMIC, CONTROLLERS, False)


def test_static_voters_stay_until_then() -> None:
    """Finalized alone is not enough: 3.9 finalizes kraft.version 1 on a quorum that stays static."""
    said = planned(look_at(RAISE, kraft=1, raised=False), wanted())
    assert not verdict(said, "7-drop-static").allowed
    assert VOTERS in wait(said, "Migrating").message


@pytest.mark.parametrize("static", [True, False])
def test_a_quorum_that_is_past_the_first_stage_begins_at_the_second(static: bool) -> None:  # noqa: FBT001 - a column
    """Adopted, or changed by an earlier version: with kraft.version 1 and the setting left, it begins there."""
    look = look_at(None, kraft=1)
    assert look.record is not None
    look = replace(look, record=replace(look.record, static=static))
    assert shown(planned(look, wanted(features=()))) == (0, 3, "NotBegun")
    write = moved(look, wanted(features=()))
    assert (write.change, stage_of(write), write.record.static) == (RecordChange.DYNAMIC, CONTROLLERS, False)


def test_a_migration_entered_in_the_middle_keeps_what_runs() -> None:
    """With a release in the spec that never ran, it keeps that of the controllers: a correction needs no release."""
    look, asked = look_at(None, kraft=1), wanted(features=(), runtime=runtime(release="3.9.0", image="another"))
    write = moved(look, asked)
    assert write.record.migration is not None
    assert (write.record.migration.release, write.record.migration.image) == (runtime().release, runtime().image)
    after = replace(look, record=write.record)
    assert "OlderImage" not in reasons(planned(after, wanted(features=()))) | reasons(planned(after, asked))


def test_the_controllers_are_first() -> None:
    """When every controller runs without the setting, the brokers' stage begins; while one has it, it does not."""
    write = moved(look_at(CONTROLLERS, kraft=1))
    assert (write.change, stage_of(write)) == (RecordChange.MIGRATION_STAGE, BROKERS)
    look = look_at(CONTROLLERS, kraft=1)
    assert look.record is not None
    old = revision(runtime(static_voters=look.record.node_ids), number=1)
    mixed = tuple(replace(one, revision=old.name) if one.node_id == NodeID(3002) else one for one in look.pods)
    said = planned(replace(look, pods=mixed, revisions=(*look.revisions, old)), wanted())
    assert not verdict(said, "7-controllers-follow").allowed
    assert "3002" in verdict(said, "7-controllers-follow").reason


def test_it_ends_when_the_brokers_follow() -> None:
    """With the new contract published and every broker on it, the record has no migration any more."""
    write = moved(look_at(BROKERS, kraft=1))
    assert (write.change, stage_of(write), write.record.static) == (RecordChange.MIGRATION_DONE, None, False)


def test_the_contract_follows_the_stages() -> None:
    """Brokers keep the voters until no controller has them; then they must not have them, and the revision goes up."""
    for stage, keeps in ((None, True), (RAISE, True), (CONTROLLERS, True), (BROKERS, False)):
        look = look_at(stage, kraft=int(stage not in {None, RAISE}))
        due = due_contract(situation(wanted(), look), None, may_go_down=False)
        setting = due.setting(VOTERS)
        assert setting is not None
        assert (setting.match is Match.EQUALS) is keeps
        assert (VOTERS in due.next_step) is (stage in {RAISE, CONTROLLERS})
    before = published(look_at(CONTROLLERS, kraft=1))
    after = replace(look_at(BROKERS, kraft=1), contract=before.contract)
    write = only(planned(after, wanted()), ApplyContract)
    assert isinstance(before.contract, Known)
    assert before.contract.value is not None
    assert write.contract.revision == before.contract.value.contract.revision + 1


# What each gate waits for


def begin(look: Observed, lacks: str = "") -> Verdict:
    """The verdict on beginning."""
    return may_begin_migration(situation(wanted(), look), "to test", lacks)


STILL = look_at(None, kraft=0)
FIRST = at(None).initial
PARTED = replace(STILL, quorum=Known(value=replace(view(FIRST, behind=FIRST[2:]), static=True)))


@pytest.mark.parametrize(
    ("look", "lacks"),
    [
        (replace(STILL, quorum=SILENT), ""),
        (STILL, "every controller must run another release"),
        (replace(STILL, status=replace(STILL.status, open=operation(FIRST[0]))), ""),
        (replace(STILL, status=replace(STILL.status, open=stepping("metadata.version", 33))), ""),
        (replace(STILL, pods=STILL.pods[1:]), ""),
        (PARTED, ""),
        (replace(STILL, brokers=Unknown(reason="no broker answers")), ""),
    ],
    ids=["no leader", "lacks", "voter change", "feature step", "a pod is missing", "one lags", "brokers unknown"],
)
def test_it_begins_beside_nothing_else(look: Observed, lacks: str) -> None:
    """Without a leader, beside another change or a controller that is not well, or with unknown brokers: not yet."""
    passed(begin(STILL), "7-begin-migration")
    held(begin(look, lacks), "7-begin-migration", *((lacks,) if lacks else ()))


def test_it_does_not_begin_during_a_roll() -> None:
    """While a controller is not made from the present spec, no migration begins: the roll is completed first."""
    said = planned(STILL, wanted(runtime=runtime(heap="1Gi")))
    assert not any(
        isinstance(action, DecideRecord) and action.change is RecordChange.MIGRATION_BEGUN for action in said.actions
    )


def test_what_a_person_must_do_is_held() -> None:
    """A release that is too old, and brokers that do not conform, wait for a person; a roll only needs time."""
    old = replace(
        STILL, versions=tuple((id_, Known(value=saying("3.9.2", kraft_version=0))) for id_, _ in STILL.versions)
    )
    assert wait(planned(old, wanted()), "MigrationHeld").severity is Severity.HELD
    unknown = replace(STILL, brokers=Unknown(reason="no broker answers"))
    assert "no broker answers" in wait(planned(unknown, wanted()), "MigrationHeld").message
    asked = replace(STILL, brokers=Unknown(reason="the brokers are being asked"))
    assert wait(planned(asked, wanted()), "Migrating").severity is Severity.PROGRESS
    parted = planned(PARTED, wanted())
    assert wait(parted, "Migrating").severity is Severity.PROGRESS


def test_the_controllers_gate() -> None:
    """Every controller must run from the revision of the stage, and be caught up; without a leader that is unknown."""
    look = look_at(CONTROLLERS, kraft=1)
    passed(may_leave_controllers(situation(wanted(), look)), "7-controllers-follow")
    held(may_leave_controllers(situation(wanted(), replace(look, quorum=SILENT))), "7-controllers-follow")
    held(may_leave_controllers(situation(wanted(), replace(look, pods=look.pods[1:]))), "7-controllers-follow")


def brokers_gate(look: Observed, spec: Desired | None = None) -> Verdict:
    """The verdict on ending."""
    return may_end_at_brokers(situation(spec or wanted(), look))


def test_the_brokers_gate() -> None:
    """Brokers are judged by the contract of this stage: one that still has the voters, or cannot be asked, holds it."""
    look = look_at(BROKERS, kraft=1)
    passed(brokers_gate(look), "7-brokers-follow")
    assert isinstance(look.contract, Known)
    assert look.contract.value is not None
    contract: Contract = look.contract.value.contract
    has = {setting.key: setting.value for setting in contract.settings}
    well = BrokerSeen(node_id=NodeID(7), settings=Known(value=has), metadata_max=None)
    old = replace(well, settings=Known(value={**has, VOTERS: "3000@a:9093"}))
    silent = replace(well, settings=Unknown(reason="it does not answer"))
    passed(brokers_gate(replace(look, brokers=Known(value=(well,)))), "7-brokers-follow")
    held(brokers_gate(replace(look, brokers=Known(value=(old,)))), "7-brokers-follow", VOTERS, 7)
    held(brokers_gate(replace(look, brokers=Known(value=(silent,)))), "7-brokers-follow", 7)
    held(brokers_gate(replace(look, brokers=Unknown(reason="gone"))), "7-brokers-follow")
    confirmed = wanted(broker_access=BrokerAccess(confirmed_revision=contract.revision))
    passed(brokers_gate(replace(look, brokers=Known(value=(silent,))), confirmed), "7-brokers-follow")


def test_brokers_are_not_judged_by_the_contract_before() -> None:
    """A broker that follows the stored contract does not end the migration while that contract is the earlier one."""
    look = look_at(BROKERS, kraft=1)
    earlier = replace(look, contract=look_at(CONTROLLERS, kraft=1).contract)
    held(brokers_gate(earlier), "7-brokers-follow")
    confirmed = wanted(broker_access=BrokerAccess(confirmed_revision=1))
    held(brokers_gate(earlier, confirmed), "7-brokers-follow")
    held(brokers_gate(replace(look, contract=Unknown(reason="not read"))), "7-brokers-follow")
    held(brokers_gate(replace(look, contract=Known(value=None))), "7-brokers-follow")


@pytest.mark.parametrize("stage", [None, RAISE, BROKERS])
def test_no_gate_believes_another_contract(stage: str | None) -> None:
    """A contract that somebody changed, and that cannot be written again, shows nothing of a broker that follows it."""
    look = look_at(stage, kraft=int(stage is not None))
    assert isinstance(look.contract, Known)
    assert look.contract.value is not None
    well = {setting.key: setting.value for setting in look.contract.value.contract.settings}
    edited = replace(look.contract.value.contract, settings=())
    seen = BrokerSeen(node_id=NodeID(7), settings=Known(value=well), metadata_max=None)
    assert moved(replace(look, brokers=Known(value=(seen,)))).record != look.record
    look = replace(look, brokers=Known(value=(replace(seen, settings=Known(value={})),)))
    look = replace(look, contract=Known(value=StoredContract(contract=edited)))
    assert migrations(situation(wanted(), look)).exclusive is None


def test_a_lost_contract_comes_back_above_what_was_confirmed() -> None:
    """A confirmation of a contract that is lost, as its revision in the status is, counts for no later one."""
    look = replace(look_at(BROKERS, kraft=1), contract=Known(value=None))
    confirmed = wanted(broker_access=BrokerAccess(confirmed_revision=4))
    assert only(planned(look, confirmed), ApplyContract).contract.revision == 5
    assert only(planned(look, wanted()), ApplyContract).contract.revision == 1


def test_a_revision_that_was_set_back_rises_again() -> None:
    """The revision of a contract that somebody edited is that of the status at least."""
    look = look_at(BROKERS, kraft=1)
    look = replace(look, status=replace(look.status, contract_revision=6))
    assert only(planned(look, wanted()), ApplyContract).contract.revision == 6


def test_a_release_that_stays_static_is_held() -> None:
    """At kraft.version 1 on 3.9 a quorum stays static for good: the wait names the release that ends it."""
    look = look_at(None, kraft=1, raised=False)
    assert wait(planned(look, wanted()), "Migrating").severity is Severity.PROGRESS
    old = tuple((id_, Known(value=saying("3.9.2", kraft_version=1))) for id_, _ in look.versions)
    told = wait(planned(replace(look, versions=old), wanted()), "MigrationHeld")
    assert "4.1 or later" in told.message


def test_it_waits_for_brokers_under_a_condition() -> None:
    """The plan holds, names the broker and the revision's way out, and changes nothing else."""
    silent = BrokerSeen(node_id=NodeID(7), settings=Unknown(reason="it does not answer"), metadata_max=None)
    said = planned(replace(look_at(BROKERS, kraft=1), brokers=Known(value=(silent,))), wanted())
    assert "broker 7" in wait(said, "MigrationHeld").message
    assert "confirmedRevision" in wait(said, "MigrationHeld").message
    assert said.actions == ()


# Back


def test_it_is_reverted_before_the_level_is_raised() -> None:
    """If the request is taken back at kraft.version 0, the record has no migration, and the quorum stays static."""
    write = moved(look_at(RAISE, kraft=0), wanted(features=()))
    assert (write.change, stage_of(write), write.record.static) == (RecordChange.MIGRATION_REVERTED, None, True)


@pytest.mark.parametrize("stage", [RAISE, CONTROLLERS, BROKERS])
def test_it_goes_on_after_the_level_is_raised(stage: str) -> None:
    """At kraft.version 1 there is no way back: without the request, the migration goes on."""
    write = moved(look_at(stage, kraft=1), wanted(features=()))
    assert write.change in {RecordChange.DYNAMIC, RecordChange.MIGRATION_STAGE, RecordChange.MIGRATION_DONE}


def test_an_unknown_level_is_not_reverted() -> None:
    """Without a leader, without its report, or while the step may have been sent, nothing is reverted."""
    look = look_at(RAISE, kraft=0)
    spec = wanted(features=())

    def back(changed: Observed) -> Verdict:
        return may_revert_level(situation(spec, changed))

    passed(back(look), "7-revert-migration")
    held(back(replace(look, quorum=SILENT)), "7-revert-migration")
    silent = replace(look, versions=tuple((id_, Unknown(reason="silent")) for id_, _ in look.versions))
    held(back(silent), "7-revert-migration")
    held(back(look_at(RAISE, kraft=1)), "7-revert-migration", KRAFT, 1)
    open_ = replace(look, status=replace(look.status, open=stepping(KRAFT, 1)))
    held(back(open_), "7-revert-migration")


# What waits meanwhile


@pytest.mark.parametrize("stage", [RAISE, CONTROLLERS, BROKERS])
def test_the_release_stays(stage: str) -> None:
    """Another release is rolled out after the migration: until then pods are made from that of its beginning."""
    look = look_at(stage, kraft=int(stage != RAISE))
    newer = wanted(runtime=runtime(release="4.5.0", image="another"))
    found = situation(newer, look)
    assert (found.runtime.release, found.runtime.image) == (runtime().release, runtime().image)
    said = planned(look, newer)
    assert any("4.5.0" in one.message and one.reason == "AfterMigration" for one in said.waits)


def test_an_image_of_the_same_release_follows_the_spec() -> None:
    """An image that cannot be pulled any more can be replaced in the middle of a migration."""
    look = look_at(CONTROLLERS, kraft=1)
    found = situation(wanted(runtime=runtime(image="registry.example/kafka:mirror")), look)
    assert found.runtime.image == "registry.example/kafka:mirror"


def test_a_replaced_image_stays_beside_another_release() -> None:
    """While another release waits, pods are made with the image that ran last, not with the one of the beginning."""
    look, mirrored = look_at(CONTROLLERS, kraft=1), revision(runtime(image="registry.example/kafka:mirror"))
    assert look.record is not None
    look = replace(look, record=replace(look.record, applied_revision=mirrored.name), revisions=(mirrored,))
    found = situation(wanted(runtime=runtime(release="4.5.0", image="another")), look)
    assert (found.runtime.release, found.runtime.image) == (runtime().release, "registry.example/kafka:mirror")


@pytest.mark.parametrize("stage", [RAISE, CONTROLLERS, BROKERS])
def test_the_voters_stay(stage: str) -> None:
    """Controllers are added and removed after the migration; those that there are stay wanted."""
    look = look_at(stage, kraft=int(stage != RAISE))
    five = wanted(replicas=5)
    assert situation(five, look).wanted == at(stage).node_ids
    assert any(one.reason == "AfterMigration" and "voters" in one.message for one in planned(look, five).waits)
    assert situation(wanted(replicas=1), look).wanted == at(stage).node_ids


def test_other_levels_wait() -> None:
    """In a migration only the levels of its stage change; the others follow, and say so."""
    lower = FeatureLevel(name="metadata.version", level=32)
    said = planned(look_at(CONTROLLERS, kraft=1), wanted(features=(*ASKED, lower)))
    assert not any(isinstance(action, BeginFeatureStep) for action in said.actions)
    assert any("metadata.version" in one.message and one.reason == "SteppingFeature" for one in said.waits)


@pytest.mark.parametrize("stage", [CONTROLLERS, BROKERS])
def test_kraft_version_0_is_refused(stage: str) -> None:
    """A request for kraft.version 0 is refused at once: it does not follow when the migration ends."""
    said = planned(look_at(stage, kraft=1), wanted(features=(FeatureLevel(name=KRAFT, level=0),)))
    assert "static again" in wait(said, "DowngradeRefused").message
    assert "SteppingFeature" not in reasons(said)


def test_what_waits_for_the_end_is_looked_at_seldom() -> None:
    """A release that waits for a migration, which waits for a person, is no reason to look many times a second."""
    silent = BrokerSeen(node_id=NodeID(7), settings=Unknown(reason="it does not answer"), metadata_max=None)
    look = replace(look_at(BROKERS, kraft=1), brokers=Known(value=(silent,)))
    held_back = planned(look, wanted(runtime=runtime(release="4.5.0")))
    assert "AfterMigration" in reasons(held_back)
    assert held_back.requeue_s == planned(look, wanted()).requeue_s


@pytest.mark.parametrize(("mode", "goes_back"), [(FormatMode.NO_INITIAL_CONTROLLERS, False), (FormatMode.STATIC, True)])
def test_a_new_disk_does_not_go_back_to_static_voters(mode: FormatMode, goes_back: bool) -> None:  # noqa: FBT001
    """A refused controller on a replaced disk stays: from the applied revision, with static voters, it cannot start."""
    look, lost = look_at(CONTROLLERS, kraft=1), NodeID(3001)
    assert look.record is not None
    static, target = revision(runtime(static_voters=look.record.node_ids), number=1), named(runtime())
    nodes = tuple(replace(one, revision=target, mode=mode) if one.node_id == lost else one for one in look.record.nodes)
    record = replace(look.record, nodes=nodes, applied_revision=static.name)
    said = ((target, Admission(allowed=False, words="no")), (static.name, Admission(allowed=True)))
    answers = tuple((PodQuestion(node_id=lost, revision=name), Known(value=each)) for name, each in said)
    pods = tuple(replace(one, revision=static.name) for one in look.pods if one.node_id != lost)
    look = replace(look, record=record, pods=pods, revisions=(*look.revisions, static), admissions=answers)
    writes = [each for each in planned(look, wanted()).actions if isinstance(each, WriteRecord)]
    assert [each.change is RecordChange.REVISION for each in writes] == [True] * goes_back


def test_a_lost_pod_is_replaced_in_every_stage() -> None:
    """A migration delays no repair: a controller without a pod gets one."""
    for stage in (RAISE, CONTROLLERS, BROKERS):
        look = look_at(stage, kraft=int(stage != RAISE))
        said = planned(replace(look, pods=look.pods[1:]), wanted())
        assert any(type(action).__name__ == "CreatePod" for action in said.actions), stage


def test_the_table_runs_no_migration_beside_a_feature_step() -> None:
    """The row of migrations is off during a pause, with an invalid spec, and during a feature step."""
    (row,) = (concern for concern in CONCERNS if concern.name == "migrations")
    assert [each.value for each in (row.paused, row.repairing, row.voter_change, row.feature_step)] == [
        "-",
        "-",
        "acts",
        "-",
    ]


# What a person reads


def shown(said: Plan) -> tuple[int, int, str]:
    """The stage of the plan, of how many, and its name."""
    assert said.migration is not None
    return said.migration.stage, said.migration.stages, said.migration.name


def test_the_plan_shows_the_stage() -> None:
    """Stage n of m with its name and sentence, and how to revert; 0 while it is requested and has not begun."""
    assert shown(planned(STILL, wanted())) == (0, 3, "NotBegun")
    for number, stage in enumerate((RAISE, CONTROLLERS, BROKERS), start=1):
        said = planned(look_at(stage, kraft=int(stage != RAISE)), wanted())
        assert shown(said) == (number, 3, stage)
        assert said.migration is not None
        assert said.migration.way_back
        assert (VOTERS in said.migration.sentence) is (stage != RAISE)


def test_a_paused_quorum_shows_its_stage() -> None:
    """A pause stops the migration where it is, and the stage is still shown."""
    said = planned(look_at(CONTROLLERS, kraft=1), wanted(paused=True))
    assert said.actions == ()
    assert shown(said) == (2, 3, CONTROLLERS)
    assert migration_plan(situation(wanted(paused=True), look_at(None, kraft=0))) is not None


def test_these_values_are_what_they_seem() -> None:
    """The look that the tests begin with is of a static quorum at rest: without a request nothing is done at all."""
    assert node(at(None), 3000).formatted
    assert pod(at(None), node(at(None), 3000)).running
    assert at(None).cluster_id == CLUSTER
    assert migrations(situation(wanted(features=()), STILL)).exclusive is None
