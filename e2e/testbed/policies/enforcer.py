"""Keeps the rules of every node in line with the policies, pods and namespaces of the API server.

One process does it for all nodes, with `docker exec`, and only while it runs: the nodes have no rules of their own.
Whoever judges a connection calls `enforce` first. It returns when the rules of what the API server has at that moment
are in force on every node, or fails.
"""

import json
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from ipaddress import IPv4Network
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from testbed import cluster
from testbed.engine import Engine
from testbed.policies.objects import World, world_of
from testbed.policies.rendering import APPLY, READ, REMOVE, in_force, render
from testbed.policies.rules import isolations
from testbed.process import TestbedError, environment

PAUSE_S = 0.25
"""Between two rounds: how late a pod with a new address is reached."""
LOOK_ROUNDS = 40
_ANSWER_TIMEOUT_S = 15
_START_TIMEOUT_S = 15
_PATHS = ("/apis/networking.k8s.io/v1/networkpolicies", "/api/v1/pods", "/api/v1/namespaces")


@contextmanager
def enforcer(engine: Engine) -> Iterator["Enforcer"]:
    """What enforces policies on the cluster of this engine; no rule is left when the block ends."""
    networks = {node["metadata"]["name"]: IPv4Network(node["spec"]["podCIDR"]) for node in cluster.nodes(engine)}
    with _api(engine) as path, ThreadPoolExecutor(len(networks)) as workers:
        made = Enforcer(engine=engine, networks=networks, path=path, workers=workers)
        try:
            yield made
        finally:
            made.remove()


@dataclass(slots=True, kw_only=True)
class Enforcer:
    """Puts rules on nodes. `enforce` may be called from several threads."""

    engine: Engine
    networks: dict[str, IPv4Network]
    """The network of the pods of each node."""
    path: Path
    """The socket of the API server's proxy."""
    workers: ThreadPoolExecutor
    _texts: dict[str, str] = field(default_factory=dict)
    """The rules that each node has."""
    _ended: bool = False
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def enforce(self, *, look: bool = True) -> World:
        """Put the rules of what the API server has now on every node; returns what that is.

        With `look` each node is asked for what it has. Rules that a node has lost, because it started again, are put
        there again. TestbedError if a node or the API server does not answer, or a node has not got its rules.
        """
        with self._turn:
            if self._ended:
                raise TestbedError("policies are not enforced any more: the enforcer has ended")
            world = self._read()
            wanted = self._wanted(world)
            late = {name: text for name, text in wanted.items() if self._texts.get(name) != text}
            list(self.workers.map(self._apply, late, late.values()))
            if look:
                others = [name for name in wanted if name not in late]
                lost = [
                    name for name, kept in zip(others, self.workers.map(self._has, others), strict=True) if not kept
                ]
                list(self.workers.map(self._apply, lost, [wanted[name] for name in lost]))
            return world

    def remove(self) -> None:
        """Take every rule from every node that answers; policies are not enforced any more."""
        with self._turn:
            self._ended = True
            list(self.workers.map(self._remove, self.networks))

    def _wanted(self, world: World) -> dict[str, str]:
        found = isolations(world)
        return {
            name: render(
                network,
                [pod for pod in world.pods if pod.address in network],
                [each for each in found if each.pod.address in network],
            )
            for name, network in self.networks.items()
        }

    def _has(self, node: str) -> bool:
        """Whether a node still has its rules. Without an answer it has none; putting them there again shows why."""
        try:
            shown = self.engine.docker("exec", node, "sh", "-c", READ)
        except TestbedError:
            return False
        return in_force(self._texts[node], shown)

    def _apply(self, node: str, text: str) -> None:
        self._texts.pop(node, None)
        command = ["docker", "exec", "-i", node, "sh", "-c", APPLY]
        env = environment(self.engine.env())
        done = subprocess.run(command, env=env, input=text, capture_output=True, text=True, check=False)
        if done.returncode:
            raise TestbedError(f"{node} does not take the rules of its network policies: {done.stderr.strip()}")
        if not in_force(text, done.stdout):
            raise TestbedError(f"the rules of network policies are not in force on {node}: others come first")
        self._texts[node] = text

    def _remove(self, node: str) -> None:
        subprocess.run(
            ["docker", "exec", node, "sh", "-c", REMOVE],
            env=environment(self.engine.env()),
            capture_output=True,
            check=False,
        )

    def _read(self) -> World:
        """All three lists, as they are now: without a resource version the API server asks its storage."""
        try:
            policies, pods, namespaces = (_items(self.path, path) for path in _PATHS)
        except (OSError, HTTPException, ValueError) as error:
            raise TestbedError(f"the API server does not list policies, pods and namespaces: {error!r}") from error
        return world_of(policies, pods, namespaces)


def run(engine: Engine) -> None:
    """Enforce until interrupted or ended, and print a line whenever something has changed."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with enforcer(engine) as made:
        before: World | None = None
        rounds = 0
        while True:
            try:
                world = made.enforce(look=rounds % LOOK_ROUNDS == 0)
            except TestbedError as error:
                print(error, flush=True)
            else:
                if world != before:
                    isolated = {each.pod for each in isolations(world)}
                    counts = f"{len(world.policies)} policies, {len(isolated)} of {len(world.pods)} pods isolated"
                    print(f"in force: {counts}", flush=True)
                before = world
            rounds += 1
            time.sleep(PAUSE_S)


@contextmanager
def _api(engine: Engine) -> Iterator[Path]:
    """A socket without TLS and credentials for the API server, which kubectl provides."""
    with TemporaryDirectory(prefix="testbed-") as folder:
        path = Path(folder, "api.sock")
        command = engine.inside(["kubectl", "proxy", f"--unix-socket={path}"])
        with subprocess.Popen(command, env=environment(engine.env()), stdout=subprocess.DEVNULL) as proxy:
            try:
                deadline = time.monotonic() + _START_TIMEOUT_S
                while not path.exists():
                    if proxy.poll() is not None or time.monotonic() > deadline:
                        raise TestbedError("kubectl proxy does not start")
                    time.sleep(0.05)
                yield path
            finally:
                proxy.terminate()


def _items(path: Path, where: str) -> list[dict[str, Any]]:
    connection = _Connection(path)
    try:
        connection.request("GET", where)
        answer = connection.getresponse()
        body = answer.read()
    finally:
        connection.close()
    if answer.status != 200:
        raise ValueError(f"{where}: {answer.status} {body[:200]!r}")
    return cast("list[dict[str, Any]]", json.loads(body)["items"])


class _Connection(HTTPConnection):
    """HTTP through a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=_ANSWER_TIMEOUT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))
