"""`kubectl kq doctor` and `explain` against the failures of the scenarios: each is named with its cause.

Each case waits until both name the failure as `failures_named` says, restores the quorum, and waits until `doctor` does
not name it any more.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import operator
from harness.naming import wait_forgotten, wait_named
from harness.plugin import CRIT, UNKNOWN, answered, kq
from harness.pool import Pool
from harness.quorum import Quorum
from harness.recovery import lose
from harness.shell import Json, kubectl
from scenarios import failures_named
from scenarios.failures_named import FAILURES, WRONG, Failure, Wrong
from scenarios.test_rights import give, rights
from scenarios.test_trust_issuers import given

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(600)]

_BLIND_TIMEOUT_S = 180.0
"""Three passes that end in errors, with the pauses between them."""


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: failure.name)
def test_a_failure_of_a_ready_quorum_is_named(failure: Failure, ready: Quorum) -> None:
    """Both commands name it, and what unblocks it; when that is done, it is gone."""
    with failure.makes(ready):
        wait_named(ready, failure.named)
    wait_forgotten(ready, failure.named)


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.name)
def test_why_a_quorum_does_not_start_is_named(wrong: Wrong, quorum: Quorum) -> None:
    """Both commands name the field or the object that keeps the quorum from starting."""
    quorum.apply(wrong.spec)
    wait_named(quorum, wrong.named)


def test_a_given_secret_that_may_not_be_used_is_named(quorum: Quorum, tmp_path: Path) -> None:
    """A Secret that does not list the quorum is named, with the condition that shows it."""
    spec = given(quorum, tmp_path)
    kubectl("-n", quorum.namespace, "annotate", "secret", "given-controllers", "kafkaquorum.io/used-by-")
    quorum.apply(spec)
    wait_named(quorum, failures_named.REFUSED_CERTIFICATE)


def test_a_pool_whose_ids_are_taken_is_named(ready: Quorum, pools: Callable[[str], Pool]) -> None:
    """The failure of a pool is named at its quorum."""
    pools("brokers").apply({"firstNodeID": 3000})
    wait_named(ready, failures_named.TAKEN_ID)


def test_a_lost_majority_leads_to_its_recovery(ready: Quorum) -> None:
    """With two of three disks gone, the command that shows what is left is named."""
    lose(ready, (3001, 3002), claims=True)
    wait_named(ready, failures_named.MAJORITY)


def test_an_operator_without_a_right_is_named(ready: Quorum) -> None:
    """The right that it lacks is in the answers of both."""
    before = rights()["rules"]
    try:
        give([rule for rule in before if "persistentvolumeclaims" not in rule.get("resources", [])])
        wait_named(ready, failures_named.BLIND, _BLIND_TIMEOUT_S)
    finally:
        give(before)
    wait_forgotten(ready, failures_named.BLIND)


def test_an_operator_that_was_stopped_is_named_at_once(ready: Quorum) -> None:
    """While the status is still fresh, the Deployment without replicas is named; so is a record that was deleted."""
    operator.stop()
    try:
        wait_named(ready, failures_named.STOPPED, 10.0)
        kubectl("-n", ready.namespace, "delete", "configmap", f"{ready.name}-identity")
        wait_named(ready, failures_named.NO_RECORD, 10.0)
    finally:
        operator.start()
    wait_forgotten(ready, failures_named.NO_RECORD)


def test_two_operators_at_once_are_named(ready: Quorum, serving: str) -> None:
    """Two operators with Leases of their own are named, as long as both run."""
    with operator.second(serving):
        wait_named(ready, failures_named.SEVERAL)
    wait_forgotten(ready, failures_named.SEVERAL)


def test_what_is_left_of_a_deleted_quorum_is_named(ready: Quorum) -> None:
    """A resource that was deleted without its objects: they are named, and the manifest makes them its own again."""
    found, running = ready.resource(), ready.running()
    body: Json = {key: found[key] for key in ("apiVersion", "kind", "spec")}
    body["metadata"] = {"name": ready.name, "namespace": ready.namespace}
    kubectl("-n", ready.namespace, "delete", "kq", ready.name, "--cascade=orphan")
    code, answer = answered(ready, "doctor", ready.name)
    (row,) = answer["checks"]
    assert (code, row["level"]) == (CRIT, "CRIT")
    assert "3 pods, 3 claims, ConfigMap q-identity" in row["message"]
    assert "apply the manifest of the quorum again" in row["todo"]
    code, _, errors = kq(ready, "explain", ready.name)
    assert code == UNKNOWN
    assert f"kubectl kq doctor {ready.name}" in errors
    kubectl("apply", "-f", "-", stdin=json.dumps(body))
    ready.wait_condition("Progressing", "False", "Done")
    ready.wait_ready()
    assert ready.running() == running
