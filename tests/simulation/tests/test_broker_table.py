"""The modelled brokers answer as real ones do: the same tables of answers, which `tests/live` compares with servers."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.live.broker_answers import (
    ACKED,
    CASES,
    REQUESTS,
    TOPICS,
    Act,
    Case,
    Do,
    RequestCase,
    ask,
    check_lost,
    play,
    restore,
)
from tests.simulation.model.kafka.bare_quorum import CLUSTER, BareQuorum
from tests.simulation.model.kafka.broker_model import Cluster, Place
from tests.simulation.model.kafka.cluster_image import MIN_ISR
from tests.simulation.model.kafka.disk import Disk
from tests.simulation.model.kafka.releases import defaults, with_level
from tests.simulation.model.world import World
from tests.simulation.runs.broker_edge import BrokerEdge
from tests.simulation.runs.edges import Life, Wire
from tests.simulation.tests.quorums import disk, key

from kafka_quorum.errors import KafkaError
from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.wire.brokers import Brokers

IDS = (1, 2, 3)
_MOST_STEPS = 400
_WRITES_S = 4.0
"""How long a producer waits for an acknowledgement."""


@dataclass(slots=True)
class Modelled:
    """`broker_answers.World` in memory."""

    elr: bool
    world: World = field(default_factory=World)
    disks: dict[int, Disk] = field(default_factory=dict)
    formats: int = 0

    def __post_init__(self) -> None:
        """Start a controller and three brokers, create the topics, and write to them."""
        levels = with_level(defaults("4.4.0", static=False), "eligible.leader.replicas.version", int(self.elr))
        self.world.bare = BareQuorum(self.world.kraft, 1, release="4.4.0", levels=levels)
        self.world.pools.producing = False
        self.pass_time(4)
        for broker in IDS:
            self.format(broker)
            self.start(broker)
        self.pass_time(8)
        for name, topic in TOPICS.items():
            replicas = tuple(map(NodeID, topic.replicas))
            self.cluster.controller.create(name, [replicas], {MIN_ISR: str(topic.min_isr)})
        self.pass_time(3)
        self.write()

    @property
    def cluster(self) -> Cluster:
        """The only cluster."""
        return self.world.pools.cluster(CLUSTER)

    @property
    def brokers(self) -> Brokers:
        """The operator's edge, without a fault."""
        return BrokerEdge(Wire(world=self.world), Life())

    def endpoint(self, broker: int) -> Endpoint:
        """Where a broker listens."""
        return Endpoint(node_id=NodeID(broker), host=f"10.1.0.{broker}", port=9091)

    async def leader(self) -> Endpoint:
        """The active controller."""
        leader = self.cluster.controller.leader
        assert leader is not None
        return Endpoint(node_id=leader.meta.node_id, host=leader.address, port=leader.port)

    async def act(self, act: Act) -> None:
        """Does it."""
        running = self.cluster.broker(NodeID(act.broker))
        match act.do:
            case Do.WRITE:
                self.write()
            case Do.START:
                self.start(act.broker)
            case Do.STOP:
                assert running is not None
                self.world.pools.ask_to_stop(running)
                while self.cluster.broker(NodeID(act.broker)) is not None:
                    self.pass_time(0.5)
            case Do.KILL | Do.EMPTY:
                assert running is not None
                self.world.pools.kill(running)
                if act.do is Do.EMPTY:
                    self.format(act.broker)

    async def lost(self, topic: str) -> bool:
        """Whether the leader lacks acknowledged records."""
        at = TopicPartition(topic=topic, index=0)
        leader = self.world.pools.leader_of(self.cluster, at)
        assert leader is not None
        log = leader.log_of(at)
        return log is None or not log.has(self.cluster.acked[at])

    async def until(self, what: str, look: Callable[[], Awaitable[str]]) -> None:
        """Looks after each step."""
        said = "it was never looked"
        for _ in range(_MOST_STEPS):
            try:
                said = await look()
            except KafkaError as error:
                said = str(error)
            if not said:
                return
            self.pass_time(0.5)
        pytest.fail(f"{what}: {said}")

    def format(self, broker: int) -> None:
        """Give a broker a new, formatted disk."""
        self.formats += 1
        self.disks[broker] = disk(key(broker, "abcdefghij"[self.formats]), frozenset(), CLUSTER)
        self.disks[broker].serial = 100 + self.formats

    def start(self, broker: int) -> None:
        """Start a broker on its disk."""
        place = Place(address=f"10.1.0.{broker}", host=f"b{broker}", port=9091, release="4.4.0")
        self.world.pools.start([self.disks[broker]], NodeID(broker), place)

    def write(self) -> None:
        """Producers write for some seconds, as far as they can."""
        self.world.pools.producing = True
        self.pass_time(max(_WRITES_S, ACKED / 2))
        self.world.pools.producing = False

    def pass_time(self, seconds: float) -> None:
        """Let the world run."""
        for _ in range(int(seconds * 2)):
            self.world.step()


def _run(what: Awaitable[Any]) -> None:
    async def go() -> None:
        await what

    asyncio.run(go())


@pytest.mark.parametrize("elr", [True, False], ids=["elr", "without elr"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_shown_after_acts(case: Case, elr: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """After the acts of a case a broker shows what real ones show, and as much is lost."""
    world = Modelled(elr=elr)

    async def go() -> None:
        await restore(world)
        await play(case, world)
        gone = [one for one in IDS if world.cluster.broker(NodeID(one)) is None]
        for broker in gone:
            world.start(broker)
        await world.until("every broker runs", lambda: _all_serve(world))
        world.pass_time(30)
        await check_lost(case, world)

    _run(go())


async def _all_serve(world: Modelled) -> str:
    row = world.cluster.controller.image.brokers
    return "; ".join(f"broker {one} is fenced" for one in IDS if row[NodeID(one)].fenced)


@pytest.mark.parametrize("case", REQUESTS, ids=lambda case: case.name)
def test_an_answer(case: RequestCase) -> None:
    """A request is answered or refused as by real servers; each case begins in a world of its own."""
    world = Modelled(elr=True)
    _run(ask(case, world))
