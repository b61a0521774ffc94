"""Pods that disappear: deleted, evicted, drained. Each returns on its own disk, and a majority stays throughout."""

import asyncio
import json

import pytest

from harness import nodes
from harness.quorum import GROUP, Quorum
from harness.shell import Json, get, holds_for, kubectl, run, wait_until
from kafka_quorum.model.names import FIELD_MANAGER
from kit.errors import KubeConflict, KubeHeld
from kit.kube.client import connect
from kit.kube.protocol import BUDGETS
from scenarios.expectations import assert_one_quorum

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(300)]

ALL = {3000, 3001, 3002}


def wait_back(quorum: Quorum, node_id: int, old_uid: str) -> None:
    """Wait until this controller has another pod and the quorum is ready with it."""

    def replaced() -> bool:
        pod = quorum.pods().get(node_id)
        return pod is not None and pod["metadata"]["uid"] != old_uid

    wait_until(f"controller {node_id} has a new pod", replaced, 90)
    quorum.wait_condition("Ready", "True")


def test_each_pod_is_deleted_in_turn(ready: Quorum) -> None:
    """Each pod is created again under its name and on its disk, and the other pods are not touched."""
    voters = ready.voters()
    for node_id in sorted(ALL):
        before = ready.running()
        name = ready.pods()[node_id]["metadata"]["name"]
        ready.delete_pod(name)
        wait_back(ready, node_id, before[node_id][0])
        after = ready.running()
        assert {key: row for key, row in after.items() if key != node_id} == {
            key: row for key, row in before.items() if key != node_id
        }
        assert ready.voters() == voters
    assert_one_quorum(ready, initial=ALL, voters=ALL)


def test_a_pod_is_made_again_when_its_revision_is_gone(ready: Quorum) -> None:
    """Every revision is deleted: a pod that is deleted then comes back all the same."""
    kubectl("-n", ready.namespace, "delete", "controllerrevision", "-l", f"{GROUP}/quorum={ready.name}")
    old = ready.running()[3001][0]
    ready.delete_pod(ready.pods()[3001]["metadata"]["name"])
    wait_back(ready, 3001, old)
    assert_one_quorum(ready, initial=ALL, voters=ALL)


def test_all_pods_are_lost_at_once(ready: Quorum) -> None:
    """After a kill of all pods without grace, the same voters of the same cluster run again."""
    voters = ready.voters()
    names = [pod["metadata"]["name"] for pod in ready.pods().values()]
    uids = {uid for uid, _, _ in ready.running().values()}
    kubectl("-n", ready.namespace, "delete", "pod", *names, "--force", "--grace-period=0")
    wait_until("three new pods run", lambda: len({u for u, _, c in ready.running().values() if c} - uids) == 3, 90)
    ready.wait_ready()
    assert ready.voters() == voters
    assert_one_quorum(ready, initial=ALL, voters=ALL)


def test_a_killed_sandbox_is_made_anew_on_the_same_disk(ready: Quorum) -> None:
    """The kubelet starts the same pod again on the same disk, and it is a voter as before."""
    voters, pod = ready.voters(), ready.pods()[3000]
    nodes.kill_sandbox(pod)

    def restarted() -> bool:
        return ready.running()[3000][1] > 0

    wait_until("its container was started again", restarted, 90)
    wait_until("the voters are as before", lambda: ready.voters() == voters, 60)
    ready.wait_ready()
    assert ready.pods()[3000]["metadata"]["uid"] == pod["metadata"]["uid"]


def evict(quorum: Quorum, name: str) -> tuple[int, str]:
    """Request an eviction: exit code and answer."""
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": quorum.namespace}}
    path = f"/api/v1/namespaces/{quorum.namespace}/pods/{name}/eviction"
    code, output, errors = run("kubectl", "create", "--raw", path, "-f", "-", stdin=json.dumps(body))
    return code, output + errors


