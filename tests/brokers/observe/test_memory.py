"""Facts that need several looks: volumes that were found empty, and Kubernetes nodes that are down."""

from dataclasses import replace
from typing import Any

import pytest
from tests.brokers.looks import (
    ENDED,
    changed_claim,
    changed_pod,
    claim,
    edited,
    formatter,
    look,
    ran,
    registered,
    view,
    with_view,
    without_pod,
)
from tests.brokers.values import broker, desired, record

from kafka_brokers.model.disks import without_data
from kafka_brokers.model.observed import BlankDisk, DiskRow, DisksReport, KubeNode, Memory, Observed, Pod
from kafka_brokers.observe.memory import FORGOTTEN_AFTER_S, LOOK_MAX_S, STARTED_AFTER_S, remembered
from kafka_brokers.plan.lost import evidence_of
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.pods import DiskFound, Running, Waiting

RAN = ran(record(), desired())
ONE = NodeID(1)
WAITS = Waiting(reason="CrashLoopBackOff", message="", last_exit=None)
LOOK = replace(look(RAN), pods=())


def found(finished_at_s: float, *rows: DiskFound) -> DisksReport:
    """A report of volumes that were found so."""
    disks = tuple(
        DiskRow(index=index, found=one, cluster_id=None, node_id=None, directory_id=None)
        for index, one in enumerate(rows or (DiskFound.EMPTY,))
    )
    return DisksReport(disks=disks, accepted=False, message="", finished_at_s=finished_at_s)


def waiting(said: DisksReport | None, **changes: Any) -> Pod:  # noqa: ANN401 - any field
    """Broker 1's pod, whose script has ended with this report."""
    return replace(look(RAN).pods[1], container=WAITS, report=said, **changes)


def after(*looks: tuple[float, Pod | None]) -> Memory:
    """The memory after these looks."""
    memory = Memory()
    for now_s, pod in looks:
        memory = remembered(replace(LOOK, pods=() if pod is None else (pod,), memory=memory), memory, now_s)
    return memory


def spans(memory: Memory) -> list[tuple[int, float]]:
    """For how long each volume has been found empty."""
    return [(row.index, row.last_s - row.first_s) for row in memory.blank]


def test_two_runs_that_found_a_volume_empty_count_from_the_first() -> None:
    """The same report seen twice is one run."""
    first, second = waiting(found(10.0)), waiting(found(30.0))
    assert spans(after((100.0, first))) == [(0, 0.0)]
    assert spans(after((100.0, first), (110.0, first))) == [(0, 0.0)]
    assert spans(after((100.0, first), (110.0, first), (120.0, second))) == [(0, 20.0)]
    assert spans(after((100.0, second), (120.0, first))) == [(0, 0.0)]


def test_between_two_runs_there_is_no_report() -> None:
    """While the script looks again, nothing else was found."""
    first, second, silent = waiting(found(10.0)), waiting(found(30.0)), waiting(None)
    assert spans(after((100.0, first), (110.0, silent), (120.0, second))) == [(0, 20.0)]


def test_any_other_finding_ends_the_evidence() -> None:
    """Also a volume that could not be read; each volume counts by itself."""
    first, second = waiting(found(10.0)), waiting(found(30.0))
    for other in (DiskFound.FORMATTED, DiskFound.PARTIAL, DiskFound.UNREADABLE):
        between = waiting(found(20.0, other))
        assert spans(after((100.0, first), (110.0, between), (120.0, second))) == [(0, 0.0)]
    both = waiting(found(10.0, DiskFound.EMPTY, DiskFound.EMPTY))
    one = waiting(found(30.0, DiskFound.FORMATTED, DiskFound.EMPTY))
    assert spans(after((100.0, both), (120.0, one))) == [(1, 20.0)]


def test_a_kafka_that_runs_ends_the_evidence() -> None:
    """The script runs for a moment in the same container; whatever runs for longer is Kafka."""
    first, second = waiting(found(10.0)), waiting(found(30.0))
    runs = waiting(None)
    script = replace(runs, container=Running(started_at="", container="2"))
    other = replace(runs, container=Running(started_at="", container="3"))
    at_s = 100.0 + STARTED_AFTER_S
    assert spans(after((99.0, first), (100.0, script), (at_s, script), (at_s + 1, second))) == [(0, 7.0)]
    assert spans(after((99.0, first), (100.0, script), (at_s + 0.1, script), (at_s + 1, second))) == [(0, 0.0)]
    assert spans(after((99.0, first), (100.0, script), (at_s + 0.1, other), (at_s + 1, second))) == [(0, 7.0)]
    twice = ((99.0, first), (100.0, script), (104.0, waiting(None)), (108.0, script), (112.0, script), (113.0, second))
    assert spans(after(*twice)) == [(0, 14.0)]


def test_after_a_long_time_without_a_look_the_evidence_begins_again() -> None:
    """Nobody knows what ran meanwhile."""
    first, second = waiting(found(10.0)), waiting(found(30.0))
    assert spans(after((100.0, first), (100.0 + FORGOTTEN_AFTER_S, second))) == [(0, FORGOTTEN_AFTER_S)]
    assert spans(after((100.0, first), (100.1 + FORGOTTEN_AFTER_S, second))) == [(0, 0.0)]


def test_another_pod_begins_again() -> None:
    """And a pod that is gone is forgotten."""
    first, second = waiting(found(10.0)), waiting(found(30.0), uid="another")
    assert spans(after((100.0, first), (120.0, second))) == [(0, 0.0)]
    assert spans(after((100.0, first), (110.0, None))) == []


def test_formatters_of_the_same_claims_count_together() -> None:
    """Each runs once: what one found is kept until the next one looks, for as long as any evidence."""

    def formats(uid: str, finished_at_s: float, **changes: Any) -> Pod:  # noqa: ANN401 - any field
        made = formatter(broker(RAN, 1), container=ENDED, finished=True)
        return replace(made, uid=uid, report=found(finished_at_s), **changes)

    one, two = formats("f1", 10.0), formats("f2", 30.0)
    assert spans(after((100.0, one), (110.0, None), (120.0, two))) == [(0, 20.0)]
    assert spans(after((100.0, one), (101.0 + FORGOTTEN_AFTER_S, None))) == []
    assert spans(after((100.0, one), (110.0, None), (120.0, formats("f3", 30.0, claim_uids=("x",))))) == [
        (0, 0.0),
        (0, 0.0),
    ]
    assert after((100.0, one)).blank[0].pod_uid == evidence_of(two)


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


def test_a_row_of_before_is_no_evidence_of_another_volume() -> None:
    """Only rows of this pod are kept."""
    row = BlankDisk(pod_uid="another", index=0, first_s=1, last_s=90, last_finished_at_s=5, looked_s=99)
    memory = Memory(blank=(row,))
    assert remembered(replace(LOOK, pods=(waiting(None),), memory=memory), memory, 100.0).blank == ()
