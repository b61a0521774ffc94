"""Maintenance: nodes are cordoned, and the spec is edited many times."""

import copy
import json

import pytest

from harness.quorum import Quorum
from harness.shell import Json, holds_for, items, kubectl, wait_until
from scenarios.expectations import assert_one_quorum, assert_untouched
from scenarios.rolls import ROLL_TIMEOUT_S, wait_told
from scenarios.test_scaling import ALL, leader

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(420)]

_KEPT = 10


def revisions(quorum: Quorum) -> dict[str, Json]:
    """The quorum's revisions, by name."""
    found = items(quorum.namespace, "controllerrevisions", "-l", f"kafkaquorum.io/quorum={quorum.name}")
    return {item["metadata"]["name"]: item for item in found}


@pytest.mark.full
def test_old_revisions_are_deleted(ready: Quorum) -> None:
    """The ten newest of fifteen older revisions stay, and the one of the pods; no pod is changed."""
    running = ready.running()
    (present,) = revisions(ready).values()
    earlier = []
    for number in range(2, 17):
        old = copy.deepcopy(present)
        metadata = {field: present["metadata"][field] for field in ("namespace", "labels", "annotations")}
        old["metadata"] = {**metadata, "name": f"{ready.name}-{number:010x}"}
        old["revision"] = number
        earlier.append(old)
    kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": earlier}))
    kubectl("-n", ready.namespace, "annotate", "kq", ready.name, "example.com/wakes=the-operator")
    newest = {f"{ready.name}-{number:010x}" for number in range(7, 17)}
    wanted = {present["metadata"]["name"], *newest}
    wait_until("the old ones are gone", lambda: set(revisions(ready)) == wanted, 60)
    assert len(newest) == _KEPT
    assert "RevisionDeleted" in {reason for reason, _ in ready.events()}
    holds_for("the others stay", lambda: set(revisions(ready)) == wanted, 5)
    assert_untouched(ready, running, ALL)


@pytest.mark.full
def test_a_roll_waits_for_a_cordoned_node(ready: Quorum) -> None:
    """The follower on the cordoned node and the active controller wait; after the uncordon the roll is completed."""
    running, active = ready.running(), leader(ready)
    waits, goes = sorted(ALL - {active})
    places = {node_id: pod["spec"]["nodeName"] for node_id, pod in ready.pods().items()}
    assert places[waits] not in {places[active], places[goes]}, places
    kubectl("cordon", places[waits])
    try:
        ready.patch({"controllers": {"jvm": {"heap": "160Mi"}}})
        wait_told(ready, str(waits), places[waits])
        wait_until("the other follower is back", lambda: _is_back(ready, goes, running[goes][0]), ROLL_TIMEOUT_S)
        holds_for("the others stay", lambda: all(ready.running()[n] == running[n] for n in (waits, active)), 10)
        assert ready.condition("Available")["status"] == "True"
    finally:
        kubectl("uncordon", places[waits])
    ready.wait_ready(ROLL_TIMEOUT_S)
    assert {uid for uid, _, _ in ready.running().values()}.isdisjoint(uid for uid, _, _ in running.values())
    assert_one_quorum(ready, initial=ALL, voters=ALL)


def _is_back(quorum: Quorum, node_id: int, before_uid: str) -> bool:
    pod = quorum.pods().get(node_id)
    there = pod is not None and pod["metadata"]["uid"] != before_uid
    return there and quorum.controller(node_id).get("caughtUp") is True
