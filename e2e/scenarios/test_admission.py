"""Invalid input reaches the API server: it is refused with a sentence that names the field and the correction.

The tables are those of the tests of validation. Most cases store nothing (server-side dry runs). Created objects are
paused, so that an operator on the cluster leaves them alone.
"""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.api.specs import ACCEPTED, CLUSTER_ID, NAMES, OTHER_CLUSTER_ID, REFUSED, Refused, resource

from harness.shell import kubectl, run, wait_until
from kafka_quorum.api import crd, rules

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[2]


def refused(*arguments: str, stdin: str | None = None) -> str:
    """Run one kubectl command that must be refused: its answer."""
    code, output, errors = run("kubectl", *arguments, stdin=stdin)
    assert code != 0, output
    return errors


@pytest.fixture(scope="module", autouse=True)
def definition() -> None:
    """The definition of KafkaQuorum from the chart; applied if no chart did that."""
    if run("kubectl", "get", "crd", crd.NAME)[0] != 0:
        kubectl("apply", "--server-side", "-f", str(ROOT / "crds"))
        kubectl("wait", "--for=condition=Established", f"crd/{crd.NAME}", "--timeout=30s")


@pytest.fixture(scope="module")
def namespace(definition: None) -> Iterator[str]:  # noqa: ARG001 - an order, not a value
    """The namespace of this module."""
    name = f"admission-{uuid.uuid4().hex[:8]}"
    kubectl("create", "namespace", name)
    yield name
    kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def quorum(namespace: str) -> Iterator[str]:
    """The name of a paused KafkaQuorum with three controllers, 10Gi each."""
    name = f"q-{uuid.uuid4().hex[:8]}"
    kubectl("create", "-f", "-", stdin=json.dumps(resource(name=name, namespace=namespace)))
    yield name
    kubectl("-n", namespace, "delete", "kq", name)


def dry_run(candidate: dict[str, Any]) -> tuple[str, ...]:
    """The arguments of a creation that stores nothing."""
    return ("create", "--dry-run=server", "-f", "-", "-o", "json", "-n", candidate["metadata"]["namespace"])


def patch(namespace: str, name: str, spec: dict[str, Any]) -> tuple[str, ...]:
    """The arguments of a merge patch of a spec."""
    return ("-n", namespace, "patch", "kq", name, "--type=merge", "-p", json.dumps({"spec": spec}))


@pytest.mark.parametrize("case", [case for case in REFUSED if case.by_server], ids=lambda case: case.name)
def test_the_server_refuses_with_a_sentence(case: Refused, namespace: str) -> None:
    """The answer names the field, the fault and the correction, before anything is stored."""
    candidate = resource(case.patch, namespace=namespace)
    answer = refused(*dry_run(candidate), stdin=json.dumps(candidate))
    assert (case.place or case.field) in answer
    assert case.words in answer


@pytest.mark.parametrize("case", [case for case in REFUSED if not case.by_server], ids=lambda case: case.name)
def test_what_only_the_operator_refuses_is_admitted(case: Refused, namespace: str) -> None:
    """CEL accepts these cases, as the table states: only the operator's own validation refuses them."""
    candidate = resource(case.patch, namespace=namespace)
    kubectl(*dry_run(candidate), stdin=json.dumps(candidate))


