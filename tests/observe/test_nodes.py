"""Which Kubernetes nodes are looked up, and for how long Kubernetes and the quorum have agreed that one is lost."""

from dataclasses import replace

import pytest
from tests.model.values import SILENT, at_rest, bound, directory, formatter, key, node, pod, running, view, without_pod

from kafka_quorum.model.identity import with_disk_lost
from kafka_quorum.model.ids import NodeID, ReplicaKey
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.memory import LostNode
from kafka_quorum.model.observed import KubeNode, Observed
from kafka_quorum.observe.nodes import GAP_COUNTS_S, agreed, suspects

VOTERS = (key(3000), key(3001), key(3002))
WORKER = "worker-3002"
DOWN = Known(value=KubeNode(name=WORKER, exists=True, ready=False))
GONE = Known(value=KubeNode(name=WORKER, exists=False, ready=False))
READY = Known(value=KubeNode(name=WORKER, exists=True, ready=True))
FORBIDDEN = Unknown(reason="GET /api/v1/nodes/worker-3002: 403 forbidden")


def silent(kube_node: Knowable[KubeNode] = DOWN) -> Observed:
    """Controller 3002 does not fetch, and this is the state of its Kubernetes node."""
    seen = view(VOTERS, behind=[key(3002)])
    return at_rest(quorum=Known(value=seen), kube_nodes=((WORKER, kube_node),))


FETCHES = at_rest(kube_nodes=((WORKER, DOWN),))
LEADERLESS = replace(silent(), quorum=SILENT, kube_nodes=())


def lost_for_s(*looks: tuple[float, Observed]) -> float:
    """For how long controller 3002's Kubernetes node counts as lost after these looks, each at a second of a clock."""
    memory = at_rest().memory
    for at_s, look in looks:
        memory = agreed(replace(look, memory=memory), at_s)
    return memory.lost_for_s(key(3002))


# Which nodes are looked up


def test_nobody_is_suspected_at_rest() -> None:
    """While every controller fetches, no Kubernetes node is looked up."""
    assert suspects(at_rest()) == ()


def test_nodes_of_the_silent() -> None:
    """Only the Kubernetes node of the controller that does not fetch is looked up."""
    assert suspects(silent()) == (WORKER,)


def test_node_of_a_volume() -> None:
    """Without a pod, the Kubernetes node of the volume is looked up."""
    assert suspects(without_pod(silent(), 3002)) == (WORKER,)


def test_unscheduled_pod_tells_no_node() -> None:
    """If the pod is not scheduled, the Kubernetes node of the volume is looked up."""
    look = silent()
    pods = tuple(replace(one, node_name="", scheduled=False) if one.node_id == 3002 else one for one in look.pods)
    assert suspects(replace(look, pods=pods)) == (WORKER,)


def test_pod_that_moved() -> None:
    """If a pod runs on another Kubernetes node than its volume was bound to, the pod's node is looked up."""
    look = silent()
    pods = tuple(replace(one, node_name="worker-9") if one.node_id == 3002 else one for one in look.pods)
    assert suspects(replace(look, pods=pods)) == ("worker-9",)


def test_pods_that_were_left_behind() -> None:
    """The Kubernetes nodes of a pod on a retired disk, and of a formatter, are looked up: these may never end."""
    record = with_disk_lost(running(), NodeID(3002), new_claim=True)
    of = node(running(), 3002)
    left = (pod(running(), of, node_name="worker-a"), formatter(running(), of, node_name="worker-b", directory_id=None))
    seen = view(VOTERS, behind=[key(3002)])
    look = at_rest(record, quorum=Known(value=seen))
    assert suspects(replace(look, pods=(*look.pods, *left))) == ("worker-a", "worker-b")


@pytest.mark.parametrize("look", [LEADERLESS, at_rest(bound()), replace(silent(), record=None)])
def test_nobody_can_be_suspected(look: Observed) -> None:
    """Without a leader, before the barrier, or without a record, no Kubernetes node of a silent controller is read."""
    assert suspects(look) == ()


