"""The shipped alerts in a real Prometheus: each failure fires exactly its own, and what heals by itself fires none.

The times of docs/alerts.md are those that these scenarios print. `RECORD_ALERTS=1` writes the series of each one into
tests/alerts/recorded, where promtool evaluates the rules over them again.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from harness import nodes, operator
from harness.alerting import INTERVAL_S, Alerting, alerting
from harness.quorum import Quorum, merged
from harness.shell import Json, holds_for, wait_until
from scenarios.failures import refused_by_the_server
from scenarios.test_lost_nodes import a_controller
from scenarios.test_releases import NEW, OLD, release
from scenarios.test_scaling import ALL, leader
from scenarios.test_trust_issuers import given
from scenarios.test_wiped_disk import lose_disk, wait_cured
from scenarios.test_words import annotate

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(900)]

JMX: Json = {"metrics": {"jmx": True}}
ROLLED_TIMEOUT_S = 300.0
_AFTERWARDS_S = 30.0
"""How long after a change that fires nothing is still watched: some evaluations."""


@pytest.fixture
def watched(quorum: Quorum) -> Iterator[Alerting]:
    """The alerts about a ready quorum of three, with Kafka's own metrics."""
    quorum.apply(JMX)
    quorum.wait_ready()
    with alerting(quorum.namespace) as found:
        yield found


def assert_fired(watched: Alerting, *alerts: str) -> None:
    """These alerts have fired since the begin, and no other one."""
    assert set(watched.fired()) == set(alerts)


def assert_silent_for_a_while(watched: Alerting) -> None:
    """Nothing has fired, and nothing fires in the next evaluations."""
    holds_for("no alert fires", lambda: not watched.firing(), _AFTERWARDS_S, poll_s=INTERVAL_S)
    assert_fired(watched)


def test_a_lost_disk_is_told_once(watched: Alerting, quorum: Quorum) -> None:
    """A disk that is lost, and that the operator replaces, fires `KafkaQuorumDiskReplaced` and nothing else."""
    began_s = time.time()
    lost = lose_disk(quorum, min(ALL - {leader(quorum)}))
    watched.wait_firing("KafkaQuorumDiskReplaced", began_s, 90)
    wait_cured(quorum, lost)
    holds_for("no other alert fires", lambda: len(watched.firing()) == 1, _AFTERWARDS_S, poll_s=INTERVAL_S)
    assert_fired(watched, "KafkaQuorumDiskReplaced")
    watched.record("lost-disk")


def test_a_killed_pod_and_a_restart_of_everything(watched: Alerting, quorum: Quorum) -> None:
    """The pod of the leader that is deleted, and a restart of every controller, fire nothing."""
    quorum.delete_pod(quorum.controller(leader(quorum))["podName"])
    quorum.wait_ready()
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    annotate(quorum, f"kafkaquorum.io/restartedAt={stamp}")
    wait_until("all restarted", lambda: quorum.status().get("restartedAt") == stamp, ROLLED_TIMEOUT_S)
    quorum.wait_ready()
    assert_silent_for_a_while(watched)
    watched.record("healthy-restart")


def test_a_lost_majority(watched: Alerting, quorum: Quorum) -> None:
    """Two of three controllers that are frozen fire the alerts about the leader, and nothing else."""
    pods, spared = quorum.pods(), min(ALL - {leader(quorum)})
    with ExitStack() as stack:
        began_s = time.time()
        for node_id in ALL - {spared}:
            stack.enter_context(nodes.frozen(pods[node_id]))
        watched.wait_firing("KafkaQuorumNoLeader", began_s, 180)
        watched.wait_firing("KafkaQuorumNoActiveController", began_s, 240)
        both = {"KafkaQuorumNoLeader", "KafkaQuorumNoActiveController"}
        # A recording has a value every 15 s: the failure lasts longer than that.
        holds_for("both fire", lambda: watched.firing() == both, 2 * _AFTERWARDS_S, poll_s=INTERVAL_S)
    quorum.wait_ready()
    assert_fired(watched, *both)
    wait_until("nothing fires any more", lambda: not watched.firing(), 60)
    watched.record("lost-majority")


def test_a_roll_of_a_release(quorum: Quorum, older_kafka: None) -> None:  # noqa: ARG001 - an order, not a value
    """A healthy roll to a new release, with its feature levels, fires nothing."""
    quorum.apply({**release(OLD), **JMX})
    quorum.wait_ready()
    with alerting(quorum.namespace) as watched:
        quorum.patch(release(NEW))
        wait_until("it is rolling", lambda: quorum.condition("Ready")["status"] == "False", 60)
        quorum.wait_ready(ROLLED_TIMEOUT_S)
        assert_silent_for_a_while(watched)
        watched.record("healthy-release")


def test_a_lost_node(watched: Alerting, quorum: Quorum) -> None:
    """A Kubernetes node without power fires that a node is lost, and then that no failure is tolerated any more."""
    _, node = a_controller(quorum, active=False)
    began_s = time.time()
    with nodes.powered_off(node):
        watched.wait_firing("KafkaQuorumNodeLost", began_s, 240)
        watched.wait_firing("KafkaQuorumToleratesNoFailure", began_s, 420)
        holds_for("both fire", lambda: len(watched.firing()) == 2, 2 * _AFTERWARDS_S, poll_s=INTERVAL_S)
    quorum.wait_ready()
    assert_fired(watched, "KafkaQuorumNodeLost", "KafkaQuorumToleratesNoFailure")
    watched.record("lost-node")


def test_no_operator(watched: Alerting, quorum: Quorum) -> None:  # noqa: ARG001 - what it watches
    """An operator that is scaled to zero fires exactly that no operator is scraped."""
    began_s = time.time()
    operator.stop()
    try:
        watched.wait_firing("KafkaQuorumOperatorAbsent", began_s, 420)
        holds_for("it fires", lambda: len(watched.firing()) == 1, 2 * _AFTERWARDS_S, poll_s=INTERVAL_S)
    finally:
        operator.start()
    wait_until("nothing fires any more", lambda: not watched.firing(), 90)
    assert_fired(watched, "KafkaQuorumOperatorAbsent")
    watched.record("no-operator")


def test_a_held_roll(watched: Alerting, quorum: Quorum) -> None:
    """A roll whose pods the API server refuses fires exactly that it is held."""
    began_s = time.time()
    with refused_by_the_server(quorum):
        watched.wait_firing("KafkaQuorumRollHeld", began_s, 420)
        holds_for("it fires", lambda: len(watched.firing()) == 1, 2 * _AFTERWARDS_S, poll_s=INTERVAL_S)
    quorum.wait_ready()
    assert_fired(watched, "KafkaQuorumRollHeld")
    watched.record("held-roll")


def test_a_certificate_near_its_end(quorum: Quorum, tmp_path: Path) -> None:
    """Given certificates with ten hours of their two days left fire that they end soon, and no other alert.

    The authority's certificate, of the same life and just made, fires nothing.
    """
    quorum.apply(merged(given(quorum, tmp_path, begun_h_ago=38.0), JMX))
    began_s = time.time()
    quorum.wait_ready()
    with alerting(quorum.namespace) as watched:
        watched.wait_firing("KafkaQuorumCertificateEndsSoon", began_s, 420)
        holds_for("it fires", lambda: len(watched.firing()) == 1, 2 * _AFTERWARDS_S, poll_s=INTERVAL_S)
        assert_fired(watched, "KafkaQuorumCertificateEndsSoon")
        watched.record("certificate-ends")
