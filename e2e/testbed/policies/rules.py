"""What policies mean for each pod: in which directions it is isolated, and what is allowed there all the same.

The meaning is that of the API's documentation (`kubectl explain networkpolicy.spec`): a pod is isolated in a direction
if a policy that selects it affects this direction, and the union of the rules of all such policies is allowed.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from ipaddress import IPv4Network

from testbed.policies.objects import Block, Pod, Pods, Policy, Port, Rule, World

ANYWHERE = IPv4Network("0.0.0.0/0")


class Way(Enum):
    """The direction of a connection, seen from the pod that a policy selects."""

    INGRESS = "ingress"
    EGRESS = "egress"


@dataclass(frozen=True, slots=True, order=True)
class Allow:
    """Connections with addresses in `peer`: of one protocol ("" for every one) to these ports, both ends included."""

    peer: IPv4Network
    protocol: str = ""
    ports: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """A pod that is isolated in one direction, and what is allowed there."""

    pod: Pod
    way: Way
    allowed: frozenset[Allow]


def isolations(world: World) -> list[Isolation]:
    """Every isolated pod of a world, in the order of addresses."""
    found = []
    labels = {namespace.name: dict(namespace.labels) for namespace in world.namespaces}
    for pod in sorted(world.pods, key=lambda each: each.address):
        own = [policy for policy in world.policies if _applies(policy, pod)]
        for way in Way:
            affecting = [rules for policy in own if (rules := _rules(policy, way)) is not None]
            if affecting:
                allowed = (
                    allow
                    for rules in affecting
                    for rule in rules
                    for allow in _allowed(world.pods, labels, pod, way, rule)
                )
                found.append(Isolation(pod=pod, way=way, allowed=frozenset(allowed)))
    return found


def _applies(policy: Policy, pod: Pod) -> bool:
    return policy.namespace == pod.namespace and policy.pods.selects(dict(pod.labels))


def _rules(policy: Policy, way: Way) -> tuple[Rule, ...] | None:
    return policy.ingress if way is Way.INGRESS else policy.egress


def _allowed(pods: Iterable[Pod], labels: dict[str, dict[str, str]], pod: Pod, way: Way, rule: Rule) -> Iterator[Allow]:
    """What one rule allows to a pod that its policy selects: both are in one namespace."""
    peers = list(_peers(pods, labels, pod.namespace, rule))
    if rule.ports is None:
        yield from map(Allow, peers)
        return
    for port in rule.ports:
        if not port.name:
            yield from (Allow(peer, port.protocol, port.numbers) for peer in peers)
        elif way is Way.INGRESS:
            for number in _numbers(pod, port):
                yield from (Allow(peer, port.protocol, (number, number)) for peer in peers)
        else:  # the name is that of a port of the pod at the other end
            for other in pods:
                if any(other.address in peer for peer in peers):
                    for number in _numbers(other, port):
                        yield Allow(IPv4Network(other.address), port.protocol, (number, number))


def _peers(pods: Iterable[Pod], labels: dict[str, dict[str, str]], namespace: str, rule: Rule) -> Iterator[IPv4Network]:
    if rule.peers is None:
        yield ANYWHERE
        return
    for peer in rule.peers:
        match peer:
            case Block(networks=networks):
                yield from networks
            case Pods():
                yield from (IPv4Network(pod.address) for pod in pods if _is_peer(pod, peer, labels, namespace))


def _is_peer(pod: Pod, peer: Pods, labels: dict[str, dict[str, str]], namespace: str) -> bool:
    """Whether a peer of a policy in `namespace` selects a pod. A namespace that is not known is not selected."""
    if peer.namespaces is None:
        selected = pod.namespace == namespace
    else:
        selected = pod.namespace in labels and peer.namespaces.selects(labels[pod.namespace])
    return selected and peer.pods.selects(dict(pod.labels))


def _numbers(pod: Pod, port: Port) -> list[int]:
    """The numbers of the pod's ports of this name. A pod without such a port has none."""
    return sorted(number for protocol, name, number in pod.ports if (protocol, name) == (port.protocol, port.name))
