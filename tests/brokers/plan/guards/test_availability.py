"""The arithmetic of rules 10 and 11: what a stop would do to each partition, and who has the only complete copy."""

from dataclasses import replace

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from tests.brokers.looks import NOW_S, ORDERS, at, look, nodes, partition, reassignment, registered, view, with_view
from tests.brokers.values import desired

from kafka_brokers.model.observed import ClusterView
from kafka_brokers.plan.guards.availability import last_copies, named, objections, share
from kafka_brokers.plan.guards.rule11_stops import may_stop
from kafka_quorum.model.brokers import Partition
from kafka_quorum.model.ids import NodeID

ZERO = NodeID(0)


def against(row: Partition, *, min_isr: int = 2, others: tuple[int, ...] = ()) -> tuple[str, bool] | None:
    """What speaks against a stop of broker 0, and whether no waiting ends it."""
    found = list(objections(view([row], min_isr=min_isr), ZERO, frozenset(nodes(others))))
    return (found[0].why, found[0].for_good) if found else None


FINE = (
    (partition("t-0", [0, 1, 2]), 2),
    (partition("t-0", [1, 0, 2]), 2),
    (partition("t-0", [0, 1]), 1),
    (partition("t-0", [0, 1, 2, 3], [0, 1, 2]), 2),
    (partition("t-0", [1, 2, 0], [1, 2]), 2),  # it is outside the ISR, which has enough members
    (partition("t-0", [1, 2, 3], [1]), 2),  # it is no replica
    (partition("t-0", [1, 2, 3], [], leader=None), 2),
)


@pytest.mark.parametrize(("row", "min_isr"), FINE)
def test_a_partition_that_stays_available_does_not_object(row: Partition, min_isr: int) -> None:
    """A stop that leaves min ISR members, or that concerns no replica, harms nothing."""
    assert against(row, min_isr=min_isr) is None


HARMED = (
    (partition("t-0", [0, 1, 2], [0, 1]), 2, "it has 2 in-sync replicas, without broker 0 1, and needs 2", False),
    (partition("t-0", [0, 1, 2], [0]), 1, "broker 0 is its only in-sync replica", False),
    (partition("t-0", [0, 1, 2], [0]), 2, "it has one in-sync replica and needs 2", False),
    (partition("t-0", [0, 1, 2], [1]), 2, "it has one in-sync replica and needs 2: broker 0 can become one", False),
    (partition("t-0", [0, 1, 2], [0, 1, 2], leader=None), 2, "it has no leader", False),
    (partition("t-0", [0, 1, 2], [], elr=[0, 1]), 2, "it has no leader", False),
    (partition("t-0", [0, 1, 2], [], last_elr=[0]), 2, "it has no leader", False),
    (partition("t-0", [0, 1, 2], [], last_elr=[1]), 2, "it has 0 in-sync replicas and needs 2", False),
    (partition("t-0", [0]), 1, "it has one replica, and min.insync.replicas is 1", True),
    (partition("t-0", [0, 1]), 2, "it has 2 replicas, and min.insync.replicas is 2", True),
    (partition("t-0", [0, 1]), 3, "it has 2 replicas, and min.insync.replicas is 3", True),
)


@pytest.mark.parametrize(("row", "min_isr", "why", "for_good"), HARMED)
def test_a_partition_that_would_be_harmed_objects(row: Partition, min_isr: int, why: str, for_good: bool) -> None:  # noqa: FBT001
    """Each objection names its reason, and says whether waiting can end it."""
    found = against(row, min_isr=min_isr)
    assert found is not None
    assert why in found[0]
    assert found[1] is for_good


def test_what_waiting_can_end_comes_before_what_a_person_must_decide() -> None:
    """A consent for RF 2 with min ISR 2 is no consent to stop the only in-sync replica, or a leaderless partition."""
    for row in (partition("t-0", [0, 1], [0]), partition("t-0", [0, 1], leader=None)):
        found = against(row, min_isr=2)
        assert found is not None
        assert not found[1], found
    outsider = against(partition("t-0", [0, 1], [1]), min_isr=2)
    assert outsider is not None
    assert not outsider[1]


