"""Kubernetes nodes that are looked up before a controller is stopped on purpose."""

import pytest
from tests.model.values import at_rest, desired, situation, with_pod

from kafka_quorum.model.observed import Observed
from kafka_quorum.model.pods import Waiting
from kafka_quorum.plan.facts.places import nodes_of_next

STARTS = Waiting(reason="ContainerCreating", message="", last_exit=None)


@pytest.mark.parametrize(
    ("look", "names"),
    [
        (at_rest(), ("worker-3001", "worker-3002")),
        (with_pod(at_rest(), 3001, container=STARTS), ("worker-3002",)),
        (with_pod(at_rest(), 3001, node_name=""), ("worker-3002",)),
    ],
    ids=["both run", "one does not run", "one without a node"],
)
def test_nodes_of_running_controllers(look: Observed, names: tuple[str, ...]) -> None:
    """Of the controllers that leave, the nodes of those that run are looked up, because only these are stopped."""
    assert nodes_of_next(situation(desired=desired(replicas=1), observed=look)) == names
