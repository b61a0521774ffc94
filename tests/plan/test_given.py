"""Certificates of another issuer: when they are copied, what is kept, and how another authority of it comes."""

from dataclasses import replace
from typing import Any

import pytest
from tests.model.certificates import (
    LEAF_S,
    LISTENER,
    authority_seen,
    copied,
    everything,
    given_leaf,
    given_material,
    given_name,
    looked,
    material,
    of_cert_manager,
    of_others,
    recorded,
    secured,
    source,
    wanted,
    with_leaf,
    with_source,
)
from tests.model.values import IDS, NOW_S, bound, pod, revision, runtime, situation

from kafka_quorum.model.actions import ComposeLeaf, CreateRevision, DecideRecord, RecordChange, RequestLeaf
from kafka_quorum.model.bundles import together
from kafka_quorum.model.certified import holders, with_trust
from kafka_quorum.model.desired import Desired, Protocol, Runtime
from kafka_quorum.model.generations import MOUNTED_AFTER_S, generation_due
from kafka_quorum.model.handshakes import Handshake, Served
from kafka_quorum.model.identity import with_migration
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.material import BROKERS, OPERATOR, Holder, Material, Probed, RequestSeen, Source, controller
from kafka_quorum.model.migration import AUTHORITY, MigrationKind, Reached, TrustChange
from kafka_quorum.model.names import keystore_file, trust_file
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.guards.rule13_authority import may_drop_old, may_trust_new
from kafka_quorum.plan.migrations.engine import migrations
from kafka_quorum.plan.part import Part
from kafka_quorum.plan.releases.revisions import revisions as revisions_part
from kafka_quorum.plan.security.certificates import certificates
from kafka_quorum.plan.security.shared import CERTIFICATES, HELD
from kafka_quorum.resources.secrets import certificate_seen

RECORD = recorded()
SECOND = controller(IDS[1])
OLD, NEW = authority_seen(1).pem, authority_seen(2).pem
BOTH, LEAFS, DROP = (stage.name for stage in AUTHORITY.stages)
LATER_S = NOW_S + 60


def judged(seen: Material, *, now_s: float = NOW_S, spec: Desired | None = None) -> Situation:
    """A running quorum with certificates of another issuer."""
    return situation(spec or of_others(), looked(RECORD, seen), RECORD, now_s=now_s)


def made(part: Part) -> list[tuple[Holder, int, str]]:
    """The copies of a plan: for whom, of which generation, from which Secret."""
    return [(one.holder, one.generation, one.source) for one in part.actions if isinstance(one, ComposeLeaf)]


def renewed(seen: Material, *which: Holder, **changes: Any) -> Material:  # noqa: ANN401 - fields of a source
    """The same after the issuer has renewed the leafs of these holders."""
    for holder in which:
        seen = with_source(seen, holder, Known(value=source(holder, at_s=LATER_S, **changes)))
    return seen


CONTROLLERS = tuple(controller(each) for each in IDS)


def test_nothing_to_do() -> None:
    """Copies of what the issuer has given need nothing, and the operator makes no authority."""
    assert certificates(judged(given_material(RECORD))) == Part()


def test_a_renewed_certificate_is_copied() -> None:
    """Another certificate in a Secret of the issuer begins a generation; the other holders keep theirs in it."""
    part = certificates(judged(renewed(given_material(RECORD), *CONTROLLERS)))
    expected = [(one, 2, given_name(one)) for one in holders(RECORD)]
    assert made(part) == expected
    assert {one.source_sha256 for one in part.actions if isinstance(one, ComposeLeaf) and one.holder == SECOND} == {
        certificate_seen(given_leaf(SECOND, 1, LATER_S).certificate).sha256
    }
    assert [one.dns_names for one in part.actions if isinstance(one, ComposeLeaf) and one.holder == SECOND] == [
        ("alpha-3001.alpha-controllers.kafka.svc",)
    ]


def test_what_is_refused_stops_nothing_else() -> None:
    """A holder whose Secret is refused keeps its leaf in the next generation; the status says why."""
    seen = renewed(given_material(RECORD), *CONTROLLERS)
    seen = with_source(seen, BROKERS, Unknown(reason="tls.key of Secret given-brokers is bad"))
    part = certificates(judged(seen))
    assert (BROKERS, 2, "alpha-brokers-tls") in made(part)
    assert (SECOND, 2, "given-controllers") in made(part)
    assert [(wait.reason, "given-brokers" in wait.message) for wait in part.waits] == [(HELD, True)]


