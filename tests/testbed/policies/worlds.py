"""Objects of the API server for tests of policies, and a reader of rendered rules."""

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from itertools import pairwise

from harness.policies import Connection, Json, Objects
from testbed.policies.objects import world_of
from testbed.policies.rendering import render
from testbed.policies.rules import isolations

NETWORKS = {"one": IPv4Network("10.244.1.0/24"), "two": IPv4Network("10.244.2.0/24")}
"""The network of the pods of each node."""


def namespace(name: str, **labels: str) -> Json:
    """A namespace, with the label that every namespace has."""
    return {"metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name, **labels}}}


def pod(where: str, name: str, address: str, /, *, ports: Mapping[str, int] | None = None, **labels: str) -> Json:
    """A pod that runs."""
    node = next((node for node, network in NETWORKS.items() if IPv4Address(address) in network), "")
    named = [{"name": key, "containerPort": number} for key, number in (ports or {}).items()]
    return {
        "metadata": {"namespace": where, "name": name, "uid": f"{where}-{name}", "labels": labels},
        "spec": {"nodeName": node, "containers": [{"name": "c", "ports": named}]},
        "status": {"podIP": address, "phase": "Running"},
    }


def passes(objects: Objects, connection: Connection) -> bool:
    """Whether the rules of both nodes let a connection through: first those of the source, then of the target."""
    return Kernel(rendered(objects)).passes(connection)


def rendered(objects: Objects) -> dict[str, str]:
    """The rules of each node."""
    world = world_of(objects.policies, objects.pods, objects.namespaces)
    found = isolations(world)
    return {
        node: render(
            network,
            [pod for pod in world.pods if pod.address in network],
            [each for each in found if each.pod.address in network],
        )
        for node, network in NETWORKS.items()
    }


# --- rules as the kernel reads them ----------------------------------------------------------------------------------


class Kernel:
    """Follows the first packet of a connection through the rules of the nodes."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        """Read the rules, by the name of the node."""
        self._nodes = {node: _chains(text) for node, text in texts.items()}

    def passes(self, connection: Connection) -> bool:
        """Whether no rule of the node of either end stops it."""
        ends = (IPv4Address(connection.source), IPv4Address(connection.target))
        nodes = [node for end in ends for node, network in NETWORKS.items() if end in network]
        return all(_walk(self._nodes[node], "TESTBED-POLICY", connection) == "RETURN" for node in nodes)


@dataclass(slots=True)
class _Line:
    source: IPv4Network
    target: IPv4Network
    protocol: str
    ports: range
    first: bool
    to: str

    def matches(self, connection: Connection) -> bool:
        return (
            self.first
            and IPv4Address(connection.source) in self.source
            and IPv4Address(connection.target) in self.target
            and self.protocol in ("", connection.protocol.lower())
            and connection.port in self.ports
        )


def _chains(text: str) -> dict[str, list[_Line]]:
    chains: dict[str, list[_Line]] = {}
    for line in text.splitlines():
        if line.startswith("-A "):
            _, chain, *words = line.split()
            option = dict(pairwise(words))
            low, _, high = option.get("--dport", "0:65535").partition(":")
            found = _Line(
                IPv4Network(option.get("-s", "0.0.0.0/0")),
                IPv4Network(option.get("-d", "0.0.0.0/0")),
                option.get("-p", ""),
                range(int(low), int(high) + 1),
                "--ctstate" not in option,  # of a connection that exists
                option["-j"],
            )
            chains.setdefault(chain, []).append(found)
    return chains


def _walk(chains: dict[str, list[_Line]], chain: str, connection: Connection) -> str:
    for line in chains[chain]:
        if not line.matches(connection):
            continue
        if line.to not in chains:
            return line.to
        if (verdict := _walk(chains, line.to, connection)) != "RETURN":
            return verdict
    return "RETURN"
