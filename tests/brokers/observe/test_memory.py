"""Facts that need several looks: volumes that were found empty, and Kubernetes nodes that are down."""

from dataclasses import replace
from typing import Any

import pytest
from tests.brokers.looks import (
    CRASHES,
    ENDED,
    changed_claim,
    changed_pod,
    claim,
    edited,
    formatter,
    look,
    ran,
    refused,
    registered,
    view,
    with_view,
    without_pod,
)
from tests.brokers.values import broker, desired, record

from kafka_brokers.model.disks import without_data
from kafka_brokers.model.observed import DisksReport, KubeNode, Memory, Observed, Pod
from kafka_brokers.observe.memory import FORGOTTEN_AFTER_S, LOOK_MAX_S, remembered
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.pods import DiskFound, Running

RAN = ran(record(), desired())
ONE = NodeID(1)
LOOK = replace(look(RAN), pods=())


def ended(uid: str, said: DisksReport | None, **changes: Any) -> Pod:  # noqa: ANN401 - any field
    """A formatter of broker 1 that has ended with this report."""
    made = formatter(broker(RAN, 1), container=ENDED, finished=True)
    return replace(made, uid=uid, report=said, **changes)


FIRST, SECOND = ended("f1", refused(10.0)), ended("f2", refused(30.0))


def after(*looks: tuple[float, Pod | None]) -> Memory:
    """The memory after these looks."""
    memory = Memory()
    for now_s, pod in looks:
        memory = remembered(replace(LOOK, pods=() if pod is None else (pod,), memory=memory), memory, now_s)
    return memory


def spans(memory: Memory) -> list[tuple[int, float]]:
    """For how long each volume has been found empty."""
    return [(row.index, row.last_s - row.first_s) for row in memory.blank]


def test_two_formatters_that_found_a_volume_empty_count_from_the_first() -> None:
    """Each runs once; the same report seen twice is one run."""
    assert spans(after((100.0, FIRST))) == [(0, 0.0)]
    assert spans(after((100.0, FIRST), (110.0, FIRST))) == [(0, 0.0)]
    assert spans(after((100.0, FIRST), (110.0, FIRST), (120.0, SECOND))) == [(0, 20.0)]
    assert spans(after((100.0, SECOND), (120.0, FIRST))) == [(0, 0.0)]


def test_between_two_runs_there_is_no_report() -> None:
    """While a formatter looks, or none is there, nothing else was found."""
    looks_ = ended("f2", None, finished=False, container=Running(started_at="", container="2"))
    assert spans(after((100.0, FIRST), (110.0, looks_), (120.0, SECOND))) == [(0, 20.0)]
    assert spans(after((100.0, FIRST), (110.0, None), (120.0, SECOND))) == [(0, 20.0)]


def test_any_other_finding_ends_the_evidence() -> None:
    """Also a volume that could not be read; each volume counts by itself."""
    for other in (DiskFound.FORMATTED, DiskFound.PARTIAL, DiskFound.UNREADABLE):
        between = ended("f3", refused(20.0, other))
        assert spans(after((100.0, FIRST), (110.0, between), (120.0, SECOND))) == [(0, 0.0)]
    both = ended("f1", refused(10.0, DiskFound.EMPTY, DiskFound.EMPTY))
    one = ended("f2", refused(30.0, DiskFound.FORMATTED, DiskFound.EMPTY))
    assert spans(after((100.0, both), (120.0, one))) == [(1, 20.0)]


def test_after_a_long_time_without_a_look_the_evidence_begins_again() -> None:
    """Nobody knows what ran meanwhile."""
    assert spans(after((100.0, FIRST), (100.0 + FORGOTTEN_AFTER_S, SECOND))) == [(0, FORGOTTEN_AFTER_S)]
    assert spans(after((100.0, FIRST), (100.1 + FORGOTTEN_AFTER_S, SECOND))) == [(0, 0.0)]
    assert spans(after((100.0, FIRST), (101.0 + FORGOTTEN_AFTER_S, None))) == []


def test_a_formatter_of_other_claims_begins_again() -> None:
    """And what Kafka's own pod finds is noted on it, and not remembered here."""
    other = ended("f3", refused(30.0), claim_uids=("x",))
    assert spans(after((100.0, FIRST), (110.0, None), (120.0, other))) == [(0, 0.0), (0, 0.0)]
    assert [row.claim_uids for row in after((100.0, FIRST), (120.0, other)).blank] == [("x",), FIRST.claim_uids]
    own = replace(look(RAN).pods[1], container=CRASHES, report=refused(10.0))
    assert after((100.0, own)).blank == ()


