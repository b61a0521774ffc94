"""What the planner does about certificates, and the guards of rule 13."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.golden.facts import facts
from tests.model.certificates import (
    LEAF_S,
    LISTENER,
    authority_seen,
    everything,
    judged,
    leaf_seen,
    looked,
    material,
    recorded,
    secured,
    served,
    wanted,
    with_leaf,
)
from tests.model.values import (
    IDS,
    LOOKED_S,
    NOW_S,
    SILENT,
    bound,
    desired,
    running,
    runtime,
    situation,
    with_pod,
)

from kafka_quorum.model.actions import (
    ComposeLeaf,
    CreateRevision,
    MakeAuthority,
    MakeUsers,
    PromoteAuthority,
    ReloadListener,
)
from kafka_quorum.model.contract import Match, Setting, StoredContract
from kafka_quorum.model.desired import Protocol, Runtime
from kafka_quorum.model.generations import BROUGHT_AFTER_S
from kafka_quorum.model.handshakes import Failure, NotServed
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.material import BROKERS, OPERATOR, Material, OwnAuthorities, Shown, UsersSeen, controller
from kafka_quorum.model.names import keystore_file, trust_file
from kafka_quorum.model.permit import Verdict
from kafka_quorum.model.pods import Running, Terminated, Waiting
from kafka_quorum.model.registered import BrokerSeen
from kafka_quorum.model.situation import Situation
from kafka_quorum.model.trust import TrustPolicy
from kafka_quorum.plan.brokers.contract import contract
from kafka_quorum.plan.facts.contract import due_contract
from kafka_quorum.plan.guards.rule5_restarts import may_restart
from kafka_quorum.plan.guards.rule13_trust import may_end_authority, may_give_users, may_reload, may_show_leaf
from kafka_quorum.plan.part import Part
from kafka_quorum.plan.releases.revisions import revisions
from kafka_quorum.plan.security.certificates import certificates
from kafka_quorum.plan.security.shared import CERTIFICATES, HELD
from kit.stamps import second

RECORD = recorded()
SECOND = controller(IDS[1])
LATE_S = NOW_S + LEAF_S


def planned(seen: Material, *, now_s: float = NOW_S) -> Part:
    """What the concern returns for this look."""
    return certificates(judged(seen, now_s=now_s))


def with_own(seen: Material, **changes: Any) -> Material:  # noqa: ANN401 - any field
    """The same with another Secret of authorities."""
    return replace(seen, own=Known(value=replace(OwnAuthorities(present=authority_seen(), version="41"), **changes)))


def test_nothing_to_do() -> None:
    """Complete and fresh certificates that every listener serves need nothing."""
    shown = tuple(served(node_id) for node_id in IDS)
    assert planned(replace(material(RECORD), shown=shown)) == Part()


def test_no_certificates_are_needed() -> None:
    """A quorum without encryption gets no Secret."""
    assert certificates(situation(desired(), record=running())) == Part()


def test_the_first_authority() -> None:
    """Without an authority one is made, and no leaf before it."""
    bare = replace(material(RECORD), own=Known(value=OwnAuthorities()), leafs=())
    (action,) = certificates(situation(wanted(), looked(bound(), bare), bound(), now_s=NOW_S)).actions
    assert isinstance(action, MakeAuthority)
    assert (action.name, action.following, action.version) == ("alpha-ca", False, "")


def test_an_unread_authority_is_no_missing_one() -> None:
    """If the Secret of the authority was not read, nothing is made, and the status says why."""
    part = planned(replace(material(RECORD), own=Unknown(reason="Secret alpha-ca was not read (403)")))
    assert part.actions == ()
    assert [(wait.reason, "alpha-ca" in wait.message) for wait in part.waits] == [(HELD, True)]


def test_missing_leafs() -> None:
    """Every missing leaf is made of the present generation; what exists stays."""
    part = planned(with_leaf(with_leaf(material(RECORD), OPERATOR, None), BROKERS, None))
    made = [(one.holder, one.generation, one.before) for one in part.actions if isinstance(one, ComposeLeaf)]
    assert made == [(OPERATOR, 1, None), (BROKERS, 1, None)]


def test_a_lost_leaf_begins_a_generation() -> None:
    """If the leaf of a running controller is lost, all are made again: the lost one ends unseen."""
    part = planned(with_leaf(material(RECORD), SECOND, None))
    made = [(one.holder, one.generation, one.before_ends_s) for one in part.actions if isinstance(one, ComposeLeaf)]
    assert len(made) == 5
    assert {generation for _, generation, _ in made} == {2}
    assert (SECOND, 2, 0) in made


def test_a_renewal() -> None:
    """When one leaf ends soon, all get the next generation, each over exactly the Secret that was read."""
    early = planned(material(RECORD), now_s=LATE_S - (LEAF_S + 300) / 3 - 1)
    assert early == Part()
    part = planned(material(RECORD), now_s=LATE_S - (LEAF_S + 300) / 3)
    made = [one for one in part.actions if isinstance(one, ComposeLeaf)]
    assert [(one.generation, one.before is not None and one.before.version) for one in made] == [(2, "40")] * 5
    assert {one.before_ends_s for one in made} == {int(LATE_S)}


def ending(at_s: float) -> Material:
    """Every leaf ends at this time."""
    seen = material(RECORD)
    for holder, _ in seen.leafs:
        last = leaf_seen(holder, files=everything())
        seen = with_leaf(seen, holder, replace(last, certificate=replace(last.certificate, not_after_s=int(at_s))))
    return seen


def renews(seen: Material, now_s: float, policy: TrustPolicy | None = None) -> bool:
    """Whether leafs are made, with these lives in the spec."""
    spec = wanted() if policy is None else wanted(trust=policy)
    part = certificates(situation(spec, looked(RECORD, seen, secured()), RECORD, now_s=now_s))
    return any(isinstance(one, ComposeLeaf) for one in part.actions)


def test_a_leaf_that_ends_with_its_authority_is_not_renewed() -> None:
    """Near the end of the authority a new leaf ends no later, so that none is made; a minute is no gain yet."""
    ends = authority_seen(1).not_after_s
    for early_s in (0, 60):
        assert not renews(ending(ends - early_s), ends - LEAF_S / 4)
    assert not renews(ending(ends), ends - 1)


def test_any_gain_counts_before_a_leaf_ends() -> None:
    """A leaf that could end later is replaced before its end, whatever lives the spec names by now."""
    ends = authority_seen(1).not_after_s
    assert renews(ending(ends - 120), ends - 240)
    assert renews(ending(ends - 120), ends - 60)
    century_s = 100 * 365 * 24 * 3600
    assert renews(material(RECORD), LATE_S - LEAF_S / 10, TrustPolicy(leaf_s=century_s, authority_s=century_s))
    assert renews(ending(ends - 120), ends - 180, TrustPolicy(leaf_s=LEAF_S, renew_before_s=180))


def test_a_lost_secret_that_is_refused_holds_up_no_renewal() -> None:
    """When the others end soon they get the next generation, although one controller's Secret cannot be made."""
    seen = material(RECORD)
    for holder, _ in seen.leafs:
        seen = with_leaf(seen, holder, leaf_seen(holder, generation=2, files=everything() | {keystore_file(1)}))
    part = planned(with_leaf(seen, SECOND, None), now_s=LATE_S - 100)
    made = {(one.holder, one.generation) for one in part.actions if isinstance(one, ComposeLeaf)}
    assert made == {(holder, 3) for holder, _ in seen.leafs}


