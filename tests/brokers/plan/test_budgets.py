"""The disruption budget of a pool: one eviction by others, only while every broker of the quorum is there."""

from dataclasses import replace

from tests.brokers.looks import ORDERS, beside, look, partition, pod, ran, registered, situation, view
from tests.brokers.values import broker, desired, record

from kafka_brokers.model.actions import ApplyBudget
from kafka_brokers.model.observed import Observed
from kafka_brokers.plan.objects import objects
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known
from kit.token import Token


def least(of: Observed) -> int:
    """How many of three brokers must stay, by the budget that is applied; 2 if the present one stays."""
    return next((one.min_available for one in objects(situation(of)).actions if isinstance(one, ApplyBudget)), 2)


def beside_another_pool(*, serves: bool) -> Observed:
    """A look at a pool at rest, and broker 3 of another pool, which has a replica."""
    rows = [*ORDERS, partition("both-0", [0, 1, 3])]
    other = replace(pod(broker(ran(record(), desired()))), name="more-3-broker", node_id=NodeID(3), deleting=not serves)
    return beside(look(seen=view(rows, [registered(node) for node in range(4)])), other)


def test_one_eviction_is_allowed_at_rest() -> None:
    """Also beside another pool, all of whose brokers serve."""
    assert least(look()) == 2
    assert least(beside_another_pool(serves=True)) == 2


def test_none_while_a_broker_of_another_pool_is_away() -> None:
    """Its pod is being deleted, and Kafka may not have fenced it yet: partitions span both pools."""
    assert least(beside_another_pool(serves=False)) == 3


def test_none_while_something_else_has_the_token() -> None:
    """The quorum, or another pool, is about to stop a server."""
    for holder in ("quorum/events", "pool/more"):
        token = Known(value=Token(holder=holder, since="", resource_version="1"))
        assert least(look(token=token)) == 3
