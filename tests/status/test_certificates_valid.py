"""CertificatesValid: until when certificates are valid, what has ended, and when that is not known."""

from dataclasses import replace

import pytest
from tests.model.certificates import (
    AUTHORITY_S,
    LEAF_S,
    LISTENER,
    authority_seen,
    leaf_seen,
    looked,
    material,
    of_others,
    recorded,
    secured,
    served,
    wanted,
    with_leaf,
)
from tests.model.values import IDS, NOW_S, runtime, situation
from tests.status.passes import FAULT, done

from kafka_quorum.model.contract import StoredContract
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.handshakes import Failure, NotServed
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.material import BROKERS, OPERATOR, AuthoritySeen, Material, OwnAuthorities, controller
from kafka_quorum.model.registered import BrokerSeen
from kafka_quorum.model.trust import TrustPolicy
from kafka_quorum.plan.facts.contract import due_contract
from kafka_quorum.status.certificates_valid import certificates, certificates_valid
from kit.conditions.finding import Truth
from kit.stamps import seconds_of


def everything() -> Material:
    """Every Secret has a leaf, and every listener has served it."""
    return material(recorded(), shown=tuple(served(each) for each in IDS))


def found(seen: Material | None, after_s: float = 0.0, spec: Desired | None = None) -> tuple[Truth, str, str]:
    """The condition of a pass at this time."""
    at = replace(done(looked(recorded(), seen), spec or wanted()), now_s=NOW_S + after_s)
    finding = certificates_valid(at)
    assert finding is not None
    return finding.truth, finding.reason, finding.message


def test_a_quorum_without_tls_does_not_have_it() -> None:
    """No certificate is needed: the condition is absent."""
    assert certificates_valid(done()) is None


def test_valid_until_the_first_end() -> None:
    """The message has the first end of all certificates."""
    truth, reason, message = found(everything())
    assert (truth, reason) == (Truth.TRUE, "Valid")
    assert "valid until 20" in message


@pytest.mark.parametrize(("used", "reason"), [(1, "Ended"), (2, "Valid"), (0, "Valid")])
def test_a_broker_that_still_uses_an_earlier_certificate_is_named(used: int, reason: str) -> None:
    """Its Secret has a later one; the end of the earlier one is in the contract. Without an answer nothing is known."""
    seen, runtime_ = everything(), secured(certificates=2)
    for holder, _ in seen.leafs:
        leaf = replace(leaf_seen(holder), generation=2, before_ends_s=int(NOW_S) - 1000)
        seen = with_leaf(seen, holder, leaf)
    look = looked(recorded(runtime_), seen, runtime_)
    contract = due_contract(situation(wanted(), look, recorded(runtime_), now_s=NOW_S), None, may_go_down=False)
    file = {"listener.name.controller.ssl.keystore.location": f"/etc/kafka-quorum-tls/keystore-{used}.pem"}
    settings = Known(value=file) if used else Unknown(reason="no answer")
    brokers = Known(value=(BrokerSeen(node_id=NodeID(7), settings=settings, fenced=False),))
    look = replace(look, contract=Known(value=StoredContract(contract=contract)), brokers=brokers)
    finding = certificates_valid(replace(done(look, wanted()), now_s=NOW_S))
    assert finding is not None
    assert finding.reason == reason
    assert ("broker 7" in finding.message) is (reason == "Ended")


def test_an_ended_certificate_is_named() -> None:
    """A certificate that has ended makes it False at that second, with its holder."""
    assert found(everything(), LEAF_S - 1)[1] == "EndsSoon"
    truth, reason, message = found(everything(), LEAF_S + 1)
    assert (truth, reason) == (Truth.FALSE, "Ended")
    assert "controller 3000" in message
    assert "the operator" in message


