"""What rights on pools, applications and the users' Secrets amount to at brokers, and what stays inside a namespace.

Rows of the table in docs/install.md.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
import yaml
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from cryptography import x509
from cryptography.hazmat.primitives import hashes

from harness.access import Access
from harness.authority import Authority
from harness.pool import Pool
from harness.quorum import Quorum
from harness.rights import core, grant, may
from harness.shell import CommandFailed, Json, get, holds_for, items, kubectl, run, secret_texts, wait_until
from helm import render
from kafka_quorum.model.handshakes import Served
from kafka_quorum.model.names import scram_name, tls_name
from kafka_quorum.model.pools import pool_tls_name
from scenarios.test_trust import SSL, endpoints, served, shake, trust_of

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(900)]

PERSON: Final = "rights-person"
USERS: Final = "people"
WORD: Final = "a-word-of-hers"
PORT: Final = 9095
MARKER: Final = "Marker-of-a-foreign-object"
ALONE: Final[Json] = {
    "default.replication.factor": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}
_USED_BY: Final = "kafkaquorum.io/used-by"
_RBAC: Final = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
_ASKED_TIMEOUT_S: Final = 10.0
_LOOKED_S: Final = 120.0


def as_person(namespace: str, *command: str, stdin: str | None = None) -> str:
    """What this command prints to the person (CommandFailed)."""
    return kubectl("-n", namespace, f"--as={PERSON}", *command, stdin=stdin)


def cluster_id(access: Access, bootstrap: str) -> str | None:
    """What a client that is let in learns; None if it is not."""
    try:
        client = AdminClient({**access.settings(), "bootstrap.servers": bootstrap, "log_level": 0})
        return str(client.list_topics(timeout=_ASKED_TIMEOUT_S).cluster_id)
    except KafkaException:
        return None


def test_a_person_who_writes_the_users_secret_is_a_user(quorum: Quorum, pools: Callable[[str], Pool]) -> None:
    """A person with the users' Secret alone gets in as a user of theirs; one who reads `NAME-scram` can try passwords.

    The pods of the pool mount its own certificate, and no other Secret.
    """
    space = quorum.namespace
    body: Json = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": USERS}}
    body["metadata"]["annotations"] = {_USED_BY: f"KafkaQuorum/{quorum.name}"}
    kubectl("-n", space, "create", "-f", "-", stdin=json.dumps(body))
    quorum.apply(SSL | {"security": {"brokers": {"scramUsersSecretName": USERS}}})
    pool = pools("brokers")
    users: Json = {"name": "USERS", "port": PORT, "protocol": "SASL_SSL"}
    pool.apply({"replicas": 1, "listeners": [{"name": "PLAINTEXT", "port": 9092}, users], "config": ALONE})
    quorum.wait_ready()
    pool.wait_ready()

    (spec,) = (pod["spec"] for pod in pool.pods().values())
    mounted = [row["secret"]["secretName"] for row in spec["volumes"] if "secret" in row]
    assert mounted == [pool_tls_name(quorum.name, pool.name)]
    assert spec["automountServiceAccountToken"] is False

    grant(space, PERSON, [core("secrets", "get", "patch", names=(USERS,))])
    assert not may(space, PERSON, "get", f"secrets/{scram_name(quorum.name)}")
    (ca,) = {trust_of(at) for at in endpoints(quorum).values()}
    bootstrap = f"{pool.name}-bootstrap.{space}.svc:{PORT}"
    ada = Access(protocol="SASL_SSL", ca=ca, mechanism="SCRAM-SHA-512", username="ada", password=WORD)
    assert cluster_id(ada, bootstrap) is None
    as_person(space, "patch", "secret", USERS, "--type=merge", "-p", json.dumps({"stringData": {"ada": WORD}}))
    wait_until("the person's user is let in", lambda: cluster_id(ada, bootstrap), _LOOKED_S)

    grant(space, PERSON, [core("secrets", "get", names=(scram_name(quorum.name),))])
    assert not may(space, PERSON, "get", f"secrets/{USERS}")
    found = json.loads(as_person(space, "get", "secret", scram_name(quorum.name), "-o", "json"))
    row = json.loads(base64.b64decode(found["data"]["users.json"]))["users"]["ada"]

    def digest(word: str) -> str:
        salted = hashlib.pbkdf2_hmac("sha512", word.encode(), base64.b64decode(row["salt"]), row["iterations"])
        return hashlib.sha256(salted).hexdigest()

    assert WORD not in json.dumps(row)
    assert digest(WORD) == row["digest"] != digest("another")

    reserved = {"stringData": {"quorum-brokers": WORD}}
    kubectl("-n", space, "patch", "secret", USERS, "--type=merge", "-p", json.dumps(reserved))
    said = "belongs to the quorum itself"
    wait_until("the name of a quorum's user is refused", lambda: said in json.dumps(quorum.status()) or None, _LOOKED_S)
    brokers = Access(protocol="SASL_SSL", ca=ca, mechanism="SCRAM-SHA-512", username="quorum-brokers", password=WORD)
    assert cluster_id(brokers, bootstrap) is None
    assert cluster_id(ada, bootstrap)

    given = shown_by_an_application(pool)
    assert given == MARKER


def shown_by_an_application(pool: Pool) -> str:
    """What an editor of applications finds in a ConfigMap that they may not read: an image of theirs mounts it."""
    space = pool.namespace
    kubectl("-n", space, "create", "configmap", "foreign", f"--from-literal=word={MARKER}")
    rule = {"apiGroups": ["kafkaquorum.io"], "resources": ["kafkastreamsapplications"], "verbs": ["create", "get"]}
    grant(space, PERSON, [rule])
    with pytest.raises(CommandFailed, match="orbidden"):
        as_person(space, "get", "configmap", "foreign")
    image = next(iter(pool.images().values()))
    container: Json = {
        "name": "app",
        "command": ["/bin/bash", "-c", 'echo "$(cat /given/word)"; sleep 3600'],
        "volumeMounts": [{"name": "given", "mountPath": "/given"}],
        "securityContext": {"runAsUser": 10001},
    }
    template = {"spec": {"containers": [container], "volumes": [{"name": "given", "configMap": {"name": "foreign"}}]}}
    spec: Json = {
        "applicationID": "looker",
        "bootstrap": {"pools": [pool.name]},
        "replicas": 1,
        "release": "4.1.0",
        "image": image,
        "state": {"type": "Ephemeral"},
        "template": template,
    }
    metadata = {"name": "looker", "namespace": space}
    body = {"apiVersion": "kafkaquorum.io/v1alpha1", "kind": "KafkaStreamsApplication", "metadata": metadata}
    as_person(space, "create", "-f", "-", stdin=json.dumps(body | {"spec": spec}))

    def printed() -> str | None:
        (pod, *_) = [*items(space, "pods", "-l", "kafkaquorum.io/streams-application=looker"), {}]
        if not pod:
            return None
        code, out, _ = run("kubectl", "-n", space, "logs", pod["metadata"]["name"])
        return out.strip() if code == 0 and out.strip() else None

    return wait_until("the instance prints the ConfigMap", printed, _LOOKED_S)


def test_a_key_of_ones_own_in_a_controllers_secret_is_not_used(quorum: Quorum, tmp_path: Path) -> None:
    """A certificate that no trusted authority signed, over a controller's: renewed, and never served."""
    quorum.apply(SSL)
    quorum.wait_ready()
    name = tls_name(quorum.name, 3001)
    grant(quorum.namespace, PERSON, [core("secrets", "get", "patch", names=(name,))])
    before, voters = served(quorum), quorum.voters()
    assert set(before) == {3000, 3001, 3002}
    host = endpoints(quorum)[3001].name
    theirs = Authority(home=tmp_path, name="theirs").make().leaf("controllers", [host])
    lie = x509.load_pem_x509_certificate(theirs.certificate.encode()).fingerprint(hashes.SHA256()).hex()
    assert "keystore.pem" in secret_texts(quorum.namespace, [name])[name]
    patch = {"stringData": {"keystore.pem": theirs.keystore}}
    as_person(quorum.namespace, "patch", "secret", name, "--type=merge", "-p", json.dumps(patch))
    shown: set[str] = set()

    def renewed() -> bool:
        now = [one for one in map(shake, endpoints(quorum).values()) if isinstance(one, Served)]
        shown.update(one.leaf.sha256 for one in now)
        others = [one for one in now if one.accepted and one.leaf.serial not in before.values()]
        return len(others) == len(before)

    wait_until("each controller serves another certificate of the authority", renewed, 420)
    quorum.wait_ready()
    assert lie not in shown
    assert quorum.voters() == voters


