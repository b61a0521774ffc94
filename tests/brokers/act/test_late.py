"""What a pool asks of Kubernetes is refused if it arrives after something else has changed the object."""

import pytest
from tests.brokers.act.test_limits import Asked, carried_out
from tests.brokers.looks import pod, ran
from tests.brokers.values import NAMESPACE, desired, record
from tests.kit.kube.recording import RecordingKube

from kafka_brokers.model.actions import ApplyBudget, DeletePod
from kafka_brokers.model.permit import ReplaceBrokerPod
from kafka_quorum.model.permit import Permit
from kit.errors import KubeConflict, KubeUnavailable
from kit.kube.protocol import BUDGETS, PODS, Json, ResourceType


@pytest.mark.parametrize("force", [False, True])
async def test_a_pod_that_has_changed_is_not_deleted(*, force: bool) -> None:
    """Its Kubernetes node may be back, and the broker in it serve again: a late deletion finds another version."""
    broker, kube = ran(record(), desired()).brokers[1], RecordingKube()
    name = pod(broker).name
    stored = (await kube.create(PODS, NAMESPACE, {"metadata": {"name": name, "namespace": NAMESPACE}}))["metadata"]
    one = pod(broker, uid=stored["uid"], resource_version=stored["resourceVersion"])
    permit: Permit[ReplaceBrokerPod] = Permit(rule=ReplaceBrokerPod.id, reason="its Kubernetes node is lost")
    delete = DeletePod(pod=one, reason="NodeLost", message="m", force=force, permit=permit, judged_at_s=100.0)
    await kube.patch(PODS, NAMESPACE, name, {"status": {"phase": "Running"}}, subresource="status")
    outcome = await carried_out(delete, Asked(), kube)
    assert outcome.held
    assert await kube.get(PODS, NAMESPACE, name) is not None


async def test_a_budget_does_not_replace_a_later_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A looser budget of which nobody heard is refused when a stricter one is there."""
    kube, sent = RecordingKube(), list[Json]()
    budget = ApplyBudget(min_available=3, looser=False)
    assert (await carried_out(budget, Asked(), kube)).done

    async def unheard(_: ResourceType, __: str, body: Json) -> Json:
        sent.append(body)
        raise KubeUnavailable("no answer")

    with monkeypatch.context() as patched:
        patched.setattr(kube, "apply", unheard)
        loose = ApplyBudget(min_available=2, looser=True, judged_at_s=100.0)
        assert (await carried_out(loose, Asked(), kube)).unknown
    assert (await carried_out(loose, Asked(), kube)).done
    assert (await carried_out(budget, Asked(), kube)).done
    with pytest.raises(KubeConflict):
        await kube.apply(BUDGETS, NAMESPACE, sent[0])
