"""Certificates of pools from another issuer: which Secret counts for which pool, and what is refused."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID
from tests.kit.kube.recording import RecordingKube
from tests.kit.pki.made import SERVER, certificate, root
from tests.model.certificates import ISSUER, LEAF_S, authority, given_leaf, of_cert_manager, of_others, recorded
from tests.model.values import NAME, NAMESPACE, NOW_S
from tests.observe.test_chains import OLD, Today, chain, with_chains
from tests.observe.test_given import TRUST, TimeOfDay, given_object, leaf_secret, the_look, with_given
from tests.observe.test_material import KEY, stored
from tests.observe.test_requested import with_cert_manager
from tests.wire.answering import AnsweringControllers

from kafka_quorum.kind import POOLS
from kafka_quorum.model.certified import dns_names, holders
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.material import BROKERS, Material, RequestSeen, pool
from kafka_quorum.model.names import USED_BY
from kafka_quorum.model.pools import PoolSeen, certified_names
from kafka_quorum.observe.material import MaterialReads
from kafka_quorum.resources.certmanager import CERTIFICATES, FILLED_FOR, certificate_object
from kafka_quorum.resources.secrets import leaf_object
from kit.kube.protocol import CONFIG_MAPS, Json
from kit.kube.secrets import SECRETS
from kit.pki.authority import Request, issue
from kit.pki.leaf import Leaf
from kit.pki.names import DistinguishedName

SEEN = PoolSeen(name="events", uid="u-events", names=certified_names(NAMESPACE, "events", (), ()))
EVENTS = pool(SEEN)
ASKED = "alpha-brokers-cert.events"
READS = "KafkaBrokerPool/events"
NAMED = "events-cert"
TLS = [{"name": "TLS", "port": 9094, "protocol": "SSL"}]
REPLICATES = {"data": {"disks.json": '{"replication_tls": true}'}}
CODE = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING])
PLAIN = {"data": {"disks.json": "{}"}}


def pool_leaf(of: int = 1, **changes: Any) -> Leaf:  # noqa: ANN401 - fields of a request
    """A leaf for the brokers of the pool."""
    plain = Request(
        subject=DistinguishedName(cn="brokers", ou=NAME, o=NAMESPACE),
        names=SEEN.names,
        life_s=LEAF_S,
        server=True,
        client=True,
    )
    return issue(authority(of), replace(plain, **changes), datetime.fromtimestamp(NOW_S, UTC))


def with_pool(kube: RecordingKube, record: Json | None = REPLICATES, **spec: Any) -> RecordingKube:  # noqa: ANN401
    """The same with a pool, and its record."""
    metadata = {"name": "events", "namespace": NAMESPACE, "uid": "u-events"}
    kube.put(POOLS, {"metadata": metadata, "spec": {"quorum": NAME, **spec}})
    if record is not None:
        kube.put(CONFIG_MAPS, {"metadata": {"name": "events-broker-disks", "namespace": NAMESPACE}, **record})
    return kube


def given(used_by: str = READS, leaf: Leaf | None = None) -> RecordingKube:
    """A quorum with certificates of a person, and a pool that names its Secret."""
    kube = with_pool(with_given(), certificateSecretName="events-cert")
    body = leaf_secret("events-cert", leaf or pool_leaf())
    body["metadata"]["annotations"] = {USED_BY: used_by}
    kube.put(SECRETS, body)
    return kube


async def looked(kube: RecordingKube, spec: Desired | None = None) -> Material:
    """The certificates of a look."""
    reads = MaterialReads(kube, TimeOfDay(), AnsweringControllers())
    found, _ = await reads.look(KEY, await the_look(), spec or of_others())
    assert found is not None
    return found


async def test_the_secret_that_the_pool_names() -> None:
    """It is the source of the pool, and only the Secret of the operator's own is its leaf."""
    found = await looked(given())
    source = found.source(EVENTS)
    assert isinstance(source, Known)
    assert source.value.secret == NAMED
    assert found.leaf(EVENTS) == Known(value=None)
    assert found.refused == ()


async def test_names_with_the_domain_of_the_cluster_are_not_required() -> None:
    """A person's certificate has the wildcard or each broker's host, and the service that clients begin at."""
    own = tuple(f"events-{node_id}.events-brokers.kafka.svc" for node_id in range(3))
    for hosts in (own, ("*.events-brokers.kafka.svc",)):
        short = pool_leaf(names=(*hosts, "events-bootstrap.kafka.svc"))
        assert isinstance((await looked(given(leaf=short))).source(EVENTS), Known)


