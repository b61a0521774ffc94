"""What sets the number of replicas: an autoscaler, by the API server's record of the last writer of a field."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

AUTOSCALERS: Final = frozenset({"horizontal-pod-autoscaler", "keda-operator", "kube-controller-manager"})
"""The field managers that write to /scale on their own. A HorizontalPodAutoscaler acts as kube-controller-manager."""
_PATH: Final = ("f:spec", "f:controllers", "f:replicas")


def autoscaler_of(metadata: Mapping[str, Any]) -> str:
    """A sentence that an autoscaler set `spec.controllers.replicas` last; empty if it did not, or it is unknown.

    A field that a person's tool owns too, or has written since, belongs to that person.
    """
    owners = [entry for entry in _entries(metadata.get("managedFields")) if _owns(entry.get("fieldsV1"))]
    if not owners:
        return ""
    last = max(owners, key=lambda entry: str(entry.get("time") or ""))
    if last.get("manager") not in AUTOSCALERS or last.get("subresource") != "scale":
        return ""
    return (
        f"spec.controllers.replicas was set by {last['manager']} through /scale at {last.get('time')}, as a "
        "HorizontalPodAutoscaler does. More controllers do not take more load, and each change is a change of the "
        "voter set. Delete the autoscaler (kubectl get hpa), and set the number of replicas yourself"
    )


def _entries(managed: object) -> Iterable[Mapping[str, Any]]:
    return [entry for entry in managed if isinstance(entry, Mapping)] if isinstance(managed, list) else []


def _owns(fields: object) -> bool:
    found: object = fields
    for part in _PATH:
        found = found.get(part) if isinstance(found, Mapping) else None
    return found is not None
