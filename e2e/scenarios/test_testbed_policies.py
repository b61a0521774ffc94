"""The test-bed's network enforces NetworkPolicy as the API's documentation says: real connections between real pods."""

import json
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import product

import pytest

from harness.nodes import on_node
from harness.policies import Connection, Objects, allowed
from harness.policy_cases import CASES, NAMESPACES, OUTSIDE, PODS, PORTS, Case, placed
from harness.shell import Json, get, items, kubectl, run
from harness.strangers import Address, Outcome, Stranger, enforcing, tried_here
from testbed.policies.enforcer import Enforcer

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(300)]

HERE = "192.168.240.1"
"""The address of this process for pods: the gateway of the nodes' network."""
SHIFT = 8000
"""Ports below 1024 are not for these pods."""
NODES = {"a": "testbed-worker", "a2": "testbed-worker", "b": "testbed-worker2", "other": "testbed-worker2"}


@dataclass(frozen=True)
class Ground:
    """Four pods in two namespaces on two nodes, and what enforces."""

    enforcer: Enforcer
    spaces: dict[str, str]
    """The namespaces by their names in the cases."""
    pods: dict[str, Stranger]
    addresses: dict[str, str]
    seen: Objects
    """What the API server has of pods and namespaces."""

    def objects(self) -> Objects:
        """The same with the present policies."""
        found = items("default", "networkpolicies", "--all-namespaces")
        ours = [item for item in found if item["metadata"]["namespace"] in self.spaces.values()]
        return replace(self.seen, policies=ours)


@pytest.fixture(scope="module")
def ground(client_image: str) -> Iterator[Ground]:
    """The pods, while policies are enforced."""
    tag = uuid.uuid4().hex[:8]
    spaces = {name: f"policies-{name}-{tag}" for name in NAMESPACES}
    try:
        for name, labels in NAMESPACES.items():
            metadata = {"name": spaces[name], "labels": labels}
            kubectl(
                "create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
            )
        pods = {
            name: Stranger(
                namespace=spaces[where],
                name=name,
                image=client_image,
                labels=labels,
                ports=tuple(port + SHIFT for port in PORTS),
                names={key: port + SHIFT for key, port in ports.items()},
                node=NODES[name],
            )
            for name, (where, labels, ports) in PODS.items()
        }
        for pod in pods.values():
            pod.start()
        addresses = {name: pod.wait() for name, pod in pods.items()} | {OUTSIDE: HERE, "nearby": HERE, "far": HERE}
        listed = [item for space in spaces.values() for item in items(space, "pods")]
        seen = Objects([], listed, [get(space, "namespace", space) for space in spaces.values()])
        with enforcing() as enforcer:
            yield Ground(enforcer, spaces, pods, addresses, seen)
    finally:
        run("kubectl", "delete", "namespace", *spaces.values(), "--wait=false")


@pytest.fixture
def clean(ground: Ground) -> Iterator[Ground]:
    """No policy is left."""
    yield ground
    for space in {item["metadata"]["namespace"] for item in ground.objects().policies}:
        kubectl("-n", space, "delete", "networkpolicies", "--all")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.says)
def test_connections_are_what_the_documentation_says(clean: Ground, case: Case) -> None:
    """Every TCP port of every pod is reached from each pod, and from outside, exactly if the policies allow it."""
    assert outcomes(clean, case.policies) == expected(clean)


def test_the_nodes_own_connections_pass(clean: Ground) -> None:
    """A pod that admits nobody is reached by its own node, as by the kubelet; not by another node."""
    apply(clean, [{"metadata": {"namespace": "kafka", "name": "p"}, "spec": {"podSelector": {}}}])
    clean.enforcer.enforce()
    reach = f"exec 3<>/dev/tcp/{clean.addresses['a']}/{PORTS[0] + SHIFT}"
    assert on_node(NODES["a"], "timeout", "10", "bash", "-c", f"{reach} && echo yes || echo no").strip() == "yes"
    assert on_node(NODES["b"], "timeout", "10", "bash", "-c", f"{reach} && echo yes || echo no").strip() == "no"


def test_rules_come_back_to_a_node_that_lost_them(clean: Ground) -> None:
    """A node without rules, as after a start, is noticed before anybody judges, and gets them again."""
    apply(clean, [{"metadata": {"namespace": "kafka", "name": "p"}, "spec": {"podSelector": {}}}])
    clean.enforcer.enforce()
    on_node(NODES["a"], "iptables", "-w", "-F", "TESTBED-POLICY")
    clean.enforcer.enforce()
    assert outcomes(clean, []) == expected(clean)


def outcomes(ground: Ground, policies: list[Json]) -> dict[Connection, bool]:
    """With these policies as well: whether each connection is made. A refusal must be one by a policy."""
    apply(ground, policies)
    world = ground.enforcer.enforce()
    assert set(ground.addresses.values()) - {HERE} <= {str(pod.address) for pod in world.pods}
    with ThreadPoolExecutor(len(PODS) + 1) as pool:
        rows = pool.map(lambda source: _from(ground, source), (*PODS, OUTSIDE))
        return {connection: made for row in rows for connection, made in row.items()}


def _from(ground: Ground, source: str) -> dict[Connection, bool]:
    targets = [pair for pair in targets_of(ground) if pair[0] != ground.addresses[source]]
    tried = tried_here(targets) if source == OUTSIDE else ground.pods[source].tries(targets)
    assert set(tried.values()) <= {Outcome.OPEN, Outcome.REFUSED}, (source, tried)
    return {
        Connection(ground.addresses[source], address, port): outcome is Outcome.OPEN
        for (address, port), outcome in tried.items()
    }


def expected(ground: Ground) -> dict[Connection, bool]:
    """The same as the evaluator reads it from the objects of the API server."""
    objects = ground.objects()
    connections = [
        Connection(ground.addresses[source], address, port)
        for source, (address, port) in product((*PODS, OUTSIDE), targets_of(ground))
        if address != ground.addresses[source]
    ]
    return {connection: allowed(objects, connection) for connection in connections}


def targets_of(ground: Ground) -> list[Address]:
    """Every port of every pod."""
    return [(ground.addresses[name], port + SHIFT) for name, port in product(PODS, PORTS)]


def apply(ground: Ground, policies: list[Json]) -> None:
    """Create policies of a case."""
    for policy in placed(policies, ground.addresses, SHIFT):
        metadata = {"name": policy["metadata"]["name"], "namespace": ground.spaces[policy["metadata"]["namespace"]]}
        body = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata}
        kubectl("create", "-f", "-", stdin=json.dumps(body | {"spec": policy["spec"]}))
