"""What a creator of KafkaQuorums may not do through the pods, unless the operator's chart allows it.

A person who may create a KafkaQuorum in a namespace may lack other rights there: to read its secrets, to use its
service accounts, or to run as root. The operator creates the pods with its own rights. `podPolicy.allow` of the chart
lists exceptions.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kafka_quorum.api.podfields import ValueSource, type_faults
from kafka_quorum.model.desired import FieldFault
from kafka_quorum.settings import PodException

OWN_VALUES: Final = frozenset({"fieldRef", "resourceFieldRef"})
PROFILES: Final = ("RuntimeDefault", "Localhost")
_USER: Final = 1000
"""`appuser` of the official image."""
UNCONFINING: Final = ("container.apparmor.security.beta.kubernetes.io/", "seccomp.security.alpha.kubernetes.io/")
OF_CONTROLLERS: Final = frozenset(
    {"controller-revision-hash", "controller-uid", "job-name", "pod-template-generation", "pod-template-hash"}
)
OF_KUBERNETES: Final = ("kubernetes.io", "k8s.io")


def pod_security(template: Mapping[str, Any]) -> dict[str, Any]:
    """The security context of a pod: the operator's, overlaid with the template's. A null sets nothing."""
    own = {
        "runAsNonRoot": True,
        "runAsUser": _USER,
        "runAsGroup": _USER,
        "fsGroup": _USER,
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    return own | {name: value for name, value in template.items() if value is not None}


def user_of(pod: Mapping[str, Any], container: Mapping[str, Any]) -> int | None:
    """The user that a container runs as, by its own security context and its pod's; None for that of its image."""
    found = container.get("runAsUser") if container.get("runAsUser") is not None else pod.get("runAsUser")
    return found if isinstance(found, int) else None


def policy_faults(field: str, spec: Mapping[str, Any], allowed: frozenset[str]) -> Iterator[FieldFault]:
    """What this pod spec requests and the policy does not allow. Values of another type are not checked here."""
    if spec.get("serviceAccountName") not in (None, "default") and PodException.SERVICE_ACCOUNTS not in allowed:
        message = "the image of the spec would run with the rights of this service account"
        yield _fault(f"{field}.serviceAccountName", message, PodException.SERVICE_ACCOUNTS)
    security = pod_security(_object(spec.get("securityContext")))
    yield from _security_faults(f"{field}.securityContext", security, allowed)


def _security_faults(field: str, built: Mapping[str, Any], allowed: frozenset[str]) -> Iterator[FieldFault]:
    """`built` is the security context that the pods get, whether the template wrote it or not."""
    if PodException.ROOT not in allowed:
        if built["runAsNonRoot"] is not True:
            yield _fault(f"{field}.runAsNonRoot", "Kafka does not run as root", PodException.ROOT)
        if built["runAsUser"] == 0:
            yield _fault(f"{field}.runAsUser", "0 is root, and Kafka does not run as root", PodException.ROOT)
    if PodException.UNCONFINED in allowed:
        return
    for name in ("seccompProfile", "appArmorProfile"):
        if name in built and _object(built[name]).get("type") not in PROFILES:
            yield _fault(f"{field}.{name}.type", f"it must be {' or '.join(PROFILES)}", PodException.UNCONFINED)
    for name in ("sysctls", "windowsOptions"):
        if built.get(name):
            yield _fault(f"{field}.{name}", "pods do not change settings of their node", PodException.UNCONFINED)
    if built.get("seLinuxOptions"):
        message = "another SELinux label could take the container out of its confinement"
        yield _fault(f"{field}.seLinuxOptions", message, PodException.UNCONFINED)


def variable_faults(field: str, variable: Mapping[str, Any], allowed: frozenset[str]) -> Iterator[FieldFault]:
    """The faults in the source of an environment variable's value."""
    source = variable.get("valueFrom")
    if source is None:
        return
    if (
        not isinstance(source, Mapping)
        or len(source) != 1
        or not all(isinstance(one, Mapping) for one in source.values())
    ):
        yield FieldFault(field=f"{field}.valueFrom", message="must have one field, fieldRef or resourceFieldRef")
    elif not set(source) <= OWN_VALUES and PodException.SECRET_VARIABLES not in allowed:
        (name,) = source
        message = "only fieldRef and resourceFieldRef are allowed: the user who chooses the image can read the value"
        yield _fault(f"{field}.valueFrom.{name}", message, PodException.SECRET_VARIABLES)
    else:
        yield from type_faults(f"{field}.valueFrom", source, ValueSource)


def foreign_label(key: str) -> bool:
    """Whether a pod label belongs to Kubernetes, or to another kind of controller, which could adopt the pod."""
    prefix, slash, _ = key.rpartition("/")
    return key in OF_CONTROLLERS or (bool(slash) and any(_is_below(prefix, domain) for domain in OF_KUBERNETES))


def unconfining(key: str) -> bool:
    """Whether an annotation removes the confinement of the pod."""
    return key.startswith(UNCONFINING)


def _is_below(prefix: str, domain: str) -> bool:
    return prefix == domain or prefix.endswith(f".{domain}")


def _fault(field: str, message: str, exception: PodException) -> FieldFault:
    way_out = f"remove it, or ask an administrator to install the operator with {exception} in podPolicy.allow"
    return FieldFault(field=field, message=f"{message}: {way_out}")


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
