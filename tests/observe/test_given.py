"""Certificates of another issuer: which Secrets are read, what is refused with which way out, and what is kept."""

import asyncio
import base64
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from threading import Thread, current_thread
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from tests.kit.kube.recording import RecordingKube
from tests.model.certificates import (
    ISSUER,
    LEAF_S,
    authority,
    authority_seen,
    given_leaf,
    given_name,
    of_others,
    recorded,
    secured,
    served,
)
from tests.model.values import IDS, NAME, NAMESPACE, NOW_S, at_rest, bound, revision
from tests.observe.test_gather import api_server, snapshot
from tests.observe.test_material import KEY, SECOND, MovingClock, stored
from tests.wire.answering import AnsweringControllers

from kafka_quorum.kind import POOLS
from kafka_quorum.model.bundles import together
from kafka_quorum.model.certified import dns_names, holders
from kafka_quorum.model.identity import IdentityRecord, with_migration
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.material import BROKERS, OPERATOR, Material, controller
from kafka_quorum.model.migration import AUTHORITY, MigrationKind, Reached, TrustChange
from kafka_quorum.model.names import USED_BY
from kafka_quorum.model.trust import IssuerKind
from kafka_quorum.observe.material import MaterialReads
from kafka_quorum.observe.snapshot import Snapshot
from kafka_quorum.resources.secrets import leaf_from, leaf_object
from kit.errors import KubeRefused
from kit.kube.protocol import Json
from kit.kube.secrets import SECRETS
from kit.pki.authority import Request, issue
from kit.pki.bundle import read_trust
from kit.pki.leaf import Leaf, read_leaf
from kit.pki.names import DistinguishedName

TRUST = authority().certificate.pem
FIRST = controller(IDS[0])


class TimeOfDay(MovingClock):
    """A clock at the time of the certificates."""

    def now(self) -> datetime:
        """When they begin."""
        return datetime.fromtimestamp(NOW_S, UTC)


def given_object(name: str, used_by: str = f"KafkaQuorum/{NAME}", **texts: str) -> Json:
    """A Secret that a person filled."""
    data = {key.replace("_", "."): base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    annotations = {USED_BY: used_by} if used_by else {}
    metadata = {"name": name, "namespace": NAMESPACE, "annotations": annotations, "resourceVersion": "7", "uid": name}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "kubernetes.io/tls", "data": data}


def leaf_secret(name: str, leaf: Leaf, **changes: str) -> Json:
    """A Secret with this leaf, or with other texts."""
    return given_object(name, **({"tls_crt": leaf.chain_pem, "tls_key": leaf.key.pem} | changes))


def with_given(trust: str = TRUST, *, composed: bool = True) -> RecordingKube:
    """An API server with the Secrets of the issuer, and those that the operator copied from them."""
    kube = RecordingKube()
    kube.put(SECRETS, given_object(ISSUER.trust_secret, ca_crt=trust))
    for holder in (FIRST, OPERATOR, BROKERS):
        kube.put(SECRETS, leaf_secret(given_name(holder), given_leaf(holder)))
    for holder in holders(recorded()) if composed else ():
        kube.put(SECRETS, stored(leaf_object(of_others(), holder, given_leaf(holder), TRUST, 1, None, 0)))
    return kube


async def the_look(record: IdentityRecord | None = None) -> Snapshot:
    """The other objects of a quorum with SSL."""
    known = record or recorded()
    made = replace(revision(secured()), name=known.applied_revision or revision(secured()).name)
    return replace(await snapshot(api_server()), record=known, revisions=(made,), pods=at_rest(known).pods)


async def looked(kube: RecordingKube, **changes: Any) -> Material:  # noqa: ANN401 - fields of the spec
    """The certificates of a look."""
    reads = MaterialReads(kube, TimeOfDay(), AnsweringControllers())
    found, _ = await reads.look(KEY, await the_look(), of_others(**changes))
    assert found is not None
    return found


