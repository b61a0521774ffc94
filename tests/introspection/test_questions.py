"""PlanQuestions are answered once, deleted in time, and bounded, whoever creates them."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, Any, cast

import pytest
from tests.clocks import START, MovingClock
from tests.introspection.worlds import SPEC, report
from tests.kit.kube.recording import RecordingKube
from tests.model.values import NAME, NAMESPACE
from tests.observe import kubernetes as k8s

from kafka_quorum.introspection import questions as module
from kafka_quorum.introspection.kind import PLAN_QUESTIONS
from kafka_quorum.introspection.passes import LastPasses
from kafka_quorum.introspection.questions import KEPT_S, LIVE_MAX, SHOWN_S, TRACKED_MAX, PlanQuestions
from kafka_quorum.kind import QUORUMS
from kit import stamps
from kit.errors import KubeConflict, KubeRefused, KubeUnavailable
from kit.kube.protocol import Json, ResourceType
from kit.selector import parse

if TYPE_CHECKING:
    from kit.kube.client import KubeClient

PLURAL = PLAN_QUESTIONS.plural


class Desk:
    """Questions in an API server, and the operator that answers."""

    def __init__(self) -> None:
        """There is a quorum, and no question."""
        self.kube, self.clock, self.acts = RecordingKube(), MovingClock(1000.0), True
        self.passes = LastPasses(self.clock)
        self.questions = PlanQuestions(
            self.kube, self.clock, self.passes, allowed=frozenset(), may_act=lambda: self.acts
        )
        self.kube.put(QUORUMS, {"metadata": k8s.metadata(NAME), "spec": SPEC})

    async def looked(self) -> None:
        """A pass over the quorum ends."""
        await self.passes.take(await report())

    def ask(self, name: str, spec: Any = None, *, namespace: str = NAMESPACE, age_s: float = 0.0) -> Json:  # noqa: ANN401 - any JSON
        """A person creates a question, and the watch reports it."""
        created = stamps.second(START.fromtimestamp(self.clock.now().timestamp() - age_s, tz=START.tzinfo))
        metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "creationTimestamp": created}
        self.kube.put(PLAN_QUESTIONS, {"metadata": metadata, "spec": {"quorum": NAME} if spec is None else spec})
        self.questions.seen(metadata)
        return metadata

    async def work(self, seconds: float = 0.0) -> list[str]:
        """So much later the operator acts on everything that is due: the verbs of its requests."""
        self.clock.seconds += seconds
        self.kube.calls.clear()
        while await self.questions.step():
            pass
        return [call.verb for call in self.kube.calls]

    def status(self, name: str) -> Json:
        """The answer; empty if there is none."""
        found: Json = self.kube.objects[PLURAL, name].get("status") or {}
        return found

    def names(self) -> set[str]:
        """The questions that exist."""
        return {name for plural, name in self.kube.objects if plural == PLURAL}


@pytest.fixture
def desk() -> Desk:
    """An operator without questions."""
    return Desk()


async def test_a_question_is_answered_once(desk: Desk) -> None:
    """A question is read once and answered once; the watch's echo of the answer costs nothing."""
    await desk.looked()
    desk.ask("q", {"quorum": NAME, "manifest": {"spec": {**SPEC, "controllers": {"replicas": 5}}}})
    assert await desk.work() == ["get", "patch"]
    status = desk.status("q")
    assert (status["state"], status["changes"]) == ("Answered", ["spec.controllers.replicas"])
    assert status["acts"]
    assert status["answeredAt"] == stamps.second(desk.clock.now())
    desk.questions.seen(desk.kube.objects[PLURAL, "q"]["metadata"])
    assert await desk.work(SHOWN_S) == []