def test_refused_controllers_touch_no_pod() -> None:
    """If the controllers' Secret is refused, nothing is written and nothing restarts; one sentence says why."""
    seen = given_material(RECORD)
    for holder in CONTROLLERS:
        seen = with_source(seen, holder, Unknown(reason="tls.crt of Secret given-controllers has expired"))
    now = judged(seen, now_s=NOW_S + LEAF_S)
    part = certificates(now)
    assert part.actions == ()
    assert [wait.reason for wait in part.waits] == [HELD]
    assert "given-controllers" in part.waits[0].message
    assert generation_due(of_others(), now.observed, RECORD, NOW_S + LEAF_S) == 1


def test_a_new_quorum_waits_for_the_issuer() -> None:
    """Without usable certificates nothing is made; with them each holder gets its copy."""
    bare = given_material(bound(), leafs=tuple((holder, Known(value=None)) for holder in holders(bound())))
    missing = replace(
        bare, sources=tuple((holder, Unknown(reason="Secret x does not exist")) for holder in holders(bound()))
    )
    part = certificates(situation(of_others(), looked(bound(), missing), bound(), now_s=NOW_S))
    assert part.actions == ()
    assert {wait.reason for wait in part.waits} == {HELD}
    part = certificates(situation(of_others(), looked(bound(), bare), bound(), now_s=NOW_S))
    assert made(part) == [(holder, 1, given_name(holder)) for holder in holders(bound())]


def test_a_lost_copy() -> None:
    """A copy that is lost comes again from the same source, and begins a generation if its pod has loaded it."""
    part = certificates(judged(with_leaf(given_material(RECORD), SECOND, None)))
    assert (SECOND, 2, "given-controllers") in made(part)
    assert len(made(part)) == len(holders(RECORD))


def test_an_unread_copy_is_not_replaced() -> None:
    """A copy that could not be read is neither made nor renewed."""
    seen = renewed(given_material(RECORD), *CONTROLLERS)
    leafs = tuple((one, Unknown(reason="foreign") if one == SECOND else it) for one, it in seen.leafs)
    part = certificates(judged(replace(seen, leafs=leafs)))
    assert SECOND not in [one for one, _, _ in made(part)]
    assert [wait.reason for wait in part.waits] == [HELD]


def test_brokers_get_other_files_with_the_leaf_that_they_have() -> None:
    """While the issuer already has a leaf of an authority that nobody trusts, brokers keep theirs beside new files."""
    seen = with_leaf(given_material(RECORD), BROKERS, copied(BROKERS, files=frozenset({"tls.crt"})))
    seen = with_source(seen, BROKERS, Known(value=source(BROKERS, 2)))
    assert made(certificates(judged(seen))) == [(BROKERS, 1, "alpha-brokers-tls")]


def test_a_leaf_of_an_authority_that_is_not_trusted_yet_waits() -> None:
    """A leaf of a new authority is not copied before every server trusts that."""
    seen = given_material(RECORD, given_trust=Known(value=together(OLD, NEW)))
    for holder in holders(RECORD):
        seen = with_source(seen, holder, Known(value=source(holder, 2)))
    part = certificates(judged(seen))
    assert part.actions == ()
    assert {wait.reason for wait in part.waits} == {CERTIFICATES}


def test_the_issuer_in_use_stays() -> None:
    """With certificates of another kind of issuer in use nothing is made, whatever the spec says."""
    why = Unknown(reason="issuer.type cannot change")
    seen = replace(given_material(RECORD), own=why, given_trust=why, sources=(), other_issuer=True)
    part = certificates(judged(seen))
    assert (part.actions, [wait.reason for wait in part.waits]) == ((), [HELD])
    assert migrations(judged(seen)) == Part()


