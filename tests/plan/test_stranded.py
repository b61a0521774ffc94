"""Pods on dead Kubernetes nodes that end nowhere: before there is a quorum only a person can give a node up."""

from dataclasses import replace

from tests.golden.facts import mentions
from tests.model.values import at_rest, bound, formatter, node
from tests.plan.reading import planned, wait

from kafka_quorum.model.known import Known
from kafka_quorum.model.observed import KubeNode, Observed
from kafka_quorum.model.plan import Severity


def ending_formatter(*, ready: bool) -> Observed:
    """The formatter of 3000 is on its way out, and its node is ready or not."""
    record = bound()
    pod = replace(formatter(record, node(record, 3000)), deleting=True, node_name="worker-a")
    answers = (("worker-a", Known(value=KubeNode(name="worker-a", present=True, ready=ready))),)
    return replace(at_rest(record), pods=(pod,), kube_nodes=answers)


def test_formatter_on_a_dead_node_is_named() -> None:
    """Nothing is forced before the quorum started: the node, the pod and the way to another node are named."""
    said = planned(ending_formatter(ready=False))
    told = wait(said, "NodeDown")
    assert (told.severity, told.node_id) == (Severity.DEGRADED, 3000)
    assert mentions(told.message, "alpha-3000-g1-format", "alpha-3000-g1")
    assert "worker-a" in told.message


def test_formatter_on_a_live_node_is_waited_for() -> None:
    """A kubelet that is there ends it by itself."""
    said = planned(ending_formatter(ready=True))
    assert wait(said, "Formatting").severity is Severity.PROGRESS