def test_fewer_replicas_than_min_isr_are_not_waited_for() -> None:
    """With RF 2 and min ISR 3 no partition ever has three members: its two are all that waiting can bring."""
    assert against(partition("t-0", [0, 1], [1]), min_isr=3) is not None
    waiting = against(partition("t-0", [0, 1], [0, 1]), min_isr=3)
    assert waiting is not None
    assert waiting[1]


def test_an_unknown_min_isr_is_an_objection() -> None:
    """A topic whose min ISR is not known may need every member."""
    seen = view([partition("t-0", [0, 1, 2])], min_isr={})
    assert [one.why for one in objections(seen, ZERO, frozenset())] == ["its min.insync.replicas is not known"]


def test_brokers_that_stop_at_the_same_time_count_as_gone() -> None:
    """A partition of three cannot lose two at once."""
    assert against(partition("t-0", [0, 1, 2])) is None
    assert against(partition("t-0", [0, 1, 2]), others=(1,)) is not None


def test_a_running_reassignment_is_judged_by_its_target() -> None:
    """Members that the reassignment removes do not count for the time after it."""
    row = partition("t-0", [0, 1, 2, 3, 4], [0, 1, 2, 3])
    moving = reassignment("t-0", [0, 1, 2, 3, 4], adding=[3, 4], removing=[1, 2])
    assert not list(objections(view([row]), ZERO, frozenset()))
    found = list(objections(view([row], reassignments=[moving]), ZERO, frozenset()))
    assert "its running reassignment would end with 1" in found[0].why


def test_a_reassignment_to_fewer_replicas_is_judged_by_these() -> None:
    """A partition that shall have one replica is one that no order of stops keeps available."""
    row = partition("t-0", [0, 1, 2])
    moving = reassignment("t-0", [0, 1, 2], adding=[], removing=[1, 2])
    (found,) = objections(view([row], min_isr=1, reassignments=[moving]), ZERO, frozenset())
    assert found.for_good


def test_brokers_share_a_partition_now_or_later() -> None:
    """Two brokers have a partition in common as replicas, or when a running reassignment is done."""
    row = partition("t-0", [0, 1])
    moving = reassignment("t-0", [0, 1, 2], adding=[2], removing=[])
    assert share(view([row]), ZERO, NodeID(1))
    assert not share(view([row]), ZERO, NodeID(2))
    assert share(view([row], reassignments=[moving]), ZERO, NodeID(2))


ONLY = (
    (partition("t-0", [0, 1, 2], [0], leader=None), (0,), "the only member of the ISR"),
    (partition("t-0", [0, 1, 2], [], elr=[0]), (0,), "the only eligible leader"),
    (partition("t-0", [0, 1, 2], [], last_elr=[0]), (0,), "the last known leader"),
    (partition("t-0", [0, 1, 2], [], last_elr=[0, 1]), (0,), "one of the last known leaders"),
    (partition("t-0", [0, 1, 2], []), (0,), "a candidate as good as any: nothing is known of the others"),
    (partition("t-0", [0, 1, 2], [0, 1], leader=None), (0, 1), "the other member is fenced: its disk may be lost too"),
    (partition("t-0", [0, 1, 2], [], elr=[0, 1]), (0, 1), "the other eligible leader is fenced"),
    (partition("t-0", [0]), (0,), "the only replica"),
)


@pytest.mark.parametrize(("row", "away", "why"), ONLY)
def test_a_broker_that_may_have_the_only_complete_copy_is_named(
    row: Partition, away: tuple[int, ...], why: str
) -> None:
    """Other copies count only if their broker is unfenced: what cannot be asked may be lost as well."""
    brokers = [registered(node, fenced=node in away) for node in range(3)]
    assert [one.at for one in last_copies(view([row], brokers), ZERO)] == [at("t-0")], why


