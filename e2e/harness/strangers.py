"""Pods that only connect, and that others connect to; and what becomes of a connection.

A policy of the test-bed refuses a connection with an ICMP answer of its own. So "a policy refused it" and "nothing
listens there" are two outcomes, and neither takes a wait.
"""

import json
import socket
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Final

from harness.background import Background
from harness.pods import CONTAINER_SECURITY, POD_SECURITY
from harness.shell import CommandFailed, Json, kubectl, run
from testbed.config import default_paths
from testbed.engine import require
from testbed.policies.enforcer import PAUSE_S, Enforcer, enforcer

_ROUND_S: Final = 60.0
_TRY_S: Final = 10.0
"""How long a connection may take that nobody refuses. A dropped packet is sent again within that time."""
_CONTROL_PLANE: Final = "node-role.kubernetes.io/control-plane"

_LISTEN: Final = """
import socket, sys, threading
def serve(port):
    listener = socket.create_server(("", port))
    while True:
        listener.accept()[0].close()
for port in sys.argv[1:]:
    threading.Thread(target=serve, args=(int(port),)).start()
threading.Event().wait()
"""
_CONNECT: Final = """
import concurrent.futures, errno, json, socket, sys
def tried(address):
    try:
        socket.create_connection(tuple(address), float(sys.argv[1])).close()
        return "OPEN"
    except ConnectionRefusedError:
        return "CLOSED"
    except TimeoutError:
        return "SILENT"
    except OSError as error:
        if error.errno in (errno.EHOSTUNREACH, errno.EACCES):
            return "REFUSED"
        raise
addresses = json.loads(sys.argv[2])
with concurrent.futures.ThreadPoolExecutor(32) as pool:
    print(json.dumps(list(pool.map(tried, addresses))))
"""


class Outcome(Enum):
    """What becomes of a try to connect."""

    OPEN = "OPEN"
    CLOSED = "CLOSED"
    """It came through, and nothing listens."""
    REFUSED = "REFUSED"
    """A policy refused it."""
    SILENT = "SILENT"
    """No answer."""


Address = tuple[str, int]


@contextmanager
def enforcing() -> Iterator[Enforcer]:
    """While this lasts, the test-bed's network enforces policies; also for pods that come in the meantime."""
    with enforcer(require(default_paths())) as made:
        made.enforce()
        with Background(lambda: _again(made), PAUSE_S, _ROUND_S):
            yield made


def _again(made: Enforcer) -> None:
    made.enforce(look=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stranger:
    """A pod that listens on ports, and connects when it is asked to."""

    namespace: str
    name: str
    image: str
    labels: Mapping[str, str]
    ports: tuple[int, ...] = (8080,)
    names: Mapping[str, int] | None = None
    """Ports that have a name."""
    node: str = ""
    """Empty for the control plane, which no scenario takes down."""

    def start(self) -> None:
        """Create the pod; `wait` for it afterwards."""
        named = [{"name": name, "containerPort": port} for name, port in (self.names or {}).items()]
        container: Json = {
            "name": "stranger",
            "image": self.image,
            "imagePullPolicy": "IfNotPresent",
            "command": ["python", "-c", _LISTEN, *map(str, self.ports)],
            "ports": named,
            "readinessProbe": {"tcpSocket": {"port": self.ports[0]}, "periodSeconds": 1},
            "securityContext": CONTAINER_SECURITY,
        }
        spec: Json = {
            "containers": [container],
            "terminationGracePeriodSeconds": 0,
            "securityContext": POD_SECURITY,
            "tolerations": [{"key": _CONTROL_PLANE, "operator": "Exists"}],
            **({"nodeName": self.node} if self.node else {"nodeSelector": {_CONTROL_PLANE: ""}}),
        }
        metadata = {"name": self.name, "labels": dict(self.labels)}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        kubectl("-n", self.namespace, "create", "-f", "-", stdin=json.dumps(body))

    def wait(self) -> str:
        """Wait until it listens; returns its address."""
        where = ("-n", self.namespace)
        kubectl(*where, "wait", "--for=condition=Ready", f"pod/{self.name}", "--timeout=90s")
        return kubectl(*where, "get", "pod", self.name, "-o", "jsonpath={.status.podIP}").strip()

    def tries(self, addresses: Iterable[Address]) -> dict[Address, Outcome]:
        """Connect to each address."""
        return tried_in(self.namespace, self.name, "stranger", addresses)


def tried_in(namespace: str, pod: str, container: str, addresses: Iterable[Address]) -> dict[Address, Outcome]:
    """Connect to each address from a container that has Python."""
    wanted = list(addresses)
    command = ("python", "-c", _CONNECT, str(_TRY_S), json.dumps(wanted))
    text = kubectl("-n", namespace, "exec", pod, "-c", container, "--", *command)
    return dict(zip(wanted, map(Outcome, json.loads(text)), strict=True))


def tried_here(addresses: Iterable[Address]) -> dict[Address, Outcome]:
    """Connect to each address from this machine: from no pod, and from no node."""
    wanted = list(addresses)
    with ThreadPoolExecutor(len(wanted) or 1) as pool:
        return dict(zip(wanted, pool.map(_outcome, wanted), strict=True))


def _outcome(address: Address) -> Outcome:
    try:
        socket.create_connection(address, _TRY_S).close()
    except ConnectionRefusedError:
        return Outcome.CLOSED
    except TimeoutError:
        return Outcome.SILENT
    except OSError:
        return Outcome.REFUSED
    return Outcome.OPEN


def tried_with_bash(namespace: str, pod: str, container: str, address: Address) -> Outcome:
    """Connect to an address from a container that has no Python, but bash."""
    host, port = address
    script = f"LC_ALL=C timeout {_TRY_S:.0f} bash -c '< /dev/tcp/{host}/{port}'"
    code, _, errors = run("kubectl", "-n", namespace, "exec", pod, "-c", container, "--", "bash", "-c", script)
    words = {
        "No route to host": Outcome.REFUSED,
        "Permission denied": Outcome.REFUSED,
        "Connection refused": Outcome.CLOSED,
        "exit code 124": Outcome.SILENT,
    }
    found = [outcome for text, outcome in words.items() if text in errors]
    if code and not found:
        raise CommandFailed(f"bash in {namespace}/{pod} could not try {host}:{port}: {errors.strip()}")
    return found[0] if code else Outcome.OPEN
