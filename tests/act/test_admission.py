"""What the API server is asked about pods, what its answers mean, and how long a refusal is remembered."""

from dataclasses import replace
from typing import Any

import pytest
from tests.act.test_execute import RESOURCE
from tests.kit.kube.recording import RecordingKube
from tests.model.values import IDS, NAME, NAMESPACE, desired, node, permit, pod, revision, running, runtime, speaking

from kafka_quorum.act.admission import PodAdmission, _Refusal
from kafka_quorum.act.building import Context
from kafka_quorum.model import permit as permits
from kafka_quorum.model.actions import CreatePod
from kafka_quorum.model.admission import Admission, PodQuestion
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.plan import Outcome
from kafka_quorum.settings import Settings
from kit.clock import SystemClock
from kit.errors import KubeError, KubeRefused, KubeUnavailable
from kit.kube.protocol import PODS

NEW = revision(runtime(heap="1Gi"), number=2)
QUESTION = PodQuestion(node_id=IDS[1], revision=NEW.name)
SEEN = speaking(running(), revisions=(revision(), NEW))
CONTEXT = Context(desired=desired(), record=running(), resource=RESOURCE, spec={})
NAMES = (revision().name, NEW.name)
NO = KubeRefused("no such class")
QUOTA = KubeRefused("exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3")


class Clock(SystemClock):
    """A clock that the test sets."""

    now_s = 100.0

    def monotonic(self) -> float:
        """The second that was set."""
        return self.now_s


def gate(kube: RecordingKube, clock: Clock | None = None) -> PodAdmission:
    """The object under test."""
    return PodAdmission(kube, clock or Clock(), Settings())


async def answer(
    kube: RecordingKube, question: PodQuestion = QUESTION, context: Context = CONTEXT
) -> Knowable[Admission]:
    """The answer to one question."""
    return dict(await gate(kube).ask((question,), SEEN, context))[question]


def failing(error: KubeError) -> RecordingKube:
    """An API server that answers dry runs with this error."""
    kube = RecordingKube()
    kube.errors["dry-run", "pods"] = error
    return kube


async def test_the_very_pod_is_asked_about() -> None:
    """The dry run has the pod that would be created, under its own name, and stores nothing."""
    kube = RecordingKube()
    assert await answer(kube) == Known(value=Admission(allowed=True))
    (call,) = kube.calls
    assert (call.verb, call.name) == ("dry-run", pod(running(), node(running(), 3001)).name)
    assert call.body is not None
    assert any("1024m" in row["value"] for row in call.body["spec"]["containers"][0]["env"])
    assert kube.objects == {}


async def test_a_name_that_is_taken_is_consent() -> None:
    """A name that is taken counts as accepted, because the API server checks the rest of the pod first."""
    kube = RecordingKube()
    name = pod(running(), node(running(), 3001)).name
    kube.put(PODS, {"metadata": {"name": name}})
    assert await answer(kube) == Known(value=Admission(allowed=True))


@pytest.mark.parametrize(("error", "allowed"), [(NO, False), (QUOTA, True)])
async def test_a_refusal(error: KubeRefused, allowed: bool) -> None:  # noqa: FBT001 - a parameter
    """A refusal keeps the API server's words; a quota with room for one pod at a time is no refusal."""
    said = await answer(failing(error))
    assert isinstance(said, Known)
    assert said.value == Admission(allowed=allowed, words="" if allowed else str(error))


async def test_no_answer_is_unknown() -> None:
    """After a failed request the answer is unknown."""
    assert isinstance(await answer(failing(KubeUnavailable("no answer"))), Unknown)


async def test_a_pod_that_cannot_be_built_is_refused() -> None:
    """A template from which no pod can be built is a refusal with its cause, and no request is sent."""
    broken = revision(runtime(template_spec='{"securityContext": "root"}'), number=3)
    seen = replace(SEEN, revisions=(broken,))
    kube, question = RecordingKube(), replace(QUESTION, revision=broken.name)
    said = dict(await gate(kube).ask((question,), seen, CONTEXT))[question]
    assert isinstance(said, Known)
    assert not said.value.allowed
    assert said.value.words
    assert kube.calls == []


async def test_a_refusal_is_remembered_for_longer_each_time() -> None:
    """A refusal is current for two seconds, then four, at most thirty; after `forget` none is remembered."""
    clock, kube = Clock(), failing(NO)
    asking = gate(kube, clock)
    for seconds in (2, 4, 8, 16, 30, 30):
        await asking.ask((QUESTION,), SEEN, CONTEXT)
        clock.now_s += seconds - 0.1
        assert dict(asking.remembered(NAMESPACE, NAME))[QUESTION].value.current  # type: ignore[union-attr]
        clock.now_s += 0.2
        assert not dict(asking.remembered(NAMESPACE, NAME))[QUESTION].value.current  # type: ignore[union-attr]
    asking.forget(NAMESPACE, NAME)
    assert asking.remembered(NAMESPACE, NAME) == ()


async def test_a_refused_creation_is_remembered() -> None:
    """A refused creation is marked as such for five minutes; a successful one is forgotten."""
    clock = Clock()
    asking, action = (
        gate(RecordingKube(), clock),
        CreatePod(node_id=IDS[1], revision=NEW, config_name="c", permit=permit(permits.Run)),
    )
    failed = Outcome(action=action, done=False, unknown=False, message="m", refused="no such class")
    asking.learn((failed,), CONTEXT, NAMES)
    assert dict(asking.remembered(NAMESPACE, NAME))[QUESTION] == Known(
        value=Admission(allowed=False, words="no such class", created=True)
    )
    clock.now_s += 301
    assert not dict(asking.remembered(NAMESPACE, NAME))[QUESTION].value.created  # type: ignore[union-attr]
    asking.learn((replace(failed, done=True, refused=""),), CONTEXT, NAMES)
    assert asking.remembered(NAMESPACE, NAME) == ()


@pytest.mark.parametrize(
    ("gone", "kept"),
    [
        ({"revision": "alpha-gone"}, NAMES),
        ({"node_id": NodeID(9)}, NAMES),
        ({}, NAMES[:1]),
    ],
)
async def test_what_is_gone_is_forgotten(gone: dict[str, Any], kept: tuple[str, ...]) -> None:
    """Refusals of revisions and controllers that are gone are forgotten; the others are kept."""
    asking = gate(failing(NO))
    questions = (replace(QUESTION, **gone), replace(QUESTION, revision=NAMES[0]))
    asking._refusals[NAMESPACE, NAME] = dict.fromkeys(questions, _Refusal(words="no", at_s=100.0, times=0))
    asking.learn((), CONTEXT, kept)
    assert [question for question, _ in asking.remembered(NAMESPACE, NAME)] == [questions[1]]


async def test_what_is_remembered_is_bounded() -> None:
    """Only a fixed number of refusals is kept, the newest ones, however many revisions a quorum has."""
    asking = gate(RecordingKube())
    names = [f"alpha-{number}" for number in range(1000)]
    asking._refusals[NAMESPACE, NAME] = {
        replace(QUESTION, revision=name): _Refusal(words="no", at_s=float(at_s), times=0)
        for at_s, name in enumerate(names)
    }
    asking.learn((), CONTEXT, names)
    kept = [question.revision for question, _ in asking.remembered(NAMESPACE, NAME)]
    assert kept == names[-256:]
