"""A claim without a volume is named with its storage class, and with what can be corrected."""

from dataclasses import replace

import pytest
from tests.model.values import (
    NOW_S,
    at_rest,
    bound,
    desired,
    formatter,
    node,
    running,
    storage,
    with_pod,
    with_the_claim,
)
from tests.plan.reading import wait

from kafka_quorum.model.plan import Severity
from kafka_quorum.plan.planner import plan

_SAID = "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims"


@pytest.mark.parametrize(("name", "words"), [("fats", "storage class fats"), ("", "the default storage class")])
def test_a_claim_that_is_not_bound_is_named(name: str, words: str) -> None:
    """Before the start the class can be corrected: the message names claim, class and field."""
    record = bound()
    stuck = formatter(record, node(record, 3001), unschedulable=_SAID)
    wanted = desired(storage=storage(storage_class=name))
    shown = wait(plan(wanted, at_rest(record, pods=(stuck,)), now_s=NOW_S), "ClaimUnbound")
    assert (shown.severity, shown.node_id) == (Severity.DEGRADED, 3001)
    assert all(part in shown.message for part in (stuck.claim_name, words, "spec.controllers.storage.storageClassName"))


def test_behind_the_barrier_the_class_is_fixed() -> None:
    """A controller that has run keeps its class: only the cluster can be corrected."""
    look = with_pod(at_rest(running()), 3001, unschedulable=_SAID)
    shown = wait(plan(desired(), look, now_s=NOW_S), "ClaimUnbound")
    assert "storageClassName" not in shown.message


@pytest.mark.parametrize(
    "said",
    [
        '0/3 nodes are available: persistentvolumeclaim "alpha-3001-g1" is being deleted',
        '0/3 nodes are available: persistentvolumeclaim "alpha-3001-g1" bound to non-existent persistentvolume "pv-1"',
    ],
)
def test_other_words_about_a_claim(said: str) -> None:
    """What the scheduler says of a claim that is deleted, or of a lost volume, is no missing storage class."""
    look = with_pod(at_rest(running()), 3001, unschedulable=said)
    assert "ClaimUnbound" not in {one.reason for one in plan(desired(), look, now_s=NOW_S).waits}


def test_a_claim_that_is_being_deleted_waits_for_no_class() -> None:
    """A claim that is being deleted is never bound: nobody is told to create a class for it."""
    look = with_the_claim(with_pod(at_rest(running()), 3001, unschedulable=_SAID), 3001, deleting=True)
    assert "ClaimUnbound" not in {one.reason for one in plan(desired(), look, now_s=NOW_S).waits}


@pytest.mark.parametrize(
    "said", ['storageclass.storage.k8s.io "fats" not found', 'persistentvolumeclaim "alpha-3001-g1" not found']
)
def test_what_is_not_found_is_named(said: str) -> None:
    """A class or a claim that the scheduler does not find keeps the claim unbound."""
    look = with_pod(at_rest(running()), 3001, unschedulable=f"0/3 nodes are available: {said}")
    assert "alpha-3001-g1" in wait(plan(desired(), look, now_s=NOW_S), "ClaimUnbound").message


def test_another_reason_names_no_claim() -> None:
    """A pod that finds no node for its resources says nothing of its claim."""
    look = with_pod(at_rest(running()), 3001, unschedulable="0/3 nodes are available: insufficient memory")
    said = plan(desired(), replace(look), now_s=NOW_S)
    assert not [one for one in said.waits if one.reason == "ClaimUnbound"]
