"""Real servers answer AddRaftVoter as the cases of `answers.ADD_VOTER` list it."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
import pytest_asyncio
from tests.live.answers import ADD_VOTER, CONCURRENT_ADDS, AddVoterCase, Asked, Cluster, Listeners, Newcomer, Voter
from tests.live.broker_worlds import releases
from tests.live.jars import Kafka, ensure_kafka
from tests.live.ports import HOST, free_port
from tests.live.quorum import LISTENER, LiveNode, LiveQuorum, new_uuid
from tests.live.storage import NoInitialControllers
from tests.live.waiting import wait_for

from kafka_quorum.errors import KafkaRefused
from kafka_quorum.model.ids import ClusterID, DirectoryID, NodeID, ReplicaKey
from kafka_quorum.model.quorum import AddVoter, Listener, QuorumAnswer, RemoveVoter
from kafka_quorum.wire.admin import KafkaControllers

pytestmark = [pytest.mark.live, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="module")]

VOTERS, NEWCOMERS, TROUBLED = (3000, 3001), (3002, 3003), 3004
TIMEOUT_MS = 10_000
ATTEMPTS = 5
"""At two requests that shall meet."""


@pytest.fixture(scope="module", params=[*releases("4.1.2"), "3.9.2"])
def kafka(request: pytest.FixtureRequest) -> Kafka:
    """The newest release and the oldest, and 4.1.2 in a full run: the operator depends on their differences."""
    return ensure_kafka(str(request.param))


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Two voters and three caught-up observers; every test restores this.

    Only the third observer is frozen or killed. After a failed connection the leader waits before it tries the address
    again, and answers BROKER_NOT_AVAILABLE until then. So no other case uses that address.
    """

    quorum: LiveQuorum
    controllers: KafkaControllers
    newcomer: LiveNode
    second: LiveNode
    troubled: LiveNode

    async def settled(self) -> tuple[LiveNode, LiveNode]:
        """The leader and the follower, when the voters are the first two and the newcomers are caught up."""
        self.quorum.start_ended()
        for node in (self.newcomer, self.second, self.troubled):
            await self.quorum.observer_again(self.controllers, node)
        leader, answer = await self.quorum.leader(self.controllers)
        assert {row.key.node_id for row in answer.voters} == set(VOTERS)
        (follower,) = (self.quorum.nodes[NodeID(each)] for each in VOTERS if each != leader.node_id)
        return leader, follower

    async def voters(self) -> set[ReplicaKey]:
        """The voter set, as the leader shows it."""
        _, answer = await self.quorum.leader(self.controllers)
        return {row.key for row in answer.voters}

    async def remove_again(self, node: LiveNode) -> None:
        """Removes this voter, so that it is an observer again."""

        async def removed() -> bool | None:
            self.quorum.start_ended()
            leader, answer = await self.quorum.leader(self.controllers)
            if node.key not in {row.key for row in answer.voters}:
                return True
            removal = RemoveVoter(cluster_id=self.quorum.cluster_id, voter=node.key)
            await self.controllers.remove_voter(leader.endpoint, removal)
            return None

        await wait_for(f"{node.key} removed from the voters", removed)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(new_quorum: Callable[[str], LiveQuorum], controllers: KafkaControllers) -> AsyncIterator[World]:
    """Starts the quorum once for all cases."""
    quorum = new_quorum("answers")
    voters = [quorum.add_node(each) for each in VOTERS]
    newcomers = [quorum.add_node(each) for each in (*NEWCOMERS, TROUBLED)]
    quorum.must_format(voters, quorum.initial_controllers(voters))
    quorum.must_format(newcomers, NoInitialControllers())
    quorum.start(*voters, *newcomers)
    first, second, troubled = newcomers
    yield World(quorum=quorum, controllers=controllers, newcomer=first, second=second, troubled=troubled)
    quorum.close()


@asynccontextmanager
async def as_the_case_says(world: World, newcomer: Newcomer) -> AsyncIterator[None]:
    """Freezes or kills the newcomer's process if the case requires it, and undoes that afterwards."""
    node = newcomer_of(world, newcomer)
    match newcomer:
        case Newcomer.RUNS:
            yield
        case Newcomer.FROZEN:
            node.running.freeze()
            try:
                yield
            finally:
                _, answer = await world.quorum.leader(world.controllers)
                node.running.thaw()
                await world.quorum.observer(world.controllers, node.key, fetched_after_ms=leader_clock_ms(answer))
        case Newcomer.DEAD:
            node.running.kill()
            try:
                yield
            finally:
                _, answer = await world.quorum.leader(world.controllers)
                world.quorum.start(node)
                await world.quorum.observer(world.controllers, node.key, fetched_after_ms=leader_clock_ms(answer))


def newcomer_of(world: World, newcomer: Newcomer) -> LiveNode:
    """The controller that is the newcomer in this case."""
    return world.newcomer if newcomer is Newcomer.RUNS else world.troubled


def request(case: AddVoterCase, world: World, sitting: LiveNode) -> AddVoter:
    """The request of the case."""
    key, listener = voter_of(case.voter, newcomer_of(world, case.newcomer), sitting)
    listeners = {
        Listeners.OWN: (listener,),
        Listeners.NONE: (),
        Listeners.WRONG_NAME: (Listener(name="ELSEWHERE", host=listener.host, port=listener.port),),
    }
    own = world.quorum.cluster_id
    return AddVoter(
        cluster_id=own if case.cluster is Cluster.OWN else ClusterID(new_uuid()),
        voter=key,
        listeners=listeners[case.listeners],
        timeout_ms=TIMEOUT_MS,
    )


