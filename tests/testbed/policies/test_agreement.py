"""Rules of the nodes and the plain evaluator agree about every connection of random worlds."""

from itertools import product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.testbed.policies.worlds import Kernel, namespace, pod, rendered

from harness.policies import Connection, Json, Objects, allowed
from harness.policy_cases import policy

KEYS, VALUES = ("app", "tier"), ("x", "y")
PLACES = ("kafka", "apps")
ADDRESSES = ("10.244.1.10", "10.244.1.11", "10.244.2.10", "10.244.2.11")
OUTSIDE = "192.168.240.1"
PORTS = (79, 80, 81, 8080)
NAMES = ("web", "admin")

labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=2)
expressions = st.one_of(
    st.builds(
        lambda key, operator, values: {"key": key, "operator": operator, "values": sorted(values)},
        st.sampled_from(KEYS),
        st.sampled_from(["In", "NotIn"]),
        st.sets(st.sampled_from(VALUES), min_size=1),
    ),
    st.builds(
        lambda key, operator: {"key": key, "operator": operator},
        st.sampled_from(KEYS),
        st.sampled_from(["Exists", "DoesNotExist"]),
    ),
)
selectors = st.one_of(
    st.builds(lambda rows: {"matchExpressions": rows}, st.lists(expressions, min_size=1, max_size=2)),
    st.builds(lambda exact: {"matchLabels": exact}, labels),
    st.just({}),
)
blocks = st.sampled_from(
    [
        {"cidr": "0.0.0.0/0"},
        {"cidr": "10.244.0.0/16", "except": ["10.244.1.10/31"]},
        {"cidr": "10.244.2.10/32"},
        {"cidr": "0.0.0.0/0", "except": ["10.244.2.0/24", "192.168.240.0/28"]},
        {"cidr": "10.244.1.0/24", "except": ["10.244.1.0/24"]},
    ]
)
peers = st.one_of(
    st.builds(lambda block: {"ipBlock": block}, blocks),
    st.builds(lambda pods: {"podSelector": pods}, selectors),
    st.builds(lambda spaces: {"namespaceSelector": spaces}, selectors),
    st.builds(lambda pods, spaces: {"podSelector": pods, "namespaceSelector": spaces}, selectors, selectors),
)
ports = st.one_of(
    st.sampled_from([{}, {"protocol": "UDP"}, {"port": 80}, {"port": 80, "protocol": "UDP"}]),
    st.sampled_from([{"port": 79, "endPort": 80}, {"port": "web"}, {"port": "admin", "protocol": "TCP"}]),
)


def rules(name: str) -> st.SearchStrategy[Json]:
    """Rules of ingress or egress."""
    return st.fixed_dictionaries({}, optional={name: st.lists(peers, max_size=2), "ports": st.lists(ports, max_size=2)})


specs = st.fixed_dictionaries(
    {},
    optional={
        "podSelector": selectors,
        "policyTypes": st.sampled_from([["Ingress"], ["Egress"], ["Ingress", "Egress"]]),
        "ingress": st.lists(rules("from"), max_size=2),
        "egress": st.lists(rules("to"), max_size=2),
    },
)


@st.composite
def worlds(draw: st.DrawFn) -> Objects:
    """Up to three policies, four pods on two nodes, two namespaces."""
    named: dict[str, Any] = {"web": st.sampled_from([80, 8080]), "admin": st.just(81)}
    pods = [
        pod(
            draw(st.sampled_from(PLACES)),
            f"p{index}",
            address,
            ports=draw(st.fixed_dictionaries({}, optional=named)),
            **draw(labels),
        )
        for index, address in enumerate(ADDRESSES)
    ]
    policies = [
        policy(draw(st.sampled_from(PLACES)), f"n{index}", **draw(specs)) for index in range(draw(st.integers(0, 3)))
    ]
    return Objects(policies, pods, [namespace(place, **draw(labels)) for place in PLACES])


@settings(max_examples=400, deadline=None)
@given(objects=worlds())
def test_rules_and_evaluator_agree(objects: Objects) -> None:
    """Between every two addresses each port of each protocol passes exactly if the evaluator allows it."""
    everywhere = (*ADDRESSES, OUTSIDE)
    connections = [
        Connection(source, target, port, protocol)
        for source, target in product(everywhere, everywhere)
        for port, protocol in product(PORTS, ("TCP", "UDP"))
    ]
    kernel = Kernel(rendered(objects))
    found = {connection for connection in connections if kernel.passes(connection)}
    assert found == {connection for connection in connections if allowed(objects, connection)}
