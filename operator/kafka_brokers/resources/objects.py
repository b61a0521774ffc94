"""The objects around the pods: claims, services, disruption budget, config map, marks on pods."""

import json

from kafka_brokers.model import names
from kafka_brokers.model.disks import BrokerIdentity, DiskIdentity, PoolRecord
from kafka_brokers.model.observed import Revision
from kafka_brokers.model.pool import BrokerListener, BrokerRuntime, External, PoolDesired
from kafka_brokers.resources.meta import labels, owned, volume_owner
from kafka_brokers.resources.properties import server_properties
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.names import CLUSTER_ID, DIRECTORY_ID, GENERATION, PHASE, RETIRED, facts
from kafka_quorum.resources.meta import Json
from kafka_quorum.resources.podparts import logs_with_log4j2
from kafka_quorum.resources.properties import JAVA_SECURITY, LOG4J, LOG4J2

_ROLE_CONFIG = "broker-config"


def claim(desired: PoolDesired, record: PoolRecord, broker: BrokerIdentity, disk: DiskIdentity) -> Json:
    """The claim of a volume's present generation, with its copy of the identity."""
    volume = desired.volumes[disk.index]
    spec: Json = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": volume.size}}}
    if volume.storage_class:
        spec["storageClassName"] = volume.storage_class
    annotations = claim_annotations(record, disk.directory_id) | {GENERATION: str(disk.generation)}
    metadata = {
        "name": names.claim_name(desired.name, broker.node_id, disk.index, disk.generation),
        "namespace": desired.namespace,
        "labels": claim_labels(desired.name, broker.node_id, disk.index),
        "annotations": {key: value for key, value in annotations.items() if value is not None},
        "ownerReferences": volume_owner(desired),
    }
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def claim_labels(pool: str, node_id: NodeID, index: int) -> Json:
    """The labels that select a claim. A restore may remove them."""
    return labels(pool, **{names.LABEL_NODE: str(node_id), names.LABEL_DISK: str(index)})


def claim_annotations(record: PoolRecord, directory_id: str | None, *, retired: bool = False) -> Json:
    """The identity in the form of a claim's annotations; None removes an annotation in a merge patch."""
    return {CLUSTER_ID: record.cluster_id, DIRECTORY_ID: directory_id, PHASE: RETIRED if retired else None}


def headless_service(desired: PoolDesired, runtime: BrokerRuntime) -> Json:
    """Host names for every broker, ready or not: brokers must find each other before any of them is ready."""
    spec = {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": _brokers(desired.name),
        "ports": [
            _port(names.REPLICATION, names.REPLICATION_PORT),
            *(_port(one.name, one.port) for one in runtime.listeners),
        ],
    }
    return _service(desired, names.headless_name(desired.name), spec)


def bootstrap_service(desired: PoolDesired, runtime: BrokerRuntime) -> Json:
    """Where clients inside the cluster begin: any broker that is ready, on every listener of the spec."""
    spec = {
        "type": "ClusterIP",
        "selector": _brokers(desired.name),
        "ports": [_port(one.name, one.port) for one in runtime.listeners],
    }
    return _service(desired, names.bootstrap_name(desired.name), spec)


def external_service(desired: PoolDesired, listener: BrokerListener, node_id: NodeID | None, lowest: NodeID) -> Json:
    """The service of one broker for an external listener; without an id the one that outside clients begin at.

    It serves a broker that is not ready too: clients find each partition's leader by it, whatever Kubernetes' view is.
    `lowest` is the lowest node id of the pool: from it the fixed node ports are counted.
    """
    port = _port(listener.name, listener.port)
    if node_id is not None and listener.external is External.NODE_PORT and listener.node_port:
        port["nodePort"] = listener.node_port + node_id - lowest
    selector = _brokers(desired.name) | ({} if node_id is None else {names.LABEL_NODE: str(node_id)})
    spec: Json = {"type": listener.external.value, "selector": selector, "ports": [port]}
    if node_id is not None:
        spec["publishNotReadyAddresses"] = True
    return _service(desired, names.external_name(desired.name, listener.name, node_id), spec)


def services(desired: PoolDesired, runtime: BrokerRuntime, node_ids: tuple[NodeID, ...]) -> tuple[Json, ...]:
    """Every service of a pool whose brokers have these node ids and this runtime."""
    lowest = lowest_id(desired)
    outside = (one for one in runtime.listeners if one.external is not External.NONE)
    external = (external_service(desired, one, node_id, lowest) for one in outside for node_id in (None, *node_ids))
    return (headless_service(desired, runtime), bootstrap_service(desired, runtime), *external)


