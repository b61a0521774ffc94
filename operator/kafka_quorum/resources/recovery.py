"""Pods that work on disks, and claims for copies. The request of a pod is one JSON object in its environment.

The pods run a program of the operator's image (`kafka_quorum.worker`), as the user of Kafka's pods, and are scheduled
and confined like them. Only the pod that rewrites a log mounts a disk of a controller writable.

What is only read is a read-only volume, not only a read-only mount: then Kubernetes gives no file there to the group of
the pod (`fsGroup`), and whoever owns the data can use it afterwards as before. A pod that mounts a seed has that group
as a supplementary one, and asks for no change of ownership at all.
"""

import copy
import json
from typing import Final

from kafka_quorum.api.podpolicy import pod_security
from kafka_quorum.model import names
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.disk_work import (
    COPY_ROLE,
    ROLE,
    CompareDisk,
    CopyDisk,
    DiskWork,
    InspectDisk,
    RewriteDisk,
    work_name,
)
from kafka_quorum.model.identity import IdentityRecord
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.observed import Claim, Revision
from kafka_quorum.model.surveyed import LogEnd, Source
from kafka_quorum.resources.meta import Json, labels, owner
from kafka_quorum.resources.objects import volume_owner
from kafka_quorum.resources.podparts import RESTRICTED, template_of
from kafka_quorum.resources.properties import DATA_PATH, LOG_DIR
from kafka_quorum.resources.scripts import RECOVERY_MARK

WORK_CONTAINER: Final = "work"
REQUEST: Final = "KQ_WORK"
"""The variable that holds the request."""
PLAN_SCHEMA: Final = 1
"""The form of the plan for `kraftlog.rewrite`."""
CHOSEN_SCHEMA: Final = 1
"""The form of the log that others are compared with, for `kraftlog.disk`."""
_COPY_PATH: Final = "/copy"
_SEED_PATH: Final = "/seed"
_COPY_MORE_BYTES: Final = 64 << 20
_RESOURCES: Final = {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}}


