"""Every broken safety rule is noticed: the checker gets forbidden events."""

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
    RevisionDeleted,
    Shared,
    Started,
)
from tests.simulation.model.kafka.disk import Disk
from tests.simulation.model.kafka.process import Process
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.tests.bodies import pod
from tests.simulation.tests.quorums import CLUSTER, disk, key
from tests.status.passes import done

from kafka_quorum.kind import QUORUMS
from kafka_quorum.model.ids import ClusterID, ReplicaKey, uuid_from_bytes
from kafka_quorum.model.names import REVISION
from kafka_quorum.model.quorum import AddVoter, Endpoint, Listener, RemoveVoter
from kafka_quorum.status.build import build
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
    """Two initial disks are formatted, and the record has phase Started."""
    world = World()
    checker = Checker(world)
    write(world, record("Formatting"))
    for serial, replica in enumerate(sorted(KEYS, key=str), start=1):
        world.tell(formatted(replica, serial=serial))
    write(world, record("Started"))
    return world, checker


def test_an_honest_bootstrap_breaks_no_rule() -> None:
    """A correct bootstrap (format, Started, run) breaks no rule."""
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
    """Each of these events is reported under the number of its rule."""
    world, checker = bootstrapped()
    for event in events:
        world.tell(event)
    assert rule in rules(checker)


def test_running_before_the_barrier_is_noticed() -> None:
    """A process that runs while the record still has Formatting breaks rule 1."""
    world = World()
    checker = Checker(world)
    write(world, record("Formatting"))
    world.tell(formatted(key(3000), serial=1))
    world.tell(started(key(3000), serial=1))
    assert rules(checker) == {"1"}


def test_a_record_that_goes_back_or_changes_is_noticed() -> None:
    """Started must not become Formatting, and the cluster id and the initial voters must not change."""
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
    """AddRaftVoter, as it is sent."""
    listener = Listener(name="CONTROLLER", host="h", port=9093)
    request = AddVoter(cluster_id=CLUSTER, voter=target, listeners=(listener,), timeout_ms=1000)
    endpoint = Endpoint(node_id=leader.meta.node_id, host=leader.address, port=leader.port)
    return AddSent(endpoint=endpoint, request=request)


def test_adding_without_a_caught_up_majority_is_noticed() -> None:
    """With one of two voters standing still, the addition of a third one breaks a rule."""
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
    """An addition while the voter set is uncommitted breaks rule 4."""
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
    """RemoveRaftVoter, as it is sent."""
    endpoint = Endpoint(node_id=leader.meta.node_id, host=leader.address, port=leader.port)
    return RemoveSent(endpoint=endpoint, request=RemoveVoter(cluster_id=CLUSTER, voter=target))


def test_removing_without_a_majority_that_stays_is_noticed() -> None:
    """With one of three voters down, the removal of another one breaks a rule."""
    world, checker, processes, leader = whole(3000, 3001, 3002)
    down, other = (one.key for one in processes if one is not leader)
    world.tell(removal(leader, other))
    assert checker.violations == []
    leader.row(down).caught_up_s = -1.0
    world.tell(removal(leader, other))
    assert rules(checker) == {"3"}


def test_removing_during_another_change_is_noticed() -> None:
    """A removal while the voter set is uncommitted breaks rule 4."""
    world, checker, processes, leader = whole(3000, 3001, 3002)
    for one in processes:
        one.frozen = one is not leader
    world.kraft.append_voters(leader, leader.disk.voter_set | {key(3003)})
    world.tell(removal(leader, key(3003)))
    assert "4" in rules(checker)


@pytest.mark.parametrize("edited", [False, True])
def test_removing_the_leader_before_another_is_noticed(*, edited: bool) -> None:
    """The leader is removed last of the unwanted voters, unless the spec is newer than the removal that is open."""
    world, checker, processes, leader = whole(3000, 3001, 3002, 3003, 3004)
    other = next(one for one in processes if one is not leader)
    stay = [one.meta.node_id for one in processes if one not in (leader, other)]
    spec = {"controllers": {"replicas": 3, "nodeIDs": stay}}
    world.kube.create(QUORUMS, "kafka", {"metadata": {"name": "demo"}, "spec": spec})
    world.clock.advance(30)
    operation = {"type": "RemoveVoter", "startedAt": world.clock.stamp_of(world.clock.elapsed_s)}
    if edited:
        world.clock.advance(30)
        world.kube.patch(QUORUMS, "kafka", "demo", {"spec": {"paused": False}})
    status = {"observedGeneration": 2 if edited else 1, "operation": operation}
    world.kube.operator_writes = True
    world.kube.patch(QUORUMS, "kafka", "demo", {"status": status}, subresource="status")
    for one in processes:
        leader.row(one.key).caught_up_s = world.clock.elapsed_s
    world.tell(removal(leader, leader.key))
    assert rules(checker) == (set() if edited else {"3"})


def test_a_retired_disk_that_runs_is_noticed() -> None:
    """A pod that was created after its disk was retired must not run it, unless the operator had not observed that."""
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
    """A disk must not be given up while its replica fetches."""
    world, checker, processes, leader = whole(3000, 3001, 3002)
    follower = next(one for one in processes if one is not leader)
    nodes = [{"node_id": follower.meta.node_id, "lost": [follower.key.directory_id]}]
    write(world, {**record("Started"), "data": {"record.json": json.dumps(retiring(nodes))}})
    assert rules(checker) == {"given up"}


