"""Rendered rules mean what the API's documentation says, on two nodes; the plain evaluator agrees."""

from dataclasses import replace

import pytest
from tests.testbed.policies.worlds import namespace, passes, pod

from harness.policies import Connection, Json, Objects, allowed
from harness.policy_cases import A2, CASES, NAMESPACES, OTHER, OUTSIDE, PODS, A, B, Case, peers, placed

ADDRESSES = {
    A: "10.244.1.10",
    A2: "10.244.1.12",
    B: "10.244.2.10",
    OTHER: "10.244.2.20",
    OUTSIDE: "192.168.240.1",
    "nearby": "192.168.240.2",
    "far": "10.9.9.9",
}
SPACES = [namespace(name, **labels) for name, labels in NAMESPACES.items()]
RUNNING = [pod(where, name, ADDRESSES[name], ports=ports, **labels) for name, (where, labels, ports) in PODS.items()]


def to_a(source: str) -> Connection:
    """A connection to the pod `a`."""
    return Connection(ADDRESSES.get(source, source), ADDRESSES[A])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.says)
def test_rules_mean_what_the_documentation_says(case: Case) -> None:
    """The sentence holds for the rules of the nodes, and for the evaluator that the rules are compared with."""
    objects = Objects(placed(case.policies, ADDRESSES), RUNNING, SPACES)
    wanted = {_at(each): True for each in case.yes} | {_at(each): False for each in case.no}
    assert {connection: passes(objects, connection) for connection in wanted} == wanted
    assert {connection: allowed(objects, connection) for connection in wanted} == wanted


def _at(connection: Connection) -> Connection:
    return replace(connection, source=ADDRESSES[connection.source], target=ADDRESSES[connection.target])


def test_hosts_network_pods_and_pods_that_have_ended_are_not_selected() -> None:
    """A pod with the address of its node is neither isolated nor a peer; nor is one that has ended."""
    at_host = pod("kafka", "h", "192.168.240.7", app="b")
    at_host["spec"]["hostNetwork"] = True
    ended = pod("kafka", "e", ADDRESSES[A2], app="b")
    ended["status"]["phase"] = "Succeeded"
    objects = Objects(peers({"podSelector": {"matchLabels": {"app": "b"}}}), [RUNNING[0], at_host, ended], SPACES)
    assert not passes(objects, to_a("192.168.240.7"))
    assert not passes(objects, to_a(A2))


def test_a_namespace_that_is_not_known_is_not_selected() -> None:
    """Without the labels of its namespace a pod is no peer of a namespaceSelector, not even of an empty one."""
    objects = Objects(peers({"namespaceSelector": {}}), RUNNING, SPACES[:1])
    assert passes(objects, to_a(B))
    assert not passes(objects, to_a(OTHER))


def test_a_pod_that_is_not_known_is_cut_off() -> None:
    """An address of a node's pods that no known pod has neither reaches pods nor is reached, even without policies."""
    objects = Objects([], RUNNING, SPACES)
    assert passes(objects, to_a(B))
    assert not passes(objects, to_a("10.244.2.99"))
    assert not passes(objects, Connection(ADDRESSES[A], "10.244.2.99"))
    assert not passes(objects, Connection("10.244.2.99", ADDRESSES[OUTSIDE]))


@pytest.mark.parametrize(
    ("peer", "words"),
    [
        ({}, "must have ipBlock, podSelector or namespaceSelector"),
        ({"ipBlock": {"cidr": "10.0.0.0/8"}, "podSelector": {}}, "cannot have a selector"),
        ({"podSelector": {"matchExpressions": [{"key": "a", "operator": "Gt"}]}}, "no operator 'Gt'"),
    ],
)
def test_what_the_api_server_rejects_is_refused(peer: Json, words: str) -> None:
    """What no API server stores is an error, and never a rule that allows more than is written."""
    with pytest.raises(ValueError, match=words):
        passes(Objects(peers(peer), RUNNING, SPACES), to_a(B))
