"""The modelled brokers register, replicate, leave and come back as Kafka's brokers do."""

import pytest
from tests.simulation.model.kafka.broker import Stage
from tests.simulation.model.kafka.broker_controller import NotAcceptedError
from tests.simulation.tests.pools import Pool

from kafka_quorum.model.ids import NodeID


def test_brokers_are_unfenced_and_a_partition_gets_records() -> None:
    """Three brokers are registered and unfenced, and every replica of a partition gets each acknowledged record."""
    pool = Pool.of(3)
    assert [row.fenced for row in pool.cluster.controller.image.brokers.values()] == [False] * 3
    at = pool.topic("orders", 0, 1, 2)
    pool.pass_time(5)
    assert pool.acked(at) >= 8
    for node_id in range(3):
        log = pool.broker(node_id).log_of(at)
        assert log is not None
        assert log.has(pool.cluster.acked[at])


def test_a_controlled_shutdown_moves_the_leader_before_the_broker_ends() -> None:
    """The leader of a partition stops: another one leads at once, and no record waits for a session to end."""
    pool = Pool.of(3)
    at = pool.topic("orders", 0, 1, 2)
    pool.model.ask_to_stop(pool.broker(0))
    pool.pass_time(3)
    assert pool.cluster.broker(NodeID(0)) is None
    assert (pool.row(at).leader, pool.row(at).isr) == (1, (1, 2))
    assert pool.cluster.longest_gap_s[at] <= 1.0
    pool.start(0)
    pool.pass_time(5)
    assert set(pool.row(at).isr) == {0, 1, 2}


def test_without_a_controller_a_broker_waits_and_then_ends() -> None:
    """A controlled shutdown needs an active controller: without one the broker runs on for five minutes."""
    pool = Pool.of(1)
    controller = pool.quorum.leader
    pool.quorum.kraft.stop(controller)
    broker = pool.broker(0)
    pool.model.ask_to_stop(broker)
    pool.pass_time(290)
    assert not broker.ended
    pool.pass_time(15)
    assert broker.ended


def test_a_killed_broker_is_fenced_when_its_session_ends() -> None:
    """Nine seconds after the last heartbeat a killed broker is out of the ISR; a new one is refused until then."""
    pool = Pool.of(3)
    at = pool.topic("orders", 0, 1, 2)
    pool.model.kill(pool.broker(0))
    pool.start(0)
    pool.pass_time(5)
    assert pool.row(at).leader == 0
    assert pool.broker(0).stage is Stage.STARTING
    pool.pass_time(6)
    assert pool.row(at).leader == 1
    pool.pass_time(6)
    assert set(pool.row(at).isr) == {0, 1, 2}


def test_the_last_member_stays_eligible() -> None:
    """With ELR the ISR of a partition becomes empty, and who was in it stays eligible and leads again."""
    pool = Pool.of(2)
    at = pool.topic("orders", 0, 1)
    for node_id in (0, 1):
        pool.model.ask_to_stop(pool.broker(node_id))
        pool.pass_time(3)
    row = pool.row(at)
    assert (row.leader, row.isr, set(row.elr)) == (None, (), {0, 1})
    pool.start(0)
    pool.pass_time(6)
    assert (pool.row(at).leader, pool.row(at).isr) == (0, (0,))


def test_an_unclean_end_leaves_the_eligible_leaders() -> None:
    """A member of the ELR that comes back after SIGKILL is not trusted: it is only the last known leader."""
    pool = Pool.of(2)
    at = pool.topic("orders", 0, 1)
    pool.model.ask_to_stop(pool.broker(0))
    pool.pass_time(3)
    pool.model.kill(pool.broker(1))
    pool.pass_time(12)
    assert set(pool.row(at).elr) == {0, 1}
    pool.start(1)
    pool.pass_time(6)
    assert (pool.row(at).leader, set(pool.row(at).elr)) == (None, {0})
    pool.start(0)
    pool.pass_time(6)
    assert pool.row(at).leader == 0


def test_without_elr_the_last_member_stays_in_the_isr() -> None:
    """Without ELR the last member of the ISR stays in it, also after an unclean end."""
    pool = Pool.of(2, elr=False)
    at = pool.topic("orders", 0, 1)
    pool.model.ask_to_stop(pool.broker(0))
    pool.pass_time(3)
    pool.model.kill(pool.broker(1))
    pool.pass_time(12)
    assert (pool.row(at).leader, pool.row(at).isr) == (None, (1,))
    pool.start(1)
    pool.pass_time(8)
    assert pool.row(at).leader == 1


def test_below_min_isr_nothing_is_acknowledged() -> None:
    """With fewer in-sync replicas than `min.insync.replicas` the partition takes no record with acks=all."""
    pool = Pool.of(2)
    at = pool.topic("orders", 0, 1)
    pool.model.ask_to_stop(pool.broker(1))
    pool.pass_time(3)
    before = pool.acked(at)
    pool.pass_time(3)
    assert pool.acked(at) == before