async def test_a_question_about_the_quorum_of_another_operator_is_left_to_it(desk: Desk) -> None:
    """A question about a quorum that the selector leaves out gets no answer here, and is deleted in time."""
    desk.questions = PlanQuestions(
        desk.kube, desk.clock, desk.passes, allowed=frozenset(), may_act=lambda: True, selector=parse("shard=a")
    )
    desk.ask("q")
    assert await desk.work() == ["get", "get"]
    assert await desk.work(KEPT_S - 1) == []
    assert desk.status("q") == {}
    assert await desk.work(1) == ["delete"]


async def test_a_question_about_no_quorum_is_refused_by_a_share_too(desk: Desk) -> None:
    """If there is no such quorum at all, an operator with a selector says so."""
    desk.questions = PlanQuestions(
        desk.kube, desk.clock, desk.passes, allowed=frozenset(), may_act=lambda: True, selector=parse("shard=a")
    )
    desk.ask("q", {"quorum": "none"})
    await desk.work()
    assert desk.status("q")["state"] == "Refused"


async def test_nothing_else_is_touched(desk: Desk) -> None:
    """Of all that exists, an answer changes the status of its question and nothing else."""
    await desk.looked()
    desk.ask("q", {"quorum": NAME, "manifest": {"spec": {**SPEC, "controllers": {"replicas": 5}}}})
    await desk.work()
    assert [(call.verb, call.plural, call.option("subresource")) for call in desk.kube.writes()] == [
        ("patch", PLURAL, "status")
    ]
    assert set(desk.kube.writes()[0].body or {}) == {"metadata", "status"}


async def test_a_question_is_deleted_in_time(desk: Desk) -> None:
    """A question is deleted ten minutes after its creation, by its uid; the watch's report of that costs nothing."""
    await desk.looked()
    metadata = desk.ask("q")
    await desk.work()
    assert await desk.work(KEPT_S - 1) == []
    assert await desk.work(1) == ["delete"]
    assert desk.kube.calls[0].option("uid") == "uid-q"
    assert desk.names() == set()
    desk.questions.seen(metadata)
    assert await desk.work(1) == []


async def test_after_a_start_old_questions_are_deleted(desk: Desk) -> None:
    """Questions of before the start are answered if they are not, and deleted a minute later at the latest."""
    await desk.looked()
    desk.ask("old", age_s=10 * KEPT_S)
    desk.ask("future", age_s=-10 * KEPT_S)
    assert await desk.work() == ["get", "patch", "get", "patch"]
    assert await desk.work(SHOWN_S) == ["delete"]
    assert desk.names() == {"future"}
    assert await desk.work(KEPT_S - SHOWN_S) == ["delete"]


async def test_an_answer_of_an_earlier_operator_stays(desk: Desk) -> None:
    """A question that has an answer is not answered again after a change of the operator."""
    await desk.looked()
    desk.ask("q")
    await desk.work()
    before = desk.status("q")
    desk.questions.acquired()
    desk.questions.seen(desk.kube.objects[PLURAL, "q"]["metadata"])
    assert await desk.work(5) == ["get"]
    assert desk.status("q") == before


async def test_the_first_look_is_waited_for(desk: Desk) -> None:
    """Before the first look at a quorum the question waits; if none comes, the answer is Unknown."""
    desk.ask("q")
    desk.ask("r")
    await desk.work()
    assert desk.status("q") == {}
    await desk.looked()
    await desk.work(3)
    assert desk.status("q")["state"] == "Answered"
    desk.passes.clear()
    desk.ask("s")
    await desk.work()
    await desk.work(31)
    assert desk.status("s")["state"] == "Unknown"


async def test_a_quorum_that_does_not_exist(desk: Desk) -> None:
    """A question about a quorum that does not exist is refused at once."""
    desk.ask("q", {"quorum": "missing"})
    await desk.work()
    assert (desk.status("q")["state"], desk.status("q")["errors"][0]["field"]) == ("Refused", "spec.quorum")


