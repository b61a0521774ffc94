"""What a drain leaves on a broker: its cordon is set while it leaves, and removed if it stays after all."""

from dataclasses import replace

import pytest
from tests.brokers.looks import changed_pod, edited, look, partition, planned, ran, registered, situation, view
from tests.brokers.values import desired, record

from kafka_brokers.model.actions import AlterConfig, MovePartitions
from kafka_brokers.model.disks import Throttle
from kafka_brokers.model.observed import Observed
from kafka_brokers.model.pool import PoolDesired
from kafka_brokers.plan.facts import CHANGED, CORDON
from kafka_brokers.plan.leaving import is_cordoned, leaving
from kafka_quorum.model.brokers import ConfigChange, ConfigEntry
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown

TWO = desired({"replicas": 2, "drain": "Automatic"})
HOLD = desired({"replicas": 2, "drain": "Hold"})
LEAVES = edited(ran(record(), TWO), 2, leaving=True)
MOVABLE = view([partition("t-0", [2, 0, 1])], [registered(node) for node in range(4)])
LIMITS = Throttle(bytes_per_s=52_428_800, brokers=tuple(map(NodeID, range(4))), topics=("t",))


def entry(value: str | None, source: int = CHANGED, name: str = CORDON) -> ConfigEntry:
    """A cordon."""
    return ConfigEntry(name=name, value=value, source=source, read_only=False)


def having(of: Observed, node_id: int, *rows: ConfigEntry) -> Observed:
    """The look, in which this broker has these settings."""
    known = tuple((node, Known(value=rows) if node == node_id else found) for node, found in of.configs)
    return replace(of, configs=known)


def cordons(of: Observed, by: PoolDesired = TWO) -> list[tuple[int, int, tuple[ConfigChange, ...]]]:
    """The brokers that are cordoned, or not any more: whom it is about, who is asked, and the change."""
    part = leaving(situation(of, by))
    return [(one.node_id, one.broker.node_id, one.changes) for one in part.actions if isinstance(one, AlterConfig)]


SET = [(2, 2, (ConfigChange(name=CORDON, value="*"),))]
GOES = look(replace(LEAVES, throttle=LIMITS), TWO, seen=MOVABLE, least=2)


def test_a_broker_that_leaves_is_cordoned_at_that_broker() -> None:
    """Before and beside its moves, with Hold too; a release without cordons has nothing to set."""
    for by in (TWO, HOLD):
        assert cordons(having(GOES, 2, entry("", 5)), by) == SET
        assert cordons(having(GOES, 2, entry("/d1")), by) == SET
        assert cordons(having(GOES, 2, entry("*")), by) == []
        assert cordons(having(GOES, 2), by) == []
        assert cordons(having(GOES, 2, entry("", 5, "other")), by) == []
    kinds = [type(one) for one in planned(having(GOES, 2, entry("", 5)), TWO).actions]
    assert kinds == [AlterConfig, MovePartitions]


def test_a_broker_that_cannot_be_asked_is_not_cordoned() -> None:
    """It does not run, or its settings are unknown; its partitions are moved all the same."""
    for of in (
        changed_pod(having(GOES, 2, entry("", 5)), 2, deleting=True),
        replace(GOES, configs=()),
        replace(GOES, configs=((NodeID(2), Unknown(reason="timeout")),)),
    ):
        assert cordons(of) == []
        assert any(isinstance(one, MovePartitions) for one in leaving(situation(of, TWO)).actions)


REMOVED = [(1, 1, (ConfigChange(name=CORDON, value=None),))]
STAYS = look()


def test_a_cordon_that_is_left_behind_is_removed() -> None:
    """Of a broker that stays: else it would get no new replicas, and nobody would see why."""
    assert cordons(having(STAYS, 1, entry("*")), desired()) == REMOVED
    (action,) = planned(having(STAYS, 1, entry("*"))).actions
    assert isinstance(action, AlterConfig)


NOT_OURS = [entry("/d1"), entry("*", 4), entry("*", 3), entry("", CHANGED), entry("*", CHANGED, "other")]


@pytest.mark.parametrize("row", NOT_OURS)
def test_a_cordon_of_others_is_left_alone(row: ConfigEntry) -> None:
    """One directory that a person cordoned, or one in the properties file, is not a drain's."""
    assert not is_cordoned((row,))
    assert cordons(having(STAYS, 1, row), desired()) == []


def test_a_leftover_is_removed_only_where_it_is_known() -> None:
    """Not of a broker that does not run, or whose settings are unknown; nor with an invalid spec."""
    left = having(STAYS, 1, entry("*"))
    for of in (
        changed_pod(left, 1, deleting=True),
        replace(left, configs=((NodeID(1), Unknown(reason="timeout")),)),
    ):
        assert cordons(of, desired()) == []
    assert not any(isinstance(one, AlterConfig) for one in planned(left, repair_only=True).actions)