def test_one_voter_may_be_evicted_and_no_second_one(ready: Quorum) -> None:
    """Until the first evicted voter is caught up again, the disruption budget refuses another eviction."""
    wait_until("the budget allows one disruption", lambda: _allowed(ready) == 1, 30)
    names = {node_id: pod["metadata"]["name"] for node_id, pod in ready.pods().items()}
    before = ready.running()
    code, said = evict(ready, names[3000])
    assert code == 0, said
    code, said = evict(ready, names[3001])
    assert code != 0
    assert "disruption budget" in said
    wait_back(ready, 3000, before[3000][0])
    wait_until("the budget allows one disruption again", lambda: _allowed(ready) == 1, 30)


def evict_as_the_operator(quorum: Quorum, pod: Json, *, uid: str) -> None:
    """Evict with the operator's client: a pod of this uid, at its present resource version."""
    metadata = get(quorum.namespace, "pod", pod["metadata"]["name"])["metadata"]

    async def ask() -> None:
        client = await connect(FIELD_MANAGER)
        try:
            version = metadata["resourceVersion"]
            await client.evict(quorum.namespace, metadata["name"], uid=uid, resource_version=version)
        finally:
            await client.close()

    asyncio.run(ask())


def test_an_eviction_that_meant_another_pod_takes_nothing(ready: Quorum) -> None:
    """A wrong uid is a conflict and evicts no pod; after one real eviction the budget refuses the next one."""
    wait_until("the budget allows one disruption", lambda: _allowed(ready) == 1, 30)
    before, pods = ready.running(), ready.pods()
    with pytest.raises(KubeConflict, match="precondition"):
        evict_as_the_operator(ready, pods[3000], uid="00000000-0000-0000-0000-000000000000")
    holds_for("the budget lets one go", lambda: _allowed(ready) == 1, 5)
    assert ready.running() == before
    evict_as_the_operator(ready, pods[3000], uid=before[3000][0])
    with pytest.raises(KubeHeld, match=f"disruption budget {ready.name}-voters needs 2 healthy pods"):
        evict_as_the_operator(ready, pods[3001], uid=before[3001][0])
    wait_back(ready, 3000, before[3000][0])
    assert ready.running()[3001] == before[3001]


def test_a_budget_of_an_earlier_moment_is_refused(ready: Quorum) -> None:
    """An apply over a version that has been replaced is a conflict, also for the owner of all fields."""
    name = f"{ready.name}-voters"
    seen = get(ready.namespace, "pdb", name)
    kubectl("-n", ready.namespace, "annotate", "pdb", name, "example.com/later=1")
    version = seen["metadata"]["resourceVersion"]
    body = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": ready.namespace, "resourceVersion": version},
        "spec": {"minAvailable": 0, "selector": seen["spec"]["selector"]},
    }

    async def ask() -> None:
        client = await connect(FIELD_MANAGER)
        try:
            await client.apply(BUDGETS, ready.namespace, body)
        finally:
            await client.close()

    with pytest.raises(KubeConflict):
        asyncio.run(ask())
    assert get(ready.namespace, "pdb", name)["spec"] == seen["spec"]


def _allowed(quorum: Quorum) -> int:
    status = get(quorum.namespace, "pdb", f"{quorum.name}-voters").get("status", {})
    return int(status.get("disruptionsAllowed", 0))


def test_a_drained_node_gives_its_voter_back_later(ready: Quorum) -> None:
    """A drained voter waits for the node of its disk, and returns when the node can be used again."""
    pod = ready.pods()[3002]
    node, voters = pod["spec"]["nodeName"], ready.voters()
    selector = f"--pod-selector=kafkaquorum.io/quorum={ready.name}"
    try:
        kubectl("drain", node, selector, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=120s")
        condition = ready.wait_condition("Degraded", "True", "PodUnschedulable")
        assert "q-3002-g1" in condition["message"]
        assert ready.condition("Available")["status"] == "True"
        assert ready.voters() == voters
    finally:
        kubectl("uncordon", node)
    ready.wait_ready()
    assert_one_quorum(ready, initial=ALL, voters=ALL)
