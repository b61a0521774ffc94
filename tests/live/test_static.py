"""Static quorums: how Kafka formats and reports them, and how they become dynamic.

A static quorum has `controller.quorum.voters` in its settings and kraft.version 0; its voters have no directory ids.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from tests.live.feature_answers import KRAFT, METADATA, NOT_ALL_VOTERS, PREFACE, not_registered, up
from tests.live.jars import DEFAULT_VERSION, OLDER_VERSIONS, Kafka, ensure_kafka
from tests.live.ports import HOST
from tests.live.quorum import LiveNode, LiveQuorum
from tests.live.storage import ModeMissing, NoInitialControllers, Standalone
from tests.live.waiting import wait_for

from kafka_quorum.errors import KafkaRefused
from kafka_quorum.model.quorum import FinalizedFeature, QuorumAnswer, RemoveVoter, UpdateFeature
from kafka_quorum.wire.admin import KafkaControllers

pytestmark = [pytest.mark.live, pytest.mark.timeout(240), pytest.mark.asyncio(loop_scope="module")]

NODES = (3000, 3001, 3002)
RELEASES = (DEFAULT_VERSION, *OLDER_VERSIONS)
LEVEL = 20
"""A metadata.version that every release supports and none has as its default."""
META, BOOTSTRAP = "meta.properties", "bootstrap.checkpoint"
CHECKPOINT = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
FILES = {"3.9.2": {META, BOOTSTRAP}, "4.1.2": {META, BOOTSTRAP}, "4.4.0": {META, CHECKPOINT}}
"""By release: what a static format writes."""


def static(quorum: LiveQuorum, node: LiveNode, *, both: bool = False) -> None:
    """Gives it the settings of a static voter; with `both` it also has the bootstrap servers of a dynamic one."""
    voters = ",".join(f"{each.node_id}@{HOST}:{each.port}" for each in quorum.nodes.values())
    if both:
        quorum.write_config(node, controller_quorum_voters=voters)
    else:
        quorum.write_config(node, controller_quorum_voters=voters, controller_quorum_bootstrap_servers="")


@pytest.mark.parametrize("release", RELEASES)
async def test_how_a_static_voter_is_formatted(release: str, tmp_path: Path) -> None:
    """A static format has no mode or no initial controllers; other modes, and kraft.version 1, are refused."""
    quorum = LiveQuorum(kafka=ensure_kafka(release), directory=tmp_path)
    plain, known, other, alone, raised = (quorum.add_node(each) for each in range(3000, 3005))
    for node in quorum.nodes.values():
        static(quorum, node)
    results = await asyncio.gather(
        asyncio.to_thread(quorum.format, [plain, known], ModeMissing(), (f"{METADATA}={LEVEL}",)),
        asyncio.to_thread(quorum.format, [other], NoInitialControllers()),
        asyncio.to_thread(quorum.format, [alone], Standalone()),
        asyncio.to_thread(quorum.format, [raised], ModeMissing(), (f"{KRAFT}=1",)),
    )
    first, second, third, fourth, fifth = (result for each in results for result in each)
    assert (first.exit_code, second.exit_code, third.exit_code) == (0, 0, 0)
    assert f"with {METADATA} 3.8-IV0" in first.output
    assert {str(path.relative_to(plain.data)) for path in plain.data.rglob("*") if path.is_file()} == FILES[release]
    assert plain.meta["directory.id"] != known.meta["directory.id"]  # Kafka generates it: it cannot be given
    assert (fourth.exit_code, fifth.exit_code) == (1, 1)
    assert "You cannot specify controller.quorum.voters and format the node with" in fourth.output
    assert "Cannot set kraft.version to 1 unless controller.quorum.voters is empty" in fifth.output
    assert not alone.data.exists()
    assert not raised.data.exists()


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Three static voters of one release."""

    quorum: LiveQuorum
    controllers: KafkaControllers

    async def upgrade(self, *, validate_only: bool) -> str:
        """Requests kraft.version 1 from the leader: the words of its refusal, empty for success."""
        leader, _ = await self.quorum.leader(self.controllers)
        request = UpdateFeature(step=up(KRAFT, 1), validate_only=validate_only, timeout_ms=5_000)
        try:
            await self.controllers.update_feature(leader.endpoint, request)
        except KafkaRefused as error:
            return error.server_message.removeprefix(PREFACE[self.quorum.kafka.version])
        return ""

    async def finalized(self) -> dict[str, int]:
        """The finalized levels of the leader."""
        leader, _ = await self.quorum.leader(self.controllers)
        versions = await self.controllers.api_versions(leader.endpoint)
        return {feature.name: feature.level for feature in versions.finalized}

    async def upgradable(self) -> set[str]:
        """Waits until every voter has registered and reported to this leader; returns the refusals until then."""
        refusals: set[str] = set()

        async def allowed() -> bool | None:
            refusals.add(await self.upgrade(validate_only=True))
            return "" in refusals or None

        await wait_for(f"{KRAFT} 1 allowed", allowed)
        return refusals - {""}

    async def restart(self, node: LiveNode) -> None:
        """Stops it, starts it with its present settings, and waits until it votes and has everything."""
        if node.running.exit_code is None:
            node.running.stop()
        since_ms = int(time.time() * 1000)  # the leader's clock is the same machine's
        self.quorum.start(node)

        async def caught_up() -> QuorumAnswer | None:
            answer = await self.quorum.look(self.controllers)
            rows = [row for row in answer.voters if row.key.node_id == node.node_id] if answer else []
            if answer is None or answer.high_watermark <= 0 or not rows or rows[0].last_fetch_ms <= since_ms:
                return None
            return answer if rows[0].log_end_offset >= answer.high_watermark - 2 else None

        await wait_for(f"controller {node.node_id} caught up", caught_up)


