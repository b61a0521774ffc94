"""What is read of a StatefulSet or Deployment, as Kubernetes writes its status."""

from typing import Any

import pytest

from kafka_streams.model.adoption import WorkloadKind
from kafka_streams.observe.workload import workload_from
from kit.kube.protocol import Json

ONE_REVISION = {"currentRevision": "app-2", "updateRevision": "app-2"}
TWO_REVISIONS = {"currentRevision": "app-1", "updateRevision": "app-2"}
UPDATING = "its pods are not all of one revision: an update of it is under way"
STATUSES: list[tuple[WorkloadKind, Json, str]] = [
    (WorkloadKind.STATEFUL_SET, ONE_REVISION, ""),
    (WorkloadKind.STATEFUL_SET, TWO_REVISIONS, UPDATING),
    (WorkloadKind.STATEFUL_SET, {**TWO_REVISIONS, "updatedReplicas": 2}, UPDATING),
    (WorkloadKind.STATEFUL_SET, {**TWO_REVISIONS, "updatedReplicas": 3}, ""),
    (WorkloadKind.DEPLOYMENT, {"updatedReplicas": 2}, UPDATING),
    (WorkloadKind.DEPLOYMENT, {}, UPDATING),
    (WorkloadKind.DEPLOYMENT, {"updatedReplicas": 3}, ""),
]


@pytest.mark.parametrize(("kind", "status", "why"), STATUSES)
def test_an_update_that_is_under_way(kind: WorkloadKind, status: dict[str, Any], why: str) -> None:
    """All pods of one revision are enough: with OnDelete, the current revision of a StatefulSet stays as it was."""
    item = {
        "metadata": {"name": "app", "uid": "u", "resourceVersion": "1", "generation": 4},
        "spec": {"replicas": 3, "updateStrategy": {"type": "OnDelete"}},
        "status": {"observedGeneration": 4, "replicas": 3, "readyReplicas": 3, **status},
    }
    assert workload_from(item, kind).unsettled == why