@pytest.mark.parametrize(
    ("timeout_s", "frozen_s", "broken"),
    [(30.0, 20, {"given up"}), (30.0, 40, set()), (10.0, 20, set()), (2.0, 5, set())],
)
def test_giving_up_a_disk_within_the_fetch_timeout_is_noticed(
    timeout_s: float, frozen_s: int, broken: set[str]
) -> None:
    """A frozen replica counts as fetching until the leader's own fetch timeout has passed."""
    world, checker, processes, leader = whole(3000, 3001, 3002)
    frozen = next(one for one in processes if one is not leader)
    for one in processes:
        one.fetch_timeout_s = timeout_s
    frozen.frozen = True
    for _ in range(2 * frozen_s):
        world.step()
    nodes = [{"node_id": frozen.meta.node_id, "lost": [frozen.key.directory_id]}]
    write(world, {**record("Started"), "data": {"record.json": json.dumps(retiring(nodes))}})
    assert rules(checker) == broken


def test_removing_a_voter_before_its_successor_is_ready_is_noticed() -> None:
    """With three voters wanted, none of three is removed before another controller has caught up."""
    world, checker, processes, leader = whole(3000, 3001, 3002)
    world.kube.create(QUORUMS, "kafka", {"metadata": {"name": "demo"}, "spec": {"controllers": {"replicas": 3}}})
    world.kube.patch(QUORUMS, "kafka", "demo", {"status": {"observedGeneration": 1}}, subresource="status")
    other = next(one for one in processes if one is not leader)
    world.tell(removal(leader, other.key))
    assert rules(checker) == {"3, fewer"}
    checker.violations.clear()
    process(world, disk(key(3003), frozenset()))
    for _ in range(8):
        world.step()
    world.tell(removal(leader, other.key))
    assert checker.violations == []


def test_a_leader_without_committed_records_is_noticed() -> None:
    """Whatever the cause: disks whose logs are gone elect a leader that lacks what was committed."""
    world, checker, processes, _ = whole(3000, 3001, 3002)
    for one in processes:
        world.kraft.stop(one)
        one.disk.log = []
        process(world, one.disk)
    for _ in range(8):
        world.step()
    assert rules(checker) == {"committed records"}


def test_a_record_that_cannot_be_read_is_noticed() -> None:
    """The operator must not write an unreadable record; a person with an editor may."""
    world, checker = bootstrapped()
    broken = {"metadata": {"name": "demo-identity"}, "data": {"record.json": "{"}}
    world.kube.apply(CONFIG_MAPS, "kafka", broken)
    assert checker.violations == []
    write(world, {**broken, "data": {"record.json": "}"}})
    assert rules(checker) == {"identity"}


@pytest.mark.parametrize(("revision", "late", "broken"), [("a", False, True), ("a", True, False), ("b", False, False)])
def test_a_deleted_revision_that_is_in_use_is_noticed(revision: str, *, late: bool, broken: bool) -> None:
    """A revision stays as long as a pod is made from it; a deletion that arrives late is excused."""
    world = World()
    checker = Checker(world)
    body = pod("k", "controller")
    body["metadata"]["annotations"] = {REVISION: "a"}
    world.kube.create(PODS, "kafka", body)
    world.tell(RevisionDeleted(namespace="kafka", name=revision, late=late))
    assert rules(checker) == ({"revisions"} if broken else set())


def test_a_format_with_a_release_version_is_noticed() -> None:
    """A formatter must not name a release, because that decides levels."""
    world = World()
    checker = Checker(world)
    body = pod("f", "formatter")
    body["spec"]["containers"][0]["command"] += ["--release-version", "4.4"]
    world.tell(Created(plural="pods", body=world.kube.create(PODS, "kafka", body)))
    assert rules(checker) == {"9"}


def says(change: Json, *, generation: int, by_operator: bool = True) -> set[str]:
    """Write the status of a quorum at rest with this change; returns the broken rules. The spec is of generation 1."""
    world = World()
    checker = Checker(world)
    world.kube.create(QUORUMS, "kafka", {"metadata": {"name": "demo"}, "spec": {"paused": False}})
    status = build(done(), {}, generation=generation, now="2026-01-01T00:00:00Z") | change
    world.kube.operator_writes = by_operator
    world.kube.patch(QUORUMS, "kafka", "demo", {"status": status}, subresource="status")
    return rules(checker)


@pytest.mark.parametrize(
    ("change", "generation", "broken"),
    [
        ({}, 1, set()),
        ({}, 0, set()),
        ({}, 2, {"conditions"}),
        ({"doing": "Rolling"}, 1, {"conditions"}),
        ({"quorum": {"summary": "2/3", "voters": 3, "healthyVoters": 2, "leaderID": 3000}}, 1, {"conditions"}),
    ],
    ids=["consistent", "of an older spec", "of a later spec", "Ready beside work", "Ready beside a voter that lags"],
)
def test_a_status_that_contradicts_itself_is_noticed(change: Json, generation: int, broken: set[str]) -> None:
    """A status of the operator must not contradict itself, nor be newer than the spec."""
    assert says(change, generation=generation) == broken


def test_a_status_of_somebody_else_is_no_fault_of_the_operator() -> None:
    """The status that a person writes may contradict itself."""
    assert says({"doing": "Rolling"}, generation=1, by_operator=False) == set()


def test_a_pod_on_a_claim_that_another_pod_names_is_noticed() -> None:
    """A Kafka pod must not be created while a formatter's pod names the claim."""
    world = World()
    checker = Checker(world)
    world.kube.create(PODS, "kafka", pod("f", "formatter"))
    body = world.kube.create(PODS, "kafka", pod("k", "controller"))
    world.tell(Created(plural="pods", body=body))
    assert rules(checker) == {"one user of a claim"}
