"""Kubernetes nodes that die, or are cut off: given up only when Kubernetes and the quorum agree for long enough.

The operator runs on none of them. A client writes throughout.
"""

import time

import pytest

from harness import nodes, operator
from harness.quorum import Quorum
from harness.shell import Json, holds_for, wait_until
from scenarios.conftest import Write
from scenarios.expectations import assert_nothing_lost, assert_one_quorum, assert_untouched

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(480)]

ALL = {3000, 3001, 3002}
CONTROL_PLANE = "testbed-control-plane"


def given_up_after(seconds: int) -> Json:
    """The part of a spec with the time after which a node is lost."""
    return {"controllers": {"replacement": {"lostNodeAfterSeconds": seconds}}}


def a_controller(quorum: Quorum, *, active: bool = True) -> tuple[int, str]:
    """A controller and its node, on which no operator runs: the active one, or with `active=False` another."""
    serving = {pod["spec"].get("nodeName") for pod in operator.pods()}
    answer = wait_until("a leader answers", quorum.describe, 60)
    found = {node_id: pod["spec"]["nodeName"] for node_id, pod in quorum.pods().items()}
    ordered = sorted(found, key=lambda node_id: ((node_id == answer.leader_id) is not active, node_id))
    return next((node_id, found[node_id]) for node_id in ordered if found[node_id] not in serving)


def test_a_node_killed_for_good(quorum: Quorum, writing: Write) -> None:
    """Its controller runs elsewhere under its id on a new disk; the old claim is released after its key is removed.

    When the node returns, the old controller is not accepted: the new replica stays the only one of its id.
    """
    quorum.apply(given_up_after(30))
    quorum.wait_ready()
    node_id, node = a_controller(quorum)
    writer, before, old = writing(quorum), quorum.running(), quorum.controller(node_id)
    lost = f"{node_id}-{old['directoryID']}"
    began_s = time.monotonic()
    with nodes.powered_off(node):
        condition = quorum.wait_condition("Degraded", "True", "LostNode")
        assert all(name in condition["message"] for name in (str(node_id), node))
        assert quorum.condition("Available")["status"] == "True"
        wait_until("the lost key is no voter", lambda: quorum.voters() and lost not in quorum.voters(), 150)
        quorum.wait_ready(150)
        print(f"{time.monotonic() - began_s:.1f} s from the node's end to Ready")
        new = quorum.controller(node_id)
        assert new["nodeName"] != node
        assert new["claimName"] != old["claimName"]
        assert quorum.voters() == {f"{row['nodeID']}-{row['directoryID']}" for row in quorum.status()["controllers"]}
        assert_untouched(quorum, before, ALL - {node_id})
        wait_until("the old claim is released", lambda: old["claimName"] not in quorum.claims(), 90)
        assert_story(quorum, old["claimName"], lost)
        assert_nothing_lost(writer, began_s)
        voters, running = quorum.voters(), quorum.running()
    holds_for("the zombie stays out", lambda: quorum.voters() == voters and quorum.running() == running, 15)
    assert_one_quorum(quorum, initial=ALL, voters=ALL)


def assert_story(quorum: Quorum, claim: str, lost: str) -> None:
    """The order of the events: given up, key removed, the new one added, claim released."""
    events = quorum.events()
    marks = (
        ("NodeLost", ""),
        ("RemoveRaftVoter", lost),
        ("AddRaftVoter", ""),
        ("ClaimReleased", claim),
    )
    places = [
        next(place for place, (why, note) in enumerate(events) if why == reason and part in note)
        for reason, part in marks
    ]
    assert places == sorted(places), [events[place] for place in places]


def test_a_dead_node_takes_one_voter_until_it_is_back(ready: Quorum, writing: Write) -> None:
    """A node that returns in time is reported and not replaced: its voter is the old one."""
    node_id, node = a_controller(ready)
    writer, before, voters, record = writing(ready), ready.running(), ready.voters(), ready.record()
    with nodes.powered_off(node):
        condition = ready.wait_condition("Degraded", "True", "LostNode")
        assert "600" in condition["message"]
        assert ready.wait_condition("Available", "True")["status"] == "True"
        assert ready.record()["nodes"] == record["nodes"]
    ready.wait_ready(180)
    assert ready.voters() == voters
    assert_untouched(ready, before, ALL - {node_id})
    assert_one_quorum(ready, initial=ALL, voters=ALL)
    assert_nothing_lost(writer)


def test_a_partitioned_node_that_heals_in_time(ready: Quorum, writing: Write) -> None:
    """A cut-off node that is reachable again in time is reported and not replaced, and no pod is changed."""
    _, node = a_controller(ready)
    writer, before, voters = writing(ready), ready.running(), ready.voters()
    with nodes.partitioned(node):
        ready.wait_condition("Degraded", "True", "LostNode")
        assert ready.condition("Available")["status"] == "True"
        assert ready.voters() == voters
    ready.wait_ready(180)
    assert ready.voters() == voters
    assert_untouched(ready, before, ALL)
    assert_one_quorum(ready, initial=ALL, voters=ALL)
    assert_nothing_lost(writer)


def test_a_node_that_only_kubernetes_misses(quorum: Quorum, writing: Write) -> None:
    """A node that only the API server misses is not lost, because its controller still fetches."""
    quorum.apply(given_up_after(10))
    quorum.wait_ready()
    _, node = a_controller(quorum, active=False)  # the partition also cuts off the writer's broker
    writer, before, voters = writing(quorum), quorum.running(), quorum.voters()
    with nodes.partitioned(node, CONTROL_PLANE):
        wait_until("Kubernetes misses the node", lambda: not nodes.is_ready(node), 60)
        holds_for(
            "nothing is replaced", lambda: quorum.voters() == voters and not quorum.pods("formatter"), 30, poll_s=1.0
        )
        assert quorum.record()["phase"] == "Started"
    wait_until("Kubernetes has the node again", lambda: nodes.is_ready(node), 60)
    quorum.wait_ready(180)
    assert quorum.voters() == voters
    assert_untouched(quorum, before, ALL)
    assert_nothing_lost(writer)
