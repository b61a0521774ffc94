"""Ports on loopback for the servers of tests."""

import os
import secrets
import socket
from typing import Final

HOST: Final = "127.0.0.1"
_PORTS: Final = range(20000, 32000)  # below the range from which the kernel takes ports for clients
_given: set[int] = set()
"""The ports that this process has given away: a server may not listen yet, or not at the moment."""


def free_port() -> int:
    """A loopback port at which no process listens, and that no other server of this run gets.

    The seeded generator of a test would draw the ports of the test before again.
    """
    for port in secrets.SystemRandom().sample(_own_ports(), k=1000):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            if port not in _given:
                _given.add(port)
                return port
    raise RuntimeError("no free port on loopback in a thousand attempts")


def _own_ports() -> range:
    """The ports of this process: pytest's workers share none, because none sees which ports another one has given."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    return _PORTS[int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) :: workers]
