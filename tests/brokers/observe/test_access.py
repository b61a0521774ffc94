"""How the operator reaches the controllers of a pool's quorum: with TLS, by what the quorum's Secrets have."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from tests.brokers.edges import REACHED, AnsweringBrokers, api_server
from tests.brokers.observe.test_gather import looked
from tests.brokers.secured import mutual, quorum_secret, with_users
from tests.brokers.values import CONTRACT, NAMESPACE, QUORUM
from tests.kit.kube.recording import RecordingKube
from tests.model.certificates import authority, given_leaf
from tests.plan.test_room import bundle

from kafka_brokers.observe.access import access_to, access_to_brokers
from kafka_brokers.plan.facts import endpoint_at
from kafka_quorum.model.bundles import bundle_of, together
from kafka_quorum.model.certified import USERS as USER_NAMES
from kafka_quorum.model.contract import Contract
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.material import OPERATOR as OF_OPERATOR
from kafka_quorum.model.pools import REPLICATION_TLS
from kafka_quorum.model.quorum import Endpoint, QuorumAnswer
from kafka_quorum.model.security import PLAINTEXT, Mechanism, Sasl, Secured, Security, Tls
from kafka_quorum.resources.users import OPERATOR as OPERATOR_USER
from kafka_quorum.wire.security import tls_of
from kit.errors import KubeUnavailable
from kit.kube.secrets import SECRETS

BROKERS = quorum_secret("brokers-tls", ca_crt="trusted")
OPERATOR = quorum_secret("operator-tls", tls_crt="shown", tls_key="hidden")
WORD = "abcdefghijkl"
USERS = quorum_secret("users", **dict.fromkeys(USER_NAMES, WORD) | {OPERATOR_USER: "mnopqrstuvwx"})


def kube_of(*secrets: dict[str, Any]) -> RecordingKube:
    """An API server with these Secrets."""
    kube = RecordingKube()
    for each in secrets:
        kube.put(SECRETS, each)
    return kube


async def access(contract: Contract, *secrets: dict[str, Any]) -> Knowable[Security]:
    """How the controllers are reached."""
    return await access_to(kube_of(*secrets), NAMESPACE, QUORUM, contract)


async def test_without_tls_no_secret_is_read() -> None:
    """A contract without a Secret is PLAINTEXT, and costs no request."""
    kube = RecordingKube()
    assert await access_to(kube, NAMESPACE, QUORUM, CONTRACT) == Known(value=PLAINTEXT)
    assert kube.calls == []


async def test_mutual_tls() -> None:
    """The authorities are those of the brokers' Secret, and the operator shows its own certificate."""
    tls = Tls(ca="trusted", certificate="shown", key="hidden")
    found = await access(mutual(), BROKERS, OPERATOR)
    assert found == Known(value=Secured(tls=tls))
    assert "hidden" not in repr(found)


async def test_a_user_in_tls() -> None:
    """The operator has a user, and shows no certificate."""
    user = Sasl(mechanism=Mechanism.PLAIN, username=OPERATOR_USER, password="mnopqrstuvwx")  # noqa: S106
    found = await access(with_users(), BROKERS, USERS)
    assert found == Known(value=Secured(tls=Tls(ca="trusted"), sasl=user))
    assert "mnopqrstuvwx" not in repr(found)


OF_OTHERS = {**OPERATOR, "metadata": {**OPERATOR["metadata"], "labels": {}}}
NO_ACCESS: dict[str, tuple[Contract, tuple[dict[str, Any], ...], str]] = {
    "no authorities": (mutual(), (OPERATOR,), "events-brokers-tls does not exist"),
    "no certificate": (mutual(), (BROKERS,), "events-operator-tls does not exist"),
    "no users": (with_users(), (BROKERS, OPERATOR), "events-users does not exist"),
    "another's": (mutual(), (BROKERS, OF_OTHERS), "not this quorum's"),
    "an empty key": (mutual(), (BROKERS, quorum_secret("operator-tls", tls_crt="shown")), "tls.key"),
}


@pytest.mark.parametrize("name", NO_ACCESS)
async def test_what_is_missing(name: str) -> None:
    """Without what it needs the operator asks nobody, least of all without TLS; the reason names the Secret."""
    contract, secrets, words = NO_ACCESS[name]
    found = await access(contract, *secrets)
    assert isinstance(found, Unknown)
    assert words in found.reason


