"""The history in the chart: installed with the operator, with observations to read, and its served page."""

import http.client
import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from demo import NAMESPACE, RELEASE, helm_upgrade
from harness import operator
from harness.nodes import on_node, volume_of
from harness.quorum import Quorum
from harness.shell import kubectl, run, succeed, wait_until
from testbed.config import PROJECT

NAME = f"{RELEASE}-history"
CLAIMS = PROJECT / "e2e" / "examples" / "history-claims.yaml"
WHERE = ("-n", NAMESPACE)
_LOOKS_TIMEOUT_S = 240.0  # a line a minute, and some more until the quorum is ready
_LOOKS = 2


@contextmanager
def installed(operator_image: str, history_image: str) -> Iterator[None]:
    """While this lasts, the operator writes observations to a claim, and the history runs, too."""
    repository, _, tag = history_image.rpartition(":")
    values = {
        "replicas": "1",
        "observations.volume.persistentVolumeClaim.claimName": "observations",
        "observations.fileSeconds": "5",
        "history.enabled": "true",
        "history.server": "true",
        "history.schedule": "0 0 1 1 *",  # scenarios start the runs themselves
        "history.volume.persistentVolumeClaim.claimName": "history",
        "history.image.repository": repository,
        "history.image.tag": tag,
    }
    kubectl(*WHERE, "apply", "-f", str(CLAIMS))
    try:
        options = [word for key, value in values.items() for word in ("--set", f"{key}={value}")]
        succeed(*helm_upgrade(operator_image), *options, timeout_s=300)
        yield
    finally:
        operator.install(operator_image)
        # To the end: the next scenario uses claims of the same names, and not those in deletion.
        run("kubectl", *WHERE, "delete", "-f", str(CLAIMS), "--timeout=2m", timeout_s=150)


def wait_observed(quorum: Quorum) -> None:
    """Wait until the operator has written about a quorum with a leader."""
    node, path = volume_of(NAMESPACE, "observations")

    def written() -> bool:
        text = on_node(node, "sh", "-c", f"cat {path}/observations-*.jsonl 2> /dev/null || true")
        lines = (json.loads(line) for line in text.splitlines())
        ours = [line for line in lines if line["namespace"] == quorum.namespace and line["quorum"]]
        led = [line for line in ours if line["quorum"]["leaderID"] >= 0]
        return len(led) >= _LOOKS

    wait_until("the operator has written looks at a quorum with a leader", written, _LOOKS_TIMEOUT_S, 2.0)


@contextmanager
def forwarded() -> Iterator[int]:
    """While this lasts, a port of this machine leads to the server of the page."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = ["kubectl", *WHERE, "port-forward", f"deployment/{NAME}", f"{port}:8080"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield port
        finally:
            process.terminate()
            print(process.communicate()[1])


def fetched(port: int) -> str:
    """The page at a port; empty while no server answers there, or while no page exists."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", "/index.html")
        answer = connection.getresponse()
        text = answer.read().decode()
    except (OSError, http.client.HTTPException):
        return ""
    finally:
        connection.close()
    return text if answer.status == http.client.OK else ""
