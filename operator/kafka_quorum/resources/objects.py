"""The objects around the pods: claim, headless service, disruption budget, config map, revision."""

import json

from kafka_quorum.model import names
from kafka_quorum.model.desired import Desired, VolumeFate
from kafka_quorum.model.identity import IdentityRecord, NodeIdentity
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.observed import Revision
from kafka_quorum.model.pods import PodRole
from kafka_quorum.model.recovery import settled_epoch
from kafka_quorum.resources import tls
from kafka_quorum.resources.meta import Json, labels, owner
from kafka_quorum.resources.properties import JAVA_SECURITY, LOG4J, LOG4J2, server_properties


def volume_owner(desired: Desired) -> list[Json]:
    """The owner of claims and identity: the resource, or none if they must outlive it."""
    return owner(desired) if desired.storage.when_deleted is VolumeFate.DELETE else []


def claim(desired: Desired, record: IdentityRecord, node: NodeIdentity) -> Json:
    """The claim of the node's present generation, with its copy of the identity."""
    spec: Json = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": desired.storage.size}},
    }
    if desired.storage.storage_class:
        spec["storageClassName"] = desired.storage.storage_class
    annotations = claim_annotations(record, node.directory_id) | {names.GENERATION: str(node.generation)}
    metadata = {
        "name": names.claim_name(desired.member(node.node_id), node.generation),
        "namespace": desired.namespace,
        "labels": claim_labels(desired.name, node.node_id),
        "annotations": {key: value for key, value in annotations.items() if value is not None},
        "ownerReferences": volume_owner(desired),
    }
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def claim_labels(quorum: str, node_id: NodeID) -> Json:
    """The labels that select a claim. A restore may remove them."""
    return labels(quorum, **{names.LABEL_NODE: str(node_id)})


def claim_annotations(
    record: IdentityRecord, directory_id: str | None, *, retired: bool = False, kept: bool = False, recovery: int = 0
) -> Json:
    """The identity in the form of a claim's annotations; None removes an annotation in a merge patch.

    `recovery` is the epoch of the recovery that retired it; a claim in use has that of the record, once disks are given
    up for it.
    """
    epoch = recovery if retired else settled_epoch(record)
    return {
        names.CLUSTER_ID: record.cluster_id,
        names.DIRECTORY_ID: directory_id,
        names.PHASE: names.RETIRED if retired else record.phase.value,
        **({names.KEPT: "true"} if kept else {}),
        names.RECOVERY: str(epoch) if epoch else None,
    }


def service(desired: Desired, port: int) -> Json:
    """Host names for every controller, ready or not: voters must find each other before any of them is ready."""
    spec = {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": {names.LABEL_QUORUM: desired.name, names.LABEL_ROLE: PodRole.KAFKA.value},
        "ports": [{"name": "controller", "port": port, "targetPort": port, "protocol": "TCP"}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _owned(desired, names.service_name(desired.name)),
        "spec": spec,
    }


def budget(desired: Desired, min_available: int) -> Json:
    """How many voters must stay after an eviction. Pods that are not voters do not count in any way."""
    spec = {
        "minAvailable": min_available,
        "selector": {"matchLabels": {names.LABEL_QUORUM: desired.name, names.LABEL_VOTER: "true"}},
    }
    metadata = _owned(desired, names.budget_name(desired.name))
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec}


def config(desired: Desired, name: str, revision: Revision, node_ids: tuple[NodeID, ...]) -> Json:
    """The server properties of every node of one revision. Immutable: a restarted container reads the same ones."""
    files = {
        f"{node_id}.properties": server_properties(desired.namespace, desired.member(node_id), node_ids, revision)
        for node_id in node_ids
    }
    files |= tls.files(revision.runtime)
    data = files | {"log4j2.properties": LOG4J2, "log4j.properties": LOG4J, "java.security": JAVA_SECURITY}
    metadata = _owned(desired, name)
    metadata["labels"] |= {names.LABEL_ROLE: "config"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "immutable": True, "data": data}


def pod_mark(*, voter: bool, gate: str, message: str) -> tuple[Json, Json]:
    """Two patches of a pod: its voter label, and its readiness gate."""
    condition = {"type": names.GATE, "status": gate, "reason": "QuorumObserved", "message": message}
    mark = {names.LABEL_VOTER: "true" if voter else None}
    return {"metadata": {"labels": mark}}, {"status": {"conditions": [condition]}}


def facts_of(item: Json) -> str:
    """What matters of an existing service or budget, in the form that `model.names` has for the desired ones."""
    spec = item.get("spec", {})
    if item["kind"] == "Service":
        port = (spec.get("ports") or [{}])[0]
        row = [port.get("name"), port.get("port")]
        return names.facts(
            [row, spec.get("clusterIP"), spec.get("publishNotReadyAddresses", False), spec.get("selector")]
        )
    if item["kind"] == "PodDisruptionBudget":
        return names.facts([spec.get("minAvailable"), spec.get("selector", {}).get("matchLabels")])
    return json.dumps(item.get("data"), sort_keys=True)


def _owned(desired: Desired, name: str) -> Json:
    return {
        "name": name,
        "namespace": desired.namespace,
        "labels": labels(desired.name),
        "ownerReferences": owner(desired),
    }