def worker(
    desired: Desired,
    record: IdentityRecord,
    work: DiskWork,
    revision: Revision,
    *,
    image: str,
    pull_policy: str,
    kube_node: str = "",
) -> Json:
    """The pod that does this work, and ends."""
    volumes, mounts = _volumes(work)
    container: Json = {
        "name": WORK_CONTAINER,
        "image": image,
        "imagePullPolicy": pull_policy,
        "command": ["python", "-m", "kafka_quorum.worker"],
        "env": [{"name": REQUEST, "value": json.dumps(request(work), separators=(",", ":"), sort_keys=True)}],
        "securityContext": copy.deepcopy(RESTRICTED),
        "resources": copy.deepcopy(_RESOURCES),
        "volumeMounts": [*mounts, {"name": "tmp", "mountPath": "/tmp"}],  # noqa: S108 - the pod's own emptyDir
    }
    template = template_of(revision.runtime.template_spec)
    template.pop("containers", None)
    security = _security(template.pop("securityContext", {}), with_seed=_seed_of(work) is not None)
    fixed: Json = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "restartPolicy": "Never",
        "volumes": [*volumes, {"name": "tmp", "emptyDir": {"sizeLimit": "16Mi"}}],
        "containers": [container],
        "securityContext": security,
    }
    spec = template | fixed
    if kube_node:
        _bind(spec, kube_node)
    metadata = {
        "name": work_name(desired.name, work),
        "namespace": desired.namespace,
        "labels": labels(desired.name, **{names.LABEL_ROLE: ROLE}),
        "annotations": {names.CLUSTER_ID: record.cluster_id},
        "ownerReferences": owner(desired),
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _security(template: Json, *, with_seed: bool) -> Json:
    """The security context of the pod: that of Kafka's pods. With a seed, it changes the owner of no file."""
    security: Json = pod_security(template)
    if with_seed:
        groups = [*(security.get("supplementalGroups") or ()), security.pop("fsGroup")]
        security.pop("fsGroupChangePolicy", None)
        security["supplementalGroups"] = sorted(set(groups))
    return security


def _seed_of(work: DiskWork) -> Source | None:
    """The claim of others that the pod mounts."""
    match work:
        case InspectDisk(source=source) | CompareDisk(source=source):
            return source if source.is_seed else None
        case RewriteDisk(seed=seed):
            return None if seed is None else seed.source
        case CopyDisk():
            return None


def _bind(spec: Json, kube_node: str) -> None:
    """Require this Kubernetes node: another pod there has the volume, and a volume may be on one node only."""
    fields = [{"key": "metadata.name", "operator": "In", "values": [kube_node]}]
    required = {"nodeSelectorTerms": [{"matchFields": fields}]}
    affinity = spec["affinity"] = copy.deepcopy(spec.get("affinity") or {})
    affinity.setdefault("nodeAffinity", {})["requiredDuringSchedulingIgnoredDuringExecution"] = required


def _volumes(work: DiskWork) -> tuple[list[Json], list[Json]]:
    """The volumes of the pod, and where they are mounted."""
    match work:
        case InspectDisk(source=source) | CompareDisk(source=source):
            return [_volume("data", source.claim, read_only=True)], [_mount("data", DATA_PATH, read_only=True)]
        case CopyDisk(source=source, copy=target):
            volumes = [_volume("data", source.claim, read_only=True), _volume("copy", target)]
            return volumes, [_mount("data", DATA_PATH, read_only=True), _mount("copy", _COPY_PATH)]
        case RewriteDisk(source=source, seed=seed):
            volumes, mounts = [_volume("data", source.claim)], [_mount("data", DATA_PATH)]
            if seed is not None:
                volumes.append(_volume("seed", seed.source.claim, read_only=True))
                mounts.append(_mount("seed", _SEED_PATH, read_only=True))
            return volumes, mounts


def _volume(name: str, claim: str, *, read_only: bool = False) -> Json:
    of_claim = {"claimName": claim} | ({"readOnly": True} if read_only else {})
    return {"name": name, "persistentVolumeClaim": of_claim}


def _mount(name: str, path: str, *, read_only: bool = False) -> Json:
    return {"name": name, "mountPath": path} | ({"readOnly": True} if read_only else {})


def request(work: DiskWork) -> Json:
    """What the pod is asked to do. `directory` is the one with `meta.properties`, `volume` the mount that it is in."""
    match work:
        case InspectDisk(source=source):
            return {"kind": "inspect", "volume": DATA_PATH, "directory": _directory(source, DATA_PATH)}
        case CompareDisk(source=source, epochs=epochs, end=end):
            rows = [{"epoch": each.epoch, "offset": each.offset} for each in epochs]
            chosen = {"schema": CHOSEN_SCHEMA, "epochs": rows, "end_offset": end.offset}
            place = {"volume": DATA_PATH, "directory": _directory(source, DATA_PATH)}
            return {"kind": "compare", **place, "chosen": chosen}
        case CopyDisk(source=source):
            target = {"volume": _COPY_PATH, "directory": f"{_COPY_PATH}/{names.LOG_NAME}"}
            return {"kind": "copy", "volume": DATA_PATH, "directory": _directory(source, DATA_PATH), "target": target}
        case RewriteDisk(seed=seed):
            plan = _plan(work)
            body: Json = {"kind": "rewrite", "volume": DATA_PATH, "directory": LOG_DIR, "plan": plan}
            body |= {"mark": {"path": RECOVERY_MARK, "epoch": work.epoch}}
            if seed is not None:
                place = {"volume": _SEED_PATH, "directory": _directory(seed.source, _SEED_PATH)}
                ids = {"source_node_id": seed.server_id, "source_directory_id": seed.directory_id}
                body |= {"seed": place, "plan": {"schema": PLAN_SCHEMA, **ids, "target": plan}}
            return body


def _directory(source: Source, mount: str) -> str:
    """The directory with `meta.properties`: a controller's is always the same, a person names that of a seed."""
    if not source.is_seed:
        return f"{mount}/{names.LOG_NAME}"
    return f"{mount}/{source.path}" if source.path else mount


def _plan(work: RewriteDisk) -> Json:
    return {
        "schema": PLAN_SCHEMA,
        "cluster_id": work.cluster_id,
        "node_id": work.node_id,
        "directory_id": work.directory_id,
        "last_epoch": work.end.epoch,
        "end_offset": work.end.offset,
        "checkpoint": _at(work.checkpoint),
        "voters": None,  # those of the disk, with the endpoints that its log has
        "leader_epoch": work.leader_epoch,
        "endpoints": [{"name": each.name, "host": each.host, "port": each.port} for each in work.listeners],
        "cut_damage": False,
    }


def _at(end: LogEnd | None) -> Json | None:
    return None if end is None else {"offset": end.offset, "epoch": end.epoch}


def copy_claim(desired: Desired, name: str, source: Claim, node_id: NodeID, epoch: int) -> Json:
    """The claim for the copy of this one: of the same class, and larger, because its file system needs room as well."""
    size_bytes = source.requested_bytes + max(source.requested_bytes // 10, _COPY_MORE_BYTES)
    spec: Json = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": str(size_bytes)}},
    }
    if source.storage_class:
        spec["storageClassName"] = source.storage_class
    metadata = {
        "name": name,
        "namespace": desired.namespace,
        "labels": labels(desired.name, **{names.LABEL_NODE: str(node_id), names.LABEL_ROLE: COPY_ROLE}),
        "annotations": {names.RECOVERY: str(epoch)},
        "ownerReferences": volume_owner(desired),
    }
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}
