"""What `kubectl delete --cascade=orphan` leaves behind belongs to the resource that is applied again."""

from dataclasses import replace

import pytest
from tests.model.values import at_rest
from tests.plan.reading import planned

from kafka_quorum.model.actions import AdoptConfig, ApplyBudget, ApplyService


@pytest.mark.parametrize(
    ("kind", "action"),
    [("Service", ApplyService), ("PodDisruptionBudget", ApplyBudget), ("ConfigMap", AdoptConfig)],
)
def test_an_orphan_is_adopted(kind: str, action: type) -> None:
    """An object of ours without an owner gets one, although nothing else about it has changed."""
    rows = tuple(replace(one, owner_uid=None if one.kind == kind else one.owner_uid) for one in at_rest().support)
    assert [type(one) for one in planned(at_rest(support=rows)).actions] == [action]
