"""What `spec.template.spec` may have: a pod as in a Deployment, within the operator's policy for pods.

The operator creates these pods with its own rights. A person who may create a KafkaStreamsApplication may lack the
right to read secrets, to use service accounts or to run as root. Without an exception in `podPolicy.allow` of the
chart, a pod gets none of these.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kafka_quorum.api import podpolicy
from kafka_quorum.api.podfields import type_faults, without_nulls
from kafka_quorum.model.desired import FieldFault
from kafka_quorum.settings import PodException
from kit.parsing import deeper_than, larger_than

_LEVELS_MAX: Final = 20
_VALUES_MAX: Final = 2_000
_CHARS_MAX: Final = 256 * 1024
OWNED: Final = {
    "activeDeadlineSeconds": "the operator decides when an instance ends",
    "ephemeralContainers": "they are added to running pods only",
    "hostNetwork": "members of the group are told apart by the addresses of their pods",
    "hostIPC": "pods stay apart from their node",
    "hostPID": "pods stay apart from their node",
    "hostname": "the name of the pod is its host name",
    "hostnameOverride": "the name of the pod is its host name",
    "nodeName": "the scheduler places pods: use nodeSelector or affinity",
    "restartPolicy": "instances always start again",
    "serviceAccount": "it is the old name of serviceAccountName",
    "setHostnameAsFQDN": "the name of the pod is its host name",
    "subdomain": "the name of the pod is its host name",
}
_VOLUMES: Final = frozenset({"name", "configMap", "emptyDir", "downwardAPI", "image"})
"""Volumes that give nothing away which the creator of the resource could not read or use otherwise."""
_SOURCES: Final = frozenset({"configMap", "downwardAPI", "secret"})
"""Sources of a projected volume that give no right of a service account."""
STATE_VOLUME: Final = "kafka-streams-state"
PROPERTIES_VOLUME: Final = "kafka-streams-properties"


def template_faults(
    field: str, spec: Mapping[str, Any], container: str, allowed: frozenset[PodException]
) -> Iterator[FieldFault]:
    """The faults of a pod template, in which `container` runs the application."""
    if larger_than(spec, values=_VALUES_MAX, chars=_CHARS_MAX):
        text = f"it has more than {_VALUES_MAX} values or {_CHARS_MAX} characters, which no pod needs: shorten it"
        yield FieldFault(field=field, message=text)
        return
    if deeper_than(spec, _LEVELS_MAX):
        yield FieldFault(field=field, message=f"it has more than {_LEVELS_MAX} levels, which no pod has: correct it")
        return
    spec = without_nulls(spec)
    for name in sorted(set(spec) & set(OWNED)):
        yield FieldFault(field=f"{field}.{name}", message=f"{OWNED[name]}: remove it")
    yield from type_faults(field, spec)
    yield from podpolicy.policy_faults(field, spec, allowed)
    if spec.get("automountServiceAccountToken") is True and PodException.SERVICE_ACCOUNTS not in allowed:
        text = "the token gives the rights of its service account: remove it, or ask an administrator to install the"
        place = f"{field}.automountServiceAccountToken"
        yield FieldFault(
            field=place, message=f"{text} operator with {PodException.SERVICE_ACCOUNTS} in podPolicy.allow"
        )
    yield from _volumes(f"{field}.volumes", spec.get("volumes", []), allowed)
    names: list[object] = []
    for kind in ("initContainers", "containers"):
        rows = spec.get(kind, [])
        if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
            yield FieldFault(field=f"{field}.{kind}", message="must be a list of containers")
            return
        names.extend(row.get("name") for row in rows if kind == "containers")
        for index, row in enumerate(rows):
            yield from _container(f"{field}.{kind}[{index}]", row, allowed)
    if container not in names:
        text = f"has no container named {container}: add one, or name the application's container in spec.container"
        yield FieldFault(field=f"{field}.containers", message=text)


def _volumes(field: str, rows: object, allowed: frozenset[PodException]) -> Iterator[FieldFault]:
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        yield FieldFault(field=field, message="must be a list of volumes")
        return
    for index, row in enumerate(rows):
        place = f"{field}[{index}]"
        if row.get("name") in (STATE_VOLUME, PROPERTIES_VOLUME):
            yield FieldFault(field=f"{place}.name", message="this name belongs to the operator: choose another one")
        for kind in sorted(set(row) - _VOLUMES):
            if PodException.SECRET_VARIABLES in allowed and kind in ("secret", "projected"):
                yield from _projected(f"{place}.projected", row.get("projected"), allowed)
                continue
            text = (
                "volumes of an application are config maps, empty directories and downward API; secrets need"
                f" {PodException.SECRET_VARIABLES} in podPolicy.allow of the chart: remove it"
            )
            yield FieldFault(field=f"{place}.{kind}", message=text)


def _projected(field: str, volume: object, allowed: frozenset[PodException]) -> Iterator[FieldFault]:
    """A projected volume can have a token, which gives the rights of the pod's service account."""
    rows = volume.get("sources") if isinstance(volume, Mapping) else None
    if PodException.SERVICE_ACCOUNTS in allowed or rows is None:
        return
    sources = rows if isinstance(rows, list) else [rows]
    if any(not isinstance(one, Mapping) or set(one) - _SOURCES for one in sources):
        text = (
            f"may have secrets, config maps and downward API; others need {PodException.SERVICE_ACCOUNTS} in"
            " podPolicy.allow of the chart: remove them"
        )
        yield FieldFault(field=f"{field}.sources", message=text)


