"""What cert-manager is asked for and has filled: which Secrets count, and what is in the way."""

import base64
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.kit.kube.recording import RecordingKube
from tests.model.certificates import ISSUER, LEAF_S, authority, of_cert_manager, recorded
from tests.model.values import IDS, NAME, NAMESPACE, NOW_S
from tests.observe.test_given import TRUST, TimeOfDay, given_object, the_look
from tests.observe.test_material import KEY, SECOND, stored
from tests.wire.answering import AnsweringControllers

from kafka_quorum.kind import POOLS
from kafka_quorum.model.certified import dns_names, holders
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.material import OPERATOR, Holder, Material, RequestSeen, Role, controller
from kafka_quorum.model.names import USED_BY
from kafka_quorum.observe.material import MaterialReads
from kafka_quorum.observe.requested import Asked
from kafka_quorum.resources.certmanager import CERTIFICATES, FILLED_FOR, certificate_object
from kit.errors import KubeRefused
from kit.kube.protocol import Json
from kit.kube.secrets import SECRETS
from kit.pki.authority import Request, issue
from kit.pki.names import DistinguishedName

NOW = datetime.fromtimestamp(NOW_S, UTC)


def filled(holder: Holder, cn: str = "", of: int = 1, annotations: dict[str, str] | None = None) -> Json:
    """The Secret that cert-manager fills for this holder."""
    request = Request(
        subject=DistinguishedName(cn=cn or holder.role, ou=NAME, o=NAMESPACE),
        names=dns_names(of_cert_manager(), holder),
        life_s=LEAF_S,
        server=holder.role == Role.CONTROLLERS.value,
        client=True,
    )
    leaf = issue(authority(of), request, NOW)
    name = holder.request(NAME)
    body = given_object(name, tls_crt=leaf.chain_pem, tls_key=leaf.key.pem, ca_crt=authority(of).certificate.pem)
    body["metadata"]["annotations"] = {USED_BY: f"KafkaQuorum/{NAME}", FILLED_FOR: name} | (annotations or {})
    return body


def asked(holder: Holder, **spec: Any) -> Json:  # noqa: ANN401 - any JSON
    """The Certificate of this holder as the API server has it, with a field that others added."""
    body = stored(certificate_object(of_cert_manager(), holder))
    status = {"conditions": [{"type": "Ready", "status": "False", "message": "Issuing\x1b[31m certificate"}]}
    return {**body, "spec": {**body["spec"], "revisionHistoryLimit": 1, **spec}, "status": status}


def with_cert_manager() -> RecordingKube:
    """An API server where cert-manager has issued everything."""
    kube = RecordingKube()
    kube.put(SECRETS, given_object(ISSUER.trust_secret, ca_crt=TRUST))
    for holder in holders(recorded()):
        kube.put(CERTIFICATES, asked(holder))
        kube.put(SECRETS, filled(holder))
    return kube


async def looked(kube: RecordingKube) -> Material:
    """The certificates of a look."""
    reads = MaterialReads(kube, TimeOfDay(), AnsweringControllers())
    found, _ = await reads.look(KEY, await the_look(), of_cert_manager())
    assert found is not None
    return found


def request(found: Material, holder: Holder) -> object:
    """What is known of the Certificate of this holder."""
    return dict(found.requests)[holder]


async def test_everything_is_issued() -> None:
    """Each holder has a source of its own; cert-manager's own ca.crt is no trust, and only pools are listed."""
    kube = with_cert_manager()
    found = await looked(kube)
    assert (found.refused, found.pending, found.given_trust) == ((), frozenset(), Known(value=TRUST))
    for holder in holders(recorded()):
        source = found.source(holder)
        assert isinstance(source, Known)
        assert source.value.secret == holder.request(NAME)
        assert request(found, holder) == Known(value=RequestSeen(current=True))
    assert {(call.verb, call.plural) for call in kube.calls} == {
        ("get", "certificates"),
        ("get", "secrets"),
        ("list", POOLS.plural),
    }


async def test_nothing_is_asked_yet() -> None:
    """Without a Certificate nothing is in the way, and cert-manager is to be asked."""
    kube = with_cert_manager()
    del kube.objects["certificates", "alpha-3001-cert"]
    del kube.objects["secrets", "alpha-3001-cert"]
    found = await looked(kube)
    assert request(found, SECOND) == Known(value=None)
    assert (found.pending, found.refused) == (frozenset({SECOND}), ())