def test_clients_load_a_copy_when_no_pod_mounts_the_earlier_one() -> None:
    """The begin of a given certificate may be long ago: the roll counts from the copy, not from it."""
    seen = given_material(RECORD)
    for holder in holders(RECORD):
        seen = with_leaf(
            seen,
            holder,
            copied(holder, generation=2, before_ends_s=1, composed_s=int(NOW_S) + 1000, files=everything()),
        )
    look = looked(RECORD, seen)
    due = [
        generation_due(of_others(), look, RECORD, NOW_S + 1000 + after_s)
        for after_s in (MOUNTED_AFTER_S - 1, MOUNTED_AFTER_S)
    ]
    assert due == [1, 2]


def test_super_users_are_those_of_the_certificates() -> None:
    """With an authorizer, the subjects in the Secrets are super users; while one is missing they stay as they are."""
    spec = of_others()
    spec = replace(spec, trust=replace(spec.trust, authorizer=True))
    seen = given_material(RECORD)
    for holder in holders(RECORD):
        leaf = copied(holder)
        seen = with_leaf(
            seen, holder, replace(leaf, certificate=replace(leaf.certificate, subject=f"CN={holder.role},O=others"))
        )
    found = with_trust(runtime(listener=LISTENER), spec, looked(RECORD, seen), RECORD, NOW_S)
    assert found.super_users == (
        "User:CN=brokers,O=others",
        "User:CN=controllers,O=others",
        "User:CN=operator,O=others",
    )
    bare = with_leaf(seen, BROKERS, None)
    applied = secured(super_users=("User:CN=x",))
    record = recorded(applied)
    kept = with_trust(runtime(listener=LISTENER), spec, looked(record, bare, applied), record, NOW_S)
    assert kept.super_users == ("User:CN=x",)


def _authorized(applied: Runtime, *revisions: Runtime, seen: Material | None = None, **change: Any) -> Situation:  # noqa: ANN401
    """A quorum with an authorizer and another issuer; the first controller has the first of the later revisions."""
    spec = of_others()
    spec = replace(spec, trust=replace(spec.trust, authorizer=True), **change)
    record = recorded(applied)
    if revisions:
        first = replace(record.nodes[0], revision=revision(revisions[0], 2).name)
        record = replace(record, nodes=(first, *record.nodes[1:]))
    unread = Unknown(reason="Secret alpha-brokers-tls has a value that is no text")
    given = given_material(record)
    found = seen or replace(given, leafs=tuple((one, unread if one == BROKERS else of) for one, of in given.leafs))
    return situation(spec, looked(record, found, applied, *revisions), record, now_s=NOW_S)


def test_an_unread_secret_takes_no_right_away() -> None:
    """In the middle of a roll the super users stay those of the revision that has begun: no other one is made."""
    begun = secured(super_users=_authorized(secured(), seen=given_material(RECORD)).runtime.super_users)
    found = _authorized(secured(super_users=("User:ANONYMOUS", "User:CN=x")), begun)
    assert found.target == revision(begun).name
    assert not any(isinstance(one, CreateRevision) for one in revisions_part(found).actions)


def test_no_revision_without_all_super_users() -> None:
    """If no controller is made from a revision with such certificates, it waits, with the reason."""
    found = _authorized(secured())
    part = revisions_part(found)
    assert not part.actions
    assert part.exclusive is None
    (wait,) = part.waits
    assert wait.reason == "Certificates"
    assert "alpha-brokers-tls" in wait.message


def test_users_with_passwords_are_joined_by_those_of_replication() -> None:
    """Brokers replicate with mutual TLS: they pass on requests under the names in their, or our, certificate."""
    spec = replace(wanted(), trust=replace(wanted().trust, authorizer=True))
    with_users = replace(LISTENER, protocol=Protocol.SASL_SSL)
    record = replace(recorded(secured(listener=with_users, users=1)), listener=with_users)
    found = situation(spec, looked(record, material(record)), record).runtime.super_users
    assert {each for each in found if "CN=" in each} == {
        "User:CN=brokers,OU=alpha,O=kafka",
        "User:CN=operator,OU=alpha,O=kafka",
    }
    assert "User:quorum-operator" in found


# Cert-manager