def lowest_id(desired: PoolDesired) -> NodeID:
    """The lowest node id that the spec asks for."""
    return min(desired.node_ids, default=desired.first_node_id)


def budget(desired: PoolDesired, min_available: int) -> Json:
    """How many brokers must stay after an eviction."""
    spec = {"minAvailable": min_available, "selector": {"matchLabels": _brokers(desired.name)}}
    metadata = owned(desired, names.budget_name(desired.name))
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec}


def config_inputs(node_ids: tuple[NodeID, ...], first_contact: tuple[tuple[str, str], ...]) -> object:
    """What the files of a config map say beside what their revision says: the part of its name after the hash."""
    return [list(node_ids), [list(each) for each in first_contact]]


def config_name(
    desired: PoolDesired,
    revision: Revision,
    node_ids: tuple[NodeID, ...],
    first_contact: tuple[tuple[str, str], ...],
) -> str:
    """The name of `config` with the same arguments."""
    return names.config_name(desired.name, revision.inputs_hash, config_inputs(node_ids, first_contact))


def config(
    desired: PoolDesired,
    revision: Revision,
    node_ids: tuple[NodeID, ...],
    first_contact: tuple[tuple[str, str], ...],
) -> Json:
    """The server properties of every broker of one revision. Immutable: a restarted container reads the same ones.

    `first_contact` are the contract's settings that are a first contact only (`model.contracted.first_contact`).
    """
    files = {
        f"{node_id}.properties": server_properties(
            desired.namespace, desired.name, node_id, revision.runtime, first_contact
        )
        for node_id in node_ids
    }
    metadata = owned(
        desired, config_name(desired, revision, node_ids, first_contact), **{names.LABEL_ROLE: _ROLE_CONFIG}
    )
    data = files | {"log4j2.properties": LOG4J2, "java.security": JAVA_SECURITY}
    if not logs_with_log4j2(revision.runtime.release):
        data["log4j.properties"] = LOG4J
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "immutable": True, "data": data}


def unfenced_mark(*, gate: str, message: str) -> Json:
    """The patch of a pod's status that sets its readiness gate: `True`, `False` or `Unknown`."""
    condition = {"type": names.UNFENCED_GATE, "status": gate, "reason": "BrokersObserved", "message": message}
    return {"status": {"conditions": [condition]}}


def late_mark(text: str) -> Json:
    """The patch of a pod that writes its late properties (`resources.properties.late_properties`)."""
    return {"metadata": {"annotations": {names.LATE: text}}}


def empty_mark(text: str) -> Json:
    """The patch of a pod that notes what its script found empty (`resources.notes.text_of`)."""
    return {"metadata": {"annotations": {names.FOUND_EMPTY: text}}}


def facts_of(item: Json) -> str:
    """The fields that matter of a service, budget or config map, built or read, in one line that can be compared.

    Ports that Kubernetes chose count as none, unless the builder sets one: compare with `same`.
    """
    spec = item.get("spec", {})
    if item["kind"] == "Service":
        rows = sorted([port.get("name"), port.get("port")] for port in spec.get("ports") or ())
        kind = "None" if spec.get("clusterIP") == "None" else spec.get("type", "ClusterIP")
        return facts([rows, kind, spec.get("publishNotReadyAddresses", False), spec.get("selector")])
    if item["kind"] == "PodDisruptionBudget":
        return facts([spec.get("minAvailable"), spec.get("selector", {}).get("matchLabels")])
    return json.dumps(item.get("data"), sort_keys=True)


def same(present: Json, built: Json) -> bool:
    """Whether an existing object has what the built one says; a node port counts only if the builder sets it."""
    if facts_of(present) != facts_of(built):
        return False
    asked = {port["name"]: port["nodePort"] for port in built.get("spec", {}).get("ports", ()) if "nodePort" in port}
    found = {port.get("name"): port.get("nodePort") for port in present.get("spec", {}).get("ports") or ()}
    return all(found.get(name) == port for name, port in asked.items())


def _brokers(pool: str) -> dict[str, str]:
    """The labels of the pods that run the brokers of a pool."""
    return names.pool_labels(pool) | {names.LABEL_ROLE: names.BROKER_ROLE}


def _port(listener: str, port: int) -> Json:
    name = listener.lower().replace("_", "-")
    return {"name": name, "port": port, "targetPort": port, "protocol": "TCP"}


def _service(desired: PoolDesired, name: str, spec: Json) -> Json:
    return {"apiVersion": "v1", "kind": "Service", "metadata": owned(desired, name), "spec": spec}
