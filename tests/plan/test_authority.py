"""The change of authorities: what each stage trusts and who signs in it, what each gate waits for, and how it turns."""

from dataclasses import replace
from typing import Any

import pytest
from tests.kit.pki.made import authority as other_authority
from tests.model.certificates import (
    LEAF_S,
    LISTENER,
    authority,
    authority_seen,
    leaf,
    leaf_seen,
    looked,
    material,
    recorded,
    secured,
    served,
    wanted,
)
from tests.model.values import NOW_S, pod, revision, situation

from kafka_quorum.model.actions import ComposeLeaf, DecideRecord, MakeAuthority, RecordChange, WithdrawAuthority
from kafka_quorum.model.bundles import bundle_of, together
from kafka_quorum.model.certified import holders
from kafka_quorum.model.contract import StoredContract
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.handshakes import Failure, Handshake, NotServed, Served
from kafka_quorum.model.identity import IdentityRecord, with_migration
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.material import BROKERS, OPERATOR, LeafSeen, Material, OwnAuthorities, Probed, controller, pool
from kafka_quorum.model.migration import AUTHORITY, MigrationKind, Reached, TrustChange
from kafka_quorum.model.names import trust_file
from kafka_quorum.model.permit import Permit, Refusal
from kafka_quorum.model.pools import PoolSeen
from kafka_quorum.model.record_faults import fault_of
from kafka_quorum.model.registered import BrokerSeen
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.contract import due_contract
from kafka_quorum.plan.facts.migrating import overlay_of_brokers
from kafka_quorum.plan.guards.rule13_authority import may_drop_old, may_end_change, may_trust_new, may_turn_trust
from kafka_quorum.plan.migrations.authority import WAY
from kafka_quorum.plan.migrations.engine import migrations
from kafka_quorum.plan.part import Part
from kafka_quorum.plan.security.certificates import certificates
from kafka_quorum.plan.security.shared import CERTIFICATES
from kafka_quorum.resources.secrets import certificate_seen

BOTH, LEAFS, DROP = (stage.name for stage in AUTHORITY.stages)
OLD, NEW = authority_seen(1).pem, authority_seen(2).pem
CHANGE = TrustChange(before=OLD, after=NEW)
TRUSTED = {BOTH: together(OLD, NEW), LEAFS: together(OLD, NEW), DROP: NEW}
GENERATION = {BOTH: 1, LEAFS: 2, DROP: 2}
REPLACED = Known(value=OwnAuthorities(present=authority_seen(1), following=authority_seen(2), asked_for="again"))
AGAIN = replace(wanted().trust, renew_authority="again")


def at(stage: str, **changes: Any) -> IdentityRecord:  # noqa: ANN401 - whatever the field holds
    """A quorum whose controllers run from the revision of this stage."""
    made = secured(trust=TRUSTED[stage], certificates=GENERATION[stage])
    reached = Reached(kind=MigrationKind.AUTHORITY, stage=stage, release=made.release, image=made.image, trust=CHANGE)
    return replace(with_migration(recorded(made), reached), **changes)


def answers(record: IdentityRecord, of: int, handshake: Handshake) -> tuple[Probed, ...]:
    """Every listener has answered so to a client of this authority."""
    return tuple(
        Probed(
            node_id=node.node_id,
            listener=LISTENER.name,
            authority=authority_seen(of).sha256,
            handshake=handshake,
            instance=pod(record, node).instance,
        )
        for node in record.nodes
    )


def certificate(of: int = 2) -> Served:
    """A handshake that succeeded, and whose client was accepted."""
    return Served(chain=(certificate_seen(leaf(OPERATOR, of).certificate),), accepted=True)


REFUSED = NotServed(failure=Failure.CLIENT_REFUSED, why="it refuses it")


def seen_at(stage: str, record: IdentityRecord) -> Material:
    """The Secrets and the answers with which the gate out of this stage opens."""
    of, generation = (1, 1) if stage == BOTH else (2, 2)
    files = frozenset({"tls.crt", "tls.key", "ca.crt", trust_file(TRUSTED[stage])})
    leafs = tuple(
        (holder, Known(value=leaf_seen(holder, of, generation=generation, files=files))) for holder in holders(record)
    )
    shown = tuple(
        served(
            node.node_id,
            handshake=Served(
                chain=(certificate_seen(leaf(controller(node.node_id), of, NOW_S).certificate),), accepted=True
            ),
            instance=pod(record, node).instance,
        )
        for node in record.nodes
    )
    probed = answers(record, 1, REFUSED) if stage == DROP else answers(record, 2, certificate())
    return material(record, own=REPLACED, leafs=leafs, shown=shown, probed=probed)


