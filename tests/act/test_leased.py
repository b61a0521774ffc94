"""Without the lease nothing that changes anything is sent, whatever has been asked before."""

import pytest
from tests.kit.kube.recording import RecordingKube
from tests.model.values import NAMESPACE, key
from tests.observe import kubernetes as k8s
from tests.wire.answering import AnsweringControllers

from kafka_quorum.act.leased import leased_controllers
from kafka_quorum.model.quorum import Endpoint
from kit.errors import NotActing
from kit.kube.protocol import CONFIG_MAPS, PODS
from kit.leased import leased_kube

AT = Endpoint(node_id=key(3000).node_id, host="h", port=1)


async def test_a_lease_that_lapses_between_two_requests_of_one_act() -> None:
    """The second request of an act is not sent when the lease has lapsed since the first one."""
    recorded, held = RecordingKube(), True
    kube = leased_kube(recorded, lambda: held)
    body = {"metadata": k8s.metadata("x")}
    await kube.create(CONFIG_MAPS, NAMESPACE, body)
    held = False
    with pytest.raises(NotActing):
        await kube.create(CONFIG_MAPS, NAMESPACE, body)
    with pytest.raises(NotActing):
        await kube.replace(CONFIG_MAPS, NAMESPACE, body)
    with pytest.raises(NotActing):
        await kube.apply(CONFIG_MAPS, NAMESPACE, body)
    with pytest.raises(NotActing):
        await kube.patch(CONFIG_MAPS, NAMESPACE, "x", body)
    with pytest.raises(NotActing):
        await kube.delete(PODS, NAMESPACE, "x", uid="u")
    with pytest.raises(NotActing):
        await kube.evict(NAMESPACE, "x", uid="u", resource_version="1")
    assert [call.verb for call in recorded.calls] == ["create"]


async def test_anybody_may_look() -> None:
    """Reads need no lease."""
    recorded = RecordingKube()
    kube = leased_kube(recorded, lambda: False)
    assert await kube.get(CONFIG_MAPS, NAMESPACE, "x") is None
    assert await kube.list(PODS, NAMESPACE, {}) == []


async def test_controllers_are_not_changed_without_the_lease() -> None:
    """A cure, a change of voters or of levels is not sent."""
    answering = AnsweringControllers()
    controllers = leased_controllers(answering, lambda: False)
    with pytest.raises(NotActing):
        await controllers.unregister_controller(AT, key(3001).node_id)
    assert answering.unregistered == []
    await leased_controllers(answering, lambda: True).unregister_controller(AT, key(3001).node_id)
    assert answering.unregistered == [(AT, key(3001).node_id)]