@pytest.mark.parametrize(
    ("kube", "named"),
    [
        (given(used_by=f"KafkaQuorum/{NAME}"), READS),
        (given(leaf=pool_leaf(names=("events-bootstrap.kafka.svc",))), "events-0.events-brokers.kafka.svc"),
        (given(leaf=pool_leaf(server=False)), "serverAuth"),
        (given(leaf=pool_leaf(client=False)), "clientAuth"),
        (given(leaf=pool_leaf(of=2)), ISSUER.trust_secret),
        (given(leaf=pool_leaf(subject=DistinguishedName(cn="controllers", ou=NAME, o=NAMESPACE))), "CN=brokers"),
    ],
    ids=["it lists the quorum only", "names", "a client only", "a server only", "another authority", "another role"],
)
async def test_what_cannot_be_used_is_refused(kube: RecordingKube, named: str) -> None:
    """One sentence names the Secret and what is wrong; the brokers and the controllers have their sources."""
    found = await looked(kube)
    (words,) = found.refused
    assert "Secret events-cert" in words
    assert named in words
    assert found.source(EVENTS) == Unknown(reason=words)
    assert all(isinstance(found.source(holder), Known) for holder in holders(recorded()))


@pytest.mark.parametrize(("usage", "words"), [(SERVER, ""), (CODE, "purpose")], ids=["servers", "code"])
async def test_a_chain_is_tried_as_that_of_a_server(usage: x509.ExtendedKeyUsage, words: str) -> None:
    """An authority that may not issue for servers is found by the handshake; others may have it, who are clients."""
    above = certificate("above", by=root(), ca=True, names=(), extensions=(usage,))
    kube = with_pool(with_chains(OLD, OLD, root().pem), certificateSecretName=NAMED)
    body = leaf_secret(NAMED, chain(above, made=certificate(by=above, names=SEEN.names)))
    body["metadata"]["annotations"] = {USED_BY: READS}
    kube.put(SECRETS, body)
    found, _ = await MaterialReads(kube, Today(), AnsweringControllers()).look(KEY, await the_look(), of_others())
    assert found is not None
    source = found.source(EVENTS)
    assert isinstance(source, Unknown if words else Known)
    assert [f"Secret {NAMED} is refused in a TLS handshake" in each for each in found.refused] == [True] * bool(words)
    assert words in "".join(found.refused)
    if isinstance(source, Known):
        assert source.value.chain_sha256


async def test_without_the_subject_of_all_brokers_nothing_is_compared() -> None:
    """A new quorum whose Secret for brokers is bad gives pools nothing: their subject is a super user."""
    kube = given()
    kube.put(SECRETS, given_object(ISSUER.brokers_secret))
    for key in [key for key in kube.objects if key[1] == "alpha-brokers-tls"]:
        del kube.objects[key]
    seen = (await looked(kube)).source(EVENTS)
    assert isinstance(seen, Unknown)
    assert "that of all brokers" in seen.reason


async def test_a_pool_that_names_no_secret_has_no_source() -> None:
    """The pool itself refuses its spec; nothing is refused here, and no Secret is read by an impossible name."""
    for name in ("", "../secrets/x", 7):
        found = await looked(with_pool(with_given(), listeners=TLS, certificateSecretName=name))
        assert found.source(EVENTS) == Unknown(reason="")
        assert found.refused == ()
        assert [one.secret for one in found.known_pools] == [""]


@pytest.mark.parametrize(
    ("record", "spec", "shows"),
    [
        (PLAIN, {}, False),
        (PLAIN, {"listeners": TLS}, True),
        (REPLICATES, {}, True),
        (None, {}, True),
        ({"data": {"disks.json": "["}}, {}, True),
    ],
    ids=["no TLS", "a listener", "REPLICATION", "not decided yet", "not readable"],
)
async def test_only_pools_that_may_show_a_certificate_get_one(
    record: Json | None,
    spec: Json,
    shows: bool,  # noqa: FBT001 - one of two
) -> None:
    """Cert-manager is not asked for a pool without TLS; what is not known counts as TLS."""
    kube = with_pool(with_cert_manager(), record, **spec)
    found = await looked(kube, of_cert_manager())
    assert (EVENTS in dict(found.requests)) is shows
    assert (found.pending == frozenset({EVENTS})) is shows


