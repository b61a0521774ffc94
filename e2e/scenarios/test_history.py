"""From the chart to the page: observations on a volume, a run of the CronJob, and the page for a browser."""

import time

import pytest

from demo import NAMESPACE
from harness.history import NAME, WHERE, fetched, forwarded
from harness.quorum import Quorum
from harness.shell import get, kubectl, run, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(3600)]

_RUN_TIMEOUT_S = 600.0
_SERVER_TIMEOUT_S = 60.0


def run_now(name: str) -> str:
    """Start a run like a person; returns its log when it has succeeded."""
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
    """The log of its pods."""
    _, output, errors = run("kubectl", *WHERE, "logs", "-l", f"job-name={job}", "--tail=100")
    _, pods, _ = run("kubectl", *WHERE, "describe", "pods", "-l", f"job-name={job}")
    return f"{output}{errors}" if output else f"{errors}{pods}"


def made_at(page: str) -> str:
    """The minute at which a page was made, from its text."""
    return page.partition("Made ")[2].partition(" UTC")[0]


def test_from_the_chart_to_the_page(observed: Quorum) -> None:
    """A run reads the observations and makes the page, which a port-forward shows; the next run renews it."""
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