async def test_the_secrets_of_the_issuer_are_read_by_name() -> None:
    """Each is read once and none is listed; the look has trust and sources, and no key."""
    kube = with_given()
    found = await looked(kube)
    assert {(call.verb, call.plural) for call in kube.calls} == {("get", "secrets"), ("list", POOLS.plural)}
    assert [call.name for call in kube.calls if call.name == ISSUER.controllers_secret] == [ISSUER.controllers_secret]
    assert (found.own, found.given_trust, found.refused) == (Unknown(reason=""), Known(value=TRUST), ())
    for holder in holders(recorded()):
        source, leaf = found.source(holder), found.leaf(holder)
        assert isinstance(source, Known)
        assert isinstance(leaf, Known)
        assert leaf.value is not None
        assert (source.value.secret, leaf.value.issuer) == (given_name(holder), IssuerKind.SECRET)
        assert source.value.certificate == leaf.value.certificate
        assert source.value.authority == authority_seen().sha256
    for holder in (FIRST, OPERATOR, BROKERS):
        assert given_leaf(holder).key.pem.splitlines()[1] not in repr(found)


async def test_a_secret_is_judged_once_for_all_holders_and_never_in_the_event_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its owner chooses how long it takes: other quorums go on meanwhile, and more controllers make it no longer."""
    threads: dict[str, list[Thread]] = {}

    def noted(module: str, work: Callable[..., Any]) -> None:
        def instead(*arguments: object) -> object:
            threads.setdefault(module, []).append(current_thread())
            return work(*arguments)

        monkeypatch.setattr(f"kafka_quorum.observe.{module}.{work.__name__}", instead)

    noted("given", read_leaf)
    noted("given", read_trust)
    noted("material", leaf_from)
    found = await looked(with_given())
    assert found.refused == ()
    assert len(threads["given"]) == len((ISSUER.trust_secret, FIRST, OPERATOR, BROKERS))
    assert len(threads["material"]) == len(holders(recorded()))
    assert current_thread() not in {*threads["given"], *threads["material"]}


def made_for(role: str = "controllers", of: int = 1, at_s: float = NOW_S, **changes: Any) -> Leaf:  # noqa: ANN401
    """A leaf that differs from what is needed."""
    listed = [holder for holder in holders(recorded()) if holder.role == role]
    names = tuple(name for holder in listed for name in dns_names(of_others(), holder))
    subject = DistinguishedName(cn=role, ou=NAME, o="kafka")
    plain = Request(subject=subject, names=names, life_s=LEAF_S, server=True, client=True)
    return issue(authority(of), replace(plain, **changes), datetime.fromtimestamp(at_s, UTC))


def pkcs1() -> str:
    """The controllers' key in another form."""
    key = load_pem_private_key(given_leaf(FIRST).key.pem.encode(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()


def ed25519_key() -> str:
    """A key that Kafka does not load."""
    key = ed25519.Ed25519PrivateKey.generate()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


HOSTS = tuple(name for holder in holders(recorded()) for name in dns_names(of_others(), holder))
GOOD = given_leaf(FIRST)
BAD = [
    ("a key of PKCS#1 or SEC 1", leaf_secret("given-controllers", GOOD, tls_key=pkcs1()), "tls.key"),
    ("an Ed25519 key", leaf_secret("given-controllers", GOOD, tls_key=ed25519_key()), "tls.key"),
    ("another key", leaf_secret("given-controllers", GOOD, tls_key=given_leaf(BROKERS).key.pem), "tls.key"),
    ("no key", leaf_secret("given-controllers", GOOD, tls_key=""), "tls.key"),
    ("no certificate", leaf_secret("given-controllers", GOOD, tls_crt=""), "tls.crt"),
    ("no text of PEM", leaf_secret("given-controllers", GOOD, tls_crt="\x00" * 9), "tls.crt"),
    ("one name is missing", leaf_secret("given-controllers", made_for(names=HOSTS[:2])), "alpha-3002"),
    ("ended", leaf_secret("given-controllers", made_for(at_s=NOW_S - 299, life_s=10)), "tls.crt"),
    ("a server only", leaf_secret("given-controllers", made_for(client=False)), "clientAuth"),
    ("a client only", leaf_secret("given-controllers", made_for(server=False)), "serverAuth"),
    (
        "another subject",
        leaf_secret("given-controllers", made_for(subject=DistinguishedName(cn="a", ou="b", o="c"))),
        "CN=controllers",
    ),
    ("an authority that is not trusted", leaf_secret("given-controllers", made_for(of=2)), ISSUER.trust_secret),
    ("a Secret of others", given_object("given-controllers", "", tls_crt="", tls_key=""), USED_BY),
    ("used by another quorum", given_object("given-controllers", "KafkaQuorum/b", tls_crt=""), "KafkaQuorum/alpha"),
]


@pytest.mark.parametrize(("body", "named"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
async def test_what_cannot_be_used_is_refused(body: Json, named: str) -> None:
    """A bad certificate of the controllers is no source; one sentence names the Secret and what is wrong."""
    kube = with_given()
    kube.put(SECRETS, body)
    found = await looked(kube)
    (words,) = found.refused
    assert "Secret given-controllers" in words
    assert named in words
    assert [found.source(controller(each)) for each in IDS] == [Unknown(reason=words)] * len(IDS)
    assert isinstance(found.source(OPERATOR), Known)
    assert GOOD.key.pem.splitlines()[1] not in words


async def test_a_secret_that_may_not_be_read_is_unknown() -> None:
    """A Secret that the API server does not show is not refused: it is unknown, with the way out."""
    found = await looked(RecordingKube(errors={("get", "secrets"): KubeRefused("forbidden")}))
    seen = found.source(SECOND)
    assert isinstance(seen, Unknown)
    assert "Grant get on Secrets" in seen.reason
    assert isinstance(found.given_trust, Unknown)
    assert found.refused == ()


async def test_a_missing_secret_and_a_secret_of_others_have_the_same_sentence() -> None:
    """A name in a spec shows nothing about the Secrets of others, not even whether they exist."""
    missing, foreign = with_given(), with_given()
    del missing.objects["secrets", "given-operator"]
    foreign.put(SECRETS, given_object("given-operator", "", tls_crt="x"))
    assert (await looked(missing)).refused == (await looked(foreign)).refused != ()


@pytest.mark.parametrize(
    "trust",
    ["", "nonsense", GOOD.chain_pem, GOOD.chain_pem + TRUST, authority(1).key.pem + TRUST],
    ids=["nothing", "no PEM", "a leaf", "a leaf and a root", "a key"],
)
async def test_a_bundle_that_cannot_be_used(trust: str) -> None:
    """A bundle with anything else than authorities is refused; the leafs of the trusted authority stay sources."""
    found = await looked(with_given(trust))
    assert isinstance(found.given_trust, Unknown)
    (words,) = found.refused
    assert "ca.crt of Secret given-trust" in words
    assert isinstance(found.source(SECOND), Known)


async def test_a_wildcard_has_the_names_of_all_controllers() -> None:
    """One name for the whole service covers every controller of a new quorum."""
    kube = with_given(composed=False)
    kube.put(SECRETS, leaf_secret("given-controllers", made_for(names=("*.alpha-controllers.kafka.svc",))))
    taken = replace(await the_look(), record=bound())
    found, _ = await MaterialReads(kube, TimeOfDay(), AnsweringControllers()).look(KEY, taken, of_others())
    assert found is not None
    assert isinstance(found.source(SECOND), Known)


async def test_a_name_in_use_is_kept() -> None:
    """A certificate that lacks a name of the one in use is refused: no listener would load it."""
    kube = with_given()
    kube.put(SECRETS, leaf_secret("given-controllers", made_for(names=("*.alpha-controllers.kafka.svc",))))
    (words,) = (await looked(kube)).refused
    assert "does not load it" in words


@pytest.mark.parametrize("own", [False, True], ids=["from SelfSigned", "to SelfSigned"])
async def test_the_issuer_in_use_stays(own: bool) -> None:  # noqa: FBT001 - one of two
    """If the certificates in use are of another kind of issuer than the spec has, nothing replaces them."""
    kube, spec = with_given(), of_others()
    if own:
        spec = replace(spec, trust=replace(spec.trust, issuer=type(ISSUER)()))
    else:
        for holder in holders(recorded()):
            plain = replace(spec, trust=replace(spec.trust, issuer=type(ISSUER)()))
            kube.put(SECRETS, stored(leaf_object(plain, holder, given_leaf(holder), TRUST, 1, None, 0)))
    found, _ = await MaterialReads(kube, TimeOfDay(), AnsweringControllers()).look(KEY, await the_look(), spec)
    assert found is not None
    assert found.other_issuer
    assert isinstance(found.own, Unknown)
    assert "issuer.type cannot change" in found.own.reason
    assert (found.sources, found.wanted_trust) == ((), found.own)


async def test_an_issuer_may_change_before_the_quorum_starts() -> None:
    """Before a quorum has started nothing uses a certificate: the other issuer's ones take their place."""
    kube, spec = with_given(), of_others()
    for holder in holders(recorded()):
        plain = replace(spec, trust=replace(spec.trust, issuer=type(ISSUER)()))
        kube.put(SECRETS, stored(leaf_object(plain, holder, given_leaf(holder), TRUST, 1, None, 0)))
    taken = replace(await the_look(), record=bound())
    found, _ = await MaterialReads(kube, TimeOfDay(), AnsweringControllers()).look(KEY, taken, spec)
    assert found is not None
    assert not found.other_issuer
    assert isinstance(found.source(SECOND), Known)


# While authorities are changed


async def probed(kube: RecordingKube, after: str, stage: int = 0) -> tuple[Material, AnsweringControllers]:
    """The look after the listeners were asked, in this stage of a change to these authorities."""
    change = TrustChange(before=TRUST, after=after)
    made = secured()
    reached = Reached(
        kind=MigrationKind.AUTHORITY,
        stage=AUTHORITY.stages[stage].name,
        release=made.release,
        image=made.image,
        trust=change,
    )
    controllers = AnsweringControllers()
    controllers.handshakes = {node_id: served(node_id).handshake for node_id in IDS}
    reads, taken = MaterialReads(kube, TimeOfDay(), controllers), await the_look(with_migration(recorded(), reached))
    for _ in range(6):
        await reads.look(KEY, taken, of_others())
        for _ in range(5):
            await asyncio.sleep(0)
    found, _ = await reads.look(KEY, taken, of_others())
    assert found is not None
    return found, controllers


async def test_the_operators_new_leaf_is_shown_to_every_listener() -> None:
    """In the first stage each listener is asked with the operator's leaf of the new authority."""
    new = authority(2).certificate.pem
    kube = with_given(new)
    kube.put(SECRETS, leaf_secret("given-operator", given_leaf(OPERATOR, 2)))
    found, _ = await probed(kube, new)
    assert {(one.node_id, one.authority) for one in found.probed} == {(each, authority_seen(2).sha256) for each in IDS}
    source = found.source(OPERATOR)
    assert isinstance(source, Known)
    assert source.value.authorities == frozenset({authority_seen(2).sha256})


async def test_a_leaf_that_proves_nothing_is_not_shown() -> None:
    """A leaf of the earlier authority shows nothing about the new one; nor is anything shown in the last stage."""
    both = together(TRUST, authority(2).certificate.pem)
    assert (await probed(with_given(both), both))[0].probed == ()
    kube = with_given(authority(2).certificate.pem)
    kube.put(SECRETS, leaf_secret("given-operator", given_leaf(OPERATOR, 2)))
    assert (await probed(kube, authority(2).certificate.pem, stage=2))[0].probed == ()