def _container(field: str, row: Mapping[str, Any], allowed: frozenset[PodException]) -> Iterator[FieldFault]:
    yield from _confinement(f"{field}.securityContext", row.get("securityContext", {}), allowed)
    env = row.get("env", [])
    if not isinstance(env, list) or not all(isinstance(one, Mapping) for one in env):
        yield FieldFault(field=f"{field}.env", message="must be a list of variables, each with a name")
        return
    for index, variable in enumerate(env):
        yield from podpolicy.variable_faults(f"{field}.env[{index}]", variable, allowed)
    if row.get("envFrom") and PodException.SECRET_VARIABLES not in allowed:
        text = f"needs {PodException.SECRET_VARIABLES} in podPolicy.allow of the chart: remove it"
        yield FieldFault(field=f"{field}.envFrom", message=text)
    for name in ("ports", "volumeMounts"):
        rows = row.get(name, [])
        if not isinstance(rows, list) or not all(isinstance(one, Mapping) for one in rows):
            yield FieldFault(field=f"{field}.{name}", message="must be a list of objects with fields")
            return
    for index, port in enumerate(row.get("ports", [])):
        if port.get("hostPort"):
            text = "a port of the node is shared by all pods: remove it"
            yield FieldFault(field=f"{field}.ports[{index}].hostPort", message=text)


def _confinement(field: str, context: object, allowed: frozenset[PodException]) -> Iterator[FieldFault]:
    """A container's own security context may be stricter than the pod's, never laxer."""
    if not isinstance(context, Mapping):
        yield FieldFault(field=field, message="must be a security context")
        return
    unconfined, root = PodException.UNCONFINED not in allowed, PodException.ROOT not in allowed
    capabilities = context.get("capabilities", {})
    if not isinstance(capabilities, Mapping):
        yield FieldFault(field=f"{field}.capabilities", message="must be an object with fields")
        return
    added, dropped = capabilities.get("add"), capabilities.get("drop", ["ALL"])
    for name, wrong in (
        ("privileged", unconfined and bool(context.get("privileged"))),
        ("allowPrivilegeEscalation", unconfined and bool(context.get("allowPrivilegeEscalation"))),
        ("capabilities.add", unconfined and bool(added)),
        ("capabilities.drop", unconfined and (not isinstance(dropped, list) or "ALL" not in dropped)),
        ("procMount", unconfined and context.get("procMount") not in (None, "Default")),
        ("seLinuxOptions", unconfined and bool(context.get("seLinuxOptions"))),
        ("seccompProfile", unconfined and _unconfined(context.get("seccompProfile"))),
        ("appArmorProfile", unconfined and _unconfined(context.get("appArmorProfile"))),
        ("windowsOptions", unconfined and bool(context.get("windowsOptions"))),
        ("runAsUser", root and context.get("runAsUser") == 0),
        ("runAsNonRoot", root and context.get("runAsNonRoot") is False),
    ):
        if wrong:
            exception = PodException.ROOT if name.startswith("runAs") else PodException.UNCONFINED
            text = f"takes the container out of its confinement: remove it, or allow {exception} in podPolicy.allow"
            yield FieldFault(field=f"{field}.{name}", message=text)


def _unconfined(profile: object) -> bool:
    return profile is not None and (not isinstance(profile, Mapping) or profile.get("type") not in podpolicy.PROFILES)