async def test_a_leaf_of_another_issuer_in_the_secret_of_a_pool_stops_nobody() -> None:
    """A pool's Secret of earlier times is replaced; the issuer in use is that of the others."""
    kube = given()
    plain = replace(of_others(), trust=replace(of_others().trust, issuer=type(ISSUER)()))
    kube.put(SECRETS, stored(leaf_object(plain, EVENTS, given_leaf(BROKERS), TRUST, 1, None, 0)))
    found = await looked(kube)
    assert not found.other_issuer
    assert isinstance(found.source(EVENTS), Known)


# Cert-manager


def issued(generation: int = 1, seen: int = 1, **spec: Any) -> Json:  # noqa: ANN401 - any JSON
    """The Certificate of the pool, which cert-manager reports as issued at this generation."""
    body = stored(certificate_object(of_cert_manager(), EVENTS, (SEEN,)))
    body["metadata"]["generation"] = generation
    row = {"type": "Ready", "status": "True", "observedGeneration": seen, "message": "up to date"}
    return {**body, "spec": {**body["spec"], **spec}, "status": {"conditions": [row]}}


def filled(leaf: Leaf) -> Json:
    """The Secret that cert-manager filled for it."""
    body = leaf_secret(ASKED, leaf)
    body["metadata"]["annotations"] = {USED_BY: f"KafkaQuorum/{NAME}", FILLED_FOR: ASKED}
    return body


def managed(asked: Json, leaf: Leaf) -> RecordingKube:
    """A quorum with cert-manager, and a pool."""
    kube = with_pool(with_cert_manager())
    kube.put(CERTIFICATES, asked)
    kube.put(SECRETS, filled(leaf))
    return kube


def test_the_certificate_of_a_pool() -> None:
    """It asks for the brokers' subject, for servers and clients, with the names of the pool, which owns it."""
    body = certificate_object(of_cert_manager(), EVENTS, (SEEN,))
    assert (body["metadata"]["name"], body["spec"]["secretName"]) == (ASKED, ASKED)
    assert body["spec"]["dnsNames"] == list(SEEN.names)
    assert body["spec"]["usages"] == ["digital signature", "client auth", "server auth"]
    assert body["spec"]["commonName"] == "brokers"
    (owner,) = body["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"], owner["controller"]) == (
        "KafkaBrokerPool",
        "events",
        "u-events",
        False,
    )


async def test_what_cert_manager_issued_is_the_source() -> None:
    """The Secret that it filled for the Certificate of the pool is used."""
    found = await looked(managed(issued(), pool_leaf()), of_cert_manager())
    assert dict(found.requests)[EVENTS] == Known(value=RequestSeen(current=True))
    assert isinstance(found.source(EVENTS), Known)
    assert (found.refused, found.pending) == ((), frozenset())
    assert dns_names(of_cert_manager(), EVENTS, (SEEN,)) == SEEN.names


async def test_a_certificate_with_earlier_names_is_being_issued_again() -> None:
    """A pool with another host is no fault: cert-manager was asked, or will be, and has not issued yet."""
    earlier = pool_leaf(names=("a.example.org",))
    for asked in (issued(dnsNames=["a.example.org"]), issued(generation=2)):
        found = await looked(managed(asked, earlier), of_cert_manager())
        assert (found.refused, found.pending) == ((), frozenset({EVENTS}))
        seen = found.source(EVENTS)
        assert isinstance(seen, Unknown)
        assert ASKED in seen.reason
    found = await looked(managed(issued(), earlier), of_cert_manager())
    assert len(found.refused) == 1


async def test_a_certificate_of_an_earlier_pool_goes_away_by_itself() -> None:
    """Nothing is refused while Kubernetes deletes it, and nothing of it is read; one of others is in the way."""
    body = issued()
    body["metadata"]["ownerReferences"][0]["uid"] = "of an earlier life"
    found = await looked(managed(body, pool_leaf()), of_cert_manager())
    assert (found.refused, found.pending) == ((), frozenset({EVENTS}))
    assert isinstance(dict(found.requests)[EVENTS], Unknown)
    for owners in ([], [{"kind": "Ingress", "name": "x", "uid": "u-events", "controller": True}]):
        body["metadata"]["ownerReferences"] = owners
        (words,) = (await looked(managed(body, pool_leaf()), of_cert_manager())).refused
        assert f"Certificate {ASKED} exists" in words
