"""Certificates of other issuers: cert-manager's, and those that a person puts into Secrets."""

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from harness.authority import Authority, Leaf
from harness.pool import Pool
from harness.quorum import Quorum
from harness.shell import Json, get, items, kubectl, secret_texts, succeed, wait_until
from kafka_quorum.model.handshakes import Served
from kafka_quorum.wire.handshake import probe
from scenarios.test_trust import served
from scenarios.test_trust_pools import LISTENERS, consumed, made, produced, trusting
from testbed.config import SOURCE

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(2400)]

SSL: Final[Json] = {"name": "CONTROLLER", "port": 9093, "protocol": "SSL"}
TRUST: Final = "trust"
_INSTALLED_TIMEOUT_S: Final = 1200.0
_FOLLOWED_TIMEOUT_S: Final = 300.0
_CHANGED_TIMEOUT_S: Final = 900.0


@pytest.fixture(scope="module")
def issuers() -> tuple[str, str]:
    """The two ClusterIssuers of the installed cert-manager."""
    found = succeed(sys.executable, str(SOURCE), "cert-manager", timeout_s=_INSTALLED_TIMEOUT_S).split()
    return found[-2], found[-1]


def texts_of(namespace: str, name: str) -> dict[str, str]:
    """The content of a Secret that exists."""
    return secret_texts(namespace, [name])[name]


def authority_of(issuer: str) -> str:
    """The certificate of an issuer's authority."""
    return texts_of("cert-manager", issuer)["tls.crt"]


def gives(quorum: Quorum, name: str, texts: dict[str, str]) -> None:
    """A person writes a Secret that this quorum may use, or replaces it."""
    metadata = {"name": name, "annotations": {"kafkaquorum.io/used-by": f"KafkaQuorum/{quorum.name}"}}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": texts}
    present = get(quorum.namespace, "secret", name)
    # Not applied: kubectl would write the key into an annotation.
    kubectl("-n", quorum.namespace, "replace" if present else "create", "-f", "-", stdin=json.dumps(body))


def issued_by(issuer: str) -> Json:
    """A spec whose certificates this issuer makes."""
    issuer_ref = {"name": issuer, "kind": "ClusterIssuer"}
    asked = {"type": "CertManager", "issuerRef": issuer_ref, "trustSecretName": TRUST}
    return {"controllers": {"listeners": [SSL]}, "security": {"controllers": {"issuer": asked}}}


def uids(quorum: Quorum) -> dict[int, str]:
    """The pod of each controller."""
    return {node_id: pod["metadata"]["uid"] for node_id, pod in quorum.pods().items()}


def assert_asks_for_its_own_only(quorum: Quorum) -> None:
    """The issuer is asked for the three roles of this quorum and for the names of its controllers, and nothing else."""
    of_quorum = {"organizations": [quorum.namespace], "organizationalUnits": [quorum.name]}
    hosts = f".{quorum.name}-controllers.{quorum.namespace}.svc"
    asked = [row["spec"] for row in items(quorum.namespace, "certificates.cert-manager.io")]
    assert sorted(spec["commonName"] for spec in asked) == ["brokers", *["controllers"] * 3, "operator"]
    for spec in asked:
        assert spec["subject"] == of_quorum
        assert not {"ipAddresses", "uris", "emailAddresses", "otherNames", "isCA"} & spec.keys()
        names = spec.get("dnsNames", [])
        assert bool(names) == (spec["commonName"] == "controllers")
        assert all(hosts in name for name in names), names


def test_cert_manager_issues_and_is_followed(quorum: Quorum, issuers: tuple[str, str]) -> None:
    """With an issuer of cert-manager a quorum becomes ready; a renewed certificate is loaded without a restart."""
    gives(quorum, TRUST, {"ca.crt": authority_of(issuers[0])})
    quorum.apply(issued_by(issuers[0]))
    quorum.wait_ready(240)
    before, pods = served(quorum), uids(quorum)
    assert len(before) == 3
    quorum.wait_condition("CertificatesValid", "True")  # once every listener was looked at
    assert_asks_for_its_own_only(quorum)
    kubectl("-n", quorum.namespace, "delete", "secret", f"{quorum.name}-3001-cert")

    def followed() -> bool:
        return served(quorum).get(3001) not in {None, before[3001]}

    wait_until("3001 serves the certificate that cert-manager made again", followed, _FOLLOWED_TIMEOUT_S, poll_s=2.0)
    assert uids(quorum) == pods
    quorum.wait_ready(180)


def test_another_authority_of_cert_manager(quorum: Quorum, issuers: tuple[str, str]) -> None:
    """Another trust and another issuer: every controller serves its leafs, and the earlier one is not trusted."""
    first, second = issuers
    gives(quorum, TRUST, {"ca.crt": authority_of(first)})
    quorum.apply(issued_by(first))
    quorum.wait_ready(240)
    before = served(quorum)
    gives(quorum, TRUST, {"ca.crt": authority_of(second)})
    quorum.patch({"security": {"controllers": {"issuer": {"issuerRef": {"name": second, "kind": "ClusterIssuer"}}}}})

    def changed() -> bool:
        now = served(quorum)
        renewed = len(now) == 3 and not set(now.values()) & set(before.values())
        return renewed and not (quorum.status().get("migration") or {}).get("name")

    wait_until("every controller serves a certificate of the other authority", changed, _CHANGED_TIMEOUT_S, poll_s=2.0)
    quorum.wait_ready(240)
    brokers = texts_of(quorum.namespace, f"{quorum.name}-brokers-tls")
    assert authority_of(second).split() == brokers["ca.crt"].split()