@pytest.fixture(scope="module", params=(DEFAULT_VERSION, "4.1.2"))
def kafka(request: pytest.FixtureRequest) -> Kafka:
    """The releases that can make a static quorum dynamic."""
    return ensure_kafka(str(request.param))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(new_quorum: Callable[[str], LiveQuorum], controllers: KafkaControllers) -> AsyncIterator[World]:
    """Formats and starts three, and waits for a leader."""
    quorum = new_quorum("static")
    await begin(quorum, controllers, NODES)
    yield World(quorum=quorum, controllers=controllers)
    quorum.close()


async def begin(quorum: LiveQuorum, controllers: KafkaControllers, node_ids: tuple[int, ...]) -> None:
    """Formats and starts static voters, and waits until the leader has the finalized levels.

    Before it has written the levels of the format, a leader of 4.1 shows the lowest metadata.version that it supports.
    """
    nodes = [quorum.add_node(each) for each in node_ids]
    for node in nodes:
        static(quorum, node)
    quorum.must_format(nodes, ModeMissing(), (f"{METADATA}={LEVEL}",))
    quorum.start(*nodes)

    async def finalized() -> bool | None:
        leader, _ = await quorum.leader(controllers)
        levels = (await controllers.api_versions(leader.endpoint)).finalized
        return FinalizedFeature(name=METADATA, level=LEVEL) in levels or None

    await wait_for("finalized features", finalized)


async def test_a_static_quorum_becomes_dynamic(world: World) -> None:
    """From voters without directory ids to voters that need no list, with every wrong step on the way.

    One test, because each part begins at the end of the part before.
    """
    quorum = world.quorum
    await it_has_no_directory_ids(world)
    leader, _ = await quorum.leader(world.controllers)
    follower = next(node for node in quorum.nodes.values() if node is not leader)
    await the_leader_counts_who_has_reported(world, follower)
    await bootstrap_servers_alone_leave_it_without_voters(world, follower)
    static(quorum, follower, both=True)  # which at version 0 is the same as the list alone
    await world.restart(follower)
    await world.upgradable()
    assert await world.upgrade(validate_only=False) == ""
    await directory_ids_appear(world)
    leader, _ = await quorum.leader(world.controllers)
    for node in (*(node for node in quorum.nodes.values() if node is not leader), leader):
        quorum.write_config(node)
        await world.restart(node)
    await directory_ids_appear(world)
    now, _ = await quorum.leader(world.controllers)
    assert now is not leader


