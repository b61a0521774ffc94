"""The rules of a `KafkaQuorum`, each in one place: CEL for the API server, a predicate for the operator, one sentence.

Each sentence says what is wrong and how to correct it; the field's path comes first. `spec` assigns the rules to
fields.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kafka_quorum.api import properties, release, template
from kafka_quorum.model.ids import is_reserved, uuid_to_bytes
from kafka_quorum.model.names import JMX_PORT
from kit.crd.rule import Rule
from kit.kube.quantities import bytes_of, whole_bytes

NAME_LIMIT = 51
REPLICA_LIMIT = 15
NODE_ID_LIMIT = 2**31 - 1
PORTS = (1024, 65535)
SHORTEST_NODE_LOSS_S = 10
SMALLEST_HEAP = "64Mi"
SMALLEST_SIZE = "16Mi"
_IMAGE_HOST = r"([a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?(:[0-9]{1,5})?/)?"
_IMAGE_PATH = r"[a-z0-9]+(([.]|_{1,2}|-+)[a-z0-9]+)*(/[a-z0-9]+(([.]|_{1,2}|-+)[a-z0-9]+)*)*"
IMAGE_SHAPE = rf"({_IMAGE_HOST}{_IMAGE_PATH}(:[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?(@[a-z0-9]+:[0-9a-f]{{32,128}})?)?"
HEAP_SHAPE = "[1-9][0-9]{0,9}(k|M|G|Ki|Mi|Gi)"
NAME_FORM = "[a-z]([-a-z0-9]*[a-z0-9])?"
LISTENER_FORM = "[A-Z][A-Z0-9_]*"


def _words(values: frozenset[str] | tuple[str, ...]) -> str:
    return "[" + ", ".join(f"'{value}'" for value in sorted(values)) + "]"


def _usable_cluster_id(text: str) -> bool:
    try:
        return not is_reserved(uuid_to_bytes(text))
    except ValueError:
        return False


def _bytes(text: str) -> int:
    return bytes_of(text) or 0


def _owned(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key in filter(properties.owned, config):
        said = f"{key} belongs to the operator: remove it. The spec has fields for what can be chosen"
        yield _place_of(key), said


def _malformed(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key in config:
        if not properties.well_formed_key(key):
            yield "", f"{key!r}: {CONFIG_KEYS.message}"


def _broken_lines(config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for key, value in config.items():
        if properties.has_line_break(value):
            yield _place_of(key), CONFIG_LINES.message


def _place_of(key: str) -> str:
    """A property's place in its map; the map itself if the name is not a property's."""
    return f".{key}" if properties.well_formed_key(key) else ""


NAME_TOO_LONG = Rule(
    expression=f"oldSelf.hasValue() || self.metadata.name.size() <= {NAME_LIMIT}",
    message=(
        f"metadata.name may have at most {NAME_LIMIT} characters: the service NAME-controllers and host names such as "
        "NAME-3000 are made from it, and those end at 63; choose a shorter name"
    ),
    also_new=True,
    holds=lambda name: len(name) <= NAME_LIMIT,
)
NAME_NO_LABEL = Rule(
    expression=f"oldSelf.hasValue() || self.metadata.name.matches('^{NAME_FORM}$')",
    message=(
        "metadata.name must be a lower-case DNS label that begins with a letter (a-z, 0-9 and '-', no "
        "dots): host names "
        "and a service are made from it; choose another name"
    ),
    also_new=True,
    holds=lambda name: re.fullmatch(NAME_FORM, name) is not None,
)
CLUSTER_ID_FORM = Rule(
    expression="self == '' || self.matches('^[A-Za-z0-9_-]{21}[AQgw]$')",
    message=(
        "clusterID must be a Kafka UUID, 22 characters of base64url as `kafka-storage.sh random-uuid` "
        "prints them; leave "
        "it empty and the operator makes one"
    ),
    holds=lambda text: text == "" or _usable_cluster_id(text),
)
CLUSTER_ID_CHANGED = Rule(
    expression=(
        "self.spec.clusterID == oldSelf.spec.clusterID || (has(self.status) && has(self.status.clusterID) && "
        "self.spec.clusterID == self.status.clusterID)"
    ),
    message=(
        "clusterID cannot change, because the disks are formatted with it: restore the old value (status.clusterID "
        "has it), or create another KafkaQuorum for another cluster"
    ),
    field=".spec.clusterID",
    holds_after=lambda text, used: text in ("", used),
)
VERSION_FORM = Rule(
    expression=f"self.matches('^{release.FORM}$')",
    message="version must be a Kafka release as X.Y.Z, for example 4.4.0",
    holds=lambda text: release.parse_release(text) is not None,
)
VERSION_TOO_OLD = Rule(
    expression=(
        f"!self.matches('^{release.FORM}$') || int(self.split('.')[0]) > 3 || "
        "(int(self.split('.')[0]) == 3 && int(self.split('.')[1]) >= 9)"
    ),
    message="version must be 3.9.0 or later: older releases of Kafka have no dynamic quorums (KIP-853)",
    holds=lambda text: (release.parse_release(text) or release.OLDEST) >= release.OLDEST,
)
IMAGE_FORM = Rule(
    expression=r"self.matches('^\\S*$')",
    message="image must be an image reference without spaces, as REGISTRY/NAME:TAG; leave it empty for the operator's "
    "own choice",
    holds=lambda text: re.fullmatch(IMAGE_SHAPE, text) is not None,
)
CONFIG_OWNED = Rule(
    expression=(
        f"self.all(k, k in {_words(properties.NOT_OWNED)} || !(k in {_words(properties.OWNED)})"
        + "".join(f" && !k.startsWith('{prefix}')" for prefix in properties.OWNED_PREFIXES)
        + ")"
    ),
    message=(
        "a property here belongs to the operator: remove process.roles, node.id, controller.quorum.voters, "
        "controller.quorum.bootstrap.servers, controller.quorum.auto.join.enable, every setting of "
        "listeners and of log "
        "directories, zookeeper.* (but zookeeper.set.acl) and unstable.*. The spec has fields for what can be chosen"
    ),
    each=_owned,
)
CONFIG_LINES = Rule(
    expression=r"self.all(k, !self[k].contains('\n') && !self[k].contains('\r'))",
    message="a value has a line break, which would add lines to server.properties: write it on one line",
    each=_broken_lines,
)
CONFIG_KEYS = Rule(
    expression=f"self.all(k, k.matches('^{properties.KEY_FORM}$'))",
    message="a key is not the name of a server property: letters, digits, '.', '_' and '-' only",
    each=_malformed,
)
MODE_CHANGED = Rule(
    expression="self == oldSelf",
    message=(
        "bootstrap.mode cannot change, because the first voters exist already: restore the old value, or create "
        "another KafkaQuorum"
    ),
    holds_after=lambda mode, used: mode == used,
)
REPLICAS_RANGE = Rule(
    expression=f"self >= 1 && self <= {REPLICA_LIMIT}",
    message=(
        f"replicas must be 1 to {REPLICA_LIMIT}, and 3 or 5 in production; to remove every controller, "
        "delete the KafkaQuorum"
    ),
    holds=lambda count: 1 <= count <= REPLICA_LIMIT,
)
NODE_IDS_COUNT = Rule(
    expression="!has(self.nodeIDs) || size(self.nodeIDs) == 0 || size(self.nodeIDs) == self.replicas",
    message=(
        "nodeIDs must have as many entries as replicas: add or remove ids, change replicas, or leave "
        "nodeIDs empty and the "
        "operator numbers the controllers from 3000"
    ),
    field=".nodeIDs",
    holds=lambda controllers: len(controllers.node_ids) in (0, controllers.replicas),
)
NODE_IDS_UNIQUE = Rule(
    expression="self.all(x, self.exists_one(y, x == y))",
    message="nodeIDs lists one id twice: give each controller its own id",
    holds=lambda ids: len(set(ids)) == len(ids),
)
NODE_IDS_RANGE = Rule(
    expression=f"self.all(x, x >= 0 && x <= {NODE_ID_LIMIT})",
    message=f"nodeIDs must be between 0 and {NODE_ID_LIMIT}, and be no broker's id",
    holds=lambda ids: all(0 <= node_id <= NODE_ID_LIMIT for node_id in ids),
)
LISTENERS_ONE = Rule(
    expression="size(self) == 1",
    message="there must be exactly one listener for the controllers: this version supports no more",
    holds=lambda listeners: len(listeners) == 1,
)
LISTENER_NAME = Rule(
    expression=f"self.matches('^{LISTENER_FORM}$')",
    message="a listener's name is written in capitals, digits and '_', for example CONTROLLER",
    holds=lambda name: re.fullmatch(LISTENER_FORM, name) is not None,
)
LISTENER_PORT = Rule(
    expression=f"self >= {PORTS[0]} && self <= {PORTS[1]}",
    message=f"port must lie between {PORTS[0]} and {PORTS[1]}: Kafka does not run as root here; 9093 is usual",
    holds=lambda port: PORTS[0] <= port <= PORTS[1],
)
JMX_PORT_TAKEN = Rule(
    expression=(f"!self.spec.metrics.jmx || self.spec.controllers.listeners.all(l, l.port != {JMX_PORT})"),
    message=(
        f"with metrics.jmx the metrics have port {JMX_PORT} of each controller: give the listener another port, or set "
        "metrics.jmx to false"
    ),
    field=".spec.controllers.listeners",
    holds=lambda spec: not (spec.metrics.jmx and any(one.port == JMX_PORT for one in spec.controllers.listeners)),
)
SIZE_FORM = Rule(
    expression="isQuantity(self) && quantity(self).isGreaterThan(quantity('0'))",
    message="size must be a Kubernetes quantity above zero, for example 10Gi",
    holds=lambda text: bool(bytes_of(text)),
)
# For the API server a fraction of a binary unit is never an integer. Eighths of one are whole numbers of bytes.
SIZE_WHOLE = Rule(
    expression=(
        "!isQuantity(self) || quantity(self).isInteger() || "
        "self.matches('^[0-9]*[.](5|25|75|125|375|625|875)0*(Ki|Mi|Gi|Ti|Pi|Ei)$')"
    ),
    message="size must be a whole number of bytes, at most 8Ei less one byte: write 1127Mi or 2Gi instead of 1.1Gi",
    holds=lambda text: not bytes_of(text) or whole_bytes(text) is not None,
)
SIZE_SHRUNK = Rule(
    expression="!isQuantity(self) || !isQuantity(oldSelf) || quantity(self).compareTo(quantity(oldSelf)) >= 0",
    message=(
        "size cannot shrink, since volumes only grow: restore the old size (smaller disks need a new KafkaQuorum)"
    ),
    holds_after=lambda text, used: bytes_of(text) is None or _bytes(text) >= _bytes(used),
)
STORAGE_CLASS_CHANGED = Rule(
    expression=(
        "self.spec.controllers.storage.storageClassName == oldSelf.spec.controllers.storage.storageClassName || "
        "!has(self.status) || !has(self.status.bootstrap) || !has(self.status.bootstrap.phase) || "
        "self.status.bootstrap.phase != 'Started'"
    ),
    message=(
        "storageClassName cannot change once the quorum has started: a volume keeps its class; restore the old value"
    ),
    field=".spec.controllers.storage.storageClassName",
)
HEAP_FORM = Rule(
    expression=(
        f"self.matches('^{HEAP_SHAPE}$') && isQuantity(self) && "
        f"quantity(self).compareTo(quantity('{SMALLEST_HEAP}')) >= 0"
    ),
    message=f"heap must be a whole number with a unit, at least {SMALLEST_HEAP}, for example 512Mi or 1Gi",
    holds=lambda text: re.fullmatch(HEAP_SHAPE, text) is not None and _bytes(text) >= _bytes(SMALLEST_HEAP),
)
OPTION_FORM = Rule(
    expression=r"self.all(o, o.matches('^-\\S+$'))",
    message="options begin with '-' and have no spaces: give each its own entry, for example -XX:+UseZGC",
    holds=lambda options: all(re.fullmatch(r"-[^\s\x00-\x1f\x7f]+", option) for option in options),
)
OPTION_HEAP = Rule(
    expression="self.all(o, !o.startsWith('-Xmx') && !o.startsWith('-Xms'))",
    message="the heap belongs to jvm.heap: remove -Xmx and -Xms from options",
    holds=lambda options: not any(option.startswith(("-Xmx", "-Xms")) for option in options),
)
LEVEL_NAME = Rule(
    expression="self == 'metadata.version' || self.endsWith('.version')",
    message="a feature's name ends in .version, for example metadata.version or transaction.version",
)
TEMPLATE_LABELS = Rule(
    expression=(f"self.all(k, !k.startsWith('kafkaquorum.io/') && !(k in {_words(template.OWNED_LABELS)}))"),
    message=(
        "labels and annotations under kafkaquorum.io/, and app.kubernetes.io/name, instance, component and managed-by, "
        "belong to the operator: use other keys"
    ),
    holds=lambda keys: not any(template.owned_label(key) for key in keys),
)
TEMPLATE_CONTAINERS = Rule(
    expression="self.all(c, c.name == 'kafka')",
    message="containers may only adjust the container named kafka (resources, env): remove the others",
)


def owned_pod_field(name: str) -> Rule:
    """A field of the pod template that the operator sets by itself."""
    return Rule(expression=f"!has(self.{name})", message=template.OWNED_MESSAGE, field=f".{name}")