def test_another_namespace_is_out_of_reach(quorum: Quorum, namespaces: Callable[[], str]) -> None:
    """A spec cannot name a Secret of another namespace, and a Secret there with the same name is not found."""
    other = namespaces()
    metadata = {"name": "words", "annotations": {_USED_BY: f"KafkaQuorum/{quorum.name}"}}
    data = dict.fromkeys(("controllers", "brokers", "operator"), MARKER)
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}
    kubectl("-n", other, "create", "-f", "-", stdin=json.dumps(body))
    listeners = {"listeners": [{"name": "CONTROLLER", "port": 9093, "protocol": "SASL_SSL"}]}
    for text in (f"{other}/words", f"words.{other}.svc/", "../words"):
        with pytest.raises(CommandFailed, match="must be the name of a Secret"):
            quorum.apply({"controllers": listeners, "security": {"controllers": {"usersSecretName": text}}})
    quorum.apply({"controllers": listeners, "security": {"controllers": {"usersSecretName": "words"}}})
    wait_until("it is missing here", lambda: "Secret words" in json.dumps(quorum.status()) or None, _LOOKED_S)
    holds_for("nothing is made of it", lambda: not get(quorum.namespace, "secret", f"{quorum.name}-users"), 20)
    assert quorum.pods() == {}
    shown = kubectl("-n", quorum.namespace, "get", "kafkaquorums,events,configmaps,secrets", "-o", "json")
    assert MARKER not in shown
    assert base64.b64encode(MARKER.encode()).decode() not in shown


@pytest.fixture
def narrow(namespaces: Callable[[], str]) -> Iterator[tuple[str, str]]:
    """The account of an operator with `watchNamespaces`, and the namespace that it serves; no operator runs as it."""
    space, own = namespaces(), namespaces()
    options = ("--namespace", own, "--set", f"fullnameOverride={own}", "--set", f"watchNamespaces={{{space}}}")
    rows = [row for row in yaml.safe_load_all(render.template(*options)) if row and row["kind"] in _RBAC]
    text = "---\n".join(json.dumps(row) + "\n" for row in rows)
    kubectl("apply", "-f", "-", stdin=text)
    yield f"system:serviceaccount:{own}:{own}", space
    kubectl("delete", "-f", "-", stdin=text)


def test_the_token_of_an_operator_of_one_namespace(narrow: tuple[str, str]) -> None:
    """With `watchNamespaces` the token reads Secrets and creates pods there, and nowhere else."""
    account, space = narrow
    for verb, what in (("get", "secrets"), ("create", "pods"), ("create", "secrets"), ("delete", "pvc")):
        assert may(space, account, verb, what), (verb, what)
        assert not may("default", account, verb, what), (verb, what)
    assert not may(space, account, "list", "secrets")
    assert not may("default", account, "get", "kafkaquorums")