def stands(stage: str, seen: Material | None = None, spec: Desired | None = None, **record: Any) -> Situation:  # noqa: ANN401
    """The situation in this stage, with these certificates."""
    known = at(stage, **record)
    made = secured(trust=TRUSTED[stage], certificates=GENERATION[stage])
    look = looked(known, seen_at(stage, known) if seen is None else seen, made)
    return situation(spec or wanted(trust=AGAIN), look, known)


def decided(at_: Situation) -> DecideRecord:
    """What the engine decides."""
    found = migrations(at_).exclusive
    assert isinstance(found, DecideRecord), migrations(at_)
    return found


def resting(own: object, spec: Desired | None = None) -> Situation:
    """A quorum at rest with the first authority everywhere."""
    record = recorded()
    return situation(spec or wanted(trust=AGAIN), looked(record, material(record, own=own)), record)


def test_it_begins_when_another_authority_is_wanted() -> None:
    """A quorum whose Secret has an authority that follows begins to change, and stores both bundles."""
    write = decided(resting(REPLACED))
    assert write.change is RecordChange.MIGRATION_BEGUN
    reached = write.record.migration
    assert reached is not None
    assert (reached.kind, reached.stage, reached.trust) == (MigrationKind.AUTHORITY, BOTH, CHANGE)


def test_a_lost_secret_leads_to_a_change() -> None:
    """An authority that was made because the Secret was lost is trusted by a change, too."""
    write = decided(resting(Known(value=OwnAuthorities(present=authority_seen(2)))))
    assert write.record.migration is not None
    assert write.record.migration.trust == CHANGE


@pytest.mark.parametrize(
    "own",
    [Unknown(reason="not read"), Known(value=OwnAuthorities()), Known(value=OwnAuthorities(present=authority_seen(1)))],
)
def test_it_does_not_begin_without_another_authority(own: object) -> None:
    """The present authority, and one that is not known, begin nothing."""
    assert migrations(resting(own)).exclusive is None


@pytest.mark.parametrize("stage", [BOTH, LEAFS, DROP])
def test_what_a_stage_trusts(stage: str) -> None:
    """Both authorities are trusted until the earlier one is given up."""
    found = stands(stage).runtime
    assert bundle_of(found.trust).fingerprints == bundle_of(TRUSTED[stage]).fingerprints
    assert found.certificates == GENERATION[stage]


@pytest.mark.parametrize(
    ("stage", "to", "change"),
    [
        (BOTH, LEAFS, RecordChange.NEW_SIGNS),
        (LEAFS, DROP, RecordChange.OLD_DROPPED),
        (DROP, None, RecordChange.AUTHORITY_CHANGED),
    ],
)
def test_each_gate_opens(stage: str, to: str | None, change: RecordChange) -> None:
    """With every handshake as it must be, the next stage begins."""
    write = decided(stands(stage))
    assert write.change is change
    assert (write.record.migration.stage if write.record.migration else None) == to


def refused(verdict: Permit[Any] | Refusal, words: str) -> None:
    """The guard refuses with these words."""
    assert isinstance(verdict, Refusal), verdict
    assert words in verdict.reason


GATES = {BOTH: may_trust_new, LEAFS: may_drop_old, DROP: may_end_change}


@pytest.mark.parametrize("stage", [BOTH, DROP])
def test_a_listener_that_has_not_answered_holds(stage: str) -> None:
    """One listener without an answer of its present container holds the change."""
    record = at(stage)
    seen = seen_at(stage, record)
    first = "listener CONTROLLER of controller 3000"
    refused(GATES[stage](stands(stage, replace(seen, probed=seen.probed[1:]))), first)
    other = (replace(seen.probed[0], instance="an earlier container"), *seen.probed[1:])
    refused(GATES[stage](stands(stage, replace(seen, probed=other))), first)