def test_what_another_issuer_gave_and_is_not_used() -> None:
    """A refused Secret makes it False with its sentence, while the certificates in use are valid."""
    seen = replace(everything(), refused=("tls.key of Secret given is bad", "ca.crt of Secret trust is bad"))
    truth, reason, message = found(seen, spec=of_others())
    assert (truth, reason) == (Truth.FALSE, "Refused")
    assert message.startswith("tls.key of Secret given is bad; ca.crt of Secret trust is bad; the certificate of ")


def test_an_end_that_comes_is_told_beside_one_that_has_come() -> None:
    """What one holder neglects does not hide that the certificates of all others end soon, too."""
    over = replace(leaf_seen(BROKERS).certificate, not_after_s=int(NOW_S) - 9)
    seen = with_leaf(everything(), BROKERS, replace(leaf_seen(BROKERS), certificate=over))
    truth, reason, message = found(seen, spec=of_others())
    assert (truth, reason) == (Truth.FALSE, "Ended")
    first, _, second = message.partition("; ")
    assert "the brokers ended" in first
    assert "ends 20" in second
    assert "does not renew it" in second


def test_an_end_that_the_operator_does_not_renew() -> None:
    """Certificates of another issuer are reported before their end, because the issuer renews them."""
    truth, reason, _ = found(everything(), spec=of_others())
    assert (truth, reason) == (Truth.FALSE, "EndsSoon")


def test_an_ended_certificate_that_a_listener_serves() -> None:
    """A listener whose certificate has ended makes it False, whatever its Secret has."""
    late = NotServed(failure=Failure.EXPIRED, why="its certificate is not valid now")
    seen = everything()
    bad = replace(seen, shown=(replace(seen.shown[0], handshake=late), *seen.shown[1:]))
    truth, reason, message = found(bad)
    assert (truth, reason) == (Truth.FALSE, "Ended")
    assert "controller 3000" in message


def test_an_ended_client_side() -> None:
    """A controller that was made before a renewal shows the earlier certificate as a client: its end counts."""
    seen = everything()
    renewed = leaf_seen(seen.leafs[0][0], generation=2, before_ends_s=int(NOW_S) - 1)
    truth, reason, message = found(with_leaf(seen, seen.leafs[0][0], renewed))
    assert (truth, reason) == (Truth.FALSE, "Ended")
    assert "controller 3000 as a client" in message


def test_an_end_that_is_not_known_is_no_end() -> None:
    """The Secret of a controller was lost: the certificate that it still shows has not ended because of that."""
    seen = everything()
    renewed = with_leaf(seen, seen.leafs[0][0], leaf_seen(seen.leafs[0][0], generation=2, before_ends_s=0))
    truth, reason, message = found(renewed)
    assert (truth, reason) == (Truth.UNKNOWN, "EndUnknown")
    assert "controller 3000" in message
    at = replace(done(looked(recorded(), renewed), wanted()), now_s=NOW_S)
    assert seconds_of(certificates(at, {})["certificates"]["validUntil"]) > NOW_S


def test_a_paused_quorum_is_warned() -> None:
    """Nothing is renewed while it is paused: an end within 30 days makes it False."""
    assert found(everything(), spec=replace(wanted(), paused=True))[:2] == (Truth.FALSE, "EndsSoon")


def test_a_spec_that_is_not_valid_is_no_reason_for_a_warning() -> None:
    """Certificates are renewed, and restarts bring them, unless they would bring other changes, too: then it warns."""
    look = looked(recorded(), everything())
    at = replace(done(look, wanted(), faults=(FAULT,)), now_s=NOW_S)
    finding = certificates_valid(at)
    assert finding is not None
    assert finding.reason == "Valid"
    other = wanted(runtime=runtime(listener=LISTENER, heap="2Gi"))
    warned = certificates_valid(replace(done(look, other, faults=(FAULT,)), now_s=NOW_S))
    assert warned is not None
    assert (warned.truth, warned.reason) == (Truth.FALSE, "EndsSoon")
    assert "Correct the spec" in warned.message


