"""The two kinds of pods of a broker: the formatter, and the pod that runs Kafka. They share image and scheduling."""

import copy
import json
from typing import Final

from kafka_brokers.model import names
from kafka_brokers.model.contracted import logs_in, needs_late, secret_keys
from kafka_brokers.model.disks import BrokerIdentity, DiskIdentity, PoolRecord, adopts
from kafka_brokers.model.observed import Revision
from kafka_brokers.model.pool import BrokerRuntime, PoolDesired
from kafka_brokers.resources import scripts
from kafka_brokers.resources.meta import labels, owner
from kafka_brokers.resources.properties import LATE_FILE, LATE_PATH, directory_name, volume_path
from kafka_quorum.api.podpolicy import pod_security
from kafka_quorum.model.contract import SECRET_PATH
from kafka_quorum.model.names import (
    CLUSTER_ID,
    CONFIG,
    FORMAT_CONTAINER,
    INPUTS_HASH,
    KAFKA_CONTAINER,
    RESTARTED_AT,
    REVISION,
    VERIFY_CONTAINER,
)
from kafka_quorum.model.pools import REPLICATION_TLS
from kafka_quorum.resources import zookeeper
from kafka_quorum.resources.meta import Json
from kafka_quorum.resources.podparts import (
    RESTRICTED,
    SCRIPT_RESOURCES,
    avoid,
    default_resources,
    java_variables,
    spread,
    template_container,
    template_of,
)
from kafka_quorum.resources.properties import CONFIG_PATH

LATE_CONTAINER: Final = "late"
_SECRET: Final = "quorum-tls"  # noqa: S105 - a volume
_SECURED: Final = "secured"
GRACE_S: Final = 360
"""A controlled shutdown takes up to 300 s, and closing the logs some more."""
_RECOVERS_FOR_PROBES: Final = 1_000_000
"""A broker opens its ports only after it has recovered its logs, which may take hours. A probe that ends it meanwhile
makes it begin again, for ever. So at 2 s each, these are 23 days.
"""


def formatter(
    desired: PoolDesired,
    record: PoolRecord,
    broker: BrokerIdentity,
    revision: Revision,
    *,
    config: str,
    avoid_nodes: tuple[str, ...],
    pull_policy: str,
) -> Json:
    """A pod that formats the broker's claims that are not formatted yet, reports on all of them, and ends.

    It avoids nodes that hold claims of other brokers. The scheduler ignores finished pods. Without this, it could bind
    the claims of two brokers to one Kubernetes node. `config` names the config map.
    """
    container = _container(record, broker, revision, pull_policy)
    container |= {"name": FORMAT_CONTAINER, "command": ["sh", "-c", _formatter_script(desired, broker, revision)]}
    container["env"] += [
        {"name": f"KQ_INTENT_{disk.index}", "value": _intent(record, broker, disk)} for disk in _disks(broker, revision)
    ]
    spec = _spec(desired, broker, revision, config)
    spec |= {"restartPolicy": "Never", "containers": [container]}
    if avoid_nodes:
        avoid(spec, avoid_nodes)
    metadata = _metadata(desired, record, broker, revision, config, role=names.FORMATTER_ROLE)
    generations = tuple(disk.generation for disk in _disks(broker, revision))
    return _pod(metadata | {"name": names.formatter_name(desired.name, broker.node_id, generations)}, spec)


def _formatter_script(desired: PoolDesired, broker: BrokerIdentity, revision: Revision) -> str:
    if adopts(broker, wanted=desired.adopt):
        return scripts.ADOPT
    return scripts.FORMAT if revision.runtime.zookeeper is None else scripts.FORMAT_ZOOKEEPER


