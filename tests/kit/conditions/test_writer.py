"""The status is written when it has news, or when its stamp is old, and never over the write of another."""

import pytest
from tests.clocks import MovingClock
from tests.kit.ends import WIDGETS
from tests.kit.kube.recording import RecordingKube

from kit.conditions.writer import StatusWriter
from kit.errors import KubeConflict, NotActing
from kit.key import ObjectKey
from kit.kube.protocol import Json

KEY = ObjectKey(namespace="ns", name="w")


class Desk:
    """A widget and the writer of its status."""

    def __init__(self) -> None:
        """Starts with nothing written."""
        self.kube, self.clock, self.held = RecordingKube(), MovingClock(100.0), True
        self.writer = StatusWriter(self.kube, self.clock, WIDGETS, lambda: self.held)
        metadata = {"name": "w", "namespace": "ns", "uid": "u", "resourceVersion": "1"}
        self.kube.put(WIDGETS, {"metadata": metadata, "status": {}})

    @property
    def present(self) -> Json:
        """The widget as the server has it now."""
        return self.kube.objects[WIDGETS.plural, "w"]

    async def looked(self, **status: object) -> bool:
        """Writes this status after a look, and returns whether it was news."""
        return (await self.writer.looked(KEY, self.present, status, resources=1)).news


async def test_what_says_nothing_new_is_not_written() -> None:
    """An unchanged status costs no request until its stamp is old."""
    desk = Desk()
    assert await desk.looked(parts=1)
    desk.clock.seconds += 30
    assert not await desk.looked(parts=1)
    assert len(desk.kube.calls) == 1
    desk.clock.seconds += 60
    assert await desk.looked(parts=1)
    assert desk.present["status"] == {
        "parts": 1,
        "lastLook": "2026-01-01T00:03:10Z",
        "nextLookBy": "2026-01-01T00:08:24Z",
    }


async def test_its_own_write_is_an_echo_and_the_newest() -> None:
    """The writer recognises the echo of its own write, and an answer that is older than its write."""
    desk = Desk()
    before = desk.present
    await desk.looked(parts=1)
    version = desk.present["metadata"]["resourceVersion"]
    assert (desk.writer.is_echo(KEY, version), desk.writer.is_echo(KEY, "1")) == (True, False)
    assert (desk.writer.is_newest(KEY, desk.present), desk.writer.is_newest(KEY, before)) == (True, False)
    desk.writer.forget(KEY)
    assert not desk.writer.is_echo(KEY, version)


async def test_another_write_that_came_first_is_no_error() -> None:
    """If another write came first, the result is empty and no news; the next pass starts from the server's state."""
    desk = Desk()
    desk.kube.errors["patch", WIDGETS.plural] = KubeConflict("another write came first")
    written = await desk.writer.looked(KEY, desk.present, {"parts": 1}, resources=1)
    assert (written.resource, written.news) == ({}, False)


async def test_nothing_is_written_without_the_lease() -> None:
    """Without the lease no status is written."""
    desk = Desk()
    desk.held = False
    with pytest.raises(NotActing):
        await desk.looked(parts=1)
    assert desk.kube.calls == []


async def test_resources_at_rest_are_stamped_less_often_than_others() -> None:
    """Among many resources, the stamp of one that is at rest stands longer than that of one that is not."""
    stands = {}
    for doing in ("Done", "Rolling"):
        desk = Desk()
        await desk.writer.looked(KEY, desk.present, {"doing": doing}, resources=1000)
        desk.kube.calls.clear()
        began_s = desk.clock.seconds
        while not desk.kube.calls:
            desk.clock.seconds += 10
            await desk.writer.looked(KEY, desk.present, {"doing": doing}, resources=1000)
        stands[doing] = desk.clock.seconds - began_s
    assert 500 <= stands["Done"] <= 640
    assert 100 <= stands["Rolling"] <= 140


@pytest.mark.parametrize("resources", [1, 1000, 9000, 20_000])
async def test_however_many_there_are_a_stamp_is_written_once_in_its_interval(resources: int) -> None:
    """A stamp that was just written is not renewed in the next pass."""
    desk = Desk()
    passes_s = 10
    for _ in range(3 * 3600 // passes_s):
        desk.clock.seconds += passes_s
        await desk.writer.looked(KEY, desk.present, {"doing": "Done"}, resources=resources)
    interval_s = desk.clock.seconds / len(desk.kube.calls)
    assert interval_s >= min(max(60, resources / 2), 900) - 3 * passes_s
