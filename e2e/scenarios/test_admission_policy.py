"""The chart's admission policy on a real API server: what it forbids the operator's account, and what it allows.

The account, its rights and its policy belong to this module, so that the operator of this cluster is not affected.
`tests/helm/test_admission_policy.py` evaluates the same expressions on every kind of object.
"""

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from harness.shell import kubectl, run, wait_until
from helm import render

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(180)]

Json = dict[str, Any]
KINDS = ("ServiceAccount", "Role", "RoleBinding", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
LABEL = "kafkaquorum.io/quorum"


class Account:
    """The operator's account in its own namespace, and an administrator."""

    def __init__(self, namespace: str) -> None:
        """Namespace, release and account have the same name."""
        self.namespace = namespace
        self._as = f"--as=system:serviceaccount:{namespace}:{namespace}"

    def make(self, body: Json) -> None:
        """Create an object as administrator."""
        kubectl("-n", self.namespace, "create", "-f", "-", stdin=json.dumps(body))

    def run(self, *arguments: str, stdin: str | None = None) -> tuple[int, str, str]:
        """Run one command as the operator's account: exit code, output, errors."""
        return run("kubectl", self._as, "-n", self.namespace, *arguments, stdin=stdin)

    def refused(self, *arguments: str, stdin: str | None = None) -> str:
        """Run one command that the policy must refuse: its answer."""
        code, output, errors = self.run(*arguments, stdin=stdin)
        assert code != 0, output
        assert "ValidatingAdmissionPolicy" in errors, errors
        return errors

    def allowed(self, *arguments: str, stdin: str | None = None) -> None:
        """Run one command that must succeed."""
        code, _, errors = self.run(*arguments, stdin=stdin)
        assert code == 0, errors

    def evict(self, pod: str) -> tuple[tuple[str, ...], str]:
        """The arguments and the body of an eviction that changes nothing."""
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": self.namespace}}
        path = f"/api/v1/namespaces/{self.namespace}/pods/{pod}/eviction?dryRun=All"
        return ("create", "--raw", path, "-f", "-"), json.dumps(body)


def config_map(name: str, quorum: str = "", **data: str) -> Json:
    """A config map, with the label of a quorum if one is given."""
    labels = {LABEL: quorum} if quorum else {}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}, "data": data}


def pod(name: str) -> Json:
    """A pod of another owner; it need not run."""
    spec = {"containers": [{"name": "main", "image": "none.invalid/none"}], "terminationGracePeriodSeconds": 0}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


@pytest.fixture(scope="module")
def account() -> Iterator[Account]:
    """The chart's account, rights and policy, in force."""
    name = f"policy-{uuid.uuid4().hex[:8]}"
    values = (f"fullnameOverride={name}", f"watchNamespaces={{{name}}}", "admissionPolicy.enabled=true")
    options = [text for value in values for text in ("--set", value)]
    items = [item for item in yaml.safe_load_all(render.template("--namespace", name, *options)) if item]
    body = "---\n".join(json.dumps(item) + "\n" for item in items if item["kind"] in KINDS)
    kubectl("create", "namespace", name)
    kubectl("apply", "-f", "-", stdin=body)
    found = Account(name)
    probe = json.dumps(config_map("somebodys"))

    def in_force() -> bool:
        _, _, errors = found.run("create", "--dry-run=server", "-f", "-", stdin=probe)
        return "ValidatingAdmissionPolicy" in errors

    wait_until("the policy is in force", in_force, 60)
    yield found
    kubectl("delete", "validatingadmissionpolicy,validatingadmissionpolicybinding", name)
    kubectl("delete", "namespace", name, "--wait=false")


def test_a_strangers_object_cannot_be_taken(account: Account) -> None:
    """An object of another owner stays as it is: it cannot be deleted, and cannot be labelled first."""
    account.make(config_map("postgres-0"))
    account.refused("delete", "--raw", f"/api/v1/namespaces/{account.namespace}/configmaps/postgres-0")
    account.refused("label", "configmap", "postgres-0", f"{LABEL}=postgres")
    account.make(config_map("payments-identity", other="x"))
    account.refused("label", "configmap", "payments-identity", f"{LABEL}=payments")


def test_its_own_objects_are_the_operators(account: Account) -> None:
    """A record is created, changed and deleted; one that lost its label in a restore gets the label again."""
    record = {"record.json": "{}"}
    account.allowed("create", "-f", "-", stdin=json.dumps(config_map("demo-identity", "demo", **record)))
    account.allowed("annotate", "configmap", "demo-identity", "a=b")
    account.allowed("delete", "--raw", f"/api/v1/namespaces/{account.namespace}/configmaps/demo-identity")
    account.make(config_map("other-identity", **record))
    account.allowed("label", "configmap", "other-identity", f"{LABEL}=other")


def test_only_controllers_are_evicted(account: Account) -> None:
    """An eviction has no labels, so the name of the pod decides."""
    for name in ("postgres-0", "demo-3000-g1"):
        account.make(pod(name))
    arguments, body = account.evict("postgres-0")
    assert "may only evict" in account.refused(*arguments, stdin=body)
    arguments, body = account.evict("demo-3000-g1")
    account.allowed(*arguments, stdin=body)
