"""Secrets with certificates, as they are written: from what was read exactly, complete, and with keys nowhere else."""

import base64
from dataclasses import replace
from typing import Any

import pytest
from tests.act.test_execute import SetClock, carried_out
from tests.kit.kube.recording import Call, RecordingKube
from tests.model.certificates import (
    LEAF_S,
    authority,
    authority_seen,
    given_leaf,
    given_name,
    leaf,
    leaf_seen,
    of_cert_manager,
    of_others,
    wanted,
)
from tests.model.values import IDS, NAME, NAMESPACE, permit

from kafka_quorum.model import actions as act
from kafka_quorum.model import permit as permits
from kafka_quorum.model.certified import dns_names
from kafka_quorum.model.material import BROKERS, OPERATOR, Holder, controller, pool
from kafka_quorum.model.names import USED_BY, trust_file
from kafka_quorum.model.plan import Outcome
from kafka_quorum.model.pools import PoolSeen
from kafka_quorum.model.trust import IssuerKind
from kafka_quorum.resources.certmanager import CERTIFICATES, FILLED_FOR, certificate_object
from kafka_quorum.resources.secrets import (
    Logins,
    StoredAuthorities,
    authorities_from,
    authorities_object,
    leaf_from,
    leaf_object,
    source_of,
)
from kit.errors import KubeNotFound
from kit.kube.protocol import Json, ResourceType
from kit.kube.secrets import SECRETS
from kit.pki.bundle import Bundle
from kit.pki.leaf import Leaf

SECOND = controller(IDS[1])
NOW_S = SetClock(0.0).now().timestamp()
CA = authority(1, NOW_S)
OTHER = authority(2, NOW_S)
TRUST = Bundle((CA.certificate,)).pem
OTHER_TRUST = Bundle((CA.certificate, OTHER.certificate)).pem


def stored(body: Json, version: str = "40") -> Json:
    """A Secret as the API server has it."""
    return {**body, "metadata": {**body["metadata"], "resourceVersion": version, "uid": "u"}}


def with_authority(*, following: bool = False) -> RecordingKube:
    """An API server with the Secret of the authority."""
    kube = RecordingKube()
    both = OTHER if following else None
    due = StoredAuthorities(present=CA, following=both, asked_for="asked")
    kube.put(SECRETS, stored(authorities_object(wanted(), f"{NAME}-ca", due), "41"))
    return kube


def compose(holder: Holder = SECOND, **changes: Any) -> act.ComposeLeaf:  # noqa: ANN401 - any field
    """The first leaf of this holder."""
    plain = act.ComposeLeaf(
        name=holder.secret(NAME),
        holder=holder,
        generation=1,
        dns_names=dns_names(wanted(), holder),
        life_s=LEAF_S,
        authority=CA.certificate.fingerprint,
        trust=TRUST,
        before=None,
        message="m",
        permit=permit(permits.ShowLeaf),
    )
    return replace(plain, **changes)


async def done(action: act.Action, kube: RecordingKube) -> tuple[list[Call], Outcome]:
    """The writes of one action, and its outcome."""
    calls, (outcome,) = await carried_out(action, kube=kube, wanted=wanted())
    return calls, outcome


def texts(call: Call) -> dict[str, str]:
    """What a written Secret holds."""
    assert call.body is not None
    return {key: base64.b64decode(value).decode() for key, value in call.body["data"].items()}


@pytest.mark.parametrize("holder", [SECOND, OPERATOR, BROKERS], ids=str)
async def test_a_new_leaf(holder: Holder) -> None:
    """A new Secret is created with a leaf of the authority, for exactly its names, and can be read again."""
    (call,), outcome = await done(compose(holder), with_authority())
    assert (call.verb, call.plural, call.name) == ("create", "secrets", holder.secret(NAME))
    assert outcome.done
    assert call.body is not None
    seen, read = leaf_from(stored(call.body), wanted(), holder, Bundle((CA.certificate,)))
    assert (seen.generation, seen.before_ends_s, seen.authority) == (1, 0, CA.certificate.fingerprint)
    assert seen.certificate.dns_names == tuple(sorted(dns_names(wanted(), holder)))
    assert f"CN={holder.role}" in seen.certificate.subject
    assert read.key.public == read.certificate.public_key