def test_a_lost_leaf_begins_one_generation_only() -> None:
    """While the API server refuses the Secret that is lost, the others stay as they are."""
    seen = material(RECORD)
    for holder, _ in seen.leafs:
        seen = with_leaf(seen, holder, leaf_seen(holder, generation=2, files=everything() | {keystore_file(1)}))
    part = planned(with_leaf(seen, SECOND, None))
    assert [(one.holder, one.generation) for one in part.actions if isinstance(one, ComposeLeaf)] == [(SECOND, 2)]


@pytest.mark.parametrize("users", [Known(value=None), Unknown(reason="Secret alpha-users was not read (500)")])
def test_brokers_keep_their_user_while_the_users_are_not_known(users: Any) -> None:  # noqa: ANN401 - either of both
    """Users that are lost, or were not read, are no reason to take the user of the brokers out of their Secret."""
    sasl = replace(LISTENER, protocol=Protocol.SASL_SSL)
    made = secured(listener=sasl, users=1)
    record = replace(recorded(made), listener=sasl)
    late_s = LATE_S - 60
    known = Known(value=UsersSeen(listeners=frozenset({sasl.name}), version="1"))
    for seen, keeps, listeners in ((users, True, ()), (known, False, (sasl.name,))):
        look = looked(record, material(record, users=seen), made)
        part = certificates(situation(wanted(runtime=runtime(listener=sasl)), look, record, now_s=late_s))
        (compose,) = (one for one in part.actions if isinstance(one, ComposeLeaf) and one.holder == BROKERS)
        assert (compose.keeps_login, compose.listeners) == (keeps, listeners)


