"""Claims, services, budget and config map of a pool, and the facts by which present ones are compared."""

import copy
from typing import Any

import pytest
from tests.brokers.values import CLUSTER, CONTRACT, IDS, broker, desired, directory, record, revision

from kafka_brokers.model import names
from kafka_brokers.model.contracted import first_contact
from kafka_brokers.resources import objects
from kafka_brokers.resources.meta import adoption, foreign_controller

Json = dict[str, Any]
TWO: Json = {"storage": [{"size": "1Gi"}, {"size": "2Gi", "class": "fast"}]}
OUT: Json = {"listeners": [{"name": "OUT_SIDE", "port": 9094, "external": "NodePort", "nodePort": 30100}]}


def services(spec: Json | None = None) -> dict[str, Json]:
    """The services of a pool by name."""
    of = desired(spec)
    return {item["metadata"]["name"]: item for item in objects.services(of, of.runtime, IDS)}


def test_claims() -> None:
    """Each volume has a claim of its own size and class, with a copy of its identity."""
    of, known = desired(TWO), record(volumes=2)
    first, second = (objects.claim(of, known, broker(known, 1), disk) for disk in broker(known, 1).disks)
    assert first["metadata"]["name"] == "payments-1-d0-g1"
    assert "storageClassName" not in first["spec"]
    assert second["spec"]["storageClassName"] == "fast"
    assert second["spec"]["resources"] == {"requests": {"storage": "2Gi"}}
    annotations = second["metadata"]["annotations"]
    assert annotations["kafkaquorum.io/cluster-id"] == CLUSTER
    assert annotations["kafkaquorum.io/directory-id"] == directory(1, 1)
    assert second["metadata"]["labels"][names.LABEL_DISK] == "1"
    assert names.claim_parts(second["metadata"]["name"]) == ("payments", 1, 1, 1)


def test_a_claim_that_is_not_formatted_has_no_nulls() -> None:
    """The annotations of a new claim are texts only; as a patch, None removes one."""
    of, known = desired(), record(formatted=False)
    item = objects.claim(of, known, broker(known), broker(known).disks[0])
    assert None not in item["metadata"]["annotations"].values()
    assert objects.claim_annotations(known, None)["kafkaquorum.io/directory-id"] is None
    retired = objects.claim_annotations(known, "x", retired=True)
    assert retired["kafkaquorum.io/bootstrap-phase"] == "Retired"


@pytest.mark.parametrize("fate", ["Retain", "Delete"])
def test_volumes_outlive_the_resource_or_not(fate: str) -> None:
    """A retained claim has no owner; a service always has."""
    of, known = desired({"retentionPolicy": {"whenDeleted": fate}}), record()
    item = objects.claim(of, known, broker(known), broker(known).disks[0])
    assert bool(item["metadata"]["ownerReferences"]) is (fate == "Delete")
    assert objects.budget(of, 2)["metadata"]["ownerReferences"]


def test_services_inside() -> None:
    """Host names reach every broker, ready or not; clients begin at brokers that are ready."""
    found = services()
    assert list(found) == ["payments-brokers", "payments-bootstrap"]
    hosts, bootstrap = found.values()
    assert (hosts["spec"]["clusterIP"], hosts["spec"]["publishNotReadyAddresses"]) == ("None", True)
    ports = [(port["name"], port["port"]) for port in hosts["spec"]["ports"]]
    assert ports == [("replication", 9091), ("plaintext", 9092)]
    assert [port["port"] for port in bootstrap["spec"]["ports"]] == [9092]
    assert "publishNotReadyAddresses" not in bootstrap["spec"]
    selector = {names.LABEL_POOL: "payments", names.LABEL_ROLE: "broker"}
    assert hosts["spec"]["selector"] == bootstrap["spec"]["selector"] == selector


def test_services_outside() -> None:
    """Each broker has a service for each external listener, with its own node port, and there is one to begin at."""
    found = services(OUT)
    assert list(found)[2:] == [f"payments-out-side-{last}" for last in ("bootstrap", 0, 1, 2)]
    ports = [found[f"payments-out-side-{node_id}"]["spec"]["ports"][0] for node_id in IDS]
    assert [port["nodePort"] for port in ports] == [30100, 30101, 30102]
    assert found["payments-out-side-1"]["spec"]["selector"][names.LABEL_NODE] == "1"
    assert found["payments-out-side-1"]["spec"]["publishNotReadyAddresses"] is True
    assert "nodePort" not in found["payments-out-side-bootstrap"]["spec"]["ports"][0]