async def test_a_controller_gets_its_key_only() -> None:
    """A controller's Secret has one file for Kafka, and no key of an authority."""
    (call,), _ = await done(compose(), with_authority())
    assert texts(call).keys() == {"keystore.pem", "generation", "before-ends"}
    assert CA.key.pem not in texts(call)["keystore.pem"]


async def test_no_outcome_has_a_key() -> None:
    """The outcome, which becomes an event and a log line, has nothing of the Secret."""
    (call,), outcome = await done(compose(), with_authority())
    line = texts(call)["keystore.pem"].splitlines()[1]
    assert line not in repr(outcome)
    assert "PRIVATE KEY" not in repr(outcome)


async def test_a_renewal_replaces_what_was_read() -> None:
    """A renewed leaf replaces exactly the Secret of the look, and says until when the earlier one may be shown."""
    kube = with_authority()
    kube.put(SECRETS, stored(leaf_object(wanted(), SECOND, leaf(SECOND), TRUST, 1, None, 0)))
    renewed = compose(before=leaf_seen(SECOND), generation=2, before_ends_s=77)
    (call,), outcome = await done(renewed, kube)
    assert (call.verb, outcome.done) == ("replace", True)
    assert (texts(call)["generation"], texts(call)["before-ends"]) == ("2", "77")


async def test_a_secret_that_changed_is_not_replaced() -> None:
    """If the Secret is not the one of the look any more, nothing is written, and the operator looks again."""
    kube = with_authority()
    kube.put(SECRETS, stored(leaf_object(wanted(), SECOND, leaf(SECOND), TRUST, 1, None, 0), "45"))
    assert await _held(compose(before=leaf_seen(SECOND), generation=2), kube)
    assert await _held(compose(before=leaf_seen(SECOND), generation=2), with_authority())


async def test_a_secret_that_exists_is_not_written_over() -> None:
    """A leaf that is made because there was none never replaces one."""
    kube = with_authority()
    kube.put(SECRETS, stored(leaf_object(wanted(), SECOND, leaf(SECOND), TRUST, 1, None, 0)))
    _, outcome = await done(compose(), kube)
    assert not outcome.done
    assert kube.objects["secrets", "alpha-3001-tls"]["metadata"]["resourceVersion"] == "40"


async def test_another_authority_signs_nothing() -> None:
    """If the Secret of the authority has another one than the plan saw, no leaf is made."""
    assert await _held(compose(authority=OTHER.certificate.fingerprint), with_authority())
    assert await _held(compose(), RecordingKube())


async def test_the_brokers_keep_earlier_files() -> None:
    """The brokers' Secret keeps the files of the generation before: brokers that did not restart yet name them."""
    kube = with_authority()
    name = BROKERS.secret(NAME)
    kube.put(SECRETS, stored(leaf_object(wanted(), BROKERS, leaf(BROKERS), TRUST, 1, None, 0)))
    (call,), _ = await done(compose(BROKERS, before=leaf_seen(BROKERS), generation=2), kube)
    assert call.name == name
    assert {"keystore-1.pem", "keystore-2.pem"} <= texts(call).keys()


async def test_the_brokers_keep_their_user() -> None:
    """Without users to read, the brokers' Secret keeps the user that it has; without a listener for one, it goes."""
    had = Logins(listeners=("CONTROLLER",), lines="listener.name=x")
    before = stored(leaf_object(wanted(), BROKERS, leaf(BROKERS), TRUST, 1, None, 0, had))
    for keeps in (True, False):
        kube = with_authority()
        kube.put(SECRETS, before)
        (call,), _ = await done(compose(BROKERS, before=leaf_seen(BROKERS), generation=2, keeps_login=keeps), kube)
        assert texts(call).get("sasl.properties") == ("listener.name=x" if keeps else None)
        assert texts(call).get("listeners") == ("CONTROLLER" if keeps else None)


# Leafs of another issuer

GIVEN = given_leaf(SECOND, 1, NOW_S)


SEEN = PoolSeen(name="events", uid="u1", names=("events-bootstrap.kafka.svc",))
EVENTS = pool(SEEN)


def copy(holder: Holder = SECOND, **changes: Any) -> act.ComposeLeaf:  # noqa: ANN401 - any field
    """A copy of what the issuer gave."""
    sha256 = given_leaf(holder, 1, NOW_S).certificate.fingerprint
    names = dns_names(of_others(), holder)
    return compose(holder, **({"source": given_name(holder), "source_sha256": sha256, "dns_names": names} | changes))


