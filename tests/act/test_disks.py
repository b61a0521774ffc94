"""Actions on disks: the pod, the claim, and nothing on an old look or without the operator's own image."""

import pytest
from tests.act.test_execute import RESOURCE, CountingIds, SetClock
from tests.kit.kube.recording import Call, RecordingKube
from tests.model.values import IDS, claim, desired, node, permit, revision, running
from tests.plan.recovery.lost import copy, rewriting, source, worker
from tests.resources.test_recovery import SEED, SEEDED
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
from kit.kube.protocol import CLAIMS, PODS, Json

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
SEED_INSPECTOR = act.CreateInspector(work=InspectDisk(source=SEED), revision=revision())
SEED_REWRITER = act.CreateRewriter(work=SEEDED, revision=revision(), permit=permit(Rewrite))
WORKER = worker(InspectDisk(source=DISK), None)
KEPT = copy("alpha-3000-g1-copy-0123456789")
RELEASE = act.DeleteCopy(copy=KEPT, message="a person released it", permit=permit(ReleaseDisks))


async def carried_out(
    action: Action, *, age_s: float = 2.0, image: str = "operator:1", seed: Json | None = None
) -> tuple[list[Call], Outcome]:
    """The writes of an action, and its outcome. `seed` is the metadata of the claim of a seed."""
    api = RecordingKube()
    if seed is not None:
        api.put(CLAIMS, {"metadata": {"name": "broker-0", "namespace": "kafka", **seed}})
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


@pytest.mark.parametrize("action", [SEED_INSPECTOR, SEED_REWRITER])
@pytest.mark.parametrize(
    ("seed", "done"),
    [
        (None, False),
        ({}, False),
        ({"annotations": {"kafkaquorum.io/used-by": "KafkaQuorum/beta"}}, False),
        ({"annotations": {"kafkaquorum.io/used-by": "KafkaQuorum/alpha"}}, True),
    ],
)
async def test_a_seed_is_mounted_only_if_its_claim_lists_the_quorum(
    action: Action, seed: Json | None, *, done: bool
) -> None:
    """The claim is read just before the pod is made, and a refusal has the command that allows it."""
    calls, outcome = await carried_out(stamped(action, 1000.0), seed=seed)
    assert (outcome.done, [call.verb for call in calls]) == (done, ["create"] if done else [])
    assert done or "annotate pvc broker-0 kafkaquorum.io/used-by=KafkaQuorum/alpha" in outcome.message
