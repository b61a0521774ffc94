"""Rights on our resources are no rights on Secrets: what the table in docs/install.md says of viewers and editors."""

import json

import pytest

from harness.quorum import Quorum
from harness.rights import grant, may
from harness.shell import Json, holds_for, kubectl, run, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(300)]

VIEWER, EDITOR = "rights-viewer", "rights-editor"
MARKER = "Marker-of-a-foreign-password"
KINDS = ["kafkaquorums", "kafkabrokerpools", "kafkastreamsapplications"]
READ, WRITE = ["get", "list", "watch"], ["create", "update", "patch", "delete"]
SASL: Json = {"listeners": [{"name": "CONTROLLER", "port": 9093, "protocol": "SASL_SSL"}]}
USERS: Json = {"controllers": {"usersSecretName": "foreign"}}


def role(namespace: str, user: str, verbs: list[str]) -> None:
    """Give a user rights on our resources, and no others."""
    group = "kafkaquorum.io"
    rules: list[Json] = [{"apiGroups": [group], "resources": KINDS, "verbs": verbs}]
    rules.append({"apiGroups": [group], "resources": [f"{kind}/status" for kind in KINDS], "verbs": READ})
    grant(namespace, user, rules)


@pytest.fixture
def tenant(quorum: Quorum) -> Quorum:
    """A namespace with a viewer, an editor, and a Secret that neither may read."""
    role(quorum.namespace, VIEWER, READ)
    role(quorum.namespace, EDITOR, READ + WRITE)
    words = [f"--from-literal={key}={MARKER}" for key in ("controllers", "brokers", "operator")]
    kubectl("-n", quorum.namespace, "create", "secret", "generic", "foreign", *words)
    return quorum


def shown(tenant: Quorum) -> str:
    """Everything that a person without rights on Secrets could see: resources, events, config maps, pods."""
    what = "kafkaquorums,events,configmaps,pods,controllerrevisions"
    return kubectl("-n", tenant.namespace, "get", what, "-o", "json")


def test_views_and_edits(tenant: Quorum) -> None:
    """A viewer and an editor have no right on Secrets, config maps, pods and the status; nor in another namespace."""
    space = tenant.namespace
    for user in (VIEWER, EDITOR):
        assert may(space, user, "get", "kafkaquorums"), user
        assert may(space, user, "update", "kafkaquorums") == (user == EDITOR)
        for verb, what in (("get", "secrets"), ("create", "secrets"), ("create", "pods"), ("update", "configmaps")):
            assert not may(space, user, verb, what), (user, verb, what)
        assert not may(space, user, "patch", "kafkaquorums", "--subresource=status")
        assert not may("default", user, "get", "kafkaquorums")


def test_the_roles_of_the_chart_have_no_secrets() -> None:
    """The roles that join view, edit and admin name only our resources, and the status only to be read."""
    listed = json.loads(
        kubectl("get", "clusterroles", "-l", "app.kubernetes.io/name=kafka-quorum-operator", "-o", "json")
    )
    rows = [item for item in listed["items"] if item["metadata"]["name"].endswith(("-view", "-edit"))]
    assert len(rows) == 2
    for rule in (rule for row in rows for rule in row["rules"]):
        assert rule["apiGroups"] == ["kafkaquorum.io"]
        status = [each for each in rule["resources"] if each.endswith("/status")]
        assert not status or set(rule["verbs"]) == set(READ)


def test_a_secret_of_others_is_not_used(tenant: Quorum) -> None:
    """A Secret that does not list the quorum is not copied, looks like a missing one, and is used once it lists it."""
    tenant.apply({"controllers": SASL, "security": USERS})

    def refused() -> bool | None:
        return (
            "Secret foreign of" in shown(tenant) and "or its annotation kafkaquorum.io/used-by" in shown(tenant)
        ) or None

    wait_until("the refusal is shown", refused, 90)
    where = ("-n", tenant.namespace)
    copied = f"secret/{tenant.name}-users"
    holds_for("no copy", lambda: run("kubectl", *where, "get", copied)[0] != 0, 20)
    assert MARKER not in shown(tenant)
    mine = "kafkaquorum.io/used-by"
    kubectl(*where, "annotate", "secret", "foreign", f"{mine}=KafkaStreamsApplication/{tenant.name}")
    holds_for("no copy for another kind", lambda: run("kubectl", *where, "get", copied)[0] != 0, 20)
    kubectl(*where, "annotate", "--overwrite", "secret", "foreign", f"{mine}=KafkaQuorum/{tenant.name}")
    wait_until("the users are made", lambda: run("kubectl", *where, "get", copied)[0] == 0 or None, 90)
    assert MARKER not in shown(tenant)


def test_a_secret_with_a_name_of_ours_is_not_mounted(tenant: Quorum) -> None:
    """A Secret of others that has the name of a controller's stops the start: it is neither changed nor mounted."""
    where, name = ("-n", tenant.namespace), f"{tenant.name}-3000-tls"
    kubectl(*where, "create", "secret", "generic", name, f"--from-literal=keystore.pem={MARKER}")
    before = kubectl(*where, "get", "secret", name, "-o", "jsonpath={.metadata.resourceVersion}")
    tenant.apply({"controllers": {"listeners": [{"name": "CONTROLLER", "port": 9093, "protocol": "SSL"}]}})
    wait_until("the refusal is shown", lambda: "is not this quorum's" in shown(tenant) or None, 90)
    holds_for("no pod", lambda: not json.loads(kubectl(*where, "get", "pods", "-o", "json"))["items"], 20)
    assert kubectl(*where, "get", "secret", name, "-o", "jsonpath={.metadata.resourceVersion}") == before
    assert MARKER not in shown(tenant)
