"""Removed controllers that stay registered: how they are found, what they block, and what ends the block."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import pytest
import pytest_asyncio
from tests.live.feature_answers import METADATA, PREFACE, lagging, ranges, up
from tests.live.jars import DEFAULT_VERSION, ensure_kafka
from tests.live.quorum import LiveNode, LiveQuorum
from tests.live.registering import registration
from tests.live.storage import NoInitialControllers
from tests.live.waiting import wait_for

from kafka_quorum.errors import KafkaRefused
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import AddVoter, FeatureStep, RemoveVoter, UpdateFeature
from kafka_quorum.wire.admin import KafkaControllers

pytestmark = [pytest.mark.live, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="module")]

VOTERS, GHOST, NOBODY = (3000, 3001), 3002, 3077
BEGIN, FORGETS_FROM = 27, 33
"""The highest level of 4.1, which the removed controller supports, too; and the level from which 4.4 unregisters."""

ACKNOWLEDGED = "RegistrationResponseHandler: controller acknowledged ControllerRegistrationRequest"
"""A controller's log line after its registration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Two voters of 4.4.0 at the level of 4.1, and a controller of 4.1.2 that was added, removed and stopped."""

    quorum: LiveQuorum
    controllers: KafkaControllers

    async def leader(self) -> LiveNode:
        """The present leader."""
        return (await self.quorum.leader(self.controllers))[0]

    async def registered(self) -> tuple[int, ...]:
        """The controllers that the leader shows as registered."""
        return (await self.controllers.describe_cluster((await self.leader()).endpoint)).controller_ids

    async def until_registered(self, *node_ids: int) -> None:
        """Waits until the leader shows exactly these controllers as registered."""

        async def shown() -> bool | None:
            return await self.registered() == node_ids or None

        await wait_for(f"registered controllers {node_ids}", shown)

    async def validate(self, step: FeatureStep) -> str:
        """The message of Kafka's refusal, or an empty text if the step is allowed."""
        try:
            await self.update(step, validate_only=True)
        except KafkaRefused as error:
            return error.server_message.removeprefix(PREFACE[DEFAULT_VERSION])
        return ""

    async def update(self, step: FeatureStep, *, validate_only: bool) -> None:
        """Sends one step to the leader."""
        request = UpdateFeature(step=step, validate_only=validate_only, timeout_ms=5_000)
        await self.controllers.update_feature((await self.leader()).endpoint, request)

    async def unregister(self, node_id: int, asked: LiveNode | None = None) -> str:
        """The name of Kafka's error, or an empty text for success."""
        try:
            await self.controllers.unregister_controller((asked or await self.leader()).endpoint, NodeID(node_id))
        except KafkaRefused as error:
            return error.name
        return ""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(new_quorum: Callable[[str], LiveQuorum], controllers: KafkaControllers) -> AsyncIterator[World]:
    """A quorum with a controller that was added, removed from the voters, and then stopped, as in practice."""
    quorum = new_quorum("ghosts")
    voters = [quorum.add_node(each) for each in VOTERS]
    ghost = quorum.add_node(GHOST, ensure_kafka("4.1.2"))
    quorum.must_format(voters, quorum.initial_controllers(voters), (f"{METADATA}={BEGIN}",))
    quorum.must_format([ghost], NoInitialControllers())
    quorum.start(*voters, ghost)
    world = World(quorum=quorum, controllers=controllers)
    await world.until_registered(*VOTERS, GHOST)
    await quorum.observer(controllers, ghost.key)
    leader = await world.leader()
    add = AddVoter(cluster_id=quorum.cluster_id, voter=ghost.key, listeners=(ghost.listener,), timeout_ms=10_000)
    await controllers.add_voter(leader.endpoint, add)

    async def removed() -> bool | None:
        leader, answer = await quorum.leader(controllers)
        if ghost.key not in {row.key for row in answer.voters}:
            return True
        await controllers.remove_voter(leader.endpoint, RemoveVoter(cluster_id=quorum.cluster_id, voter=ghost.key))
        return None

    await wait_for("the ghost removed", removed)
    ghost.running.stop()
    yield world
    quorum.close()


