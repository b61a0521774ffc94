"""Kafka's own metrics by choice: an ordinary roll brings them, they are true, and another one takes them away."""

import re
import time
import urllib.request

import pytest
from tests.metrics_page import table

from harness.quorum import Quorum
from harness.shell import Json, kubectl, wait_until
from harness.watching import Watching
from scenarios.expectations import assert_one_quorum
from scenarios.rolls import ROLL_TIMEOUT_S, assert_one_by_one
from scenarios.test_scaling import ALL

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

PORT = 9404
RELEASE = "4.4.0"
_SAMPLE = re.compile(r"([a-z_]+)(?:\{[^}]*\})? (\S+)")
_SCRAPE_TIMEOUT_S = 10.0


def scrape(pod: Json) -> tuple[dict[str, float], str]:
    """What a controller shows at the port of its metrics, by name; and the page."""
    url = f"http://{pod['status']['podIP']}:{PORT}/metrics"
    page = urllib.request.urlopen(url, timeout=_SCRAPE_TIMEOUT_S).read().decode()
    lines = (line for line in page.splitlines() if not line.startswith("#"))
    return {found[1]: float(found[2]) for line in lines if (found := _SAMPLE.fullmatch(line))}, page


def ports(pod: Json) -> list[str]:
    """The names of the ports of Kafka's container."""
    return [port["name"] for port in pod["spec"]["containers"][0]["ports"]]


def assert_true(quorum: Quorum) -> None:
    """Each controller shows exactly the metrics of the page for its role; leader, epoch and voters are the status's."""
    answer = quorum.describe()
    assert answer is not None
    leader = quorum.status()["quorum"]["leaderID"]
    assert leader == answer.leader_id
    for node_id, pod in quorum.pods().items():
        found, page = scrape(pod)
        leads = node_id == leader
        assert {name for name in found if name.startswith("kafka_")} == {
            row.name for row in table() if row.on(RELEASE, leader=leads)
        }
        assert found["kafka_raft_current_leader"] == leader
        assert found["kafka_raft_current_epoch"] == answer.leader_epoch
        assert found["kafka_raft_number_of_voters"] == len(ALL)
        assert found["kafka_controller_active"] == leads
        assert f'kafka_raft_current_state{{state="{"leader" if leads else "follower"}"}} 1.0' in page


def test_metrics_by_choice(ready: Quorum) -> None:
    """Metrics are switched on and off by one safe roll each; they are true, and Kafka's tools still run beside them."""
    assert [ports(pod) for pod in ready.pods().values()] == [["controller"]] * 3
    with Watching(ready) as watching:
        for jmx, names in ((True, ["controller", "jmx"]), (False, ["controller"])):
            began_s = time.monotonic()
            ready.patch({"metrics": {"jmx": jmx}})
            ready.wait_ready(ROLL_TIMEOUT_S)
            assert_one_by_one(watching, began_s, ALL)
            assert len(watching.changes(began_s)) <= 1
            assert [ports(pod) for pod in ready.pods().values()] == [names] * 3
            if jmx:
                wait_until("the metrics are true", lambda: _is_true(ready), 60)
                assert_true(ready)
                pod = next(iter(ready.pods().values()))["metadata"]["name"]
                tool = ("/opt/kafka/bin/kafka-storage.sh", "random-uuid")
                made = kubectl("-n", ready.namespace, "exec", pod, "-c", "kafka", "--", *tool, timeout_s=60)
                assert re.search(r"^[\w-]{22}$", made, flags=re.MULTILINE)
    assert_one_quorum(ready, initial=ALL, voters=ALL)


def _is_true(quorum: Quorum) -> bool:
    """Whether the metrics are true; after a roll the status and the pages may be a moment apart."""
    try:
        assert_true(quorum)
    except (AssertionError, OSError, KeyError):
        return False
    return True
