"""RemoveRaftVoter's real answers, case by case of `answers.REMOVE_VOTER`."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
import pytest_asyncio
from tests.live.answers import REMOVE_VOTER, Asked, Cluster, Removed, RemoveVoterCase, Second
from tests.live.quorum import LiveNode, LiveQuorum, new_uuid
from tests.live.storage import NoInitialControllers
from tests.live.waiting import wait_for

from kafka_quorum.errors import KafkaRefused
from kafka_quorum.model.ids import ClusterID, DirectoryID, NodeID, ReplicaKey
from kafka_quorum.model.quorum import AddVoter, QuorumAnswer, RemoveVoter
from kafka_quorum.wire.admin import KafkaControllers

pytestmark = [pytest.mark.live, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="module")]

VOTERS, OBSERVER = (3000, 3001, 3002), 3003


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """Who is who in a case."""

    leader: LiveNode
    first: LiveNode
    second: LiveNode


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Three voters and a caught-up observer; `whole` makes it so again after every case."""

    quorum: LiveQuorum
    controllers: KafkaControllers

    async def whole(self) -> Cast:
        """All three are voters and fetch, and the observer has caught up."""
        voters = [self.quorum.nodes[NodeID(each)] for each in VOTERS]

        async def complete() -> bool | None:
            _, answer = await self.quorum.leader(self.controllers)
            for node in voters:
                if node.key not in keys(answer):
                    await self.add_again(node)
                    return None
            return True

        await wait_for("three voters", complete)
        await self.quorum.observer(self.controllers, self.quorum.nodes[NodeID(OBSERVER)].key)
        leader = (await self.quorum.leader(self.controllers))[0]

        async def all_fetch() -> QuorumAnswer | None:
            answer = await self.controllers.describe_quorum(leader.endpoint)
            now_ms = max(row.last_fetch_ms for row in answer.voters)
            return answer if all(now_ms - row.last_fetch_ms < 1_000 for row in answer.voters) else None

        await wait_for("three voters that fetch", all_fetch)
        first, second = (node for node in voters if node is not leader)
        return Cast(leader=leader, first=first, second=second)

    async def add_again(self, node: LiveNode) -> None:
        """Make a voter of it again, once it has caught up."""
        await self.quorum.observer(self.controllers, node.key)
        leader, _ = await self.quorum.leader(self.controllers)
        body = AddVoter(
            cluster_id=self.quorum.cluster_id, voter=node.key, listeners=(node.listener,), timeout_ms=10_000
        )
        await self.controllers.add_voter(leader.endpoint, body)


def keys(answer: QuorumAnswer) -> set[ReplicaKey]:
    """The voter set."""
    return {row.key for row in answer.voters}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(new_quorum: Callable[[str], LiveQuorum], controllers: KafkaControllers) -> AsyncIterator[World]:
    """Start it once for all cases."""
    quorum = new_quorum("removals")
    voters, observer = [quorum.add_node(each) for each in VOTERS], quorum.add_node(OBSERVER)
    quorum.must_format(voters, quorum.initial_controllers(voters))
    quorum.must_format([observer], NoInitialControllers())
    quorum.start(*voters, observer)
    yield World(quorum=quorum, controllers=controllers)
    quorum.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def alone(new_quorum: Callable[[str], LiveQuorum]) -> AsyncIterator[LiveQuorum]:
    """A quorum of one."""
    quorum = new_quorum("alone")
    node = quorum.add_node(VOTERS[0])
    quorum.must_format([node], quorum.initial_controllers([node]))
    quorum.start(node)
    yield quorum
    quorum.close()


def key_of(removed: Removed, cast: Cast, observer: ReplicaKey) -> ReplicaKey:
    """The replica key that is sent."""
    other = DirectoryID(new_uuid())
    keys_by_role = {
        Removed.LEADER: cast.leader.key,
        Removed.FIRST: cast.first.key,
        Removed.FIRST_OTHER_DIRECTORY: ReplicaKey(node_id=cast.first.node_id, directory_id=other),
        Removed.FIRST_ZERO_DIRECTORY: ReplicaKey(node_id=cast.first.node_id, directory_id=None),
        Removed.SECOND: cast.second.key,
        Removed.OBSERVER: observer,
        Removed.STRANGER: ReplicaKey(node_id=NodeID(3099), directory_id=other),
    }
    return keys_by_role[removed]


@asynccontextmanager
async def as_the_case_says(world: World, second: Second, node: LiveNode) -> AsyncIterator[None]:
    """Put the second follower's process into the case's condition, and back."""
    match second:
        case Second.RUNS:
            yield
        case Second.DEAD:
            node.running.kill()
            try:
                yield
            finally:
                world.quorum.start(node)


async def outcome(controllers: KafkaControllers, asked: LiveNode, body: RemoveVoter) -> str | None:
    """Kafka's name of the error, None for success."""
    try:
        await controllers.remove_voter(asked.endpoint, body)
    except KafkaRefused as error:
        return error.name
    return None


@pytest.mark.parametrize("case", [case for case in REMOVE_VOTER if not case.alone], ids=lambda case: case.name)
async def test_remove_voter_is_answered_as_the_table_says(world: World, case: RemoveVoterCase) -> None:
    """A real leader (or follower) answers each case as the table says, and changes its voter set only where it says."""
    cast = await world.whole()
    before = keys((await world.quorum.leader(world.controllers))[1])
    own = world.quorum.cluster_id
    body = RemoveVoter(
        cluster_id=own if case.cluster is Cluster.OWN else ClusterID(new_uuid()),
        voter=key_of(case.removed, cast, world.quorum.nodes[NodeID(OBSERVER)].key),
    )
    asked = cast.leader if case.asked is Asked.LEADER else cast.first
    async with as_the_case_says(world, case.second, cast.second):
        begin_s = time.monotonic()
        answered = await outcome(world.controllers, asked, body)
        took_s = time.monotonic() - begin_s
        shown = None if case.refused else keys((await world.quorum.leader(world.controllers))[1])
        if case.refused:
            shown = keys(await world.controllers.describe_quorum(cast.leader.endpoint))
    assert answered == case.refused
    assert shown == (before - {body.voter} if case.appended else before)
    assert case.at_least_s <= took_s < case.at_most_s


@pytest.mark.parametrize("case", [case for case in REMOVE_VOTER if case.alone], ids=lambda case: case.name)
async def test_the_last_voter_is_not_removed(
    alone: LiveQuorum, controllers: KafkaControllers, case: RemoveVoterCase
) -> None:
    """The only voter stays, and the words say that the voter is not there."""
    leader, before = await alone.leader(controllers)
    answered = await outcome(controllers, leader, RemoveVoter(cluster_id=alone.cluster_id, voter=leader.key))
    assert answered == case.refused
    assert keys(await controllers.describe_quorum(leader.endpoint)) == keys(before)
