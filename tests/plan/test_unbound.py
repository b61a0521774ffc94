"""A claim without a volume is reported with its storage class, and with what can be corrected."""

from dataclasses import replace

import pytest
from tests.golden.facts import mentions
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

from kafka_quorum.model.desired import BootstrapMode
from kafka_quorum.model.plan import Severity
from kafka_quorum.plan.planner import plan

_SAID = "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims"


@pytest.mark.parametrize("name", ["fats", ""])
def test_a_claim_that_is_not_bound_is_named(name: str) -> None:
    """Before the start the class can be corrected: the message names claim, class and field."""
    record = bound()
    stuck = formatter(record, node(record, 3001), unschedulable=_SAID)
    wanted = desired(storage=storage(storage_class=name))
    look = with_the_claim(at_rest(record, pods=(stuck,)), 3001, storage_class=name)
    shown = wait(plan(wanted, look, now_s=NOW_S), "ClaimUnbound")
    assert (shown.severity, shown.node_id) == (Severity.DEGRADED, 3001)
    assert name in shown.message
    assert mentions(shown.message, stuck.claim_name, "spec.controllers.storage.storageClassName")
    assert " )" not in shown.message


def test_the_claim_of_an_adopted_controller_is_never_to_be_deleted() -> None:
    """A claim that a person made for an adopted controller is not created again: only its own class is named."""
    record = bound()
    record = replace(record, format=replace(record.format, mode=BootstrapMode.ADOPT))
    look = at_rest(record, pods=(formatter(record, node(record, 3001), unschedulable=_SAID),))
    look = with_the_claim(look, 3001, storage_class="by-hand")
    said = plan(desired(storage=storage(storage_class="fast")), look, now_s=NOW_S).waits
    (shown,) = [one for one in said if one.reason == "ClaimUnbound"]
    assert "by-hand" in shown.message
    assert "fast" not in shown.message


def test_behind_the_barrier_the_class_is_fixed() -> None:
    """The claim of a controller that has run keeps its class, so the message does not name the field."""
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
    """The scheduler's words about a deleted claim, or a lost volume, do not mean a missing storage class."""
    look = with_pod(at_rest(running()), 3001, unschedulable=said)
    assert "ClaimUnbound" not in {one.reason for one in plan(desired(), look, now_s=NOW_S).waits}


def test_a_claim_that_is_being_deleted_waits_for_no_class() -> None:
    """A claim that is being deleted is not reported as unbound, because it is never bound."""
    look = with_the_claim(with_pod(at_rest(running()), 3001, unschedulable=_SAID), 3001, deleting=True)
    assert "ClaimUnbound" not in {one.reason for one in plan(desired(), look, now_s=NOW_S).waits}


@pytest.mark.parametrize(
    "said", ['storageclass.storage.k8s.io "fats" not found', 'persistentvolumeclaim "alpha-3001-g1" not found']
)
def test_what_is_not_found_is_named(said: str) -> None:
    """If the scheduler does not find the class or the claim, the claim is reported as unbound."""
    look = with_pod(at_rest(running()), 3001, unschedulable=f"0/3 nodes are available: {said}")
    assert "alpha-3001-g1" in wait(plan(desired(), look, now_s=NOW_S), "ClaimUnbound").message


def test_another_reason_names_no_claim() -> None:
    """If a pod finds no Kubernetes node for its resources, its claim is not reported."""
    look = with_pod(at_rest(running()), 3001, unschedulable="0/3 nodes are available: insufficient memory")
    said = plan(desired(), replace(look), now_s=NOW_S)
    assert not [one for one in said.waits if one.reason == "ClaimUnbound"]
