"""What `controllers.template` may change in the pods, and what is refused because the operator's safety depends on it.

The operator owns everything that binds a pod to its disk, its host name and its role. Scheduling, resources and a few
settings of the node belong to the user. `validation` refuses pod fields that are in neither list, by name: a field that
was not considered must not get into a pod that runs a voter.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kafka_quorum.api import jvm, metadata, podpolicy
from kafka_quorum.api.podfields import type_faults, without_nulls
from kafka_quorum.model.desired import FieldFault
from kit.kube.quantities import bytes_of, parse_quantity
from kit.parsing import deeper_than, larger_than

CONTAINER = "kafka"
_VARIABLE_MAX_CHARS = 100_000
"""Linux starts no process with a variable of 128 KiB."""
_VARIABLES_MAX_CHARS = 256 * 1024
"""The limit for all variables together: Linux starts a process with 2 MiB of them, and every pass checks each one."""
_LEVELS_MAX = 20
"""The limit of nested objects and lists; an affinity has nine."""
VALUES_MAX = 2_000
"""Objects, lists and single values in the template's pod spec, at all levels; a full one has some hundred."""
_CHARS_MAX = 256 * 1024
"""The limit of all texts and keys in it."""

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
ALLOWED_KAFKA_VARIABLES = jvm.KAFKAS_VARIABLES
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
    """The faults of the template's labels and annotations as such; ownership is a rule of its own."""
    for key, value in labels.items():
        if not metadata.qualified_name(key) or not metadata.label_value(value):
            yield FieldFault(
                field=f"{field}.labels",
                message=f"{key}={value} is not a Kubernetes label: up to 63 letters, digits, '-', '_' and '.', "
                "beginning and ending with a letter or digit. Correct or remove it",
            )
        if podpolicy.foreign_label(key) and not owned_label(key):
            yield FieldFault(
                field=f"{field}.labels",
                message=f"{key} belongs to Kubernetes or to another controller, which could adopt the pod: remove it",
            )
    for key in annotations:
        if podpolicy.unconfining(key):
            yield FieldFault(
                field=f"{field}.annotations",
                message=f"{key} takes the pod out of its confinement: remove it",
            )
        if not metadata.qualified_name(key.lower()):
            yield FieldFault(
                field=f"{field}.annotations",
                message=f"{key} is not the name of a Kubernetes annotation: write it as name or prefix/name",
            )


def spec_faults(field: str, spec: Mapping[str, Any], allowed: frozenset[str] = frozenset()) -> Iterator[FieldFault]:
    """The faults of the template's pod spec; `allowed` are exceptions from `podpolicy`.

    A field that is null is checked, and built, as if it did not exist.
    """
    if larger_than(spec, values=VALUES_MAX, chars=_CHARS_MAX):
        message = f"it has more than {VALUES_MAX} values or {_CHARS_MAX} characters, which no pod needs: shorten it"
        yield FieldFault(field=field, message=message)
        return
    if deeper_than(spec, _LEVELS_MAX):
        yield FieldFault(field=field, message=f"it has more than {_LEVELS_MAX} levels, which no pod has: correct it")
        return
    spec = without_nulls(spec)
    yield from type_faults(field, spec)
    yield from podpolicy.policy_faults(field, spec, allowed)
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
    yield from _containers_faults(f"{field}.containers", containers, allowed)


def _containers_faults(
    field: str, containers: list[Mapping[str, Any]], allowed: frozenset[str]
) -> Iterator[FieldFault]:
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
        yield from _env_faults(f"{field}[0].env", container.get("env", []), allowed)


def _resources_faults(field: str, resources: object) -> Iterator[FieldFault]:
    if not isinstance(resources, Mapping) or set(resources) - {"requests", "limits"}:
        yield FieldFault(field=field, message="must have requests and limits, and nothing else")
        return
    yield from _order_faults(field, resources)
    for part, amounts in resources.items():
        if not isinstance(amounts, Mapping):
            yield FieldFault(field=f"{field}.{part}", message="must be a map such as {cpu: 500m, memory: 1Gi}")
            continue
        for name, amount in amounts.items():
            if isinstance(amount, bool) or parse_quantity(str(amount)) is None:
                yield FieldFault(
                    field=f"{field}.{part}.{name}",
                    message=f"{amount!r} is not a Kubernetes quantity: write for example 500m (cpu) or 1Gi (memory)",
                )


def _order_faults(field: str, resources: Mapping[str, Any]) -> Iterator[FieldFault]:
    """Requests above their limits: the API server would refuse the pod."""
    requests, limits = resources.get("requests"), resources.get("limits")
    if not isinstance(requests, Mapping) or not isinstance(limits, Mapping):
        return
    for name, amount in requests.items():
        asked, limit = parse_quantity(str(amount)), parse_quantity(str(limits.get(name)))
        if asked is not None and limit is not None and asked > limit:
            yield FieldFault(
                field=f"{field}.requests.{name}",
                message=f"the request is above the limit of {limits[name]}: lower it, or raise the limit",
            )


def memory_limit_bytes(spec: Mapping[str, Any]) -> int | None:
    """The memory limit of the kafka container; None if the template sets none that can be read."""
    containers = spec.get("containers")
    for container in containers if isinstance(containers, list) else ():
        value = container
        for name in ("resources", "limits", "memory"):
            value = value.get(name) if isinstance(value, Mapping) else None
        if value is not None:
            return bytes_of(str(value))
    return None