@pytest.mark.parametrize(
    "answer",
    [REFUSED, replace(certificate(), accepted=False, refused=True), replace(certificate(), accepted=False, why="?")],
)
def test_a_listener_that_does_not_accept_holds(answer: Handshake) -> None:
    """The new authority does not sign while one listener refuses a client of it, or it is not known."""
    record = at(BOTH)
    seen = seen_at(BOTH, record)
    probed = (*seen.probed[1:], replace(seen.probed[0], handshake=answer))
    refused(may_trust_new(stands(BOTH, replace(seen, probed=probed))), "has not accepted")


def test_a_wider_bundle_is_proven_by_what_is_new_in_it() -> None:
    """A client of an authority that was trusted before proves nothing, even if it stays trusted."""
    change = TrustChange(before=OLD, after=together(OLD, NEW))
    reached = at(BOTH).migration
    assert reached is not None
    record = with_migration(at(BOTH), replace(reached, trust=change))
    for of, verdict in ((1, Refusal), (2, Permit)):
        seen = replace(seen_at(BOTH, record), probed=answers(record, of, certificate(of)))
        made = secured(trust=TRUSTED[BOTH])
        at_ = situation(wanted(trust=AGAIN), looked(record, seen, made), record)
        assert isinstance(may_trust_new(at_), verdict)


def test_an_accepted_client_of_the_earlier_authority_is_no_proof() -> None:
    """The new authority does not sign because clients of the earlier one are accepted."""
    record = at(BOTH)
    seen = replace(seen_at(BOTH, record), probed=answers(record, 1, certificate(1)))
    refused(may_trust_new(stands(BOTH, seen)), "has not accepted")


@pytest.mark.parametrize(
    "answer", [certificate(), NotServed(failure=Failure.SILENT, why="silent"), replace(certificate(), accepted=False)]
)
def test_a_listener_that_does_not_refuse_holds(answer: Handshake) -> None:
    """The change does not end while a listener accepts a client of the earlier authority, or it is not known."""
    record = at(DROP)
    seen = seen_at(DROP, record)
    probed = (*seen.probed[1:], replace(seen.probed[0], handshake=answer))
    refused(may_end_change(stands(DROP, replace(seen, probed=probed))), "has not refused")


def test_without_the_earlier_key_what_controllers_run_counts() -> None:
    """Nobody can sign for a lost authority: the change ends when every controller is made without it."""
    lost = Known(value=OwnAuthorities(present=authority_seen(2)))
    record = at(DROP)
    seen = replace(seen_at(DROP, record), own=lost, probed=())
    assert isinstance(may_end_change(stands(DROP, seen)), Permit)


def test_an_unread_secret_ends_no_change() -> None:
    """It is not known whether the earlier key is lost: the change does not end."""
    record = at(DROP)
    seen = replace(seen_at(DROP, record), own=Unknown(reason="not read"))
    refused(may_end_change(stands(DROP, seen)), "not read")


def test_a_leaf_of_the_earlier_authority_keeps_it() -> None:
    """The earlier authority is trusted while one Secret has a leaf of it."""
    record = at(LEAFS)
    seen = seen_at(LEAFS, record)
    old = Known(value=leaf_seen(BROKERS, 1, generation=2))
    leafs = tuple((holder, old if holder == BROKERS else each) for holder, each in seen.leafs)
    refused(may_drop_old(stands(LEAFS, replace(seen, leafs=leafs))), "certificate of the brokers")


def test_a_listener_that_serves_another_leaf_keeps_the_earlier_authority() -> None:
    """The earlier authority is trusted until all threads of every listener have served the leaf of its Secret."""
    record = at(LEAFS)
    seen = seen_at(LEAFS, record)
    refused(may_drop_old(stands(LEAFS, replace(seen, shown=seen.shown[1:]))), "has not served its new certificate")
    old = (served(3000, instance=seen.shown[0].instance), *seen.shown[1:])
    refused(may_drop_old(stands(LEAFS, replace(seen, shown=old))), "has not served its new certificate")
    one = (replace(seen.shown[0], whole=False), *seen.shown[1:])
    refused(may_drop_old(stands(LEAFS, replace(seen, shown=one))), "has not served its new certificate")


def test_clients_with_earlier_leafs_keep_the_earlier_authority() -> None:
    """The earlier authority is trusted while a controller was made before the new leafs: it shows the earlier one."""
    record = at(LEAFS)
    made = secured(trust=TRUSTED[LEAFS], certificates=1)
    before = replace(record, applied_revision=revision(made).name)
    look = looked(before, seen_at(LEAFS, before), made)
    at_ = situation(wanted(trust=AGAIN), look, before)
    assert at_.runtime.certificates == 2
    refused(may_drop_old(at_), "every controller must run from revision")


