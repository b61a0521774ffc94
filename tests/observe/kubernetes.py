"""Kubernetes objects as an API server writes them, for a test to change."""

from typing import Any, Final

from tests.model.values import CLUSTER, NAME, NAMESPACE, UID, claim_uid, directory, revision

from kafka_quorum.model import names

Json = dict[str, Any]
STARTED_AT: Final = "2026-01-01T00:00:00Z"
GOOD: Final = {
    "script": 2,
    "found": "formatted",
    "clusterID": CLUSTER,
    "nodeID": "3000",
    "directoryID": directory(3000),
    "mode": "InitialControllers",
    "accepted": True,
    "message": "as expected",
}
EMPTY: Final = {
    "script": 2,
    "found": "empty",
    "clusterID": "",
    "nodeID": "",
    "directoryID": "",
    "mode": "InitialControllers",
    "accepted": False,
    "message": "the disk is empty",
}


def metadata(name: str, **more: Any) -> Json:  # noqa: ANN401 - any JSON
    """Metadata of an object of the quorum `alpha`."""
    plain = {
        "name": name,
        "namespace": NAMESPACE,
        "uid": f"uid-of-{name}",
        "resourceVersion": "41",
        "labels": {names.LABEL_QUORUM: NAME},
        "creationTimestamp": STARTED_AT,
        "managedFields": [{"manager": "kafka-quorum-operator"}],
    }
    return plain | more


def owned(uid: str = UID) -> list[Json]:
    """The owner references of an object that a KafkaQuorum controls."""
    return [
        {"apiVersion": "kafkaquorum.io/v1alpha1", "kind": "KafkaQuorum", "name": NAME, "uid": uid, "controller": True}
    ]


def running() -> Json:
    """A container's state."""
    return {"running": {"startedAt": STARTED_AT}}


def waiting(reason: str, message: str = "") -> Json:
    """A container's state."""
    return {"waiting": {"reason": reason, **({"message": message} if message else {})}}


def terminated(code: int, message: str = "", reason: str = "Error", finished_at: str = "2026-01-01T00:00:10Z") -> Json:
    """A container's state."""
    return {
        "terminated": {
            "exitCode": code,
            "reason": reason,
            "message": message,
            "startedAt": STARTED_AT,
            "finishedAt": finished_at,
            "containerID": "containerd://x",
        }
    }


def container(name: str, state: Json, last: Json | None = None) -> Json:
    """A container's row in a pod's status."""
    return {"name": name, "state": state, "lastState": last or {}, "ready": "running" in state, "restartCount": 0}


def pod(
    role: str = "controller",
    *,
    main: Json | None = None,
    init: Json | None = None,
    changes: Json | None = None,
    status: Json | None = None,
) -> Json:
    """A pod of controller 3000; `main` and `init` are rows of its containers."""
    suffix = "" if role == "controller" else "-format"
    name = f"{NAME}-3000-g1{suffix}"
    labels = {names.LABEL_QUORUM: NAME, names.LABEL_ROLE: role, names.LABEL_NODE: "3000"}
    annotations = {
        names.CLUSTER_ID: CLUSTER,
        names.DIRECTORY_ID: directory(3000),
        names.CLAIM_UID: claim_uid(3000),
        names.MODE: "InitialControllers",
        names.REVISION: revision().name,
        names.CONFIG: "alpha-config-0123456789",
    }
    said: Json = {
        "phase": "Running",
        "podIP": "10.244.1.7",
        "conditions": [
            {"type": "PodScheduled", "status": "True"},
            {"type": names.GATE, "status": "True", "reason": "QuorumObserved"},
        ],
    }
    if main is not None:
        said["containerStatuses"] = [main]
    if init is not None:
        said["initContainerStatuses"] = [init]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata(name, labels=labels, annotations=annotations, ownerReferences=owned()) | (changes or {}),
        "spec": {
            "nodeName": "worker-1",
            "volumes": [
                {"name": "data", "persistentVolumeClaim": {"claimName": f"{NAME}-3000-g1"}},
                {"name": "config", "configMap": {"name": "alpha-config-0123456789"}},
                {"name": "tmp", "emptyDir": {}},
            ],
        },
        "status": said | (status or {}),
    }


def claim(changes: Json | None = None, status: Json | None = None) -> Json:
    """The claim of controller 3000."""
    labels = {names.LABEL_QUORUM: NAME, names.LABEL_NODE: "3000"}
    annotations = {
        names.CLUSTER_ID: CLUSTER,
        names.DIRECTORY_ID: directory(3000),
        names.PHASE: "Started",
        names.GENERATION: "1",
        "pv.kubernetes.io/bind-completed": "yes",
        "volume.kubernetes.io/selected-node": "worker-1",
    }
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata(f"{NAME}-3000-g1", uid=claim_uid(3000), labels=labels, annotations=annotations)
        | (changes or {}),
        "spec": {"resources": {"requests": {"storage": "10Gi"}}, "volumeName": "pvc-1"},
        "status": {"phase": "Bound", "capacity": {"storage": "10Gi"}} | (status or {}),
    }
