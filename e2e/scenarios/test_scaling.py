"""Controllers are added and removed while a client writes: one change at a time, no staying controller restarts."""

import time

import pytest

from harness.quorum import Quorum
from harness.shell import Json, holds_for, kubectl, wait_until
from scenarios.conftest import Write
from scenarios.expectations import assert_nothing_lost, assert_one_quorum, assert_removed, assert_untouched

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(420)]

ALL = {3000, 3001, 3002}
FIVE = ALL | {3003, 3004}
_STEP_TIMEOUT_S = 180.0


def scale(quorum: Quorum, count: int) -> None:
    """Scale like a person."""
    kubectl("-n", quorum.namespace, "scale", "kq", quorum.name, f"--replicas={count}")


def exactly(node_ids: set[int]) -> Json:
    """The part of a spec that names the controllers."""
    return {"controllers": {"replicas": len(node_ids), "nodeIDs": sorted(node_ids)}}


def leader(quorum: Quorum) -> int:
    """The node id of the active controller."""
    answer = wait_until("a leader answers", quorum.describe, 60)
    return int(answer.leader_id)


def test_three_to_five_to_three_without_the_active_controller(ready: Quorum, writing: Write) -> None:
    """Two controllers are added, two others removed, the active one last; its successor is one that stays."""
    running, writer = ready.running(), writing(ready)
    scale(ready, 5)
    ready.wait_ready(_STEP_TIMEOUT_S)
    assert_untouched(ready, running, ALL)
    running, active = ready.running(), leader(ready)
    staying = {*sorted(FIVE - {active})[1:]}
    began_s = time.monotonic()
    ready.patch(exactly(staying))
    ready.wait_ready(_STEP_TIMEOUT_S)
    assert leader(ready) in staying
    assert_untouched(ready, running, staying)
    assert_removed(ready, FIVE - staying)
    assert_one_quorum(ready, initial=ALL, voters=staying)
    removed = [note for reason, note in ready.events() if reason == "RemoveRaftVoter"]
    assert len(removed) == 2
    assert f"voter {active}-" in removed[-1]
    assert_nothing_lost(writer, began_s)


@pytest.mark.full
@pytest.mark.timeout(900)
def test_from_one_to_five_and_back_to_one(quorum: Quorum, writing: Write) -> None:
    """1 → 3 → 5 → 3 → 1: the first controller never restarts, and each number is reached with as many voters."""
    quorum.apply({"controllers": {"replicas": 1}})
    quorum.wait_ready()
    running, writer = quorum.running(), writing(quorum)
    for count in (3, 5, 3, 1):
        staying = set(running) & set(range(3000, 3000 + count))
        scale(quorum, count)
        quorum.wait_ready(_STEP_TIMEOUT_S)
        assert len(quorum.voters()) == count
        assert_untouched(quorum, running, staying)
        running = quorum.running()
    assert_removed(quorum, FIVE - {3000})
    assert_one_quorum(quorum, initial={3000}, voters={3000})
    assert_nothing_lost(writer)


@pytest.mark.full
def test_a_target_that_changes_half_way(ready: Quorum, writing: Write) -> None:
    """The target changes back from five to three during additions, and from three to five during removals."""
    running, writer = ready.running(), writing(ready)
    scale(ready, 5)
    wait_until("there is a fourth voter", lambda: len(ready.voters()) > 3, _STEP_TIMEOUT_S)
    scale(ready, 3)
    ready.wait_ready(_STEP_TIMEOUT_S)
    assert_removed(ready, {3003, 3004})
    assert_one_quorum(ready, initial=ALL, voters=ALL)
    scale(ready, 5)
    ready.wait_ready(_STEP_TIMEOUT_S)
    scale(ready, 3)
    wait_until("a voter is removed", lambda: 0 < len(ready.voters()) < 5, _STEP_TIMEOUT_S)
    scale(ready, 5)
    ready.wait_ready(_STEP_TIMEOUT_S)
    assert_one_quorum(ready, initial=ALL, voters=FIVE)
    assert_untouched(ready, running, ALL)
    assert_nothing_lost(writer)


@pytest.mark.full
@pytest.mark.timeout(600)
def test_other_controllers_take_over(ready: Quorum, writing: Write) -> None:
    """One id is replaced by another, then all three by others: the quorum moves, and its identity stays."""
    running, writer = ready.running(), writing(ready)
    ready.patch(exactly({3000, 3001, 3007}))
    ready.wait_ready(_STEP_TIMEOUT_S)
    assert_untouched(ready, running, {3000, 3001})
    assert_removed(ready, {3002})
    running, others = ready.running(), {3004, 3005, 3006}
    ready.patch(exactly(others))
    ready.wait_ready(300)
    assert_removed(ready, ALL | {3007})
    assert_one_quorum(ready, initial=ALL, voters=others)
    assert_nothing_lost(writer)
    running = ready.running()
    ready.delete_pod(ready.pods()[3004]["metadata"]["name"])  # its pod starts in a quorum without any first voter
    wait_until("the pod is made again", lambda: ready.running().get(3004, running[3004]) != running[3004], 60)
    ready.wait_ready()


@pytest.mark.full
def test_a_kept_claim_is_not_used_again(quorum: Quorum, writing: Write) -> None:
    """With whenScaled: Retain a removed controller's claim stays and is marked; on its return the id gets a new one."""
    quorum.apply({"controllers": {"replicas": 4, "storage": {"retentionPolicy": {"whenScaled": "Retain"}}}})
    quorum.wait_ready(_STEP_TIMEOUT_S)
    writer, old = writing(quorum), quorum.controller(3003)
    scale(quorum, 3)
    quorum.wait_ready(_STEP_TIMEOUT_S)
    wait_until("its pod is gone", lambda: 3003 not in quorum.pods(), 60)
    kept = quorum.claims()[old["claimName"]]
    assert kept["metadata"]["uid"] == old["claimUID"]
    assert kept["metadata"]["annotations"]["kafkaquorum.io/bootstrap-phase"] == "Retired"
    holds_for("the claim is kept", lambda: old["claimName"] in quorum.claims(), 5)
    scale(quorum, 4)
    quorum.wait_ready(_STEP_TIMEOUT_S)
    new = quorum.controller(3003)
    assert new["claimName"] != old["claimName"]
    assert new["directoryID"] != old["directoryID"]
    assert quorum.claims()[old["claimName"]]["metadata"]["uid"] == old["claimUID"]
    assert f"3003-{new['directoryID']}" in quorum.voters()
    assert_nothing_lost(writer)
