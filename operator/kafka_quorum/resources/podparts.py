"""Parts that every pod with Kafka's image has: its confinement, Java's variables, resources, the template's additions.

Controllers and brokers share them. A change here changes the bytes of running pods, so it restarts them.
"""

import copy
import json
from typing import Final

from kafka_quorum.api.podfields import without_nulls
from kafka_quorum.model.names import KAFKA_CONTAINER
from kafka_quorum.resources.meta import Json
from kafka_quorum.resources.properties import CONFIG_PATH
from kit.kube.quantities import bytes_of

_MEBIBYTE: Final = 1024 * 1024
_SPREAD: Final = (("kubernetes.io/hostname", 100), ("topology.kubernetes.io/zone", 50))
_LOG4J2_SINCE: Final = 4
_JAVA_SECURITY: Final = f"-Djava.security.properties={CONFIG_PATH}/java.security"
RESTRICTED: Final = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
}
SCRIPT_RESOURCES: Final = {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "64Mi"}}
"""What an init container needs that runs a script of ours only."""


def java_variables(heap: str, options: tuple[str, ...], release: str) -> list[Json]:
    """The variables that Kafka's start scripts read."""
    size = f"{mebibytes(heap)}m"
    return [
        {"name": "KAFKA_HEAP_OPTS", "value": f"-Xms{size} -Xmx{size}"},
        {"name": "KAFKA_OPTS", "value": " ".join((_JAVA_SECURITY, *options))},
        {"name": "KAFKA_LOG4J_OPTS", "value": _log4j_option(release)},
        {"name": "LOG_DIR", "value": "/tmp/kafka"},  # noqa: S108 - the pod's own emptyDir
        {"name": "EXTRA_ARGS", "value": "-name kafkaServer"},  # without the GC log files of Kafka's own script
    ]


def template_of(template_spec: str) -> Json:
    """The template's part of a pod's spec, from canonical JSON."""
    template: Json = without_nulls(json.loads(template_spec))
    return template


def template_container(template_spec: str) -> Json:
    """What the template says of the container that runs Kafka; empty if it says nothing."""
    containers: list[Json] = template_of(template_spec).get("containers", [])
    return next((entry for entry in containers if entry.get("name") == KAFKA_CONTAINER), {})


def spread(selector: dict[str, str]) -> Json:
    """Prefer another node, and another zone, than the selected pods; it is scheduled even if neither is possible."""
    terms = [
        {"weight": weight, "podAffinityTerm": {"topologyKey": key, "labelSelector": {"matchLabels": selector}}}
        for key, weight in _SPREAD
    ]
    return {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}


def avoid(spec: Json, avoid_nodes: tuple[str, ...]) -> None:
    """Add to a pod's spec that other Kubernetes nodes than these are preferred."""
    expression = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": list(avoid_nodes)}
    term = {"weight": 100, "preference": {"matchExpressions": [expression]}}
    affinity = spec["affinity"] = copy.deepcopy(spec.get("affinity") or {})
    node_affinity = affinity.setdefault("nodeAffinity", {})
    node_affinity.setdefault("preferredDuringSchedulingIgnoredDuringExecution", []).append(term)


def default_resources(heap: str) -> Json:
    """Kafka needs little, but needs it always: the heap and a quarter of a gigabyte more.

    Java's direct buffers may take as much as the heap: the limit has room for them.
    """
    size = mebibytes(heap)
    return {
        "requests": {"cpu": "100m", "memory": f"{size + 256}Mi"},
        "limits": {"memory": f"{2 * size + 512}Mi"},
    }


def mebibytes(heap: str) -> int:
    """A heap in the form that Java takes: rounded down, in a unit of which every admitted size has at least one."""
    return (bytes_of(heap) or 0) // _MEBIBYTE


def logs_with_log4j2(release: str) -> bool:
    """Whether this release of Kafka logs with log4j 2."""
    return int(release.split(".", maxsplit=1)[0]) >= _LOG4J2_SINCE


def _log4j_option(release: str) -> str:
    """Kafka 4 logs with log4j 2, Kafka 3 with reload4j: both to standard output only."""
    if logs_with_log4j2(release):
        return f"-Dlog4j2.configurationFile={CONFIG_PATH}/log4j2.properties"
    return f"-Dlog4j.configuration=file:{CONFIG_PATH}/log4j.properties"
