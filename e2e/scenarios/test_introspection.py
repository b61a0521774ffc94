"""The read-only look on a real API server: what it shows, who may read and ask, and that nothing is touched."""

import json
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness import operator
from harness.quorum import Quorum
from harness.shell import Json, get, holds_for, items, kubectl, run, wait_until
from kafka_quorum.introspection.kind import GROUP as LOOKS
from kafka_quorum.introspection.questions import LIVE_MAX

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(420)]

_LOOK = f"quorumlooks.{LOOKS}"
_QUESTION = f"planquestions.{LOOKS}"
_SOON_S = 60.0
_LEVELS = 9_900
"""The API server refuses more than 10,000."""


def look(quorum: Quorum) -> Json | None:
    """The look at this quorum; None if there is none yet."""
    return next(iter(looks(quorum)), None)


def looks(quorum: Quorum) -> list[Json]:
    """The looks in the namespace of this quorum."""
    return [item for item in items(quorum.namespace, _LOOK) if item["metadata"]["name"] == quorum.name]


def question(quorum: Quorum, name: str, manifest: Json | None = None) -> Json:
    """A question about this quorum."""
    spec: Json = {"quorum": quorum.name}
    return {
        "apiVersion": f"{LOOKS}/v1alpha1",
        "kind": "PlanQuestion",
        "metadata": {"name": name, "namespace": quorum.namespace},
        "spec": spec if manifest is None else {**spec, "manifest": manifest},
    }


def ask(quorum: Quorum, name: str, manifest: Json | None = None) -> Json:
    """Create a question, and wait for its answer."""
    kubectl("create", "-f", "-", stdin=json.dumps(question(quorum, name, manifest)))
    return answer(quorum, name)


def answer(quorum: Quorum, name: str) -> Json:
    """The answer to a question, when it is there."""

    def answered() -> Json | None:
        status: Json = get(quorum.namespace, _QUESTION, name).get("status") or {}
        return status if status.get("answeredAt") else None

    return wait_until(f"question {name} is answered", answered, _SOON_S)


def at_rest(quorum: Quorum) -> Json:
    """The look at a quorum at rest, when it is there."""

    def rests() -> Json | None:
        found = look(quorum)
        return found if found is not None and found.get("status", {}).get("state") == "AtRest" else None

    return wait_until("the look shows a quorum at rest", rests, _SOON_S)


def edited(quorum: Quorum, **controllers: Any) -> Json:  # noqa: ANN401 - any JSON
    """The manifest of this quorum as a person edits it, with other fields of its controllers."""
    resource = quorum.resource()
    spec = {**resource["spec"], "controllers": {**resource["spec"]["controllers"], **controllers}}
    return {**resource, "spec": spec}


def untouched(quorum: Quorum) -> tuple[Any, ...]:
    """What no question may change: the spec, every pod, every claim, and the record."""
    metadata = quorum.resource()["metadata"]
    return metadata["generation"], quorum.running(), sorted(quorum.claims()), quorum.record()


def test_a_quorum_at_rest_has_a_look_that_is_not_written_again(ready: Quorum) -> None:
    """The look has the leader and the voters, is owned by the quorum, and is not written again at rest."""
    found = at_rest(ready)
    (owner,) = found["metadata"]["ownerReferences"]
    assert owner["uid"] == ready.resource()["metadata"]["uid"]
    said = ready.describe()
    assert said is not None
    assert found["status"]["observed"]["leaderID"] == said.leader_id
    assert {row["nodeID"] for row in found["status"]["observed"]["voters"]} == {3000, 3001, 3002}
    version = found["metadata"]["resourceVersion"]

    def same() -> bool:
        present = look(ready)
        return present is not None and present["metadata"]["resourceVersion"] == version

    holds_for("the look is not written", same, 45, poll_s=3.0)


def test_the_look_explains_what_is_waited_for(ready: Quorum) -> None:
    """While a controller cannot start, the look names the wait, its controller, and what was seen of it."""
    at_rest(ready)
    ready.patch({"controllers": {"template": {"spec": {"nodeSelector": {"no-such-label": "x"}}}}})
    ready.delete_pod(ready.pods()[3002]["metadata"]["name"])

    def waits() -> list[Json]:
        found = look(ready)
        return [] if found is None else found.get("status", {}).get("waits") or []

    rows = wait_until("the look has waits", waits, 90)
    print(json.dumps(rows, indent=1))
    assert all(row["reason"] and row["message"] and row["severity"] for row in rows)
    assert any(row.get("evidence") for row in rows)


def test_a_question_is_answered_and_touches_nothing(ready: Quorum) -> None:
    """The answer about more controllers has the acts that follow when the change is made; before, nothing changes."""
    at_rest(ready)
    before, manifest = untouched(ready), edited(ready, replicas=4)
    status = ask(ready, "more", manifest)
    print(json.dumps(status, indent=1))
    assert (status["state"], status["changes"]) == ("Answered", ["spec.controllers.replicas"])
    assert status["acts"]
    holds_for("nothing is touched", lambda: untouched(ready) == before, 15, poll_s=3.0)
    first = status["acts"][0]["reason"]
    assert first not in {reason for reason, _ in ready.events()}
    ready.patch({"controllers": {"replicas": 4}})
    wait_until("the act of the answer", lambda: first in {reason for reason, _ in ready.events()}, 60)


