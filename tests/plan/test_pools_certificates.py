"""Certificates of pools: a pool is one more holder, of the present generation, and keeps nobody from anything."""

from dataclasses import replace

from tests.model.certificates import LEAF_S, judged, leaf_seen, material, recorded, secured, with_leaf
from tests.model.values import NOW_S, bound

from kafka_quorum.model.actions import ComposeLeaf
from kafka_quorum.model.certified import holders
from kafka_quorum.model.generations import complete
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.material import BROKERS, OPERATOR, LeafSeen, Material, controller, pool
from kafka_quorum.model.names import trust_file
from kafka_quorum.model.plan import Severity
from kafka_quorum.model.pools import PoolSeen, certified_names, pool_tls_name, why_no_name
from kafka_quorum.plan.guards.rule13_trust import may_end_authority
from kafka_quorum.plan.part import Part
from kafka_quorum.plan.security.certificates import certificates
from kafka_quorum.plan.security.shared import HELD
from kit.pki.certificate import NAMES_MAX, NAMES_MAX_CHARS

RECORD = recorded()
SEEN = PoolSeen(name="events", uid="u1", names=certified_names("kafka", "events", (), ()))
EVENTS = pool(SEEN)
FILES = frozenset({trust_file(secured().trust), "keystore-1.pem"})


def with_pool(leaf: LeafSeen | None, seen: PoolSeen = SEEN, **changes: object) -> Material:
    """A look at a quorum with one pool, whose Secret has this leaf."""
    before = replace(material(RECORD), pools=Known(value=(seen,)), **changes)  # type: ignore[arg-type]
    return replace(before, leafs=(*before.leafs, (EVENTS, Known(value=leaf))))


def pool_leaf(generation: int = 1, files: frozenset[str] = FILES, names: tuple[str, ...] = SEEN.names) -> LeafSeen:
    """The leaf of the pool."""
    found = leaf_seen(BROKERS, generation=generation, files=files)
    return replace(found, certificate=replace(found.certificate, dns_names=names))


def composed(part: Part) -> list[ComposeLeaf]:
    """The Secrets that are written."""
    return [one for one in part.actions if isinstance(one, ComposeLeaf)]


def test_a_new_pool_gets_a_leaf_of_the_present_generation() -> None:
    """Its Secret is made for its names and as brokers need it; no other leaf is renewed."""
    (one,) = composed(certificates(judged(with_pool(None))))
    assert (one.name, one.holder, one.generation, one.before, one.also) == (
        "alpha-brokers-tls.events",
        EVENTS,
        1,
        None,
        0,
    )
    assert one.dns_names == (
        "*.events-brokers.kafka.svc",
        "*.events-brokers.kafka.svc.cluster.local",
        "events-bootstrap.kafka.svc",
        "events-bootstrap.kafka.svc.cluster.local",
    )
    assert one.holder.uid == "u1"


def test_a_complete_pool_needs_nothing() -> None:
    """A pool whose Secret has its names and its files is left alone."""
    assert composed(certificates(judged(with_pool(pool_leaf())))) == []


def test_nobody_follows_the_number_of_a_pool() -> None:
    """Who may write the Secret of one pool can write any number there: the pool alone gets the common one again."""
    for number in (2, 1_000_000):
        (one,) = composed(certificates(judged(with_pool(pool_leaf(generation=number)))))
        assert (one.holder, one.generation) == (EVENTS, 1)


def test_a_secret_of_brokers_is_not_put_back_if_the_others_were_not_read() -> None:
    """They may have the same generation: unknown is not behind."""
    seen = material(RECORD)
    for holder, _ in seen.leafs:
        seen = with_leaf(seen, holder, leaf_seen(holder, generation=2, before_ends_s=int(NOW_S) + 900))
    unread = Unknown(reason="no answer in time")
    blind = replace(seen, leafs=tuple((one, each if one == BROKERS else unread) for one, each in seen.leafs))
    assert {one.generation for one in composed(certificates(judged(blind)))} == {2}


def test_an_old_leaf_in_the_secret_of_a_pool_begins_no_generation_at_once() -> None:
    """Who may write the Secret can put back a leaf that ends soon, again and again: the next generation waits."""
    old = pool_leaf()
    old = replace(old, certificate=replace(old.certificate, not_after_s=int(NOW_S) + 60))
    assert composed(certificates(judged(with_pool(old), now_s=NOW_S + 179))) == []
    assert len(composed(certificates(judged(with_pool(old), now_s=NOW_S + 180)))) == len((*holders(RECORD), EVENTS))


def test_more_names_replace_the_leaf_within_its_generation() -> None:
    """A name that is missing is added to those that the certificate has; none is taken away, no other is renewed."""
    more = replace(SEEN, names=certified_names("kafka", "events", ("b-{id}.example.org",), (4,)))
    old = pool_leaf(names=(*SEEN.names, "b-3.example.org"))
    (one,) = composed(certificates(judged(with_pool(old, more))))
    assert (one.generation, one.before) == (1, old)
    assert set(one.dns_names) == {*SEEN.names, "b-3.example.org", "b-4.example.org"}
    assert "b-4.example.org" in one.message