@pytest.mark.parametrize("secret", [False, True], ids=["no Secret", "a Secret without its annotations"])
async def test_cert_manager_has_not_issued_yet(secret: bool) -> None:  # noqa: FBT001 - one of two
    """Until the Secret is filled the holder has no source; the reason has cert-manager's own words, cleaned."""
    kube = with_cert_manager()
    del kube.objects["secrets", "alpha-3001-cert"]
    if secret:
        kube.put(SECRETS, filled(SECOND, annotations={FILLED_FOR: "another"}))
    found = await looked(kube)
    source = found.source(SECOND)
    assert isinstance(source, Unknown)
    assert "alpha-3001-cert yet (Issuing" in source.reason
    assert "\x1b" not in source.reason
    assert (found.pending, found.refused) == (frozenset({SECOND}), ())


@pytest.mark.parametrize("rows", [5, True, "Ready", {"type": "Ready"}, [7], None], ids=repr)
async def test_conditions_that_are_no_list(rows: object) -> None:
    """What stands in the place of conditions says nothing of cert-manager, and ends no look."""
    kube = with_cert_manager()
    del kube.objects["secrets", "alpha-3001-cert"]
    kube.put(CERTIFICATES, {**asked(SECOND), "status": {"conditions": rows}})
    source = (await looked(kube)).source(SECOND)
    assert isinstance(source, Unknown)
    assert "alpha-3001-cert yet: look at it" in source.reason


@pytest.mark.parametrize("annotations", [{FILLED_FOR: "x"}, {USED_BY: "KafkaQuorum/b"}, {USED_BY: "", FILLED_FOR: ""}])
async def test_a_secret_of_others_is_in_the_way(annotations: dict[str, str]) -> None:
    """A Secret that cert-manager did not fill for this quorum is not read, and no Certificate is made over it."""
    kube = with_cert_manager()
    del kube.objects["certificates", "alpha-3001-cert"]
    kube.put(SECRETS, filled(SECOND, annotations=annotations))
    found = await looked(kube)
    (words,) = found.refused
    assert "alpha-3001-cert" in words
    assert request(found, SECOND) == found.source(SECOND) == Unknown(reason=words)


async def test_a_certificate_of_others_is_in_the_way() -> None:
    """A Certificate with our labels and another controller is not ours: its Secret is no source."""
    kube = with_cert_manager()
    kube.objects["certificates", "alpha-3001-cert"]["metadata"]["ownerReferences"][0]["uid"] = "of an earlier life"
    found = await looked(kube)
    (words,) = found.refused
    assert "Certificate alpha-3001-cert exists" in words
    assert request(found, SECOND) == found.source(SECOND) == Unknown(reason=words)


async def test_what_is_asked_for_changes() -> None:
    """A Certificate that asks for other names is to be written again; its Secret is a source meanwhile."""
    kube = with_cert_manager()
    kube.put(CERTIFICATES, asked(SECOND, dnsNames=["another"]))
    found = await looked(kube)
    assert request(found, SECOND) == Known(value=RequestSeen(current=False))
    assert isinstance(found.source(SECOND), Known)


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (filled(SECOND, cn="operator"), "CN=controllers"),
        (filled(SECOND, of=2), ISSUER.trust_secret),
        ({**filled(SECOND), "data": {"tls.crt": "%"}}, "tls.crt"),
        ({**filled(SECOND), "data": {"tls.crt": base64.b64encode(b"\xff").decode()}}, "no text"),
        ({**filled(SECOND), "data": {}}, "tls.crt"),
        ({**filled(SECOND), "data": None}, "tls.crt"),
    ],
    ids=["another subject", "another authority", "no base64", "no text", "nothing", "no data"],
)
async def test_what_is_not_what_was_asked_for_is_refused(body: Json, named: str) -> None:
    """A Secret with something else is no source of this controller; the others have theirs."""
    kube = with_cert_manager()
    kube.put(SECRETS, body)
    found = await looked(kube)
    (words,) = found.refused
    assert named in words
    assert found.source(SECOND) == Unknown(reason=words)
    assert isinstance(found.source(controller(IDS[0])), Known)


async def test_without_the_right_nothing_is_known() -> None:
    """If the API server does not show Certificates, they are unknown and not missing, with the way out."""
    kube = RecordingKube(errors={("get", "certificates"): KubeRefused("forbidden")})
    kube.put(SECRETS, given_object(ISSUER.trust_secret, ca_crt=TRUST))
    found = await looked(kube)
    seen = request(found, OPERATOR)
    assert isinstance(seen, Unknown)
    assert "cert-manager.io" in seen.reason
    assert (found.pending, found.refused) == (frozenset(), ())


def test_no_key_is_in_the_text_of_a_value() -> None:
    """The texts of a Secret have a key: the value that holds them does not show it."""
    texts = Known(value={"tls.key": "-----BEGIN PRIVATE KEY-----\nSECRET"})
    assert "SECRET" not in repr(Asked(request=Known(value=None), texts=texts))
