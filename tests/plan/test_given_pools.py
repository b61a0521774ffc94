"""Pools in a quorum with another issuer: each follows its own source, and keeps nobody from anything."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import pytest
from tests.model.certificates import (
    LEAF_S,
    LISTENER,
    authority_seen,
    copied,
    everything,
    given_material,
    looked,
    of_cert_manager,
    of_others,
    recorded,
    secured,
    source,
    with_leaf,
    with_source,
)
from tests.model.values import IDS, NOW_S, runtime
from tests.plan.test_given import LATER_S, LEAFS, NEW, judged, made, renewed, stands

from kafka_quorum.model.actions import ComposeLeaf, RequestLeaf
from kafka_quorum.model.certified import holders, with_trust
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.generations import complete, generation_due
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.material import (
    BROKERS,
    OPERATOR,
    Holder,
    LeafSeen,
    Material,
    RequestSeen,
    Source,
    controller,
    pool,
)
from kafka_quorum.model.names import keystore_file, trust_file
from kafka_quorum.model.plan import Severity
from kafka_quorum.model.pools import PoolSeen, certified_names, reached_hosts
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.contract import due_contract
from kafka_quorum.plan.guards.rule13_authority import may_drop_old
from kafka_quorum.plan.part import Part
from kafka_quorum.plan.security.certificates import certificates
from kafka_quorum.plan.security.shared import CERTIFICATES, HELD, PAUSES
from kit.stamps import second

LAST_S: Final = 253_402_300_799
"""The last second that a certificate can name: the end of the year 9999."""
RECORD = recorded()
SECRET = "events-cert"  # noqa: S105 - a name
SEEN = PoolSeen(
    name="events",
    uid="u1",
    names=certified_names("kafka", "events", (), ()),
    secret=SECRET,
    hosts=reached_hosts("kafka", "events", (), (0, 1)),
)
EVENTS = pool(SEEN)
OWN = "alpha-brokers-tls.events"
FILES = everything() | {"keystore-1.pem"}
END_S = int(NOW_S) + LEAF_S
BAD = Unknown(reason="tls.key of Secret events-cert is bad")


def pool_leaf(of: int = 1, at_s: float = NOW_S, **changes: Any) -> LeafSeen:  # noqa: ANN401 - any field
    """The leaf in the pool's Secret."""
    found = copied(BROKERS, of, at_s, **({"files": FILES} | changes))
    return replace(found, certificate=replace(found.certificate, dns_names=SEEN.names))


def pool_source(of: int = 1, at_s: float = NOW_S) -> Source:
    """What the Secret that the pool names has, after its checks."""
    return source(BROKERS, of, at_s, secret=SECRET)


def with_pool(
    leaf: LeafSeen | None, given: Knowable[Source], seen: PoolSeen = SEEN, at: Material | None = None
) -> Material:
    """A look at a quorum with one pool, with its leaf and its source."""
    before = given_material(RECORD) if at is None else at
    return replace(
        before,
        leafs=(*before.leafs, (EVENTS, Known(value=leaf))),
        sources=(*before.sources, (EVENTS, given)),
        pools=Known(value=(seen,)),
    )


def of_pool(part: Part) -> ComposeLeaf:
    """The one Secret of the pool that is written."""
    (found,) = (one for one in part.actions if isinstance(one, ComposeLeaf) and one.holder == EVENTS)
    return found


def test_a_new_pool_gets_a_copy() -> None:
    """Its Secret is made in the present generation, with what brokers need, and no other one is written."""
    part = certificates(judged(with_pool(None, Known(value=pool_source()))))
    assert made(part) == [(EVENTS, 1, "events-cert")]
    assert (of_pool(part).name, of_pool(part).before, of_pool(part).holder.uid) == (OWN, None, "u1")
    assert of_pool(part).dns_names == (
        "events-0.events-brokers.kafka.svc",
        "events-1.events-brokers.kafka.svc",
        "events-bootstrap.kafka.svc",
    )
    assert part.waits == ()


def test_a_copied_pool_needs_nothing() -> None:
    """A pool that has what its Secret has is left alone."""
    assert certificates(judged(with_pool(pool_leaf(), Known(value=pool_source())))) == Part()


