"""What a kubelet writes into the status of the operator's pods: the same for modelled and for real processes."""

from tests.simulation.model.kubernetes.kube_model import KubeModel

from kafka_quorum.model.names import KAFKA_CONTAINER, VERIFY_CONTAINER
from kit.kube.protocol import PODS, Json

_OWN = ("PodScheduled", "Initialized")
_VERIFIED: Json = {"name": VERIFY_CONTAINER, "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}
_WAITS: Json = {"name": KAFKA_CONTAINER, "state": {"waiting": {"reason": "PodInitializing"}}}


def rows_of(
    pod: Json,
    state: Json,
    *,
    verified: bool,
    said: Json | None = None,
    started: str = "",
    passed: Json | None = None,
) -> Json:
    """The rows of the containers; the present container has this state.

    `verified`: the init container has passed. `said` is how the present one ended before this state, `started` is its
    id, and `passed` is how the init container ended.
    """
    last = {"lastState": {"terminated": said}} if said else {}
    if not pod["spec"].get("initContainers"):
        return {"containerStatuses": [{"name": pod["spec"]["containers"][0]["name"], "state": state}]}
    if not verified:
        row = {"name": VERIFY_CONTAINER, "state": state, **last}
        return {"initContainerStatuses": [row], "containerStatuses": [_WAITS]}
    row = {"name": KAFKA_CONTAINER, "state": state, **last, **({"containerID": started} if started else {})}
    verify = _VERIFIED if passed is None else {"name": VERIFY_CONTAINER, "state": {"terminated": passed}}
    return {"initContainerStatuses": [verify], "containerStatuses": [row]}


def write_status(kube: KubeModel, pod: Json, status: Json) -> None:
    """Write the kubelet's part of a status; conditions of other writers stay."""
    own = [{"type": kind, "status": "True"} for kind in _OWN]
    others = [row for row in pod.get("status", {}).get("conditions", []) if row["type"] not in _OWN]
    kube.put_status(PODS, pod, {**status, "conditions": [*own, *others]})
