"""Properties that are known only after a pod was scheduled: the rack, and the addresses outside the cluster."""

from dataclasses import replace
from typing import Any

import pytest
from tests.brokers.looks import ORDERS, changed_pod, look, planned, ran, situation, view
from tests.brokers.values import desired, record

from kafka_brokers.model.actions import EvictPod, GiveLate, RecordChange, WriteRecord
from kafka_brokers.model.observed import KubeNode, Observed, Support
from kafka_brokers.model.pool import PoolDesired
from kafka_brokers.plan.late import late_properties, moved
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.pods import Waiting
from kit.token import Token

Json = dict[str, Any]
RACK = desired({"rack": {"topologyKey": "zone"}})
REPLICATION = "advertised.listeners=REPLICATION://payments-1.payments-brokers.kafka.svc:9091"
PENDING = Waiting(reason="", message="", last_exit=None)
ONE = NodeID(1)


def outside(external: str, **changes: Any) -> PoolDesired:  # noqa: ANN401 - any JSON
    """A listener inside, and one outside."""
    inside: Json = {"name": "PLAIN", "port": 9092}
    return desired({"listeners": [inside, {"name": "OUT", "port": 9094, "external": external, **changes}]})


def node(**changes: Any) -> tuple[tuple[str, Knowable[KubeNode]], ...]:  # noqa: ANN401 - any field
    """The Kubernetes node of broker 1."""
    known = KubeNode(name="worker-1", ready=True, labels=(("zone", "a"),))
    return (("worker-1", Known(value=replace(known, **changes))),)


def new(by: PoolDesired, **changes: Any) -> Observed:  # noqa: ANN401 - any field
    """A look after broker 1's pod was scheduled: it waits for what it needs."""
    of = look(ran(record(), by), by, **changes)
    return changed_pod(of, 1, needs_late=True, late=None, container=PENDING, host_ip="192.168.0.2", ready=False)


def reached(of: Observed, **changes: Any) -> Observed:  # noqa: ANN401 - any field
    """The look with these fields of the external service of broker 1."""
    name = "payments-out-1"
    rows = (replace(one, **changes) if one.name == name else one for one in of.support)
    return replace(of, support=tuple(rows))


def late(of: Observed, by: PoolDesired) -> Knowable[str]:
    """The late properties of broker 1."""
    pod = of.broker_pod(ONE)
    assert pod is not None
    return late_properties(situation(of, by), pod)


def given(of: Observed, by: PoolDesired) -> list[str]:
    """What is given to pods now."""
    return [one.properties for one in planned(of, by).actions if isinstance(one, GiveLate)]


def test_the_rack_is_that_of_the_kubernetes_node() -> None:
    """Its label, read after the pod was scheduled there."""
    of = new(RACK, kube_nodes=node())
    assert late(of, RACK) == Known(value="broker.rack=a\n")
    assert given(of, RACK) == ["broker.rack=a\n"]


NO_RACK: list[tuple[Knowable[KubeNode], str]] = [
    (Known(value=KubeNode(name="worker-1", ready=True)), "has no label zone"),
    (Known(value=KubeNode(name="worker-1", ready=True, labels=(("zone", ""),))), "has no label zone"),
    (Unknown(reason="timeout"), "timeout"),
]


@pytest.mark.parametrize(("found", "why"), NO_RACK)
def test_a_rack_that_is_not_known_is_waited_for(found: Knowable[KubeNode], why: str) -> None:
    """A broker without its rack would break the spread of replicas: it does not start, and that is told."""
    of = new(RACK, kube_nodes=(("worker-1", found),))
    answer = late(of, RACK)
    assert isinstance(answer, Unknown)
    assert why in answer.reason
    plan = planned(of, RACK)
    assert given(of, RACK) == []
    assert any(one.reason == "Starting" and why in one.message for one in plan.waits)


def test_the_addresses_of_node_ports() -> None:
    """The address of the Kubernetes node, or the template's host; the port that Kubernetes chose."""
    by = outside("NodePort")
    of = reached(new(by), node_ports=(("out", 31000),))
    inside = f"{REPLICATION},PLAIN://payments-1.payments-brokers.kafka.svc:9092"
    assert late(of, by) == Known(value=f"{inside},OUT://192.168.0.2:31000\n")
    six = changed_pod(of, 1, host_ip="fd00::2")
    assert late(six, by) == Known(value=f"{inside},OUT://[fd00::2]:31000\n")
    named = outside("NodePort", host="b{id}.example.org")
    there = reached(changed_pod(new(named), 1, host_ip=""), node_ports=(("out", 31000),))
    assert late(there, named) == Known(value=f"{inside},OUT://b1.example.org:31000\n")


