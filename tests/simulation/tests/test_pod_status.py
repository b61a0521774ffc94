"""What kubelets write: the rows of the containers, and the unchanged conditions of other writers."""

import pytest
from tests.simulation.model.clock import VirtualClock
from tests.simulation.model.kubernetes.kube_model import KubeModel
from tests.simulation.model.kubernetes.pod_status import rows_of, write_status

from kafka_quorum.model.names import GATE
from kit.kube.protocol import PODS, Json

ENDED: Json = {"exitCode": 1}
WAITING: Json = {"waiting": {"reason": "CrashLoopBackOff"}}
RUNNING: Json = {"running": {}}
LAST: Json = {"lastState": {"terminated": ENDED}}
PASSED: Json = {"name": "verify", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}
INITIALIZES: Json = {"name": "kafka", "state": {"waiting": {"reason": "PodInitializing"}}}


def pod(*, init: bool) -> Json:
    """A pod of Kafka, or one that only formats."""
    spec: Json = {"containers": [{"name": "kafka" if init else "format"}]}
    return {"metadata": {"name": "p"}, "spec": spec | ({"initContainers": [{"name": "verify"}]} if init else {})}


@pytest.mark.parametrize(
    ("state", "verified", "said", "started", "init", "main"),
    [
        (RUNNING, False, None, "", {"name": "verify", "state": RUNNING}, INITIALIZES),
        (
            WAITING,
            False,
            ENDED,
            "",
            {"name": "verify", "state": WAITING, **LAST},
            INITIALIZES,
        ),
        ({"terminated": ENDED}, False, None, "", {"name": "verify", "state": {"terminated": ENDED}}, INITIALIZES),
        ({"terminated": ENDED}, True, ENDED, "", PASSED, {"name": "kafka", "state": {"terminated": ENDED}, **LAST}),
        (RUNNING, True, None, "c-1", PASSED, {"name": "kafka", "state": RUNNING, "containerID": "c-1"}),
        (WAITING, True, ENDED, "", PASSED, {"name": "kafka", "state": WAITING, **LAST}),
    ],
    ids=["verifies", "is to verify again", "has refused", "has refused again", "runs", "is to run again"],
)
def test_rows_of_a_pod_of_kafka(
    *, state: Json, verified: bool, said: Json | None, started: str, init: Json, main: Json
) -> None:
    """First the init container runs, then Kafka; its last end is shown while it waits or runs."""
    rows = rows_of(pod(init=True), state, verified=verified, said=said, started=started)
    assert rows == {"initContainerStatuses": [init], "containerStatuses": [main]}


@pytest.mark.parametrize("verified", [True, False])
def test_rows_of_a_formatter(*, verified: bool) -> None:
    """A formatter has one container."""
    rows = rows_of(pod(init=False), RUNNING, verified=verified)
    assert rows == {"containerStatuses": [{"name": "format", "state": RUNNING}]}


def test_conditions_of_others_stay() -> None:
    """The kubelet writes its own two conditions, and keeps the operator's readiness gate."""
    kube = KubeModel(VirtualClock())
    made = kube.create(PODS, "kafka", pod(init=True))
    gated = kube.put_status(PODS, made, {"conditions": [{"type": GATE, "status": "True"}]})
    write_status(kube, gated, {"phase": "Running"})
    status = (kube.get(PODS, "kafka", "p") or {})["status"]
    assert status["phase"] == "Running"
    assert [row["type"] for row in status["conditions"]] == ["PodScheduled", "Initialized", GATE]
