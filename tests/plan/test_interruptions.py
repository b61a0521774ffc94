"""Plans carried out to the end, and interrupted at every action: the end is the same, and the rules always hold."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.model.values import NAME, desired, directory, key, operation, runtime, storage
from tests.plan.driver import World
from tests.plan.reading import planned, reasons

from kafka_quorum.model import names
from kafka_quorum.model.desired import BootstrapMode, Cure, Replacement, VolumeFate
from kafka_quorum.model.identity import BootstrapPhase
from kafka_quorum.model.ids import ClusterID, NodeID
from kafka_quorum.model.operation import VoterRemoval

BAD_IMAGE = "registry/kafka:no-such-tag"
KEPT = storage(when_scaled=VolumeFate.RETAIN)


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
    """A quorum of three for which five are requested."""
    world = at_work()
    world.desired = desired(replicas=5)
    return world


def smaller(replicas: int, of: int = 5, **changes: Any) -> World:  # noqa: ANN401 - whatever the field holds
    """A quorum for which fewer controllers are requested."""
    world = bootstrap(of)
    world.run()
    world.desired = desired(replicas=replicas, **changes)
    return world


def exchanged() -> World:
    """A quorum in which every controller is to be replaced by another node id."""
    world = at_work()
    world.desired = desired(node_ids=(NodeID(3007), NodeID(3008), NodeID(3009)))
    return world


def lost_node(lost_node: Cure, replicas: int = 3, of: int = 3) -> World:
    """The Kubernetes node of the controller with the highest id is lost, and this many controllers are requested."""
    world = bootstrap(of)
    world.run()
    policy = Replacement(lost_disk=Cure.AUTOMATIC, lost_node=lost_node, lost_node_after_s=600)
    world.desired = desired(replicas=replicas, replacement=policy)
    world.down = frozenset({f"worker-{3000 + of - 1}"})
    world._move()
    return world


def lost_node_again() -> World:
    """After a lost Kubernetes node, the node of the controller's new disk is lost too, before it is a voter."""
    world = lost_node(Cure.AUTOMATIC)
    while not any(one.node_name == "worker-3002-2" and one.running for one in world.observed.pods):
        world.pass_once()
    world.down = frozenset({"worker-3002-2"})
    world._move()
    return world


def lost_node_while_held() -> World:
    """A Kubernetes node is lost while an open removal waits for the controller there."""
    world = lost_node(Cure.AUTOMATIC)
    world.desired = replace(world.desired, replicas=2, node_ids=(NodeID(3000), NodeID(3002)))
    held = operation(key(3001), VoterRemoval)
    world.observed = replace(world.observed, status=replace(world.observed.status, open=held))
    return world


def smaller_without_a_disk() -> World:
    """One of three lost its disk, while the spec changes to two."""
    world = lost(claim_too=False)
    world.desired = desired(replicas=2)
    return world


def recordless() -> World:
    """A quorum at rest whose identity ConfigMap was deleted."""
    world = at_work()
    world.observed = replace(world.observed, record=None)
    return world


def corrected(*, before: bool) -> World:
    """The image is changed: one that does not exist before any format, or a working one of a running quorum."""
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
    "five to three": (lambda: smaller(3), 3, set()),
    "five to one": (lambda: smaller(1, allow_interruption=True), 1, set()),
    "five to three, volumes kept": (lambda: smaller(3, storage=KEPT), 3, set()),
    "three others": (exchanged, 3, set()),
    "three to two, a disk lost": (smaller_without_a_disk, 2, set()),
    "node lost": (lambda: lost_node(Cure.AUTOMATIC), 3, set()),
    "node lost, by hand": (lambda: lost_node(Cure.MANUAL), 3, {"LostNode"}),
    "node lost, by hand, and not wanted": (lambda: lost_node(Cure.MANUAL, 3, 4), 3, set()),
    "node lost, and five wanted": (lambda: lost_node(Cure.AUTOMATIC, 5), 5, set()),
    "node lost, and its successor's too": (lost_node_again, 3, set()),
    "node lost while a removal is held": (lost_node_while_held, 2, set()),
    "record deleted": (recordless, 3, set()),
    "image corrected": (lambda: corrected(before=True), 3, set()),
    "image of a running quorum": (lambda: corrected(before=False), 3, set()),
}


