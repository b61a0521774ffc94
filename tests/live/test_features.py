"""The feature levels of a new quorum, and that a pre-made key makes a standalone quorum."""

from collections.abc import Callable

import pytest
from tests.live.quorum import LiveQuorum
from tests.live.storage import InitialControllers
from tests.live.waiting import wait_for

from kafka_quorum.model.quorum import NodeVersions, QuorumAnswer
from kafka_quorum.wire.admin import KafkaControllers

pytestmark = [pytest.mark.live, pytest.mark.timeout(120), pytest.mark.asyncio(loop_scope="module")]


async def come_up(
    quorum: LiveQuorum, controllers: KafkaControllers, features: tuple[str, ...]
) -> tuple[InitialControllers, QuorumAnswer, NodeVersions]:
    """A quorum of one, formatted with one initial controller: its voters and finalized features."""
    node = quorum.add_node(3000)
    mode = quorum.initial_controllers([node])
    quorum.must_format([node], mode, features)
    quorum.start(node)
    _, answer = await quorum.leader(controllers)

    async def finalized() -> NodeVersions | None:
        versions = await controllers.api_versions(node.endpoint)
        return versions if versions.finalized_epoch >= 0 else None

    versions = await wait_for("finalized features", finalized)
    quorum.close()
    return mode, answer, versions


def levels(versions: NodeVersions) -> dict[str, int]:
    """Finalized levels by name."""
    return {feature.name: feature.level for feature in versions.finalized}


async def test_one_initial_controller_is_a_standalone_quorum_with_a_premade_key(
    new_quorum: Callable[[str], LiveQuorum], controllers: KafkaControllers
) -> None:
    """One entry in --initial-controllers leads alone with its pre-made key, and all features are at their highest."""
    mode, answer, versions = await come_up(new_quorum("default"), controllers, ())
    assert [row.key for row in answer.voters] == [mode.voters[0][0]]
    assert not answer.observers
    supported = {feature.name: feature.max_level for feature in versions.supported}
    assert levels(versions) == supported
    assert levels(versions) == {
        "eligible.leader.replicas.version": 1,
        "group.version": 1,
        "kraft.version": 1,
        "metadata.version": 33,
        "share.version": 2,
        "streams.version": 1,
        "transaction.version": 2,
    }


async def test_an_explicit_metadata_version_sets_the_others_to_its_defaults(
    new_quorum: Callable[[str], LiveQuorum], controllers: KafkaControllers
) -> None:
    """--feature metadata.version=27 sets the defaults of level 27, and kraft.version is still 1."""
    _, _, versions = await come_up(new_quorum("explicit"), controllers, ("metadata.version=27",))
    assert levels(versions) == {
        "eligible.leader.replicas.version": 1,
        "group.version": 1,
        "kraft.version": 1,
        "metadata.version": 27,
        "transaction.version": 2,
    }


async def test_several_explicit_features(
    new_quorum: Callable[[str], LiveQuorum], controllers: KafkaControllers
) -> None:
    """Explicit levels below the defaults are used; a feature at level 0 is not finalized."""
    wanted = ("metadata.version=21", "kraft.version=1", "transaction.version=0")
    _, _, versions = await come_up(new_quorum("several"), controllers, wanted)
    assert levels(versions) == {"kraft.version": 1, "metadata.version": 21}