def _env_faults(field: str, env: object, allowed: frozenset[str]) -> Iterator[FieldFault]:
    if not isinstance(env, list) or not all(
        isinstance(variable, Mapping) and isinstance(variable.get("name"), str) for variable in env
    ):
        yield FieldFault(field=field, message="must be a list of variables, each with a name")
        return
    before: dict[str, str] = {}
    left = _VARIABLES_MAX_CHARS
    for index, variable in enumerate(env):
        name, place = variable["name"], f"{field}[{index}]"
        yield from podpolicy.variable_faults(place, variable, allowed)
        yield from _variable_faults(place, variable)
        text = _expanded(str(variable.get("value", "")), before)
        if text is None:
            message = f"it has more than {_VARIABLE_MAX_CHARS} characters, and no process can start with it: shorten it"
            yield FieldFault(field=f"{place}.value", message=message)
            return
        left -= len(name) + len(text)
        if left < 0:
            message = f"all variables together have more than {_VARIABLES_MAX_CHARS} characters: shorten them"
            yield FieldFault(field=field, message=message)
            return
        if name in (*jvm.KAFKAS_VARIABLES, *jvm.JAVAS_VARIABLES):
            yield from _java_faults(place, variable, text)
        before[name] = text
        if _owned_variable(name):
            yield FieldFault(
                field=f"{place}.name",
                message=f"{name} belongs to the operator (Kafka's images turn KAFKA_* into server properties): use "
                f"the fields config, jvm.heap or jvm.options, or one of {', '.join(ALLOWED_KAFKA_VARIABLES)}",
            )


def options_faults(
    field: str, options: Sequence[str], spec: Mapping[str, Any], allowed: frozenset[str] = frozenset()
) -> Iterator[FieldFault]:
    """The faults of Java's options after the kubelet has inserted the template's variables.

    The options as they are written have checks of their own, and so has the template.
    """
    written = " ".join(options)
    if "$(" not in written or any(True for _ in spec_faults(field, spec, allowed)):
        return
    spec = without_nulls(spec)
    before: dict[str, str] = {}
    unknown: list[str] = []
    for variable in _variables(spec):
        name = variable["name"]
        before[name] = _expanded(variable.get("value", ""), before) or ""
        if _is_annotation(variable.get("valueFrom")):
            unknown.append(name)
    for name in unknown:
        if f"$({name})" in written:
            message = f"the operator cannot check what $({name}) will stand for: write its value here"
            yield FieldFault(field=field, message=message)
    text = _expanded(written, before)
    if text is None:
        message = f"with their variables they have more than {_VARIABLE_MAX_CHARS} characters: shorten them"
        yield FieldFault(field=field, message=message)
    elif text != written:
        for message in jvm.variable_faults("KAFKA_OPTS", text):
            yield FieldFault(field=field, message=message)


def _variables(spec: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The variables of a template without faults."""
    containers: list[Mapping[str, Any]] = spec.get("containers", [])
    return [variable for container in containers for variable in container.get("env", [])]


def _is_annotation(source: object) -> bool:
    """Whether a variable's source is an annotation of the pod, its only field that may have spaces."""
    reference = source.get("fieldRef") if isinstance(source, Mapping) else None
    path = reference.get("fieldPath") if isinstance(reference, Mapping) else None
    return isinstance(path, str) and path.startswith("metadata.annotations")


def _variable_faults(field: str, variable: Mapping[str, Any]) -> Iterator[FieldFault]:
    """The faults of a variable's name and its text."""
    if re.fullmatch(r"[-._a-zA-Z][-._a-zA-Z0-9]*", variable["name"]) is None:
        yield FieldFault(field=f"{field}.name", message="a name has letters, digits, '_', '-' and '.' only")
    if set(variable) - {"name", "value", "valueFrom"}:
        yield FieldFault(field=field, message="a variable has a name and a value, or a name and valueFrom")
    value = variable.get("value")
    if value is not None and not isinstance(value, str):
        yield FieldFault(field=f"{field}.value", message='it must be a text: put it in quotes, as in "1"')
    elif value is not None and "\0" in value:
        yield FieldFault(field=f"{field}.value", message="it has a NUL character: remove it")


def _java_faults(field: str, variable: Mapping[str, Any], text: str) -> Iterator[FieldFault]:
    """The faults of a variable from which Java's options are read; `text` is its value as the kubelet makes it."""
    if "valueFrom" in variable:
        message = "Java's options must be written here as a value, because the operator cannot check others"
        yield FieldFault(field=f"{field}.valueFrom", message=message)
    for message in jvm.variable_faults(variable["name"], text):
        yield FieldFault(field=f"{field}.value", message=message)


def _expanded(value: str, before: Mapping[str, str]) -> str | None:
    """A value as the kubelet makes it: `$(NAME)` becomes the value of a variable before it, and `$$` becomes `$`.

    None if it would be too long. It is not made then, because each variable could be many times as long as the one
    before.
    """
    parts, size = list[str](), 0
    for piece in re.split(r"(\$\$|\$\([^()]*\))", value):
        part = "$" if piece == "$$" else before.get(piece[2:-1], piece) if piece.startswith("$(") else piece
        parts.append(part)
        size += len(part)
        if size > _VARIABLE_MAX_CHARS:
            return None
    return "".join(parts)


def _owned_variable(name: str) -> bool:
    kafkas = name.startswith("KAFKA_") and name not in ALLOWED_KAFKA_VARIABLES
    return kafkas or name.startswith("KQ_") or name in OWNED_VARIABLES