def test_an_interrupted_renewal_goes_on() -> None:
    """Leafs that the last pass did not renew follow, and those that it renewed stay."""
    part = planned(with_leaf(material(RECORD), SECOND, leaf_seen(SECOND, generation=2, before_ends_s=int(LATE_S))))
    made = [one.holder for one in part.actions if isinstance(one, ComposeLeaf)]
    assert SECOND not in made
    assert len(made) == 4


def test_an_unread_leaf_is_not_replaced() -> None:
    """A Secret that was not read is neither made nor renewed; the others are, and the status names it."""
    seen = material(RECORD)
    leafs = tuple(
        (one, Unknown(reason="Secret alpha-3001-tls is foreign") if one == SECOND else it) for one, it in seen.leafs
    )
    part = planned(replace(seen, leafs=leafs), now_s=LATE_S)
    made = {one.holder for one in part.actions if isinstance(one, ComposeLeaf)}
    assert SECOND not in made
    assert len(made) == 4
    assert [wait.reason for wait in part.waits if "alpha-3001-tls" in wait.message] == [HELD]


def test_a_new_authority_that_nobody_trusts_signs_nothing() -> None:
    """If the authority was lost and made again, no leaf of it is shown while controllers trust the earlier one."""
    lost = replace(material(RECORD), own=Known(value=OwnAuthorities(present=authority_seen(2), version="42")))
    part = planned(lost)
    assert part.actions == ()
    assert {wait.reason for wait in part.waits} == {CERTIFICATES}


def test_a_lost_operator_without_an_authority_is_told() -> None:
    """It reaches no controller any more: the way out is a backup."""
    lost = replace(material(RECORD), own=Known(value=OwnAuthorities(present=authority_seen(2), version="42")))
    lost = with_leaf(lost, OPERATOR, None)
    led = planned(lost)
    assert not [wait for wait in led.waits if "backup" in wait.message]
    look = replace(looked(RECORD, lost), quorum=SILENT)
    part = certificates(situation(wanted(), look, RECORD, now_s=NOW_S))
    (wait,) = (wait for wait in part.waits if "backup" in wait.message)
    assert "alpha-ca" in wait.message


@pytest.mark.parametrize(
    ("policy", "now_s"),
    [
        (TrustPolicy(leaf_s=LEAF_S, renew_authority="again"), NOW_S),
        (TrustPolicy(leaf_s=LEAF_S), NOW_S + 90 * LEAF_S),
    ],
    ids=["asked for", "ends soon"],
)
def test_an_authority_that_follows(policy: TrustPolicy, now_s: float) -> None:
    """Another value of renewCA, or an authority that ends soon, makes one more beside it."""
    part = certificates(judged(material(RECORD), spec=wanted(trust=policy), now_s=now_s))
    (action,) = (one for one in part.actions if isinstance(one, MakeAuthority))
    assert (action.following, action.version) == (True, "41")


def test_an_authority_is_promoted() -> None:
    """When every controller runs with the new authority alone, the earlier one ends."""
    new = secured(trust=authority_seen(2).pem)
    record = recorded(new)
    seen = with_own(material(record), following=authority_seen(2))
    for holder, _ in seen.leafs:
        seen = with_leaf(seen, holder, leaf_seen(holder, of=2))
    part = certificates(situation(wanted(), looked(record, seen, new), record, now_s=NOW_S))
    (action,) = (one for one in part.actions if isinstance(one, PromoteAuthority))
    assert (action.sha256, action.version) == (authority_seen(2).sha256, "41")