def test_a_renewed_certificate_of_a_pool_begins_a_generation() -> None:
    """Brokers load it only when they start: so every holder gets the next generation, as for any renewal."""
    seen = with_pool(pool_leaf(), Known(value=pool_source(at_s=LATER_S)))
    part = certificates(judged(seen))
    assert {(one, number) for one, number, _ in made(part)} == {(one, 2) for one in (*holders(RECORD), EVENTS)}
    assert of_pool(part).source == "events-cert"
    assert of_pool(part).before_ends_s == pool_leaf().certificate.not_after_s


def test_a_pool_that_alternates_begins_no_generation_at_each_change() -> None:
    """All follow after a pause: an eighth of the time for a renewal, three minutes at least, and an hour at most."""
    seen = with_pool(pool_leaf(), Known(value=pool_source(at_s=LATER_S)))
    fresh = with_leaf(seen, OPERATOR, copied(OPERATOR, composed_s=int(NOW_S)))
    waiting = certificates(judged(fresh, now_s=NOW_S + 179))
    assert made(waiting) == []
    (wait,) = waiting.waits
    until = second(datetime.fromtimestamp(NOW_S + 180, tz=UTC))
    assert (wait.reason, wait.severity) == (PAUSES, Severity.PROGRESS)
    assert f"Waiting until {until}" in wait.message
    assert "events" in wait.message
    after = certificates(judged(fresh, now_s=NOW_S + 180))
    assert len(made(after)) == len((*holders(RECORD), EVENTS))
    assert after.waits == ()


def test_a_certificate_of_a_far_future_delays_others_and_ends_no_pass() -> None:
    """Its Secret may hold any dates. The time in the wait is one that can be written."""
    seen = with_pool(pool_leaf(), Known(value=pool_source(at_s=LATER_S)))
    far = copied(OPERATOR)
    far = replace(far, composed_s=0, certificate=replace(far.certificate, not_before_s=LAST_S, not_after_s=LAST_S))
    (wait,) = certificates(judged(with_leaf(seen, OPERATOR, far))).waits
    assert "Waiting until" in wait.message


def test_a_given_leaf_of_the_controllers_is_followed_after_three_minutes_or_its_end() -> None:
    """In between, pods mount what their Secrets have. One that has ended is replaced at once."""
    seen = renewed(given_material(RECORD), *(controller(each) for each in IDS))
    fresh = with_leaf(seen, OPERATOR, copied(OPERATOR, composed_s=int(NOW_S)))
    assert made(certificates(judged(fresh, now_s=NOW_S + 179))) == []
    assert made(certificates(judged(fresh, now_s=NOW_S + 180))) != []
    over = copied(controller(IDS[0]))
    over = replace(over, certificate=replace(over.certificate, not_after_s=int(NOW_S)))
    assert made(certificates(judged(with_leaf(fresh, controller(IDS[0]), over), now_s=NOW_S + 1))) != []


def test_a_pool_whose_number_is_ahead_gets_the_common_one() -> None:
    """Its owner wrote it there. Its Secret alone is written, from its source."""
    seen = with_pool(pool_leaf(generation=7), Known(value=pool_source()))
    assert made(certificates(judged(seen))) == [(EVENTS, 1, "events-cert")]


@pytest.mark.parametrize("leaf", [None, pool_leaf()], ids=["without a leaf", "with one"])
def test_a_bad_secret_of_a_pool_holds_nobody_up(leaf: LeafSeen | None) -> None:
    """The others are renewed, a pool with a leaf keeps it in the next generation, and the status names the Secret."""
    seen = renewed(with_pool(leaf, BAD), *(controller(each) for each in IDS))
    part = certificates(judged(seen))
    expected = {(one, 2) for one in (*holders(RECORD), *(() if leaf is None else (EVENTS,)))}
    assert {(one, number) for one, number, _ in made(part)} == expected
    assert leaf is None or of_pool(part).source == OWN
    assert [(wait.reason, "events-cert" in wait.message) for wait in part.waits] == [(HELD, True)]
    assert complete(with_pool(leaf, BAD), RECORD) == 1


