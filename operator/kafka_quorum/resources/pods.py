"""The two kinds of pods: the formatter, and the pod that runs Kafka. They share image, mounts and scheduling."""

import copy
import json

from kafka_quorum.api.podpolicy import pod_security
from kafka_quorum.model import names
from kafka_quorum.model.desired import Desired, Runtime
from kafka_quorum.model.identity import FormatMode, IdentityRecord, NodeIdentity
from kafka_quorum.model.names import advertised
from kafka_quorum.model.observed import Revision
from kafka_quorum.model.pods import PodRole
from kafka_quorum.resources import agent, scripts, tls, zookeeper
from kafka_quorum.resources.meta import Json, labels, owner
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
from kafka_quorum.resources.properties import CONFIG_PATH, DATA_PATH


def formatter(
    desired: Desired,
    record: IdentityRecord,
    node: NodeIdentity,
    revision: Revision,
    *,
    config: str,
    avoid_nodes: tuple[str, ...],
    pull_policy: str,
) -> Json:
    """A pod that formats the node's claim, reports, and ends. It avoids nodes that hold sibling claims.

    The scheduler ignores finished pods. Without this, it could bind two claims to one Kubernetes node. A disk for the
    log of a seed is made where the seed is: a later pod needs both, and a volume may be on one Kubernetes node only.
    """
    container = _container(record, node, revision, pull_policy)
    adopts = node.mode is FormatMode.ADOPTED
    command = [scripts.ADOPT] if adopts else [scripts.FORMAT, "format"]
    if not adopts:
        command += format_arguments(desired, record, node, revision)
    container |= {"name": names.FORMAT_CONTAINER, "command": ["sh", "-c", *command]}
    if adopts:
        container["volumeMounts"] = [{**mount, "readOnly": True} for mount in container["volumeMounts"]]
    container["env"] += [
        {"name": "KQ_INTENT", "value": _intent(record, node)},
        {"name": "KQ_INITIAL_CONTROLLERS", "value": initial_controllers(desired, record, revision)},
    ]
    spec = _spec(desired, node, revision, config)
    spec |= {"restartPolicy": "Never", "containers": [container]}
    if avoid_nodes:
        avoid(spec, avoid_nodes)
    if seed := _seed_of(record, node):
        spec["volumes"].append({"name": "seed", "persistentVolumeClaim": {"claimName": seed, "readOnly": True}})
    metadata = _metadata(desired, record, node, revision, config, role=PodRole.FORMATTER)
    return _pod(metadata | {"name": names.formatter_name(desired.member(node.node_id), node.generation)}, spec)


def _seed_of(record: IdentityRecord, node: NodeIdentity) -> str:
    """The claim whose log this controller's new disk gets; empty for none. No container of the formatter mounts it."""
    journal = record.recovery
    if journal is None or journal.node_id != node.node_id or not journal.survivor.source.is_seed:
        return ""
    return journal.survivor.source.claim


