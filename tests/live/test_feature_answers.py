"""UpdateFeatures' real answers, release by release, compared with `feature_answers`."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import pytest
import pytest_asyncio
from tests.live.feature_answers import (
    BEGIN,
    LADDERS,
    LEADER,
    METADATA,
    NOT_THE_ACTIVE_CONTROLLER,
    OTHER,
    PREFACE,
    REFUSED,
    RELEASES,
    FeatureAnswer,
    LaggingCase,
    lagging,
    lagging_cases,
    up,
)
from tests.live.jars import ensure_kafka
from tests.live.quorum import LiveNode, LiveQuorum
from tests.live.registering import register_broker, registration
from tests.live.storage import NoInitialControllers
from tests.live.waiting import wait_for

from kafka_quorum.api.features import supported_by
from kafka_quorum.api.release import parse_release
from kafka_quorum.errors import KafkaRefused, KafkaVersionUnsupported
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import FeatureStep, UpdateFeature
from kafka_quorum.wire.admin import KafkaControllers

OLD = 3002
"""The node id of a real controller of 3.9.2."""
pytestmark = [pytest.mark.live, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="module")]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """One controller of each release, alone in a dynamic quorum at the level of `BEGIN`."""

    quorum: LiveQuorum
    controllers: KafkaControllers

    @property
    def active(self) -> LiveNode:
        """The only voter."""
        return next(iter(self.quorum.nodes.values()))

    @property
    def release(self) -> str:
        """The voter's release."""
        return self.active.kafka.version

    async def answer(self, step: FeatureStep, *, validate_only: bool, asked: LiveNode | None = None) -> tuple[str, str]:
        """Kafka's name of the error and its words, both empty for success."""
        request = UpdateFeature(step=step, validate_only=validate_only, timeout_ms=5_000)
        try:
            await self.controllers.update_feature((asked or self.active).endpoint, request)
        except KafkaRefused as error:
            return error.name, error.server_message
        return "", ""

    async def levels(self) -> dict[str, int]:
        """The finalized levels by name; a feature that is off has no entry."""
        versions = await self.controllers.api_versions(self.active.endpoint)
        return {feature.name: feature.level for feature in versions.finalized}

    def words(self, refused: str) -> tuple[str, str]:
        """The expected `answer` for these words."""
        return (REFUSED, PREFACE[self.release] + refused) if refused else ("", "")


async def begun(quorum: LiveQuorum, controllers: KafkaControllers) -> World:
    """Formats and starts the voter, and waits until it has the finalized levels.

    Until it has read its bootstrap records, a controller of 3.9 answers with metadata.version 1.
    """
    node = quorum.add_node(LEADER)
    quorum.must_format([node], quorum.initial_controllers([node]), (f"{METADATA}={BEGIN[node.kafka.version]}",))
    quorum.start(node)
    world = World(quorum=quorum, controllers=controllers)
    await quorum.leader(controllers)

    async def finalized() -> bool | None:
        return (await world.levels()).get(METADATA) == BEGIN[node.kafka.version] or None

    await wait_for("finalized features", finalized)
    return world


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def worlds(
    new_quorum: Callable[[str], LiveQuorum], controllers: KafkaControllers
) -> AsyncIterator[dict[str, World]]:
    """Starts all three at once, for all tests that do not change the levels."""
    quorums = [of_release(new_quorum, "features", release) for release in RELEASES]
    yield {quorum.kafka.version: await begun(quorum, controllers) for quorum in quorums}
    for quorum in quorums:
        quorum.close()


def of_release(new_quorum: Callable[[str], LiveQuorum], name: str, release: str) -> LiveQuorum:
    """A quorum without nodes, whose nodes will be of this release."""
    quorum = new_quorum(f"{name}-{release}")
    quorum.kafka = ensure_kafka(release)
    return quorum


CASES = [(release, case) for release in RELEASES for case in lagging_cases(release)]