def voter_of(voter: Voter, newcomer: LiveNode, sitting: LiveNode) -> tuple[ReplicaKey, Listener]:
    """The replica key in the request, and its true listener."""
    other = DirectoryID(new_uuid())
    match voter:
        case Voter.NEWCOMER:
            return newcomer.key, newcomer.listener
        case Voter.NEWCOMER_OTHER_DIRECTORY:
            return ReplicaKey(node_id=newcomer.node_id, directory_id=other), newcomer.listener
        case Voter.NEWCOMER_ZERO_DIRECTORY:
            return ReplicaKey(node_id=newcomer.node_id, directory_id=None), newcomer.listener
        case Voter.SITTING:
            return sitting.key, sitting.listener
        case Voter.SITTING_OTHER_DIRECTORY:
            return ReplicaKey(node_id=sitting.node_id, directory_id=other), sitting.listener
        case Voter.STRANGER:
            stranger = ReplicaKey(node_id=NodeID(3099), directory_id=other)
            return stranger, Listener(name=LISTENER, host=HOST, port=free_port())


async def outcome(world: World, asked: LiveNode, add: AddVoter) -> str | None:
    """Kafka's name of the error, None for success."""
    try:
        await world.controllers.add_voter(asked.endpoint, add)
    except KafkaRefused as error:
        return error.name
    return None


@pytest.mark.parametrize("case", ADD_VOTER, ids=[case.name for case in ADD_VOTER])
async def test_add_voter_is_answered_as_the_table_says(world: World, case: AddVoterCase) -> None:
    """A real leader or follower answers each case as the table lists it, and a voter is added only on success."""
    leader, follower = await world.settled()
    before, add = await world.voters(), request(case, world, follower)
    async with as_the_case_says(world, case.newcomer):
        begin_s = time.monotonic()
        answered = await outcome(world, leader if case.asked is Asked.LEADER else follower, add)
        took_s = time.monotonic() - begin_s
    after = await world.voters()
    await world.remove_again(world.newcomer)
    assert answered == case.refused
    assert after == (before | {world.newcomer.key} if case.refused is None else before)
    assert took_s < case.at_most_s


async def test_two_adds_at_once(world: World) -> None:
    """If two adds are sent at the same time, one succeeds and the other is refused at once: changes never overlap."""
    for _ in range(ATTEMPTS):
        results, added = await _two_adds(world)
        if results != [None, None]:  # on a busy machine the second request may come after the end of the first change
            break
    assert sorted(results, key=str) == sorted(CONCURRENT_ADDS, key=str)
    assert len(added) == 1


async def _two_adds(world: World) -> tuple[list[str | None], set[ReplicaKey]]:
    """The error of each request, and which voters there were more; both are removed again."""
    leader, _ = await world.settled()
    before = await world.voters()
    adds = [
        AddVoter(cluster_id=world.quorum.cluster_id, voter=node.key, listeners=(node.listener,), timeout_ms=TIMEOUT_MS)
        for node in (world.newcomer, world.second)
    ]
    clients = [KafkaControllers(), KafkaControllers()]  # two connections, because requests on one wait for each other
    results: list[str | None] = []

    async def send(client: KafkaControllers, add: AddVoter) -> None:
        try:
            await client.add_voter(leader.endpoint, add)
        except KafkaRefused as error:
            results.append(error.name)
        else:
            results.append(None)

    for client in clients:
        await client.api_versions(leader.endpoint)
    await asyncio.gather(*(send(client, add) for client, add in zip(clients, adds, strict=True)))
    added = await world.voters() - before
    for client in clients:
        await client.close()
    for node in (world.newcomer, world.second):
        await world.remove_again(node)
    return results, added


async def test_a_voter_that_was_removed_and_still_runs_stays_an_observer(world: World) -> None:
    """With controller.quorum.auto.join.enable=false a removed voter that still runs stays an observer."""
    leader, _ = await world.settled()
    node = world.newcomer
    add = AddVoter(
        cluster_id=world.quorum.cluster_id, voter=node.key, listeners=(node.listener,), timeout_ms=TIMEOUT_MS
    )
    await world.controllers.add_voter(leader.endpoint, add)
    await world.remove_again(node)
    first = await world.quorum.observer(world.controllers, node.key)

    async def five_seconds_later() -> QuorumAnswer | None:
        """Waits for five seconds of the leader's clock. A measured auto-join takes two seconds."""
        answer = await world.quorum.look(world.controllers)
        if answer is None:
            return None
        assert node.key not in {row.key for row in answer.voters}
        return answer if leader_clock_ms(answer) - leader_clock_ms(first) > 5_000 else None

    last = await wait_for("five more seconds of the leader's clock", five_seconds_later)
    assert node.key in {row.key for row in last.observers}


def leader_clock_ms(answer: QuorumAnswer) -> int:
    """The leader's present time, which is in its own row."""
    (row,) = (row for row in answer.voters if row.key.node_id == answer.leader_id)
    return row.last_fetch_ms
