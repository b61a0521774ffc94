"""Rule 10: which replicas may move away from a broker that leaves, and when it is proved to be empty."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.brokers.looks import at, look, nodes, partition, ran, reassignment, registered, view, with_view
from tests.brokers.values import broker, desired, record

from kafka_brokers.model.observed import ClusterView, Observed
from kafka_brokers.plan.guards.rule10_records import may_leave, may_move
from kafka_quorum.model.brokers import LogDirectory, Move, Replica
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.permit import Verdict

TWO = NodeID(2)
FIVE = [*map(registered, range(4)), registered(4, fenced=True)]
"""Brokers 0 to 3 are unfenced, broker 4 is fenced."""
AT_REST = look()


def move(name: str, *replicas: int) -> Move:
    """A reassignment to these replicas."""
    return Move(at=at(name), replicas=nodes(replicas))


def moving(*moves: Move, seen: ClusterView | None = None) -> Verdict:
    """Whether these moves away from broker 2 may begin."""
    present = seen or view([partition("t-0", [2, 0, 1]), partition("u-0", [0, 2])], FIVE)
    verdict = may_move(with_view(AT_REST, present), TWO, moves)
    assert verdict.rule == "10-move-replicas"
    return verdict


def test_each_partition_keeps_its_number_of_replicas() -> None:
    """The broker that leaves is replaced by one that is unfenced; the others may stay, or not."""
    assert moving(move("t-0", 3, 0, 1)).allowed
    assert moving(move("t-0", 3, 0, 1), move("u-0", 0, 3)).allowed
    assert moving(move("u-0", 1, 3)).allowed


WRONG: list[tuple[tuple[Move, ...], str]] = [
    ((move("t-0", 0, 1),), "would not keep its 3 replicas"),
    ((move("t-0", 3, 0, 1, 2),), "would not keep its 3 replicas"),
    ((move("t-0", 3, 0, 1, 4),), "would not keep its 3 replicas"),
    ((move("t-0", 0, 1, 1),), "would not keep its 3 replicas"),
    ((move("t-0", 3, 0, 0, 1),), "would not keep its 3 replicas"),
    ((move("t-0", 2, 0, 1),), "would not keep its 3 replicas"),
    ((move("t-0", 2, 0, 3),), "would not keep its 3 replicas"),
    ((Move(at=at("t-0"), replicas=None),), "would not keep its 3 replicas"),
    ((move("t-0", 4, 0, 1),), "a broker that is not unfenced"),
    ((move("t-0", 9, 0, 1),), "a broker that is not unfenced"),
    ((move("x-0", 3, 0, 1),), "partition x-0 is not known"),
    ((move("t-0", 3, 0, 1), move("x-0", 3)), "partition x-0 is not known"),
    ((move("x-0", 3), move("t-0", 3, 0, 1)), "partition x-0 is not known"),
    ((move("u-0", 0, 3), move("t-0", 4, 0, 1)), "a broker that is not unfenced"),
]


@pytest.mark.parametrize(("moves", "why"), WRONG)
def test_a_move_that_could_lose_a_replica_does_not_begin(moves: tuple[Move, ...], why: str) -> None:
    """One wrong move refuses all of them."""
    verdict = moving(*moves)
    assert not verdict.allowed
    assert why in verdict.reason


def test_what_moves_already_is_not_moved_again() -> None:
    """A second reassignment would replace the first one."""
    running = reassignment("t-0", [2, 0, 1, 3], adding=[3], removing=[2])
    seen = view([partition("t-0", [2, 0, 1, 3], [2, 0, 1])], FIVE, reassignments=[running])
    assert "already" in moving(move("t-0", 3, 0, 1, 2), seen=seen).reason


def test_a_fenced_replica_that_stays_is_no_objection() -> None:
    """Only brokers that get a new replica must be unfenced."""
    seen = view([partition("t-0", [2, 0, 4], [2, 0])], FIVE)
    assert moving(move("t-0", 3, 0, 4), seen=seen).allowed


UNKNOWN: list[Observed] = [
    replace(AT_REST, leader=Unknown(reason="timeout")),
    replace(AT_REST, cluster=Unknown(reason="timeout")),
]


@pytest.mark.parametrize("of", UNKNOWN, ids=["no leader", "no partitions"])
def test_what_is_not_known_allows_nothing(of: Observed) -> None:
    """Neither a move nor a stop for good; a broker that never ran needs no proof."""
    assert "timeout" in may_move(of, TWO, (move("orders-0", 0, 1, 3),)).reason
    for stopped in (True, False):
        verdict = may_leave(of, LEAVER, Known(value=(EMPTY,)), stopped=stopped)
        assert not verdict.allowed
        assert "timeout" in verdict.reason
        assert may_leave(of, replace(LEAVER, ran=False), Unknown(reason="x"), stopped=stopped).allowed


# 10-leave-empty


LEAVER = broker(ran(record(), desired()), 2)
EMPTY = LogDirectory(path="/d", error="", total_bytes=1, usable_bytes=1, replicas=())
LEFT = view([partition("t-0", [0, 1])], [registered(0), registered(1), registered(2)])
"""No partition has broker 2."""


def leaves(
    seen: ClusterView = LEFT,
    directories: Knowable[tuple[LogDirectory, ...]] | None = None,
    *,
    stopped: bool = False,
) -> str:
    """Why broker 2 may not leave; empty if it may."""
    verdict = may_leave(with_view(AT_REST, seen), LEAVER, directories or Known(value=(EMPTY,)), stopped=stopped)
    assert verdict.rule == "10-leave-empty"
    return "" if verdict.allowed else verdict.reason


def test_a_broker_without_a_replica_anywhere_may_leave() -> None:
    """Neither the cluster nor its own directories have one."""
    assert leaves() == ""
    assert leaves(directories=Known(value=(EMPTY, EMPTY))) == ""


def rows(*names: str) -> tuple[Replica, ...]:
    """Replicas in a directory."""
    return tuple(Replica(at=at(name), size_bytes=1, lag=0, future=False) for name in names)


DIRECTORIES: list[tuple[Knowable[tuple[LogDirectory, ...]], str]] = [
    (Unknown(reason="timeout"), "timeout"),
    (Known(value=(EMPTY, replace(EMPTY, replicas=rows("t-0")))), "one partition (t-0)"),
    (Known(value=(replace(EMPTY, replicas=rows("b-0")), replace(EMPTY, replicas=rows("a-0")))), "(a-0, b-0)"),
    (Known(value=(EMPTY, replace(EMPTY, error="KAFKA_STORAGE_ERROR"))), "KAFKA_STORAGE_ERROR"),
]


@pytest.mark.parametrize(("directories", "why"), DIRECTORIES)
def test_its_own_directories_must_be_empty(directories: Knowable[tuple[LogDirectory, ...]], why: str) -> None:
    """A replica in one of them, one that failed, or no answer is no proof."""
    assert why in leaves(directories=directories)


HAS: list[tuple[ClusterView, str]] = [
    (view([partition("t-0", [0, 2])], FIVE), "one partition (t-0)"),
    (view([partition("t-0", [0, 1], [0, 1, 2])], FIVE), "one partition (t-0)"),
    (view([partition("b-0", [0, 2]), partition("a-0", [2, 1])], FIVE), "2 partitions (a-0, b-0)"),
    (
        view([partition("t-0", [0, 1])], FIVE, reassignments=[reassignment("t-0", [0, 1], adding=[2], removing=[])]),
        "running reassignments name broker 2",
    ),
    (
        view([partition("t-0", [0, 1])], FIVE, reassignments=[reassignment("t-0", [0, 2], adding=[], removing=[2])]),
        "running reassignments name broker 2",
    ),
]


@pytest.mark.parametrize("stopped", [True, False])
@pytest.mark.parametrize(("seen", "why"), HAS)
def test_the_cluster_must_have_nothing_on_it(seen: ClusterView, why: str, *, stopped: bool) -> None:
    """No replica now, and none that a running reassignment names."""
    assert why in leaves(seen, stopped=stopped)


@pytest.mark.parametrize(
    ("others", "why"),
    [([0, 1], ""), ([0, 1, 2], "still unfenced")],
)
def test_after_its_stop_its_session_must_have_ended(others: Sequence[int], why: str) -> None:
    """Its directories cannot be asked any more; a registration that is fenced, or gone, is."""
    said = leaves(view(LEFT.partitions, map(registered, others)), Unknown(reason="x"), stopped=True)
    assert (why in said, bool(why)) == (True, bool(said))
    fenced = view(LEFT.partitions, [registered(0), registered(2, fenced=True)])
    assert leaves(fenced, Unknown(reason="x"), stopped=True) == ""