# Listeners


def reloads(*shown: Shown, seen: Material | None = None) -> list[ReloadListener]:
    """The requests for what these listeners showed."""
    part = planned(replace(seen or material(RECORD), shown=shown), now_s=NOW_S + BROUGHT_AFTER_S)
    return [one for one in part.actions if isinstance(one, ReloadListener)]


def test_a_listener_with_an_earlier_leaf_is_asked() -> None:
    """A listener that serves another leaf than its Secret has is asked, through the leader."""
    (action,) = reloads(served(3000), served(3001, NOW_S - 60), served(3002))
    assert (action.node_id, action.listener, action.leader.node_id) == (3001, LISTENER.name, 3000)


def test_a_listener_whose_leaf_has_ended_is_asked() -> None:
    """The operator accepts nothing from it, and it would serve that leaf until its controller restarts."""
    over = NotServed(failure=Failure.EXPIRED, why="its certificate has ended")
    (action,) = reloads(served(3001, handshake=over))
    assert (action.node_id, action.listener) == (3001, LISTENER.name)
    assert reloads(served(3001, handshake=over, fresh=False)) == []


@pytest.mark.parametrize(
    "shown",
    [
        served(3001, NOW_S - 60, fresh=False),
        served(3001, NOW_S - 60, instance="an earlier container"),
        served(3001, handshake=NotServed(failure=Failure.UNREACHABLE, why="no connection")),
    ],
    ids=["asked already", "an earlier container", "no answer"],
)
def test_a_listener_that_is_not_asked(shown: Shown) -> None:
    """What a listener showed before it was asked, or before its container, is no reason; nor is silence."""
    assert reloads(shown) == []


# The guards


def refused(verdict: Verdict, *named: object) -> None:
    """The guard refuses, and names at least these."""
    assert not verdict.allowed
    assert set(facts(*named)) <= set(facts(verdict.reason))


def test_a_leaf_that_everybody_trusts() -> None:
    """A leaf of the trusted authority may be shown; not one of another, nor one of none."""
    assert may_show_leaf(judged(), SECOND, authority_seen().sha256, "").allowed
    refused(may_show_leaf(judged(), SECOND, authority_seen(2).sha256, ""), "3000", "3001", "3002")
    refused(may_show_leaf(judged(), SECOND, "", ""))


def test_one_controller_that_does_not_trust_it() -> None:
    """One running controller that is made from an earlier trust is enough for a refusal, and it alone is named."""
    both = secured(trust=authority_seen().pem + authority_seen(2).pem)
    record = recorded(both)
    look = with_pod(
        looked(record, material(record), both, secured()),
        3001,
        revision=looked(record, None, both, secured()).revisions[1].name,
    )
    verdict = may_show_leaf(situation(wanted(), look, record), SECOND, authority_seen(2).sha256, "")
    refused(verdict, "3001")
    assert "3000" not in verdict.reason


def test_an_authority_that_is_needed_does_not_end() -> None:
    """An authority stays while a controller trusts it, a leaf is signed by it, or a pod's trust is not known."""
    trust = authority_seen(2).pem
    refused(may_end_authority(judged(), trust), "3000", "3001", "3002")
    new = secured(trust=trust)
    record = recorded(new)
    look = looked(record, with_own(material(record), present=authority_seen(2)), new)
    refused(may_end_authority(situation(wanted(), look, record), trust), "3001")
    refused(may_end_authority(situation(wanted(), replace(look, material=None), record), trust))
    strange = with_pod(look, 3002, revision="alpha-x")
    refused(may_end_authority(situation(wanted(), strange, record), trust), "alpha-3002-g1")


def test_when_a_listener_may_load() -> None:
    """A listener loads a trusted leaf with a leader; not without one, and not one of another authority."""
    leaf, shown = leaf_seen(SECOND, before_ends_s=int(LATE_S)), served(3001)
    assert may_reload(judged(), shown, leaf, secured()).allowed
    silent = replace(judged().observed, quorum=SILENT)
    refused(may_reload(situation(wanted(), silent, RECORD), shown, leaf, secured()), "3001")
    refused(may_reload(judged(), shown, leaf_seen(SECOND, of=2), secured()), "3001")
    refused(may_reload(judged(), shown, leaf, runtime()), "3001")


