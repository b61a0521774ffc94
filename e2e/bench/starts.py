"""The plain manifests' controllers with the same starts of pods as the operator's: what the rules cost, without it.

A pod that formats never runs Kafka, and a pod that runs Kafka looks at its disk first and never formats. The three
controllers are pods of their own here, because a StatefulSet has one kind of pod. The script does nothing but the work:
it writes no record and asks no guard. So what the operator takes longer than this is the operator's own.
"""

import copy
from collections.abc import Callable, Iterable

import yaml

from bench.floor import manifests
from harness.shell import Json, items, kubectl, wait_until
from kafka_quorum.resources.podstatus import FINISHED

NODE_IDS = (0, 1, 2)
_FORMATTERS = "app=quorum-format"
_LIMIT_S = 90.0
_POLL_S = 0.05
_VERIFY = "verify.sh"


def bootstrap(namespace: str) -> None:
    """Everything from nothing until the pods that run Kafka are made: three formats, a barrier, three pods."""
    service, config, workload = _documents()
    claims = [_claim(workload, node_id) for node_id in NODE_IDS]
    _create(namespace, (service, config, *claims, *(_formatter(workload, node_id) for node_id in NODE_IDS)))
    _until("three disks are formatted", lambda: len(_formatted(namespace)) == len(NODE_IDS))
    _delete(namespace, (f"quorum-{node_id}-format" for node_id in NODE_IDS))
    _create(namespace, (_server(workload, node_id) for node_id in NODE_IDS))


def replace_disk(namespace: str, node_id: int) -> None:
    """After the disk was emptied and the pod deleted, until the pod that runs Kafka on a formatted disk is made.

    A pod finds the disk empty in two runs of its script, as the operator asks for. The formatter is made beside it.
    """
    _, _, workload = _documents()
    name = f"quorum-{node_id}"
    _until("the pod is gone", lambda: _pod(namespace, name) is None)
    _create(namespace, [_server(workload, node_id)])
    _until("two runs found the disk empty", lambda: _refusals(_pod(namespace, name)) > 1)
    _create(namespace, [_formatter(workload, node_id)])
    _delete(namespace, [name])
    _until("the disk is formatted", lambda: name in _formatted(namespace))
    _until("the pod that refused it is gone", lambda: _pod(namespace, name) is None)
    _delete(namespace, [f"{name}-format"])
    _create(namespace, [_server(workload, node_id)])


def _documents() -> tuple[Json, Json, Json]:
    """Service, config map (with the script that only looks) and StatefulSet of the plain manifests."""
    service, config, workload = yaml.safe_load_all(manifests(fresh_names=True))
    properties, _, _ = config["data"]["format.sh"].partition("case ")
    config["data"][_VERIFY] = f"{properties}test -f /data/log/meta.properties\n"
    return service, config, workload


def _claim(workload: Json, node_id: int) -> Json:
    (template,) = workload["spec"]["volumeClaimTemplates"]
    metadata = {"name": f"data-quorum-{node_id}"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": template["spec"]}


def _server(workload: Json, node_id: int) -> Json:
    """The pod that runs Kafka if its disk is formatted."""
    pod = _pod_of(workload, node_id, "quorum", f"quorum-{node_id}")
    (first,) = pod["spec"]["initContainers"]
    first["command"] = ["sh", f"/settings/{_VERIFY}"]
    return pod


def _formatter(workload: Json, node_id: int) -> Json:
    """The pod that formats its disk, and ends."""
    pod = _pod_of(workload, node_id, "quorum-format", f"quorum-{node_id}-format")
    pod["spec"] |= {"containers": pod["spec"].pop("initContainers"), "restartPolicy": "Never"}
    return pod


def _pod_of(workload: Json, node_id: int, app: str, name: str) -> Json:
    """A pod from the template, with the host name and the claim that a StatefulSet would give it."""
    spec = copy.deepcopy(workload["spec"]["template"]["spec"])
    (term,) = spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    term["labelSelector"]["matchLabels"] = {"app": app}
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": f"data-quorum-{node_id}"}}
    spec |= {"hostname": f"quorum-{node_id}", "subdomain": "quorum", "volumes": [*spec["volumes"], claim]}
    metadata = {"name": name, "labels": {"app": app}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _create(namespace: str, bodies: Iterable[Json]) -> None:
    kubectl("-n", namespace, "create", "-f", "-", stdin=yaml.safe_dump_all(bodies))


def _delete(namespace: str, pods: Iterable[str]) -> None:
    kubectl("-n", namespace, "delete", "pod", *pods, "--wait=false")


def _pod(namespace: str, name: str) -> Json | None:
    return next((pod for pod in items(namespace, "pods") if pod["metadata"]["name"] == name), None)


def _formatted(namespace: str) -> set[str]:
    """The host names of the formatters that have ended; AssertionError if one failed."""
    pods = items(namespace, "pods", "-l", _FORMATTERS)
    failed = [pod["metadata"]["name"] for pod in pods if pod["status"].get("phase") == "Failed"]
    assert not failed, f"{failed} failed"
    return {pod["spec"]["hostname"] for pod in pods if pod["status"].get("phase") in FINISHED}


def _refusals(pod: Json | None) -> int:
    """How many runs of the script that looks have ended without finding a formatted disk."""
    rows = [] if pod is None else pod["status"].get("initContainerStatuses", [])
    return sum(int(row["restartCount"]) + ("running" not in row["state"] and bool(row["lastState"])) for row in rows)


def _until(what: str, probe: Callable[[], bool]) -> None:
    wait_until(what, probe, _LIMIT_S, _POLL_S)