async def test_a_secret_that_cannot_be_read() -> None:
    """An error is no PLAINTEXT."""
    kube = kube_of(BROKERS, OPERATOR)
    kube.errors["get", SECRETS.plural] = KubeUnavailable("forbidden")
    assert isinstance(await access_to(kube, NAMESPACE, QUORUM, mutual()), Unknown)


@dataclass(slots=True)
class Noting(AnsweringBrokers):
    """Notes how controllers were reached."""

    reached: list[Security] = field(default_factory=list)

    async def describe_quorum(self, endpoint: Endpoint) -> QuorumAnswer:
        """The answer of a cluster at rest."""
        self.reached.append(endpoint.security)
        return await AnsweringBrokers.describe_quorum(self, endpoint)


async def test_every_controller_is_asked_so() -> None:
    """A look asks the controllers with TLS, and nobody at all while it cannot."""
    contract = replace(REACHED, settings=mutual().settings, secrets=mutual().secrets)
    kube, brokers = api_server(contract=contract), Noting()
    seen = await looked(kube, brokers)
    assert isinstance(seen.leader, Unknown)
    assert "events-brokers-tls does not exist" in seen.leader.reason
    assert brokers.asked == []
    kube.put(SECRETS, BROKERS)
    kube.put(SECRETS, OPERATOR)
    seen = await looked(kube, brokers)
    assert isinstance(seen.leader, Known)
    assert set(brokers.reached) == {Secured(tls=Tls(ca="trusted", certificate="shown", key="hidden"))}
    assert "hidden" not in repr(seen)


async def test_brokers_with_tls() -> None:
    """REPLICATION with TLS is reached by the operator's certificate, whatever the controllers' protocol is."""
    found = await access_to_brokers(kube_of(BROKERS, OPERATOR), NAMESPACE, QUORUM)
    assert found == Known(value=Secured(tls=Tls(ca="trusted", certificate="shown", key="hidden")))
    missing = await access_to_brokers(kube_of(BROKERS), NAMESPACE, QUORUM)
    assert isinstance(missing, Unknown)
    assert "the brokers cannot be asked with TLS: Secret events-operator-tls" in missing.reason


async def test_all_authorities_of_a_change_are_trusted() -> None:
    """While authorities are changed, ca.crt has those of before and after: more than one bundle that a person gives."""
    both, shown = together(bundle("a", 225), bundle("b", 60), authority().certificate.pem), given_leaf(OF_OPERATOR)
    trust = quorum_secret("brokers-tls", ca_crt=both)
    own = quorum_secret("operator-tls", tls_crt=shown.chain_pem, tls_key=shown.key.pem)
    for found in (
        await access(mutual(), trust, own),
        await access(with_users(), trust, USERS),
        await access_to_brokers(kube_of(trust, own), NAMESPACE, QUORUM),
    ):
        assert isinstance(found, Known)
        context = tls_of(found.value)
        assert context is not None
        assert len(context.get_ca_certs()) == len(bundle_of(both).authorities)


async def test_every_broker_is_asked_by_its_own_protocol() -> None:
    """A pod whose REPLICATION has TLS is asked at its address by its certified name, the others without TLS."""
    kube, brokers = api_server(contract=mutual()), AnsweringBrokers()
    for each in (BROKERS, OPERATOR):
        kube.put(SECRETS, each)
    kube.objects["pods", "payments-1-broker"]["metadata"]["annotations"][REPLICATION_TLS] = "true"
    seen = await looked(kube, brokers)
    assert seen.security == Secured(tls=Tls(ca="trusted", certificate="shown", key="hidden"))
    pods = {pod.node_id: pod for pod in seen.pods}
    plain, secured = (endpoint_at(NAMESPACE, "payments", pods[NodeID(each)], seen.security) for each in (0, 1))
    assert (plain.security, plain.name) == (PLAINTEXT, "")
    assert (secured.security, secured.name) == (seen.security, "payments-1.payments-brokers.kafka.svc")
    assert "hidden" not in repr(seen)


async def test_without_the_operators_certificate_nothing_is_known() -> None:
    """Brokers with TLS that cannot be asked are unknown; nobody is asked without TLS in their place."""
    kube, brokers = api_server(contract=CONTRACT), AnsweringBrokers()
    kube.objects["pods", "payments-1-broker"]["metadata"]["annotations"][REPLICATION_TLS] = "true"
    seen = await looked(kube, brokers)
    assert isinstance(seen.cluster, Unknown)
    assert "the brokers cannot be asked with TLS" in seen.cluster.reason
    assert brokers.asked == []