def kafka(
    desired: Desired,
    record: IdentityRecord,
    node: NodeIdentity,
    revision: Revision,
    *,
    config: str,
    pull_policy: str,
    agent_image: str = "",
) -> Json:
    """The pod that runs Kafka on the node's claim, and on no disk but the one with the expected identity.

    `agent_image` has the agent that reports metrics, for a revision that has one: the operator's own image.
    """
    base, runtime = _container(record, node, revision, pull_policy), revision.runtime
    port = runtime.listener.port
    probe = {"tcpSocket": {"port": port}}
    verify = {key: base[key] for key in ("image", "imagePullPolicy", "securityContext", "volumeMounts")}
    verify |= {
        "name": names.VERIFY_CONTAINER,
        "command": ["sh", "-c", scripts.VERIFY],
        "env": [entry for entry in base["env"] if entry["name"].startswith("KQ_")],
        "resources": copy.deepcopy(SCRIPT_RESOURCES),
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
    beside = runtime.zookeeper
    container = base | {
        "name": names.KAFKA_CONTAINER,
        "command": ["sh", "-c", scripts.run(None if beside is None else beside.access, tls.secret_files(runtime))],
        "ports": [{"name": "controller", "containerPort": port}, *_other_port(runtime)],
        "startupProbe": probe | {"periodSeconds": 1, "failureThreshold": 300},
        "readinessProbe": probe | {"periodSeconds": 3},
        # The probe asks only for a connection: a controller without a quorum is no reason to kill it.
        "livenessProbe": probe | {"periodSeconds": 10, "failureThreshold": 6},
    }
    spec = _spec(desired, node, revision, config)
    spec |= {
        "restartPolicy": "Always",
        "hostname": names.host_label(desired.member(node.node_id)),
        "subdomain": names.service_name(desired.name),
        "readinessGates": [{"conditionType": names.GATE}],
        "initContainers": [verify],
        "containers": [container],
    }
    spec["volumes"] += tls.volumes(runtime, desired.name, node.node_id)
    container["volumeMounts"] = [*container["volumeMounts"], *tls.mounts(runtime)]
    if beside is not None:
        spec["volumes"] += zookeeper.volumes(beside.access)
        container["volumeMounts"] = [*container["volumeMounts"], *zookeeper.mounts(beside.access)]
    if runtime.has_agent:
        agent.add_to(runtime, spec, container, agent_image, pull_policy)
    metadata = _metadata(desired, record, node, revision, config, role=PodRole.KAFKA)
    return _pod(metadata | {"name": names.pod_name(desired.member(node.node_id), node.generation)}, spec)


def _other_port(runtime: Runtime) -> list[Json]:
    return [] if runtime.other is None else [{"name": "other", "containerPort": runtime.other.listener.port}]


def format_arguments(
    desired: Desired, record: IdentityRecord, node: NodeIdentity, revision: Revision
) -> tuple[str, ...]:
    """The arguments of `kafka-storage.sh format …`. Levels are explicit or the release's; never `--release-version`.

    A disk without initial controllers holds no levels: the controller gets them from the quorum. A static voter's disk
    holds no voters: they are in the properties, which the tool reads.
    """
    if node.mode is FormatMode.NO_INITIAL_CONTROLLERS:
        return ("--no-initial-controllers",)
    features = (f"{feature.name}={feature.level}" for feature in record.format.features)
    flags = tuple(word for feature in features for word in ("--feature", feature))
    if node.mode is FormatMode.STATIC:
        return flags
    return ("--initial-controllers", initial_controllers(desired, record, revision), *flags)


def initial_controllers(desired: Desired, record: IdentityRecord, revision: Revision) -> str:
    """The first voters in the form that `kafka-storage.sh` takes: `3000@host:9093:directory id,…`."""
    entries = []
    for key in record.initial:
        listener = advertised(desired.namespace, desired.member(key.node_id), revision.runtime)
        entries.append(f"{key.node_id}@{listener.host}:{listener.port}:{key.directory_id}")
    return ",".join(entries)


def _intent(record: IdentityRecord, node: NodeIdentity) -> str:
    """The name of one format of one claim: a second format after a loss has another name."""
    return f"{record.cluster_id} {node.node_id} {node.mode.value} {node.claim_uid} {len(node.retired)}"


def _metadata(
    desired: Desired, record: IdentityRecord, node: NodeIdentity, revision: Revision, config: str, *, role: PodRole
) -> Json:
    template: Json = json.loads(revision.runtime.template_metadata)
    own = {names.LABEL_ROLE: role.value, names.LABEL_NODE: str(node.node_id)}
    annotations = {
        names.CLUSTER_ID: record.cluster_id,
        names.DIRECTORY_ID: node.directory_id or "",
        names.CLAIM_UID: node.claim_uid or "",
        names.MODE: node.mode.value,
        names.REVISION: revision.name,
        names.CONFIG: config,
        names.INPUTS_HASH: revision.inputs_hash,
        **({names.RESTARTED_AT: revision.runtime.restarted_at} if revision.runtime.restarted_at else {}),
    }
    return {
        "namespace": desired.namespace,
        "labels": {**template.get("labels", {}), **labels(desired.name, **own)},
        "annotations": {**template.get("annotations", {}), **annotations},
        "ownerReferences": owner(desired),
    }


def _pod(metadata: Json, spec: Json) -> Json:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _container(record: IdentityRecord, node: NodeIdentity, revision: Revision, pull_policy: str) -> Json:
    """What both kinds of containers share: image, environment, mounts, resources; then the template's additions."""
    runtime = revision.runtime
    template = template_container(runtime.template_spec)
    env = [
        *template.get("env", []),  # before ours: of two entries with one name, the last counts
        {"name": "KQ_MODE", "value": node.mode.value},
        {"name": "KQ_CLUSTER_ID", "value": record.cluster_id},
        {"name": "KQ_NODE_ID", "value": str(node.node_id)},
        {"name": "KQ_DIRECTORY_ID", "value": node.directory_id or ""},
        {"name": "KQ_CLAIM_UID", "value": node.claim_uid or ""},
        {"name": "KQ_CONFIG", "value": f"{CONFIG_PATH}/{node.node_id}.properties"},
        *([{"name": "KQ_RECOVERY", "value": str(record.recovery_epoch)}] if record.recovery_epoch else []),
        *java_variables(runtime.heap, runtime.jvm_options, runtime.release),
    ]
    return {
        "image": revision.image,
        "imagePullPolicy": pull_policy,
        "env": env,
        "securityContext": copy.deepcopy(RESTRICTED),
        "resources": template.get("resources") or default_resources(runtime.heap),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            {"name": "data", "mountPath": DATA_PATH},
            {"name": "config", "mountPath": CONFIG_PATH, "readOnly": True},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - the pod's own emptyDir
        ],
    }


def _spec(desired: Desired, node: NodeIdentity, revision: Revision, config: str) -> Json:
    template = template_of(revision.runtime.template_spec)
    template.pop("containers", None)
    claim = names.claim_name(desired.member(node.node_id), node.generation)
    fixed: Json = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": claim}},
            {"name": "config", "configMap": {"name": config}},
            {"name": "tmp", "emptyDir": {"sizeLimit": "1Gi"}},
        ],
    }
    security = pod_security(template.pop("securityContext", {}))
    defaults: Json = {"affinity": spread({names.LABEL_QUORUM: desired.name}), "terminationGracePeriodSeconds": 60}
    return defaults | template | fixed | {"securityContext": security}
