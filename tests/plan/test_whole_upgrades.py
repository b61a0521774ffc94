"""Whole rolls and level changes carried out to the end, and interrupted at every action. See `test_interruptions`."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.model.values import IDS, desired, runtime
from tests.plan.driver import World
from tests.plan.reading import planned, reasons

from kafka_quorum.api.features import KRAFT, METADATA
from kafka_quorum.model.desired import BootstrapMode, Desired, Downgrade, FeatureLevel, FeaturePolicy
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import FinalizedFeature

BAD_IMAGE = "registry/kafka:no-such-tag"
LIMIT = 400


def wanted(release: str = "4.4.0", *, levels: dict[str, int] | None = None, **changes: Any) -> Desired:  # noqa: ANN401 - whatever the field holds
    """A quorum of three of this release, and these levels by name."""
    features = tuple(FeatureLevel(name=name, level=level) for name, level in (levels or {}).items())
    return desired(runtime=runtime(release=release), features=features, **changes)


def made(spec: Desired, **changes: Any) -> World:  # noqa: ANN401 - whatever the field holds
    """A quorum at rest that was created from this spec."""
    world = World(desired=spec, **changes)
    world.run(limit=LIMIT)
    return world


def then(world: World, spec: Desired) -> World:
    """The same world at the moment of a change of the spec."""
    world.desired = spec
    world._move()
    return world


def followed() -> World:
    """From 4.1 to 4.4 with the policy Follow."""
    return then(made(wanted("4.1.2")), wanted(feature_policy=FeaturePolicy.FOLLOW))


def turned_dynamic() -> World:
    """A static quorum of 4.1 whose spec requests kraft.version 1."""
    spec = wanted("4.1.2", bootstrap=BootstrapMode.STATIC)
    return then(made(spec), wanted("4.1.2", bootstrap=BootstrapMode.STATIC, levels={KRAFT: 1}))


def haunted(metadata: int) -> World:
    """Three of former four: the fourth is still registered with an older release, and higher levels are requested."""
    world = made(wanted("4.3.1", levels={METADATA: metadata}, replicas=4))
    then(world, wanted("4.3.1", levels={METADATA: metadata}))
    world.run(limit=LIMIT)
    assert 3003 in world.registered
    return then(world, wanted("4.4.0", levels={METADATA: 33}))


def lowered(*, lossy: frozenset[int] = frozenset()) -> World:
    """From the top of 4.4 down to 4.3 with the policy Safe."""
    world = made(wanted(), lossy=lossy)
    return then(world, wanted(levels={METADATA: 31, "group.version": 0}, downgrade=Downgrade.SAFE))


def with_old_broker() -> World:
    """A broker of 4.1 blocks the requested level."""
    world = made(wanted("4.1.2"), brokers={1: "4.1.2"})
    return then(world, wanted(levels={METADATA: 28}))


def bad_image() -> World:
    """An image that does not start."""
    world = made(wanted(), bad_images=frozenset({BAD_IMAGE}))
    return then(world, desired(runtime=runtime(image=BAD_IMAGE)))


SCENES: dict[str, tuple[Callable[[], World], dict[str, int], set[str]]] = {
    "a larger heap": (
        lambda: then(made(wanted()), desired(runtime=runtime(heap="1Gi"))),
        {METADATA: 33},
        set(),
    ),
    "one voter": (
        lambda: then(
            made(wanted(replicas=1, allow_interruption=True)),
            desired(runtime=runtime(heap="1Gi"), replicas=1, allow_interruption=True),
        ),
        {METADATA: 33},
        set(),
    ),
    "4.1 to 4.4, held": (lambda: then(made(wanted("4.1.2")), wanted()), {METADATA: 27}, set()),
    "4.1 to 4.4, followed": (followed, {METADATA: 33, "share.version": 2, "streams.version": 1}, set()),
    "static to dynamic": (turned_dynamic, {KRAFT: 1, METADATA: 27}, set()),
    "ghost, cured by a registration": (lambda: haunted(29), {METADATA: 33}, set()),
    "lowered": (lowered, {METADATA: 31, "group.version": 0}, set()),
    "lowered, and refused": (lambda: lowered(lossy=frozenset({32})), {METADATA: 33}, {"DowngradeRefused"}),
    "old broker": (with_old_broker, {METADATA: 27}, {"FeatureBlocked"}),
    "bad image": (bad_image, {METADATA: 33}, {"PodStuck", "RollHeld"}),
}


def end_of(world: World) -> tuple[dict[str, int], frozenset[str], frozenset[NodeID]]:
    """The facts by which two ends are compared: levels, waits, and running controllers."""
    said = planned(world.observed, world.desired)
    assert said.actions == ()
    assert world.observed.status.feature_operation is None
    running = frozenset(one.node_id for one in world.observed.pods if one.running)
    return world.levels, frozenset(reasons(said)), running


@pytest.mark.parametrize("scene", SCENES)
def test_to_the_end(scene: str) -> None:
    """Every scene ends with these levels, and waits only for what a person must do."""
    begin, levels, left = SCENES[scene]
    world = begin()
    world.run(limit=LIMIT)
    seen, waits, _ = end_of(world)
    assert {name: seen.get(name, 0) for name in levels} == levels
    assert waits == left
    record = world.observed.record
    assert record is not None
    assert record.levels == tuple(FinalizedFeature(name=name, level=of) for name, of in sorted(seen.items()) if of)


@pytest.mark.parametrize("scene", SCENES)
def test_interrupted_anywhere(scene: str) -> None:
    """Whichever action is lost, with the rest of its plan, the end is the same."""
    straight = SCENES[scene][0]()
    forks: list[tuple[World, int]] = []
    straight.run(forks=forks, limit=LIMIT)
    for number, (world, drop) in enumerate(forks):
        world.run(drop=drop, limit=LIMIT)
        assert end_of(world) == end_of(straight), f"{scene}, without action {number}"


def test_order_of_a_roll() -> None:
    """Each controller restarts once, the active one last; the level changes after it restart none."""
    world = followed()
    leader = world.leader
    world.run(limit=LIMIT)
    assert leader is not None
    assert world.restarts == [*(of for of in IDS if of != leader.node_id), leader.node_id]


def test_order_of_levels() -> None:
    """metadata.version is raised level by level, then the others, also by one each."""
    world = followed()
    world.run(limit=LIMIT)
    levels = [int(text.rpartition(" ")[2]) for text in world.changes if text.startswith(METADATA)]
    assert levels == list(range(28, 34))
    others = world.changes[len(levels) :]
    assert not any(text.startswith(METADATA) for text in others)
    assert others[-1] == "streams.version 1"
    assert [text for text in others if text.startswith("share")] == ["share.version 1", "share.version 2"]


def test_order_downwards() -> None:
    """metadata.version is lowered last."""
    world = lowered()
    world.run(limit=LIMIT)
    assert world.changes == ["group.version 0", "metadata.version 32", "metadata.version 31"]


def test_nothing_is_lowered_half_the_way() -> None:
    """A way down whose last step Kafka refuses does not begin: metadata.version stays as it was."""
    world = lowered(lossy=frozenset({32}))
    world.run(limit=LIMIT)
    assert METADATA not in {text.partition(" ")[0] for text in world.changes}


def test_static_is_dropped_by_a_roll() -> None:
    """After kraft.version is 1 the static voters are dropped, and every controller restarts once without them."""
    world = turned_dynamic()
    record = world.observed.record
    assert record is not None
    assert record.static
    world.run(limit=LIMIT)
    assert world.changes == ["kraft.version 1"]
    assert sorted(world.restarts) == list(IDS)
    after = world.observed.record
    assert after is not None
    assert not after.static
    assert {world._runtime(one).static_voters for one in world.observed.pods} == {()}
    assert after.cluster_id == record.cluster_id


def test_static_quorum_scales_when_it_is_dynamic() -> None:
    """Further replicas of a static quorum are added when it is dynamic."""
    world = turned_dynamic()
    world.desired = replace(world.desired, replicas=5)
    world.run(limit=LIMIT)
    assert len(world.voters) == 5


def test_ghosts_are_forgotten() -> None:
    """At a level at which Kafka can unregister controllers, no removed controller stays registered."""
    world = made(wanted(replicas=4))
    then(world, wanted())
    world.run(limit=LIMIT)
    assert set(world.registered) == set(IDS)


def test_ghost_below_that_level() -> None:
    """Below that level a ghost does not block the raise, and is unregistered at the end."""
    world = haunted(29)
    world.run(limit=LIMIT)
    assert set(world.registered) == set(IDS)
    assert world.levels[METADATA] == 33


def test_broker_that_blocks_is_named() -> None:
    """A broker that is too old is reported in the server's words, and no level changes."""
    world = with_old_broker()
    world.run(limit=LIMIT)
    (told,) = {one.message for one in planned(world.observed, world.desired).waits}
    assert "Broker 1 only supports versions 7-27" in told
    assert world.changes == []


