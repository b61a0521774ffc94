"""What every pod of plain manifests has so that a namespace under the restricted standard admits it."""

from typing import Final

from harness.shell import Json

USER_ID: Final = 1000
POD_SECURITY: Final[Json] = {
    "runAsNonRoot": True,
    "runAsUser": USER_ID,
    "runAsGroup": USER_ID,
    "fsGroup": USER_ID,
    "seccompProfile": {"type": "RuntimeDefault"},
}
CONTAINER_SECURITY: Final[Json] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}

RESOURCES: Final[Json] = {"requests": {"cpu": "100m"}}
"""As much CPU as a controller of the operator requests. A pod that requests none gets next to nothing while another one
on its Kubernetes node starts: a broker then acknowledges nothing for seconds.
"""


def apart(label: str, value: str) -> list[Json]:
    """Pods with this label go to as many workers as there are."""
    return [
        {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {label: value}},
        }
    ]


def claim(name: str, size: str = "1Gi") -> Json:
    """A claim of one pod's disk."""
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def variables(**values: str) -> list[Json]:
    """Environment variables of a container."""
    return [{"name": name, "value": value} for name, value in values.items()]
