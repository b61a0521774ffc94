"""The identity survives losses around it: of a status, a ConfigMap, a resource, an operator, a chart."""

import json
import time

import pytest

from harness import operator
from harness.quorum import Quorum
from harness.shell import get, holds_for, kubectl, run, succeed, wait_until
from scenarios.conftest import Make
from scenarios.expectations import assert_one_quorum, restarts

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(300)]

ALL = {3000, 3001, 3002}
DELETED = {"controllers": {"storage": {"retentionPolicy": {"whenDeleted": "Delete"}}}}


def test_an_erased_status_is_rebuilt(ready: Quorum) -> None:
    """An erased status is written again with the same values, and nothing is formatted or restarted."""
    before, running, record = ready.status(), ready.running(), ready.record()
    nothing = json.dumps({"status": dict.fromkeys(before)})
    kubectl("-n", ready.namespace, "patch", "kq", ready.name, "--type=merge", "--subresource=status", "-p", nothing)
    wait_until("the status is there again", lambda: ready.status().get("clusterID") == before["clusterID"], 30)
    ready.wait_ready()
    after = ready.status()
    for field in ("bootstrap", "appliedRevision", "clusterID", "replicas", "selector"):
        assert after[field] == before[field]
    assert ready.running() == running
    assert ready.record() == record
    assert not ready.pods("formatter")


def test_a_lost_identity_is_rebuilt_from_its_copies(ready: Quorum) -> None:
    """The ConfigMap is written again with the same ids from its copies; nothing is formatted or restarted."""
    record, running = ready.record(), ready.running()
    kubectl("-n", ready.namespace, "delete", "configmap", f"{ready.name}-identity")
    rebuilt = wait_until("the record is there again", ready.record, 30)
    assert rebuilt["cluster_id"] == record["cluster_id"]
    assert rebuilt["phase"] == "Started"
    assert rebuilt["initial"] == record["initial"]
    ids = [(node["node_id"], node["directory_id"], node["claim_uid"]) for node in record["nodes"]]
    assert [(node["node_id"], node["directory_id"], node["claim_uid"]) for node in rebuilt["nodes"]] == ids
    ready.wait_ready()
    assert ready.running() == running
    assert not ready.pods("formatter")


def test_retained_disks_find_their_identity_again(ready: Quorum) -> None:
    """After a deletion with Retain while the operator is down, the new resource has the same cluster id and voters."""
    record, voters = ready.record(), ready.voters()
    operator.stop()
    try:
        ready.delete()
        wait_until("the pods are gone with it", lambda: not ready.pods(), 90)
        assert len(ready.claims()) == 3
        ready.apply()
    finally:
        operator.start()
    ready.wait_ready()
    assert ready.record()["cluster_id"] == record["cluster_id"]
    assert ready.voters() == voters
    assert_one_quorum(ready, initial=ALL, voters=ALL)


def test_deleted_disks_make_way_for_a_new_quorum(quorum: Quorum) -> None:
    """After a deletion with Delete, the new resource gets a new quorum on new disks."""
    quorum.apply(DELETED)
    quorum.wait_ready()
    old, claims = quorum.record(), {claim["metadata"]["uid"] for claim in quorum.claims().values()}
    quorum.delete()
    quorum.apply(DELETED)
    quorum.wait_ready(180)
    new = quorum.record()
    assert new["cluster_id"] != old["cluster_id"]
    directories = {key["directory_id"] for key in old["initial"]}
    assert not directories & {node["directory_id"] for node in new["nodes"]}
    assert not claims & {claim["metadata"]["uid"] for claim in quorum.claims().values()}
    assert_one_quorum(quorum, initial=ALL, voters=ALL)


def test_disks_go_with_a_resource_that_says_so(quorum: Quorum) -> None:
    """With Delete, claims and identity are deleted with the resource."""
    quorum.apply(DELETED)
    quorum.wait_ready()
    quorum.delete()
    wait_until("no claim is left", lambda: not quorum.claims(), 120)
    assert not quorum.record()


def test_an_operator_on_a_new_image_restarts_nothing(ready: Quorum, serving: str) -> None:
    """The same code under another tag takes over: every pod is the same, and the quorum stays ready."""
    running = ready.running()
    other = f"kafka-quorum-operator:again-{int(time.time())}"
    succeed("docker", "tag", serving, other)
    succeed("python3", "e2e/testbed", "load", other, timeout_s=240)
    try:
        operator.install(other)
        assert operator.image() == other
        holds_for("no pod is touched", lambda: ready.running() == running, 10)
        ready.wait_ready()
    finally:
        operator.install(serving)
    ready.wait_ready()
    assert ready.running() == running


def test_quorums_run_on_without_the_chart(ready: Quorum, serving: str) -> None:
    """Without the chart the definition, the resources and the pods stay; a new installation manages them again."""
    running, voters = ready.running(), ready.voters()
    operator.uninstall()
    try:
        assert get("default", "crd", "kafkaquorums.kafkaquorum.io")
        assert ready.resource()
        holds_for("the quorum runs", lambda: ready.running() == running and ready.voters() == voters, 5)
    finally:
        operator.install(serving)
    ready.wait_ready()
    assert ready.running() == running
    ready.delete_pod(ready.pods()[3000]["metadata"]["name"])
    wait_until("the pod is made again", lambda: 3000 in ready.pods(), 60)
    ready.wait_ready()


def test_two_quorums_of_one_name(quorums: Make) -> None:
    """Two quorums of one name in two namespaces share nothing, and a lost pod of one does not affect the other."""
    one, two = quorums("same"), quorums("same")
    for quorum in (one, two):
        quorum.apply()
    for quorum in (one, two):
        quorum.wait_ready(180)
        assert_one_quorum(quorum, initial=ALL, voters=ALL)
    assert one.record()["cluster_id"] != two.record()["cluster_id"]
    assert not one.voters() & two.voters()
    running = two.running()
    one.delete_pod(one.pods()[3000]["metadata"]["name"])
    one.wait_condition("Ready", "True")
    assert two.running() == running


def test_a_disk_lost_while_formatting_is_formatted_again(quorum: Quorum) -> None:
    """A claim that is deleted before the start is replaced, and the disk gets the same prepared directory id."""
    quorum.apply({"kafka": {"image": "testbed/kafka:none"}})
    wait_until("formatters wait for their image", lambda: len(quorum.pods("formatter")) == 3, 60)
    record = wait_until("the claims are bound", lambda: _bound(quorum), 30)
    quorum.delete_claim("q-3001-g1")
    run("kubectl", "-n", quorum.namespace, "delete", "pod", "q-3001-g1-format", "--wait=false")
    wait_until("the next claim is there", lambda: "q-3001-g2" in quorum.claims(), 90)
    quorum.patch({"kafka": {"image": "testbed/kafka:4.4.0"}})
    quorum.wait_ready()
    assert quorum.record()["initial"] == record["initial"]
    assert_one_quorum(quorum, initial=ALL, voters=ALL)
    assert restarts(quorum) == 0


def _bound(quorum: Quorum) -> dict[str, object] | None:
    record = quorum.record()
    return record if all(node["claim_uid"] for node in record["nodes"]) else None