def test_a_pool_with_cert_manager(quorum: Quorum, pools: Callable[[str], Pool], issuers: tuple[str, str]) -> None:
    """A client that trusts the issuer's authority alone produces and consumes at a listener with TLS of a pool.

    Brokers replicate with the same certificates; and with the pool goes its Certificate.
    """
    authority = authority_of(issuers[0])
    gives(quorum, TRUST, {"ca.crt": authority})
    quorum.apply(issued_by(issuers[0]))
    pool = pools("events")
    pool.apply(LISTENERS)
    quorum.wait_ready(240)
    pool.wait_ready()
    name = f"{quorum.name}-brokers-cert.{pool.name}"
    asked = get(quorum.namespace, "certificates.cert-manager.io", name)
    assert asked["spec"]["commonName"] == "brokers"
    hosts = (f"{pool.name}-brokers.{quorum.namespace}.svc", f"{pool.name}-bootstrap.{quorum.namespace}.svc")
    assert all(any(host in each for host in hosts) for each in asked["spec"]["dnsNames"])
    over_tls = trusting(pool, authority)
    made(over_tls)
    assert produced(over_tls, "by cert-manager") == ""
    assert consumed(over_tls) == "by cert-manager"
    assert produced(trusting(pool, authority_of(issuers[1])), "by nobody") != ""
    for at in pool.endpoints().values():
        found = asyncio.run(probe(at))
        assert isinstance(found, Served), found
        assert found.leaf.subject == f"CN=brokers,OU={quorum.name},O={quorum.namespace}"
    kubectl("-n", quorum.namespace, "delete", "kafkabrokerpool", pool.name)

    def gone() -> bool:
        return not get(quorum.namespace, "certificates.cert-manager.io", name)

    wait_until("the Certificate is deleted with the pool", gone, _FOLLOWED_TIMEOUT_S, poll_s=2.0)


def given(quorum: Quorum, home: Path, *, begun_h_ago: float = 0.0) -> Json:
    """A person gives every certificate: one for all controllers, one for the operator, one for the brokers.

    They last for two days, of which `begun_h_ago` hours are over.
    """
    authority = Authority(home=home, name="given-ca").make()
    service = f"{quorum.name}-controllers.{quorum.namespace}.svc"
    leafs: dict[str, Leaf] = {
        "controllers": authority.leaf("controllers", [f"*.{service}"], begun_h_ago=begun_h_ago),
        "operator": authority.leaf("operator", begun_h_ago=begun_h_ago),
        "brokers": authority.leaf("brokers", begun_h_ago=begun_h_ago),
    }
    for role, leaf in leafs.items():
        gives(quorum, f"given-{role}", {"tls.crt": leaf.certificate, "tls.key": leaf.key})
    gives(quorum, TRUST, {"ca.crt": leafs["operator"].ca})
    named = {f"{role}SecretName": f"given-{role}" for role in leafs}
    issuer = {"type": "Secret", **named, "trustSecretName": TRUST}
    return {"controllers": {"listeners": [SSL]}, "security": {"controllers": {"issuer": issuer}}}


def test_a_given_secret_is_followed_and_a_bad_one_is_refused(quorum: Quorum, tmp_path: Path) -> None:
    """Given certificates serve; a bad one is refused with a sentence that names it, and no pod is touched."""
    quorum.apply(given(quorum, tmp_path))
    quorum.wait_ready(240)
    before, pods = served(quorum), uids(quorum)
    assert len(before) == 3
    good = texts_of(quorum.namespace, "given-controllers")
    gives(quorum, "given-controllers", good | {"tls.key": texts_of(quorum.namespace, "given-brokers")["tls.key"]})

    def refused() -> bool:
        condition = quorum.condition("CertificatesValid")
        return condition["reason"] == "Refused" and "tls.key of Secret given-controllers" in condition["message"]

    wait_until("the status names the Secret", refused, 180)
    assert (served(quorum), uids(quorum)) == (before, pods)
    gives(quorum, "given-controllers", good)
    wait_until("the Secret is used again", lambda: not refused(), 180)
    assert (served(quorum), uids(quorum)) == (before, pods)


def test_a_secret_of_others_is_not_copied(quorum: Quorum, tmp_path: Path) -> None:
    """Without the annotation a Secret is no source, and its content is nowhere else."""
    spec = given(quorum, tmp_path)
    kubectl("-n", quorum.namespace, "annotate", "secret", "given-controllers", "kafkaquorum.io/used-by-")
    quorum.apply(spec)

    def refused() -> bool:
        condition = quorum.condition("CertificatesValid")
        return condition.get("reason") == "Refused" and "given-controllers" in condition["message"]

    wait_until("the status names the Secret", refused, 90)
    assert get(quorum.namespace, "secret", f"{quorum.name}-3000-tls") == {}
    assert quorum.pods() == {}