@pytest.mark.parametrize(
    ("leader", "listener", "allowed"),
    [
        ("3.9.2", "3.9.2", False),
        ("4.1.2", "4.1.2", False),
        ("4.2.0", "4.4.0", False),
        ("4.3.0", "4.3.0", True),
        ("4.4.0", "4.1.2", True),
        ("not known", "4.1.2", True),
    ],
)
def test_a_leader_that_refuses_is_not_asked(leader: str, listener: str, *, allowed: bool) -> None:
    """The release of the leader decides, not that of the listener. In a static quorum every release takes it."""
    leaf, shown = leaf_seen(SECOND, before_ends_s=int(LATE_S)), served(3001)

    def verdict_of(leads: Runtime) -> Verdict:
        record = recorded(leads)
        now = situation(wanted(), looked(record, material(record), leads), record)
        return may_reload(now, shown, leaf, secured(release=listener))

    verdict = verdict_of(secured(release=leader))
    assert verdict.allowed is allowed
    if not allowed:
        refused(verdict, "3001", leader)
        assert "The restart of the controller brings the certificate" in verdict.reason
    assert verdict_of(secured(release=leader, static_voters=RECORD.node_ids)).allowed


def test_no_listener_loads_a_leaf_that_has_ended() -> None:
    """Its Secret could not be written since then: a request would change nothing."""
    over = NotServed(failure=Failure.EXPIRED, why="its certificate has ended")
    for shown in (served(3001, handshake=over), served(3001, NOW_S + 500)):
        seen = replace(material(RECORD), shown=(shown,))
        for now_s, number in ((NOW_S + LEAF_S - 1, 1), (NOW_S + LEAF_S, 0)):
            asked = [
                each for each in certificates(judged(seen, now_s=now_s)).actions if isinstance(each, ReloadListener)
            ]
            assert len(asked) == number


@pytest.mark.parametrize("before_ends_s", [0, int(NOW_S) - 1], ids=["not known", "ended"])
def test_a_listener_waits_for_what_its_pod_gets(before_ends_s: int) -> None:
    """After a leaf that is not known, or has ended, a listener loads the next one when no pod can lack it any more."""
    leaf, shown = leaf_seen(SECOND, generation=2, before_ends_s=before_ends_s), served(3001)
    for after_s, allowed in ((0, False), (BROUGHT_AFTER_S - 1, False), (BROUGHT_AFTER_S, True)):
        now = replace(judged(), now_s=NOW_S + after_s)
        assert may_reload(now, shown, leaf, secured()).allowed is allowed
        copied = replace(leaf, composed_s=int(NOW_S) + 100)
        assert may_reload(now, shown, copied, secured()).allowed is False
    refused(may_reload(judged(), shown, leaf, secured()), "3001")
    known = replace(leaf, before_ends_s=int(NOW_S) + 100)
    assert may_reload(judged(), shown, known, secured()).allowed


# The way out when certificates have ended


def ended(*shown: Shown, generation: int = 2) -> Situation:
    """No leader answers, and the Secrets have leafs that are valid: those of 3001 were renewed."""
    seen = replace(material(RECORD), shown=shown)
    for holder, _ in seen.leafs:
        seen = with_leaf(seen, holder, leaf_seen(holder, generation=generation, before_ends_s=1))
    return situation(
        wanted(), replace(looked(RECORD, seen), quorum=SILENT, taken_at_s=LOOKED_S), RECORD, now_s=NOW_S + 100
    )


EXPIRED = served(3001, handshake=NotServed(failure=Failure.EXPIRED, why="it has ended"))


def test_a_controller_whose_certificate_has_ended_restarts_without_a_leader() -> None:
    """It may restart if its own handshake showed the end, and a later leaf waits in its Secret."""
    now = ended(EXPIRED)
    pod = next(iter(now.observed.serving(IDS[1])))
    node = next(one for one in RECORD.nodes if one.node_id == IDS[1])
    assert may_restart(now, node, pod).allowed


