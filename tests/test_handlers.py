"""The edge: what ends a process, what keeps its stop from being whole, and what a watch's word wakes."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, cast

import pytest
from tests import virtual_time

from kafka_quorum import handlers
from kafka_quorum.handlers import Edge
from kafka_quorum.settings import Settings
from kit.key import ObjectKey

if TYPE_CHECKING:
    from kafka_quorum.observations.recorder import Recorder
    from kit.loops import Loops


class Closed:
    """Observations that note their end."""

    closed = False

    def close(self, _: float) -> None:
        """The end."""
        self.closed = True


def edge_of(closed: Closed | None = None) -> Edge:
    """An edge that was never started."""
    return Edge(Settings(), cast("Recorder", closed or Closed()))


async def test_a_task_that_is_over_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Supervision itself may fail: then the process ends, non-zero, and Kubernetes starts it again."""

    async def broken(_: str, __: Callable[[], Awaitable[None]]) -> None:
        raise RuntimeError("supervision is over")

    monkeypatch.setattr(handlers, "supervised", broken)
    edge = edge_of()
    edge._begin("lease", asyncio.Event().wait)  # type: ignore[arg-type]  # it is never awaited
    await asyncio.wait_for(edge.failed.wait(), 10)


def test_a_task_that_fails_is_begun_again() -> None:
    """An error in the lease task, of any kind, is not its end."""

    async def tried() -> int:
        edge, times = edge_of(), 0

        async def work() -> None:
            nonlocal times
            times += 1
            raise KeyError("spec")

        edge._begin("lease", work)
        await asyncio.sleep(20)
        assert not edge.failed.is_set()
        await edge._end_tasks()
        return times

    assert virtual_time.run(tried()) == 5


async def test_a_stop_is_whole_although_a_step_fails() -> None:
    """Loops that cannot be stopped keep neither the lease from being released nor observations from being stored."""
    closed = Closed()
    edge, released = edge_of(closed), asyncio.Event()

    class Stubborn:
        async def stop(self, grace_s: float) -> None:
            raise RuntimeError(grace_s)

    class Leased:
        async def release(self) -> None:
            released.set()

    edge._loops = cast("Loops", Stubborn())
    edge._lease = cast("Any", Leased())
    await edge.stop()
    assert released.is_set()
    assert closed.closed


def test_a_part_wakes_its_quorum() -> None:
    """The metadata of an object with our label wakes the quorum of that name; anything else wakes nothing."""
    edge = edge_of()
    woken: list[tuple[ObjectKey, bool]] = []

    class Noting:
        def wake(self, key: ObjectKey, *, create: bool, resource_version: str) -> None:
            assert resource_version == ""
            woken.append((key, create))

    edge._loops = cast("Loops", Noting())
    for labels in ({"kafkaquorum.io/quorum": "demo"}, {"kafkaquorum.io/quorum": ""}, {}, None):
        edge._part({"namespace": "ns", "name": "x", "labels": labels})
    assert woken == [(ObjectKey(namespace="ns", name="demo"), False)]


def test_an_edge_that_does_not_stand_still_is_healthy() -> None:
    """Before anything has begun, nothing is late."""
    assert edge_of().health().faults == ()
