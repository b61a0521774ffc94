"""Two pools that shrink at once, and brokers that stay after all: which moves begin, and which are cancelled."""

from dataclasses import replace

from tests.brokers.looks import at, edited, look, partition, planned, ran, reassignment, registered, view
from tests.brokers.values import IDS, broker, desired, record

from kafka_brokers.model.actions import CancelMoves, MovePartitions, WriteRecord
from kafka_brokers.model.changes import RecordChange
from kafka_brokers.model.disks import Throttle
from kafka_brokers.model.observed import ClusterView, Observed
from kafka_brokers.plan.guards.rule10_records import may_move
from kafka_quorum.model.brokers import Move
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown

TWO = desired({"replicas": 2, "drain": "Automatic"})
THREE = desired({"replicas": 3, "drain": "Automatic"})
LIMITS = Throttle(bytes_per_s=52_428_800, brokers=tuple(map(NodeID, range(5))), topics=("t",))
FIVE = [registered(node) for node in range(5)]


def drains(others: Knowable[frozenset[NodeID]]) -> Observed:
    """Broker 2 is drained; brokers 3 and 4 are of another pool, of which these leave."""
    of = replace(edited(ran(record(), TWO), 2, leaving=True), throttle=LIMITS)
    return look(of, TWO, seen=view([partition("t-0", [2, 0, 1])], FIVE), draining=others, least=2)


def test_no_replica_moves_to_a_broker_that_leaves_another_pool() -> None:
    """Of brokers 3 and 4 the one that stays gets the replica."""
    (action,) = planned(drains(Known(value=frozenset({NodeID(3)}))), TWO).actions
    assert isinstance(action, MovePartitions)
    assert action.moves == (Move(at=at("t-0"), replicas=(NodeID(4), NodeID(0), NodeID(1))),)


def test_no_replica_moves_while_another_pools_record_is_unknown() -> None:
    """It may say that its brokers leave: nothing moves, and the sentence says why."""
    plan = planned(drains(Unknown(reason="it cannot be read")), TWO)
    assert plan.actions == ()
    assert any("it is not known which brokers of other pools leave" in one.message for one in plan.waits)


def test_with_nobody_left_the_drain_says_so() -> None:
    """Every other broker leaves: there is no place for the replica."""
    plan = planned(drains(Known(value=frozenset({NodeID(3), NodeID(4)}))), TWO)
    assert plan.actions == ()
    assert any(one.reason == "BrokerNotEmpty" for one in plan.waits)


def test_the_guard_refuses_a_target_that_leaves() -> None:
    """Whatever chose it: the guard compares each new replica with those that leave."""
    verdict = may_move(
        drains(Known(value=frozenset({NodeID(3)}))),
        IDS[2],
        (Move(at=at("t-0"), replicas=(NodeID(3), NodeID(0), NodeID(1))),),
    )
    assert not verdict.allowed
    assert "broker 3, which leaves" in verdict.reason


def turned(*topics: str) -> Observed:
    """Broker 2 was drained and stays after all; a partition of topic `t` moves away from it."""
    of = edited(ran(record(), THREE), 2, kept=True)
    of = replace(of, throttle=replace(LIMITS, topics=topics) if topics else None)
    return look(of, THREE, seen=moving(), least=3)


def moving() -> ClusterView:
    """A running move of partition t-0 from broker 2 to broker 3."""
    row = partition("t-0", [2, 0, 1, 3], [2, 0, 1])
    running = reassignment("t-0", [2, 0, 1, 3], adding=[3], removing=[2])
    return view([row], FIVE, reassignments=[running])


def test_a_broker_that_stays_after_all_is_marked() -> None:
    """The record says that the moves of its drain are to be cancelled, until none is left."""
    of = edited(ran(record(), THREE), 2, leaving=True)
    (action,) = planned(look(of, THREE, least=2), THREE).actions
    assert isinstance(action, WriteRecord)
    assert action.change is RecordChange.STAYING
    assert (broker(action.record, 2).leaving, broker(action.record, 2).kept) == (False, True)


def test_moves_of_a_drain_that_was_turned_round_are_cancelled_without_a_cordon() -> None:
    """Also on a release in which no broker can be cordoned."""
    (action,) = planned(turned("t"), THREE).actions
    assert isinstance(action, CancelMoves)
    assert action.moves == (Move(at=at("t-0"), replicas=None),)


def test_moves_of_a_person_are_not_cancelled() -> None:
    """The drain has not limited this topic, so the move is not its own; the mark goes."""
    assert not any(isinstance(one, CancelMoves) for one in planned(turned("other"), THREE).actions)
    (action,) = planned(turned(), THREE).actions
    assert isinstance(action, WriteRecord)
    assert action.change is RecordChange.KEPT
    assert not broker(action.record, 2).kept