def test_load_balancers() -> None:
    """A LoadBalancer listener has no node ports of its own."""
    found = services({"listeners": [{"name": "LB", "port": 9094, "external": "LoadBalancer"}]})
    assert {item["spec"].get("type") for name, item in found.items() if "-lb-" in name} == {"LoadBalancer"}
    assert all("nodePort" not in port for item in found.values() for port in item["spec"]["ports"])


def test_node_ports_are_counted_from_the_lowest_id() -> None:
    """The lowest id of the spec has the first node port."""
    of = desired(OUT | {"nodeIDs": [12, 10, 17]})
    item = objects.external_service(of, of.runtime.listeners[0], of.node_ids[2], objects.lowest_id(of))
    assert item["spec"]["ports"][0]["nodePort"] == 30107


def test_config() -> None:
    """One immutable config map has the file of every broker; other first contacts give it another name."""
    of, revised, first = desired(), revision(), first_contact(CONTRACT)
    item = objects.config(of, revised, IDS, first)
    assert item["immutable"] is True
    files = {f"{node_id}.properties" for node_id in IDS} | {"log4j2.properties", "java.security"}
    assert set(item["data"]) == files
    assert item["metadata"]["name"] == objects.config_name(of, revised, IDS, first)
    assert objects.config_name(of, revised, IDS, ()) != item["metadata"]["name"]
    assert objects.config_name(of, revised, IDS[:2], first) != item["metadata"]["name"]


def as_served(item: Json) -> Json:
    """An object as the API server returns it, with what it fills in."""
    served = copy.deepcopy(item)
    for index, port in enumerate(served["spec"].get("ports", ())):
        port.setdefault("nodePort", 31000 + index)
    served["spec"].setdefault("type", "ClusterIP")
    served["spec"].setdefault("clusterIP", "10.0.0.1")
    served["spec"]["sessionAffinity"] = "None"
    return served


@pytest.mark.parametrize("spec", [None, OUT], ids=["inside", "outside"])
def test_present_objects_are_compared_by_what_matters(spec: Json | None) -> None:
    """What the API server fills in is no difference; a changed port, selector or fixed node port is one."""
    for item in services(spec).values():
        assert objects.same(as_served(item), item)
        other = as_served(item)
        other["spec"]["ports"][0]["port"] += 1
        assert not objects.same(other, item)
        other = as_served(item)
        other["spec"]["selector"] = {}
        assert not objects.same(other, item)
    outside = services(OUT)["payments-out-side-1"]
    moved = as_served(outside)
    moved["spec"]["ports"][0]["nodePort"] = 30999
    assert not objects.same(moved, outside)


def test_budgets_are_compared() -> None:
    """A budget that requires another number, or selects other pods, is another one."""
    budget = objects.budget(desired(), 2)
    assert budget["spec"]["selector"]["matchLabels"] == {names.LABEL_POOL: "payments", names.LABEL_ROLE: "broker"}
    assert objects.same(budget, objects.budget(desired(), 2))
    assert not objects.same(budget, objects.budget(desired(), 1))


def test_objects_of_others() -> None:
    """An object that something else controls is recognised, and one without a controller can be adopted."""
    item = objects.budget(desired(), 2)
    assert foreign_controller(item) is None
    other = copy.deepcopy(item)
    other["metadata"]["ownerReferences"][0]["kind"] = "KafkaQuorum"
    assert foreign_controller(other) is not None
    assert adoption(desired(), "7")["resourceVersion"] == "7"


def test_marks() -> None:
    """The gate is a condition of the pod's status; late properties are an annotation."""
    mark = objects.unfenced_mark(gate="True", message="m")
    assert mark["status"]["conditions"][0]["type"] == "kafkaquorum.io/unfenced"
    assert objects.late_mark("a=b\n") == {"metadata": {"annotations": {names.LATE: "a=b\n"}}}