def given_secret(holder: Holder = SECOND, used_by: str = f"KafkaQuorum/{NAME}", key: str | None = None) -> Json:
    """The Secret of the issuer."""
    found = given_leaf(holder, 1, NOW_S)
    given = {"tls.crt": found.chain_pem, "tls.key": found.key.pem if key is None else key}
    data = {one: base64.b64encode(text.encode()).decode() for one, text in given.items()}
    metadata = {"name": given_name(holder), "namespace": NAMESPACE, "annotations": {USED_BY: used_by}}
    return stored({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})


async def copied(action: act.ComposeLeaf, *present: Json) -> tuple[list[Call], Outcome]:
    """The writes of a copy, with these Secrets."""
    kube = RecordingKube()
    for body in present:
        kube.put(SECRETS, body)
    calls, (outcome,) = await carried_out(action, kube=kube, wanted=of_others())
    return calls, outcome


@pytest.mark.parametrize("holder", [SECOND, OPERATOR, BROKERS], ids=str)
async def test_a_copy(holder: Holder) -> None:
    """The Secret of the holder has the issuer's leaf, says which issuer it is of, and when it was composed."""
    (call,), outcome = await copied(copy(holder), given_secret(holder))
    assert (call.verb, call.name, outcome.done) == ("create", holder.secret(NAME), True)
    assert call.body is not None
    assert call.body["type"] == "Opaque"
    seen, read = leaf_from(stored(call.body), of_others(), holder, Bundle((authority().certificate,)))
    assert read.certificate == given_leaf(holder, 1, NOW_S).certificate
    assert (seen.issuer, seen.composed_s, seen.authority) == (
        IssuerKind.SECRET,
        int(NOW_S),
        authority().certificate.fingerprint,
    )


async def test_a_source_that_changed_is_not_copied() -> None:
    """Only the certificate that the plan has judged is copied; another one is looked at again."""
    calls, outcome = await copied(copy(source_sha256="ff"), given_secret())
    assert (calls, outcome.held) == ([], True)


async def test_a_chain_that_changed_is_not_copied() -> None:
    """The same certificate with another authority above it is not what the plan has judged."""
    found = given_leaf(SECOND, 1, NOW_S)
    chain = Leaf(chain=(*found.chain, authority().certificate), key=found.key)
    body = given_secret()
    body["data"]["tls.crt"] = base64.b64encode(chain.chain_pem.encode()).decode()
    calls, outcome = await copied(copy(), body)
    assert (calls, outcome.held) == ([], True)
    calls, outcome = await copied(copy(source_sha256=source_of("", chain).digest), body)
    assert (len(calls), outcome.done) == (1, True)


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (given_secret(used_by="KafkaQuorum/other"), USED_BY),
        (given_secret(key=""), "tls.key"),
        (given_secret(key=given_leaf(BROKERS, 1, NOW_S).key.pem), "tls.key"),
    ],
    ids=["of others", "no key", "another key"],
)
async def test_a_source_that_cannot_be_used_is_not_copied(body: Json, named: str) -> None:
    """What has become unusable after the look is refused with its sentence, and nothing is written."""
    calls, outcome = await copied(copy(), body)
    assert (calls, outcome.done) == ([], False)
    assert named in outcome.message


async def test_a_leaf_stays_beside_other_files() -> None:
    """With its own Secret as the source, a holder keeps its leaf in the next generation."""
    own = stored(leaf_object(of_others(), BROKERS, given_leaf(BROKERS, 1, NOW_S), TRUST, 1, None, 0))
    kept = copy(BROKERS, source=BROKERS.secret(NAME), before=leaf_seen(BROKERS), generation=2, trust=OTHER_TRUST)
    (call,), outcome = await copied(kept, own)
    assert (call.verb, outcome.done) == ("replace", True)
    assert texts(call)["tls.key"] == given_leaf(BROKERS, 1, NOW_S).key.pem
    assert {trust_file(TRUST), trust_file(OTHER_TRUST)} <= texts(call).keys()
    calls, outcome = await copied(replace(kept, source_sha256="ff"), own)
    assert (calls, outcome.held) == ([], True)
    calls, outcome = await copied(replace(kept, before=None), own)
    assert (calls, outcome.held) == ([], True)


# Cert-manager

ASK = act.RequestLeaf(name="alpha-3001-cert", holder=SECOND, message="m")


