"""The pods of a plan, built."""

import pytest
from tests.model.values import desired, revision, running, runtime

from kafka_quorum.act.building import Context, Unbuildable, kafka_pod
from kafka_quorum.model.ids import NodeID


def context(image: str) -> Context:
    """A pass of an operator whose own image is this one."""
    return Context(desired=desired(), record=running(), resource={}, spec={}, agent_image=image)


def test_no_metrics_without_the_operators_image() -> None:
    """An operator that does not know its image builds no pod with metrics, and names the variable."""
    with pytest.raises(Unbuildable, match="KQ_OPERATOR_IMAGE"):
        kafka_pod(NodeID(3000), revision(runtime(jmx=True)), "cfg", context(""), "Never")
    assert kafka_pod(NodeID(3000), revision(), "cfg", context(""), "Never")["kind"] == "Pod"
    made = kafka_pod(NodeID(3000), revision(runtime(jmx=True)), "cfg", context("operator:1"), "Never")
    assert made["spec"]["initContainers"][1]["image"] == "operator:1"
