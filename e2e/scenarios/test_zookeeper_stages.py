"""A roll back to ZooKeeper from each stage of the migration, one after the other, and then the whole way."""

import json
from collections.abc import Iterator

import pytest

from harness.quorum import Quorum
from harness.shell import wait_until
from scenarios.test_zookeeper import page, reach, roll_back, spec, until_parked
from scenarios.zookeeper_world import ZooKeeperWorld, zookeeper_world

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(5400)]

TOPICS = 40
_STAGE_TIMEOUT_S = 300.0


@pytest.fixture
def world(quorum: Quorum, client_image: str, kafka_everywhere: None, older_kafka: None) -> Iterator[ZooKeeperWorld]:  # noqa: ARG001 - an order, not a value
    """A cluster of ZooKeeper beside which the quorum is made again and again."""
    with zookeeper_world(quorum.namespace, client_image, topics=TOPICS) as made:
        yield made


def test_back_from_each_stage_and_then_the_whole_way(quorum: Quorum, world: ZooKeeperWorld) -> None:
    """Back from Controllers, Brokers (one broker, all brokers) and DualWrite (one KRaft broker); nothing is lost."""
    quorum.apply(spec(world))
    wait_until("a stage", lambda: quorum.status().get("migration"), _STAGE_TIMEOUT_S, 0.2)
    wait_until("/migration exists", lambda: world.ensemble.read("/migration"), _STAGE_TIMEOUT_S, 0.2)
    back_alone(quorum, world)

    again(quorum)
    reach(quorum, "Brokers")
    world.brokers.follow(page(quorum), (1,))
    back(quorum, world)

    again(quorum)
    reach(quorum, "Brokers")
    world.brokers.follow(page(quorum))
    wait_until("a controller of KRaft leads", lambda: leads(world) >= 0, _STAGE_TIMEOUT_S)
    back(quorum, world)

    again(quorum)
    reach(quorum, "Brokers")
    world.brokers.follow(page(quorum))
    reach(quorum, "DualWrite")
    world.brokers.follow(page(quorum), (2,))
    roll_back(quorum, world)
    world.assert_unchanged()

    again(quorum)
    until_parked(quorum, world)
    quorum.patch({"zookeeper": {"finalize": True}})
    quorum.wait_condition("MigratedFromZooKeeper", "True", "Finalized", _STAGE_TIMEOUT_S)
    quorum.wait_ready(_STAGE_TIMEOUT_S)
    world.assert_unchanged()
    world.assert_nothing_lost()


def leads(world: ZooKeeperWorld) -> int:
    """The KRaft epoch that `/controller` names; -1 if a broker leads, or nobody."""
    found = world.ensemble.read("/controller")
    return int(json.loads(found.data)["kraftControllerEpoch"]) if found else -1


def again(quorum: Quorum) -> None:
    """The next attempt."""
    quorum.patch({"zookeeper": {"rollBack": False}})


def back_alone(quorum: Quorum, world: ZooKeeperWorld) -> None:
    """A roll back of which no broker has a part."""
    quorum.patch({"zookeeper": {"rollBack": True}})
    ended(quorum, world)


def back(quorum: Quorum, world: ZooKeeperWorld) -> None:
    """A roll back whose brokers never left migration mode: they wait until ZooKeeper leads again."""
    quorum.patch({"zookeeper": {"rollBack": True}})
    reach(quorum, "BrokersLeave")
    world.brokers.follow(page(quorum))
    ended(quorum, world)


def ended(quorum: Quorum, world: ZooKeeperWorld) -> None:
    """It ended: ZooKeeper leads, the controllers and their volumes are gone, nothing is different."""
    quorum.wait_condition("MigratedFromZooKeeper", "False", "RolledBack", _STAGE_TIMEOUT_S)
    wait_until("the claims are released", lambda: not quorum.claims(), 120.0)
    assert world.ensemble.read("/migration") is None
    assert leads(world) == -1
    assert not quorum.pods()
    assert quorum.status()["migration"]["savedNodes"]["controllerEpoch"]
    world.assert_unchanged()
    print(f"rolled back: {quorum.status()['migration']}", flush=True)
