"""What NetworkPolicy means, read word by word from the API's documentation: one connection at a time, from JSON.

It shares no code with the rules of the test-bed, which are compared with it: in tests for random objects, and in
a scenario by real connections.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, ip_network
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Connection:
    """A try to connect: from an address to an address."""

    source: str
    target: str
    port: int = 80
    protocol: str = "TCP"


@dataclass(slots=True)
class Objects:
    """What the API server has."""

    policies: list[Json]
    pods: list[Json]
    namespaces: list[Json]


def allowed(objects: Objects, connection: Connection) -> bool:
    """Whether policies allow a connection between two pods, or a pod and another address."""
    source, target = (_pod_at(objects, address) for address in (connection.source, connection.target))
    if source is not None and source is target:
        return True
    out = source is None or _one_way(objects, source, target, connection, "Egress")
    return out and (target is None or _one_way(objects, target, source, connection, "Ingress"))


def _pod_at(objects: Objects, address: str) -> Json | None:
    return next((pod for pod in objects.pods if pod["status"]["podIP"] == address), None)


def _one_way(objects: Objects, own: Json, other: Json | None, connection: Connection, way: str) -> bool:
    selecting = [
        policy["spec"]
        for policy in objects.policies
        if policy["metadata"]["namespace"] == own["metadata"]["namespace"]
        and _selects(policy["spec"].get("podSelector", {}), own["metadata"].get("labels", {}))
        and way in _types(policy["spec"])
    ]
    if not selecting:
        return True
    address = connection.target if way == "Egress" else connection.source
    owner = other if way == "Egress" else own  # whose port it is
    return any(
        _peer_matches(objects, rule.get("to" if way == "Egress" else "from"), own, other, address)
        and _port_matches(rule.get("ports"), owner, connection)
        for spec in selecting
        for rule in spec.get(way.lower(), [])
    )


def _types(spec: Json) -> list[str]:
    if "policyTypes" in spec:
        return list(spec["policyTypes"])
    return ["Ingress", "Egress"] if "egress" in spec else ["Ingress"]


def _peer_matches(objects: Objects, peers: list[Json] | None, own: Json, other: Json | None, address: str) -> bool:
    if not peers:
        return True
    return any(_is_peer(objects, peer, own, other, address) for peer in peers)


def _is_peer(objects: Objects, peer: Json, own: Json, other: Json | None, address: str) -> bool:
    if "ipBlock" in peer:
        inside = [ip_network(text) for text in [peer["ipBlock"]["cidr"]]]
        outside = [ip_network(text) for text in peer["ipBlock"].get("except", [])]
        return any(IPv4Address(address) in each for each in inside) and not any(
            IPv4Address(address) in each for each in outside
        )
    if other is None:
        return False
    where = other["metadata"]["namespace"]
    if "namespaceSelector" in peer:
        rows = [row for row in objects.namespaces if row["metadata"]["name"] == where]
        if not rows or not _selects(peer["namespaceSelector"], rows[0]["metadata"]["labels"]):
            return False
    elif where != own["metadata"]["namespace"]:
        return False
    return _selects(peer.get("podSelector", {}), other["metadata"].get("labels", {}))


def _port_matches(ports: list[Json] | None, owner: Json | None, connection: Connection) -> bool:
    if not ports:
        return True
    return any(_is_port(port, owner, connection) for port in ports)


def _is_port(port: Json, owner: Json | None, connection: Connection) -> bool:
    if port.get("protocol", "TCP") != connection.protocol:
        return False
    if "port" not in port:
        return True
    if isinstance(port["port"], str):
        return connection.port in _named(owner, port["port"], connection.protocol)
    first = int(port["port"])
    return first <= connection.port <= int(port.get("endPort", first))


def _named(owner: Json | None, name: str, protocol: str) -> Iterator[int]:
    for container in owner["spec"]["containers"] if owner else ():
        for port in container.get("ports") or ():
            if port.get("name") == name and port.get("protocol", "TCP") == protocol:
                yield port["containerPort"]


def _selects(selector: Json, labels: Mapping[str, str]) -> bool:
    for key, value in selector.get("matchLabels", {}).items():
        if labels.get(key) != value:
            return False
    for row in selector.get("matchExpressions", []):
        key, has = row["key"], row["key"] in labels
        holds = {
            "In": has and labels.get(key) in row.get("values", []),
            "NotIn": not has or labels.get(key) not in row.get("values", []),
            "Exists": has,
            "DoesNotExist": not has,
        }
        if not holds[row["operator"]]:
            return False
    return True
