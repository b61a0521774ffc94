"""Objects that somebody with rights in one namespace may write, to disturb the operator of all."""

import json
import re
from collections.abc import Callable

import pytest

from harness import operator
from harness.quorum import GROUP, Quorum
from harness.shell import holds_for, kubectl, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
_LEVELS = 9_900
"""The API server refuses more than 10,000."""


def _deep_object() -> str:
    """A paused quorum whose managed fields are nested as deeply as the API server accepts."""
    nested = '{"f:a":' * _LEVELS + "{}" + "}" * _LEVELS
    kind, written = f"{GROUP}/v1alpha1", {"manager": "x", "operation": "Apply", "fieldsType": "FieldsV1"}
    fields = {**written, "apiVersion": kind, "time": "2026-01-01T00:00:00Z", "fieldsV1": "DEEP"}
    body = {
        "apiVersion": kind,
        "kind": "KafkaQuorum",
        "metadata": {"name": "deep", "managedFields": [fields]},
        "spec": {"paused": True, "kafka": {"version": "4.4.0"}},
    }
    return json.dumps(body).replace('"DEEP"', nested)


def test_an_object_of_the_deepest_nesting_ends_no_operator(serving: str, namespaces: Callable[[], str]) -> None:
    """The operator serves it as every other resource, and no process of it ends."""
    assert serving
    quorum = Quorum(namespace=namespaces(), name="deep")
    before = _processes()
    path = f"/apis/{GROUP}/v1alpha1/namespaces/{quorum.namespace}/kafkaquorums"
    kubectl("create", "--raw", path, "-f", "-", stdin=_deep_object())
    wait_until("the operator has looked at it", lambda: quorum.status().get("doing"), 60)
    holds_for("the operator's processes run", lambda: _processes() == before, 20, poll_s=2.0)


def _processes() -> dict[str, int]:
    """The operator's pods by name, and how often their containers were started again."""
    return {
        pod["metadata"]["name"]: sum(row["restartCount"] for row in pod["status"].get("containerStatuses", ()))
        for pod in operator.pods()
    }


def test_a_pod_without_its_label_runs_on_and_the_status_says_how_it_gets_it_back(
    serving: str, namespaces: Callable[[], str]
) -> None:
    """Somebody takes the label off: the controller votes on, no pod is made or stopped, and the command is enough."""
    assert serving
    quorum = Quorum(namespace=namespaces(), name="bare")
    quorum.apply({})
    quorum.wait_ready()
    before, voters = quorum.running(), quorum.voters()
    pod = quorum.pods()[3001]["metadata"]["name"]
    kubectl("-n", quorum.namespace, "label", "pod", pod, f"{GROUP}/quorum-")
    said = str(quorum.wait_condition("Degraded", "True", "Unreadable")["message"])
    (command,) = re.findall(rf"kubectl (-n {quorum.namespace} label pod {pod} --overwrite [^ )]+)", said)
    holds_for("its Kafka runs on", lambda: quorum.voters() == voters, 15, poll_s=3.0)
    kubectl(*command.split())
    wait_until("nothing is wrong", lambda: quorum.condition("Degraded")["status"] == "False", 60)
    quorum.wait_ready()
    assert quorum.running() == before
