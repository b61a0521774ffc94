"""What the modelled brokers and controllers answer to the operator."""

import pytest
from tests.simulation.model.kafka.broker_api import ModelBrokers
from tests.simulation.tests.pools import Pool

from kafka_quorum.errors import KafkaRefused, KafkaUnreachable
from kafka_quorum.model.brokers import ConfigChange, Move
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import Endpoint


def asked(pool: Pool) -> ModelBrokers:
    """The answers of this pool."""
    return ModelBrokers(pool.quorum.kraft, pool.model)


def at_broker(node_id: int) -> Endpoint:
    """Where a broker listens."""
    return Endpoint(node_id=NodeID(node_id), host=f"10.1.0.{node_id}", port=9091)


def at_leader(pool: Pool) -> Endpoint:
    """Where the active controller listens."""
    leader = pool.quorum.leader
    return Endpoint(node_id=leader.meta.node_id, host=leader.address, port=leader.port)


def test_a_look_at_all() -> None:
    """A broker shows every registered one, fenced ones too, and every partition with its min ISR."""
    pool = Pool.of(3)
    at = pool.topic("orders", 0, 1, 2)
    pool.model.ask_to_stop(pool.broker(2))
    pool.pass_time(3)
    answers = asked(pool)
    assert [(row.node_id, row.fenced) for row in answers.brokers(at_broker(0)).brokers] == [
        (0, False),
        (1, False),
        (2, True),
    ]
    (row,) = answers.partitions(at_broker(0))
    assert (row.at, row.leader, row.isr, row.offline) == (at, 0, (0, 1), (2,))
    assert answers.min_isr(at_broker(0), ["orders", "gone"]) == {"orders": 2}
    assert {row.key.node_id for row in answers.quorum(at_leader(pool)).observers} >= {0, 1}


def test_who_does_not_run_or_lead_answers_nothing() -> None:
    """A broker that is down is unreachable, and a controller that does not lead refuses; a broker asks the leader."""
    pool = Pool.of(1, controllers=3)
    with pytest.raises(KafkaUnreachable):
        asked(pool).brokers(at_broker(7))
    follower = next(one for one in pool.quorum.kraft.processes if not one.broker and not one.leads)
    other = Endpoint(node_id=follower.meta.node_id, host=follower.address, port=follower.port)
    with pytest.raises(KafkaRefused, match="NOT_CONTROLLER"):
        asked(pool).reassignments(other)
    assert asked(pool).reassignments(at_broker(0)) == ()


def test_log_dirs_show_replicas_and_a_cordon() -> None:
    """The directories of a broker list its replicas; its dynamic settings say whether it is cordoned."""
    pool = Pool.of(3, volumes=2)
    at = pool.topic("orders", 0, 1, 2)
    answers = asked(pool)
    first, second = answers.log_dirs(at_broker(0))
    assert [one.at for one in (*first.replicas, *second.replicas)] == [at]
    assert first.cordoned is False
    cordon = [ConfigChange(name="cordoned.log.dirs", value="*")]
    with pytest.raises(KafkaRefused):  # a controller knows no log directories
        answers.alter_broker(at_leader(pool), NodeID(0), cordon)
    answers.alter_broker(at_broker(0), NodeID(0), cordon)
    pool.pass_time(1)
    assert answers.log_dirs(at_broker(0))[0].cordoned is True
    assert any(entry.name == "cordoned.log.dirs" for entry in answers.config(at_broker(0), NodeID(0)))


def test_moves_are_refused_one_by_one() -> None:
    """A reassignment to an unknown or cordoned broker is refused with Kafka's words; the others begin."""
    pool = Pool.of(4)
    one, two = pool.topic("one", 0, 1, 2), pool.topic("two", 0, 1, 2)
    answers, ids = asked(pool), tuple(map(NodeID, (3, 1, 2)))
    refusals = answers.reassign(at_leader(pool), [Move(at=one, replicas=(NodeID(9),)), Move(at=two, replicas=ids)])
    assert list(refusals) == [one]
    assert refusals[one].startswith("INVALID_REPLICA_ASSIGNMENT")
    pool.pass_time(0.5)
    assert [row.at for row in answers.reassignments(at_leader(pool))] in ([two], [])
    assert answers.reassign(at_leader(pool), [Move(at=one, replicas=None)]) == {}
