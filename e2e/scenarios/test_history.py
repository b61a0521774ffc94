"""From the chart to the page: observations on a volume, a run of the CronJob, and what a browser gets."""

import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from demo import NAMESPACE, RELEASE, helm_upgrade
from harness import operator
from harness.nodes import on_node, volume_of
from harness.quorum import Quorum
from harness.shell import get, kubectl, run, succeed, wait_until
from testbed.config import PROJECT, SOURCE

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(3600)]

NAME = f"{RELEASE}-history"
CLAIMS = PROJECT / "e2e" / "examples" / "history-claims.yaml"
WHERE = ("-n", NAMESPACE)
_IMAGE_TIMEOUT_S = 2400.0
_RUN_TIMEOUT_S = 600.0
_LOOKS_TIMEOUT_S = 240.0  # a line a minute, and some more while the quorum comes to be
_SERVER_TIMEOUT_S = 60.0
_LOOKS = 2


@pytest.fixture(scope="session")
def history_image() -> str:
    """The history's image as the checkout has it, on every worker."""
    return succeed(sys.executable, str(SOURCE), "history-image", timeout_s=_IMAGE_TIMEOUT_S).strip()


@pytest.fixture
def scheduled(serving: str, history_image: str) -> Iterator[None]:
    """The operator with observations on a claim and the history beside it; afterwards as it was."""
    repository, _, tag = history_image.rpartition(":")
    values = {
        "replicas": "1",
        "observations.volume.persistentVolumeClaim.claimName": "observations",
        "observations.fileSeconds": "5",
        "history.enabled": "true",
        "history.server": "true",
        "history.schedule": "0 0 1 1 *",  # the scenario begins the runs itself
        "history.volume.persistentVolumeClaim.claimName": "history",
        "history.image.repository": repository,
        "history.image.tag": tag,
    }
    kubectl(*WHERE, "apply", "-f", str(CLAIMS))
    try:
        options = [word for key, value in values.items() for word in ("--set", f"{key}={value}")]
        succeed(*helm_upgrade(serving), *options, timeout_s=300)
        yield
    finally:
        operator.install(serving)
        run("kubectl", *WHERE, "delete", "-f", str(CLAIMS), "--wait=false")


@pytest.fixture
def observed(scheduled: None, quorum: Quorum) -> Quorum:  # noqa: ARG001 - an order, not a value
    """A ready quorum of three that the operator has written about."""
    quorum.apply()
    quorum.wait_ready()
    node, path = volume_of(NAMESPACE, "observations")

    def written() -> bool:
        text = on_node(node, "sh", "-c", f"cat {path}/observations-*.jsonl 2> /dev/null || true")
        lines = (json.loads(line) for line in text.splitlines())
        ours = [line for line in lines if line["namespace"] == quorum.namespace and line["quorum"]]
        led = [line for line in ours if line["quorum"]["leaderID"] >= 0]
        return len(led) >= _LOOKS

    wait_until("the operator has written looks at a quorum with a leader", written, _LOOKS_TIMEOUT_S, 2.0)
    return quorum


def run_now(name: str) -> str:
    """A run, begun as a person would; returns its log when it has succeeded."""
    kubectl(*WHERE, "create", "job", name, f"--from=cronjob/{NAME}")
    try:

        def ended() -> str:
            conditions = get(NAMESPACE, "job", name).get("status", {}).get("conditions", [])
            kinds = {row["type"]: row for row in conditions if row["status"] == "True"}
            assert "Failed" not in kinds, f"{kinds}\n{log_of(name)}"
            return "Complete" if "Complete" in kinds else ""

        wait_until(f"the job {name} has succeeded", ended, _RUN_TIMEOUT_S, 2.0)
        return log_of(name)
    finally:
        run("kubectl", *WHERE, "delete", "job", name, "--wait=false")


def log_of(job: str) -> str:
    """What its pods said."""
    _, output, errors = run("kubectl", *WHERE, "logs", "-l", f"job-name={job}", "--tail=100")
    _, pods, _ = run("kubectl", *WHERE, "describe", "pods", "-l", f"job-name={job}")
    return f"{output}{errors}" if output else f"{errors}{pods}"


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
    """The page at a port; empty while nothing answers there, or while there is no page yet."""
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


def made_at(page: str) -> str:
    """When a page says that it was made, to the minute."""
    return page.partition("Made ")[2].partition(" UTC")[0]


def test_from_the_chart_to_the_page(observed: Quorum) -> None:
    """A run reads what the operator wrote and makes the page, which a port-forward shows; the next run renews it."""
    name = f"{observed.namespace}/{observed.name}"
    said = run_now("history-first")
    assert "new observations:" in said, said
    with forwarded() as port:
        page = wait_until("the page is served", lambda: fetched(port), _SERVER_TIMEOUT_S, 1.0)
        assert name in page
        assert "Observations until" in page
        time.sleep(max(0.0, 61.0 - time.time() % 60))  # pages name the minute
        run_now("history-second")
        renewed = wait_until("the page is served again", lambda: fetched(port), _SERVER_TIMEOUT_S, 1.0)
        assert name in renewed
        assert made_at(renewed) > made_at(page)
    restricted = "pod-security.kubernetes.io/enforce=restricted"
    _, _, warned = run("kubectl", "label", "--dry-run=server", "--overwrite", "namespace", NAMESPACE, restricted)
    assert NAME not in warned
