"""Listeners of brokers with TLS: what is refused, and what a valid spec is made into."""

from dataclasses import replace
from typing import Any

import pytest
from tests.brokers.secured import mutual, with_users
from tests.brokers.values import CONTRACT, NAMESPACE, QUORUM, desired, resource

from kafka_brokers.api.validation import Present, accepted_before, validate
from kafka_brokers.model.contracted import keystore, secret_keys
from kafka_brokers.model.names import inputs_hash
from kafka_brokers.model.pool import PoolDesired
from kafka_brokers.model.room import Members
from kafka_brokers.resources.properties import server_properties
from kafka_quorum.model.contract import Contract
from kafka_quorum.model.ids import NodeID
from kit.pki.certificate import NAMES_MAX, NAMES_MAX_CHARS

TLS: dict[str, Any] = {"name": "TLS", "port": 9093, "protocol": "SSL"}
USERS: dict[str, Any] = {"name": "USERS", "port": 9095, "protocol": "SASL_SSL"}
PLAIN: dict[str, Any] = {"name": "PLAINTEXT", "port": 9092}
AUTHORIZER = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
BETWEEN = Present(replication_tls=True)


def spec(*listeners: dict[str, Any], **more: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    """A spec with these listeners."""
    return {"listeners": list(listeners), **more}


def faults(of: dict[str, Any], contract: Contract = mutual(), present: Present = Present()) -> list[tuple[str, str]]:  # noqa: B008
    """Field and sentence of each fault."""
    found = validate(resource(of), contract, present=present)
    assert not isinstance(found, PoolDesired)
    return [(fault.field, fault.message) for fault in found]


@pytest.mark.parametrize("contract", [CONTRACT, with_users()], ids=["plain", "an older operator"])
@pytest.mark.parametrize("listener", [TLS, USERS], ids=["SSL", "SASL_SSL"])
def test_tls_needs_certificates(listener: dict[str, Any], contract: Contract) -> None:
    """Without controllers with TLS a listener with TLS is refused, with the way out."""
    ((field, message),) = faults(spec(listener), contract)
    assert field == "spec.listeners[0].protocol"
    assert "move them to one with SSL or SASL_SSL" in message


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("", "needs a host"),
        ("broker-{id}", "with a domain"),
        ("10.0.0.1", "with a domain"),
        ("a-{id}.events-controllers.kafka.svc", "inside the cluster"),
    ],
)
def test_hosts_of_external_listeners(host: str, words: str) -> None:
    """Clients compare the host with the certificate: it must be there, and be one that a certificate may have."""
    ((field, message),) = faults(spec({**TLS, "external": "NodePort", "host": host}))
    assert field == "spec.listeners[0].host"
    assert words in message


def test_too_many_names() -> None:
    """One certificate has the names of every broker."""
    outside = {**TLS, "external": "LoadBalancer"}
    rows = [{**outside, "name": f"L{n}", "port": 9100 + n, "host": f"b-{{id}}.l{n}.org"} for n in range(4)]
    found = faults(spec(*rows, replicas=100))
    assert [field for field, _ in found] == ["spec.listeners"]
    assert str(NAMES_MAX) in found[0][1]


def test_names_that_are_too_long_together() -> None:
    """A certificate with them could not be read again: the sentence says how much has room, and what to do."""
    outside = {**TLS, "external": "LoadBalancer"}
    host = ".".join(("b-{id}", "a" * 60, "b" * 60, "c" * 60, "l{n}", "org"))
    rows = [{**outside, "name": f"L{n}", "port": 9100 + n, "host": host.replace("{n}", str(n))} for n in range(3)]
    ((field, message),) = faults(spec(*rows, replicas=50))
    assert field == "spec.listeners"
    assert f"{NAMES_MAX_CHARS} have room" in message
    assert "use shorter hosts" in message
    assert isinstance(validate(resource(spec(*rows, replicas=3)), mutual(), present=Present()), PoolDesired)


PLACES = [
    {**TLS, "name": f"L{n}", "port": 9100 + n, "external": "LoadBalancer", "host": f"b-{{id}}.l{n}.org"}
    for n in range(3)
]
HOSTS = frozenset(str(each["host"]) for each in PLACES)


@pytest.mark.parametrize(
    ("members", "ids", "count"),
    [
        (Members(recorded=tuple(range(70, 140)), hosts=HOSTS), list(range(100, 200)), 130),
        (Members(recorded=tuple(range(200, 333)), hosts=HOSTS), list(range(100)), 233),
        (Members(recorded=tuple(range(132))), [500], 133),
        (Members(recorded=tuple(range(70, 202)), hosts=HOSTS - {"b-{id}.l2.org"}), [70], 132),
    ],
    ids=["moves to other ids", "many leave", "one more", "another host while many leave"],
)
def test_names_of_brokers_that_run_count(members: Members, ids: list[int], count: int) -> None:
    """Brokers that leave have names until they are gone: what has no room beside them is refused, with the number."""
    of, present = spec(*PLACES, nodeIDs=ids, replicas=len(ids)), Present(replication_tls=True, members=members)
    if 4 + 3 * count < NAMES_MAX:
        assert isinstance(validate(resource(of), mutual(), present=present), PoolDesired)
        return
    ((field, message),) = faults(of, present=present)
    assert field == "spec.listeners"
    assert f"the names of {count} brokers in the certificate of this pool would be {4 + 3 * count} names" in message
    assert "those that leave count until they are gone" in message


