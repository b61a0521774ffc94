"""The chart on a real cluster: its definition is upgraded, stays after an uninstall, and is used by the next install.

A copy of the chart under an API group of its own is used, so that the operator of this cluster, and its quorums, notice
nothing. The operator's image is never pulled here: that it runs is shown by every other scenario.
"""

import json
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.api.specs import resource

from harness.shell import wait_until
from helm import render
from kafka_brokers.api import crd as pools
from kafka_quorum.api import crd
from kafka_quorum.introspection import crd as introspection
from kafka_quorum.model.names import GROUP
from kafka_streams.api import crd as applications

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

_NAMES_OF_ALL_GROUPS = {
    "crd.yaml": """\
    shortNames:
      - kq
    categories:
      - kafka
""",
    "crd-brokers.yaml": """\
    shortNames:
      - kbp
    categories:
      - kafka
""",
    "crd-streams.yaml": """\
    shortNames:
      - ksa
    categories:
      - kafka
""",
}
"""What the copies of the definitions must not have, by template: `kubectl get kbp` of another test would ask the copy,
and `kubectl get kafka` asks each group that has this category, and fails while discovery still has one whose definition
was just deleted."""
_LEASE = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {"holderIdentity": "somebody"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A copy of the chart for one test: its path, its group, and the namespace that it is installed in."""

    path: Path
    group: str
    namespace: str

    @property
    def definition(self) -> str:
        """The name of its CRD of quorums."""
        return f"{crd.KIND.resource.plural}.{self.group}"

    @property
    def definitions(self) -> tuple[str, ...]:
        """The names of all its CRDs."""
        others = (pools.KIND, applications.KIND, *introspection.KINDS)
        return (self.definition, *(kind.name.replace(GROUP, self.group) for kind in others))

    def describe(self, text: str) -> None:
        """Change the description of the resource, as a new version of the chart would."""
        template = self.path / "templates" / "crd.yaml"
        template.write_text(template.read_text().replace("A KRaft controller quorum of Apache Kafka.", text))


def run(*command: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """One command, whatever becomes of it."""
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=90, check=False)


def succeed(*command: str, stdin: str | None = None) -> str:
    """One command that must succeed: its output."""
    result = run(*command, stdin=stdin)
    assert result.returncode == 0, result.stderr
    return result.stdout


def helm(chart: Chart, *arguments: str) -> subprocess.CompletedProcess[str]:
    """One helm command in the chart's namespace."""
    return run(render.helm(), *arguments, "--namespace", chart.namespace)


def installed(chart: Chart, release: str, *options: str) -> None:
    """Install or upgrade a release of the chart, without waiting for pods."""
    values = ("--set", "image.repository=example.invalid/none", "--set", f"watchNamespaces={{{chart.namespace}}}")
    result = helm(chart, "upgrade", "--install", release, str(chart.path), *values, *options)
    assert result.returncode == 0, result.stderr


def definition_of(chart: Chart) -> dict[str, Any]:
    """The chart's CRD as the cluster has it."""
    found: dict[str, Any] = json.loads(succeed("kubectl", "get", "crd", chart.definition, "-o", "json"))
    return found


@pytest.fixture
def chart(tmp_path: Path) -> Iterator[Chart]:
    """A copy of the chart under its own API group, and a namespace that only restricted pods may enter."""
    mark = uuid.uuid4().hex[:8]
    chart = Chart(path=tmp_path / "chart", group=f"g{mark}.example.org", namespace=f"chart-{mark}")
    shutil.copytree(render.CHART, chart.path)
    for template in (chart.path / "templates").iterdir():
        text = template.read_text().replace("kafkaquorum.io", chart.group)
        names = _NAMES_OF_ALL_GROUPS.get(template.name, "")
        assert names in text
        template.write_text(text.replace(names, "") if names else text)
        assert "shortNames" not in template.read_text()
    succeed("kubectl", "create", "namespace", chart.namespace)
    succeed("kubectl", "label", "namespace", chart.namespace, "pod-security.kubernetes.io/enforce=restricted")
    yield chart
    for release in ("one", "two"):
        helm(chart, "uninstall", release, "--ignore-not-found")
    succeed("kubectl", "delete", "namespace", chart.namespace, "--wait=false")
    succeed("kubectl", "delete", "crd", *chart.definitions, "--ignore-not-found", "--wait=false")


def test_the_definition_follows_upgrades_and_survives_an_uninstall(chart: Chart) -> None:
    """Upgraded with the release, kept with its resources when that goes, and taken over by the next installation."""
    installed(chart, "one")
    succeed("kubectl", "wait", "--for=condition=Established", f"crd/{chart.definition}", "--timeout=30s")
    quorum = resource(namespace=chart.namespace) | {"apiVersion": f"{chart.group}/v1alpha1"}
    succeed("kubectl", "create", "-f", "-", stdin=json.dumps(quorum))
    chart.describe("A quorum, told in other words.")
    installed(chart, "one")
    schema = definition_of(chart)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert schema["description"] == "A quorum, told in other words."
    assert helm(chart, "uninstall", "one", "--wait").returncode == 0
    uid = definition_of(chart)["metadata"]["uid"]
    succeed("kubectl", "-n", chart.namespace, "get", chart.definition, "events")
    installed(chart, "one")
    assert definition_of(chart)["metadata"]["uid"] == uid


def test_another_release_takes_the_definition_over_when_told_to(chart: Chart) -> None:
    """Under another name helm refuses by itself, and does it with --take-ownership; nothing is deleted in between."""
    installed(chart, "one")
    uid = definition_of(chart)["metadata"]["uid"]
    assert helm(chart, "uninstall", "one", "--wait").returncode == 0
    refused = helm(chart, "upgrade", "--install", "two", str(chart.path))
    assert refused.returncode != 0
    assert any(definition in refused.stderr for definition in chart.definitions)
    installed(chart, "two", "--take-ownership")
    assert definition_of(chart)["metadata"]["uid"] == uid


def test_the_operators_pod_is_admitted_where_only_restricted_pods_are(chart: Chart) -> None:
    """The namespace enforces the restricted standard, and the deployment gets its two pods."""
    installed(chart, "one")
    deployment = "deployment/one-kafka-quorum-operator"
    where = ("kubectl", "-n", chart.namespace)
    succeed(*where, "wait", "--for=jsonpath={.status.unavailableReplicas}=2", deployment, "--timeout=60s")
    pods = json.loads(succeed(*where, "get", "pods", "-o", "json"))["items"]
    assert len(pods) == 2
    conditions = json.loads(succeed(*where, "get", deployment, "-o", "json"))["status"]["conditions"]
    assert "ReplicaFailure" not in {condition["type"] for condition in conditions}


def test_the_operator_may_do_what_it_needs_and_no_more(chart: Chart) -> None:
    """The API server's own answer about its account: pods, its lease, Secrets by name yes; lists no."""
    installed(chart, "one")
    account = f"--as=system:serviceaccount:{chart.namespace}:one-kafka-quorum-operator"
    allowed = (
        ("create", "pods"),
        ("patch", "pods/status"),
        ("create", "pods/eviction"),
        ("update", "configmaps"),
        ("delete", "persistentvolumeclaims"),
        ("watch", chart.definition),
        ("get", "nodes"),
        ("get", "secrets"),
        ("update", "leases.coordination.k8s.io/one-kafka-quorum-operator"),
        ("update", "leases.coordination.k8s.io/demo-disruption"),
    )
    denied = (
        ("list", "secrets"),
        ("watch", "secrets"),
        ("list", "nodes"),
        ("delete", "leases.coordination.k8s.io/demo-disruption"),
        ("list", "leases.coordination.k8s.io"),
        ("update", "persistentvolumeclaims"),
        ("update", chart.definition),
        ("patch", chart.definition),
        ("create", "pods/exec"),
    )
    for verb, kind in allowed:
        assert may(chart, account, verb, kind), (verb, kind)
    for verb, kind in denied:
        assert not may(chart, account, verb, kind), (verb, kind)
    assert run("kubectl", "auth", "can-i", "create", "pods", account, "-n", "default").returncode == 1


def test_the_second_lock_leaves_the_operator_its_own_leases_only(chart: Chart) -> None:
    """RBAC cannot name the leases of quorums; with the admission policy no other lease is written."""
    installed(chart, "one", "--set", "admissionPolicy.enabled=true")
    account = f"--as=system:serviceaccount:{chart.namespace}:one-kafka-quorum-operator"

    def created(lease: str) -> subprocess.CompletedProcess[str]:
        body = _LEASE | {"metadata": {"name": lease, "namespace": chart.namespace}}
        return run("kubectl", "create", "-f", "-", "--dry-run=server", account, stdin=json.dumps(body))

    wait_until("the policy is in force", lambda: created("another").returncode != 0, 60)
    assert "may only write its own lease" in created("another").stderr
    for lease in ("demo-disruption", "one-kafka-quorum-operator"):
        answer = created(lease)
        assert answer.returncode == 0, answer.stderr


def may(chart: Chart, account: str, verb: str, kind: str) -> bool:
    """The API server's answer for the chart's namespace; behind a slash is a subresource, or the name of a lease."""
    name, _, rest = kind.partition("/")
    if rest and not name.startswith("leases"):
        answer = run("kubectl", "auth", "can-i", verb, name, f"--subresource={rest}", account, "-n", chart.namespace)
    else:
        answer = run("kubectl", "auth", "can-i", verb, kind, account, "-n", chart.namespace)
    assert answer.stdout.strip() in {"yes", "no"}, answer.stderr
    return answer.stdout.strip() == "yes"