def lasting(begins_s: int, ends_s: int) -> AuthoritySeen:
    """The authority with another life, from and until these seconds after now."""
    return replace(authority_seen(), not_before_s=int(NOW_S) + begins_s, not_after_s=int(NOW_S) + ends_s)


def faulty(seen: Material, *, valid: bool = False, after_s: float = 0.0) -> tuple[str, str]:
    """Reason and message while the spec has faults, or has none, and would restart controllers for leafs alone."""
    at = done(looked(recorded(), seen), wanted(), faults=() if valid else (FAULT,))
    finding = certificates_valid(replace(at, now_s=NOW_S + after_s))
    assert finding is not None
    return finding.reason, finding.message


@pytest.mark.parametrize(
    "own",
    [
        pytest.param(OwnAuthorities(present=authority_seen(2), version="41"), id="it was lost and made again"),
        pytest.param(OwnAuthorities(present=authority_seen(), following=authority_seen(2)), id="another one follows"),
        pytest.param(OwnAuthorities(present=lasting(-AUTHORITY_S, AUTHORITY_S // 3)), id="it ends"),
        pytest.param(OwnAuthorities(), id="it is gone"),
    ],
)
def test_an_authority_that_faults_keep_from_its_change(own: OwnAuthorities) -> None:
    """No migration goes on while the spec is not valid: what ends with the authority is reported before."""
    seen = replace(everything(), own=Known(value=own))
    reason, message = faulty(seen)
    assert reason == "EndsSoon"
    assert "no authority is replaced while the spec is not valid. Correct the spec" in message
    assert faulty(seen, valid=True)[0] == "Valid"


def test_an_authority_that_cannot_be_read_is_a_warning() -> None:
    """Nothing is signed without it: once half of the time for a renewal is over, an end is reported with the reason."""
    seen = replace(everything(), own=Unknown(reason="Secret alpha-ca: ca.crt has no certificate"))
    half_s = LEAF_S - (LEAF_S + 300) / 6
    assert faulty(seen, valid=True, after_s=half_s - 1)[0] == "Valid"
    reason, message = faulty(seen, valid=True, after_s=half_s)
    assert reason == "EndsSoon"
    assert "the operator signs no other one: Secret alpha-ca: ca.crt has no certificate" in message


def test_what_should_have_been_replaced_is_a_warning() -> None:
    """Whatever holds it up: once an eighth of the time for a renewal is left, an end is reported."""
    seen = everything()
    last_s = LEAF_S - (LEAF_S + 300) / 24
    assert faulty(seen, valid=True, after_s=last_s - 1)[0] == "Valid"
    reason, message = faulty(seen, valid=True, after_s=last_s)
    assert reason == "EndsSoon"
    assert "it should have been replaced by now" in message
    unread = tuple((one, Unknown(reason="no right") if one == BROKERS else each) for one, each in seen.leafs)
    assert faulty(replace(seen, leafs=unread), valid=True, after_s=last_s)[0] == "EndsSoon"
    assert faulty(replace(seen, leafs=unread), valid=True)[0] == "NotRead"


def test_a_spec_with_shorter_lives_is_no_warning() -> None:
    """A leaf that lives longer than the spec asks for is renewed later than by its own life, and is in time."""
    short = wanted(trust=TrustPolicy(leaf_s=600, authority_s=AUTHORITY_S))
    assert found(everything(), LEAF_S - 900 / 24 - 1, short)[1] == "Valid"
    assert found(everything(), LEAF_S - 900 / 24, short)[1] == "EndsSoon"


def test_a_client_side_that_should_have_been_replaced_is_a_warning() -> None:
    """A controller that did not restart for its renewed leaf is reported before the earlier one ends."""
    seen, holder = everything(), controller(IDS[0])
    ends_s = int(NOW_S) + LEAF_S // 2
    renewed = with_leaf(seen, holder, leaf_seen(holder, generation=2, before_ends_s=ends_s))
    last_s = ends_s - NOW_S - (LEAF_S + 300) / 24
    assert faulty(renewed, valid=True, after_s=last_s - 1)[0] == "Valid"
    reason, message = faulty(renewed, valid=True, after_s=last_s)
    assert reason == "EndsSoon"
    assert "controller 3000 as a client" in message


def test_an_own_authority_that_should_have_been_replaced_is_a_warning() -> None:
    """Its change begins long before its end."""
    seen = replace(everything(), own=Known(value=OwnAuthorities(present=lasting(-AUTHORITY_S, AUTHORITY_S // 24))))
    reason, message = faulty(seen, valid=True)
    assert reason == "EndsSoon"
    assert "certificate of the authority ends" in message


@pytest.mark.parametrize("seen", [None, with_leaf(everything(), BROKERS, None)])
def test_what_is_not_there_is_unknown(seen: Material | None) -> None:
    """Without a look at the Secrets, or without a certificate in one, nothing is said of it."""
    truth, reason, _ = found(seen)
    assert (truth, reason) == (Truth.UNKNOWN, "NotRead" if seen is None else "NotMade")


def test_an_unreadable_secret_is_unknown() -> None:
    """A Secret that could not be read is named with the reason."""
    seen = everything()
    rows = tuple((one, Unknown(reason="no right") if one == OPERATOR else each) for one, each in seen.leafs)
    truth, reason, message = found(replace(seen, leafs=rows))
    assert (truth, reason) == (Truth.UNKNOWN, "NotRead")
    assert "no right" in message


def test_a_listener_without_a_handshake_is_unknown() -> None:
    """A running listener that has shown nothing is named; an answer of an earlier container counts as none."""
    seen = everything()
    for shown in (seen.shown[1:], (replace(seen.shown[0], instance="earlier"), *seen.shown[1:])):
        truth, reason, message = found(replace(seen, shown=shown))
        assert (truth, reason) == (Truth.UNKNOWN, "NoHandshake")
        assert "controller 3000" in message


def test_the_dates_in_the_status() -> None:
    """The status has the first end of all, with its holder, and the end of the authority."""
    seen = everything()
    holder, _ = seen.leafs[1]
    plain = leaf_seen(holder)
    early = replace(plain, certificate=replace(plain.certificate, not_after_s=int(NOW_S) + 99))
    look = looked(recorded(), with_leaf(seen, holder, early), secured())
    found = certificates(done(look, wanted()), {})["certificates"]
    assert found["endsFirst"] == str(holder)
    assert seconds_of(found["validUntil"]) == int(NOW_S) + 99
    assert seconds_of(found["authorityValidUntil"]) > seconds_of(found["validUntil"])


@pytest.mark.parametrize("seen", [None, with_leaf(everything(), BROKERS, None)])
def test_the_dates_stay_while_they_are_unknown(seen: Material | None) -> None:
    """A Secret that was not read, or is gone, changes no date: what is unknown is not absent."""
    old = {"certificates": {"validUntil": "2030-01-01T00:00:00Z"}}
    assert certificates(done(looked(recorded(), seen), wanted()), old) == old
    assert certificates(done(looked(recorded(), seen), wanted()), {}) == {}


def test_no_dates_without_tls() -> None:
    """A quorum without TLS has no dates of certificates, also if it had some once."""
    assert certificates(done(), {"certificates": {"validUntil": "2030-01-01T00:00:00Z"}}) == {}


def test_a_held_controller_whose_certificate_ends_is_named() -> None:
    """Within 30 days of its end, the certificate that a held controller shows is reported with the hold."""
    held = replace(wanted(), hold=Known(value=frozenset({NodeID(3001)})))
    assert found(everything())[1] == "Valid"
    truth, reason, message = found(everything(), 0.0, held)
    assert (truth, reason) == (Truth.FALSE, "EndsSoon")
    assert "controller 3001 as a client" in message
    assert "kafkaquorum.io/hold" in message
