"""Real brokers and controllers answer as the cases of `broker_answers` list it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

import pytest
import pytest_asyncio
from tests.live.broker_answers import (
    ACKED,
    CASES,
    REQUESTS,
    TOPICS,
    Act,
    Case,
    Do,
    ask,
    check_lost,
    play,
    restore,
)
from tests.live.broker_worlds import OLDEST, note, release, releases
from tests.live.brokers import LiveBrokers
from tests.live.jars import Kafka
from tests.live.waiting import wait_for

from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.wire.broker_admin import KafkaBrokers

pytestmark = [pytest.mark.live, pytest.mark.timeout(400), pytest.mark.asyncio(loop_scope="module")]


@dataclass(slots=True)
class Live:
    """`broker_answers.World` with real processes."""

    cluster: LiveBrokers
    elr: bool = False
    acked: dict[str, int] = field(default_factory=dict)

    @property
    def brokers(self) -> KafkaBrokers:
        """The operator's own client."""
        return self.cluster.client

    def endpoint(self, broker: int) -> Endpoint:
        """Where a broker listens."""
        return self.cluster.brokers[broker].endpoint

    async def leader(self) -> Endpoint:
        """The active controller."""
        return await self.cluster.leader()

    async def act(self, act: Act) -> None:
        """Does it."""
        broker = self.cluster.brokers.get(act.broker)
        if act.do is Do.WRITE:
            for topic in TOPICS:
                self.acked[topic] += await self.cluster.produce(topic, ACKED, timeout_s=4.0)
            return
        assert broker is not None
        match act.do:
            case Do.STOP:
                await self.cluster.stop(act.broker)
            case Do.KILL:
                broker.running.kill()
            case Do.START:
                self.cluster.start(broker)
            case Do.EMPTY:
                broker.running.kill()
                await asyncio.to_thread(self.cluster.empty, broker)

    async def lost(self, topic: str) -> bool:
        """Compares the end of the log with what was acknowledged."""
        end = await self.cluster.end(topic)
        note(topic, acknowledged=self.acked[topic], end=end)
        return end < self.acked[topic]

    async def until(self, what: str, look: Callable[[], Awaitable[str]]) -> None:
        """Looks again and again."""
        last = ""

        async def fine() -> bool | None:
            nonlocal last
            last = await look()
            return None if last else True

        try:
            await wait_for(what, fine)
        except AssertionError as error:
            raise AssertionError(f"{error}; {last}") from None

    async def begin(self) -> None:
        """Starts what does not run, and counts what is there."""
        down = [each for each in self.cluster.brokers.values() if each.running.exit_code is not None]
        self.cluster.start(*down)
        await restore(self)


@pytest.fixture(scope="module", params=releases("4.1.2", OLDEST))
def kafka(request: pytest.FixtureRequest) -> Kafka:
    """Each release in turn."""
    return release(request)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Live]:
    """Three brokers and the topics; every test restores them."""
    made = Live(cluster=LiveBrokers(kafka, tmp_path_factory.mktemp("answers")))
    try:
        await made.cluster.open()
        levels = {row.name: row.level for row in (await made.brokers.api_versions(made.endpoint(1))).finalized}
        made.elr = levels.get("eligible.leader.replicas.version", 0) > 0
        for name, topic in TOPICS.items():
            await made.cluster.topic(name, [topic.replicas], min_insync_replicas=str(topic.min_isr))
            made.acked[name] = await made.cluster.produce(name, ACKED)
        yield made
    finally:
        await made.cluster.close()


async def test_requests_are_answered_as_the_table_says(world: Live) -> None:
    """Each request has the answer of the table, in its order."""
    await world.begin()
    for case in REQUESTS:
        if world.cluster.kafka.version >= case.since:
            await ask(case, world)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_each_case_is_shown_as_the_table_says(world: Live, case: Case) -> None:
    """After the acts of a case a real broker shows what the table lists, and exactly the listed records are lost."""
    await world.begin()
    for topic in TOPICS:
        world.acked[topic] = await world.cluster.end(topic)
    await play(case, world)
    await world.begin()
    await check_lost(case, world)
