"""Changes of a spec: carried out, corrected, or held with a report."""

import time

import pytest

from harness.quorum import Quorum
from harness.shell import Json, holds_for, kubectl, wait_until
from harness.watching import Watching
from scenarios.expectations import assert_one_quorum
from scenarios.rolls import ROLL_TIMEOUT_S, assert_one_by_one

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(300)]

ALL = {3000, 3001, 3002}


def test_more_replicas_join_one_by_one(ready: Quorum) -> None:
    """From three to four to five controllers no old one restarts, and the condition warns only at four."""
    running = ready.running()
    for count, odd in ((4, "False"), (5, "True")):
        kubectl("-n", ready.namespace, "scale", "kq", ready.name, f"--replicas={count}")
        ready.wait_ready()
        assert len(ready.voters()) == count
        assert ready.condition("OddVoterCount")["status"] == odd
    assert {key: row for key, row in ready.running().items() if key in ALL} == running
    assert [reason for reason, _ in ready.events()].count("AddRaftVoter") == 2
    assert_one_quorum(ready, initial=ALL, voters=ALL | {3003, 3004})


def test_an_even_number_says_what_it_costs(quorum: Quorum) -> None:
    """Four controllers are allowed, and a condition reports that they tolerate no more losses than three do."""
    quorum.apply({"controllers": {"replicas": 4}})
    quorum.wait_ready(150)
    condition = quorum.condition("OddVoterCount")
    assert (condition["status"], condition["reason"]) == ("False", "Even")
    assert_one_quorum(quorum, initial=ALL | {3003}, voters=ALL | {3003})


@pytest.mark.parametrize(
    ("wrong", "right", "reason"),
    [
        pytest.param({"kafka": {"image": "testbed/kafka:4.4.O"}}, {"kafka": {"image": ""}}, "PodStuck", id="image"),
        pytest.param(
            {"controllers": {"jvm": {"options": ["-XX:NoSuchOption"]}}},
            {"controllers": {"jvm": {"options": []}}},
            None,
            id="jvm",
        ),
        pytest.param(
            {"kafka": {"config": {"metadata.log.segment.bytes": "none"}}},
            {"kafka": {"config": {"metadata.log.segment.bytes": None}}},
            None,
            id="config",
        ),
        pytest.param(
            {"controllers": {"jvm": {"heap": "900Gi"}}}, {"controllers": {"jvm": {"heap": "128Mi"}}}, None, id="heap"
        ),
    ],
)
def test_pods_that_cannot_start_are_corrected(wrong: Json, right: Json, reason: str | None, quorum: Quorum) -> None:
    """A spec with which no pod starts is reported, and after its correction the pods are replaced without help."""
    quorum.apply(wrong)
    condition = quorum.wait_condition("Degraded", "True", reason)
    print(condition["reason"], condition["message"])
    cluster = quorum.record()["cluster_id"]
    quorum.patch(right)
    quorum.wait_ready(150)
    assert quorum.record()["cluster_id"] == cluster
    assert_one_quorum(quorum, initial=ALL, voters=ALL)


def test_a_paused_quorum_is_left_alone(ready: Quorum) -> None:
    """A pod that is deleted during a pause is not created again, with a reason in the status; after the pause it is."""
    ready.patch({"paused": True})
    ready.wait_condition("Progressing", "False", "Paused")
    ready.delete_pod(ready.pods()[3000]["metadata"]["name"])
    ready.wait_condition("Ready", "False")
    holds_for("no pod is made", lambda: 3000 not in ready.pods(), 8)
    condition = ready.condition("Progressing")
    assert condition["reason"] == "Paused"
    assert "spec.paused" in condition["message"]
    ready.patch({"paused": False})
    wait_until("the pod is made again", lambda: 3000 in ready.pods(), 60)
    ready.wait_ready()


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        pytest.param({"kafka": {"config": {"num.io.threads": "9"}}}, "num.io.threads=9", id="config"),
        pytest.param({"controllers": {"jvm": {"options": ["-Dchanged=yes"]}}}, "-Dchanged=yes", id="jvm"),
        pytest.param(
            {"controllers": {"template": {"metadata": {"labels": {"changed": "yes"}}}}},
            "'changed': 'yes'",
            id="template",
        ),
    ],
)
def test_what_takes_a_restart_is_one_roll(change: Json, seen: str, ready: Quorum) -> None:
    """Settings, options and template reach every controller, one after the other, with at most one leader change."""
    with Watching(ready) as watching:
        began_s = time.monotonic()
        ready.patch(change)
        ready.wait_ready(ROLL_TIMEOUT_S)
        assert_one_by_one(watching, began_s, ALL)
        assert len([one for one in watching.changes(began_s) if one.stopped]) <= 1
    properties = ready.properties()
    for node_id, pod in ready.pods().items():
        assert seen in properties[node_id] + str(pod)
    assert_one_quorum(ready, initial=ALL, voters=ALL)


def test_an_invalid_spec_blocks_changes_and_not_repair(ready: Quorum) -> None:
    """A setting that only the operator refuses is named by field; a pod that is lost meanwhile is replaced."""
    ready.patch({"kafka": {"config": {"controller.quorum.fetch.timeout.ms": "2s"}}})
    condition = ready.wait_condition("SpecAccepted", "False", "InvalidSpec")
    assert "controller.quorum.fetch.timeout.ms" in condition["message"]
    before = ready.running()
    ready.delete_pod(ready.pods()[3001]["metadata"]["name"])
    wait_until("the pod is made again", lambda: ready.running().get(3001, before[3001])[0] != before[3001][0], 90)
    ready.wait_condition("Available", "True")
    ready.patch({"kafka": {"config": {"controller.quorum.fetch.timeout.ms": None}}})
    ready.wait_ready()
    assert_one_quorum(ready, initial=ALL, voters=ALL)