@pytest.mark.parametrize("spec", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_the_server_accepts_what_is_valid(spec: dict[str, Any], namespace: str) -> None:
    """No rule refuses a valid spec, and its fields are stored."""
    candidate = resource(spec, namespace=namespace)
    stored = json.loads(kubectl(*dry_run(candidate), stdin=json.dumps(candidate)))
    assert stored["spec"]["kafka"]["version"] == candidate["spec"]["kafka"]["version"]
    template = candidate["spec"].get("controllers", {}).get("template", {}).get("spec", {})
    assert stored["spec"]["controllers"]["template"]["spec"] == template


@pytest.mark.parametrize(("name", "words"), NAMES)
def test_the_server_refuses_names_without_host_names(name: str, words: str, namespace: str) -> None:
    """A name that gives no valid host names is refused before anything is created."""
    candidate = resource(name=name, namespace=namespace)
    assert words in refused(*dry_run(candidate), stdin=json.dumps(candidate))


def test_the_longest_name_is_accepted(namespace: str) -> None:
    """A name of exactly the longest length is accepted."""
    candidate = resource(name="a" * rules.NAME_LIMIT, namespace=namespace)
    kubectl(*dry_run(candidate), stdin=json.dumps(candidate))


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"bootstrap": {"mode": "Standalone"}}, "spec.bootstrap.mode", rules.MODE_CHANGED.message),
        ({"controllers": {"storage": {"size": "9Gi"}}}, "spec.controllers.storage.size", rules.SIZE_SHRUNK.message),
        ({"clusterID": CLUSTER_ID}, "spec.clusterID", rules.CLUSTER_ID_CHANGED.message),
        ({"controllers": {"replicas": 0}}, "spec.controllers.replicas", rules.REPLICAS_RANGE.message),
    ],
)
def test_what_must_not_change_cannot(
    change: dict[str, Any], field: str, words: str, quorum: str, namespace: str
) -> None:
    """A change of an immutable field is refused, with the correction."""
    answer = refused(*patch(namespace, quorum, change))
    assert field in answer
    assert words in answer


def test_storage_may_grow(quorum: str, namespace: str) -> None:
    """The same size in another notation is no decrease, and a larger size is accepted."""
    kubectl(*patch(namespace, quorum, {"controllers": {"storage": {"size": "10240Mi"}}}))
    kubectl(*patch(namespace, quorum, {"controllers": {"storage": {"size": "11Gi"}}}))


def test_the_storage_class_is_fixed_once_the_quorum_has_started(quorum: str, namespace: str) -> None:
    """A wrong class can be corrected before the start, and no class changes afterwards."""
    change = {"controllers": {"storage": {"storageClassName": "other"}}}
    kubectl(*patch(namespace, quorum, change))
    status = json.dumps({"status": {"bootstrap": {"phase": "Started"}}})
    kubectl("-n", namespace, "patch", "kq", quorum, "--type=merge", "--subresource=status", "-p", status)
    answer = refused(*patch(namespace, quorum, {"controllers": {"storage": {"storageClassName": "third"}}}))
    assert "spec.controllers.storage.storageClassName" in answer
    assert rules.STORAGE_CLASS_CHANGED.message in answer


def test_a_cluster_id_may_be_set_late_to_the_one_in_use_only(quorum: str, namespace: str) -> None:
    """The generated id may be set in the spec; any other id is refused, and a set id cannot be removed."""
    status = json.dumps({"status": {"clusterID": CLUSTER_ID}})
    kubectl("-n", namespace, "patch", "kq", quorum, "--type=merge", "--subresource=status", "-p", status)
    words = rules.CLUSTER_ID_CHANGED.message
    assert words in refused(*patch(namespace, quorum, {"clusterID": OTHER_CLUSTER_ID}))
    kubectl(*patch(namespace, quorum, {"clusterID": CLUSTER_ID}))
    for change in (OTHER_CLUSTER_ID, "", None):
        assert words in refused(*patch(namespace, quorum, {"clusterID": change}))


def test_scaling_goes_through_the_same_rules(quorum: str, namespace: str) -> None:
    """`kubectl scale` works to five, is refused to zero, and with exact node ids to any other number."""
    kubectl("-n", namespace, "scale", "kq", quorum, "--replicas=5")
    replicas = kubectl("-n", namespace, "get", "kq", quorum, "-o", "jsonpath={.spec.controllers.replicas}")
    assert replicas == "5"
    assert rules.REPLICAS_RANGE.message in refused("-n", namespace, "scale", "kq", quorum, "--replicas=0")
    kubectl(*patch(namespace, quorum, {"controllers": {"nodeIDs": [3000, 3001, 3002, 3003, 3004]}}))
    assert rules.NODE_IDS_COUNT.message in refused("-n", namespace, "scale", "kq", quorum, "--replicas=3")


def test_the_table_tells_the_story(quorum: str, namespace: str) -> None:
    """`kubectl get kq` has a column for each question, and more columns with `-o wide`."""
    head = kubectl("-n", namespace, "get", "kq", quorum).splitlines()[0].split()
    assert head == ["NAME", "READY", "VOTERS", "RELEASE", "METADATA", "DOING", "AGE"]
    wide = kubectl("-n", namespace, "get", "kafka", "-o", "wide").splitlines()[0]
    assert wide.split()[7:] == ["LOOKED", "LEADER", "CLUSTER", "ID", "MESSAGE"]