def test_going_back_heals() -> None:
    """A roll that an image stopped ends well after the old spec is back."""
    world = bad_image()
    world.run(limit=LIMIT)
    assert len(world.restarts) == 1
    then(world, wanted())
    world.run(limit=LIMIT)
    assert sum(one.running for one in world.observed.pods) == 3
    assert len(world.restarts) == 1
    assert reasons(planned(world.observed, world.desired)) == set()


def test_reversed_anywhere() -> None:
    """Whenever a roll is reversed, every controller runs from the old spec in the end."""
    straight = then(made(wanted()), desired(runtime=runtime(heap="1Gi")))
    forks: list[tuple[World, int]] = []
    straight.run(forks=forks, limit=LIMIT)
    for number, (world, drop) in enumerate(forks):
        if drop == 0:
            world.desired = wanted()
            world.run(limit=LIMIT)
            assert {world._runtime(one).heap for one in world.observed.pods} == {"512Mi"}, f"before action {number}"
            assert end_of(world)[1] == frozenset()


@pytest.mark.parametrize("mode", list(BootstrapMode))
def test_record_lost_anywhere(mode: BootstrapMode) -> None:
    """Whenever the record of a new quorum is lost, it is rebuilt, and the end is the same."""
    straight = World(desired=wanted("4.1.2", bootstrap=mode))
    forks: list[tuple[World, int]] = []
    straight.run(forks=forks, limit=LIMIT)
    for number, (world, drop) in enumerate(forks):
        record = world.observed.record
        if drop or record is None:
            continue
        world.observed = replace(world.observed, record=None)
        world.run(limit=LIMIT)
        after = world.observed.record
        assert after is not None, f"before action {number}"
        assert (after.static, len(world.voters)) == (mode is BootstrapMode.STATIC, 3), f"before action {number}"
        assert {of.mode for of in after.nodes} == {of.mode for of in record.nodes}, f"before action {number}"
        assert end_of(world) == end_of(straight), f"before action {number}"


def test_static_record_lost_anywhere_in_a_roll() -> None:
    """If a static quorum's record is lost while it becomes dynamic, the end is the same."""
    straight = turned_dynamic()
    forks: list[tuple[World, int]] = []
    straight.run(forks=forks, limit=LIMIT)
    for number, (world, drop) in enumerate(forks):
        if drop == 0:
            world.observed = replace(world.observed, record=None)
            world.run(limit=LIMIT)
            assert end_of(world) == end_of(straight), f"before action {number}"


def test_lost_disk_of_a_static_quorum_is_held() -> None:
    """The empty disk of a static quorum is held for a person, because the quorum would accept it as the voter's."""
    world = made(wanted("4.1.2", bootstrap=BootstrapMode.STATIC))
    record = world.observed.record
    assert record is not None
    del world.disks[record.nodes[1].claim_uid or ""]
    world.observed = replace(world.observed, pods=tuple(one for one in world.observed.pods if one.node_id != IDS[1]))
    world._move()
    world.run(limit=LIMIT)
    said = planned(world.observed, world.desired)
    assert world.observed.record is not None
    assert world.observed.record.nodes[1].key == record.nodes[1].key
    assert "LostDisk" in {one.reason for one in said.waits}