@pytest.mark.parametrize("of", [{"replicas": 100}, {"replicas": 3}, {"nodeIDs": [5, 6, 7], "replicas": 3}], ids=str)
@pytest.mark.parametrize("hosts", [HOSTS, None], ids=["accepted", "not stored"])
def test_a_pool_that_is_too_large_can_be_made_smaller(of: dict[str, Any], hosts: frozenset[str] | None) -> None:
    """A spec that adds neither brokers nor hosts is judged by the brokers that stay."""
    present = Present(replication_tls=True, members=Members(recorded=tuple(range(150)), hosts=hosts))
    assert isinstance(validate(resource(spec(*PLACES, **of)), mutual(), present=present), PoolDesired)


def test_the_ids_to_come_count_as_they_are() -> None:
    """Those that others have are passed over: their digits decide whether all names have room together."""
    host = ".".join(("b-{id}", "a" * 60, "b" * 60, "c" * 60, "d" * 50, "org"))
    rows = [{**TLS, "external": "LoadBalancer", "host": host}]
    of = spec(*rows, replicas=100)
    for taken, room in ((frozenset[int](), True), (frozenset(range(10_000)), False)):
        present = Present(replication_tls=True, members=Members(taken=taken))
        found = validate(resource(of), mutual(), present=present)
        assert isinstance(found, PoolDesired) is room


def test_a_pool_without_tls_stays_as_it_is() -> None:
    """Its brokers mount the quorum's Secret as before, and its revision has no new field."""
    runtime = desired(contract=mutual()).runtime
    assert runtime.secrets == (f"{QUORUM}-brokers-tls",)
    assert (runtime.replication_tls, runtime.certificates, runtime.encrypted) == (False, 0, False)
    assert inputs_hash(runtime) == inputs_hash(desired(contract=mutual()).runtime)
    assert inputs_hash(desired(contract=with_users(certificates=3)).runtime) == inputs_hash(
        desired(contract=with_users(certificates=4)).runtime
    )


def test_properties_of_listeners() -> None:
    """SSL shows the pool's certificate, and asks for one only if that is wanted; SASL_SSL has users of the cluster."""
    of = spec(PLAIN, TLS, {**TLS, "name": "OWN_CERT", "port": 9094, "clientAuth": "Required"}, USERS)
    runtime = desired(of, mutual(3)).runtime
    assert runtime.secrets == (f"{QUORUM}-brokers-tls.payments",)
    text = server_properties(NAMESPACE, "payments", NodeID(1), runtime, ())
    found = dict(line.split("=", 1) for line in text.splitlines())
    assert found["listener.security.protocol.map"].endswith(
        "REPLICATION:PLAINTEXT,PLAINTEXT:PLAINTEXT,TLS:SSL,OWN_CERT:SSL,USERS:SASL_SSL"
    )
    auth = {key: found[f"listener.name.{key}.ssl.client.auth"] for key in ("tls", "own_cert", "users")}
    assert auth == {"tls": "none", "own_cert": "required", "users": "none"}
    assert found["listener.name.tls.ssl.keystore.location"] == "/etc/kafka-quorum-tls/keystore-3.pem"
    assert found["listener.name.users.sasl.enabled.mechanisms"] == "SCRAM-SHA-512"
    assert found["listener.name.users.scram-sha-512.sasl.jaas.config"].endswith("ScramLoginModule required;")
    assert "listener.name.replication.ssl.client.auth" not in found


def test_properties_of_replication() -> None:
    """A pool that was born with TLS has mutual TLS between its brokers, with the same files."""
    found = validate(resource(spec(PLAIN)), mutual(2), present=BETWEEN)
    assert isinstance(found, PoolDesired)
    text = server_properties(NAMESPACE, "payments", NodeID(1), found.runtime, ())
    assert "REPLICATION:SSL,PLAINTEXT:PLAINTEXT" in text
    assert "listener.name.replication.ssl.client.auth=required\n" in text
    assert "listener.name.replication.ssl.keystore.location=/etc/kafka-quorum-tls/keystore-2.pem\n" in text
    earlier = accepted_before(resource(spec(PLAIN)), mutual(2), replication_tls=True)
    assert earlier is not None
    assert earlier.runtime == found.runtime


def test_controllers_with_users() -> None:
    """No setting of the contract names the pool's file then: its generation does, and the pool waits for that file."""
    runtime = desired(spec(TLS), with_users(certificates=4)).runtime
    assert keystore(runtime) == "/etc/kafka-quorum-tls/keystore-4.pem"
    assert set(secret_keys(runtime)) >= {"keystore-4.pem", "sasl.properties"}


