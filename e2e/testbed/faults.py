"""Faults for tests: nodes that stop and return, networks that are cut and repaired."""

import json
import time

from testbed import cluster
from testbed.config import CLUSTER, NETWORK
from testbed.engine import Engine
from testbed.process import TestbedError

_READY_TIMEOUT_S = 120
_CHAIN = "TESTBED-CUT"
_HOOKS = (("raw", "PREROUTING", "-i"), ("mangle", "POSTROUTING", "-o"))
"""The chains through which a node's packets pass, whether they are its own or its pods'."""


def full_name(engine: Engine, name: str) -> str:
    """A node's name: `worker2` means `testbed-worker2`."""
    known = cluster.container_names(engine)
    for candidate in (name, f"{CLUSTER}-{name}"):
        if candidate in known:
            return candidate
    raise TestbedError(f"no node {name}; there are {', '.join(known) or 'none'}")


def kill(engine: Engine, name: str) -> None:
    """Stop a node as a power failure does. Its volumes stay."""
    node = full_name(engine, name)
    address = _address(engine, node)
    engine.docker("kill", node)
    # The kubelet gets its address only once; without this the next start might assign another one.
    engine.docker("network", "disconnect", NETWORK, node)
    engine.docker("network", "connect", "--ip", address, NETWORK, node)


def start(engine: Engine, name: str, *, wait: bool = True) -> None:
    """Start a killed node, and wait until it is ready again."""
    node = full_name(engine, name)
    before = _heartbeat(engine, node)
    engine.docker("start", node)
    deadline = time.monotonic() + _READY_TIMEOUT_S
    while wait and not _ready_since(engine, node, before):
        if time.monotonic() > deadline:
            raise TestbedError(f"{node} is not ready after {_READY_TIMEOUT_S} s")
        time.sleep(0.5)


def partition(engine: Engine, name: str, peers: list[str]) -> None:
    """Cut a node and its pods off from everything, or from the given peers and their pods only."""
    node = full_name(engine, name)
    others = [full_name(engine, peer) for peer in peers]
    known = {item["metadata"]["name"]: item for item in cluster.nodes(engine)} if others else {}
    cut = [known[other] for other in others]
    subnets = [subnet for item in cut for subnet in (cluster.internal_ip(item), item["spec"]["podCIDR"])]
    heal(engine, name)
    for table, hook, direction in _HOOKS:
        _iptables(engine, node, table, f"-N {_CHAIN}", f"-I {hook} {direction} eth0 -j {_CHAIN}")
        address = "-s" if hook == "PREROUTING" else "-d"
        drops = [f"-A {_CHAIN} {address} {subnet} -j DROP" for subnet in subnets]
        _iptables(engine, node, table, *(drops or [f"-A {_CHAIN} -j DROP"]))


def heal(engine: Engine, name: str) -> None:
    """Undo a partition."""
    node = full_name(engine, name)
    for table, hook, direction in _HOOKS:
        if _CHAIN in engine.docker("exec", node, "iptables-save", "-t", table):
            rules = (f"-D {hook} {direction} eth0 -j {_CHAIN}", f"-F {_CHAIN}", f"-X {_CHAIN}")
            _iptables(engine, node, table, *rules)


def _iptables(engine: Engine, node: str, table: str, *rules: str) -> None:
    for rule in rules:
        engine.docker("exec", node, "iptables", "-w", "-t", table, *rule.split())


def _address(engine: Engine, node: str) -> str:
    template = f'{{{{(index .NetworkSettings.Networks "{NETWORK}").IPAddress}}}}'
    address = engine.docker("inspect", "-f", template, node).strip()
    if not address:
        raise TestbedError(f"{node} does not run")
    return address


def _ready_condition(engine: Engine, node: str) -> dict[str, str]:
    status = json.loads(engine.kubectl("get", "node", node, "-o", "json"))["status"]
    conditions: list[dict[str, str]] = status["conditions"]
    return next(entry for entry in conditions if entry["type"] == "Ready")


def _heartbeat(engine: Engine, node: str) -> str:
    try:
        return _ready_condition(engine, node)["lastHeartbeatTime"]
    except TestbedError:  # the API server itself was on the killed node
        return ""


def _ready_since(engine: Engine, node: str, before: str) -> bool:
    try:
        condition = _ready_condition(engine, node)
    except TestbedError:
        return False
    return condition["status"] == "True" and condition["lastHeartbeatTime"] > before
