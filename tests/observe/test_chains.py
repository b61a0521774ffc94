"""Chains of another issuer: an intermediate authority is followed as a certificate is, and its end is told."""

import ipaddress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from typing import Final

from cryptography import x509
from tests.kit.kube.recording import RecordingKube
from tests.kit.pki.made import NOW, Made, certificate, files, root
from tests.model.certificates import ISSUER, given_name, of_others, recorded, secured, served
from tests.model.certificates import looked as looked_at
from tests.model.values import IDS, revision, situation
from tests.observe.test_given import FIRST, HOSTS, TimeOfDay, given_object, leaf_secret, the_look
from tests.observe.test_material import KEY, SECOND, stored
from tests.status.passes import done
from tests.wire.answering import AnsweringControllers

from kafka_quorum.model.actions import Action, ComposeLeaf, ReloadListener
from kafka_quorum.model.certified import holders, shown_until_s
from kafka_quorum.model.handshakes import Served, of_all_threads
from kafka_quorum.model.known import Known
from kafka_quorum.model.material import BROKERS, OPERATOR, Holder, LeafSeen, Material
from kafka_quorum.model.observed import Observed
from kafka_quorum.observe.material import MaterialReads
from kafka_quorum.plan.security.certificates import certificates
from kafka_quorum.resources.secrets import certificate_seen, leaf_object
from kafka_quorum.status.certificates_valid import certificates as dates
from kafka_quorum.status.certificates_valid import certificates_valid
from kit.kube.secrets import SECRETS
from kit.pki.leaf import Expected, Leaf, read_leaf
from kit.stamps import seconds_of

RECORD: Final = recorded()
DAY: Final = timedelta(days=1)
OTHER: Final = certificate("other", ca=True, names=(), kind="rsa2048", ends=3000 * DAY)


class Today(TimeOfDay):
    """A clock at the time of these certificates."""

    def now(self) -> datetime:
        """When the tests run."""
        return NOW


@cache
def between(days: int) -> Made:
    """The intermediate authority, with the same key and another end."""
    return certificate("between", by=root(), ca=True, names=(), ends=days * DAY)


@cache
def plain(*extensions: x509.ExtensionType, names: tuple[str, ...] = HOSTS) -> Made:
    """The certificate of everybody: it ends later than the earlier intermediate authority."""
    return certificate(by=between(2), names=names, ends=100 * DAY, extensions=extensions)


def chain(*above: Made, made: Made | None = None) -> Leaf:
    """It, with these authorities above it."""
    used = made or plain()
    found = read_leaf(files(used.pem + "".join(each.pem for each in above), used.key_pem), Expected(now=None))
    assert isinstance(found, Leaf)
    return found


OLD, NEW = chain(between(2)), chain(between(200))


def with_chains(given: Leaf, used: Leaf, bundle: str) -> RecordingKube:
    """An API server with the Secrets of the issuer, and those that the operator copied earlier."""
    kube = RecordingKube()
    kube.put(SECRETS, given_object(ISSUER.trust_secret, ca_crt=bundle))
    for holder in (FIRST, OPERATOR, BROKERS):
        kube.put(SECRETS, leaf_secret(given_name(holder), given))
    for holder in holders(RECORD):
        kube.put(SECRETS, stored(leaf_object(of_others(), holder, used, bundle, 1, None, 0)))
    return kube


async def looked(given: Leaf, used: Leaf = OLD, trust: str = "") -> tuple[Material, Observed]:
    """A look at a quorum that uses one chain, while the issuer gives another; every listener serves the used one."""
    bundle = trust or root().pem
    kube = with_chains(given, used, bundle)
    made = replace(revision(replace(secured(), trust=bundle)), name=RECORD.applied_revision or "")
    taken = replace(await the_look(RECORD), revisions=(made,))
    found, _ = await MaterialReads(kube, Today(), AnsweringControllers()).look(KEY, taken, of_others())
    assert found is not None
    shown = tuple(replace(served(each), handshake=handshake(used)) for each in IDS)
    material = replace(found, shown=shown)
    return material, replace(looked_at(RECORD, material), revisions=(made,))


def handshake(used: Leaf) -> Served:
    """What a listener with this chain sends."""
    return Served(chain=tuple(map(certificate_seen, used.chain)), accepted=True)


def planned(seen: Observed, now: datetime = NOW) -> tuple[Action, ...]:
    """What certificates need."""
    return certificates(situation(of_others(), seen, RECORD, now_s=now.timestamp())).actions


def told(seen: Observed, now: datetime = NOW) -> tuple[str, str]:
    """Reason and message of the condition."""
    finding = certificates_valid(replace(done(seen, of_others()), now_s=now.timestamp()))
    assert finding is not None
    return finding.reason, finding.message


def leaf_of(material: Material, holder: Holder = SECOND) -> LeafSeen:
    """The leaf in the Secret of a holder."""
    seen = material.leaf(holder)
    assert isinstance(seen, Known)
    assert seen.value is not None
    return seen.value


