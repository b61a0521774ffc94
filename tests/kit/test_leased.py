"""Without the lease no request that changes anything is sent, whatever was requested before."""

import pytest
from tests.kit.kube.recording import RecordingKube

from kit.errors import NotActing
from kit.kube.protocol import CONFIG_MAPS, PODS
from kit.leased import leased_kube

NAMESPACE = "ns"


async def test_a_lease_that_lapses_between_two_requests_of_one_act() -> None:
    """If the lease lapses between two requests of one action, the second one is not sent."""
    recorded, held = RecordingKube(), True
    kube = leased_kube(recorded, lambda: held)
    body = {"metadata": {"name": "x", "namespace": NAMESPACE}}
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