async def it_has_no_directory_ids(world: World) -> None:
    """DescribeQuorum and the finalized levels do not show kraft.version, and a voter cannot be removed."""
    leader, answer = await world.quorum.leader(world.controllers)
    assert {int(row.key.node_id) for row in answer.voters} == set(NODES)
    assert all(row.key.directory_id is None for row in answer.voters)
    assert await world.finalized() == {METADATA: LEVEL}
    removal = RemoveVoter(cluster_id=world.quorum.cluster_id, voter=leader.key)
    with pytest.raises(KafkaRefused, match=r"because the kraft\.version feature is 0") as refusal:
        await world.controllers.remove_voter(leader.endpoint, removal)
    assert refusal.value.name == "UNSUPPORTED_VERSION"


async def the_leader_counts_who_has_reported(world: World, follower: LiveNode) -> None:
    """It refuses until every voter has reported to it, and then allows the step, even if one has stopped."""
    assert await world.upgradable() <= {NOT_ALL_VOTERS, *(not_registered(node_id) for node_id in NODES)}
    follower.running.kill()
    assert await world.upgrade(validate_only=True) == ""  # so it must be checked in addition whether all are live


async def bootstrap_servers_alone_leave_it_without_voters(world: World, node: LiveNode) -> None:
    """At version 0 a voter without the list acts as if there were no voters.

    Then it ends with 1, or it follows, looks well to the leader, and could elect no leader, depending on time. So the
    quorum's answers do not show the mistake.
    """
    said = len(node.log.read_text())
    world.quorum.write_config(node)
    world.quorum.start(node)

    async def without_voters() -> bool | None:
        return "Starting voters are VoterSet(voters={})" in node.log.read_text()[said:] or None

    await wait_for("a voter that knows no voters", without_voters)
    node.running.kill()


async def directory_ids_appear(world: World) -> None:
    """The voters have the directory ids of the disks, and kraft.version is finalized at 1."""
    disks = {node.key for node in world.quorum.nodes.values()}

    async def shown() -> bool | None:
        _, answer = await world.quorum.leader(world.controllers)
        return {row.key for row in answer.voters} == disks or None

    await wait_for("the directory ids of the disks", shown)
    assert await world.finalized() == {METADATA: LEVEL, KRAFT: 1}


async def test_39_says_yes_and_does_not_do_it(tmp_path: Path, controllers: KafkaControllers) -> None:
    """3.9 finalizes kraft.version 1 and stays static; the next release shows the truth, and can do it."""
    quorum = LiveQuorum(kafka=ensure_kafka("3.9.2"), directory=tmp_path)
    world = World(quorum=quorum, controllers=controllers)
    try:
        await begin(quorum, controllers, NODES[:1])
        await yes_without_doing_it(world)
        leader, _ = await quorum.leader(controllers)
        leader.kafka = quorum.kafka = ensure_kafka("4.1.2")
        await world.restart(leader)
        assert KRAFT not in await world.finalized()
        await world.upgradable()
        assert await world.upgrade(validate_only=False) == ""
        await directory_ids_appear(world)
    finally:
        quorum.close()


async def yes_without_doing_it(world: World) -> None:
    """Finalized by its own report, but without directory ids."""
    assert await world.upgrade(validate_only=False) == ""

    async def finalized() -> bool | None:
        return (await world.finalized()).get(KRAFT) == 1 or None

    await wait_for(f"{KRAFT} 1 finalized", finalized)
    _, answer = await world.quorum.leader(world.controllers)
    assert [row.key.directory_id for row in answer.voters] == [None]
