"""The rules of a `KafkaBrokerPool`, each once: CEL for the API server, a predicate for the operator, a sentence.

Each sentence says what is wrong and how to correct it; the field's path comes first. `spec` assigns the rules to
fields. Rules that controllers and brokers share are those of `kafka_quorum.api.rules`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from kafka_brokers.api import properties
from kafka_brokers.model.names import DIRECTORY, REPLICATION, REPLICATION_PORT
from kafka_quorum.api.properties import well_formed_key
from kafka_quorum.api.rules import (
    CONFIG_KEYS,
    CONFIG_LINES,
    HEAP_FORM,
    LISTENER_PORT,
    NAME_FORM,
    NODE_ID_LIMIT,
    NODE_IDS_UNIQUE,
    OPTION_FORM,
    OPTION_HEAP,
    SHORTEST_NODE_LOSS_S,
    SIZE_FORM,
    SIZE_WHOLE,
)
from kit.crd.rule import Rule
from kit.kube.quantities import bytes_of

__all__ = [
    "CONFIG_KEYS",
    "CONFIG_LINES",
    "HEAP_FORM",
    "LISTENER_PORT",
    "NODE_IDS_UNIQUE",
    "OPTION_FORM",
    "OPTION_HEAP",
    "SHORTEST_NODE_LOSS_S",
    "SIZE_FORM",
    "SIZE_WHOLE",
]

NAME_LIMIT: Final = 51
REPLICA_LIMIT: Final = 100
VOLUME_LIMIT: Final = 16
LISTENER_LIMIT: Final = 8
LISTENER_FORM: Final = "[A-Z]([A-Z0-9_]{0,13}[A-Z0-9])?"
HOST_FORM: Final = "([A-Za-z0-9.-]|[{]id[}])*"
CLASS_FORM: Final = "([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?"
DIRECTORY_FORM: Final = "([A-Za-z0-9_]|[{]id[}])([A-Za-z0-9._-]|[{]id[}])*"
TOPOLOGY_FORM: Final = "([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?"
LARGEST_PORT: Final = 65535
SHORTEST_GRACE_S: Final = 330
"""Without an active controller, a broker waits up to five minutes in its controlled shutdown."""
_INDEXES: Final = list(range(VOLUME_LIMIT))


def _words(values: Iterable[str]) -> str:
    return "[" + ", ".join(f"'{value}'" for value in sorted(values)) + "]"


def _owned(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key in config:
        if (why := properties.owned(key)) is not None:
            yield f".{key}" if well_formed_key(key) else "", f"{key} {why}"


NAME_TOO_LONG = Rule(
    expression=f"oldSelf.hasValue() || self.metadata.name.size() <= {NAME_LIMIT}",
    message=(
        f"metadata.name may have at most {NAME_LIMIT} characters: the services NAME-brokers and NAME-bootstrap and "
        "host names such as NAME-0 are made from it, and those end at 63; choose a shorter name"
    ),
    also_new=True,
    holds=lambda name: len(name) <= NAME_LIMIT,
)
NAME_NO_LABEL = Rule(
    expression=f"oldSelf.hasValue() || self.metadata.name.matches('^{NAME_FORM}$')",
    message=(
        "metadata.name must be a lower-case DNS label that begins with a letter (a-z, 0-9 and '-', no dots): host "
        "names and services are made from it; choose another name"
    ),
    also_new=True,
    holds=lambda name: re.fullmatch(NAME_FORM, name) is not None,
)
NAME_AND_LISTENERS = Rule(
    expression=(
        "!has(self.spec.listeners) || self.spec.listeners.all(l, !has(l.external) || l.external == 'None' || "
        f"self.metadata.name.size() + l.name.size() <= {NAME_LIMIT})"
    ),
    message=(
        f"metadata.name and the name of an external listener may have at most {NAME_LIMIT} characters together: the "
        "service NAME-LISTENER-bootstrap is made from both, and its name ends at 63; choose a shorter listener name"
    ),
    field=".spec.listeners",
)
QUORUM_FORM = Rule(
    expression=f"self.matches('^{NAME_FORM}$')",
    message="quorum must be the name of a KafkaQuorum in the same namespace: set it",
    holds=lambda name: re.fullmatch(NAME_FORM, name) is not None,
)
QUORUM_CHANGED = Rule(
    expression="self == oldSelf",
    message=(
        "quorum cannot change, because the disks are formatted for its cluster: restore the old value, or create "
        "another KafkaBrokerPool"
    ),
    holds_after=lambda name, used: name == used,
)
REPLICAS_RANGE = Rule(
    expression=f"self >= 1 && self <= {REPLICA_LIMIT}",
    message=(
        f"replicas must be 1 to {REPLICA_LIMIT}, and 3 or more in production; to remove every broker, delete the "
        "KafkaBrokerPool"
    ),
    holds=lambda count: 1 <= count <= REPLICA_LIMIT,
)
NODE_IDS_COUNT = Rule(
    expression=(
        "!has(self.spec.nodeIDs) || size(self.spec.nodeIDs) == 0 || size(self.spec.nodeIDs) == self.spec.replicas"
    ),
    message=(
        "nodeIDs must have as many entries as replicas: add or remove ids, change replicas, or leave nodeIDs empty "
        "and the operator numbers the brokers from firstNodeID"
    ),
    field=".spec.nodeIDs",
    holds=lambda spec: len(spec.node_ids) in (0, spec.replicas),
)
NODE_IDS_RANGE = Rule(
    expression=f"self.all(x, x >= 0 && x <= {NODE_ID_LIMIT})",
    message=f"nodeIDs must be between 0 and {NODE_ID_LIMIT}, and be no id of a controller or another broker",
    holds=lambda ids: all(0 <= node_id <= NODE_ID_LIMIT for node_id in ids),
)
FIRST_NODE_ID_RANGE = Rule(
    expression=f"self >= 0 && self <= {NODE_ID_LIMIT - REPLICA_LIMIT}",
    message=f"firstNodeID must be between 0 and {NODE_ID_LIMIT - REPLICA_LIMIT}: correct it",
    holds=lambda first: 0 <= first <= NODE_ID_LIMIT - REPLICA_LIMIT,
)
STORAGE_COUNT = Rule(
    expression=f"size(self) >= 1 && size(self) <= {VOLUME_LIMIT}",
    message=f"storage must list 1 to {VOLUME_LIMIT} volumes: each broker has a log directory on each of them",
    holds=lambda volumes: 1 <= len(volumes) <= VOLUME_LIMIT,
)
STORAGE_REMOVED = Rule(
    expression="size(self) >= size(oldSelf)",
    message=(
        "a volume cannot be removed, because partitions are on it: restore it. For brokers with fewer volumes, create "
        "another KafkaBrokerPool and move the partitions there"
    ),
    holds_after=lambda volumes, used: len(volumes) >= len(used),
)
STORAGE_SHRUNK = Rule(
    expression=(
        f"{_INDEXES}.all(i, i >= size(self) || i >= size(oldSelf) || !isQuantity(self[i].size) || "
        "!isQuantity(oldSelf[i].size) || quantity(self[i].size).compareTo(quantity(oldSelf[i].size)) >= 0)"
    ),
    message=(
        "the size of a volume cannot shrink, since volumes only grow: restore the old size (smaller disks need a new "
        "KafkaBrokerPool)"
    ),
    holds_after=lambda volumes, used: all(
        _not_smaller(each.get("size", ""), before.get("size", "")) for each, before in zip(volumes, used, strict=False)
    ),
)
STORAGE_CLASS_CHANGED = Rule(
    expression=f"{_INDEXES}.all(i, i >= size(self) || i >= size(oldSelf) || self[i].class == oldSelf[i].class)",
    message="the class of a volume cannot change: a volume keeps its class; restore the old value",
    holds_after=lambda volumes, used: all(
        each.get("class", "") == before.get("class", "") for each, before in zip(volumes, used, strict=False)
    ),
)
STORAGE_DIRECTORY_CHANGED = Rule(
    expression=(
        f"{_INDEXES}.all(i, i >= size(self) || i >= size(oldSelf) || self[i].directory == oldSelf[i].directory)"
    ),
    message="the directory of a volume cannot change, because partitions are in it: restore the old value",
    holds_after=lambda volumes, used: all(
        each.get("directory", DIRECTORY) == before.get("directory", DIRECTORY)
        for each, before in zip(volumes, used, strict=False)
    ),
)
DIRECTORY_NAME = Rule(
    expression=f"self.matches('^{DIRECTORY_FORM}$')",
    message=(
        "directory must be the name of a directory in the volume's root, of letters, digits, '.', '_' and '-', in "
        "which {id} stands for the node id, such as kafka-log{id}"
    ),
    holds=lambda name: re.fullmatch(DIRECTORY_FORM, name) is not None,
)
CLASS_NAME = Rule(
    expression=f"self.matches('^{CLASS_FORM}$')",
    message="the name of a storage class has only lower-case letters, digits, '-' and '.': correct it",
    holds=lambda name: re.fullmatch(CLASS_FORM, name) is not None,
)
LISTENERS_SOME = Rule(
    expression=f"size(self) >= 1 && size(self) <= {LISTENER_LIMIT}",
    message=f"listeners must have 1 to {LISTENER_LIMIT} entries: clients reach the brokers by them",
    holds=lambda listeners: 1 <= len(listeners) <= LISTENER_LIMIT,
)
LISTENER_NAMES_UNIQUE = Rule(
    expression="self.all(x, self.exists_one(y, x.name == y.name))",
    message="two listeners have the same name: give each its own",
    holds=lambda listeners: len({each.name for each in listeners}) == len(listeners),
)
LISTENER_PORTS_UNIQUE = Rule(
    expression="self.all(x, self.exists_one(y, x.port == y.port))",
    message="two listeners have the same port: give each its own",
    holds=lambda listeners: len({each.port for each in listeners}) == len(listeners),
)
LISTENER_NAME = Rule(
    expression=f"self.matches('^{LISTENER_FORM}$')",
    message=(
        "a listener's name has up to 15 capitals, digits and '_', and ends with a capital or a digit, for example "
        "PLAINTEXT"
    ),
    holds=lambda name: re.fullmatch(LISTENER_FORM, name) is not None,
)
LISTENER_RESERVED = Rule(
    expression=f"self != '{REPLICATION}'",
    message=f"{REPLICATION} is the listener between brokers, which the operator adds: choose another name",
    holds=lambda name: name != REPLICATION,
)
PORT_RESERVED = Rule(
    expression=f"self != {REPLICATION_PORT}",
    message=f"port {REPLICATION_PORT} belongs to the listener between brokers: choose another port, such as 9092",
    holds=lambda port: port != REPLICATION_PORT,
)
HOST_SHAPE = Rule(
    expression=f"self.matches('^{HOST_FORM}$')",
    message="host must be a host name, in which {id} stands for the node id, such as broker-{id}.example.org",
    holds=lambda host: re.fullmatch(HOST_FORM, host) is not None,
)
_HOST_IS_EXTERNAL: Final = "host is only for external listeners: remove it, or set external to NodePort or LoadBalancer"
HOST_EXTERNAL = Rule(
    expression="self.all(l, l.host == '' || l.external != 'None')",
    message=_HOST_IS_EXTERNAL,
    each=lambda listeners: _each(
        listeners, ".host", lambda one: one.host == "" or one.external != "None", _HOST_IS_EXTERNAL
    ),
)
_HOST_IS_DISTINCT: Final = (
    "host needs {id} for a LoadBalancer listener, because each broker has an address of its own: add it"
)
HOST_DISTINCT = Rule(
    expression="self.all(l, l.host == '' || l.external != 'LoadBalancer' || l.host.contains('{id}'))",
    message=_HOST_IS_DISTINCT,
    each=lambda listeners: _each(
        listeners,
        ".host",
        lambda one: one.host == "" or one.external != "LoadBalancer" or "{id}" in one.host,
        _HOST_IS_DISTINCT,
    ),
)
_PORT_IS_EXTERNAL: Final = (
    "nodePort is only for listeners with external NodePort: remove it, or set external to NodePort"
)
NODE_PORT_EXTERNAL = Rule(
    expression="self.all(l, l.nodePort == 0 || l.external == 'NodePort')",
    message=_PORT_IS_EXTERNAL,
    each=lambda listeners: _each(
        listeners, ".nodePort", lambda one: one.node_port == 0 or one.external == "NodePort", _PORT_IS_EXTERNAL
    ),
)
PROTOCOL_OPEN = Rule(
    expression="self != 'SASL_PLAINTEXT'",
    message="SASL_PLAINTEXT shows the traffic of users to the whole network: use SASL_SSL",
    holds=lambda protocol: protocol != "SASL_PLAINTEXT",
)
_CLIENT_AUTH_IS_SSL: Final = "clientAuth is only for listeners with SSL: remove it, or set protocol to SSL"
CLIENT_AUTH_SSL = Rule(
    expression="self.all(l, l.clientAuth == 'None' || l.protocol == 'SSL')",
    message=_CLIENT_AUTH_IS_SSL,
    each=lambda listeners: _each(
        listeners,
        ".clientAuth",
        lambda one: one.client_auth == "None" or one.protocol == "SSL",
        _CLIENT_AUTH_IS_SSL,
    ),
)
NODE_PORT_RANGE = Rule(
    expression=f"self >= 0 && self <= {LARGEST_PORT}",
    message="nodePort must be a port of the cluster's range, 30000 to 32767 in most: correct it, or set 0",
    holds=lambda port: 0 <= port <= LARGEST_PORT,
)
CONFIG_OWNED = Rule(
    expression=(
        f"self.all(k, k in {_words(properties.NOT_OWNED)} || !(k in {_words(properties.OWNED)})"
        + "".join(f" && !k.startsWith('{prefix}')" for prefix in properties.OWNED_PREFIXES)
        + ")"
    ),
    message=(
        "a property here belongs to the operator or the quorum: remove node.id, process.roles, broker.rack, "
        "min.insync.replicas, unclean.leader.election.enable, controller.*, every setting of listeners, of log "
        "directories and of replication throttles, zookeeper.* (but zookeeper.set.acl) and unstable.*. The spec has "
        "fields for the rest"
    ),
    each=_owned,
)
TOPOLOGY_KEY = Rule(
    expression=f"self == '' || self.matches('^{TOPOLOGY_FORM}$')",
    message="topologyKey must be the key of a label of Kubernetes nodes, such as topology.kubernetes.io/zone",
    holds=lambda key: key == "" or re.fullmatch(TOPOLOGY_FORM, key) is not None,
)


def _each(
    listeners: Sequence[Any], field: str, holds: Callable[[Any], bool], message: str
) -> Iterator[tuple[str, str]]:
    """The listeners that break a rule, as a path below the list and the rule's sentence."""
    return ((f"[{index}]{field}", message) for index, one in enumerate(listeners) if not holds(one))


def _not_smaller(text: str, used: str) -> bool:
    now, before = bytes_of(text), bytes_of(used)
    return now is None or before is None or now >= before
