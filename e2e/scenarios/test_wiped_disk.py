"""A disk that is emptied behind the barrier: never an initial format, never a second quorum, the stale voter named."""

import pytest

from harness import nodes
from harness.quorum import Quorum
from harness.shell import holds_for, wait_until
from scenarios.expectations import assert_one_quorum, formatted_with_voters

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

STANDALONE = {"bootstrap": {"mode": "Standalone"}}
_OBSERVER_TIMEOUT_S = 90.0


def lose_disk(quorum: Quorum, node_id: int) -> str:
    """Empty the volume of a controller and have its pod made again; returns the replica key that is lost."""
    row = quorum.controller(node_id)
    quorum.wipe(row["claimName"])
    quorum.delete_pod(row["podName"])
    return f"{node_id}-{row['directoryID']}"


def assert_comes_back_as_observer(quorum: Quorum, lost: str) -> str:
    """The lost replica is named as a stale voter, its node is an observer on a new directory id: returns its key."""
    node_id = int(lost.partition("-")[0])

    def observer() -> str | None:
        return next((key for key in quorum.observers() if key.startswith(f"{node_id}-") and key != lost), None)

    key = wait_until(f"controller {node_id} is an observer", observer, _OBSERVER_TIMEOUT_S)
    condition = quorum.wait_condition("Degraded", "True", "StaleVoter")
    assert lost in condition["message"]
    assert "remove-controller" in condition["message"]
    stale = quorum.status()["staleReplicas"]
    assert [(f"{row['nodeID']}-{row['directoryID']}", row["kind"]) for row in stale] == [(lost, "Voter")]
    claim = quorum.controller(node_id)["claimName"]
    assert claim not in formatted_with_voters(quorum)
    assert nodes.meta_properties(quorum.namespace, claim)["cluster.id"] == quorum.record()["cluster_id"]
    assert lost in quorum.voters()
    return key


def assert_ready_once_removed(quorum: Quorum, lost: str, newcomer: str) -> None:
    """A person removes the stale voter with Kafka's own tool; the operator adds the new key by itself."""
    quorum.remove_voter(lost)
    quorum.wait_ready()
    voters = quorum.voters()
    assert newcomer in voters
    assert lost not in voters
    # As an observer the lost key may be named for five minutes more: so long the leader remembers it.
    assert "Voter" not in {row["kind"] for row in quorum.status().get("staleReplicas", [])}


@pytest.mark.parametrize(
    ("spec", "initial"),
    [
        pytest.param(STANDALONE, {3000}, id="standalone"),
        pytest.param({}, {3000, 3001, 3002}, id="initial", marks=pytest.mark.full),
    ],
)
def test_the_wiped_bootstrap_node_comes_back_as_an_observer(
    spec: dict[str, object], initial: set[int], quorum: Quorum
) -> None:
    """Its empty disk never gets initial voters again: it is an observer until its stale voter is removed."""
    quorum.apply(spec)
    quorum.wait_ready()
    cluster, others = quorum.record()["cluster_id"], quorum.voters()
    lost = lose_disk(quorum, 3000)
    newcomer = assert_comes_back_as_observer(quorum, lost)
    assert quorum.voters() == others
    assert_ready_once_removed(quorum, lost, newcomer)
    assert quorum.record()["cluster_id"] == cluster
    assert_one_quorum(quorum, initial=initial, voters={3000, 3001, 3002})


@pytest.mark.full
def test_a_disk_emptied_under_a_running_pod_is_not_run_on(quorum: Quorum) -> None:
    """After its sandbox is killed the pod finds the disk empty and refuses; it comes back as an observer."""
    quorum.apply()
    quorum.wait_ready()
    pod = quorum.pods()[3001]
    row = quorum.controller(3001)
    quorum.wipe(row["claimName"])
    nodes.kill_sandbox(pod)
    lost = f"3001-{row['directoryID']}"
    newcomer = assert_comes_back_as_observer(quorum, lost)
    assert_ready_once_removed(quorum, lost, newcomer)


@pytest.mark.full
def test_the_only_voters_empty_disk_is_left_alone(quorum: Quorum) -> None:
    """With one voter there is no quorum to come back to: nothing is formatted, and the loss is named."""
    quorum.apply({"controllers": {"replicas": 1}})
    quorum.wait_ready()
    claim = quorum.controller(3000)["claimName"]
    lose_disk(quorum, 3000)
    quorum.wait_condition("Degraded", "True", "LostDisk")

    def untouched() -> bool:
        return not nodes.meta_properties(quorum.namespace, claim) and not quorum.pods("formatter")

    holds_for("nobody formats the disk", untouched, 8)
    assert quorum.record()["phase"] == "Started"


@pytest.mark.full
def test_a_claim_deleted_behind_the_barrier_is_a_lost_disk(quorum: Quorum) -> None:
    """A claim that goes with its pod is replaced by one of the next generation, which joins as an observer."""
    quorum.apply()
    quorum.wait_ready()
    row = quorum.controller(3002)
    quorum.delete_claim(row["claimName"])
    quorum.delete_pod(row["podName"])
    lost = f"3002-{row['directoryID']}"
    newcomer = assert_comes_back_as_observer(quorum, lost)
    assert quorum.controller(3002)["claimName"] == "q-3002-g2"
    assert_ready_once_removed(quorum, lost, newcomer)
