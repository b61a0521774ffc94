"""Evictions as the API server grants them: a disruption budget has a word in each of them.

A pod counts as ready when its containers run and its gate, where it has one, is open; one that is on its way out does
not. The budget is `minAvailable` as a number, over the pods that its selector matches.
"""

from tests.simulation.model.kubernetes.kube_model import KubeModel

from kit.errors import KubeHeld
from kit.kube.protocol import BUDGETS, PODS, Json


def evict(kube: KubeModel, namespace: str, name: str, *, uid: str, resource_version: str) -> None:
    """Evict exactly this pod; `KubeHeld` where a budget does not let it go, else as a deletion."""
    pod = kube.get(PODS, namespace, name)
    if pod is not None and "deletionTimestamp" not in pod["metadata"]:
        kube.check(PODS, pod, uid=uid, resource_version=resource_version)
        for budget in kube.list(BUDGETS, namespace, {}):
            _grant(kube, budget, pod)
    kube.delete(PODS, namespace, name, uid=uid, resource_version=resource_version)


def is_ready(pod: Json) -> bool:
    """Whether a pod counts for a budget."""
    status = pod.get("status") or {}
    rows = status.get("containerStatuses") or []
    gates = [gate["conditionType"] for gate in pod["spec"].get("readinessGates") or []]
    true = {row["type"] for row in status.get("conditions") or [] if row["status"] == "True"}
    runs = bool(rows) and all("running" in (row.get("state") or {}) for row in rows)
    return runs and true.issuperset(gates) and "deletionTimestamp" not in pod["metadata"]


def _grant(kube: KubeModel, budget: Json, pod: Json) -> None:
    spec = budget.get("spec") or {}
    labels = (spec.get("selector") or {}).get("matchLabels") or {}
    if not labels.items() <= (pod["metadata"].get("labels") or {}).items():
        return
    least = int(spec.get("minAvailable", 0))
    ready = [one for one in kube.list(PODS, budget["metadata"]["namespace"], labels) if is_ready(one)]
    left = sum(one["metadata"]["uid"] != pod["metadata"]["uid"] for one in ready)
    if left < least:
        name = budget["metadata"]["name"]
        raise KubeHeld(
            f"Cannot evict pod as it would violate the pod's disruption budget: the budget {name} needs {least} "
            f"healthy pods and has {len(ready)} currently"
        )
