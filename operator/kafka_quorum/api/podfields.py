"""The types of the pod fields that `controllers.template.spec` admits, as Kubernetes defines them.

Without these checks, a value of another type would be refused only when a pod is created, in the words of the API
server's JSON decoder, or it would break the builder of the pod. Fields that Kubernetes adds later pass: a dry run of
the pod checks them.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from kafka_quorum.model.desired import FieldFault
from kit.kube.quantities import parse_quantity

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_MAX_NAME_CHARACTERS: Final = 253


def is_object_name(text: str) -> bool:
    """Whether an object of Kubernetes can have this name."""
    return len(text) <= _MAX_NAME_CHARACTERS and _NAME.fullmatch(text) is not None


def _object_name(text: str) -> str:
    if not is_object_name(text):
        raise PydanticCustomError("name", "write a name of lower-case letters, digits, '-' and '.'")
    return text


def _quantity(value: object) -> object:
    if (
        isinstance(value, bool)
        or not isinstance(value, str | int | float)
        or parse_quantity(str(value).strip()) is None
    ):
        raise PydanticCustomError("quantity", "write a quantity, for example 500m (cpu) or 1Gi (memory)")
    return value


Name: TypeAlias = Annotated[str, AfterValidator(_object_name)]
Quantity: TypeAlias = Annotated[Any, AfterValidator(_quantity)]
Texts: TypeAlias = dict[str, str]


def without_nulls(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """JSON without the fields whose value is null, at every level: Kubernetes reads them as not set."""
    if isinstance(value, Mapping):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [without_nulls(inner) for inner in value]
    return value


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow", frozen=True)


class _Expression(_Part):
    key: str
    operator: str
    values: list[str] | None = None


class _Selector(_Part):
    matchLabels: Texts | None = None  # noqa: N815 - Kubernetes' own name
    matchExpressions: list[_Expression] | None = None  # noqa: N815 - as above


class _NodeTerm(_Part):
    matchExpressions: list[_Expression] | None = None  # noqa: N815 - as above
    matchFields: list[_Expression] | None = None  # noqa: N815 - as above


class _NodeTerms(_Part):
    nodeSelectorTerms: list[_NodeTerm]  # noqa: N815 - as above


class _PreferredNode(_Part):
    weight: int
    preference: _NodeTerm


class _NodeAffinity(_Part):
    requiredDuringSchedulingIgnoredDuringExecution: _NodeTerms | None = None  # noqa: N815 - as above
    preferredDuringSchedulingIgnoredDuringExecution: list[_PreferredNode] | None = None  # noqa: N815 - as above


class _PodTerm(_Part):
    topologyKey: str  # noqa: N815 - as above
    labelSelector: _Selector | None = None  # noqa: N815 - as above
    namespaceSelector: _Selector | None = None  # noqa: N815 - as above
    namespaces: list[str] | None = None
    matchLabelKeys: list[str] | None = None  # noqa: N815 - as above
    mismatchLabelKeys: list[str] | None = None  # noqa: N815 - as above


class _PreferredPod(_Part):
    weight: int
    podAffinityTerm: _PodTerm  # noqa: N815 - as above


class _PodAffinity(_Part):
    requiredDuringSchedulingIgnoredDuringExecution: list[_PodTerm] | None = None  # noqa: N815 - as above
    preferredDuringSchedulingIgnoredDuringExecution: list[_PreferredPod] | None = None  # noqa: N815 - as above


class _Affinity(_Part):
    nodeAffinity: _NodeAffinity | None = None  # noqa: N815 - as above
    podAffinity: _PodAffinity | None = None  # noqa: N815 - as above
    podAntiAffinity: _PodAffinity | None = None  # noqa: N815 - as above


class _DnsOption(_Part):
    name: str
    value: str | None = None


class _Dns(_Part):
    nameservers: list[str] | None = None
    searches: list[str] | None = None
    options: list[_DnsOption] | None = None


class _HostAlias(_Part):
    ip: str
    hostnames: list[str] | None = None


class _Reference(_Part):
    name: Name


class _Seccomp(_Part):
    type: str
    localhostProfile: str | None = None  # noqa: N815 - as above


class _AppArmor(_Part):
    type: str
    localhostProfile: str | None = None  # noqa: N815 - as above


class _Windows(_Part):
    gmsaCredentialSpec: str | None = None  # noqa: N815 - as above
    gmsaCredentialSpecName: str | None = None  # noqa: N815 - as above
    hostProcess: bool | None = None  # noqa: N815 - as above
    runAsUserName: str | None = None  # noqa: N815 - as above


class _Sysctl(_Part):
    name: str
    value: str


class _Security(_Part):
    """Closed: a field that was not considered must not change which user Kafka runs as, nor what it may do."""

    model_config = ConfigDict(extra="forbid")

    runAsUser: int | None = None  # noqa: N815 - as above
    runAsGroup: int | None = None  # noqa: N815 - as above
    runAsNonRoot: bool | None = None  # noqa: N815 - as above
    fsGroup: int | None = None  # noqa: N815 - as above
    fsGroupChangePolicy: Literal["OnRootMismatch", "Always"] | None = None  # noqa: N815 - as above
    supplementalGroups: list[int] | None = None  # noqa: N815 - as above
    supplementalGroupsPolicy: Literal["Merge", "Strict"] | None = None  # noqa: N815 - as above
    seccompProfile: _Seccomp | None = None  # noqa: N815 - as above
    seLinuxOptions: Texts | None = None  # noqa: N815 - as above
    seLinuxChangePolicy: Literal["MountOption", "Recursive"] | None = None  # noqa: N815 - as above
    appArmorProfile: _AppArmor | None = None  # noqa: N815 - as above
    windowsOptions: _Windows | None = None  # noqa: N815 - as above
    sysctls: list[_Sysctl] | None = None


class _Toleration(_Part):
    key: str | None = None
    operator: Literal["Exists", "Equal", "Lt", "Gt"] | None = None
    value: str | None = None
    effect: Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    tolerationSeconds: int | None = None  # noqa: N815 - as above


class _Spread(_Part):
    maxSkew: int  # noqa: N815 - as above
    topologyKey: str  # noqa: N815 - as above
    whenUnsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"]  # noqa: N815 - as above
    labelSelector: _Selector | None = None  # noqa: N815 - as above
    minDomains: int | None = None  # noqa: N815 - as above
    matchLabelKeys: list[str] | None = None  # noqa: N815 - as above
    nodeAffinityPolicy: Literal["Honor", "Ignore"] | None = None  # noqa: N815 - as above
    nodeTaintsPolicy: Literal["Honor", "Ignore"] | None = None  # noqa: N815 - as above


class _FieldOfPod(_Part):
    apiVersion: Literal["", "v1"] | None = None  # noqa: N815 - as above
    fieldPath: str  # noqa: N815 - as above


class _FieldOfContainer(_Part):
    containerName: str | None = None  # noqa: N815 - as above
    resource: str
    divisor: Quantity | None = None


class _Key(_Part):
    name: str | None = None
    key: str
    optional: bool | None = None


class ValueSource(_Part):
    """Where the value of an environment variable comes from."""

    fieldRef: _FieldOfPod | None = None  # noqa: N815 - as above
    resourceFieldRef: _FieldOfContainer | None = None  # noqa: N815 - as above
    secretKeyRef: _Key | None = None  # noqa: N815 - as above
    configMapKeyRef: _Key | None = None  # noqa: N815 - as above


class PodFields(_Part):
    """The admitted fields of a pod's spec; `containers` and the grace period have checks of their own."""

    affinity: _Affinity | None = None
    dnsConfig: _Dns | None = None  # noqa: N815 - as above
    hostAliases: list[_HostAlias] | None = None  # noqa: N815 - as above
    imagePullSecrets: list[_Reference] | None = None  # noqa: N815 - as above
    nodeSelector: Texts | None = None  # noqa: N815 - as above
    priorityClassName: Name | None = None  # noqa: N815 - as above
    runtimeClassName: Name | None = None  # noqa: N815 - as above
    schedulerName: Name | None = None  # noqa: N815 - as above
    securityContext: _Security | None = None  # noqa: N815 - as above
    serviceAccountName: Name | None = None  # noqa: N815 - as above
    tolerations: list[_Toleration] | None = None
    topologySpreadConstraints: list[_Spread] | None = None  # noqa: N815 - as above