def filled(used_by: str = f"KafkaQuorum/{NAME}", name: str = ASK.name) -> Json:
    """A Secret that cert-manager has filled."""
    annotations = {USED_BY: used_by, FILLED_FOR: name}
    return stored({"metadata": {"name": ASK.name, "namespace": NAMESPACE, "annotations": annotations}, "data": {}})


async def asked(*present: tuple[ResourceType, Json]) -> tuple[list[Call], Outcome]:
    """The writes of a request, with these objects."""
    kube = RecordingKube()
    for resource, body in present:
        kube.put(resource, body)
    calls, (outcome,) = await carried_out(ASK, kube=kube, wanted=of_cert_manager())
    return calls, outcome


async def test_cert_manager_is_asked_for_what_the_operator_would_issue() -> None:
    """Subject, names, usages and lives are those of the operator's own certificates; the key is PKCS#8."""
    (call,), outcome = await asked()
    assert (call.verb, call.plural, call.name, outcome.done) == ("apply", "certificates", "alpha-3001-cert", True)
    assert call.body is not None
    spec = call.body["spec"]
    assert (spec["secretName"], spec["commonName"], spec["subject"]) == (
        ASK.name,
        "controllers",
        {"organizations": [NAMESPACE], "organizationalUnits": [NAME]},
    )
    assert spec["dnsNames"] == list(dns_names(of_cert_manager(), SECOND))
    assert spec["usages"] == ["digital signature", "client auth", "server auth"]
    assert (spec["duration"], spec["renewBefore"]) == ("1h0m0s", "20m0s")
    assert spec["privateKey"]["encoding"] == "PKCS8"
    assert spec["issuerRef"] == {"name": "an-issuer", "kind": "Issuer", "group": "cert-manager.io"}
    assert spec["secretTemplate"] == {"annotations": {USED_BY: f"KafkaQuorum/{NAME}"}}
    assert call.body["metadata"]["ownerReferences"][0]["uid"] == of_cert_manager().uid
    client = certificate_object(of_cert_manager(), BROKERS)["spec"]
    assert ("dnsNames" in client, client["usages"]) == (False, ["digital signature", "client auth"])


async def test_the_certificate_of_a_pool_goes_with_the_pool() -> None:
    """It has the names of the pool, which owns it; one of an earlier pool of the same name is left alone."""
    ask = act.RequestLeaf(name="alpha-brokers-cert.events", holder=EVENTS, pools=(SEEN,), message="m")
    kube = RecordingKube()
    (call,), (outcome,) = await carried_out(ask, kube=kube, wanted=of_cert_manager())
    assert (call.verb, call.plural, call.name, outcome.done) == ("apply", "certificates", ask.name, True)
    assert call.body is not None
    assert call.body["spec"]["dnsNames"] == list(SEEN.names)
    assert [one["uid"] for one in call.body["metadata"]["ownerReferences"]] == ["u1"]
    body = stored(certificate_object(of_cert_manager(), EVENTS, (SEEN,)), "3")
    body["metadata"]["ownerReferences"][0]["uid"] = "of an earlier life"
    other = RecordingKube()
    other.put(CERTIFICATES, body)
    calls, (outcome,) = await carried_out(ask, kube=other, wanted=of_cert_manager())
    assert (calls, outcome.done) == ([], False)


@pytest.mark.parametrize(("used_by", "done"), [("KafkaBrokerPool/events", True), (f"KafkaQuorum/{NAME}", False)])
async def test_a_copy_for_a_pool(used_by: str, done: bool) -> None:  # noqa: FBT001 - one of two
    """The Secret that the spec of a pool names allows the pool; the copy is owned by it, and has the brokers' files."""
    given = given_secret(BROKERS, used_by)
    calls, outcome = await copied(copy(EVENTS, source=given_name(BROKERS), dns_names=(), also=3), given)
    assert outcome.done is done
    if done:
        (call,) = calls
        assert {"keystore-1.pem", "keystore-3.pem", "ca.crt"} <= texts(call).keys()
        assert call.body is not None
        assert [one["name"] for one in call.body["metadata"]["ownerReferences"]] == ["events"]
    else:
        assert (calls, "KafkaBrokerPool/events" in outcome.message) == ([], True)