async def test_a_renewed_intermediate_authority_is_copied() -> None:
    """The same certificate with another intermediate authority is another generation for everybody."""
    material, seen = await looked(NEW)
    assert material.refused == ()
    made = [one for one in planned(seen) if isinstance(one, ComposeLeaf)]
    assert [one.holder for one in made] == list(holders(RECORD))
    assert {one.generation for one in made} == {2}
    assert {one.before_ends_s for one in made} == {between(2).crt.not_valid_after_utc.timestamp()}
    source = material.source(SECOND)
    assert isinstance(source, Known)
    assert {one.source_sha256 for one in made} == {source.value.digest}
    assert all("intermediate" in one.message for one in made)


async def test_the_same_chain_needs_nothing() -> None:
    """What is stored, given and served is the same chain: nothing is written, and no listener is asked to load it."""
    _, seen = await looked(OLD)
    assert planned(seen) == ()


async def test_a_listener_that_sends_the_earlier_chain_loads_it_again() -> None:
    """Each listener whose chain differs from that of its Secret is asked, though the certificate is the same."""
    material, seen = await looked(NEW, NEW)
    assert planned(seen) == ()
    late = (replace(material.shown[0], handshake=handshake(OLD)), *material.shown[1:])
    asked = planned(replace(seen, material=replace(material, shown=late)))
    assert [(one.node_id, one.sha256) for one in asked if isinstance(one, ReloadListener)] == [
        (IDS[0], leaf_of(material).digest)
    ]


def test_the_oldest_chain_of_all_threads_counts() -> None:
    """A thread that sends the earlier intermediate authority is what a listener serves."""
    for found in ([handshake(OLD), handshake(NEW)], [handshake(NEW), handshake(OLD)]):
        assert of_all_threads(found) == handshake(OLD)


async def test_the_end_of_the_intermediate_authority_is_told() -> None:
    """It is told before it ends and when it has ended, and it is the end of what a client shows."""
    material, seen = await looked(OLD)
    reason, message = told(seen)
    assert reason == "EndsSoon"
    assert "CN=between" in message
    reason, message = told(seen, NOW + 3 * DAY)
    assert reason == "Ended"
    assert "CN=between" in message
    ends_s = int(between(2).crt.not_valid_after_utc.timestamp())
    assert shown_until_s(seen, SECOND, leaf_of(material), 1) == ends_s
    found = dates(done(seen, of_others()), {})["certificates"]
    assert seconds_of(found["validUntil"]) == ends_s


async def test_what_is_sent_above_a_trusted_authority_has_no_end() -> None:
    """A root that is sent, and an intermediate authority that servers trust themselves, end by the trust alone."""
    material, _ = await looked(chain(between(200), root()), chain(between(200), root()))
    assert [each.subject for each in leaf_of(material).between] == ["CN=between"]
    material, seen = await looked(OLD, OLD, between(200).pem)
    assert leaf_of(material).between == ()
    assert told(seen)[0] == "Valid"


def test_a_chain_of_one_certificate_is_that_certificate() -> None:
    """A leaf without issuers has the digest of before: an upgrade of the operator renews nothing."""
    alone = chain()
    assert handshake(alone).digest == alone.certificate.fingerprint


async def test_the_end_of_the_authority_in_use_is_told() -> None:
    """Another authority that is trusted, and ends later, does not hide the end of the one that signed everything."""
    alone = chain()
    both = between(2).pem + OTHER.pem
    _, seen = await looked(alone, alone, both)
    reason, message = told(seen)
    assert reason == "EndsSoon"
    assert "CN=between" in message
    ends_s = between(2).crt.not_valid_after_utc.timestamp()
    assert seconds_of(dates(done(seen, of_others()), {})["certificates"]["authorityValidUntil"]) == ends_s
    assert told(seen, NOW + 3 * DAY)[0] == "Ended"


async def test_a_renewed_authority_with_the_same_key_takes_the_place_of_the_earlier_one() -> None:
    """If both are trusted, each accepts the certificate: the later end counts."""
    alone = chain()
    _, seen = await looked(alone, alone, between(2).pem + between(200).pem)
    assert told(seen)[0] == "Valid"


async def test_names_of_every_kind_are_kept() -> None:
    """A renewed certificate that lacks an address or a URI of the one in use is refused: no listener loads it."""
    both = x509.SubjectAlternativeName(
        [
            *map(x509.DNSName, HOSTS),
            x509.IPAddress(ipaddress.ip_address("10.0.0.7")),
            x509.UniformResourceIdentifier("spiffe://example.org/kafka"),
        ]
    )
    used = chain(between(2), made=plain(both, names=()))
    material, _ = await looked(OLD, used)
    (words,) = material.refused
    assert "IP:10.0.0.7, URI:spiffe://example.org/kafka" in words
    material, _ = await looked(used, OLD)
    assert material.refused == ()


async def test_what_tls_refuses_is_refused() -> None:
    """A chain with a fault that only a handshake shows is not used; the sentence names the Secret and the fault."""
    last = certificate(
        "between", by=root(), names=(), extensions=(x509.NameConstraints([x509.DNSName("a.b")], None), _CA)
    )
    material, _ = await looked(chain(last))
    assert len(material.refused) == len(("controllers", "operator", "brokers"))
    assert all("permitted subtree violation" in each and "Secret given-" in each for each in material.refused)


_CA: Final = x509.BasicConstraints(ca=True, path_length=None)
