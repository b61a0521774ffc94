"""Every safety rule is noticed when it is broken: the checker is shown what no operator may do."""

import json
from dataclasses import replace

import pytest
from tests.simulation.model.happened import (
    AddSent,
    ClaimDeleted,
    Created,
    Formatted,
    Happened,
    RemoveSent,
    Shared,
    Started,
)
from tests.simulation.model.kafka.disk import Disk
from tests.simulation.model.kafka.process import Process
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.tests.bodies import pod
from tests.simulation.tests.quorums import CLUSTER, disk, key

from kafka_quorum.model.ids import ClusterID, ReplicaKey, uuid_from_bytes
from kafka_quorum.model.quorum import AddVoter, Endpoint, Listener, RemoveVoter
from kit.kube.protocol import CONFIG_MAPS, PODS, Json

OTHER = ClusterID(uuid_from_bytes(b"o" * 16))
KEYS = frozenset({key(3000), key(3001)})


def formatted(replica: ReplicaKey, *, serial: int, cluster_id: ClusterID = CLUSTER, initial: bool = True) -> Formatted:
    """A disk was formatted."""
    voters = KEYS if initial else frozenset()
    return Formatted(
        namespace="kafka",
        quorum="demo",
        serial=serial,
        cluster_id=cluster_id,
        key=replica,
        initial=initial,
        voters=voters,
    )


def started(replica: ReplicaKey, *, serial: int) -> Started:
    """Kafka started on a disk."""
    return Started(namespace="kafka", quorum="demo", serial=serial, cluster_id=CLUSTER, key=replica)


def record(phase: str, cluster_id: str = CLUSTER, initial: object = ()) -> Json:
    """The record's ConfigMap."""
    text = json.dumps({"phase": phase, "cluster_id": cluster_id, "initial": initial})
    return {"metadata": {"name": "demo-identity"}, "data": {"record.json": text}}


def write(world: World, body: Json) -> None:
    """Write the record in the operator's name."""
    world.kube.operator_writes = True
    world.kube.apply(CONFIG_MAPS, "kafka", body)
    world.kube.operator_writes = False


def rules(checker: Checker) -> set[str]:
    """The rules that were broken."""
    return {violation.rule for violation in checker.violations}


def bootstrapped() -> tuple[World, Checker]:
    """Two initial disks are formatted, and the record says Started."""
    world = World()
    checker = Checker(world)
    write(world, record("Formatting"))
    for serial, replica in enumerate(sorted(KEYS, key=str), start=1):
        world.tell(formatted(replica, serial=serial))
    write(world, record("Started"))
    return world, checker


def test_an_honest_bootstrap_breaks_no_rule() -> None:
    """Format, Started, run: nothing to say."""
    world, checker = bootstrapped()
    for serial, replica in enumerate(sorted(KEYS, key=str), start=1):
        world.tell(started(replica, serial=serial))
    world.tell(formatted(key(3000, "n"), serial=3, initial=False))
    world.tell(started(key(3000, "n"), serial=3))
    assert checker.violations == []


@pytest.mark.parametrize(
    ("rule", "events"),
    [
        ("1", [formatted(key(3000), serial=9)]),
        ("1", [formatted(key(3002, "n"), serial=9, cluster_id=OTHER, initial=False)]),
        ("2", [started(key(3000), serial=1), formatted(key(3000), serial=9), started(key(3000), serial=9)]),
        ("2", [started(key(3000), serial=9)]),
        ("6", [ClaimDeleted(name="demo-3000-g1", disk=disk(key(3000), KEYS))]),
        ("one user of a claim", [Shared(claim="demo-3000-g1", pods=("a", "b"))]),
    ],
    ids=[
        "an initial format behind the barrier",
        "a second cluster id",
        "a directory id on a second disk",
        "a directory id on a disk that was not formatted as it",
        "a deleted claim of a voter",
        "two users of a claim",
    ],
)
def test_a_broken_rule_is_noticed(rule: str, events: list[Happened]) -> None:
    """Each of these is reported under its number."""
    world, checker = bootstrapped()
    for event in events:
        world.tell(event)
    assert rule in rules(checker)


def test_running_before_the_barrier_is_noticed() -> None:
    """A process while the record still says Formatting breaks rule 1."""
    world = World()
    checker = Checker(world)
    write(world, record("Formatting"))
    world.tell(formatted(key(3000), serial=1))
    world.tell(started(key(3000), serial=1))
    assert rules(checker) == {"1"}


def test_a_record_that_goes_back_or_changes_is_noticed() -> None:
    """Started never becomes Formatting, a cluster id never another one, initial voters never others."""
    changed = [record("Formatting"), record("Started", OTHER), record("Started", initial=[1])]
    broken = []
    for body in changed:
        world, checker = bootstrapped()
        write(world, body)
        broken.append(rules(checker))
    assert broken == [{"1"}, {"8"}, {"1"}]


def test_one_replica_that_runs_twice_is_noticed() -> None:
    """Two processes with the same replica key break rule 2."""
    world = World()
    checker = Checker(world)
    for address in ("a", "b"):
        same = disk(key(3000), KEYS)
        world.kraft.start(same, node_id=key(3000).node_id, address=address, host="h", port=1, listener="CONTROLLER")
    checker.look()
    assert rules(checker) == {"2"}


def process(world: World, on: Disk) -> Process:
    """Start Kafka as the operator's pods do."""
    assert on.meta is not None
    node_id = on.meta.node_id
    host = f"demo-{node_id}.demo-controllers.kafka.svc"
    return world.kraft.start(
        on, node_id=node_id, address=f"10.0.0.{node_id}", host=host, port=9093, listener="CONTROLLER"
    )