def test_cert_manager_is_asked() -> None:
    """A Certificate that is missing, or asks for something else, is written; one that is in the way is not."""
    rows: list[tuple[Holder, Any]] = [
        (SECOND, Known(value=None)),
        (OPERATOR, Known(value=RequestSeen(current=False))),
        (BROKERS, Known(value=RequestSeen(current=True))),
        (controller(IDS[0]), Unknown(reason="it is not of this quorum")),
    ]
    part = certificates(judged(given_material(RECORD, requests=tuple(rows)), spec=of_cert_manager()))
    assert [(type(one), one.name) for one in part.actions if isinstance(one, RequestLeaf)] == [
        (RequestLeaf, "alpha-3001-cert"),
        (RequestLeaf, "alpha-operator-cert"),
    ]
    assert len(part.actions) == 2


def test_what_is_asked_for_is_waited_for() -> None:
    """Until cert-manager has issued, the status shows progress; what only a person can correct is held."""
    seen = given_material(RECORD, pending=frozenset({OPERATOR}))
    seen = with_source(seen, OPERATOR, Unknown(reason="cert-manager has not issued it"))
    seen = with_source(seen, BROKERS, Unknown(reason="it is bad"))
    part = certificates(judged(seen, spec=of_cert_manager()))
    assert [wait.reason for wait in part.waits] == [CERTIFICATES, HELD]


# Another authority


def test_another_bundle_begins_a_change() -> None:
    """Another content of the issuer's bundle changes the authorities in stages."""
    found = migrations(judged(given_material(RECORD, given_trust=Known(value=NEW)))).exclusive
    assert isinstance(found, DecideRecord)
    assert found.change is RecordChange.MIGRATION_BEGUN
    assert found.record.migration is not None
    assert found.record.migration.trust == TrustChange(before=OLD, after=NEW)


def test_an_unread_bundle_begins_nothing() -> None:
    """A bundle that is refused, or was not read, changes nothing that is trusted."""
    seen = given_material(RECORD, given_trust=Unknown(reason="ca.crt of Secret given-trust is bad"))
    assert migrations(judged(seen)) == Part()
    part = certificates(judged(seen))
    assert (part.actions, [wait.reason for wait in part.waits]) == ((), [HELD])


def stands(stage: str, after: str, probed_of: int = 0, **sources: Source) -> Situation:
    """A quorum in this stage of a change to these authorities, whose listeners accepted a client of the probed one."""
    both = together(OLD, after)
    made_from = secured(trust=both)
    reached = Reached(
        kind=MigrationKind.AUTHORITY,
        stage=stage,
        release=made_from.release,
        image=made_from.image,
        trust=TrustChange(before=OLD, after=after),
    )
    record = with_migration(recorded(made_from), reached)
    files = frozenset({"tls.crt", "tls.key", "ca.crt", trust_file(both)})
    found = given_material(record, given_trust=Known(value=after))
    found = replace(
        found, leafs=tuple((holder, Known(value=copied(holder, files=files))) for holder in holders(record))
    )
    for holder in holders(record):
        if holder.role in sources:
            found = with_source(found, holder, Known(value=sources[holder.role]))
    accepted: Handshake = Served(chain=(certificate_seen(given_leaf(OPERATOR).certificate),), accepted=True)
    probed = tuple(
        Probed(
            node_id=node.node_id,
            listener=LISTENER.name,
            authority=authority_seen(probed_of).sha256,
            handshake=accepted,
            instance=pod(record, node).instance,
        )
        for node in (record.nodes if probed_of else ())
    )
    look = looked(record, replace(found, probed=probed), made_from)
    return situation(of_others(), look, record, now_s=NOW_S)


def test_the_new_authority_is_proven_by_handshakes() -> None:
    """Every listener must have accepted the operator's new leaf."""
    new = source(OPERATOR, 2)
    assert not may_trust_new(stands(BOTH, NEW, operator=new)).allowed
    assert not may_trust_new(stands(BOTH, NEW, operator=new, probed_of=1)).allowed
    assert may_trust_new(stands(BOTH, NEW, operator=new, probed_of=2)).allowed


def test_without_a_new_leaf_of_the_operator_the_change_waits() -> None:
    """If the earlier authority goes, the issuer must give the operator a leaf of the new one first."""
    verdict = may_trust_new(stands(BOTH, NEW, probed_of=1))
    assert not verdict.allowed
    assert "given-operator" in verdict.reason


def test_one_authority_more_needs_no_new_leaf() -> None:
    """If the earlier authority stays, what the controllers are made from counts."""
    assert may_trust_new(stands(BOTH, together(OLD, NEW))).allowed


