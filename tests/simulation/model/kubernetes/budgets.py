"""Evictions as the API server grants them: every disruption budget is checked, and two are refused.

A pod counts as ready when its containers run and its gate, if it has one, is open. A pod that is being deleted does not
count. The budget is `minAvailable` as a number, over the pods that its selector matches.
"""

from tests.simulation.model.kubernetes.kube_model import KubeModel
from tests.simulation.model.kubernetes.pool_pods import LABEL_POOL

from kit.errors import KubeHeld, KubeNotFound, KubeRefused
from kit.kube.protocol import BUDGETS, PODS, Json


def evict(
    kube: KubeModel, namespace: str, name: str, *, uid: str, resource_version: str, dry_run: bool = False
) -> None:
    """Evict exactly this pod; `KubeHeld` if a budget forbids it, else the pod is deleted, unless it is a dry run."""
    pod = kube.get(PODS, namespace, name)
    if pod is None:
        raise KubeNotFound(f"pods {name!r} not found")
    kube.check(PODS, pod, uid=uid, resource_version=resource_version)
    if "deletionTimestamp" not in pod["metadata"]:
        selecting = [budget for budget in kube.list(BUDGETS, namespace, {}) if _selects(budget, pod)]
        if len(selecting) > 1:
            raise KubeRefused(
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
            )
        for budget in selecting:
            _grant(kube, budget, pod)
    if not dry_run:
        kube.delete(PODS, namespace, name, uid=uid, resource_version=resource_version)


def is_ready(pod: Json) -> bool:
    """Whether a pod counts for a budget."""
    status = pod.get("status") or {}
    rows = status.get("containerStatuses") or []
    gates = [gate["conditionType"] for gate in pod["spec"].get("readinessGates") or []]
    true = {row["type"] for row in status.get("conditions") or [] if row["status"] == "True"}
    runs = bool(rows) and all("running" in (row.get("state") or {}) for row in rows)
    return runs and true.issuperset(gates) and "deletionTimestamp" not in pod["metadata"]


def with_ready(pod: Json) -> Json:
    """A broker's pod, as it is listed, with its condition Ready."""
    if LABEL_POOL in (pod["metadata"].get("labels") or {}):
        status = pod.setdefault("status", {})
        status["conditions"] = [row for row in status.get("conditions") or [] if row["type"] != "Ready"]
        status["conditions"].append({"type": "Ready", "status": str(is_ready(pod))})
    return pod


def _labels(budget: Json) -> dict[str, str]:
    return ((budget.get("spec") or {}).get("selector") or {}).get("matchLabels") or {}


def _selects(budget: Json, pod: Json) -> bool:
    return _labels(budget).items() <= (pod["metadata"].get("labels") or {}).items()


def _grant(kube: KubeModel, budget: Json, pod: Json) -> None:
    spec, labels = budget.get("spec") or {}, _labels(budget)
    least = int(spec.get("minAvailable", 0))
    ready = [one for one in kube.list(PODS, budget["metadata"]["namespace"], labels) if is_ready(one)]
    left = sum(one["metadata"]["uid"] != pod["metadata"]["uid"] for one in ready)
    if left < least:
        name = budget["metadata"]["name"]
        raise KubeHeld(
            f"Cannot evict pod as it would violate the pod's disruption budget: the budget {name} needs {least} "
            f"healthy pods and has {len(ready)} currently"
        )