async def test_too_many_questions_of_a_namespace(desk: Desk) -> None:
    """Beyond the number that is answered at a time, questions are refused unread; when earlier ones are gone, read."""
    await desk.looked()
    for number in range(LIVE_MAX + 2):
        desk.ask(f"q{number:02}", age_s=100 - number)
    desk.ask("elsewhere", namespace="other")
    calls = await desk.work()
    assert calls.count("patch") == LIVE_MAX + 3
    refused = {name: desk.status(name) for name in desk.names() if desk.status(name)["state"] == "Refused"}
    assert {name: status["errors"][0]["field"] for name, status in refused.items()} == {
        f"q{LIVE_MAX}": "metadata",
        f"q{LIVE_MAX + 1}": "metadata",
        "elsewhere": "spec.quorum",  # it was read: there is no such quorum there
    }
    await desk.work(KEPT_S)
    desk.ask("later")
    await desk.work()
    assert desk.status("later")["state"] == "Answered"


async def test_a_changed_question_is_not_answered_again(desk: Desk) -> None:
    """A question that somebody changes after its answer is read once more, and keeps its answer."""
    await desk.looked()
    desk.ask("q")
    await desk.work()
    before = desk.status("q")
    body = {**desk.kube.objects[PLURAL, "q"], "spec": {"quorum": "missing"}}
    desk.kube.put(PLAN_QUESTIONS, body)
    desk.questions.seen({**body["metadata"], "resourceVersion": "a later one"})
    assert await desk.work() == ["get"]
    assert desk.status("q") == before


async def test_namespaces_take_turns(desk: Desk) -> None:
    """A namespace with many questions delays one with a single question by one act at most."""
    for number in range(10):
        desk.ask(f"many{number}", {"quorum": "missing"}, namespace="flood", age_s=50)
    desk.ask("one", {"quorum": "missing"}, namespace="quiet")
    for _ in range(2):
        await desk.questions.step()
    assert desk.status("one")["state"] == "Refused"


async def test_a_deleted_question_is_forgotten(desk: Desk) -> None:
    """A question that its author deletes, or replaces under the same name, is forgotten, and the new one answered."""
    await desk.looked()
    desk.ask("q")
    del desk.kube.objects[PLURAL, "q"]
    assert await desk.work() == ["get"]
    desk.ask("answered")
    await desk.work()
    metadata = {**desk.kube.objects[PLURAL, "answered"]["metadata"], "resourceVersion": "a later one"}
    del desk.kube.objects[PLURAL, "answered"]
    desk.questions.seen(metadata)
    assert await desk.work() == ["get"]
    assert desk.questions._asked == {}
    desk.ask("r")
    metadata = {**desk.kube.objects[PLURAL, "r"]["metadata"], "uid": "another"}
    desk.kube.put(PLAN_QUESTIONS, {"metadata": metadata, "spec": {"quorum": NAME}})
    desk.questions.seen(metadata)
    assert sorted(await desk.work()) == ["get", "get", "patch"]
    assert desk.status("r")["state"] == "Answered"


@pytest.mark.parametrize("verb", ["get", "patch"])
@pytest.mark.parametrize(
    "error", [KubeUnavailable("no answer"), KubeConflict("changed"), KubeRefused("forbidden"), ValueError("ours")]
)
async def test_an_error_is_repeated_a_few_times(desk: Desk, verb: str, error: Exception) -> None:
    """After an error the question is tried again, a few times; then it is only deleted."""
    await desk.looked()
    desk.kube.errors[verb, PLURAL] = error
    desk.ask("q")
    tries = [len(await desk.work(after_s)) for after_s in (0, *([30] * 8))]
    assert 3 <= sum(map(bool, tries)) <= 6
    desk.kube.errors.clear()
    assert await desk.work(KEPT_S) == ["delete"]