def test_kubectl_explains_every_field(namespace: str) -> None:  # noqa: ARG001 - the definition must be there
    """`kubectl explain` has the descriptions of the models."""
    assert "Kafka release, X.Y.Z" in kubectl("explain", "kq.spec.kafka.version")


def test_an_unknown_field_is_named(namespace: str) -> None:
    """The strict validation of kubectl refuses a misspelt field, which is not dropped silently."""
    candidate = resource({"controllers": {"replica": 5}}, namespace=namespace)
    assert 'unknown field "spec.controllers.replica"' in refused(*dry_run(candidate), stdin=json.dumps(candidate))


@pytest.fixture
def foreign_group(namespace: str) -> Iterator[str]:  # noqa: ARG001 - an order, not a value
    """A separate group for a definition that this test changes."""
    group = f"g{uuid.uuid4().hex[:8]}.example.org"
    yield group
    kubectl("delete", "crd", f"{crd.KIND.resource.plural}.{group}", "--ignore-not-found", "--timeout=60s")
    # Until discovery no longer has it: `kubectl get kafka` fails on a type that does not exist.
    wait_until("the group is forgotten", lambda: group not in kubectl("api-versions"), 60)


def test_tighter_rules_do_not_stop_the_status_of_what_is_stored(foreign_group: str, namespace: str) -> None:
    """A resource that is older than a rule can still get a status, and be corrected part by part."""
    loose = in_group(foreign_group, rules_kept=False)
    kubectl("create", "-f", "-", stdin=yaml.safe_dump(loose))
    kubectl("wait", "--for=condition=Established", f"crd/{crd.KIND.resource.plural}.{foreign_group}", "--timeout=30s")
    bad = {
        "kafka": {"version": "four", "config": {"node.id": "7"}},
        "controllers": {"replicas": 0, "nodeIDs": [1, 1], "storage": {"size": "big"}, "jvm": {"heap": "512"}},
        "bootstrap": {"mode": "Static"},
    }
    candidate = resource(bad, name="a" * 60, namespace=namespace) | {"apiVersion": f"{foreign_group}/v1alpha1"}
    kubectl("create", "-f", "-", stdin=json.dumps(candidate))
    kubectl("replace", "-f", "-", stdin=yaml.safe_dump(in_group(foreign_group, rules_kept=True)))
    kind = f"{crd.KIND.resource.plural}.{foreign_group}"
    await_rules(kind, namespace, candidate["metadata"]["name"])
    named = ("-n", namespace, "patch", kind, candidate["metadata"]["name"], "--type=merge")
    kubectl(*named, "--subresource=status", "-p", json.dumps({"status": {"clusterID": CLUSTER_ID}}))
    kubectl(*named, "-p", json.dumps({"metadata": {"labels": {"team": "events"}}}))
    kubectl(*named, "-p", json.dumps({"spec": {"kafka": {"version": "4.4.0"}}}))


def in_group(group: str, *, rules_kept: bool) -> dict[str, Any]:
    """The definition under another group, with its rules or without them."""
    definition = crd.crd()
    definition["metadata"]["name"] = f"{crd.KIND.resource.plural}.{group}"
    definition["spec"]["group"] = group
    for names in ("shortNames", "categories"):
        del definition["spec"]["names"][names]
    if not rules_kept:
        drop_rules(definition)
    return definition


def drop_rules(node: object) -> None:
    """Remove every CEL rule below a part of a definition."""
    if isinstance(node, dict):
        node.pop("x-kubernetes-validations", None)
        for child in node.values():
            drop_rules(child)
    elif isinstance(node, list):
        for child in node:
            drop_rules(child)


def await_rules(kind: str, namespace: str, name: str) -> None:
    """Wait until the API server applies the definition's rules: then it refuses a forbidden change."""
    change = json.dumps({"spec": {"controllers": {"replicas": -1}}})
    for _ in range(100):
        trial = ("-n", namespace, "patch", kind, name, "--type=merge", "--dry-run=server", "-p", change)
        if rules.REPLICAS_RANGE.message in run("kubectl", *trial)[2]:
            return
    pytest.fail("the rules of the replaced definition never took effect")
