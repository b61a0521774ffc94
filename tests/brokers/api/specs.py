"""Specs of pools that must be refused, and specs that must not be: for validation here and for a real API server."""

from dataclasses import dataclass
from typing import Any

from kafka_brokers.api import rules

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A spec that is refused: for this field, with a sentence that contains `words`, a value or a rule's sentence.

    `by_server` is whether the API server refuses it already.
    """

    name: str
    patch: Json
    field: str
    words: str
    by_server: bool = True


def _listener(**fields: object) -> Json:
    return {"listeners": [{"name": "PLAINTEXT", "port": 9092, **fields}]}


def _two(first: Json, second: Json) -> Json:
    return {"listeners": [{"name": "PLAINTEXT", "port": 9092, **first}, {"name": "OTHER", "port": 9094, **second}]}


def _pod(**fields: object) -> Json:
    return {"template": {"spec": fields}}


REFUSED: tuple[Refused, ...] = (
    Refused(name="quorum", patch={"quorum": "Events"}, field="spec.quorum", words=rules.QUORUM_FORM.message),
    Refused(name="no brokers", patch={"replicas": 0}, field="spec.replicas", words=rules.REPLICAS_RANGE.message),
    Refused(name="too many", patch={"replicas": 101}, field="spec.replicas", words=rules.REPLICAS_RANGE.message),
    Refused(
        name="ids without brokers", patch={"nodeIDs": [1, 2]}, field="spec.nodeIDs", words=rules.NODE_IDS_COUNT.message
    ),
    Refused(name="an id twice", patch={"nodeIDs": [1, 1, 2]}, field="spec.nodeIDs", words="one id twice"),
    Refused(
        name="an id below zero", patch={"nodeIDs": [-1, 1, 2]}, field="spec.nodeIDs", words=rules.NODE_IDS_RANGE.message
    ),
    Refused(
        name="a first id below zero",
        patch={"firstNodeID": -1},
        field="spec.firstNodeID",
        words=rules.FIRST_NODE_ID_RANGE.message,
    ),
    Refused(
        name="a controller's id",
        patch={"firstNodeID": 2999},
        field="spec.firstNodeID",
        words="node id 3000, 3001 belongs to a controller",
        by_server=False,
    ),
    Refused(
        name="a controller's id in a list",
        patch={"nodeIDs": [1, 2, 3002]},
        field="spec.nodeIDs",
        words="3002",
        by_server=False,
    ),
    Refused(name="no volume", patch={"storage": []}, field="spec.storage", words=rules.STORAGE_COUNT.message),
    Refused(
        name="too many volumes",
        patch={"storage": [{"size": "1Gi"}] * 17},
        field="spec.storage",
        words=rules.STORAGE_COUNT.message,
    ),
    Refused(
        name="a size",
        patch={"storage": [{"size": "1Gi"}, {"size": "much"}]},
        field="spec.storage[1].size",
        words=rules.SIZE_FORM.message,
    ),
    Refused(
        name="a fraction of a byte",
        patch={"storage": [{"size": "1.1Gi"}]},
        field="spec.storage[0].size",
        words=rules.SIZE_WHOLE.message,
    ),
    Refused(
        name="too small",
        patch={"storage": [{"size": "1Mi"}]},
        field="spec.storage[0].size",
        words="too small",
        by_server=False,
    ),
    Refused(
        name="a class",
        patch={"storage": [{"class": "Fast disk"}]},
        field="spec.storage[0].class",
        words=rules.CLASS_NAME.message,
    ),
    Refused(name="no listener", patch={"listeners": []}, field="spec.listeners", words=rules.LISTENERS_SOME.message),
    Refused(
        name="a small listener",
        patch=_listener(name="plaintext"),
        field="spec.listeners[0].name",
        words=rules.LISTENER_NAME.message,
    ),
    Refused(
        name="a listener's last sign",
        patch=_listener(name="A_"),
        field="spec.listeners[0].name",
        words=rules.LISTENER_NAME.message,
    ),
    Refused(
        name="the reserved listener",
        patch=_listener(name="REPLICATION"),
        field="spec.listeners[0].name",
        words=rules.LISTENER_RESERVED.message,
    ),
    Refused(
        name="the controllers' listener",
        patch=_listener(name="CONTROLLER"),
        field="spec.listeners[0].name",
        words="is a listener of the controllers",
        by_server=False,
    ),
    Refused(
        name="the reserved port",
        patch=_listener(port=9091),
        field="spec.listeners[0].port",
        words=rules.PORT_RESERVED.message,
    ),
    Refused(
        name="a low port",
        patch=_listener(port=80),
        field="spec.listeners[0].port",
        words=rules.LISTENER_PORT.message,
    ),
    Refused(
        name="users without TLS",
        patch=_listener(protocol="SASL_PLAINTEXT"),
        field="spec.listeners[0].protocol",
        words=rules.PROTOCOL_OPEN.message,
    ),
    Refused(
        name="TLS without certificates",
        patch=_listener(protocol="SSL"),
        field="spec.listeners[0].protocol",
        words="SSL needs certificates",
        by_server=False,
    ),
    Refused(
        name="clients' certificates without TLS",
        patch=_listener(clientAuth="Required"),
        field="spec.listeners[0].clientAuth",
        words="clientAuth is only for listeners with SSL",
    ),
    Refused(
        name="one name",
        patch=_two({}, {"name": "PLAINTEXT"}),
        field="spec.listeners",
        words=rules.LISTENER_NAMES_UNIQUE.message,
    ),
    Refused(
        name="one port",
        patch=_two({}, {"port": 9092}),
        field="spec.listeners",
        words=rules.LISTENER_PORTS_UNIQUE.message,
    ),
    Refused(
        name="a host inside", patch=_listener(host="b.org"), field="spec.listeners[0].host", words="host is only for"
    ),
    Refused(
        name="a host of all",
        patch=_listener(host="b.org", external="LoadBalancer"),
        field="spec.listeners[0].host",
        words="host needs {id}",
    ),
    Refused(
        name="no host",
        patch=_listener(host="b org", external="NodePort"),
        field="spec.listeners[0].host",
        words=rules.HOST_SHAPE.message,
    ),
    Refused(
        name="a node port inside",
        patch=_listener(nodePort=30000),
        field="spec.listeners[0].nodePort",
        words="nodePort is only for",
    ),
    Refused(
        name="no port",
        patch=_listener(nodePort=70000, external="NodePort"),
        field="spec.listeners[0].nodePort",
        words=rules.NODE_PORT_RANGE.message,
    ),
    Refused(
        name="a last port",
        patch=_listener(nodePort=65534, external="NodePort"),
        field="spec.listeners[0].nodePort",
        words="the node port of broker 2 would be above 65535",
        by_server=False,
    ),
    Refused(
        name="node ports twice",
        patch=_two({"nodePort": 30000, "external": "NodePort"}, {"nodePort": 30002, "external": "NodePort"}),
        field="spec.listeners[1].nodePort",
        words="those of PLAINTEXT",
        by_server=False,
    ),
    *(
        Refused(name=key, patch={"config": {key: "1"}}, field=f"spec.config.{key}", words=key)
        for key in (
            "node.id",
            "process.roles",
            "log.dirs",
            "listeners",
            "advertised.listeners",
            "inter.broker.listener.name",
            "listener.security.protocol.map",
            "listener.name.plaintext.ssl.keystore.location",
            "broker.rack",
            "controller.quorum.fetch.timeout.ms",
            "cordoned.log.dirs",
            "leader.replication.throttled.rate",
            "initial.broker.registration.timeout.ms",
            "min.insync.replicas",
            "unclean.leader.election.enable",
            "zookeeper.connect",
            "unstable.api.versions.enable",
        )
    ),
    Refused(
        name="a line", patch={"config": {"a.b": "1\n2"}}, field="spec.config.a.b", words=rules.CONFIG_LINES.message
    ),
    Refused(name="a key", patch={"config": {"a b": "1"}}, field="spec.config", words=rules.CONFIG_KEYS.message),
    Refused(
        name="too much",
        patch={"replicas": 100, "config": {f"a{index}": "x" * 4000 for index in range(10)}},
        field="spec.config",
        words="their ConfigMap has room for",
        by_server=False,
    ),
    Refused(name="a heap", patch={"jvm": {"heap": "1T"}}, field="spec.jvm.heap", words=rules.HEAP_FORM.message),
    Refused(
        name="a heap option",
        patch={"jvm": {"options": ["-Xmx1g"]}},
        field="spec.jvm.options[0]",
        words="the heap belongs",
    ),
    Refused(
        name="a rack",
        patch={"rack": {"topologyKey": "no key"}},
        field="spec.rack.topologyKey",
        words=rules.TOPOLOGY_KEY.message,
    ),
    Refused(
        name="a throttle",
        patch={"throttleBytesPerSecond": 1},
        field="spec.throttleBytesPerSecond",
        words="1024 or more",
    ),
    Refused(
        name="none unavailable",
        patch={"roll": {"maxUnavailable": 0}},
        field="spec.roll.maxUnavailable",
        words="must be 1 to",
    ),
    Refused(
        name="a restart is no loss",
        patch={"replacement": {"lostNodeAfterSeconds": 1}},
        field="spec.replacement.lostNodeAfterSeconds",
        words="10 or more",
    ),
    Refused(
        name="our label",
        patch={"template": {"metadata": {"labels": {"kafkaquorum.io/pool": "other"}}}},
        field="spec.template.metadata.labels",
        words="belong to the operator",
    ),
    Refused(
        name="a host network", patch=_pod(hostNetwork=True), field="spec.template.spec.hostNetwork", words="belongs to"
    ),
    Refused(
        name="a service account",
        patch=_pod(serviceAccountName="admin"),
        field="spec.template.spec.serviceAccountName",
        words="podPolicy.allow",
        by_server=False,
    ),
    Refused(
        name="a short grace",
        patch=_pod(terminationGracePeriodSeconds=60),
        field="spec.template.spec.terminationGracePeriodSeconds",
        words="330 or more",
        by_server=False,
    ),
    Refused(
        name="a heap above its limit",
        patch=_pod(containers=[{"name": "kafka", "resources": {"limits": {"memory": "256Mi"}}}]),
        field="spec.jvm.heap",
        words="does not fit",
        by_server=False,
    ),
)
"""Specs that are refused."""

ACCEPTED: dict[str, Json] = {
    "the least": {},
    "one": {"replicas": 1},
    "the most": {"replicas": rules.REPLICA_LIMIT, "firstNodeID": 4000},
    "ids": {"nodeIDs": [0, 7, 2**31 - 1]},
    "volumes": {"storage": [{"size": "1.5Ti", "class": "fast"}, {"size": "100Gi"}, {}]},
    "retention": {"retentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"}},
    "outside": _two(
        {"external": "NodePort", "nodePort": 30000, "host": "kafka.example.org"},
        {"external": "LoadBalancer", "host": "broker-{id}.example.org"},
    ),
    "node ports side by side": _two(
        {"external": "NodePort", "nodePort": 30000}, {"external": "NodePort", "nodePort": 30003}
    ),
    "properties": {"config": {"num.io.threads": "4", "auto.create.topics.enable": "false", "a-b_c.D": " x\\ = é "}},
    "ACLs of znodes": {"config": {"zookeeper.set.acl": "true"}},
    "a process": {"jvm": {"heap": "2G", "options": ["-XX:+UseZGC"]}},
    "a rack": {"rack": {"topologyKey": "topology.kubernetes.io/zone"}},
    "a plain rack": {"rack": {"topologyKey": "rack"}},
    "a drain": {"drain": "Automatic", "throttleBytesPerSecond": 1_000_000},
    "a roll": {"roll": {"maxUnavailable": 3, "unavailablePartitions": "Allow"}},
    "replacement": {"replacement": {"lostDisk": "Manual", "lostNode": "Manual", "lostNodeAfterSeconds": 60}},
    "a template": _pod(nodeSelector={"disk": "fast"}, terminationGracePeriodSeconds=600),
    "paused": {"paused": True},
}
"""Specs that are accepted, by what they show."""
