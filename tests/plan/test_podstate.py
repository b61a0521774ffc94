"""The state of a pod that does not run, and which pods cannot start without a change."""

from typing import Any

import pytest
from tests.golden.facts import facts
from tests.model.values import node, pod, running

from kafka_quorum.model.plan import Severity
from kafka_quorum.model.pods import STUCK, Terminated, Waiting
from kafka_quorum.plan.facts.podstate import is_stuck, unreadable_disk, waiting_pod


def ended(exit_code: int) -> Terminated:
    """A container that ended."""
    return Terminated(exit_code=exit_code, reason="", message="", finished_at="")


def waiting(reason: str) -> Waiting:
    """A container that waits."""
    return Waiting(reason=reason, message="", last_exit=None)


@pytest.mark.parametrize(
    ("changes", "stuck"),
    [
        ({}, False),
        ({"container": waiting("ContainerCreating")}, False),
        ({"container": waiting("PodInitializing")}, False),
        ({"container": waiting("")}, False),
        ({"container": waiting(""), "unschedulable": "0/3 nodes"}, True),
        *(({"container": waiting(reason)}, True) for reason in sorted(STUCK)),
        ({"container": ended(1)}, True),
        ({"container": ended(0)}, False),
        ({"container": ended(1), "deleting": True}, False),
    ],
)
def test_stuck(changes: dict[str, Any], *, stuck: bool) -> None:
    """A pod is stuck if kubelet or scheduler cannot start it without a change."""
    assert is_stuck(pod(running(), node(running(), 3000), **changes)) is stuck


def test_unschedulable_first() -> None:
    """The scheduler's reason has priority over the kubelet's."""
    wait = waiting_pod(pod(running(), node(running(), 3000), unschedulable="no room"), "", "", otherwise="Starting")
    assert (wait.reason, wait.severity, wait.node_id) == ("PodUnschedulable", Severity.DEGRADED, 3000)


@pytest.mark.parametrize(("message", "said"), [("", "(ErrImagePull)"), ("no such tag", "(ErrImagePull: no such tag)")])
def test_stuck_in_words(message: str, said: str) -> None:
    """A pod that the kubelet cannot start is reported with its controller and the kubelet's words, if there are any."""
    wait = waiting_pod(pod(running(), node(running(), 3000)), "ErrImagePull", message, otherwise="Starting")
    assert (wait.reason, wait.severity, wait.node_id) == ("PodStuck", Severity.DEGRADED, 3000)
    assert said in wait.message


def test_an_init_container_of_others_in_words() -> None:
    """A pod that waits for an init container of somebody else is stuck, and the container is named."""
    held = Waiting(reason="CrashLoopBackOff", message="back-off 5m", last_exit=None, init="istio-init")
    one = pod(running(), node(running(), 3000), container=held)
    wait = waiting_pod(one, held.reason, held.message, otherwise="Starting")
    assert is_stuck(one)
    assert (wait.reason, wait.severity) == ("PodStuck", Severity.DEGRADED)
    assert "its init container istio-init fails (CrashLoopBackOff: back-off 5m)" in wait.message


@pytest.mark.parametrize("reason", ["ContainerCreating", ""])
def test_on_its_way(reason: str) -> None:
    """A pod that is starting is progress, under the reason that the caller gives."""
    wait = waiting_pod(pod(running(), node(running(), 3000)), reason, "", otherwise="Formatting")
    assert (wait.reason, wait.severity, wait.node_id) == ("Formatting", Severity.PROGRESS, 3000)
    assert reason in wait.message


def test_unreadable_disk() -> None:
    """A disk that cannot be read is reported with its controller, its pod and the script's words."""
    of = node(running(), 3001)
    wait = unreadable_disk(of, pod(running(), of), "sh: 5: I/O error")
    assert (wait.reason, wait.severity, wait.node_id) == ("DiskUnreadable", Severity.DEGRADED, 3001)
    assert facts(wait.message) == facts("alpha-3001-g1", 3001, 5)
