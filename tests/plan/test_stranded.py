"""Pods that do not end, because their Kubernetes node is down: before the start only a person can give the node up."""

from dataclasses import replace

from tests.golden.facts import mentions
from tests.model.values import SILENT, at_rest, bound, formatter, node, with_pod
from tests.plan.reading import every, planned, wait

from kafka_quorum.model.actions import DeletePod
from kafka_quorum.model.known import Known
from kafka_quorum.model.observed import KubeNode, Observed
from kafka_quorum.model.plan import Severity


def ending_formatter(*, ready: bool) -> Observed:
    """The formatter of 3000 is being deleted, and its Kubernetes node is ready or not."""
    record = bound()
    pod = replace(formatter(record, node(record, 3000)), deleting=True, node_name="worker-a")
    answers = (("worker-a", Known(value=KubeNode(name="worker-a", exists=True, ready=ready))),)
    return replace(at_rest(record), pods=(pod,), kube_nodes=answers)


def test_formatter_on_a_dead_node_is_named() -> None:
    """Before the start nothing is forced: the wait names the Kubernetes node, the pod and the claim."""
    said = planned(ending_formatter(ready=False))
    told = wait(said, "NodeDown")
    assert (told.severity, told.node_id) == (Severity.DEGRADED, 3000)
    assert mentions(told.message, "alpha-3000-g1-format", "alpha-3000-g1")
    assert "worker-a" in told.message


def test_formatter_on_a_live_node_is_waited_for() -> None:
    """On a ready Kubernetes node the kubelet ends the formatter, so it is waited for."""
    said = planned(ending_formatter(ready=True))
    assert wait(said, "Formatting").severity is Severity.PROGRESS


def ending_pod(*, ready: bool) -> Observed:
    """The pod of 3001 is being deleted in a quorum without a leader, and its Kubernetes node is ready or not."""
    answers = (("worker-b", Known(value=KubeNode(name="worker-b", exists=True, ready=ready))),)
    look = with_pod(at_rest(quorum=SILENT), 3001, deleting=True, node_name="worker-b")
    return replace(look, kube_nodes=answers)


def test_pod_that_cannot_end_is_named_with_the_way_out() -> None:
    """Without a leader the operator forces nothing: a person brings the Kubernetes node back, or deletes the pod."""
    said = planned(ending_pod(ready=False))
    assert every(said, DeletePod) == []
    told = wait(said, "NodeDown")
    assert (told.severity, told.node_id) == (Severity.DEGRADED, 3001)
    assert mentions(told.message, "alpha-3001-g1", "worker-b")


def test_pod_on_a_live_node_is_waited_for() -> None:
    """On a ready Kubernetes node the kubelet ends the pod, so it is waited for."""
    assert wait(planned(ending_pod(ready=True)), "PodEnds").severity is Severity.PROGRESS
