"""Services and the disruption budget are applied: what others made under such a name is never taken over."""

import copy

import pytest
from tests.brokers.test_reconcile import KEY, Bench, at_rest
from tests.brokers.values import NAMESPACE

from kit.kube.protocol import BUDGETS, SERVICES, Json, ResourceType

SERVICE: Json = {"selector": {"app": "shop"}, "ports": [{"name": "http", "port": 80}]}
BUDGET: Json = {"minAvailable": 1, "selector": {"matchLabels": {"app": "shop"}}}


async def with_another(resource: ResourceType, name: str, metadata: Json, spec: Json) -> Bench:
    """A pool at rest, and an object of somebody else in the place of its own, after three passes."""
    bench = await at_rest()
    del bench.kube.objects[resource.plural, name]
    made = {"name": name, "namespace": NAMESPACE, "uid": "uid-of-another"} | metadata
    bench.kube.put(resource, {"metadata": made, "spec": copy.deepcopy(spec)})
    for _ in range(3):
        bench.reconciler.changed(KEY)
        await bench.run()
    return bench


@pytest.mark.parametrize(
    ("resource", "name", "spec"),
    [(SERVICES, "payments-bootstrap", SERVICE), (BUDGETS, "payments-brokers", BUDGET)],
    ids=["service", "budget"],
)
async def test_an_object_of_others_is_not_taken_over(resource: ResourceType, name: str, spec: Json) -> None:
    """It stays as it is, without an owner that it would be deleted with, and the status says what to do."""
    bench = await with_another(resource, name, {"labels": {"app": "shop"}}, spec)
    present = bench.kube.objects[resource.plural, name]
    assert (present["spec"], present["metadata"].get("ownerReferences")) == (spec, None)
    assert bench.condition("Progressing") == ("False", "ActionFailed")
    row = next(row for row in bench.status["conditions"] if row["type"] == "Progressing")
    assert f"Did not change {resource.kind} {name}: it is not this pool's. Delete it" in row["message"]


async def test_an_object_of_ours_that_lost_its_labels_is_taken_back() -> None:
    """Its owner still says whose it is."""
    owner = {"kind": "KafkaBrokerPool", "name": "payments", "uid": "pool-uid", "controller": True}
    bench = await with_another(SERVICES, "payments-bootstrap", {"ownerReferences": [owner]}, {})
    labels = bench.kube.objects[SERVICES.plural, "payments-bootstrap"]["metadata"]["labels"]
    assert labels["kafkaquorum.io/pool"] == "payments"
    assert bench.condition("Progressing")[1] != "ActionFailed"
