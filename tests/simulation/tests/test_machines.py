"""Machines that die, are cut off or return, cut links, clocks that jump: as in Kubernetes and Kafka."""

from tests.simulation.model.kafka.kraft_api import ModelControllers
from tests.simulation.model.kafka.process import Process
from tests.simulation.model.kubernetes.machines import EVICT_S, GRACE_S
from tests.simulation.model.world import STEP_S, World
from tests.simulation.tests.bodies import NS, make, pod, prepare, steps
from tests.simulation.tests.quorums import Quorum, key

from kafka_quorum.model.quorum import Endpoint
from kit.kube.protocol import NODES, PODS, Json

GRACE_STEPS = int(GRACE_S / STEP_S) + 2
EVICT_STEPS = int(EVICT_S / STEP_S) + 2


def scheduled() -> tuple[World, str]:
    """A world with a formatter's pod, and the node that it is on."""
    world = World()
    prepare(world)
    make(world, pod("f", "formatter"))
    steps(world, 2)
    return world, str(body(world)["spec"]["nodeName"])


def body(world: World) -> Json:
    """The pod."""
    found = world.kube.get(PODS, NS, "f")
    assert found is not None
    return found


def ready(world: World, name: str) -> str:
    """The Ready condition of a node."""
    node = world.kube.get(NODES, "", name)
    assert node is not None
    return str(node["status"]["conditions"][0]["status"])


def test_a_dead_machine_is_not_ready_and_its_pods_hang() -> None:
    """First the node is not ready, then its pods are marked for deletion, and they stay until a forced deletion."""
    world, name = scheduled()
    assert ready(world, name) == "True"
    world.lose_machine(name)
    steps(world, GRACE_STEPS)
    assert (ready(world, name), "deletionTimestamp" in body(world)["metadata"]) == ("Unknown", False)
    steps(world, EVICT_STEPS)
    assert "deletionTimestamp" in body(world)["metadata"]
    steps(world, 50)
    world.kube.delete(PODS, NS, "f", ended=True)
    assert world.kube.get(PODS, NS, "f") is None


def test_with_its_node_a_pod_is_garbage() -> None:
    """A pod whose node object is deleted is collected without a forced deletion."""
    world, name = scheduled()
    world.lose_machine(name)
    world.machines.delete(name)
    steps(world, 1)
    assert world.kube.get(PODS, NS, "f") is None


def test_a_pod_is_not_bound_where_its_volume_is_dead() -> None:
    """A pod whose volume is on a machine that is down is not bound to another machine."""
    world, name = scheduled()
    world.lose_machine(name)
    steps(world, EVICT_STEPS)
    world.kube.delete(PODS, NS, "f", ended=True)
    make(world, pod("f", "formatter"))
    steps(world, 5)
    assert "nodeName" not in body(world)["spec"]
    assert body(world)["status"]["conditions"][0]["reason"] == "Unschedulable"


def test_a_machine_that_comes_back_is_ready_again() -> None:
    """A machine with power again is ready."""
    world, name = scheduled()
    world.switch_off(name)
    steps(world, GRACE_STEPS)
    world.switch_on(name)
    steps(world, 2)
    assert ready(world, name) == "True"


def test_a_silent_kubelet_learns_nothing() -> None:
    """On a cut-off machine a formatter runs on, although its pod is deleted by force."""
    world, name = scheduled()
    sandbox = world.kubelet.of_pod(NS, "f")
    assert sandbox is not None
    world.machines.by_name[name].cut_off = True
    world.kube.delete(PODS, NS, "f", ended=True)
    steps(world, 5)
    assert sandbox.uid in world.kubelet.sandboxes
    world.machines.by_name[name].cut_off = False
    steps(world, 1)
    assert sandbox.uid not in world.kubelet.sandboxes


def parted() -> Quorum:
    """Three voters on three machines, with a leader."""
    quorum = Quorum()
    quorum.voters(3000, 3001, 3002)
    for node_id, process in quorum.processes.items():
        process.node = f"machine-{node_id}"
    quorum.pass_time(5)
    return quorum


def test_a_leader_behind_a_partition_resigns_and_loses_its_tail() -> None:
    """The others elect another leader; the old one's own records are truncated on its return."""
    quorum = parted()
    old = quorum.leader
    quorum.kraft.cut.add(old.node)
    quorum.pass_time(1)
    leads, alone = old.leads, written_in(old, old.disk.epoch)
    quorum.pass_time(6)
    successor = quorum.leader
    assert (leads, old.leads, successor is old) == (True, False, False)
    quorum.kraft.cut.clear()
    quorum.pass_time(3)
    assert written_in(old, successor.disk.epoch - 1) < alone
    assert old.disk.log == successor.disk.log[: old.disk.end]
    assert quorum.kraft.broken == []


def written_in(process: Process, epoch: int) -> int:
    """How many records of an epoch are in a log."""
    return sum(entry.epoch == epoch for entry in process.disk.log)


def test_a_slow_follower_fetches_and_is_not_caught_up() -> None:
    """A slow follower is live, and not caught up."""
    quorum = parted()
    leader = quorum.leader
    slow = next(one for one in quorum.processes.values() if one is not leader)
    slow.slow = True
    quorum.pass_time(6)
    assert quorum.kraft.fresh_within(leader.row(slow.key).fetched_s, 1)
    assert not quorum.kraft.is_caught_up(leader, slow.key, 3)
    slow.slow = False
    quorum.pass_time(2)
    assert quorum.kraft.is_caught_up(leader, slow.key, 1)


def test_a_clock_that_is_set_back_leaves_stamps_in_the_future() -> None:
    """Rows keep the stamps of the leader's clock; the next fetch brings a right one."""
    quorum = parted()
    leader = quorum.leader
    dead = next(one for one in quorum.processes.values() if one is not leader)
    quorum.kraft.stop(dead)
    quorum.kraft.jumped_ms[leader.meta.node_id] = -3_600_000
    quorum.pass_time(2)
    endpoint = Endpoint(node_id=leader.meta.node_id, host=leader.address, port=leader.port)
    answer = ModelControllers(quorum.kraft).quorum(endpoint)
    stamps = {row.key: row.last_fetch_ms for row in answer.voters}
    late = {replica for replica, stamp in stamps.items() if stamp > stamps[leader.key]}
    assert late == {dead.key}
    assert key(3000) in stamps