# Kubernetes nodes that are down


READY = Known(value=KubeNode(name="worker-1", ready=True))
DOWN = Known(value=KubeNode(name="worker-1", ready=False))
FENCED = view((), [registered(0), registered(1, fenced=True), registered(2)])


def place(node: Knowable[KubeNode] = DOWN, **changes: Any) -> Observed:  # noqa: ANN401 - any field
    """Broker 1 is fenced, and its Kubernetes node is so."""
    return replace(with_view(look(RAN), FENCED), kube_nodes=(("worker-1", node),), **changes)


def down_s(*looks: tuple[float, Observed]) -> float:
    """For how long the node has been down after these looks."""
    memory = Memory()
    for now_s, seen in looks:
        memory = remembered(replace(seen, memory=memory), memory, now_s)
    return memory.node_down_for_s(ONE)


def test_a_node_is_down_for_as_long_as_looks_have_agreed() -> None:
    """The first look only begins; each next one adds the time since the last look, at most 15 s."""
    assert 0 < down_s((100.0, place())) < 0.01
    assert down_s((100.0, place()), (110.0, place()), (112.0, place())) == pytest.approx(12.0, abs=0.01)
    assert down_s((100.0, place()), (1000.0, place())) == pytest.approx(LOOK_MAX_S, abs=0.01)
    assert down_s((100.0, place()), (90.0, place())) == pytest.approx(0.0, abs=0.01)


AGREE: list[tuple[Observed, float]] = [
    (place(READY), 0.0),
    (replace(place(), cluster=with_view(look(RAN), view(())).cluster), 0.0),
    (replace(place(), cluster=with_view(look(RAN), view(())).cluster, kube_nodes=()), 0.0),
    (place(READY, cluster=Unknown(reason="timeout")), 0.0),
    (place(Unknown(reason="timeout")), 5.0),
    (place(cluster=Unknown(reason="timeout")), 5.0),
    (replace(place(), kube_nodes=()), 5.0),
    (without_pod(place(), 1), 0.0),
    (changed_claim(without_pod(place(), 1), 1, bound_to="worker-1"), 15.0),
    (changed_pod(place(), 1, node_name=""), 0.0),
]


@pytest.mark.parametrize(("between", "seconds"), AGREE)
def test_what_resets_what_adds_and_what_is_not_known(between: Observed, seconds: float) -> None:
    """A look at which one side says no begins again; one at which it is not known neither adds nor resets."""
    begun = ((100.0, place()), (105.0, place()))
    assert down_s(*begun, (115.0, between)) == pytest.approx(seconds, abs=0.01)


def again(earlier: str, later: str, *, pod: bool) -> Observed:
    """Broker 1 has its second volume, on `later`; its first one was given up, and stays with its machine, `earlier`."""
    before = claim(broker(RAN, 1), bound_to=earlier, retired=True)
    disk = replace(without_data(broker(RAN, 1).disks[0], new_claim=True), claim_uid="later")
    of = edited(RAN, 1, disks=(disk,))
    after = claim(broker(of, 1), bound_to=later)
    seen = changed_pod(look(of, seen=FENCED, claims=(before, after)), 1, node_name="")
    nodes = (("worker-1", DOWN), ("worker-2", Known(value=KubeNode(name="worker-2", ready=True))))
    return replace(seen if pod else without_pod(seen, 1), kube_nodes=nodes)


@pytest.mark.parametrize("pod", [True, False])
def test_the_machine_of_a_volume_that_was_given_up_does_not_count(pod: bool) -> None:  # noqa: FBT001
    """A broker is where its present volume is: that its earlier machine is down, or back, says nothing."""
    lost, kept = again("worker-2", "worker-1", pod=pod), again("worker-1", "worker-2", pod=pod)
    assert down_s((100.0, lost), (110.0, lost)) == pytest.approx(10.0, abs=0.01)
    assert down_s((100.0, kept), (110.0, kept)) == 0.0


def test_a_formatter_is_where_it_runs() -> None:
    """The volumes that it formats may be reached from everywhere."""
    seen = without_pod(place(), 1)
    there = formatter(broker(RAN, 1), node_name="worker-1")
    seen = replace(seen, pods=(*seen.pods, there))
    assert down_s((100.0, seen), (110.0, seen)) == pytest.approx(10.0, abs=0.01)


def test_what_was_unknown_does_not_begin() -> None:
    """Without both there is nothing to remember; nor without a record."""
    assert down_s((100.0, place(Unknown(reason="timeout")))) == 0.0
    assert down_s((100.0, place(record=None))) == 0.0
