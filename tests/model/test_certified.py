"""Certificates: who needs one, for which names, what servers trust, and when the one of a client ends."""

from dataclasses import replace

import pytest
from tests.model import certificates as made
from tests.model.certificates import LEAF_S, leaf_seen, looked, material, recorded, secured, wanted
from tests.model.values import IDS, NOW_S, desired, revision, running, runtime, with_pod, without_pod

from kafka_quorum.model.certified import dns_names, needs_certificates, shown_until_s, why_no_trust, with_trust
from kafka_quorum.model.desired import Desired, OtherListener
from kafka_quorum.model.identity import IdentityRecord
from kafka_quorum.model.known import Known
from kafka_quorum.model.material import BROKERS, OPERATOR, Holder, OwnAuthorities, controller, pool
from kafka_quorum.model.pools import PoolSeen

RECORD = recorded()
THIRD = controller(IDS[2])
ENDS_S = int(NOW_S) + LEAF_S


@pytest.mark.parametrize(
    ("spec", "record", "needs"),
    [
        (wanted(), running(), True),
        (desired(), recorded(), True),
        (desired(), running(), False),
        (wanted(says_protocol=False), running(), False),
    ],
    ids=["asked for", "has it", "neither", "left open"],
)
def test_who_needs_certificates(spec: Desired, record: IdentityRecord, *, needs: bool) -> None:
    """It needs certificates if its listener is encrypted, or shall be; a spec that leaves it open changes none."""
    assert needs_certificates(spec, record) is needs


def test_names_of_a_controller_are_its_own() -> None:
    """A controller's leaf has its own host name, in both forms; clients have no name."""
    host = "alpha-3002.alpha-controllers.kafka.svc"
    assert dns_names(desired(), THIRD) == (host, f"{host}.cluster.local")
    assert dns_names(desired(), OPERATOR) == dns_names(desired(), BROKERS) == ()


def test_until_when_a_client_shows_a_leaf() -> None:
    """A controller made for the Secret's generation shows that leaf; an older or unknown one shows one before it."""
    first, second = leaf_seen(THIRD), leaf_seen(THIRD, generation=2, before_ends_s=17)
    look = looked(RECORD, material(RECORD))
    assert shown_until_s(look, THIRD, first, 1) == first.certificate.not_after_s
    assert shown_until_s(look, THIRD, second, 1) == 17
    assert shown_until_s(with_pod(look, 3002, revision="alpha-x"), THIRD, first, 1) == 0
    assert shown_until_s(without_pod(look, 3002), THIRD, second, 1) == second.certificate.not_after_s
    assert shown_until_s(look, THIRD, None, 1) == 0


def test_a_leaf_that_its_holder_cannot_show() -> None:
    """Of a leaf that a person put over the holder's own one, nothing says when that one ends."""
    look = looked(RECORD, material(RECORD))
    nobodys, of_another = leaf_seen(THIRD, authority="", before_ends_s=17), leaf_seen(THIRD, of=2, before_ends_s=17)
    assert [shown_until_s(look, THIRD, each, 1) for each in (nobodys, of_another)] == [0, 0]
    assert shown_until_s(look, BROKERS, leaf_seen(BROKERS, authority="", before_ends_s=17), 1) == 0
    both = secured(trust=made.authority_seen().pem + made.authority_seen(2).pem)
    changing = looked(recorded(both), material(RECORD), both)
    assert shown_until_s(changing, THIRD, of_another, 1) == of_another.certificate.not_after_s


@pytest.mark.parametrize("holder", [BROKERS, pool(PoolSeen(name="events", uid="u1", names=()))], ids=str)
def test_until_when_brokers_show_a_leaf(holder: Holder) -> None:
    """Brokers have no pod of the quorum: they show the Secret's leaf from the contract on that names it."""
    look = looked(RECORD, material(RECORD))
    second = leaf_seen(BROKERS, generation=2, before_ends_s=17)
    assert shown_until_s(look, holder, second, 1) == 17
    assert shown_until_s(look, holder, second, 2) == second.certificate.not_after_s
    late = leaf_seen(BROKERS, generation=2, before_ends_s=2 * second.certificate.not_after_s)
    assert shown_until_s(look, holder, late, 1) == second.certificate.not_after_s
    assert shown_until_s(look, holder, None, 1) == 0


def test_what_a_started_quorum_trusts_stays() -> None:
    """Another authority in the Secret changes no trust of a quorum that has started: that takes a migration."""
    other = replace(material(RECORD), own=Known(value=OwnAuthorities(present=made.authority_seen(2), version="1")))
    runtime_of = with_trust(wanted().runtime, wanted(), looked(RECORD, other), RECORD, NOW_S)
    assert runtime_of.trust == made.authority_seen(1).pem
    bare = replace(RECORD, applied_revision=None)
    assert with_trust(wanted().runtime, wanted(), looked(bare, other), bare, NOW_S).trust == made.authority_seen(2).pem


def test_the_first_controllers_with_tls_decide_what_all_trust() -> None:
    """While others have none yet, and the authority is lost: none would accept a certificate of another one."""
    plain, both = runtime(), secured(other=OtherListener(listener=replace(made.LISTENER, name="OTHER", port=9193)))
    record = recorded(plain)
    own = OwnAuthorities(present=made.authority_seen(2), version="42")
    look = looked(record, material(record, own=Known(value=own)), plain, both)
    wanted_trust = made.authority_seen(2).pem
    assert with_trust(both, wanted(), look, record, NOW_S).trust == wanted_trust
    begun = replace(record, nodes=(replace(record.nodes[0], revision=revision(both).name), *record.nodes[1:]))
    assert with_trust(both, wanted(), look, begun, NOW_S).trust == made.authority_seen().pem
    moved = with_pod(look, IDS[1], revision=revision(both).name)
    assert with_trust(both, wanted(), moved, record, NOW_S).trust == made.authority_seen().pem


def test_nothing_is_made_without_trust() -> None:
    """An encrypted runtime waits for the authority, then for every certificate; any other one waits for nothing."""
    assert why_no_trust(runtime()) == why_no_trust(secured()) == ""
    assert "authority" in why_no_trust(secured(trust=""))
    assert "certificates" in why_no_trust(secured(certificates=0))