@pytest.mark.parametrize("stage", [BOTH, LEAFS, DROP])
def test_an_older_controller_holds_every_gate(stage: str) -> None:
    """No gate opens while a controller is made from an earlier revision."""
    record = at(stage, applied_revision=revision(secured()).name)
    look = looked(record, seen_at(stage, record), secured())
    refused(GATES[stage](situation(wanted(trust=AGAIN), look, record)), "must run from revision")


@pytest.mark.parametrize("stage", [BOTH, LEAFS, DROP])
def test_unread_secrets_hold_every_gate(stage: str) -> None:
    """No gate opens without the Secrets."""
    at_ = stands(stage)
    refused(GATES[stage](replace(at_, observed=replace(at_.observed, material=None))), "not read")
    refused(may_turn_trust(replace(at_, observed=replace(at_.observed, material=None))), "not read")


@pytest.mark.parametrize("stage", [BOTH, LEAFS])
def test_a_change_turns_only_to_an_authority_that_is_known(stage: str) -> None:
    """A change of authorities does not turn while it is not known which authority is wanted, and says why."""
    seen = replace(seen_at(stage, at(stage)), own=Unknown(reason="Secret alpha-ca is not readable"))
    refused(may_turn_trust(stands(stage, replace(seen, given_trust=Unknown(reason="it is gone")))), "it is gone")
    refused(may_turn_trust(stands(stage, replace(seen, given_trust=Unknown(reason="")))), "is not known")
    assert may_turn_trust(stands(stage)).allowed


def test_a_change_turns_only_while_all_authorities_have_room() -> None:
    """With a third large bundle no object may have room for all of them: then the change goes on."""
    large = "".join(one.certificate.pem for one in map(other_authority, map("other-{}".format, range(101))))
    reached = at(BOTH).migration
    assert reached is not None
    seen = replace(seen_at(BOTH, at(BOTH)), own=Unknown(reason=""), given_trust=Known(value=NEW))
    changed = replace(reached, trust=TrustChange(before=together(OLD, large), after=NEW))
    refused(may_turn_trust(stands(BOTH, seen, migration=changed)), "take authorities out")


@pytest.mark.parametrize("stage", [BOTH, LEAFS])
def test_the_request_is_taken_back(stage: str) -> None:
    """With the earlier text of renewCA the Secret loses the authority that follows, and both stay trusted."""
    part = certificates(stands(stage, spec=wanted()))
    assert [type(each) for each in part.actions if isinstance(each, WithdrawAuthority)] == [WithdrawAuthority]
    record = at(stage)
    back = Known(value=OwnAuthorities(present=authority_seen(1)))
    write = decided(stands(stage, replace(seen_at(stage, record), own=back), wanted()))
    assert write.change is RecordChange.AUTHORITY_TURNED
    reached = write.record.migration
    assert reached is not None
    assert reached.stage == BOTH
    assert reached.trust == TrustChange(before=together(OLD, NEW), after=OLD)


def test_it_is_not_taken_back_at_the_end() -> None:
    """When the earlier authority is given up, the change goes on: some controllers do not trust it any more."""
    part = certificates(stands(DROP, spec=wanted()))
    assert not [each for each in part.actions if isinstance(each, WithdrawAuthority)]
    assert WAY.backs[2] is None


def test_an_authority_that_ends_soon_is_not_taken_back() -> None:
    """Nobody asked for an authority that follows because of its time: the same text of renewCA keeps it."""
    own = Known(value=OwnAuthorities(present=authority_seen(1), following=authority_seen(2)))
    record = at(BOTH)
    part = certificates(stands(BOTH, replace(seen_at(BOTH, record), own=own), wanted()))
    assert not [each for each in part.actions if isinstance(each, WithdrawAuthority | MakeAuthority)]


def test_the_new_authority_signs_everything() -> None:
    """In the second stage every leaf of the earlier authority is replaced, in a new generation."""
    record = at(LEAFS)
    at_ = stands(LEAFS, replace(seen_at(BOTH, record), probed=()))
    made = [each for each in certificates(at_).actions if isinstance(each, ComposeLeaf)]
    assert {each.holder for each in made} == set(holders(record))
    above = GENERATION[LEAFS] + 1  # the pods of this scene are made for a later one than their Secrets have
    assert {(each.authority, each.generation) for each in made} == {(authority_seen(2).sha256, above)}