def test_any_later_leaf_is_enough_without_a_leader() -> None:
    """One Secret has generation 3, and two are refused since generation 2: a majority can start again."""
    seen = material(RECORD)
    over = NotServed(failure=Failure.EXPIRED, why="it has ended")
    for holder, _ in seen.leafs:
        held = holder in {SECOND, controller(IDS[2])}
        leaf = leaf_seen(holder, at_s=NOW_S + 3000, generation=2 if held else 3, before_ends_s=int(NOW_S) + LEAF_S)
        seen = with_leaf(seen, holder, leaf)
    seen = replace(seen, shown=tuple(replace(served(each, handshake=over), at_s=LOOKED_S) for each in IDS))
    look = replace(looked(RECORD, seen), quorum=SILENT, taken_at_s=LOOKED_S)
    now = situation(wanted(), look, RECORD, now_s=NOW_S + LEAF_S + 100)
    assert now.runtime.certificates == 3
    assert judge_restart(now).allowed
    early = replace(leaf_seen(SECOND, at_s=now.now_s - 59), generation=2, before_ends_s=int(NOW_S) + LEAF_S)
    for leaf in (early, leaf_seen(SECOND, at_s=NOW_S + 3000)):
        other = replace(look, material=with_leaf(seen, SECOND, leaf))
        assert not judge_restart(situation(wanted(), other, RECORD, now_s=now.now_s)).allowed


RENEWED_S = NOW_S + 1000
ENDS_S = int(NOW_S) + 2000


def past(now_s: float, *, generation: int = 2, started_s: float = NOW_S, ends_s: int = ENDS_S) -> Situation:
    """3001 serves its renewed leaf, and its container may be older than that; no leader answers."""
    seen = material(RECORD)
    for holder, _ in seen.leafs:
        late = leaf_seen(holder, at_s=RENEWED_S, generation=generation, before_ends_s=ends_s)
        seen = with_leaf(seen, holder, late)
    since = Running(started_at=second(datetime.fromtimestamp(started_s, UTC)))
    look = with_pod(replace(looked(RECORD, seen), quorum=SILENT, taken_at_s=LOOKED_S), 3001, container=since)
    return situation(wanted(), look, RECORD, now_s=now_s)


def test_a_client_with_an_ended_intermediate_authority_restarts_without_a_leader() -> None:
    """Its certificate is the same, and began long ago: the time of the copy shows that its container is older."""
    now = past(ENDS_S, started_s=RENEWED_S + 400)
    assert not judge_restart(now).allowed
    material_ = now.observed.material
    assert material_ is not None
    for holder, leaf in tuple(material_.known_leafs()):
        material_ = with_leaf(material_, holder, replace(leaf, composed_s=int(RENEWED_S) + 500))
    assert judge_restart(replace(now, observed=replace(now.observed, material=material_))).allowed


def judge_restart(now: Situation) -> Verdict:
    """Whether 3001 may restart."""
    pod = next(iter(now.observed.serving(IDS[1])))
    return may_restart(now, next(one for one in RECORD.nodes if one.node_id == IDS[1]), pod)


@pytest.mark.parametrize(
    "now",
    [
        past(ENDS_S),
        past(RENEWED_S - 1 + LEAF_S, generation=3, started_s=RENEWED_S - 1),
    ],
    ids=["the one before the renewed one", "one that was made before the start"],
)
def test_a_client_whose_certificate_has_ended_restarts_without_a_leader(now: Situation) -> None:
    """It may restart although its listener serves a valid leaf: what it loaded at its start has certainly ended."""
    assert judge_restart(now).allowed


@pytest.mark.parametrize(
    "now",
    [
        past(ENDS_S - 1),
        past(ENDS_S, ends_s=0),
        past(ENDS_S, generation=3),
        past(ENDS_S, started_s=RENEWED_S),
        past(ENDS_S, started_s=0.0),
        past(RENEWED_S + LEAF_S),
    ],
    ids=["not yet", "its end is unknown", "a generation between", "a later start", "no start", "the renewed one ended"],
)
def test_a_client_whose_certificate_may_be_valid_stays(now: Situation) -> None:
    """Without certainty about what it shows no controller restarts while there is no leader."""
    refused(judge_restart(now), "3001")