def test_an_emptied_disk_catches_up_before_it_is_in_sync() -> None:
    """A broker on a new disk gets everything from the leader; until then it is not in the ISR."""
    pool = Pool.of(3)
    at = pool.topic("orders", 0, 1, 2)
    pool.pass_time(60)
    pool.model.kill(pool.broker(2))
    pool.pass_time(12)
    pool.start(2, fresh="n").fetches = 5
    pool.pass_time(3)
    assert 2 not in pool.row(at).isr
    pool.pass_time(10)
    log = pool.broker(2).log_of(at)
    assert log is not None
    assert log.has(pool.cluster.acked[at])
    assert 2 in pool.row(at).isr


def test_a_reassignment_adds_and_then_removes() -> None:
    """A reassignment ends when the new replica is in sync: the old one deletes its log, and nothing is lost."""
    pool = Pool.of(4)
    at = pool.topic("orders", 0, 1, 2)
    pool.pass_time(5)
    target = tuple(NodeID(one) for one in (3, 1, 2))
    pool.cluster.controller.reassign(at, target)
    assert (pool.row(at).adding, pool.row(at).removing) == ((3,), (0,))
    pool.pass_time(10)
    assert (pool.row(at).replicas, pool.row(at).adding, set(pool.row(at).isr)) == (target, (), {1, 2, 3})
    assert pool.broker(0).log_of(at) is None
    log = pool.broker(3).log_of(at)
    assert log is not None
    assert log.has(pool.cluster.acked[at])


def test_a_replica_that_a_reassignment_removes_can_lead_until_it_is_done() -> None:
    """Its only other in-sync replica is lost: it leads, although the reassignment will remove it."""
    pool = Pool.of(3)
    at = pool.topic("orders", 0, 1)
    pool.pass_time(5)
    pool.broker(2).fetches = 0
    pool.cluster.controller.reassign(at, (NodeID(0), NodeID(2)))
    pool.pass_time(1)
    assert (pool.row(at).removing, pool.row(at).isr) == ((1,), (0, 1))
    pool.model.kill(pool.broker(0))
    pool.pass_time(12)
    assert (pool.row(at).leader, pool.row(at).isr) == (1, (1,))


def test_a_cancelled_reassignment_is_undone() -> None:
    """A reassignment to a broker that does not run can be cancelled; without one there is nothing to cancel."""
    pool = Pool.of(4)
    at = pool.topic("orders", 0, 1, 2)
    pool.model.kill(pool.broker(3))
    pool.pass_time(12)
    pool.cluster.controller.reassign(at, (NodeID(3), NodeID(1), NodeID(2)))
    pool.pass_time(5)
    assert pool.row(at).adding == (3,)
    pool.cluster.controller.reassign(at, None)
    pool.pass_time(2)
    assert (pool.row(at).replicas, pool.row(at).adding) == ((1, 2, 0), ())
    with pytest.raises(NotAcceptedError, match="NO_REASSIGNMENT_IN_PROGRESS"):
        pool.cluster.controller.reassign(at, None)


def test_a_failed_log_directory_takes_only_its_replicas() -> None:
    """One of two log directories fails: its partitions leave, the broker and the others stay."""
    pool = Pool.of(3, volumes=2)
    first, second = (pool.topic(name, 0, 1, 2) for name in ("one", "two"))
    pool.pass_time(3)
    broker = pool.broker(0)
    disk = broker.disk_of(second)
    assert disk is not broker.disks[0]
    assert disk is not None
    assert disk.meta is not None
    broker.broken.add(disk.meta.directory_id)
    pool.pass_time(3)
    assert (pool.row(first).leader, pool.row(second).leader) == (0, 1)
    assert 0 not in pool.row(second).isr


def test_a_broker_that_is_cut_off_keeps_an_old_picture() -> None:
    """A broker without a connection to the others knows nothing of what has changed since."""
    pool = Pool.of(3)
    at = pool.topic("orders", 0, 1, 2)
    broker = pool.broker(2)
    broker.process.node = "away"
    pool.quorum.kraft.cut.add("away")
    pool.pass_time(12)
    assert pool.row(at).isr == (0, 1)
    assert broker.image.partitions[at].isr == (0, 1, 2)


def test_without_a_leader_of_the_quorum_nothing_changes() -> None:
    """Without an active controller no ISR changes, no leader is elected, and no broker registers."""
    pool = Pool.of(3, controllers=3)
    at = pool.topic("orders", 0, 1, 2)
    before = pool.row(at)
    for process in list(pool.quorum.kraft.processes):
        if not process.broker:
            pool.quorum.kraft.stop(process)
    acked = pool.acked(at)
    pool.pass_time(5)
    assert pool.acked(at) > acked
    pool.model.kill(pool.broker(0))
    pool.start(0)
    pool.pass_time(20)
    assert pool.broker(1).image.partitions[at].version == before.version
    assert pool.broker(0).stage is Stage.STARTING


def test_an_unregistered_broker_is_out() -> None:
    """A broker that is unregistered while it runs leaves its ISRs, and its heartbeats are refused."""
    pool = Pool.of(3)
    at = pool.topic("orders", 0, 1, 2)
    pool.cluster.controller.unregister(NodeID(0))
    pool.pass_time(3)
    assert pool.row(at).isr == (1, 2)
    assert NodeID(0) not in pool.cluster.controller.image.brokers