def test_names_that_have_no_room_in_one_certificate_are_not_added() -> None:
    """Together they could not be read again: then the names that are needed now are those of the next certificate."""
    more = replace(SEEN, names=certified_names("kafka", "events", ("b-{id}.example.org",), (4,)))
    long = tuple(f"{number}.{'a' * 63}.{'b' * 63}.example.org" for number in range(NAMES_MAX_CHARS // 141))
    old = pool_leaf(names=(*SEEN.names, *long))
    (one,) = composed(certificates(judged(with_pool(old, more))))
    assert one.dns_names == more.names


def test_names_without_room_are_said() -> None:
    """Else a broker whose host is in no certificate would wait for ever; what the certificate covers is no reason."""
    lacking = replace(SEEN, left_out=("b-8.example.org", "b-9.example.org"))
    (found,) = certificates(judged(with_pool(pool_leaf(), lacking))).waits
    assert (found.reason, found.severity) == (HELD, Severity.HELD)
    assert "of pool events has no room for b-8.example.org and 1 more" in found.message
    assert "Use fewer listeners with {id}" in found.message
    one = pool_leaf(names=(*SEEN.names, "b-8.example.org"))
    (found,) = certificates(judged(with_pool(one, lacking))).waits
    assert "has no room for b-9.example.org:" in found.message
    all_ = pool_leaf(names=(*SEEN.names, "*.example.org"))
    assert certificates(judged(with_pool(all_, lacking))).waits == ()
    assert "b-8" in certificates(judged(with_pool(None, lacking))).waits[0].message


def test_a_pool_that_is_made_during_a_renewal_has_the_file_of_the_contract() -> None:
    """The others have generation 2 already, and brokers use files of 1: the new Secret has both names."""
    seen = with_pool(None)
    for holder in holders(RECORD):
        seen = with_leaf(seen, holder, leaf_seen(holder, generation=2, before_ends_s=int(NOW_S + LEAF_S)))
    (one,) = (each for each in composed(certificates(judged(seen))) if each.holder == EVENTS)
    assert (one.generation, one.also) == (2, 1)


def test_a_pool_is_renewed_with_the_others() -> None:
    """When one leaf ends soon, that of the pool gets the next generation, too."""
    made = composed(certificates(judged(with_pool(pool_leaf()), now_s=NOW_S + LEAF_S)))
    assert {(one.holder, one.generation) for one in made} >= {(EVENTS, 2), (OPERATOR, 2)}


def test_a_pool_without_a_leaf_does_not_hold_the_controllers() -> None:
    """The generation that controllers show does not wait for pools."""
    assert complete(with_pool(None), RECORD) == 1


def test_unknown_pools_are_not_none() -> None:
    """If pools were not listed, no authority ends, and the status says why; controllers' leafs are looked after."""
    seen = replace(material(RECORD), pools=Unknown(reason="the pools were not listed (403)"))
    part = certificates(judged(with_leaf(seen, controller(RECORD.node_ids[1]), None)))
    assert [(wait.reason, "(403)" in wait.message) for wait in part.waits] == [(HELD, True)]
    assert composed(part)
    verdict = may_end_authority(judged(seen), secured().trust)
    assert not verdict.allowed
    assert "which pools show" in verdict.reason
    assert may_end_authority(judged(material(RECORD)), secured().trust).reason != verdict.reason
    assert bound().node_ids == RECORD.node_ids


def test_names_of_a_pool() -> None:
    """A wildcard for the cluster, hosts by node id; no name of the cluster, no address, no word, not too many."""
    hosts = ("Kafka-{id}.example.org", "all.example.org", "q-0.q-controllers.kafka.svc", "10.0.0.1", "word", "")
    found = certified_names("kafka", "events", hosts, (7, 9))
    outside = {each for each in found if ".svc" not in each}
    assert outside == {"kafka-7.example.org", "kafka-9.example.org", "all.example.org"}
    assert len(certified_names("kafka", "events", ("b-{id}.example.org",), range(1000))) == NAMES_MAX
    first = certified_names("kafka", "events", ("b-{id}.example.org",), (*range(900, 1000), *range(900)))
    assert {f"b-{each}.example.org" for each in (*range(900, 1000), *range(296))} == set(first) - set(SEEN.names)
    long = certified_names("kafka", "events", (f"b-{{id}}.{'a' * 60}.{'b' * 60}.example.org",), range(1000))
    assert NAMES_MAX_CHARS - 150 < sum(map(len, long)) <= NAMES_MAX_CHARS
    assert "inside the cluster" in why_no_name("x.y.svc.cluster.local")
    assert "with a domain" in why_no_name("{id}")
    assert why_no_name("broker-{id}.example.org") == ""
    assert pool_tls_name("alpha", "events") == EVENTS.secret("alpha")
    assert str(EVENTS) == "pool events"
