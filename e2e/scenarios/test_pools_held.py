"""Rolls that wait, and say for what: a partition that no order of restarts keeps available, or a held broker."""

from collections.abc import Callable

import pytest

from harness.client.topics import Topic
from harness.pool import Pool
from harness.quorum import Quorum
from harness.shell import holds_for, wait_until
from scenarios.pools import ORDERS, SMALL, Kafka, assert_restarted, in_use

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(1200)]

ALL = {0, 1, 2}
_STAYS_S = 20.0


@pytest.fixture
def kafka(quorum: Quorum, pools: Callable[[str], Pool], client_image: str) -> Kafka:
    """A Ready quorum and pool of three."""
    found = Kafka(quorum=quorum, pools=[pools("brokers")], image=client_image)
    quorum.apply(SMALL)
    found.pool.apply()
    found.wait_ready(240)
    return found


@pytest.mark.parametrize(
    ("topic", "stays"),
    [
        pytest.param(Topic(name="single", min_isr=1, assignment=((1,),)), {1}, id="one-replica"),
        pytest.param(Topic(name="tight", min_isr=3, partitions=1), ALL, id="as-many-as-it-needs"),
    ],
)
def test_a_partition_that_no_restart_keeps_available_is_named(topic: Topic, stays: set[int], kafka: Kafka) -> None:
    """Its brokers are not restarted, and a condition names the partition, until a person consents."""
    pool = kafka.pool
    with in_use(kafka, ORDERS, topic):
        before = pool.running()
        pool.patch({"jvm": {"heap": "257Mi"}})
        pool.wait_told(f"{topic.name}-0")
        wait_until("the others are restarted", lambda: _same(pool, before) == stays, 240)
        holds_for("these are not", lambda: _same(pool, before) == stays, _STAYS_S)
        assert not kafka.client.under_min_isr()
        pool.patch({"roll": {"unavailablePartitions": "Allow"}})
        pool.wait_ready()
        assert_restarted(pool, before, ALL)


def test_a_held_broker_is_not_stopped(kafka: Kafka) -> None:
    """While its annotation stays, a broker is named and left alone; without it, it follows."""
    pool = kafka.pool
    with in_use(kafka):
        pool.hold(1)
        before = pool.running()
        pool.patch({"jvm": {"heap": "257Mi"}})
        wait_until("the others are restarted", lambda: _same(pool, before) == {1}, 240)
        pool.wait_told("1", "hold")
        holds_for("it is left alone", lambda: _same(pool, before) == {1}, _STAYS_S)
        pool.release(1)
        pool.wait_ready()
        assert_restarted(pool, before, ALL)


def test_a_drain_on_hold_names_what_is_left(kafka: Kafka) -> None:
    """With Hold the partitions of a broker that shall leave are named, and it stays; with Automatic it leaves.

    The first five are named, in the order of their topics: `held` comes before those that Kafka places by chance.
    """
    pool = kafka.pool
    pool.patch({"replicas": 4})
    pool.wait_ready()
    held = Topic(name="held", assignment=((3, 0, 1),))
    with in_use(kafka, ORDERS, held):
        before = pool.running()
        pool.scale(3)
        pool.wait_told("held-0")
        holds_for("it stays", lambda: pool.running() == before, _STAYS_S)
        pool.patch({"drain": "Automatic"})
        wait_until("broker 3 is gone", lambda: 3 not in pool.pods(), 300)
        pool.wait_ready()
        assert 3 not in pool.replicas()["held-0"][0]


def _same(pool: Pool, before: dict[int, tuple[str, int]]) -> set[int]:
    """The brokers whose pods are the same as before."""
    now = pool.running()
    return {node_id for node_id in before if now.get(node_id) == before[node_id]}