async def test_an_error_at_the_deletion_is_repeated_with_pauses(desk: Desk) -> None:
    """A question that cannot be deleted is tried again with pauses, and not in a tight loop."""
    await desk.looked()
    desk.ask("q")
    await desk.work()
    desk.kube.errors["delete", PLURAL] = KubeRefused("forbidden")
    assert await desk.work(KEPT_S) == ["delete"]
    assert await desk.work(29) == []
    desk.kube.errors.clear()
    assert await desk.work(1) == ["delete"]
    assert desk.names() == set()


async def test_a_fault_of_the_planner_is_an_answer(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the planner fails on a question, the answer is Unknown, and further questions are answered."""

    def broken(*_: object) -> Json:
        raise RecursionError("too deep")

    await desk.looked()
    monkeypatch.setattr(module, "answer", broken)
    desk.ask("q")
    await desk.work()
    assert desk.status("q")["state"] == "Unknown"
    monkeypatch.undo()
    desk.ask("r")
    await desk.work()
    assert desk.status("r")["state"] == "Answered"


async def test_without_the_lease_nothing_is_answered(desk: Desk) -> None:
    """A standby answers nothing and remembers nothing; when it acts, it searches for the questions."""
    await desk.looked()
    desk.acts = False
    metadata = desk.ask("q")
    assert await desk.work() == []
    assert desk.questions._asked == {}
    desk.acts = True
    desk.questions.acquired()
    assert desk.questions._again.is_set()
    desk.questions.seen(metadata)
    await desk.work()
    assert desk.status("q")["state"] == "Answered"


async def test_more_questions_than_are_remembered(desk: Desk) -> None:
    """Of a flood only so many are remembered; the others are searched for when there is room."""
    for number in range(TRACKED_MAX + 10):
        desk.questions.seen(
            {
                "name": f"q{number}",
                "namespace": "flood",
                "uid": f"u{number}",
                "creationTimestamp": "2026-01-01T00:00:00Z",
            }
        )
    assert len(desk.questions._asked) == TRACKED_MAX
    assert not desk.questions._again.is_set()
    for uid in list(desk.questions._asked)[: TRACKED_MAX // 2 + 1]:
        del desk.questions._asked[uid]
    await desk.questions.step()
    assert desk.questions._again.is_set()


async def until(holds: Callable[[], bool]) -> None:
    """Lets other tasks run until something holds; AssertionError after some seconds."""
    for _ in range(500):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it does not hold")


class Watched:
    """A client whose watch reports one question, and then is silent."""

    def __init__(self, metadata: Json) -> None:
        """Nothing was watched yet."""
        self.metadata, self.begun = metadata, 0

    async def watch(
        self, resource: ResourceType, namespace: str, *, label: str, version: str, server_s: int
    ) -> AsyncGenerator[bytes, None]:
        """One watch: the question that exists."""
        assert (resource, namespace, label, version, server_s > 0) == (PLAN_QUESTIONS, NAMESPACE, "", "", True)
        self.begun += 1
        if self.begun == 1:
            raise KubeRefused("forbidden")
        yield json.dumps({"type": "ADDED", "object": {"metadata": self.metadata}}).encode() + b"\n"
        await asyncio.Event().wait()


async def test_the_watch_begins_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an error, and when this operator begins to act, the watch begins again with the existing questions."""
    monkeypatch.setattr(module, "_FAILED_S", 0.0)
    client = Watched({"name": "q", "namespace": NAMESPACE, "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"})
    following = asyncio.create_task(desk.questions.follow(cast("KubeClient", client), NAMESPACE))
    try:
        await until(lambda: "u" in desk.questions._asked)
        desk.questions.acquired()
        await until(lambda: client.begun == 3 and "u" in desk.questions._asked)
    finally:
        following.cancel()


async def test_the_task_answers(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The task wakes up for a question, and answers it."""
    monkeypatch.setattr(module, "_BETWEEN_S", 0.0)
    await desk.looked()
    working = asyncio.create_task(desk.questions.keep())
    try:
        desk.ask("q")
        await until(lambda: bool(desk.status("q")))
    finally:
        working.cancel()
