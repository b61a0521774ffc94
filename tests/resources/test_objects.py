"""The objects around the pods, which are read back as they were requested."""

from typing import Any

import pytest
from tests.model.values import CLUSTER, GIBIBYTE, IDS, NAME, UID, bound, desired, directory, node, revision, storage

from kafka_quorum.model import names
from kafka_quorum.model.desired import VolumeFate
from kafka_quorum.model.identity import with_nodes
from kafka_quorum.model.ids import NodeID
from kafka_quorum.observe.objects import claim_from
from kafka_quorum.resources import objects
from kafka_quorum.resources.meta import owner

Json = dict[str, Any]
DELETE = desired(storage=storage(when_deleted=VolumeFate.DELETE))


def stored(body: Json) -> Json:
    """The object as the API server returns it."""
    return {**body, "metadata": {**body["metadata"], "uid": "u", "resourceVersion": "7"}}


def test_claim() -> None:
    """A claim has size and class, its generation, and its copy of the identity."""
    record = bound()
    body = objects.claim(desired(storage=storage(storage_class="fast")), record, node(record, 3001))
    assert body["spec"] == {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "10Gi"}},
        "storageClassName": "fast",
    }
    read = claim_from(stored(body))
    assert (read.name, read.node_id, read.generation) == ("alpha-3001-g1", 3001, 1)
    assert (read.cluster_id, read.directory_id, read.phase) == (CLUSTER, directory(3001), "Formatting")
    assert read.requested_bytes == 10 * GIBIBYTE


def test_default_storage_class() -> None:
    """Without a class the field is absent, not empty, so that the cluster's default decides."""
    assert "storageClassName" not in objects.claim(desired(), bound(), node(bound(), 3001))["spec"]


def test_newcomers_claim_has_no_directory_id() -> None:
    """A claim whose directory id is not known yet has none."""
    record = with_nodes(bound(), [NodeID(3003)])
    assert claim_from(stored(objects.claim(desired(), record, node(record, 3003)))).directory_id is None


@pytest.mark.parametrize(("wanted", "owners"), [(desired(), []), (DELETE, [UID])], ids=["retain", "delete"])
def test_owner_of_volumes(wanted: Any, owners: list[str]) -> None:  # noqa: ANN401 - a Desired
    """Retained claims have no owner; with whenDeleted Delete the resource owns them."""
    body = objects.claim(wanted, bound(), node(bound(), 3000))
    assert [one["uid"] for one in body["metadata"]["ownerReferences"]] == owners
    assert objects.volume_owner(wanted) == body["metadata"]["ownerReferences"]


def test_service() -> None:
    """The service is headless and selects every controller, ready or not, but no formatter."""
    body = objects.service(desired(), 9093)
    assert body["metadata"]["name"] == "alpha-controllers"
    assert body["spec"]["clusterIP"] == "None"
    assert body["spec"]["publishNotReadyAddresses"] is True
    assert body["spec"]["selector"] == {names.LABEL_QUORUM: NAME, names.LABEL_ROLE: "controller"}
    assert objects.facts_of(body) == names.service_facts(NAME, 9093)


def test_budget() -> None:
    """The budget selects only voters, and has an integer."""
    body = objects.budget(desired(), 2)
    assert body["spec"] == {
        "minAvailable": 2,
        "selector": {"matchLabels": {names.LABEL_QUORUM: NAME, names.LABEL_VOTER: "true"}},
    }
    assert objects.facts_of(body) == names.budget_facts(NAME, 2)


@pytest.mark.parametrize(
    "change",
    [
        {"clusterIP": "10.0.0.1"},
        {"publishNotReadyAddresses": False},
        {"selector": {}},
        {"ports": []},
        {"ports": [{"name": "controller", "port": 1}]},
    ],
)
def test_facts_tell_a_changed_service(change: Json) -> None:
    """The facts of a service show every relevant difference, and not what the API server adds."""
    body = objects.service(desired(), 9093)
    added = {**body, "spec": {**body["spec"], "ipFamilies": ["IPv4"], "sessionAffinity": "None"}}
    assert objects.facts_of(added) == names.service_facts(NAME, 9093)
    assert objects.facts_of({**body, "spec": {**body["spec"], **change}}) != names.service_facts(NAME, 9093)


def test_config() -> None:
    """A config map is immutable and has the properties of every controller."""
    body = objects.config(desired(), "cfg", revision(), IDS)
    assert body["immutable"] is True
    assert set(body["data"]) == {
        "3000.properties",
        "3001.properties",
        "3002.properties",
        "log4j2.properties",
        "log4j.properties",
        "java.security",
    }
    assert "node.id=3001\n" in body["data"]["3001.properties"]
    assert body["metadata"]["labels"][names.LABEL_ROLE] == "config"


@pytest.mark.parametrize(("voter", "label"), [(True, "true"), (False, None)])
def test_pod_mark(voter: bool, label: str | None) -> None:  # noqa: FBT001 - a column
    """A mark sets or removes the voter label, and the gate's condition with its reason."""
    metadata, status = objects.pod_mark(voter=voter, gate="False", message="a voter that lags")
    assert metadata == {"metadata": {"labels": {names.LABEL_VOTER: label}}}
    (condition,) = status["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["message"]) == (names.GATE, "False", "a voter that lags")


def test_owner_never_blocks() -> None:
    """Our owner reference makes the resource the controller, and never blocks its deletion."""
    (reference,) = owner(desired())
    assert (reference["controller"], reference["blockOwnerDeletion"]) == (True, False)
    assert reference["uid"] == UID


@pytest.mark.parametrize(
    "build", [lambda wanted: objects.service(wanted, 9093), lambda wanted: objects.budget(wanted, 1)]
)
def test_owned(build: Any) -> None:  # noqa: ANN401 - a builder
    """The objects around the pods are owned by the resource, whatever the retention policy."""
    body = build(desired())
    assert body["metadata"]["ownerReferences"] == owner(desired())
    assert body["metadata"]["labels"][names.LABEL_QUORUM] == NAME
