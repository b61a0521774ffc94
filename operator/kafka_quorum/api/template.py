"""What `controllers.template` may adjust in the pods, and what is refused because the operator's safety rests on it.

The operator owns everything that binds a pod to its disk, its host name and its role; scheduling, resources and a few
settings of the node are the user's. Pod fields that are in neither list are refused by `validation`, by name: a field
that nobody thought about must not slip into a pod that runs a voter.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kafka_quorum.api import metadata
from kafka_quorum.api.quantity import parse_quantity
from kafka_quorum.model.desired import FieldFault

CONTAINER = "kafka"

ALLOWED_POD_FIELDS: tuple[str, ...] = (
    "affinity",
    "containers",
    "dnsConfig",
    "hostAliases",
    "imagePullSecrets",
    "nodeSelector",
    "priorityClassName",
    "runtimeClassName",
    "schedulerName",
    "securityContext",
    "serviceAccountName",
    "terminationGracePeriodSeconds",
    "tolerations",
    "topologySpreadConstraints",
)
OWNED_POD_FIELDS: dict[str, str] = {
    "activeDeadlineSeconds": "integer",
    "automountServiceAccountToken": "boolean",
    "ephemeralContainers": "array",
    "hostIPC": "boolean",
    "hostNetwork": "boolean",
    "hostPID": "boolean",
    "hostname": "string",
    "hostnameOverride": "string",
    "initContainers": "array",
    "nodeName": "string",
    "readinessGates": "array",
    "restartPolicy": "string",
    "shareProcessNamespace": "boolean",
    "setHostnameAsFQDN": "boolean",
    "subdomain": "string",
    "volumes": "array",
}
"""Pod fields that the operator sets, with the type that they have in a pod."""

OWNED_MESSAGE = "this field of the pod belongs to the operator: remove it; template.spec may set " + ", ".join(
    ALLOWED_POD_FIELDS
)

ALLOWED_CONTAINER_FIELDS: tuple[str, ...] = ("name", "resources", "env")
ALLOWED_KAFKA_VARIABLES: tuple[str, ...] = ("KAFKA_JMX_OPTS", "KAFKA_JVM_PERFORMANCE_OPTS")
OWNED_VARIABLES: tuple[str, ...] = ("LOG_DIR", "EXTRA_ARGS")
OWNED_LABELS: tuple[str, ...] = (
    "app.kubernetes.io/component",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/name",
)


def owned_label(key: str) -> bool:
    """Whether the operator alone sets this label or annotation."""
    return key.startswith("kafkaquorum.io/") or key in OWNED_LABELS


def metadata_faults(field: str, labels: Mapping[str, str], annotations: Mapping[str, str]) -> Iterator[FieldFault]:
    """What is wrong with the template's labels and annotations as such; ownership is a rule of its own."""
    for key, value in labels.items():
        if not metadata.qualified_name(key) or not metadata.label_value(value):
            yield FieldFault(
                field=f"{field}.labels",
                message=f"{key}={value} is no Kubernetes label: up to 63 letters, digits, '-', '_' and '.', begun and "
                "ended by a letter or digit; correct or remove it",
            )
    for key in annotations:
        if not metadata.qualified_name(key.lower()):
            yield FieldFault(
                field=f"{field}.annotations",
                message=f"{key} is no name of a Kubernetes annotation: write it as name or prefix/name",
            )


def spec_faults(field: str, spec: Mapping[str, Any]) -> Iterator[FieldFault]:
    """What is wrong with the template's pod spec."""
    for name in sorted(spec):
        if name in OWNED_POD_FIELDS:
            yield FieldFault(field=f"{field}.{name}", message=OWNED_MESSAGE)
        elif name not in ALLOWED_POD_FIELDS:
            yield FieldFault(
                field=f"{field}.{name}",
                message="the operator does not pass this field on to its pods: remove it; template.spec may set "
                + ", ".join(ALLOWED_POD_FIELDS),
            )
    grace = spec.get("terminationGracePeriodSeconds", 1)
    if not isinstance(grace, int) or isinstance(grace, bool) or grace < 1:
        yield FieldFault(
            field=f"{field}.terminationGracePeriodSeconds",
            message="must be a whole number of seconds above zero: Kafka closes its log in that time",
        )
    containers = spec.get("containers", [])
    if not isinstance(containers, list) or not all(isinstance(container, Mapping) for container in containers):
        yield FieldFault(field=f"{field}.containers", message="must be a list with one entry, named kafka")
        return
    yield from _containers_faults(f"{field}.containers", containers)


def _containers_faults(field: str, containers: list[Mapping[str, Any]]) -> Iterator[FieldFault]:
    if len(containers) > 1 or any(container.get("name") != CONTAINER for container in containers):
        yield FieldFault(
            field=field,
            message="containers may only adjust the container named kafka (resources, env): remove the others",
        )
        return
    for container in containers:
        for name in sorted(set(container) - set(ALLOWED_CONTAINER_FIELDS)):
            yield FieldFault(
                field=f"{field}[0].{name}",
                message="only resources and env of the kafka container can be set: remove it",
            )
        yield from _resources_faults(f"{field}[0].resources", container.get("resources", {}))
        yield from _env_faults(f"{field}[0].env", container.get("env", []))


def _resources_faults(field: str, resources: object) -> Iterator[FieldFault]:
    if not isinstance(resources, Mapping) or set(resources) - {"requests", "limits"}:
        yield FieldFault(field=field, message="must have requests and limits, and nothing else")
        return
    for part, amounts in resources.items():
        if not isinstance(amounts, Mapping):
            yield FieldFault(field=f"{field}.{part}", message="must be a map such as {cpu: 500m, memory: 1Gi}")
            continue
        for name, amount in amounts.items():
            if isinstance(amount, bool) or parse_quantity(str(amount)) is None:
                yield FieldFault(
                    field=f"{field}.{part}.{name}",
                    message=f"{amount!r} is no Kubernetes quantity: write for example 500m for cpu or 1Gi for memory",
                )


def _env_faults(field: str, env: object) -> Iterator[FieldFault]:
    if not isinstance(env, list) or not all(
        isinstance(variable, Mapping) and isinstance(variable.get("name"), str) for variable in env
    ):
        yield FieldFault(field=field, message="must be a list of variables, each with a name")
        return
    for variable in env:
        name = variable["name"]
        if _owned_variable(name):
            yield FieldFault(
                field=field,
                message=f"{name} belongs to the operator (Kafka's images turn KAFKA_* into server properties): use "
                f"controllers.config, jvm.heap or jvm.options, or one of {', '.join(ALLOWED_KAFKA_VARIABLES)}",
            )


def _owned_variable(name: str) -> bool:
    kafkas = name.startswith("KAFKA_") and name not in ALLOWED_KAFKA_VARIABLES
    return kafkas or name.startswith("KQ_") or name in OWNED_VARIABLES