SAFE = (
    (partition("t-0", [0, 1, 2], [1, 2]), (0,)),
    (partition("t-0", [0, 1, 2], [1], elr=[0]), (0,)),
    (partition("t-0", [0, 1, 2], [0, 1]), (0,)),
    (partition("t-0", [0, 1, 2], [1], leader=None), (0, 1)),  # broker 0 cannot lead it
    (partition("t-0", [1, 2], [1]), (0,)),
)


@pytest.mark.parametrize(("row", "away"), SAFE)
def test_a_broker_without_the_only_copy_is_not_named(row: Partition, away: tuple[int, ...]) -> None:
    """Another unfenced broker has every acknowledged record, or this one is no candidate to lead."""
    brokers = [registered(node, fenced=node in away) for node in range(3)]
    assert last_copies(view([row], brokers), ZERO) == ()


def test_many_partitions_are_counted() -> None:
    """Five are named, the others counted."""
    assert named(tuple(at(f"t-{index}") for index in range(5))) == "t-0, t-1, t-2, t-3, t-4"
    assert named(tuple(at(f"t-{index}") for index in range(7))) == "t-0, t-1, t-2, t-3, t-4 and 2 more"


BROKERS = range(5)


@st.composite
def clusters(draw: st.DrawFn) -> ClusterView:
    """Partitions on five unfenced brokers in two racks, some of them not in sync, some being moved."""
    rows, least, moving = [], {}, []
    for number in range(draw(st.integers(1, 5))):
        order: list[int] = draw(st.permutations(list(BROKERS)))
        count = draw(st.integers(1, 4))
        replicas = order[:count]
        isr = [node for node in replicas if draw(st.integers(0, 4))]
        elr = [node for node in replicas if node not in isr and draw(st.booleans())]
        leader = isr[0] if isr and draw(st.integers(0, 9)) > 0 else None
        rows.append(partition(f"t{number}-0", replicas, isr, leader=leader, elr=elr))
        least[f"t{number}"] = draw(st.integers(1, 3))
        if not draw(st.integers(0, 3)) and len(replicas) > 1:
            moving.append(reassignment(f"t{number}-0", replicas, adding=(), removing=replicas[-1:]))
    brokers = [registered(node, rack=f"r{node % 2}") for node in BROKERS]
    return view(rows, brokers, min_isr=least, reassignments=moving)


@seed(12)
@settings(max_examples=400, deadline=None)
@given(clusters(), st.permutations(list(BROKERS)), st.integers(1, 3))
def test_an_allowed_stop_keeps_every_partition_available(seen: ClusterView, order: list[int], count: int) -> None:
    """Whatever the guard allows leaves each partition of RF > min ISR with min ISR members, one of which can lead."""
    batch = nodes(order[:count])
    of = replace(with_view(look(), seen), record=None, pods=())
    if not may_stop(desired({"roll": {"maxUnavailable": 3}}), of, batch, NOW_S).allowed:
        return
    for row in seen.partitions:
        least = seen.min_isr_of(row)
        assert least is not None
        concerned = set(row.replicas) & set(batch)
        left = set(row.isr) - set(batch)
        if concerned and len(row.replicas) > least:
            assert len(left) >= least, (row, batch)
            assert row.leader is not None
        if concerned:
            assert left, (row, batch)
            after = left & set(seen.replicas_of(row))
            before = set(row.isr) & set(seen.replicas_of(row))
            assert len(after) >= min(least, len(before)), (row, batch)


def test_the_guard_does_allow_stops() -> None:
    """The property above is not empty: usual partitions let a broker stop."""
    of = look(seen=view(ORDERS))
    assert may_stop(desired(), of, (ZERO,), NOW_S).allowed