def test_a_leaf_that_has_ended_is_not_copied_again() -> None:
    """Brokers go on with what they loaded: no restart shows a certificate that nobody accepts."""
    ended = pool_leaf()
    ended = replace(ended, certificate=replace(ended.certificate, not_after_s=int(NOW_S)))
    seen = renewed(with_pool(ended, BAD), *(controller(each) for each in IDS))
    assert EVENTS not in [one for one, _, _ in made(certificates(judged(seen)))]
    back = certificates(judged(replace(seen, sources=(*seen.sources[:-1], (EVENTS, Known(value=pool_source()))))))
    assert (EVENTS, 2, "events-cert") in made(back)


def test_a_leaf_that_others_do_not_trust_waits() -> None:
    """A certificate of an authority that servers do not trust yet is not copied for a pool either."""
    part = certificates(judged(with_pool(None, Known(value=pool_source(of=2)))))
    assert made(part) == []
    assert [wait.reason for wait in part.waits] == [CERTIFICATES]


@pytest.mark.parametrize("holder", [EVENTS, BROKERS], ids=str)
def test_the_end_of_what_brokers_show_is_not_forgotten(holder: Holder) -> None:
    """The others begin one more generation before the brokers follow: the earliest end still decides the roll."""
    leaf = pool_leaf(generation=2, before_ends_s=17, composed_s=int(NOW_S), files=FILES | {"keystore-2.pem"})
    seen = with_pool(pool_leaf(generation=2, before_ends_s=END_S, files=FILES), Known(value=pool_source()))
    for one in holders(RECORD):
        seen = with_leaf(seen, one, copied(one, generation=2, before_ends_s=END_S, files=FILES))
    part = certificates(judged(renewed(with_leaf(seen, holder, leaf), controller(IDS[0]))))
    (found,) = (one for one in part.actions if isinstance(one, ComposeLeaf) and one.holder == holder)
    assert (found.generation, found.before_ends_s, found.also) == (3, 17, 0)


@pytest.mark.parametrize("holder", [EVENTS, BROKERS], ids=str)
def test_brokers_always_find_the_file_of_the_contract(holder: Holder) -> None:
    """A Secret keeps two earlier files beside the one that the contract names; one that is lost comes back."""
    many = FILES | {"keystore-2.pem", "keystore-3.pem"}
    seen = with_pool(pool_leaf(generation=3, before_ends_s=END_S, files=many), Known(value=pool_source()))
    for one in holders(RECORD):
        seen = with_leaf(seen, one, copied(one, generation=3, before_ends_s=END_S, files=many))
    part = certificates(judged(renewed(seen, controller(IDS[0]))))
    (found,) = (one for one in part.actions if isinstance(one, ComposeLeaf) and one.holder == holder)
    assert (found.generation, found.also) == (4, 0)
    assert keystore_file(1) in found.keeps
    gone = pool_leaf(generation=3, before_ends_s=END_S, files=many - {"keystore-1.pem"})
    (lost,) = (each for each in certificates(judged(with_leaf(seen, holder, gone))).actions)
    assert isinstance(lost, ComposeLeaf)
    assert (lost.holder, lost.generation, lost.also) == (holder, 3, 1)


def test_a_pool_with_more_names_has_them_in_the_file_of_the_contract() -> None:
    """A new broker starts with the file that the contract names, so that one has its host, too."""
    more = replace(SEEN, hosts=reached_hosts("kafka", "events", ("b-{id}.example.org",), (4,)))
    seen = with_pool(pool_leaf(), Known(value=pool_source(at_s=LATER_S)), more)
    assert (of_pool(certificates(judged(seen))).generation, of_pool(certificates(judged(seen))).also) == (2, 1)


def test_the_controllers_do_not_wait_for_a_pool() -> None:
    """They follow a generation that a pool does not have; the end of a pool's leaf is a reason for the roll, too."""
    seen = with_pool(pool_leaf(), BAD)
    for one in holders(RECORD):
        seen = with_leaf(seen, one, copied(one, generation=2, before_ends_s=int(NOW_S), files=everything()))
    look = looked(RECORD, seen)
    assert generation_due(of_others(), look, RECORD, NOW_S + LEAF_S) == 2


def test_the_subject_of_a_pool_gives_no_rights() -> None:
    """Super users of the controllers are those of the three Secrets that the quorum's spec names."""
    spec = replace(of_others(), trust=replace(of_others().trust, authorizer=True))
    own = pool_leaf()
    own = replace(own, certificate=replace(own.certificate, subject="CN=eve"))
    found = with_trust(
        runtime(listener=LISTENER), spec, looked(RECORD, with_pool(own, Known(value=pool_source()))), RECORD, NOW_S
    )
    assert found.super_users
    assert "User:CN=eve" not in found.super_users