@pytest.mark.parametrize(
    "now",
    [
        ended(),
        ended(replace(EXPIRED, instance="an earlier container")),
        ended(replace(EXPIRED, at_s=LOOKED_S - 31.0)),
        ended(replace(EXPIRED, handshake=NotServed(failure=Failure.NOT_TRUSTED, why="another authority"))),
        ended(EXPIRED, generation=1),
    ],
    ids=["not seen", "an earlier container", "seen too long ago", "not ended", "no later leaf"],
)
def test_no_leader_is_no_reason_alone(now: Situation) -> None:
    """Without that evidence no controller restarts while there is no leader."""
    pod = next(iter(now.observed.serving(IDS[1])))
    node = next(one for one in RECORD.nodes if one.node_id == IDS[1])
    refused(may_restart(now, node, pod), "3001")


def with_users(**changes: Any) -> Situation:  # noqa: ANN401 - any field of a pod
    """Every controller has SASL_SSL, and every pod these fields."""
    listener = replace(LISTENER, protocol=Protocol.SASL_SSL)
    look = looked(RECORD, material(RECORD, users=Known(value=None)))
    made = replace(look.revisions[0], runtime=secured(listener=listener, users=1))
    look = replace(look, revisions=(made,))
    return situation(wanted(), replace(look, pods=tuple(replace(one, **changes) for one in look.pods)), RECORD)


EARLIER = Terminated(exit_code=1, reason="Error", message="", finished_at="")


@pytest.mark.parametrize(
    ("now", "held"),
    [
        (with_users(), True),
        (with_users(container=Waiting(reason="CrashLoopBackOff", message="", last_exit=EARLIER)), True),
        (with_users(container=EARLIER), True),
        (with_users(revision="unknown"), True),
        (with_users(container=Waiting(reason="ContainerCreating", message="", last_exit=None), report=None), False),
        (with_users(finished=True), False),
        (judged(material(RECORD)), False),
    ],
    ids=("run", "ran", "ended", "of an unknown revision", "cannot start", "pods that ended", "without users"),
)
def test_lost_users_of_running_controllers(now: Situation, held: bool) -> None:  # noqa: FBT001 - a column
    """Lost users get no other passwords while a controller may have the earlier ones; the way out is said."""
    verdict = may_give_users(now, None, "alpha-users")
    if held:
        refused(verdict, "alpha-users", "3000", "3001", "3002")
    assert verdict.allowed is not held
    assert may_give_users(now, UsersSeen(listeners=frozenset({"A"}), version="1"), "alpha-users").allowed


def test_lost_users_are_told() -> None:
    """The planner then makes nothing, and the status shows a wait that a person must end."""
    now = with_users()
    spec = wanted(runtime=runtime(listener=replace(LISTENER, protocol=Protocol.SASL_SSL)))
    part = certificates(replace(now, desired=spec))
    assert not any(isinstance(one, MakeUsers) for one in part.actions)
    assert [wait.reason for wait in part.waits if "alpha-users" in wait.message] == [HELD]


def lost_revisions(of: int, **changes: Any) -> Situation:  # noqa: ANN401 - fields of a look
    """The revisions are gone, and the Secret of the authority has the first, second, … one."""
    seen = with_own(material(RECORD), present=authority_seen(of))
    return situation(wanted(), replace(looked(RECORD, seen), revisions=(), **changes), RECORD, now_s=NOW_S)


def test_a_controller_of_an_unknown_revision_trusts_nothing() -> None:
    """While its revision is gone, no leaf is given, and no listener loads one. The sentence names the pod."""
    now = lost_revisions(1)
    verdict = may_show_leaf(now, OPERATOR, authority_seen().sha256, "why")
    assert not verdict.allowed
    assert now.observed.pods[0].name in verdict.reason
    assert not may_reload(now, served(IDS[0]), leaf_seen(SECOND), secured()).allowed
    stopped = lost_revisions(1, pods=())
    assert may_show_leaf(stopped, OPERATOR, authority_seen().sha256, "why").allowed