def sent(leader: Process, target: ReplicaKey) -> AddSent:
    """AddRaftVoter on its way."""
    listener = Listener(name="CONTROLLER", host="h", port=9093)
    request = AddVoter(cluster_id=CLUSTER, voter=target, listeners=(listener,), timeout_ms=1000)
    endpoint = Endpoint(node_id=leader.meta.node_id, host=leader.address, port=leader.port)
    return AddSent(endpoint=endpoint, request=request)


def test_adding_without_a_caught_up_majority_is_noticed() -> None:
    """One of two voters stands still: a third would leave two of three that are not caught up."""
    world = World()
    checker = Checker(world)
    voters = frozenset({key(3000), key(3001)})
    processes = [process(world, disk(replica, voters)) for replica in sorted(voters, key=str)]
    newcomer = process(world, disk(key(3002), frozenset()))
    for _ in range(8):
        world.step()
    leader = world.kraft.leader_of(CLUSTER)
    assert leader is not None
    world.tell(sent(leader, newcomer.key))
    assert checker.violations == []
    leader.row(next(one.key for one in processes if one is not leader)).caught_up_s = -1.0
    world.tell(sent(leader, newcomer.key))
    assert rules(checker) == {"3"}


def test_adding_during_another_change_is_noticed() -> None:
    """An uncommitted voter set breaks rule 4."""
    world = World()
    checker = Checker(world)
    voters = frozenset({key(3000), key(3001), key(3002)})
    processes = [process(world, disk(replica, voters)) for replica in sorted(voters, key=str)]
    newcomer = process(world, disk(key(3003), frozenset()))
    for _ in range(8):
        world.step()
    leader = world.kraft.leader_of(CLUSTER)
    assert leader is not None
    for one in processes:
        one.frozen = one is not leader
    world.kraft.append_voters(leader, voters | {key(3004)})
    world.tell(sent(leader, newcomer.key))
    assert "4" in rules(checker)


def whole(*node_ids: int) -> tuple[World, Checker, list[Process], Process]:
    """A quorum of these voters with a leader, its checker, and the processes."""
    world = World()
    checker = Checker(world)
    voters = frozenset(key(node_id) for node_id in node_ids)
    processes = [process(world, disk(replica, voters)) for replica in sorted(voters, key=str)]
    for _ in range(8):
        world.step()
    leader = world.kraft.leader_of(CLUSTER)
    assert leader is not None
    return world, checker, processes, leader


def removal(leader: Process, target: ReplicaKey) -> RemoveSent:
    """RemoveRaftVoter on its way."""
    endpoint = Endpoint(node_id=leader.meta.node_id, host=leader.address, port=leader.port)
    return RemoveSent(endpoint=endpoint, request=RemoveVoter(cluster_id=CLUSTER, voter=target))


def test_removing_without_a_majority_that_stays_is_noticed() -> None:
    """Of three voters one is down: removing another leaves one of two."""
    world, checker, processes, leader = whole(3000, 3001, 3002)
    down, other = (one.key for one in processes if one is not leader)
    world.tell(removal(leader, other))
    assert checker.violations == []
    leader.row(down).caught_up_s = -1.0
    world.tell(removal(leader, other))
    assert rules(checker) == {"3"}


def test_removing_during_another_change_is_noticed() -> None:
    """An uncommitted voter set breaks rule 4."""
    world, checker, processes, leader = whole(3000, 3001, 3002)
    for one in processes:
        one.frozen = one is not leader
    world.kraft.append_voters(leader, leader.disk.voter_set | {key(3003)})
    world.tell(removal(leader, key(3003)))
    assert "4" in rules(checker)


def test_a_retired_disk_that_runs_is_noticed() -> None:
    """In a pod that is made after the record retired it; only two operators are excused."""
    world, checker = bootstrapped()
    gone = key(3000)
    nodes = [{"node_id": 3000, "lost": [gone.directory_id]}]
    write(world, {**record("Started"), "data": {"record.json": json.dumps(retiring(nodes))}})
    assert checker.violations == []
    after = world.clock.stamp_of(world.clock.elapsed_s + 60)
    world.tell(replace(started(gone, serial=1), pod_made=after))
    assert rules(checker) == {"2, removed by another"}
    checker.violations.clear()
    checker.excused = lambda: True
    world.tell(replace(started(gone, serial=1), pod_made=after))
    assert checker.violations == []
    assert checker.tolerated == {"2, removed by another": 1}


def retiring(nodes: list[Json]) -> Json:
    """A record that is Started, with these nodes."""
    return {"phase": "Started", "cluster_id": CLUSTER, "initial": [], "nodes": nodes}


def test_giving_up_a_disk_that_runs_is_noticed() -> None:
    """Its replica fetches at this moment."""
    world, checker, processes, leader = whole(3000, 3001, 3002)
    follower = next(one for one in processes if one is not leader)
    nodes = [{"node_id": follower.meta.node_id, "lost": [follower.key.directory_id]}]
    write(world, {**record("Started"), "data": {"record.json": json.dumps(retiring(nodes))}})
    assert rules(checker) == {"given up"}


def test_a_pod_on_a_claim_that_another_pod_names_is_noticed() -> None:
    """A Kafka pod is made only when the formatter is confirmed gone."""
    world = World()
    checker = Checker(world)
    world.kube.create(PODS, "kafka", pod("f", "formatter"))
    body = world.kube.create(PODS, "kafka", pod("k", "controller"))
    world.tell(Created(plural="pods", body=body))
    assert rules(checker) == {"one user of a claim"}
