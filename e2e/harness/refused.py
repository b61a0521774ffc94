"""Specs whose pods cannot be created, and the conditions that report them. No I/O."""

from typing import Any, Final, TypeAlias

Json: TypeAlias = dict[str, Any]


def resources(requests: str, limits: str) -> Json:
    """Memory of Kafka's container, as a part of a pod's spec."""
    memory = {"requests": {"memory": requests}, "limits": {"memory": limits}}
    return {"containers": [{"name": "kafka", "resources": memory}]}


POD_SPECS: Final[dict[str, Json]] = {
    "memory": resources("2Gi", "1Gi"),
    "service-account": {"serviceAccountName": "none-of-this-name"},
    "node-selector": {"nodeSelector": {"disk": True}},
    "root": {"securityContext": {"runAsNonRoot": False}},
    "priority-class": {"priorityClassName": "none-of-this-name"},
    "security-context": {"securityContext": "restricted"},
}
"""What a template's pod spec must not have: refused by the resource's schema, by the operator, or with the pod."""

_NAMED: Final = frozenset(
    {
        ("SpecAccepted", "False", "InvalidSpec"),
        ("Progressing", "False", "RollHeld"),
        ("Progressing", "True", "ActionFailed"),
        ("Degraded", "True", "ActionFailed"),
    }
)


def condition_that_names_it(resource: Json) -> Json | None:
    """The condition that names what is wrong with the spec or its pods, if one is about this generation."""
    generation = resource["metadata"]["generation"]
    rows: list[Json] = (resource.get("status") or {}).get("conditions", [])
    current = (row for row in rows if row.get("observedGeneration") == generation)
    return next((row for row in current if (row["type"], row["status"], row["reason"]) in _NAMED), None)