_KINDS: Final = {
    "string_type": 'it must be a text: put it in quotes, as in "1"',
    "int_type": "it must be a whole number, without quotes",
    "bool_type": "it must be true or false, without quotes",
    "list_type": "it must be a list",
    "dict_type": "it must be an object with fields",
    "model_type": "it must be an object with fields",
    "extra_forbidden": "a pod has no such field here, or the operator does not pass it on: remove it",
}


def type_faults(
    field: str, given: Mapping[str, Any], of: type[PodFields | ValueSource] = PodFields
) -> Iterator[FieldFault]:
    """Every value in a part of the template that has another type, or another form, than Kubernetes gives it.

    `given` is the pod's spec, or a part that is `of` another type; it has no nulls (`without_nulls`).
    """
    try:
        of.model_validate(dict(given))
    except ValidationError as error:
        yield from (_fault(field, detail) for detail in error.errors(include_url=False))


def _fault(field: str, detail: ErrorDetails) -> FieldFault:
    place = field + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in detail["loc"])
    if detail["type"] == "missing":
        return FieldFault(field=place, message="this field is required: set it")
    if detail["type"] == "literal_error":
        return FieldFault(field=place, message=f"it must be one of {detail['ctx']['expected']}")
    return FieldFault(field=place, message=_KINDS.get(detail["type"], detail["msg"]))