def test_the_addresses_of_load_balancers() -> None:
    """Of the balancer, or the template's host; the port of the listener."""
    by = outside("LoadBalancer")
    inside = f"{REPLICATION},PLAIN://payments-1.payments-brokers.kafka.svc:9092"
    assert late(reached(new(by), ingress="lb.example.org"), by) == Known(value=f"{inside},OUT://lb.example.org:9094\n")
    named = outside("LoadBalancer", host="b{id}.example.org")
    assert late(new(named), named) == Known(value=f"{inside},OUT://b1.example.org:9094\n")


def test_an_address_that_is_not_known_is_waited_for() -> None:
    """No service, no node port, no address of the node or of the balancer: nothing is given."""
    ports, balancer = outside("NodePort"), outside("LoadBalancer")
    of = new(ports)
    without = replace(of, support=tuple(one for one in of.support if one.name != "payments-out-1"))
    for seen, by, why in (
        (without, ports, "does not exist yet"),
        (of, ports, "has no node port yet"),
        (reached(changed_pod(of, 1, host_ip=""), node_ports=(("out", 31000),)), ports, "is not known yet"),
        (new(balancer), balancer, "no address from a load balancer yet"),
    ):
        answer = late(seen, by)
        assert isinstance(answer, Unknown)
        assert why in answer.reason
        assert given(seen, by) == []


def test_a_pod_is_given_its_properties_once_and_after_it_was_scheduled() -> None:
    """Not before its place is known, not again, and not if it was made without such needs."""
    of = new(RACK, kube_nodes=node())
    assert given(changed_pod(of, 1, late="broker.rack=b\n"), RACK) == []
    assert given(changed_pod(of, 1, node_name=""), RACK) == []
    assert given(changed_pod(of, 1, needs_late=False), RACK) == []
    assert given(changed_pod(of, 1, deleting=True), RACK) == []


def test_a_service_of_the_same_name_and_another_kind_is_no_service() -> None:
    """Only services have addresses."""
    by = outside("NodePort")
    of = new(by)
    other = Support(kind="ConfigMap", name="payments-out-1", uid="x", resource_version="1", owner_uid=None)
    rows = (other, *(one for one in of.support if one.name != "payments-out-1"))
    assert isinstance(late(replace(of, support=rows), by), Unknown)


def running(said: str | None, **changes: Any) -> Observed:  # noqa: ANN401 - any field
    """Broker 1 runs, and was given these properties."""
    return changed_pod(look(ran(record(), RACK), RACK, seen=view(ORDERS), kube_nodes=node(**changes)), 1,
                       needs_late=True, late=said)  # fmt: skip


def test_a_broker_whose_rack_or_address_has_changed_is_outdated() -> None:
    """Only if the new value is known, and the pod was made with such needs."""
    assert moved(situation(running("broker.rack=a\n"), RACK), ONE) == ""
    assert moved(situation(running("broker.rack=b\n"), RACK), ONE) != ""
    assert moved(situation(running("broker.rack=b\n", labels=()), RACK), ONE) == ""
    assert moved(situation(running(None), RACK), ONE) == ""
    assert moved(situation(changed_pod(running("broker.rack=b\n"), 1, needs_late=False), RACK), ONE) == ""
    assert moved(situation(running("broker.rack=b\n"), RACK), NodeID(9)) == ""


def test_a_broker_at_a_new_address_is_restarted_by_a_roll() -> None:
    """Noted first, under rule 11; then evicted, although its revision is the present one."""
    ours = Known(value=Token(holder="pool/payments", since="", resource_version="1"))
    of = replace(running("broker.rack=b\n"), token=ours)
    (begun,) = planned(of, RACK).actions
    assert isinstance(begun, WriteRecord)
    assert (begun.change, [one.stopped for one in begun.record.brokers]) == (
        RecordChange.STOP_BEGUN,
        [False, True, False],
    )
    noted = replace(of, record=replace(begun.record, resource_version="8"))
    evicted = [one.pod.node_id for one in planned(noted, RACK).actions if isinstance(one, EvictPod)]
    assert evicted == [1]