def test_a_lost_authority_signs_for_no_controller_before_brokers_trust_the_new_one() -> None:
    """While brokers may not trust it, a new authority signs for clients only, whom every controller accepts."""
    record = at(BOTH)
    lost = Known(value=OwnAuthorities(present=authority_seen(2)))
    seen = replace(seen_at(BOTH, record), own=lost)
    assert not [each for each in certificates(stands(BOTH, seen)).actions if isinstance(each, ComposeLeaf)]
    bare = replace(seen, leafs=tuple((one, Known(value=leaf_seen(one, 1))) for one, _ in seen.leafs))
    made = [each for each in certificates(stands(BOTH, bare)).actions if isinstance(each, ComposeLeaf)]
    assert [(each.holder, each.authority) for each in made] == [(BROKERS, authority_seen(2).sha256)]


def test_a_static_quorum_stays_static() -> None:
    """The change leaves controller.quorum.voters as it is, on controllers and on brokers."""
    record = with_migration(replace(recorded(), static=True), at(BOTH).migration)  # type: ignore[arg-type]  # it has one
    assert record.static
    assert fault_of(record) is None
    at_ = situation(wanted(), looked(record, material(record)), record)
    assert at_.runtime.static_voters == record.node_ids
    assert overlay_of_brokers(at_).found_by is record.overlay.found_by
    dynamic = at(LEAFS)
    assert not dynamic.static
    assert stands(LEAFS).runtime.static_voters == ()


def test_a_stored_change_has_its_authorities() -> None:
    """A record whose change of authorities has none, or another migration with some, is not valid."""
    reached = at(BOTH).migration
    assert reached is not None
    assert fault_of(at(BOTH)) is None
    assert fault_of(replace(at(BOTH), migration=replace(reached, trust=None))) is not None


def lasting(of: LeafSeen, ends_s: int) -> LeafSeen:
    """The same leaf, in place of one that ends then."""
    return replace(of, before_ends_s=ends_s)


def test_leafs_are_brought_at_once() -> None:
    """Leafs of the new authority are shown as soon as every Secret has them, and not before."""
    record = at(LEAFS)
    seen = seen_at(LEAFS, record)
    late = Known(value=leaf_seen(controller(NodeID(3000)), 1, generation=1))
    made = secured(trust=TRUSTED[LEAFS], certificates=1)
    before = replace(record, applied_revision=revision(made).name)
    spec = wanted(trust=AGAIN)
    lasts = int(NOW_S) + LEAF_S  # an ordinary renewal would wait
    seen = replace(seen, leafs=tuple((one, Known(value=lasting(each, lasts))) for one, each in seen.known_leafs()))
    partly = tuple((one, late if one == controller(NodeID(3000)) else each) for one, each in seen.leafs)
    assert situation(spec, looked(before, replace(seen, leafs=partly), made), before).runtime.certificates == 1
    assert situation(spec, looked(before, seen, made), before).runtime.certificates == 2


def test_no_act_of_the_change_cuts_trust() -> None:
    """In each stage, and in each one that it may turn to, every leaf that is still served is trusted by everybody."""
    for stage in (BOTH, LEAFS):
        record = at(stage)
        back = replace(seen_at(stage, record), own=Known(value=OwnAuthorities(present=authority_seen(1))))
        for write in (decided(stands(stage)), decided(stands(stage, back, wanted()))):
            reached = write.record.migration
            assert reached is not None
            later = situation(wanted(), looked(write.record, seen_at(stage, record)), write.record).runtime.trust
            for _, one in seen_at(stage, record).known_leafs():
                if write.change is not RecordChange.OLD_DROPPED or one.authority != authority_seen(1).sha256:
                    assert one.authority in bundle_of(later).fingerprints
    assert authority(1) != authority(2)