def test_cert_manager_is_asked_for_a_pool() -> None:
    """The request has the pool, with its names."""
    bare = replace(SEEN, secret="")
    seen = with_pool(None, Unknown(reason="not yet"), bare, given_material(RECORD, pending=frozenset({EVENTS})))
    seen = replace(seen, requests=((EVENTS, Known(value=None)), (BROKERS, Known(value=RequestSeen(current=True)))))
    part = certificates(judged(seen, spec=of_cert_manager()))
    assert [(one.name, one.pools) for one in part.actions if isinstance(one, RequestLeaf)] == [
        ("alpha-brokers-cert.events", (bare,))
    ]
    assert [wait.reason for wait in part.waits] == [CERTIFICATES]


def in_change(leaf: LeafSeen | None, seen: PoolSeen, spec: Desired) -> Situation:
    """The new authority has signed every other leaf; the pool's one is this."""
    at = stands(LEAFS, NEW)
    assert at.observed.material is not None
    found = with_pool(leaf, Unknown(reason=""), seen, at.observed.material)
    for one in holders(RECORD):
        found = with_leaf(found, one, copied(one, 2))
    return replace(at, desired=spec, observed=replace(at.observed, material=found))


@pytest.mark.parametrize(
    ("leaf", "seen", "spec", "waits"),
    [
        (pool_leaf(), SEEN, of_others(), True),
        (pool_leaf(), replace(SEEN, secret=""), of_others(), True),
        (None, SEEN, of_others(), True),
        (None, replace(SEEN, secret=""), of_cert_manager(), True),
        (None, replace(SEEN, secret=""), of_others(), False),
        (pool_leaf(of=2), SEEN, of_others(), False),
    ],
    ids=["earlier", "earlier, unnamed", "lost or not made", "not issued", "none is wanted", "new"],
)
def test_trust_that_brokers_need_is_not_cut(
    leaf: LeafSeen | None,
    seen: PoolSeen,
    spec: Desired,
    waits: bool,  # noqa: FBT001 - one of two
) -> None:
    """An authority goes when each pool that shows a certificate has one of the new authority."""
    assert ("pool events" in may_drop_old(in_change(leaf, seen, spec)).reason) is waits


def test_files_of_an_earlier_trust_are_replaced() -> None:
    """A pool has the file with the authorities that the contract names, beside the leaf that it has."""
    bare = pool_leaf(files=FILES - {trust_file(secured().trust)})
    part = certificates(judged(with_pool(bare, Known(value=pool_source(of=2)))))
    assert made(part) == [(EVENTS, 1, OWN)]
    assert authority_seen(1).pem == of_pool(part).trust


def test_an_unread_secret_of_a_pool_is_said() -> None:
    """A Secret of the pool that could not be read is neither written nor forgotten."""
    seen = with_pool(None, Known(value=pool_source()))
    seen = replace(seen, leafs=(*seen.leafs[:-1], (EVENTS, Unknown(reason="forbidden"))))
    part = certificates(judged(seen))
    assert (part.actions, [wait.reason for wait in part.waits]) == ((), [HELD])
    assert with_source(seen, EVENTS, BAD).source(EVENTS) == BAD


def test_who_gives_the_certificates_of_pools() -> None:
    """With certificates of a person the contract has their users; while they are not read, it keeps them."""
    at = judged(given_material(RECORD))
    found = due_contract(at, None, may_go_down=False)
    subjects = [
        one.certificate.subject for who, one in given_material(RECORD).known_leafs() if who in (BROKERS, OPERATOR)
    ]
    assert found.given
    assert set(found.principals) == {f"User:{each}" for each in subjects}
    assert len(found.principals) == len(subjects)
    for seen in (None, with_leaf(given_material(RECORD), BROKERS, None)):
        blind = replace(at, observed=replace(at.observed, material=seen))
        assert due_contract(blind, found, may_go_down=False).principals == found.principals
        assert due_contract(blind, None, may_go_down=False).principals == ()
    managed = due_contract(judged(given_material(RECORD), spec=of_cert_manager()), None, may_go_down=False)
    assert (managed.given, managed.principals, managed.secrets) == (False, (), found.secrets)