async def test_a_certificate_of_others_is_left_alone() -> None:
    """A Certificate of this name that is not this resource's is not changed, whatever its labels are."""
    body = stored(certificate_object(of_cert_manager(), SECOND), "3")
    assert (await asked((CERTIFICATES, body)))[1].done
    body["metadata"]["ownerReferences"][0]["uid"] = "another"
    calls, outcome = await asked((CERTIFICATES, body))
    assert (calls, outcome.done) == ([], False)


@pytest.mark.parametrize("body", [filled("KafkaQuorum/b"), filled(name="x"), filled("")], ids=["b", "x", "none"])
async def test_a_secret_of_others_is_not_given_to_cert_manager(body: Json) -> None:
    """Cert-manager would replace a Secret of others that has the name: then it is not asked."""
    calls, outcome = await asked((SECRETS, body))
    assert (calls, outcome.done) == ([], False)
    assert ASK.name in outcome.message
    assert (await asked((SECRETS, filled())))[1].done


async def test_without_cert_manager_the_outcome_says_so() -> None:
    """An API server without the definition answers that there is no such object."""
    kube = RecordingKube(errors={("apply", "certificates"): KubeNotFound("404")})
    _, (outcome,) = await carried_out(ASK, kube=kube, wanted=of_cert_manager())
    assert not outcome.done
    assert "install cert-manager" in outcome.message


# Authorities


def make(**changes: Any) -> act.MakeAuthority:  # noqa: ANN401 - any field
    """The first authority."""
    plain = act.MakeAuthority(
        name=f"{NAME}-ca", following=False, asked_for="", life_s=100 * LEAF_S, version="", message="m"
    )
    return replace(plain, **changes)


async def test_the_first_authority() -> None:
    """It is created with its key; the Secret has nothing else of a quorum."""
    (call,), outcome = await done(make(), RecordingKube())
    assert (call.verb, outcome.done) == ("create", True)
    assert texts(call).keys() == {"ca.crt", "ca.key", "asked-for"}


async def test_an_authority_that_follows_keeps_the_present_one() -> None:
    """One that follows is written beside the present one, over exactly what was read."""
    (call,), _ = await done(make(following=True, asked_for="again", version="41"), with_authority())
    assert call.body is not None
    found = authorities_from(stored(call.body), wanted())
    assert found.present.certificate == CA.certificate
    assert found.following is not None
    assert found.asked_for == "again"
    assert await _held(make(following=True, version="40"), with_authority())


async def test_the_earlier_authority_ends() -> None:
    """The one that follows becomes the present one, if it is the one of the plan; the earlier key is gone."""
    end = act.PromoteAuthority(
        name=f"{NAME}-ca",
        sha256=OTHER.certificate.fingerprint,
        version="41",
        message="m",
        permit=permit(permits.EndAuthority),
    )
    (call,), _ = await done(end, with_authority(following=True))
    assert texts(call)["ca.crt"] == OTHER.certificate.pem
    assert "next.key" not in texts(call)
    assert await _held(replace(end, sha256=authority_seen().sha256), with_authority(following=True))
    assert await _held(end, with_authority())


async def _held(action: act.Action, kube: RecordingKube) -> bool:
    """Whether nothing was written, and the operator looks again."""
    calls, outcome = await done(action, kube)
    assert wanted().namespace == NAMESPACE
    return (calls, outcome.held) == ([], True)


async def test_the_leaf_of_a_pool() -> None:
    """It is a server's and a client's with the brokers' user, and its Secret is deleted with the pool."""
    events = pool(PoolSeen(name="events", uid="u1", names=("*.events-brokers.kafka.svc",)))
    calls, outcome = await done(
        compose(events, dns_names=("*.events-brokers.kafka.svc",), generation=2, also=1), with_authority()
    )
    assert outcome.done
    (call,) = [each for each in calls if each.verb == "create"]
    assert call.body is not None
    (owner,) = call.body["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"], owner["controller"]) == (
        "KafkaBrokerPool",
        "events",
        "u1",
        False,
    )
    held = texts(call)
    assert held["keystore-1.pem"] == held["keystore-2.pem"]
    seen, _ = leaf_from(stored(call.body), wanted(), events, Bundle((CA.certificate,)))
    assert seen.certificate.dns_names == ("*.events-brokers.kafka.svc",)
    assert seen.certificate.subject.startswith("CN=brokers,OU=alpha,O=")
    assert (seen.generation, seen.authority) == (2, CA.certificate.fingerprint)