def test_no_leaf_of_the_earlier_authority_before_the_roll_that_drops_it() -> None:
    """The Secret of the authority is restored from before the change, and no controller has moved yet."""
    both = secured(trust=TRUSTED[LEAFS], certificates=2)
    record = replace(at(DROP), applied_revision=revision(both).name)
    restored = Known(value=OwnAuthorities(present=authority_seen(1), version="7"))
    now = situation(wanted(trust=AGAIN), looked(record, replace(seen_at(LEAFS, record), own=restored), both), record)
    part = certificates(now)
    assert not [one for one in part.actions if isinstance(one, ComposeLeaf)]
    assert any("the next revision" in verdict.reason for verdict in part.verdicts)


def _lost_in_the_last_stage(*, contract: bool = False, broker: bool = False, made: bool = False) -> Situation:
    """The record was lost in the last stage, and is rebuilt without it; who trusts the new authority alone."""
    applied = secured(trust=TRUSTED[LEAFS], certificates=2)
    record = recorded(applied)
    drops = stands(DROP)
    published = due_contract(drops, None, may_go_down=False)
    file = next(one for one in published.settings if one.key.endswith("truststore.location"))
    assert file.value == trust_file(NEW)
    runs = BrokerSeen(node_id=NodeID(1), settings=Known(value={file.key: f"/x/{file.value}"}), fenced=False)
    revisions = (applied, secured(trust=NEW, certificates=2)) if made else (applied,)
    look = looked(record, seen_at(LEAFS, record), *revisions)
    if contract:
        look = replace(look, contract=Known(value=StoredContract(contract=published)))
    if broker:
        look = replace(look, brokers=Known(value=(runs,)))
    return situation(wanted(trust=AGAIN), look, record)


@pytest.mark.parametrize("who", ["contract", "broker", "made"])
def test_what_is_trusted_alone_signs_without_the_record(who: str) -> None:
    """Servers that trust the new authority alone would refuse a leaf of the earlier one: none is signed by it."""
    found = _lost_in_the_last_stage(**{who: True})
    new = authority_seen(2).sha256
    assert {one.authority for one in certificates(found).actions if isinstance(one, ComposeLeaf)} <= {new}
    back = replace(found.desired, trust=wanted().trust)
    again = certificates(situation(back, found.observed, found.record)).actions
    assert not [one for one in again if isinstance(one, WithdrawAuthority)]


def test_without_a_server_that_trusts_it_alone_the_present_authority_signs() -> None:
    """Everybody trusts both: the change begins again with leafs of the present one, and can be taken back."""
    found = _lost_in_the_last_stage()
    old = authority_seen(1).sha256
    assert {one.authority for one in certificates(found).actions if isinstance(one, ComposeLeaf)} == {old}
    back = replace(found.desired, trust=wanted().trust)
    again = certificates(situation(back, found.observed, found.record)).actions
    assert [one for one in again if isinstance(one, WithdrawAuthority)]


def test_a_secret_of_brokers_that_is_lost_during_a_change_has_every_file() -> None:
    """Brokers that have not followed load the authorities of the stage before: its files are made again."""
    record = at(DROP)
    seen = seen_at(DROP, record)
    lost = replace(seen, leafs=tuple((one, Known(value=None) if one == BROKERS else leaf) for one, leaf in seen.leafs))
    (one,) = (each for each in certificates(stands(DROP, lost)).actions if isinstance(each, ComposeLeaf))
    assert (one.trust, one.trusts) == (NEW, (OLD, TRUSTED[BOTH]))
    assert {trust_file(OLD), trust_file(TRUSTED[BOTH]), trust_file(NEW)} <= set(one.keeps)


def test_a_lost_authority_signs_for_no_pool_before_brokers_trust_the_new_one() -> None:
    """Brokers show a pool's leaf to other brokers: with the earlier key gone, it waits until the new one signs."""
    lost = Known(value=OwnAuthorities(present=authority_seen(2), version="9"))
    seen = PoolSeen(name="events", uid="u1", names=("*.events-brokers.kafka.svc",))

    def planned(stage: str) -> Part:
        found = replace(seen_at(stage, at(stage)), own=lost, pools=Known(value=(seen,)))
        return certificates(stands(stage, replace(found, leafs=(*found.leafs, (pool(seen), Known(value=None))))))

    early = planned(BOTH)
    assert early.actions == ()
    assert [wait.reason for wait in early.waits if "pool events" in wait.message] == [CERTIFICATES]
    (one,) = planned(LEAFS).actions
    assert isinstance(one, ComposeLeaf)
    assert (one.holder, one.authority) == (pool(seen), authority_seen(2).sha256)
