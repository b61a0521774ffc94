"""Objects that `kubectl delete --cascade=orphan` leaves behind are adopted by the resource that is applied again."""

from dataclasses import replace

import pytest
from tests.model.values import SILENT, at_rest, with_pod
from tests.plan.reading import every, only, planned, wait

from kafka_quorum.model.actions import AdoptConfig, ApplyBudget, ApplyService, MarkPod
from kafka_quorum.model.memory import Memory
from kafka_quorum.plan.pods.marks import UNKNOWN_AFTER_LOOKS


@pytest.mark.parametrize(
    ("kind", "action"),
    [("Service", ApplyService), ("PodDisruptionBudget", ApplyBudget), ("ConfigMap", AdoptConfig)],
)
def test_an_orphan_is_adopted(kind: str, action: type) -> None:
    """An object of ours without an owner gets one, even if nothing else about it changed."""
    rows = tuple(replace(one, owner_uid=None if one.kind == kind else one.owner_uid) for one in at_rest().support)
    assert [type(one) for one in planned(at_rest(support=rows)).actions] == [action]


def test_an_orphaned_pod_is_adopted() -> None:
    """A Kafka pod without an owner is marked again, which sets its owner; its voter label and its gate stay."""
    mark = only(planned(with_pod(at_rest(), 3001, owner_uid=None)), MarkPod)
    assert (mark.pod.node_id, mark.voter, mark.gate) == (3001, True, "True")


def test_an_orphaned_pod_is_adopted_without_a_leader() -> None:
    """If there is no leader for some time, an orphaned pod is adopted, and its gate shows that there is none."""
    orphan = with_pod(at_rest(quorum=SILENT), 3001, owner_uid=None, gate="Unknown")
    assert not every(planned(orphan), MarkPod)
    marked = every(planned(replace(orphan, memory=Memory(unknown_looks=UNKNOWN_AFTER_LOOKS))), MarkPod)
    assert [mark.gate for mark in marked if mark.pod.node_id == orphan.pods[1].node_id] == ["Unknown"]


def test_a_pod_of_an_earlier_resource_is_not_adopted() -> None:
    """A pod that an earlier resource of this name owns is not adopted: Kubernetes deletes it."""
    said = planned(with_pod(at_rest(), 3001, owner_uid="earlier"))
    assert said.actions == ()
    assert "alpha-3001-g1" in wait(said, "EarlierResourceEnds").message