def test_without_a_leader_nodes_of_pods_that_never_end_are_asked_for() -> None:
    """Without a leader, the Kubernetes nodes of pods that are being deleted are looked up, because they may be down."""
    look = replace(at_rest(), quorum=Unknown(reason="no controller runs yet"))
    ending = tuple(replace(pod, deleting=pod.node_id == 3002, node_name=f"worker-{pod.node_id}") for pod in look.pods)
    assert suspects(look) == ()
    assert suspects(replace(look, pods=ending)) == ("worker-3002",)
    assert suspects(replace(at_rest(bound()), pods=ending)) == ("worker-3002",)
    assert suspects(replace(look, pods=tuple(replace(pod, node_name="") for pod in ending))) == ()


# For how long


@pytest.mark.parametrize(
    ("looks", "seconds"),
    [
        ([(100.0, silent())], 0.0),
        ([(100.0, silent()), (105.0, silent()), (112.0, silent())], 12.0),
        ([(100.0, silent(GONE)), (105.0, silent(DOWN))], 5.0),
        ([(100.0, silent()), (700.0, silent())], GAP_COUNTS_S),
        ([(100.0, silent()), (90.0, silent())], 0.0),
        ([(100.0, silent()), (105.0, silent(READY))], 0.0),
        ([(100.0, silent()), (105.0, silent(READY)), (110.0, silent()), (112.0, silent())], 2.0),
        ([(100.0, silent()), (105.0, FETCHES), (110.0, silent())], 0.0),
        ([(100.0, silent()), (105.0, silent()), (110.0, LEADERLESS)], 5.0),
        ([(100.0, silent()), (105.0, silent()), (110.0, LEADERLESS), (115.0, silent()), (118.0, silent())], 8.0),
        ([(100.0, silent()), (105.0, silent()), (110.0, silent(FORBIDDEN))], 5.0),
        ([(100.0, silent()), (105.0, silent()), (110.0, silent(FORBIDDEN)), (115.0, silent())], 5.0),
        ([(100.0, silent(FORBIDDEN)), (105.0, silent(FORBIDDEN))], 0.0),
    ],
    ids=[
        "one look is a moment",
        "agreement adds up",
        "not ready and gone are both lost",
        "of a long gap only so much counts",
        "never backwards",
        "ready again resets",
        "flapping begins anew",
        "fetching resets",
        "no leader resets nothing",
        "no leader counts nothing",
        "a node that cannot be read resets nothing",
        "a node that cannot be read counts nothing",
        "never read, never lost",
    ],
)
def test_lost_for(looks: list[tuple[float, Observed]], seconds: float) -> None:
    """Time counts between two looks at which Kubernetes and the quorum agreed; unknown looks do not reset it."""
    assert lost_for_s(*looks) == seconds


def test_another_node_begins_anew() -> None:
    """For a controller that moved to another lost Kubernetes node, the time starts at zero."""
    look = silent()
    pods = tuple(replace(one, node_name="worker-9") if one.node_id == 3002 else one for one in look.pods)
    elsewhere = Known(value=KubeNode(name="worker-9", exists=True, ready=False))
    moved = replace(look, pods=pods, kube_nodes=(("worker-9", elsewhere),))
    assert lost_for_s((100.0, look), (110.0, look), (112.0, moved)) == 0.0


def test_given_up_is_forgotten() -> None:
    """After its disk is retired a controller has no lost Kubernetes node, and its successor starts at zero."""
    record = with_disk_lost(running(), NodeID(3002), new_claim=True)
    before = replace(
        at_rest().memory,
        lost_nodes=(LostNode(key=key(3002), kube_node=WORKER, for_s=600.0, agreed_at_s=90.0),),
    )
    look = replace(silent(), record=record, memory=before)
    assert agreed(look, 100.0).lost_nodes == ()
    assert agreed(look, 100.0).lost_for_s(ReplicaKey(node_id=NodeID(3002), directory_id=directory(3002, 2))) == 0.0


def test_without_a_record_nothing_is_remembered() -> None:
    """Without a record no lost Kubernetes node is remembered."""
    assert agreed(replace(silent(), record=None), 100.0).lost_nodes == ()
