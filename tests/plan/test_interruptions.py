"""Plans carried out to the end, and interrupted at every action: the end is the same, the rules hold throughout."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.model.values import NAME, desired, runtime
from tests.plan.driver import World
from tests.plan.reading import planned, reasons

from kafka_quorum.model import names
from kafka_quorum.model.desired import BootstrapMode
from kafka_quorum.model.identity import BootstrapPhase
from kafka_quorum.model.ids import ClusterID, NodeID

BAD_IMAGE = "registry/kafka:no-such-tag"


def bootstrap(replicas: int = 3, mode: BootstrapMode = BootstrapMode.INITIAL_CONTROLLERS) -> World:
    """A resource that was just created."""
    return World(desired=desired(replicas=replicas, bootstrap=mode, allow_interruption=replicas == 1))


def at_work() -> World:
    """A quorum of three at rest."""
    world = bootstrap()
    world.run()
    return world


def lost(*, claim_too: bool) -> World:
    """Controller 3001 lost its disk and its pod, or its claim with both."""
    world = at_work()
    record = world.observed.record
    assert record is not None
    uid = record.nodes[1].claim_uid
    assert uid is not None
    del world.disks[uid]
    world.observed = replace(world.observed, pods=tuple(one for one in world.observed.pods if one.node_id != 3001))
    if claim_too:
        claims = tuple(one for one in world.observed.claims if one.uid != uid)
        world.observed = replace(world.observed, claims=claims)
    world._move()
    return world


def scaled() -> World:
    """A quorum of three of which five are wanted."""
    world = at_work()
    world.desired = desired(replicas=5)
    return world


def recordless() -> World:
    """A quorum at rest whose identity ConfigMap was deleted."""
    world = at_work()
    world.observed = replace(world.observed, record=None)
    return world


def corrected(*, before: bool) -> World:
    """An image that does not exist, corrected: before anything was formatted, or for one lost pod."""
    bad = runtime(image=BAD_IMAGE)
    if before:
        world = World(desired=desired(runtime=bad), bad_images=frozenset({BAD_IMAGE}))
        world.run()
    else:
        world = at_work()
    world.desired = desired(runtime=runtime(image="registry/kafka:4.4.0"))
    return world


SCENES: dict[str, tuple[Callable[[], World], int, set[str]]] = {
    "bootstrap": (bootstrap, 3, set()),
    "bootstrap of one": (lambda: bootstrap(1), 1, set()),
    "bootstrap of five": (lambda: bootstrap(5), 5, set()),
    "standalone": (lambda: bootstrap(3, BootstrapMode.STANDALONE), 3, set()),
    "disk lost": (lambda: lost(claim_too=False), 3, set()),
    "claim lost": (lambda: lost(claim_too=True), 3, set()),
    "scaled to five": (scaled, 5, set()),
    "record deleted": (recordless, 3, set()),
    "image corrected": (lambda: corrected(before=True), 3, set()),
    "image of a running quorum": (lambda: corrected(before=False), 3, {"NotSupportedYet"}),
}


def end_of(world: World) -> tuple[ClusterID, int, int, frozenset[str]]:
    """What an end is compared by."""
    record = world.observed.record
    assert record is not None
    assert record.phase is BootstrapPhase.STARTED
    said = planned(world.observed, world.desired)
    assert said.actions == ()
    running = sum(one.running for one in world.observed.pods)
    return record.cluster_id, len(world.voters), running, frozenset(reasons(said))


@pytest.mark.parametrize("scene", SCENES)
def test_to_the_end(scene: str) -> None:
    """Every scene comes to its end: so many voters run, and only what a person must do is left."""
    begin, voters, left = SCENES[scene]
    world = begin()
    world.run()
    _, seen, running, waits = end_of(world)
    assert (seen, running, set(waits)) == (voters, voters, left)


@pytest.mark.parametrize("scene", SCENES)
def test_interrupted_anywhere(scene: str) -> None:
    """Whichever action gets lost, and the rest of its plan with it, the end is the same."""
    begin, _, _ = SCENES[scene]
    straight = begin()
    count = straight.run()
    for drop in range(count):
        world = begin()
        world.run(drop=drop)
        assert end_of(world) == end_of(straight), f"{scene}, without action {drop}"


def test_lost_disk_has_another_identity() -> None:
    """A disk that was lost comes back under another directory id, and the lost one is remembered."""
    world = lost(claim_too=True)
    record = world.observed.record
    assert record is not None
    before = record.nodes[1]
    world.run()
    assert world.observed.record is not None
    after = world.observed.record.node(NodeID(3001))
    assert after is not None
    assert after.directory_id != before.directory_id
    assert after.lost == (before.directory_id,)
    assert (before.generation, after.generation) == (1, 2)


def test_nothing_initial_is_left() -> None:
    """Behind the barrier the config map of the initial format is gone, and stays gone."""
    world = at_work()
    assert not any(item.name.startswith(f"{NAME}-format-") for item in world.observed.support)
    record = world.observed.record
    assert record is not None
    hashes = {revision.inputs_hash for revision in world.observed.revisions}
    configs = {names.config_name(NAME, hash_, record.node_ids) for hash_ in hashes}
    assert {item.name for item in world.observed.support if item.kind == "ConfigMap"} == configs