def kafka(
    desired: PoolDesired,
    record: PoolRecord,
    broker: BrokerIdentity,
    revision: Revision,
    *,
    config: str,
    pull_policy: str,
) -> Json:
    """The pod that runs Kafka on the broker's claims, and on no disks but those with the expected identities."""
    late = needs_late(revision.runtime)
    base = _container(record, broker, revision, pull_policy)
    if late:
        base["volumeMounts"].append({"name": "late", "mountPath": LATE_PATH, "readOnly": True})
    first = [_script(base, VERIFY_CONTAINER, scripts.VERIFY)]
    if late:
        first.append(_script(base, LATE_CONTAINER, scripts.LATE))
    ports = [names.REPLICATION_PORT, *(each.port for each in revision.runtime.listeners)]
    probe = {"tcpSocket": {"port": names.REPLICATION_PORT}}
    container = base | {
        "name": KAFKA_CONTAINER,
        "command": ["sh", "-c", _start(revision, late=late)],
        "ports": [{"containerPort": port} for port in ports],
        "startupProbe": probe | {"periodSeconds": 2, "failureThreshold": _RECOVERS_FOR_PROBES},
        "readinessProbe": probe | {"periodSeconds": 3, "timeoutSeconds": 3},
        # The probe asks only for a connection: a broker without a controller is no reason to kill it.
        "livenessProbe": probe | {"periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 12},
    }
    spec = _spec(desired, broker, revision, config)
    if late:
        spec["volumes"].append(_late_volume())
    if (access := revision.runtime.zookeeper) is not None:
        container["volumeMounts"] = [*container["volumeMounts"], *zookeeper.mounts(access)]
        spec["volumes"] += zookeeper.volumes(access)
    spec["volumes"] += _secret_volumes(revision.runtime)
    container["volumeMounts"] = [*container["volumeMounts"], *_secret_mounts(revision.runtime)]
    spec |= {
        "restartPolicy": "Always",
        "hostname": names.host_label(desired.name, broker.node_id),
        "subdomain": names.headless_name(desired.name),
        "readinessGates": [{"conditionType": names.UNFENCED_GATE}],
        "initContainers": first,
        "containers": [container],
    }
    metadata = _metadata(desired, record, broker, revision, config, role=names.BROKER_ROLE)
    if late:
        metadata["annotations"][names.LATE] = ""
    if revision.runtime.replication_tls:
        metadata["annotations"][REPLICATION_TLS] = "true"
    return _pod(metadata | {"name": names.pod_name(desired.name, broker.node_id)}, spec)


def _start(revision: Revision, *, late: bool) -> str:
    keys = secret_keys(revision.runtime)
    if (access := revision.runtime.zookeeper) is not None:
        return scripts.run_with_zookeeper(access, late=late, keys=keys)
    if keys:
        return scripts.run_secured(keys, late=late)
    return scripts.RUN_LATE if late else scripts.RUN


def _secret_volumes(runtime: BrokerRuntime) -> list[Json]:
    """The contract's Secret, and a volume in memory for properties with a password."""
    found: list[Json] = [
        {"name": _SECRET, "secret": {"secretName": each, "defaultMode": 0o440}} for each in runtime.secrets[:1]
    ]
    if logs_in(runtime):
        found.append({"name": _SECURED, "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}})
    return found


def _secret_mounts(runtime: BrokerRuntime) -> list[Json]:
    """Where only Kafka's container has them: as a directory, because a file alone would never be renewed."""
    found: list[Json] = [{"name": _SECRET, "mountPath": SECRET_PATH, "readOnly": True} for _ in runtime.secrets[:1]]
    if logs_in(runtime):
        found.append({"name": _SECURED, "mountPath": scripts.SECURED_PATH})
    return found


def _disks(broker: BrokerIdentity, revision: Revision) -> tuple[DiskIdentity, ...]:
    """The volumes that this revision has log directories on. One that was appended later is not mounted yet."""
    return tuple(disk for disk in broker.disks if disk.index < revision.runtime.volumes)


def _intent(record: PoolRecord, broker: BrokerIdentity, disk: DiskIdentity) -> str:
    """The name of one format of one claim: a second format after a loss has another name."""
    return f"{record.cluster_id} {broker.node_id} volume {disk.index} {disk.claim_uid} {len(disk.retired)}"


def _script(base: Json, name: str, script: str) -> Json:
    """An init container that runs a script of ours only."""
    shared = {key: copy.deepcopy(base[key]) for key in ("image", "imagePullPolicy", "securityContext", "volumeMounts")}
    return shared | {
        "name": name,
        "command": ["sh", "-c", script],
        "env": [entry for entry in base["env"] if entry["name"].startswith("KQ_")],
        "resources": copy.deepcopy(SCRIPT_RESOURCES),
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }


def _late_volume() -> Json:
    path = {"path": LATE_FILE, "fieldRef": {"fieldPath": f"metadata.annotations['{names.LATE}']"}}
    return {"name": "late", "downwardAPI": {"items": [path]}}


def _metadata(
    desired: PoolDesired,
    record: PoolRecord,
    broker: BrokerIdentity,
    revision: Revision,
    config: str,
    *,
    role: str,
) -> Json:
    template: Json = json.loads(revision.runtime.template_metadata)
    own = {
        names.LABEL_ROLE: role,
        names.LABEL_NODE: str(broker.node_id),
        names.LABEL_OF_QUORUM: desired.quorum,
    }
    annotations = {
        CLUSTER_ID: record.cluster_id,
        names.DIRECTORY_IDS: ",".join(disk.directory_id or "" for disk in _disks(broker, revision)),
        names.CLAIM_UIDS: ",".join(disk.claim_uid or "" for disk in _disks(broker, revision)),
        REVISION: revision.name,
        CONFIG: config,
        INPUTS_HASH: revision.inputs_hash,
        **({RESTARTED_AT: revision.runtime.restarted_at} if revision.runtime.restarted_at else {}),
    }
    return {
        "namespace": desired.namespace,
        "labels": {**template.get("labels", {}), **labels(desired.name, **own)},
        "annotations": {**template.get("annotations", {}), **annotations},
        "ownerReferences": owner(desired),
    }


def _pod(metadata: Json, spec: Json) -> Json:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _container(record: PoolRecord, broker: BrokerIdentity, revision: Revision, pull_policy: str) -> Json:
    """What both kinds of containers share: image, environment, mounts, resources; then the template's additions."""
    runtime = revision.runtime
    template = template_container(runtime.template_spec)
    env = [
        *template.get("env", []),  # before ours: of two entries with one name, the last counts
        {"name": "KQ_CLUSTER_ID", "value": record.cluster_id},
        {"name": "KQ_NODE_ID", "value": str(broker.node_id)},
        {"name": "KQ_VOLUMES", "value": str(len(_disks(broker, revision)))},
        *(
            {"name": f"KQ_DIRECTORY_ID_{disk.index}", "value": disk.directory_id or ""}
            for disk in _disks(broker, revision)
        ),
        *(
            {"name": f"KQ_LOG_DIR_{disk.index}", "value": directory_name(runtime, broker.node_id, disk.index)}
            for disk in _disks(broker, revision)
            if runtime.directories
        ),
        {"name": "KQ_CONFIG", "value": f"{CONFIG_PATH}/{broker.node_id}.properties"},
        *java_variables(runtime.heap, runtime.jvm_options, runtime.release),
    ]
    mounts = [{"name": _volume(disk), "mountPath": volume_path(disk.index)} for disk in _disks(broker, revision)]
    return {
        "image": revision.image,
        "imagePullPolicy": pull_policy,
        "env": env,
        "securityContext": copy.deepcopy(RESTRICTED),
        "resources": template.get("resources") or default_resources(runtime.heap),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            *mounts,
            {"name": "config", "mountPath": CONFIG_PATH, "readOnly": True},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - the pod's own emptyDir
        ],
    }


def _spec(desired: PoolDesired, broker: BrokerIdentity, revision: Revision, config: str) -> Json:
    runtime = revision.runtime
    template = template_of(runtime.template_spec)
    template.pop("containers", None)
    fixed: Json = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "volumes": [
            *(_claimed(desired, broker, disk) for disk in _disks(broker, revision)),
            {"name": "config", "configMap": {"name": config}},
            {"name": "tmp", "emptyDir": {"sizeLimit": "1Gi"}},
        ],
    }
    security = pod_security(template.pop("securityContext", {}))
    defaults: Json = {
        "affinity": spread({names.LABEL_OF_QUORUM: desired.quorum}),
        "terminationGracePeriodSeconds": GRACE_S,
    }
    if runtime.rack_key:
        defaults["topologySpreadConstraints"] = [_racks(desired.name, runtime.rack_key)]
    return defaults | template | fixed | {"securityContext": security}


def _claimed(desired: PoolDesired, broker: BrokerIdentity, disk: DiskIdentity) -> Json:
    claim = names.claim_name(desired.name, broker.node_id, disk.index, disk.generation)
    return {"name": _volume(disk), "persistentVolumeClaim": {"claimName": claim}}


def _volume(disk: DiskIdentity) -> str:
    return f"data-{disk.index}"


def _racks(pool: str, rack_key: str) -> Json:
    """As many brokers of the pool in each rack, if that is possible; nodes without the label count as no rack."""
    return {
        "maxSkew": 1,
        "topologyKey": rack_key,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": names.pool_labels(pool)},
    }
