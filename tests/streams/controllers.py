"""Kubernetes' own controllers of StatefulSets, Deployments and ReplicaSets, and its garbage collector, as they act.

They act between any two requests of the operator, as their source says. Nothing is created for an object that is being
deleted. Pods without a controller whose labels match are adopted, and those whose labels do not match any more are
released. An orphaning deletion ends when no dependent names its owner. What has only owners that are gone is deleted.
"""

from typing import Final

from tests.simulation.model.kubernetes.kube_model import ORPHAN, KubeModel, claims_of

from kit.errors import KubeNotFound
from kit.kube.protocol import CLAIMS, DEPLOYMENTS, PODS, REPLICA_SETS, STATEFUL_SETS, Json, ResourceType

NAMESPACE: Final = "apps"
LABELS: Final = {"app": "counting"}
_OWNERS: Final = (STATEFUL_SETS, DEPLOYMENTS, REPLICA_SETS)


class Broken(AssertionError):
    """A rule does not hold."""


def container(image: str) -> Json:
    """The application's container, as a template has it."""
    return {"name": "app", "image": image}


def stateful_set(image: str, *, replicas: int = 3) -> Json:
    """A StatefulSet with a claim for each pod."""
    mounted = container(image) | {"volumeMounts": [{"name": "data", "mountPath": "/state"}]}
    return {
        "metadata": {"name": "app", "annotations": {"kafkaquorum.io/adopt": "counts"}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": LABELS},
            "template": {
                "metadata": {"labels": LABELS},
                "spec": {"securityContext": {"runAsUser": 1000}, "containers": [mounted]},
            },
            "volumeClaimTemplates": [{"metadata": {"name": "data"}}],
        },
    }


def deployment(image: str, *, replicas: int = 3) -> Json:
    """A Deployment."""
    return {
        "metadata": {"name": "app", "annotations": {"kafkaquorum.io/adopt": "counts"}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": LABELS},
            "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [container(image)]}},
        },
    }


