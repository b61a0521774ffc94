"""What waits while the cluster uses ZooKeeper or migrates from it, and what a doubtful broker is not."""

from dataclasses import replace

from tests.brokers.looks import (
    NOW_S,
    ORDERS,
    edited,
    look,
    new_spec,
    partition,
    planned,
    ran,
    registered,
    revision_of,
    situation,
    view,
)
from tests.brokers.values import CONTRACT, broker, desired, record

from kafka_brokers.model.actions import ElectPreferred, MovePartitions, Unregister, WriteRecord
from kafka_brokers.model.observed import ClusterView, Observed
from kafka_brokers.plan.facts import MIGRATION_ENABLE
from kafka_brokers.plan.guards.rule2_disks import may_replace_pod
from kafka_brokers.plan.guards.rule10_records import may_retire_disk
from kafka_brokers.plan.guards.rule11_stops import may_stop
from kafka_quorum.model.contract import Contract, Match, Setting
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known
from kafka_quorum.model.zookeeper import ZooKeeperAccess

ZOOKEEPER = ZooKeeperAccess(connect="zoo:2181")
RAN = ran(record(), desired())


def contract(enabled: str | None, *, zookeeper: bool) -> Contract:
    """A contract of a migration."""
    settings = () if enabled is None else (Setting(key=MIGRATION_ENABLE, value=enabled, match=Match.EQUALS),)
    return replace(CONTRACT, settings=(*CONTRACT.settings, *settings), zookeeper=ZOOKEEPER if zookeeper else None)


STAGES = (contract("false", zookeeper=True), contract("true", zookeeper=True), contract("false", zookeeper=False))


def test_a_broker_leaves_after_the_migration() -> None:
    """In every stage it is neither drained nor unregistered, and the message says what to do; after it, it is."""
    asked = desired({"replicas": 2, "drain": "Automatic"})
    of = edited(RAN, 2, leaving=True)
    rows = (partition("orders-0", [0, 2]), partition("orders-1", [0, 1]))
    for stage in STAGES:
        plan = planned(look(of, seen=view(rows), contract=Known(value=stage)), asked)
        assert not [one for one in plan.actions if isinstance(one, MovePartitions | Unregister | WriteRecord)]
        assert [wait.node_id for wait in plan.waits if wait.reason == "AfterMigration"] == [2]
    after = planned(look(of, seen=view(rows), contract=Known(value=contract(None, zookeeper=False))), asked)
    assert not [wait for wait in after.waits if wait.reason == "AfterMigration"]


def test_preferred_leaders_while_two_kinds_of_controllers_may_lead() -> None:
    """Kafka's own rebalance does it then; before and after, the pool asks the one that leads."""
    rows = (partition("orders-0", [0, 1, 2], [0, 1, 2], leader=1),)
    for stage, asks in zip(STAGES, (True, False, True), strict=True):
        plan = planned(look(RAN, seen=view(rows), contract=Known(value=stage)))
        assert bool([one for one in plan.actions if isinstance(one, ElectPreferred)]) == asks


def doubtful(of: Observed, node_id: int) -> Observed:
    """The look, in which only some brokers list this one."""
    rows = tuple(registered(node, fenced=node == node_id) for node in range(3))
    seen = ClusterView(
        source=NodeID(0),
        registered=rows,
        partitions=ORDERS,
        min_isr=(("orders", 2),),
        reassignments=(),
        taken_at_s=0.0,
        doubtful=frozenset({NodeID(node_id)}),
    )
    return replace(of, cluster=Known(value=seen))


def test_a_doubtful_broker_is_neither_in_nor_out() -> None:
    """Others do not stop beside it, and what needs a fenced broker is not done to it."""
    of = doubtful(look(RAN), 1)
    assert of.fenced(NodeID(1)) is None
    assert not may_stop(desired(), of, (NodeID(0),), NOW_S).allowed
    pod = of.broker_pod(NodeID(1))
    assert pod is not None
    assert not may_replace_pod(pod, situation(of).fenced(NodeID(1))).allowed
    refusal = may_retire_disk(of, broker(RAN, 1), broker(RAN, 1).disks, "its claim is gone")
    assert not refusal.allowed
    assert "in contact" in refusal.reason


def test_a_doubtful_broker_is_not_restarted_as_a_fenced_one() -> None:
    """A fenced broker gets the present revision without a judgement of its partitions; a doubtful one does not."""
    target = revision_of(new_spec())
    of = doubtful(look(RAN, new_spec(), old=(revision_of(desired()),)), 1)
    of = replace(of, pods=tuple(replace(one, revision=revision_of(desired()).name) for one in of.pods))
    plan = planned(of, new_spec())
    assert not [
        one for one in plan.actions if isinstance(one, WriteRecord) and broker(one.record, 1).revision == target.name
    ]
