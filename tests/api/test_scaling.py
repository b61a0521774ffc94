"""What set the number of replicas last, as the API server records it."""

import pytest

from kafka_quorum.api.scaling import autoscaler_of
from kit.kube.protocol import Json

REPLICAS: Json = {"f:spec": {"f:controllers": {"f:replicas": {}, "f:storage": {}}}}


def entry(manager: str, at: str, subresource: str = "", fields: Json | None = None) -> Json:
    """An entry of metadata.managedFields."""
    row = {"manager": manager, "operation": "Update", "time": at, "fieldsV1": REPLICAS if fields is None else fields}
    return {**row, "subresource": subresource} if subresource else row


SCALED = entry("kube-controller-manager", "2026-01-02T00:00:00Z", "scale")


def test_autoscaler_is_named() -> None:
    """A HorizontalPodAutoscaler, which writes through /scale as kube-controller-manager, is named, with its time."""
    said = autoscaler_of({"managedFields": [entry("kubectl-create", "2026-01-01T00:00:00Z", fields={}), SCALED]})
    assert SCALED["manager"] in said
    assert SCALED["time"] in said


@pytest.mark.parametrize(
    "managed",
    [
        None,
        "no list",
        [],
        ["no object"],
        [entry("kubectl", "2026-01-02T00:00:00Z", "scale")],
        [entry("kube-controller-manager", "2026-01-02T00:00:00Z", "status")],
        [entry("kube-controller-manager", "2026-01-02T00:00:00Z", "scale", {"f:metadata": {}})],
        [SCALED, entry("kubectl", "2026-01-03T00:00:00Z", "scale")],
        [SCALED, entry("argocd", "2026-01-03T00:00:00Z")],
    ],
)
def test_anybody_else_is_not(managed: object) -> None:
    """A person's tool, another field, or an unreadable entry is no autoscaler."""
    assert autoscaler_of({"managedFields": managed}) == ""