def test_certificates_that_went_away() -> None:
    """A pool that replicates with TLS is not rolled to nothing when the controllers lose theirs."""
    ((field, message),) = faults(spec(PLAIN), CONTRACT, BETWEEN)
    assert field == "spec.quorum"
    assert "move the controllers back" in message


def test_super_users_of_brokers_with_an_authorizer() -> None:
    """With TLS, the operator and the brokers are users by their certificates, and no client is anonymous."""
    both = f"User:CN=brokers,OU={QUORUM},O={NAMESPACE};User:CN=operator,OU={QUORUM},O={NAMESPACE}"
    good = spec(PLAIN, config=AUTHORIZER | {"super.users": both})
    assert isinstance(validate(resource(good), mutual(), present=BETWEEN), PoolDesired)
    anonymous = spec(PLAIN, config=AUTHORIZER | {"super.users": "User:ANONYMOUS"})
    assert isinstance(validate(resource(anonymous), mutual()), PoolDesired)
    ((field, message),) = faults(anonymous, mutual(), BETWEEN)
    assert field == "spec.config.super.users"
    assert f"User:CN=operator,OU={QUORUM}" in message


@pytest.mark.parametrize("key", ["ssl.principal.mapping.rules", "principal.builder.class"])
def test_other_names_than_those_of_the_super_users(key: str) -> None:
    """With an authorizer and TLS, nothing may give the operator and the brokers other names; else it is free."""
    both = f"User:CN=brokers,OU={QUORUM},O={NAMESPACE};User:CN=operator,OU={QUORUM},O={NAMESPACE}"
    named = spec(PLAIN, config=AUTHORIZER | {"super.users": both, key: "DEFAULT"})
    ((field, message),) = faults(named, mutual(), BETWEEN)
    assert field == f"spec.config.{key}"
    assert "remove it" in message
    assert isinstance(validate(resource(spec(PLAIN, config={key: "DEFAULT"})), mutual(), present=BETWEEN), PoolDesired)


@pytest.mark.parametrize("contract", [mutual(), CONTRACT])
def test_super_users_before_the_birth_of_a_pool(contract: Contract) -> None:
    """Before it is decided whether brokers replicate with TLS, the users for either are good, and no others."""
    both = f"User:CN=brokers,OU={QUORUM},O={NAMESPACE};User:CN=operator,OU={QUORUM},O={NAMESPACE}"
    unborn = Present(replication_tls=None)
    for users in (both, "User:ANONYMOUS"):
        good = spec(PLAIN, config=AUTHORIZER | {"super.users": users})
        assert isinstance(validate(resource(good), contract, present=unborn), PoolDesired)
    ((field, _),) = faults(spec(PLAIN, config=AUTHORIZER | {"super.users": "User:ada"}), contract, unborn)
    assert field == "spec.config.super.users"


GIVEN = replace(mutual(), given=True, principals=("User:CN=b,O=others", "User:CN=o,O=others"))


@pytest.mark.parametrize("present", [Present(), BETWEEN], ids=["a listener", "REPLICATION"])
def test_a_given_certificate_is_named(present: Present) -> None:
    """Where a person gives the certificates, the spec names the pool's one; without it the way out is said."""
    of = spec(PLAIN if present.replication_tls else TLS)
    ((field, message),) = faults(of, GIVEN, present)
    assert field == "spec.certificateSecretName"
    assert "KafkaBrokerPool/payments" in message
    found = validate(resource({**of, "certificateSecretName": "own"}), GIVEN, present=present)
    assert isinstance(found, PoolDesired)
    assert found.certificate_secret == "own"  # noqa: S105 - a name
    assert found.runtime.secrets == (f"{QUORUM}-brokers-tls.payments",)


def test_pools_without_tls_beside_given_certificates_stay_as_they_are() -> None:
    """They mount the Secret of all brokers, and name none of their own; a name changes nothing of them."""
    runtime = desired(spec(PLAIN), GIVEN).runtime
    assert runtime == desired(spec(PLAIN), mutual()).runtime
    assert runtime == desired(spec(PLAIN, certificateSecretName="own"), GIVEN).runtime


def test_a_secret_is_named_only_where_it_is_used() -> None:
    """Where the operator or cert-manager makes the certificates, a name would be without effect."""
    ((field, message),) = faults(spec(TLS, certificateSecretName="own"))
    assert (field, "leave this empty" in message) == ("spec.certificateSecretName", True)
    assert isinstance(validate(resource(spec(PLAIN, certificateSecretName="own")), CONTRACT), PoolDesired)


def test_super_users_of_given_certificates() -> None:
    """The brokers' super users are those of the certificates that a person gave; unknown ones are no good ones."""
    good = spec(PLAIN, config=AUTHORIZER | {"super.users": ";".join(GIVEN.principals)}, certificateSecretName="own")
    assert isinstance(validate(resource(good), GIVEN, present=BETWEEN), PoolDesired)
    ((field, message),) = faults(good, replace(GIVEN, principals=()), BETWEEN)
    assert field == "spec.config.super.users"
    assert "not published yet" in message
