"""Disks that are given up although they have their data, and when so many are gone that no majority can return."""

import json
from collections.abc import Callable

import pytest
from tests.simulation.model.kafka.disk import Disk, Entry, Image
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.driver import Driver
from tests.simulation.runs.endings import is_doomed
from tests.simulation.runs.faults import Loss
from tests.simulation.runs.scenarios.scenes import (
    Scenario,
    after,
    does_nothing,
    has_retired,
    is_ready,
    loses,
    spec_of,
    turn,
)
from tests.simulation.tests.bodies import pod
from tests.simulation.tests.quorums import CLUSTER, disk, key

from kit.kube.protocol import CLAIMS, CONFIG_MAPS, PODS, Json

IDS = (3000, 3001, 3002)
KEYS = frozenset(map(key, IDS))
MACHINES = {3000: "node-a", 3001: "node-b", 3002: "node-c"}


def placed(*, local: bool = True) -> tuple[World, Checker]:
    """Three disks of one quorum, each on its own machine; Kafka has run on them, and runs no more."""
    world = World()
    world.volumes.local = local
    checker = Checker(world)
    for node_id in IDS:
        labels = {"kafkaquorum.io/quorum": "demo", "kafkaquorum.io/node-id": str(node_id)}
        body = {"metadata": {"name": f"demo-{node_id}-g1", "labels": labels}, "spec": {}}
        claim = world.kube.create(CLAIMS, "kafka", body)
        world.volumes.bind(claim, MACHINES[node_id])
        world.volumes.by_claim[claim["metadata"]["uid"]].disk = ran(node_id)
    world.step()
    return world, checker


def ran(node_id: int) -> Disk:
    """The disk of a voter, with a log."""
    found = disk(key(node_id), KEYS)
    found.ran, found.epoch = True, 1
    found.log = [Entry(epoch=1, what="leader", image=Image())]
    return found


def uid_of(world: World, node_id: int) -> str:
    """The uid of a controller's claim."""
    (claim,) = world.claims("kafka", "demo", node_id)
    return str(claim["metadata"]["uid"])


def retires(world: World, node_id: int) -> None:
    """The operator writes into the record that this disk is retired."""
    nodes = [{"node_id": one, "lost": [key(one).directory_id] if one == node_id else []} for one in IDS]
    body = {"phase": "Started", "cluster_id": CLUSTER, "initial": [], "nodes": nodes}
    stored: Json = {"metadata": {"name": "demo-identity"}, "data": {"record.json": json.dumps(body)}}
    world.kube.operator_writes = True
    world.kube.apply(CONFIG_MAPS, "kafka", stored)
    world.kube.operator_writes = False


def steps(world: World, count: int) -> None:
    """Let time pass."""
    for _ in range(count):
        world.step()


def nothing(_: World) -> None:
    """The disk is there."""


def hides(world: World) -> None:
    """For a while pods find an empty directory in place of the disk."""
    world.volumes.by_claim[uid_of(world, 3000)].stand_in = Disk(serial=0)


def goes_away(world: World) -> None:
    """The disk is hidden for so long that it counts as lost."""
    hides(world)
    world.volumes.by_claim[uid_of(world, 3000)].away = True


def comes_back(world: World) -> None:
    """The disk was hidden, and is there again for a moment."""
    world.volumes.by_claim[uid_of(world, 3000)].shown(world.clock.elapsed_s)


def is_back(world: World) -> None:
    """The disk was hidden, and has been there again for longer than a check of its pod may be old."""
    comes_back(world)
    steps(world, 20)


def empties(world: World) -> None:
    """All data is gone."""
    world.volumes.empty(uid_of(world, 3000))


def kills(world: World) -> None:
    """The machine is gone permanently."""
    world.lose_machine("node-a")
    steps(world, 4)


def silences(world: World) -> None:
    """The machine has no power."""
    world.switch_off("node-a")
    steps(world, 4)


def silences_and_holds(world: World) -> None:
    """The same, and a pod on that machine keeps the volume."""
    world.kube.create(PODS, "kafka", pod("demo-3000-g1", "controller"))
    world.kube.assign("kafka", "demo-3000-g1", "node-a")
    silences(world)


def is_heard_again(world: World) -> None:
    """The machine was silent, and has reported again for longer than the operator may miss it."""
    silences(world)
    world.switch_on("node-a")
    steps(world, 12)