async def test_a_ghost_from_its_death_to_its_end(world: World) -> None:
    """A removed and stopped controller blocks a level until it is registered again, or from 4.4 on unregistered.

    This is one test, because each part begins where the previous one ends.
    """
    await it_blocks_and_is_found(world)
    await below_44_a_newer_registration_cures_it(world)
    await one_without_the_listener_is_not_found(world)
    for level in range(BEGIN + 1, FORGETS_FROM + 1):
        assert await world.unregister(NOBODY) == "UNSUPPORTED_VERSION"
        await world.update(up(METADATA, level), validate_only=False)
    await from_44_it_is_forgotten(world)
    await who_lives_is_back_at_once(world)


async def it_blocks_and_is_found(world: World) -> None:
    """The removed controller blocks the level. DescribeCluster lists it, and for some minutes it is an observer."""
    step = up(METADATA, BEGIN + 1)
    assert await world.validate(step) == lagging(step, 7, BEGIN, f"Controller {GHOST}")
    _, answer = await world.quorum.leader(world.controllers)
    assert {int(row.key.node_id) for row in answer.voters} == set(VOTERS)
    assert await world.registered() == (*VOTERS, GHOST)
    # A stopped observer is listed for some minutes: only its last fetch shows whether it runs.
    assert [int(row.key.node_id) for row in answer.observers] == [GHOST]


async def below_44_a_newer_registration_cures_it(world: World) -> None:
    """If it is registered again with the leader's ranges, it blocks nothing, and is still listed."""
    leader = await world.leader()
    able = (await world.controllers.api_versions(leader.endpoint)).supported
    await world.controllers.register_controller(leader.endpoint, registration(GHOST, able))
    assert await world.validate(up(METADATA, BEGIN + 1)) == ""
    assert await world.registered() == (*VOTERS, GHOST)


async def one_without_the_listener_is_not_found(world: World) -> None:
    """DescribeCluster omits a controller without a listener of the requested name, but it still blocks the level."""
    leader, step = await world.leader(), up(METADATA, BEGIN + 1)
    able = (await world.controllers.api_versions(leader.endpoint)).supported
    hidden = registration(NOBODY, ranges(kraft_version=(0, 1), metadata_version=(7, BEGIN)), "ELSEWHERE")
    await world.controllers.register_controller(leader.endpoint, hidden)
    assert await world.registered() == (*VOTERS, GHOST)
    assert await world.validate(step) == lagging(step, 7, BEGIN, f"Controller {NOBODY}")
    await world.controllers.register_controller(leader.endpoint, registration(NOBODY, able))
    assert await world.validate(step) == ""
    await world.until_registered(*VOTERS, GHOST, NOBODY)


async def from_44_it_is_forgotten(world: World) -> None:
    """An unregistered controller is not listed, and unregistering it again is no error. The active one is refused."""
    leader = await world.leader()
    follower = next(node for node in world.quorum.nodes.values() if node.node_id in VOTERS and node is not leader)
    assert await world.unregister(GHOST, follower) == "NOT_CONTROLLER"
    for node_id in (GHOST, NOBODY, GHOST, NOBODY):
        assert await world.unregister(node_id) == ""
    assert await world.unregister(int(leader.node_id)) == "INVALID_REQUEST"
    await world.until_registered(*VOTERS)


async def who_lives_is_back_at_once(world: World) -> None:
    """A live voter that was unregistered by mistake registers again within seconds."""
    leader = await world.leader()
    follower = next(node for node in world.quorum.nodes.values() if node.node_id in VOTERS and node is not leader)
    before = follower.log.read_text().count(ACKNOWLEDGED)
    assert await world.unregister(int(follower.node_id)) == ""

    async def registered_again() -> bool | None:
        return follower.log.read_text().count(ACKNOWLEDGED) > before or None

    await wait_for("a registration of its own", registered_again, deadline_s=10.0)
    await world.until_registered(*VOTERS)