@pytest.mark.parametrize("seen", [Unknown(reason="was not read"), Unknown(reason="")], ids=["a reason", "none"])
def test_an_unknown_leaf_of_the_operator_is_a_no(seen: Unknown) -> None:
    """Without the operator's leaf nothing is proven."""
    at = stands(BOTH, NEW, operator=source(OPERATOR, 2), probed_of=2)
    assert at.observed.material is not None
    look = replace(at.observed, material=with_source(at.observed.material, OPERATOR, seen))
    assert not may_trust_new(replace(at, observed=look)).allowed


def test_new_leafs_are_copied_in_their_stage() -> None:
    """In the first stage leafs of the new authority wait; in the second they are copied."""

    def at_stage(stage: str) -> Situation:
        new = source(SECOND, 2)
        return stands(stage, NEW, controllers=new, operator=source(OPERATOR, 2), brokers=source(BROKERS, 2))

    assert made(certificates(at_stage(BOTH))) == []
    at = at_stage(LEAFS)
    assert [row[1:] for row in made(certificates(at))] == [(2, given_name(holder)) for holder in holders(RECORD)]
    assert not may_drop_old(at).allowed


def test_the_earlier_certificates_are_refused_when_the_next_revision_drops_their_authority() -> None:
    """A person puts the earlier Secrets back, and no controller has moved yet. Before that stage they are copied."""
    for stage, copies in ((LEAFS, True), (DROP, False)):
        at = stands(stage, NEW, controllers=source(SECOND), operator=source(OPERATOR), brokers=source(BROKERS))
        seen = at.observed.material
        assert seen is not None
        files = frozenset({"tls.crt", "tls.key", "ca.crt", trust_file(together(OLD, NEW)), trust_file(NEW)})
        leafs = tuple((one, Known(value=copied(one, 2, generation=2, files=files))) for one in holders(RECORD))
        look = replace(at.observed, material=replace(seen, leafs=leafs))
        part = certificates(situation(of_others(), look, at.record, now_s=NOW_S))
        assert bool(made(part)) is copies


def of_brokers(part: Part) -> ComposeLeaf:
    """What is written into the brokers' Secret."""
    (one,) = (each for each in part.actions if isinstance(each, ComposeLeaf) and each.holder == BROKERS)
    return one


def test_the_file_of_the_contract_stays_through_every_renewal() -> None:
    """Each source that is renewed alone is a generation: in each, the brokers' Secret keeps what the contract names."""
    one = of_brokers(certificates(judged(renewed(given_material(RECORD), SECOND))))
    assert {keystore_file(1), trust_file(OLD)} <= set(one.keeps)


@pytest.mark.parametrize("lost", [True, False], ids=["the Secret", "its file"])
def test_a_lost_file_of_the_contract_is_written_again(lost: bool) -> None:  # noqa: FBT001 - a column
    """After a renewal the brokers' Secret is lost, or only its file: it gets the generation that the contract names."""
    leafs = {holder: copied(holder, generation=2, before_ends_s=int(NOW_S + LEAF_S)) for holder in holders(RECORD)}
    rows = {holder: Known(value=leaf) for holder, leaf in leafs.items()}
    seen = given_material(RECORD, leafs=tuple(rows.items()))
    one = of_brokers(certificates(judged(with_leaf(seen, BROKERS, None) if lost else seen)))
    assert (one.generation, one.also) == (2, 1)
    has_it = replace(leafs[BROKERS], files=leafs[BROKERS].files | {keystore_file(1)})
    assert certificates(judged(with_leaf(seen, BROKERS, has_it))).actions == ()


def test_the_end_that_brokers_show_is_not_forgotten() -> None:
    """Two renewals while the contract stays: what brokers run with ends as before, and the roll comes before that."""
    end_s = int(NOW_S + LEAF_S)
    second = {one: copied(one, 1, LATER_S, generation=2, before_ends_s=end_s) for one in holders(RECORD)}
    seen = given_material(RECORD, leafs=tuple((one, Known(value=leaf)) for one, leaf in second.items()))
    seen = renewed(renewed(seen, *CONTROLLERS, BROKERS), OPERATOR, certificate=copied(OPERATOR).certificate)
    one = of_brokers(certificates(judged(seen)))
    assert (one.generation, one.before_ends_s) == (3, end_s)
