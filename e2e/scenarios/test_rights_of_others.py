"""What rights on pods, config maps, a Secret or the status amount to: rows of the table in docs/install.md."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from demo import NAMESPACE, RELEASE
from harness.authority import Authority
from harness.broker import KAFKA_IMAGE
from harness.quorum import Quorum
from harness.rights import core, grant, may
from harness.shell import CommandFailed, Json, holds_for, kubectl, run, secret_texts, wait_until
from kafka_quorum.model.names import authority_name, operator_tls_name, tls_name
from kafka_quorum.model.security import Secured, Tls
from scenarios.test_trust import SSL, asks, endpoints, stranger, trust_of

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(600)]

PERSON: Final = "rights-person"
OPERATOR: Final = f"system:serviceaccount:{NAMESPACE}:{RELEASE}"
_LOOKED_S: Final = 120.0


@pytest.fixture
def secured(quorum: Quorum) -> Quorum:
    """A quorum with mutual TLS that is Ready."""
    quorum.apply(SSL)
    quorum.wait_ready()
    return quorum


def as_person(quorum: Quorum, *command: str, stdin: str | None = None) -> str:
    """What this command prints to the person (CommandFailed)."""
    return kubectl("-n", quorum.namespace, f"--as={PERSON}", *command, stdin=stdin)


def untouched(quorum: Quorum, before: dict[int, tuple[str, int, str]]) -> None:
    """No controller restarts, and the voters stay, for a while."""
    voters = quorum.voters()
    holds_for("the same processes", lambda: quorum.running() == before, 20)
    assert quorum.voters() == voters


def test_a_controller_mounts_its_own_certificate_only(secured: Quorum) -> None:
    """Who chooses the image has the keys of the controllers, and neither the authority's nor the operator's."""
    for node_id, pod in secured.pods().items():
        text = json.dumps(pod["spec"])
        assert f'"{tls_name(secured.name, node_id)}"' in text
        for name in (authority_name(secured.name), operator_tls_name(secured.name)):
            assert f'"{name}"' not in text
        mounted = [row["secret"]["secretName"] for row in pod["spec"]["volumes"] if "secret" in row]
        assert mounted == [tls_name(secured.name, node_id)]
        assert pod["spec"]["automountServiceAccountToken"] is False


def test_a_person_who_creates_pods_has_every_secret(secured: Quorum) -> None:
    """Kubernetes mounts a Secret by its name into a pod of a person who may not read it."""
    name = authority_name(secured.name)
    grant(secured.namespace, PERSON, [core("pods", "create", "get"), core("pods/log", "get")])
    with pytest.raises(CommandFailed, match="orbidden"):
        as_person(secured, "get", "secret", name)
    restricted: Json = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "runAsUser": 1000,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    container: Json = {
        "name": "look",
        "image": KAFKA_IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/bash", "-c", "grep -c 'PRIVATE KEY' /given/ca.key"],
        "securityContext": restricted,
        "volumeMounts": [{"name": "given", "mountPath": "/given"}],
    }
    volumes = [{"name": "given", "secret": {"secretName": name}}]
    spec: Json = {"restartPolicy": "Never", "containers": [container], "volumes": volumes}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "look"}, "spec": spec}
    as_person(secured, "create", "-f", "-", stdin=json.dumps(body))

    def read() -> str | None:
        pod = json.loads(as_person(secured, "get", "pod", "look", "-o", "json"))
        return as_person(secured, "logs", "look") if pod["status"].get("phase") == "Succeeded" else None

    assert wait_until("the pod has read the key", read, 120).strip() == "2"


def test_a_person_who_reads_the_authority_acts_as_any_role(secured: Quorum, tmp_path: Path) -> None:
    """With `NAME-ca` a person signs a certificate of the operator; with a key of their own nothing is answered."""
    name = authority_name(secured.name)
    grant(secured.namespace, PERSON, [core("secrets", "get", names=(name,))])
    with pytest.raises(CommandFailed, match="orbidden"):
        as_person(secured, "get", "secret", operator_tls_name(secured.name))
    assert as_person(secured, "get", "secret", name, "-o", "name").strip() == f"secret/{name}"
    at = endpoints(secured)[3000]
    assert asks(stranger(tmp_path / "stranger", at)) != ""
    texts = secret_texts(secured.namespace, [name])[name]
    for file in ("ca.crt", "ca.key"):
        (tmp_path / file).write_text(texts[file])
    subject = f"/O={secured.namespace}/OU={secured.name}/CN=operator"
    leaf = Authority(home=tmp_path).leaf("operator", subject=subject)
    made = Tls(ca=trust_of(at), certificate=leaf.certificate, key=leaf.key)
    assert asks(replace(at, security=Secured(tls=made))) == ""


def test_a_person_who_writes_the_status_changes_no_voter(secured: Quorum) -> None:
    """The operator does not act on a false status, and corrects it in the next look."""
    rule = {"apiGroups": ["kafkaquorum.io"], "resources": ["kafkaquorums/status"], "verbs": ["get", "patch"]}
    read = {"apiGroups": ["kafkaquorum.io"], "resources": ["kafkaquorums"], "verbs": ["get"]}
    grant(secured.namespace, PERSON, [rule, read])
    assert not may(secured.namespace, PERSON, "patch", "kafkaquorums")
    before, status = secured.running(), secured.status()
    lie = {"controllers": [], "quorum": {**status["quorum"], "leaderEpoch": 1, "voters": 1}, "conditions": []}
    patch = ("kq", secured.name, "--type=merge", "--subresource=status", "-p", json.dumps({"status": lie}))
    as_person(secured, "patch", *patch)

    def corrected() -> bool | None:
        now = secured.status()
        return (len(now.get("controllers", ())) == 3 and now["quorum"]["voters"] == 3) or None

    wait_until("the status is true again", corrected, _LOOKED_S)
    secured.wait_ready()
    untouched(secured, before)


def test_a_person_who_edits_config_maps_can_take_the_record(secured: Quorum) -> None:
    """A record that cannot be read stops every act; nothing restarts, and it is used again when it is restored."""
    name = f"{secured.name}-identity"
    grant(secured.namespace, PERSON, [core("configmaps", "get", "patch", names=(name,))])
    assert not may(secured.namespace, PERSON, "get", "secrets")
    kept = json.loads(as_person(secured, "get", "configmap", name, "-o", "json"))["data"]["record.json"]
    before = secured.running()
    broken = json.dumps({"data": {"record.json": kept[: len(kept) // 2]}})
    as_person(secured, "patch", "configmap", name, "--type=merge", "-p", broken)
    wait_until("the quorum is not Ready", lambda: secured.condition("Ready").get("status") != "True" or None, _LOOKED_S)
    untouched(secured, before)
    as_person(secured, "patch", "configmap", name, "--type=merge", "-p", json.dumps({"data": {"record.json": kept}}))
    secured.wait_ready()
    untouched(secured, before)


def test_what_the_operators_token_may_do(secured: Quorum) -> None:
    """It reads Secrets by name and creates pods wherever the chart lets it look; it lists no Secrets of a namespace."""
    chart = json.loads(run("kubectl", "get", "clusterrole", RELEASE, "-o", "json")[1])
    assert chart["rules"], "the chart of this test-bed serves every namespace"
    for namespace in (secured.namespace, "default"):
        assert may(namespace, OPERATOR, "get", "secrets")
        assert may(namespace, OPERATOR, "create", "pods")
        for verb in ("list", "watch", "deletecollection"):
            assert not may(namespace, OPERATOR, verb, "secrets"), verb
    for verb, what in (("create", "clusterrolebindings"), ("create", "rolebindings"), ("impersonate", "users")):
        assert not may(secured.namespace, OPERATOR, verb, what), what
