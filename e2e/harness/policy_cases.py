"""What the API's documentation says about NetworkPolicy, sentence by sentence: policies, and what they let through.

The sentences are those of `kubectl explain networkpolicy.spec --recursive` and of the page "Network Policies" of
Kubernetes. Pods have names here; `placed` gives them addresses. So a test asks rendered rules, and a scenario real
connections, about the same cases.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.policies import Connection, Json

NAMESPACES = {"kafka": {"team": "data"}, "apps": {"team": "web"}}
"""Labels by name."""
PODS: dict[str, tuple[str, dict[str, str], dict[str, int]]] = {
    "a": ("kafka", {"app": "a", "tier": "x"}, {"web": 80, "admin": 8080}),
    "a2": ("kafka", {"app": "a2"}, {}),
    "b": ("kafka", {"app": "b"}, {"web": 81}),
    "other": ("apps", {"app": "b"}, {}),
}
"""By name: namespace, labels, numbers of ports by name. `a` and `a2` are on one node, the others on another one."""
A, A2, B, OTHER, OUTSIDE = "a", "a2", "b", "other", "outside"
"""Ends of connections: pods, and an address of no pod. Further addresses of none are `nearby` and `far`."""
PORTS = (9, 79, 80, 81, 82, 83, 443, 8080)
"""Every port in the cases at which something may listen."""
TO_A = {"podSelector": {"matchLabels": {"app": "a"}}}


def to_a(source: str, port: int = 80, protocol: str = "TCP") -> Connection:
    """A connection to the pod `a`."""
    return Connection(source, A, port, protocol)


def from_a(target: str, port: int = 80, protocol: str = "TCP") -> Connection:
    """A connection from the pod `a`."""
    return Connection(A, target, port, protocol)


def policy(where: str, name: str = "p", /, **spec: Any) -> Json:  # noqa: ANN401 - JSON as a person writes it
    """A policy with this spec."""
    return {"metadata": {"namespace": where, "name": name, "uid": name, "generation": 1}, "spec": spec}


def placed(item: Any, addresses: Mapping[str, str], shift: int = 0) -> Any:  # noqa: ANN401 - any JSON
    """A policy of a case with these addresses, and with the numbers of all ports moved up by `shift`."""
    if isinstance(item, list):
        return [placed(each, addresses, shift) for each in item]
    if isinstance(item, str):
        return item.format(**addresses) if item.startswith("{") else item
    if not isinstance(item, dict):
        return item
    numbers = {key: item[key] + shift for key in ("port", "endPort") if isinstance(item.get(key), int)}
    return {key: placed(value, addresses, shift) for key, value in item.items()} | numbers


@dataclass(frozen=True)
class Case:
    """A sentence, policies, and what follows."""

    says: str
    policies: list[Json]
    yes: list[Connection] = field(default_factory=list)
    no: list[Connection] = field(default_factory=list)


def ingress(*rules: Json, **spec: Any) -> list[Json]:  # noqa: ANN401 - JSON as a person writes it
    """One policy for the ingress of `a`."""
    return [policy("kafka", **TO_A, policyTypes=["Ingress"], ingress=list(rules), **spec)]


def egress(*rules: Json) -> list[Json]:
    """One policy for the egress of `a`."""
    return [policy("kafka", **TO_A, policyTypes=["Egress"], egress=list(rules))]


def peers(*rows: Json) -> list[Json]:
    """A policy for the ingress of `a` with these peers."""
    return ingress({"from": list(rows)})


CASES = [
    Case(
        "traffic is allowed if there are no NetworkPolicies selecting the pod",
        [policy("kafka", podSelector={"matchLabels": {"app": "nobody"}})],
        yes=[to_a(B), to_a(OTHER), to_a(OUTSIDE), from_a(OUTSIDE)],
    ),
    Case(
        "an empty selector matches all pods in the policy's namespace",
        [policy("kafka", podSelector={})],
        yes=[Connection(A, OTHER)],
        no=[to_a(B), Connection(A, B), to_a(OTHER)],
    ),
    Case(
        "podSelector is optional; if it is not specified, it defaults to an empty selector",
        [policy("kafka")],
        yes=[Connection(A, OTHER)],
        no=[to_a(B), Connection(A, B)],
    ),
    Case("a policy selects pods of its own namespace only", [policy("apps", podSelector={})], yes=[to_a(B)]),
    Case("if ingress is empty, the policy does not allow any traffic", ingress(), no=[to_a(B), to_a(OUTSIDE)]),
    Case("if egress is empty, the policy limits all outgoing traffic", egress(), yes=[to_a(B)], no=[from_a(B)]),
    Case(
        "without policyTypes, all policies are assumed to affect ingress, and not egress",
        [policy("kafka", **TO_A)],
        yes=[from_a(B)],
        no=[to_a(B)],
    ),
    Case(
        "without policyTypes, policies that contain an egress section are assumed to affect egress, and ingress",
        [policy("kafka", **TO_A, egress=[{"to": [{"podSelector": {"matchLabels": {"app": "b"}}}]}])],
        yes=[from_a(B)],
        no=[from_a(A2), to_a(B)],
    ),
    Case(
        "without policyTypes, an egress section without rules limits all outgoing traffic",
        [policy("kafka", **TO_A, egress=[])],
        no=[from_a(B), to_a(B)],
    ),
    Case(
        "an egress-only policy does not affect ingress: its ingress section counts for nothing",
        [policy("kafka", **TO_A, policyTypes=["Egress"], ingress=[])],
        yes=[to_a(B)],
        no=[from_a(B)],
    ),
    Case(
        "an ingress-only policy does not affect egress: its egress section counts for nothing",
        [policy("kafka", **TO_A, policyTypes=["Ingress"], egress=[])],
        yes=[from_a(B)],
        no=[to_a(B)],
    ),
    Case("if from is missing, the rule matches all sources", ingress({"ports": [{"port": 80}]}), yes=[to_a(OUTSIDE)]),
    Case("if from is empty, the rule matches all sources", ingress({"from": []}), yes=[to_a(B), to_a(OUTSIDE, 9)]),
    Case("a rule without anything matches everything", ingress({}), yes=[to_a(B), to_a(OUTSIDE, 9, "UDP")]),
    Case("if to is empty, the rule matches all destinations", egress({"to": []}), yes=[from_a(B), from_a(OUTSIDE, 9)]),
    Case(
        "if ports is empty or missing, the rule matches all ports",
        ingress({"from": [{"podSelector": {}}], "ports": []}),
        yes=[to_a(B), to_a(B, 9, "UDP"), to_a(B, 9, "SCTP")],
        no=[to_a(OTHER)],
    ),
    Case(
        "items of from are combined by OR",
        peers({"podSelector": {"matchLabels": {"app": "b"}}}, {"ipBlock": {"cidr": "{outside}/32"}}),
        yes=[to_a(B), to_a(OUTSIDE)],
        no=[to_a(A2), Connection("nearby", "a")],
    ),
    Case(
        "items of ports are combined by OR",
        ingress({"ports": [{"port": 80}, {"port": 443}]}),
        yes=[to_a(B, 80), to_a(B, 443)],
        no=[to_a(B, 81)],
    ),
    Case(
        "the traffic must match both ports and from",
        ingress({"from": [{"podSelector": {"matchLabels": {"app": "b"}}}], "ports": [{"port": 80}]}),
        yes=[to_a(B)],
        no=[to_a(B, 81), to_a(A2)],
    ),
    Case(
        "the traffic must match both ports and to",
        egress({"to": [{"podSelector": {"matchLabels": {"app": "b"}}}], "ports": [{"port": 80}]}),
        yes=[from_a(B)],
        no=[from_a(B, 81), from_a(A2)],
    ),
    Case(
        "the rules of several policies are combined additively",
        [
            policy("kafka", "first", **TO_A, ingress=[{"from": [{"podSelector": {"matchLabels": {"app": "b"}}}]}]),
            policy("kafka", "second", podSelector={}, ingress=[{"ports": [{"port": 8080}]}]),
        ],
        yes=[to_a(B, 9), to_a(OUTSIDE, 8080)],
        no=[to_a(OUTSIDE, 9), Connection(A, B, 9)],
    ),
    Case(
        "a policy that allows nothing takes nothing from what another one allows",
        [policy("kafka", "first", **TO_A, ingress=[{}]), policy("kafka", "second", podSelector={}, ingress=[])],
        yes=[to_a(OUTSIDE)],
        no=[Connection(A, B)],
    ),
    Case(
        "a podSelector alone selects pods in the policy's own namespace",
        peers({"podSelector": {"matchLabels": {"app": "b"}}}),
        yes=[to_a(B)],
        no=[to_a(OTHER), to_a(A2), to_a(OUTSIDE)],
    ),
    Case(
        "a podSelector that is present but empty selects all pods of the namespace, and no other address",
        peers({"podSelector": {}}),
        yes=[to_a(B), to_a(A2)],
        no=[to_a(OTHER), to_a(OUTSIDE)],
    ),
    Case(
        "a namespaceSelector alone selects all pods in the namespaces that it selects",
        peers({"namespaceSelector": {"matchLabels": {"team": "web"}}}),
        yes=[to_a(OTHER)],
        no=[to_a(B), to_a(OUTSIDE)],
    ),
    Case(
        "a namespaceSelector that is present but empty selects all namespaces, and no address without a pod",
        peers({"namespaceSelector": {}}),
        yes=[to_a(B), to_a(OTHER)],
        no=[to_a(OUTSIDE)],
    ),
    Case(
        "both selectors in one peer: pods matching podSelector in the namespaces selected by namespaceSelector",
        peers({"namespaceSelector": {"matchLabels": {"team": "data"}}, "podSelector": {"matchLabels": {"app": "b"}}}),
        yes=[to_a(B)],
        no=[to_a(OTHER), to_a(A2)],
    ),
    Case(
        "both selectors in two peers: pods of the own namespace, or every pod of the selected namespaces",
        peers({"namespaceSelector": {"matchLabels": {"team": "web"}}}, {"podSelector": {"matchLabels": {"app": "b"}}}),
        yes=[to_a(B), to_a(OTHER)],
        no=[to_a(A2)],
    ),
    Case(
        "every namespace has the label kubernetes.io/metadata.name with its name",
        peers({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "apps"}}}),
        yes=[to_a(OTHER)],
        no=[to_a(B)],
    ),
    Case(
        "In requires one of the values",
        peers({"podSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["b", "c"]}]}}),
        yes=[to_a(B)],
        no=[to_a(A2)],
    ),
    Case(
        "NotIn excludes values, and selects what lacks the label",
        [
            policy(
                "kafka",
                podSelector={"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["x"]}]},
            )
        ],
        yes=[to_a(B)],
        no=[Connection(A, B)],
    ),
    Case(
        "Exists requires the label, whatever its value",
        peers({"podSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}),
        yes=[to_a(B)],
        no=[to_a(OTHER)],
    ),
    Case(
        "DoesNotExist requires that the label is missing",
        [policy("kafka", podSelector={"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]})],
        yes=[to_a(B)],
        no=[Connection(A, B)],
    ),
    Case(
        "matchLabels and matchExpressions must all be met",
        peers(
            {"podSelector": {"matchLabels": {"app": "b"}, "matchExpressions": [{"key": "tier", "operator": "Exists"}]}}
        ),
        no=[to_a(B)],
    ),
    Case(
        "ipBlock allows a CIDR",
        peers({"ipBlock": {"cidr": "{b}/32"}}),
        yes=[to_a(B)],
        no=[to_a(OTHER), to_a(OUTSIDE)],
    ),
    Case(
        "except describes CIDRs that should not be included within this rule",
        peers({"ipBlock": {"cidr": "10.0.0.0/8", "except": ["{other}/32", "{a2}/32"]}}),
        yes=[to_a(B), Connection("far", "a")],
        no=[to_a(OTHER), to_a(A2)],
    ),
    Case(
        "an address in except may be allowed by another peer",
        peers(
            {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["{b}/32", "{other}/32"]}},
            {"podSelector": {"matchLabels": {"app": "b"}}},
        ),
        yes=[to_a(B), to_a(A2)],
        no=[to_a(OTHER)],
    ),
    Case("an ipBlock of IPv6 includes no address of this network", peers({"ipBlock": {"cidr": "::/0"}}), no=[to_a(B)]),
    Case("protocol defaults to TCP", ingress({"ports": [{"port": 80}]}), yes=[to_a(B)], no=[to_a(B, 80, "UDP")]),
    Case(
        "only traffic on the specified protocol AND port is matched",
        ingress({"ports": [{"port": 80, "protocol": "UDP"}]}),
        yes=[to_a(B, 80, "UDP")],
        no=[to_a(B), to_a(B, 81, "UDP")],
    ),
    Case(
        "if port is not provided, this matches all port names and numbers",
        ingress({"ports": [{"protocol": "SCTP"}]}),
        yes=[to_a(B, 1, "SCTP"), to_a(B, 65535, "SCTP")],
        no=[to_a(B)],
    ),
    Case(
        "ports from port to endPort, inclusive, are allowed",
        ingress({"ports": [{"port": 80, "endPort": 82}]}),
        yes=[to_a(B, 80), to_a(B, 81), to_a(B, 82)],
        no=[to_a(B, 79), to_a(B, 83)],
    ),
    Case(
        "a named port of ingress is that of the selected pod",
        ingress({"ports": [{"port": "web"}]}),
        yes=[to_a(B, 80)],
        no=[to_a(B, 81), to_a(B, 8080)],
    ),
    Case(
        "a named port of egress is that of each destination pod",
        egress({"to": [{"podSelector": {}}], "ports": [{"port": "web"}]}),
        yes=[from_a(B, 81)],
        no=[from_a(B, 80), from_a(A2, 80)],
    ),
    Case(
        "a named port that no container has matches nothing",
        ingress({"ports": [{"port": "none"}]}),
        no=[to_a(B, 80), to_a(B, 8080)],
    ),
    Case(
        "a named port has a protocol",
        ingress({"ports": [{"port": "web", "protocol": "UDP"}]}),
        no=[to_a(B, 80), to_a(B, 80, "UDP")],
    ),
    Case(
        "both the egress policy on the source and the ingress policy on the destination need to allow the connection",
        [
            policy("kafka", "in", **TO_A, ingress=[{"from": [{"podSelector": {}}]}]),
            policy("kafka", "out", podSelector={"matchLabels": {"app": "b"}}, policyTypes=["Egress"]),
        ],
        yes=[to_a(A2)],
        no=[to_a(B)],
    ),
    Case("a pod cannot block access to itself", [policy("kafka", egress=[])], yes=[Connection(A, A)], no=[to_a(B)]),
]
