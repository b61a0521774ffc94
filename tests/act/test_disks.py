"""Actions on disks: the pod, the claim, and nothing on an old look or without the operator's own image."""

import pytest
from tests.act.test_execute import RESOURCE, CountingIds, SetClock
from tests.kit.kube.recording import Call, RecordingKube
from tests.model.values import IDS, claim, desired, node, permit, revision, running
from tests.plan.recovery.lost import copy, rewriting, source, worker
from tests.wire.answering import AnsweringControllers

from kafka_quorum.act.building import Context
from kafka_quorum.act.execute import Executor
from kafka_quorum.kind import QUORUMS
from kafka_quorum.model import actions as act
from kafka_quorum.model.actions import Action, stamped
from kafka_quorum.model.disk_work import CopyDisk, InspectDisk
from kafka_quorum.model.plan import Outcome, Plan
from kafka_quorum.model.recovery_guards import CopyDisks, ReleaseDisks, Rewrite
from kafka_quorum.settings import Settings
from kit.kube.protocol import CLAIMS, PODS

DISK = source(running(), 3000)
CLAIM = claim(running(), node(running(), 3000))
INSPECT = act.CreateInspector(work=InspectDisk(source=DISK), revision=revision())
COPIER = act.CreateCopier(
    work=CopyDisk(source=DISK, copy="alpha-3000-g1-copy-0123456789", epoch=1),
    revision=revision(),
    permit=permit(CopyDisks),
)
REWRITER = act.CreateRewriter(work=rewriting(), revision=revision(), permit=permit(Rewrite))
COPY = act.CreateCopy(
    name="alpha-3000-g1-copy-0123456789", claim=CLAIM, node_id=IDS[0], epoch=1, permit=permit(CopyDisks)
)
WORKER = worker(InspectDisk(source=DISK), None)
KEPT = copy("alpha-3000-g1-copy-0123456789")
RELEASE = act.DeleteCopy(copy=KEPT, message="a person released it", permit=permit(ReleaseDisks))


async def carried_out(action: Action, *, age_s: float = 2.0, image: str = "operator:1") -> tuple[list[Call], Outcome]:
    """The writes of an action, and its outcome."""
    api = RecordingKube()
    api.put(QUORUMS, RESOURCE)
    for resource, name, uid, version in (
        (PODS, WORKER.name, WORKER.uid, WORKER.resource_version),
        (CLAIMS, KEPT.name, KEPT.uid, KEPT.resource_version),
    ):
        if isinstance(action, act.DeleteWorker | act.DeleteCopy):
            metadata = {"name": name, "namespace": "kafka", "uid": uid, "resourceVersion": version}
            api.put(resource, {"metadata": metadata, "spec": {}, "status": {}})
    executor = Executor(
        api, AnsweringControllers(), SetClock(age_s), CountingIds(), Settings(holder="o", image_pull_policy="Never")
    )
    context = Context(desired=desired(), record=running(), resource=RESOURCE, spec=RESOURCE["spec"], agent_image=image)
    plan = Plan(actions=(action,), waits=(), verdicts=(), requeue_s=1.0)
    (outcome,) = await executor.execute(plan, context)
    return api.writes(), outcome


@pytest.mark.parametrize(
    ("action", "verb", "plural"),
    [
        (INSPECT, "create", "pods"),
        (COPIER, "create", "pods"),
        (REWRITER, "create", "pods"),
        (COPY, "create", "persistentvolumeclaims"),
        (act.DeleteWorker(worker=WORKER, message="m"), "delete", "pods"),
        (RELEASE, "delete", "persistentvolumeclaims"),
    ],
)
async def test_one_request_each(action: Action, verb: str, plural: str) -> None:
    """Each action is one request to the API server."""
    calls, outcome = await carried_out(stamped(action, 1000.0))
    assert outcome.done, outcome.message
    assert [(call.verb, call.plural) for call in calls] == [(verb, plural)]


@pytest.mark.parametrize("action", [COPIER, REWRITER, RELEASE])
async def test_disks_are_worked_on_only_on_a_fresh_look(action: Action) -> None:
    """Copies, rewrites and releases are held if the look that allowed them is older than two seconds."""
    calls, outcome = await carried_out(stamped(action, 1000.0), age_s=2.1)
    assert (calls, outcome.held) == ([], True)


@pytest.mark.parametrize("action", [INSPECT, COPIER, REWRITER])
async def test_without_its_own_image_no_pod_is_made(action: Action) -> None:
    """An operator that does not know its image says so, and names the variable."""
    calls, outcome = await carried_out(stamped(action, 1000.0), image="")
    assert (calls, outcome.done) == ([], False)
    assert "KQ_OPERATOR_IMAGE" in outcome.message


async def test_the_same_work_is_created_once() -> None:
    """A creation whose answer was lost finds its pod there, and the next look finds it, too."""
    calls, _ = await carried_out(stamped(COPIER, 1000.0))
    again, _ = await carried_out(stamped(COPIER, 1000.0))
    assert [call.name for call in calls] == [call.name for call in again]