class Controllers:
    """All of them, over one API server."""

    def __init__(self, model: KubeModel) -> None:
        """They look at this API server."""
        self.model = model
        self._serial = 0

    def act(self) -> None:
        """Each acts once. The collector does one thing at a time."""
        for item in list(self.model.all(DEPLOYMENTS)):
            self._deployment(item)
        for item in list(self.model.all(REPLICA_SETS)):
            self._replica_set(item)
        for item in list(self.model.all(STATEFUL_SETS)):
            self._stateful_set(item)
        self._collect()

    # what owns what

    def _take(self, kind: ResourceType, item: Json, controller: Json, owner_kind: str) -> None:
        """Adopt what matches and has no controller; release what does not match."""
        owner = {"kind": owner_kind, "name": controller["metadata"]["name"], "uid": controller["metadata"]["uid"]}
        owners = item["metadata"].get("ownerReferences") or []
        matches = LABELS.items() <= (item["metadata"].get("labels") or {}).items()
        mine = any(one["uid"] == owner["uid"] for one in owners)
        if matches and not any(one.get("controller") for one in owners) and "deletionTimestamp" not in item["metadata"]:
            self._owned(kind, item, [*owners, owner | {"apiVersion": "apps/v1", "controller": True}])
        elif mine and not matches:
            self._owned(kind, item, [one for one in owners if one["uid"] != owner["uid"]])

    def _owned(self, kind: ResourceType, item: Json, owners: list[Json]) -> None:
        name = item["metadata"]["name"]
        self.model.patch(kind, NAMESPACE, name, {"metadata": {"ownerReferences": owners}})

    def _of(self, kind: ResourceType, controller: Json) -> list[Json]:
        uid = controller["metadata"]["uid"]
        rows = list(self.model.all(kind))
        return [row for row in rows if any(one["uid"] == uid for one in row["metadata"].get("ownerReferences") or [])]

    # each kind

    def _deployment(self, item: Json) -> None:
        if "deletionTimestamp" in item["metadata"]:
            return
        for one in list(self.model.all(REPLICA_SETS)):
            self._take(REPLICA_SETS, one, item, "Deployment")
        image = item["spec"]["template"]["spec"]["containers"][0]["image"]
        owned = self._of(REPLICA_SETS, item)
        if not any(one["spec"]["template"]["spec"]["containers"][0]["image"] == image for one in owned):
            self._serial += 1
            spec = {"replicas": item["spec"]["replicas"], "template": item["spec"]["template"]}
            name, uid = item["metadata"]["name"], item["metadata"]["uid"]
            owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": uid, "controller": True}
            metadata = {"name": f"{name}-{self._serial}", "labels": LABELS, "ownerReferences": [owner]}
            self.model.create(REPLICA_SETS, NAMESPACE, {"metadata": metadata, "spec": spec})
        pods = [pod for one in self._of(REPLICA_SETS, item) for pod in self._of(PODS, one)]
        self._status(DEPLOYMENTS, item, pods, updatedReplicas=len(pods))

    def _replica_set(self, item: Json) -> None:
        if "deletionTimestamp" in item["metadata"]:
            return
        for pod in list(self.model.all(PODS)):
            self._take(PODS, pod, item, "ReplicaSet")
        live = [pod for pod in self._of(PODS, item) if "deletionTimestamp" not in pod["metadata"]]
        for _ in range(item["spec"]["replicas"] - len(live)):
            self._serial += 1
            self._pod(item, f"{item['metadata']['name']}-{self._serial:05d}", "ReplicaSet", [])
        for pod in live[item["spec"]["replicas"] :]:
            self.model.delete(PODS, NAMESPACE, pod["metadata"]["name"])
        self._status(REPLICA_SETS, item, live)

    def _stateful_set(self, item: Json) -> None:
        if "deletionTimestamp" in item["metadata"]:
            return
        name = item["metadata"]["name"]
        for pod in list(self.model.all(PODS)):
            if pod["metadata"]["name"].startswith(f"{name}-") and pod["metadata"]["name"][len(name) + 1 :].isdigit():
                self._take(PODS, pod, item, "StatefulSet")
        first = (item["spec"].get("ordinals") or {}).get("start", 0)
        for ordinal in range(first, first + item["spec"]["replicas"]):
            pod_name = f"{name}-{ordinal}"
            if self.model.view(PODS, NAMESPACE, pod_name) is None:
                self._claim(f"data-{pod_name}")
                volume = {"name": "data", "persistentVolumeClaim": {"claimName": f"data-{pod_name}"}}
                self._pod(item, pod_name, "StatefulSet", [volume])
        self._status(STATEFUL_SETS, item, self._of(PODS, item), currentRevision="r1", updateRevision="r1")

    def _claim(self, name: str) -> None:
        if self.model.view(CLAIMS, NAMESPACE, name) is None:
            made = self.model.create(CLAIMS, NAMESPACE, {"metadata": {"name": name, "labels": LABELS}, "spec": {}})
            self.model.put_status(CLAIMS, made, {"phase": "Bound"})

    def _pod(self, controller: Json, name: str, kind: str, volumes: list[Json]) -> None:
        metadata = controller["metadata"]
        owner = {
            "apiVersion": "apps/v1",
            "kind": kind,
            "name": metadata["name"],
            "uid": metadata["uid"],
            "controller": True,
        }
        template = controller["spec"]["template"]
        spec = {**template["spec"], "volumes": volumes}
        body = {"metadata": {"name": name, "labels": LABELS, "ownerReferences": [owner]}, "spec": spec}
        self.model.create(PODS, NAMESPACE, body)

    def _status(self, kind: ResourceType, item: Json, pods: list[Json], **more: object) -> None:
        ready = sum(
            {"type": "Ready", "status": "True"} in (pod.get("status") or {}).get("conditions", []) for pod in pods
        )
        there = {"observedGeneration": item["metadata"]["generation"], "replicas": len(pods), "readyReplicas": ready}
        self.model.put_status(kind, item, there | more)

    # the garbage collector

    def _collect(self) -> None:
        for kind in _OWNERS:
            for item in list(self.model.all(kind)):
                if "deletionTimestamp" in item["metadata"] and ORPHAN in item["metadata"].get("finalizers", []):
                    self._orphan(kind, item)
                    return
        uids = self.model.uids()
        for kind in (REPLICA_SETS, PODS):
            for item in list(self.model.all(kind)):
                owners = item["metadata"].get("ownerReferences") or []
                if owners and not any(one["uid"] in uids for one in owners):
                    self.model.delete(kind, NAMESPACE, item["metadata"]["name"])

    def _orphan(self, kind: ResourceType, item: Json) -> None:
        """Release one dependent; when there is none, the object goes."""
        uid = item["metadata"]["uid"]
        for dependent in (REPLICA_SETS, PODS, CLAIMS):
            for one in self._of(dependent, item):
                owners = [row for row in one["metadata"]["ownerReferences"] if row["uid"] != uid]
                self._owned(dependent, one, owners)
                return
        self.model.remove(kind, NAMESPACE, item["metadata"]["name"])


def check(model: KubeModel, replicas: int) -> None:
    """Never two pods on one claim, and never more pods at work than instances."""
    used: dict[str, str] = {}
    pods = list(model.all(PODS))
    for pod in pods:
        for claim in claims_of(pod):
            if claim in used:
                raise Broken(f"pods {used[claim]} and {pod['metadata']['name']} both have claim {claim}")
            used[claim] = pod["metadata"]["name"]
    live = sorted(pod["metadata"]["name"] for pod in pods if "deletionTimestamp" not in pod["metadata"])
    if len(live) > replicas:
        raise Broken(f"{len(live)} pods for {replicas} instances: {live}")


def remove(model: KubeModel, kind: ResourceType, name: str) -> None:
    """A person deletes an object, if it is there."""
    try:
        model.delete(kind, NAMESPACE, name)
    except KubeNotFound:
        return
