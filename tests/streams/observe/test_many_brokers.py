"""A server that lists thousands of brokers is asked within a limit: of time, and of brokers at the same time."""

import asyncio
from collections.abc import Sequence

import pytest
from tests.model.values import CLUSTER
from tests.streams.answering import AnsweringGroups, broker
from tests.streams.observe.test_view import Saying

from kafka_quorum.model.brokers import MetadataAnswer, Partition, RegisteredBroker, TopicPartition
from kafka_quorum.model.groups import LogEnd
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.quorum import Endpoint, NodeVersions
from kafka_streams.model.release import StreamsRelease
from kafka_streams.observe import gather as module
from kafka_streams.observe.ends import AT_ONCE, log_ends
from kafka_streams.observe.gather import Edges, _releases

MANY = 3 * AT_ONCE + 1
ROWS = [TopicPartition(topic="in", index=index) for index in range(MANY)]


class Counting(AnsweringGroups, Saying):
    """Every broker leads one partition, and says that it runs 4.0; `most` is how many were asked at the same time."""

    def __init__(self, *, silent: bool = False) -> None:
        """Brokers that are `silent` never answer."""
        super().__init__()
        rows = tuple(
            RegisteredBroker(node_id=NodeID(index), host=f"broker-{index}", port=9092, rack="", fenced=False)
            for index in range(MANY)
        )
        partitions = tuple(
            Partition(at=at, leader=NodeID(at.index), leader_epoch=0, replicas=(NodeID(1),), isr=()) for at in ROWS
        )
        self.say(
            "metadata", MetadataAnswer(cluster_id=CLUSTER, controller=None, brokers=rows, partitions=partitions)
        ).say("LATEST", dict.fromkeys(ROWS, 7))
        self.silent, self.now, self.most, self.times = silent, 0, 0, 0

    async def log_ends(
        self, endpoint: Endpoint, partitions: Sequence[TopicPartition], end: LogEnd
    ) -> dict[TopicPartition, Knowable[int]]:
        """All logs end at 7."""
        await self._pass()
        return await super().log_ends(endpoint, partitions, end)

    async def api_versions(self, endpoint: Endpoint) -> NodeVersions:
        """That of 4.0, or nothing."""
        await self._pass()
        return await super().api_versions(endpoint)

    async def _pass(self) -> None:
        self.now, self.times = self.now + 1, self.times + 1
        self.most = max(self.most, self.now)
        try:
            await (asyncio.Event().wait() if self.silent else asyncio.sleep(0))
        finally:
            self.now -= 1


async def test_the_releases_of_brokers_that_are_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request has a limit of its own; thousands of them one after the other would take hours of one pass."""
    monkeypatch.setattr(module, "RELEASES_S", 0.05)
    silent = Counting(silent=True)
    found = await asyncio.wait_for(_releases(Edges(groups=silent, versions=silent), (broker(1),)), timeout=20.0)
    assert found == Unknown(reason="the releases of the brokers are not known: 0.05 s had passed")
    assert (silent.times, silent.now) == (AT_ONCE, 0)


async def test_the_releases_of_many_brokers() -> None:
    """All are asked, some at the same time."""
    many = Counting()
    found = await _releases(Edges(groups=many, versions=many), (broker(1),))
    assert found == Known(value=frozenset({StreamsRelease((4, 0), 0)}))
    assert (many.times, many.most) == (MANY, AT_ONCE)


async def test_the_ends_of_logs_of_many_leaders() -> None:
    """All are asked, some at the same time: each of them takes a connection."""
    many = Counting()
    assert await log_ends(many, broker(1), ROWS, LogEnd.LATEST) == dict.fromkeys(ROWS, Known(value=7))
    assert (many.times, many.most) == (MANY, AT_ONCE)