@pytest.mark.parametrize(
    ("before", "local", "broken"),
    [
        (nothing, True, True),
        (hides, True, True),
        (is_back, True, True),
        (silences, False, True),
        (is_heard_again, True, True),
        (goes_away, True, False),
        (comes_back, True, False),
        (empties, True, False),
        (kills, True, False),
        (silences, True, False),
        (silences_and_holds, False, False),
    ],
)
def test_a_retired_disk_has_no_data_or_its_machine_is_gone(
    before: Callable[[World], None], *, local: bool, broken: bool
) -> None:
    """A disk must not be given up that has its data, and that a pod finds now or as soon as it is scheduled."""
    world, checker = placed(local=local)
    before(world)
    retires(world, 3000)
    told = [one.text for one in checker.violations if one.rule == "2, data"]
    assert bool(told) is broken
    assert all("demo-3000-g1" in text for text in told)


def test_only_a_disk_on_a_silent_machine_is_given_up_with_its_data() -> None:
    """The lineage lists a directory id that was retired with its machine, and no other one."""
    for before, listed in ((silences, {key(3000).directory_id}), (kills, set()), (nothing, set())):
        world, checker = placed()
        before(world)
        retires(world, 3000)
        assert checker.lineage("kafka", "demo").given_up == listed


def doomed(world: World, *given_up: int) -> bool:
    """Whether no majority can return."""
    return is_doomed(world, {found for node_id in given_up if (found := key(node_id).directory_id)})


@pytest.mark.parametrize(("gone", "expected"), [((), False), ((3000,), False), ((3000, 3001), True)])
@pytest.mark.parametrize("how", ["emptied", "lost", "its machine is gone"])
def test_a_quorum_is_doomed_without_the_disks_of_a_majority(how: str, gone: tuple[int, ...], *, expected: bool) -> None:
    """One disk of three voters may be gone, in any way."""
    world, _ = placed()
    for node_id in gone:
        match how:
            case "emptied":
                world.volumes.empty(uid_of(world, node_id))
            case "lost":
                world.volumes.lose(uid_of(world, node_id))
            case _:
                world.lose_machine(MACHINES[node_id])
    assert doomed(world) is expected


def test_a_disk_that_hides_or_that_a_process_has_open_is_there() -> None:
    """A hidden disk returns, and an emptied volume keeps its disk as long as Kafka runs on it."""
    world, _ = placed()
    hides(world)
    opened = world.volumes.by_claim[uid_of(world, 3001)].disk
    world.kraft.start(opened, node_id=key(3001).node_id, address="a", host="h", port=9093, listener="CONTROLLER")
    world.volumes.empty(uid_of(world, 3001))
    assert not doomed(world)
    world.kraft.stop(world.kraft.processes[0])
    assert not doomed(world)
    world.volumes.empty(uid_of(world, 3000))
    assert doomed(world)


def test_what_the_record_retires_dooms_nothing() -> None:
    """If an operator retires disks with data, no voter counts as lost: only the disks decide."""
    world, checker = placed()
    for node_id in IDS:
        retires(world, node_id)
    assert not is_doomed(world, checker.lineage("kafka", "demo").given_up)


def test_a_disk_that_was_given_up_with_its_machine_is_lost_although_the_machine_returns() -> None:
    """A machine is silent until its disk is given up, then another disk is lost, and the machine returns: two are lost.

    By the disks alone two of three would be left at the end of the run, and its ending would not be accepted.
    """
    lost = Scenario(
        name="a-node-and-a-disk",
        spec=spec_of("InitialControllers", 3),
        turns=(
            turn("a machine is silent for a while", is_ready, loses(Loss.NODE_OFF, "follower")),
            turn("another disk is lost", has_retired, loses(Loss.CLAIM_DELETED, "leader")),
            turn("waits for the machine", after(50), does_nothing),
        ),
    )
    driver = Driver(lost)
    run, given_up = driver.run(), driver.checker.lineage("kafka", "demo").given_up
    assert (run.ok, run.ending.says) == (True, "LostDisk")
    assert all(machine.heard for machine in driver.world.machines.by_name.values())
    assert len(given_up) == 1
    assert is_doomed(driver.world, given_up)
    assert not is_doomed(driver.world, frozenset())


def test_the_newest_voters_count() -> None:
    """The voter set of the best log counts, committed or not, and not that of the format."""
    world, _ = placed()
    best = world.volumes.by_claim[uid_of(world, 3000)].disk
    best.log.append(Entry(epoch=2, what="voters", image=Image(voters=frozenset({key(3000)}))))
    world.volumes.empty(uid_of(world, 3001))
    world.volumes.empty(uid_of(world, 3002))
    assert not doomed(world)


def test_directory_ids_are_compared() -> None:
    """A disk that was formatted again for the same controller is no voter."""
    world, _ = placed()
    for node_id in (3001, 3002):
        world.volumes.by_claim[uid_of(world, node_id)].disk = disk(key(node_id, "n"), frozenset())
    assert doomed(world)