def test_lost_revisions_take_no_other_trust() -> None:
    """The authority of every leaf is trusted again; another one waits, and is published to no broker."""
    assert lost_revisions(1).runtime.trust == authority_seen(1).pem
    assert [type(one) for one in revisions(lost_revisions(1)).actions] == [CreateRevision]
    now = lost_revisions(2)
    assert not now.runtime.trust
    part = revisions(now)
    assert part.exclusive is None
    assert not part.actions
    assert [wait.reason for wait in part.waits] == ["RevisionLost"]
    assert contract(now) == Part()


def test_lost_revisions_and_an_unread_leaf() -> None:
    """While one leaf is not known, neither is what the controllers trust."""
    seen = material(RECORD)
    unread = tuple((one, Unknown(reason="?") if one == SECOND else each) for one, each in seen.leafs)
    assert not lost_revisions(1, material=replace(seen, leafs=unread)).runtime.trust
    assert lost_revisions(1, material=with_leaf(seen, SECOND, None)).runtime.trust
    assert not lost_revisions(1, material=None).runtime.trust


def test_lost_revisions_without_any_pod() -> None:
    """When no controller runs, the present authority signs every certificate again: the way out that is named."""
    made = [one for one in certificates(lost_revisions(2, pods=())).actions if isinstance(one, ComposeLeaf)]
    assert {one.authority for one in made} == {authority_seen(2).sha256}
    assert len(made) == len(material(RECORD).leafs)


def between(**changes: Any) -> Material:  # noqa: ANN401 - any field of the brokers' leaf
    """Every leaf is renewed, and no controller has followed: the contract names generation 1."""
    plain = material(RECORD)
    rows = ((holder, leaf_seen(holder, generation=2, before_ends_s=int(LATE_S))) for holder, _ in plain.leafs)
    seen = replace(plain, leafs=tuple((holder, Known(value=leaf)) for holder, leaf in rows))
    files = everything() | {keystore_file(1), keystore_file(2)}
    fields: dict[str, Any] = {"generation": 2, "before_ends_s": int(LATE_S), "files": files} | changes
    return with_leaf(seen, BROKERS, leaf_seen(BROKERS, **fields))


def for_brokers(part: Part) -> ComposeLeaf:
    """What is written into the brokers' Secret, and into no other one."""
    (one,) = part.actions
    assert isinstance(one, ComposeLeaf)
    assert one.holder == BROKERS
    return one


def test_a_lost_secret_of_brokers_gets_the_file_of_the_contract() -> None:
    """Between a renewal and the roll, a Secret that is made again has the generation that running brokers name, too."""
    assert planned(between()).actions == ()
    one = for_brokers(planned(with_leaf(between(), BROKERS, None)))
    assert (one.generation, one.also) == (2, 1)
    one = for_brokers(planned(between(files=everything() | {keystore_file(2)})))
    assert (one.generation, one.also) == (2, 1)


def test_files_that_brokers_may_load_are_kept() -> None:
    """Those of the present runtime, of the published contract, and those that a broker reports; nothing unknown."""
    now = judged(with_leaf(between(), BROKERS, None))
    trust = trust_file(secured().trust)
    key = "listener.name.controller.ssl.keystore.location"
    contract = due_contract(now, None, may_go_down=False)
    earlier = replace(contract, settings=(Setting(key=key, value="keystore-7.pem", match=Match.FILE),))
    settings = {key: "/etc/kafka-quorum-tls/keystore-5.pem", "ssl.protocol": "/a/keystore-6.pem", f"a{key}": None}
    brokers = (
        BrokerSeen(node_id=NodeID(1), settings=Known(value=settings)),
        BrokerSeen(node_id=NodeID(2), settings=Unknown(reason="it did not answer")),
    )
    look = replace(now.observed, brokers=Known(value=brokers), contract=Known(value=StoredContract(contract=earlier)))
    kept = for_brokers(certificates(situation(wanted(), look, RECORD))).keeps
    assert {trust, keystore_file(1), keystore_file(5), keystore_file(7)} <= set(kept)
    assert keystore_file(6) not in kept
    unread = replace(look, brokers=Unknown(reason=""), contract=Unknown(reason="403"))
    assert set(for_brokers(certificates(situation(wanted(), unread, RECORD))).keeps) == {trust, keystore_file(1)}