@pytest.mark.parametrize(("release", "case"), CASES, ids=[f"{release}-{case.name}" for release, case in CASES])
async def test_a_registered_node_is_in_the_way(worlds: dict[str, World], release: str, case: LaggingCase) -> None:
    """A registration that lacks a level blocks it, even without a process, and the refusal names it."""
    world = worlds[release]
    before = await world.levels()
    able = (await world.controllers.api_versions(world.active.endpoint)).supported
    if case.broker:
        assert await register_broker(world.active, world.quorum.cluster_id, OTHER, case.supported) == "NONE"
    else:
        await world.controllers.register_controller(world.active.endpoint, registration(OTHER, case.supported))
    try:
        answered = await world.answer(case.step, validate_only=True)
        if case.refused:
            assert await world.answer(case.step, validate_only=False) == answered
    finally:  # by a newer registration of the same id, which also ends the block below 4.4
        if case.broker:
            await register_broker(world.active, world.quorum.cluster_id, OTHER, able)
        else:
            await world.controllers.register_controller(world.active.endpoint, registration(OTHER, able))
    assert answered == world.words(case.refused)
    assert await world.levels() == before


@pytest.mark.parametrize("release", [release for release in RELEASES if release != "3.9.2"])
async def test_an_old_controller_that_runs_is_named(worlds: dict[str, World], release: str) -> None:
    """A real 3.9.2 observer blocks the first level above 3.9, even if it is stopped, until it is registered again."""
    world = worlds[release]
    step = up(METADATA, BEGIN[release] + 1)
    node = world.quorum.add_node(OLD, ensure_kafka("3.9.2"))
    world.quorum.must_format([node], NoInitialControllers())
    world.quorum.start(node)

    async def refused() -> tuple[str, str] | None:
        answer = await world.answer(step, validate_only=True)
        return answer if answer[0] else None

    answered = await wait_for("the observer in the way", refused)
    assert answered == world.words(lagging(step, 1, 21, f"Controller {OLD}"))
    assert await world.answer(step, validate_only=True, asked=node) == NOT_THE_ACTIVE_CONTROLLER
    node.running.kill()
    assert await world.answer(step, validate_only=True) == answered
    able = (await world.controllers.api_versions(world.active.endpoint)).supported
    await world.controllers.register_controller(world.active.endpoint, registration(OLD, able))
    assert await world.answer(step, validate_only=True) == ("", "")


@pytest.mark.parametrize("release", [release for release in RELEASES if release != "4.4.0"])
async def test_an_older_server_cannot_forget_a_controller(worlds: dict[str, World], release: str) -> None:
    """Before 4.4 there is no request to unregister a controller, so nothing is sent."""
    world = worlds[release]
    with pytest.raises(KafkaVersionUnsupported):
        await world.controllers.unregister_controller(world.active.endpoint, NodeID(OTHER))


@pytest.mark.parametrize("release", RELEASES)
async def test_every_release_reports_what_the_table_says(worlds: dict[str, World], release: str) -> None:
    """A real controller's ApiVersions has exactly the ranges in the operator's table for its release."""
    world = worlds[release]
    versions = await world.controllers.api_versions(world.active.endpoint)
    number = parse_release(release)
    assert number is not None
    assert versions.supported == supported_by(number)


@pytest.mark.parametrize("release", RELEASES)
async def test_the_ladder(new_quorum: Callable[[str], LiveQuorum], controllers: KafkaControllers, release: str) -> None:
    """At each step, a real controller answers as in the table, and changes only what the table lists."""
    world = await begun(of_release(new_quorum, "ladder", release), controllers)
    for answer in LADDERS[release]:
        await climb(world, answer)
    world.quorum.close()


async def climb(world: World, answer: FeatureAnswer) -> None:
    """One line of the table: first only validated, then sent."""
    step, before = answer.step, await world.levels()
    assert await world.answer(step, validate_only=True) == world.words(answer.refused), step
    assert await world.levels() == before, step
    if not answer.sent:
        return
    assert await world.answer(step, validate_only=False) == world.words(answer.refused), step
    expected = {**before, step.name: step.level} if answer.changes and not answer.refused else before
    expected = {name: level for name, level in expected.items() if level}

    async def shown() -> bool | None:
        return await world.levels() == expected or None

    await wait_for(f"{step} in {expected}", shown, deadline_s=5.0)