def end_of(world: World) -> tuple[ClusterID, int, int, frozenset[str]]:
    """The facts by which two ends are compared."""
    record = world.observed.record
    assert record is not None
    assert record.phase is BootstrapPhase.STARTED
    said = planned(world.observed, world.desired)
    assert said.actions == ()
    running = sum(one.running for one in world.observed.pods)
    return record.cluster_id, len(world.voters), running, frozenset(reasons(said))


@pytest.mark.parametrize("scene", SCENES)
def test_to_the_end(scene: str) -> None:
    """Every scene ends with this many running voters, and waits only for what a person must do."""
    begin, voters, left = SCENES[scene]
    world = begin()
    world.run()
    _, seen, running, waits = end_of(world)
    assert (seen, running, set(waits)) == (voters, voters, left)


@pytest.mark.parametrize("scene", SCENES)
def test_interrupted_anywhere(scene: str) -> None:
    """Whichever action is lost, with the rest of its plan, the end is the same."""
    begin, _, _ = SCENES[scene]
    straight = begin()
    forks: list[tuple[World, int]] = []
    straight.run(forks=forks)
    for number, (world, drop) in enumerate(forks):
        world.run(drop=drop)
        assert end_of(world) == end_of(straight), f"{scene}, without action {number}"


@pytest.mark.parametrize(
    ("begin", "other", "voters"),
    [(scaled, 3, 3), (lambda: smaller(3, of=4), 4, 4), (lambda: lost(claim_too=False), 2, 2), (exchanged, 4, 4)],
    ids=["five wanted, then three again", "four to three and back", "disk lost, then two", "others, then four"],
)
def test_target_changed_anywhere(begin: Callable[[], World], other: int, voters: int) -> None:
    """Whenever the target changes, the quorum reaches the new one, and no operation stays open."""
    straight = begin()
    forks: list[tuple[World, int]] = []
    straight.run(forks=forks)
    for number, (world, drop) in enumerate(forks):
        if drop == 0:
            world.desired = desired(replicas=other)
            world.run()
            _, seen, running, waits = end_of(world)
            assert (seen, running, waits) == (voters, voters, frozenset()), f"changed before action {number}"
            assert world.observed.status.operation is None


def test_volumes_of_a_smaller_quorum() -> None:
    """With whenScaled Delete the claims of removed controllers are deleted; with Retain they are marked as retired."""
    for policy, left in ((storage(), 0), (KEPT, 2)):
        world = smaller(3, storage=policy)
        world.run()
        kept = [one for one in world.observed.claims if one.node_id >= 3003]
        assert [one.phase for one in kept] == [names.RETIRED] * left
        assert len(world.observed.claims) == 3 + left


def test_id_that_comes_back_has_another_disk() -> None:
    """Scaled down and up again, a node id never runs on its old directory id, whether its volume was kept or not."""
    for policy in (storage(), KEPT):
        world = smaller(2, of=3, storage=policy)
        world.run()
        world.desired = desired(storage=policy)
        world.run()
        record = world.observed.record
        assert record is not None
        again = record.nodes[2]
        assert (again.generation, again.retired) == (2, (directory(3002),))
        assert again.directory_id != directory(3002)
        assert again.key in world.voters


def test_lost_disk_has_another_identity() -> None:
    """A lost disk is replaced under another directory id, and the lost one is remembered."""
    world = lost(claim_too=True)
    record = world.observed.record
    assert record is not None
    before = record.nodes[1]
    world.run()
    assert world.observed.record is not None
    after = world.observed.record.node(NodeID(3001))
    assert after is not None
    assert after.directory_id != before.directory_id
    assert after.retired == (before.directory_id,)
    assert (before.generation, after.generation) == (1, 2)


def test_nothing_initial_is_left() -> None:
    """Behind the barrier the config map of the initial format is gone."""
    world = at_work()
    assert not any(item.name.startswith(f"{NAME}-format-") for item in world.observed.support)
    record = world.observed.record
    assert record is not None
    hashes = {revision.inputs_hash for revision in world.observed.revisions}
    configs = {names.config_name(NAME, hash_, record.node_ids) for hash_ in hashes}
    assert {item.name for item in world.observed.support if item.kind == "ConfigMap"} == configs