def test_a_question_about_another_heap_lists_who_restarts(ready: Quorum) -> None:
    """A change of the pods lists every controller that would restart."""
    at_rest(ready)
    status = ask(ready, "heap", edited(ready, jvm={"heap": "160Mi"}))
    assert (status["state"], status["older"]) == ("Answered", [3000, 3001, 3002])


def test_an_edited_file_with_faults(ready: Quorum) -> None:
    """Faults of an edited file come back with their fields."""
    at_rest(ready)
    status = ask(ready, "wrong", edited(ready, replicas=0))
    assert status["state"] == "Invalid"
    assert {row["field"] for row in status["errors"]} == {"spec.controllers.replicas"}


@pytest.fixture
def people(ready: Quorum) -> Iterator[tuple[str, str]]:
    """A viewer and an editor of the quorum's namespace, by the roles of the cluster."""
    for name in ("view", "edit"):
        kubectl("-n", ready.namespace, "create", "rolebinding", name, f"--clusterrole={name}", f"--user={name}-person")
    yield "view-person", "edit-person"
    for name in ("view", "edit"):
        run("kubectl", "-n", ready.namespace, "delete", "rolebinding", name)


def test_who_may_read_and_who_may_ask(ready: Quorum, people: tuple[str, str]) -> None:
    """A viewer reads both kinds, an editor also asks; neither writes a look or an answer, and a stranger reads none."""
    viewer, editor = people

    def may(user: str, verb: str, kind: str, *more: str) -> bool:
        code, _, _ = run("kubectl", "-n", ready.namespace, "auth", "can-i", verb, kind, f"--as={user}", *more)
        return code == 0

    for kind in (_LOOK, _QUESTION):
        assert may(viewer, "get", kind)
        assert not may("stranger", "get", kind)
        for user in people:
            assert not may(user, "patch", kind, "--subresource=status")
            assert not may(user, "update", kind)
    assert (may(viewer, "create", _QUESTION), may(editor, "create", _QUESTION)) == (False, True)
    assert not may(editor, "create", _LOOK)
    at_rest(ready)
    kubectl("create", "-f", "-", f"--as={editor}", stdin=json.dumps(question(ready, "asked")))
    assert answer(ready, "asked")["state"] == "Answered"


def test_hostile_questions_disturb_nobody(ready: Quorum, quorums: Callable[[str], Quorum]) -> None:
    """Questions that are too deep, too large or too many are refused; the operator goes on and answers others."""
    at_rest(ready)
    before = _restarts()
    path = f"/apis/{LOOKS}/v1alpha1/namespaces/{ready.namespace}/planquestions"
    nested = '{"a":' * _LEVELS + "{}" + "}" * _LEVELS
    deep = json.dumps(question(ready, "deep", {"spec": "DEEP"})).replace('"DEEP"', nested)
    kubectl("create", "--raw", path, "-f", "-", stdin=deep)
    large = json.dumps(question(ready, "large", {"spec": {"x": "y" * 1_000_000}}))
    kubectl("create", "--raw", path, "-f", "-", stdin=large)
    assert answer(ready, "large")["state"] == "Refused"
    for number in range(LIVE_MAX + 5):
        kubectl("create", "-f", "-", stdin=json.dumps(question(ready, f"many-{number}")))
    assert answer(ready, f"many-{LIVE_MAX + 4}")["state"] == "Refused"
    other = quorums("other")
    other.apply({"paused": True})
    asked_at_s = time.monotonic()
    assert ask(other, "one")["state"] in {"Answered", "Unknown"}
    assert time.monotonic() - asked_at_s < _SOON_S
    assert _restarts() == before
    # What searches the namespace for secrets afterwards reads no objects of such a depth.
    kubectl("-n", ready.namespace, "delete", "planquestion", "deep", "large")


def _restarts() -> dict[str, int]:
    """The operator's pods by name, and how often their containers were started again."""
    return {
        pod["metadata"]["name"]: sum(row["restartCount"] for row in pod["status"].get("containerStatuses", ()))
        for pod in operator.pods()
    }


def test_a_look_goes_with_its_quorum(ready: Quorum) -> None:
    """Kubernetes deletes the look when the quorum is deleted."""
    at_rest(ready)
    ready.delete()
    wait_until("the look is gone", lambda: not looks(ready), _SOON_S)


def test_a_namespace_ends_while_no_operator_runs(serving: str) -> None:
    """Without an operator, a namespace with a look and an unanswered question can be deleted, and discovery works."""
    assert serving
    quorum = Quorum(namespace=f"scenario-{uuid.uuid4().hex[:8]}", name="q")
    kubectl("create", "namespace", quorum.namespace)
    quorum.apply({"paused": True})  # it gets a look, and no pods
    wait_until("there is a look", lambda: look(quorum), _SOON_S)
    operator.stop()
    try:
        kubectl("create", "-f", "-", stdin=json.dumps(question(quorum, "nobody")))
        kubectl("api-resources", f"--api-group={LOOKS}")
        kubectl("delete", "namespace", quorum.namespace, "--wait=false")

        def gone() -> bool:
            code, _, _ = run("kubectl", "get", "namespace", quorum.namespace)
            return code != 0

        wait_until("the namespace is gone", gone, 120)
    finally:
        operator.start()
