"""What the API server has of policies, pods and namespaces, as values. What the API rejects is a ValueError here."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_network
from typing import Any

Json = Mapping[str, Any]
Labels = Mapping[str, str]

_ENDED = ("Succeeded", "Failed")
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One entry of `matchExpressions`."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def holds(self, labels: Labels) -> bool:
        """Whether labels meet it. A missing label meets `NotIn`, as everywhere in Kubernetes."""
        match self.operator:
            case "In":
                return labels.get(self.key) in self.values
            case "NotIn":
                return labels.get(self.key) not in self.values
            case "Exists":
                return self.key in labels
            case _:
                return self.key not in labels


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """A label selector. One without requirements selects everything."""

    requirements: frozenset[Requirement] = frozenset()

    def selects(self, labels: Labels) -> bool:
        """Whether labels meet every requirement."""
        return all(each.holds(labels) for each in self.requirements)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The peer `ipBlock`, as the networks that are left of `cidr` without every `except`."""

    networks: tuple[IPv4Network, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pods:
    """A peer with selectors. Without `namespaces` it means pods of the policy's own namespace."""

    pods: Selector
    namespaces: Selector | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """A protocol with a range of ports, both ends included, or with a name, or with neither: then every port."""

    protocol: str
    numbers: tuple[int, int] | None = None
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One entry of `ingress` or `egress`: what it allows. None means without restriction."""

    peers: tuple[Block | Pods, ...] | None
    ports: tuple[Port, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A NetworkPolicy. A direction that it does not affect is None; without rules it allows nothing there."""

    namespace: str
    name: str
    version: str
    """The uid and the generation: another spec has another one."""
    pods: Selector
    ingress: tuple[Rule, ...] | None
    egress: tuple[Rule, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod with an address of its own, which has not ended."""

    namespace: str
    name: str
    uid: str
    node: str
    address: IPv4Address
    labels: frozenset[tuple[str, str]]
    ports: frozenset[tuple[str, str, int]] = frozenset()
    """Protocol, name and number of every port that has a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    """A namespace with its labels."""

    name: str
    labels: frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Everything that decides. Two equal worlds have equal rules."""

    policies: frozenset[Policy]
    pods: frozenset[Pod]
    namespaces: frozenset[Namespace]


def world_of(policies: Iterable[Json], pods: Iterable[Json], namespaces: Iterable[Json]) -> World:
    """The world in three lists of objects of the API server."""
    return World(
        policies=frozenset(map(policy_of, policies)),
        pods=frozenset(pod for item in pods if (pod := pod_of(item)) is not None),
        namespaces=frozenset(map(namespace_of, namespaces)),
    )


def policy_of(item: Json) -> Policy:
    """The policy in an object of the API server."""
    metadata, spec = item["metadata"], item.get("spec") or {}
    types = spec.get("policyTypes") or ["Ingress", *(["Egress"] if spec.get("egress") is not None else [])]
    return Policy(
        namespace=metadata["namespace"],
        name=metadata["name"],
        version=f"{metadata.get('uid', '')}/{metadata.get('generation', 0)}",
        pods=selector_of(spec.get("podSelector") or {}),
        ingress=tuple(_rule(row, "from") for row in spec.get("ingress") or ()) if "Ingress" in types else None,
        egress=tuple(_rule(row, "to") for row in spec.get("egress") or ()) if "Egress" in types else None,
    )


def pod_of(item: Json) -> Pod | None:
    """The pod in an object; None if policies do not apply: it has ended, has no address, or has that of its node."""
    metadata, spec, status = item["metadata"], item.get("spec") or {}, item.get("status") or {}
    address = status.get("podIP")
    if not address or spec.get("hostNetwork") or status.get("phase") in _ENDED:
        return None
    containers = [*spec.get("containers", ()), *spec.get("initContainers", ())]
    ports = [port for container in containers for port in container.get("ports") or () if port.get("name")]
    return Pod(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        node=spec.get("nodeName", ""),
        address=IPv4Address(address),
        labels=frozenset((metadata.get("labels") or {}).items()),
        ports=frozenset((port.get("protocol", "TCP"), port["name"], port["containerPort"]) for port in ports),
    )


def namespace_of(item: Json) -> Namespace:
    """The namespace in an object."""
    metadata = item["metadata"]
    return Namespace(name=metadata["name"], labels=frozenset((metadata.get("labels") or {}).items()))


def selector_of(item: Json) -> Selector:
    """A label selector; ValueError for an operator that Kubernetes does not have."""
    exact = (
        Requirement(key=key, operator="In", values=frozenset([value]))
        for key, value in (item.get("matchLabels") or {}).items()
    )
    rows = [
        Requirement(key=row["key"], operator=row["operator"], values=frozenset(row.get("values") or ()))
        for row in item.get("matchExpressions") or ()
    ]
    for row in rows:
        if row.operator not in _OPERATORS:
            raise ValueError(f"matchExpressions: there is no operator {row.operator!r}: use one of {_OPERATORS}")
    return Selector(requirements=frozenset([*exact, *rows]))


def _rule(row: Json, peers: str) -> Rule:
    """One rule. An empty list of peers or ports restricts as little as a missing one."""
    return Rule(
        peers=tuple(map(_peer, row[peers])) if row.get(peers) else None,
        ports=tuple(map(_port, row["ports"])) if row.get("ports") else None,
    )


def _peer(item: Json) -> Block | Pods:
    block, pods, namespaces = (item.get(name) for name in ("ipBlock", "podSelector", "namespaceSelector"))
    if block is not None:
        if pods is not None or namespaces is not None:
            raise ValueError("a peer with ipBlock cannot have a selector: make two peers of it")
        return Block(networks=_networks(block["cidr"], block.get("except") or ()))
    if pods is None and namespaces is None:
        raise ValueError("a peer must have ipBlock, podSelector or namespaceSelector")
    return Pods(pods=selector_of(pods or {}), namespaces=None if namespaces is None else selector_of(namespaces))


def _networks(cidr: str, excepted: Iterable[str]) -> tuple[IPv4Network, ...]:
    """A block without these parts of it, as networks. The pod network has no IPv6, so such a block has no address."""
    whole = ip_network(cidr)
    if isinstance(whole, IPv6Network):
        return ()
    left = [whole]
    for hole in map(IPv4Network, excepted):
        left = [part for network in left for part in _without(network, hole)]
    return tuple(sorted(left))


def _without(network: IPv4Network, hole: IPv4Network) -> list[IPv4Network]:
    if network.subnet_of(hole):
        return []
    return list(network.address_exclude(hole)) if hole.subnet_of(network) else [network]


def _port(item: Json) -> Port:
    protocol, port, end = item.get("protocol") or "TCP", item.get("port"), item.get("endPort")
    if isinstance(port, str):
        return Port(protocol=protocol, name=port)
    return Port(protocol=protocol, numbers=None if port is None else (port, end or port))
