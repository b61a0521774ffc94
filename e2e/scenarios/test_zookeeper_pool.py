"""From ZooKeeper to KRaft with brokers of ours: a pool adopts the brokers of before, and takes every turn."""

import random
import re
import time
from collections.abc import Callable, Iterator

import pytest

from harness.pool import Pool
from harness.quorum import GROUP, Quorum
from harness.shell import Json, wait_until
from scenarios.rolls import assert_at_the_top, assert_release, operator_killed_at_random, wait_features
from scenarios.test_static import FOLLOW, LAST
from scenarios.test_zookeeper import TOPICS, VERSION, reach, spec
from scenarios.zookeeper_world import AT_THE_TOP, ZooKeeperWorld, zookeeper_world

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(5400)]

_STAGE_TIMEOUT_S = 900.0
_LISTENER: Json = {"name": "REPLICATION", "protocol": "PLAINTEXT"}


@pytest.fixture
def world(quorum: Quorum, client_image: str, kafka_everywhere: None, older_kafka: None) -> Iterator[ZooKeeperWorld]:  # noqa: ARG001 - an order, not a value
    """A cluster of ZooKeeper whose brokers speak to each other at the listener of pools."""
    with zookeeper_world(quorum.namespace, client_image, topics=TOPICS, replication=True) as made:
        yield made


def adopted(world: ZooKeeperWorld, pool: Pool, node_id: int) -> None:
    """The owner hands one broker over, and the pool starts it."""
    labels = {f"{GROUP}/pool": pool.name, f"{GROUP}/node-id": str(node_id), f"{GROUP}/disk": "0"}
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": f"{pool.name}-{node_id}-d0-g1", "labels": labels},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    selector = {f"{GROUP}/pool": pool.name, f"{GROUP}/node-id": str(node_id)}
    world.brokers.hand_over(node_id, claim, selector)
    everybody = world.brokers.node_ids

    def in_sync() -> bool:
        return not any(world.brokers.behind(each, everybody) for each in everybody)

    wait_until(f"broker {node_id} of the pool is in sync", in_sync, 600.0, 1.0)
    print(f"broker {node_id} is adopted", flush=True)


def differences(world: ZooKeeperWorld) -> list[str]:
    """What of the metadata is different. A pool owns the dynamic settings of each broker, so those are left out."""
    return [row for row in world.differences() if re.match(r"broker \d", row) is None]


def adopted_pool(quorum: Quorum, pools: Callable[[str], Pool], world: ZooKeeperWorld) -> Pool:
    """A quorum beside ZooKeeper, and a pool to which the owner hands over every broker."""
    pool = pools("brokers")
    beside = spec(world)
    beside["zookeeper"]["interBrokerListener"] = _LISTENER
    quorum.apply(beside)
    wait_until("the contract is published", lambda: quorum.status().get("brokerContract"), 180.0)
    pool.apply(
        {
            "adopt": True,
            "nodeIDs": [1, 2, 3],
            "storage": [{"size": "1Gi", "directory": "log"}],
            "listeners": [{"name": "PLAINTEXT", "port": 9092}],
            "jvm": {"heap": "384Mi"},
            "config": {
                "auto.create.topics.enable": "false",
                "default.replication.factor": "3",
                "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
                "super.users": "User:ANONYMOUS;User:admin",
            },
        }
    )
    for node_id in (1, 2, 3):
        adopted(world, pool, node_id)
    return pool


def test_brokers_of_before_are_adopted_and_migrated(
    quorum: Quorum, pools: Callable[[str], Pool], world: ZooKeeperWorld
) -> None:
    """Nobody restarts a broker by hand after the adoption; nothing is lost or different, to 4.4 and dynamic."""
    pool = adopted_pool(quorum, pools, world)
    reach(quorum, "Brokers", _STAGE_TIMEOUT_S)
    reach(quorum, "DualWrite", _STAGE_TIMEOUT_S)
    quorum.wait_condition("MigratedFromZooKeeper", "False", "DualWrite", _STAGE_TIMEOUT_S)
    assert not (found := differences(world)), "\n".join(found)
    quorum.patch({"zookeeper": {"finalize": True}})
    quorum.wait_condition("MigratedFromZooKeeper", "True", "Finalized", _STAGE_TIMEOUT_S)
    world.ensemble.stop()
    pool.patch({"adopt": False})
    quorum.patch({"kafka": {"version": "4.1.2"}})
    pool.patch({"config": {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}})
    wait_until("4.1.2 everywhere", lambda: quorum.status().get("brokerContract", {}).get("release") == "4.1.2", 900.0)
    pool.wait_ready(900.0)
    quorum.wait_ready(300.0)
    quorum.patch({"kafka": {"features": {"levels": [{"name": "kraft.version", "level": 1}], "soakSeconds": 0}}})
    wait_features(quorum, "True", "Settled", "Held", timeout_s=900.0)
    pool.wait_ready(900.0)
    quorum.wait_ready(300.0)
    assert quorum.status()["quorum"]["type"] == "Dynamic"
    quorum.patch({"kafka": {"version": LAST, "features": FOLLOW}})
    wait_until(f"{LAST} everywhere", lambda: quorum.status().get("brokerContract", {}).get("release") == LAST, 900.0)
    pool.wait_ready(900.0)
    wait_features(quorum, "True", "Settled", timeout_s=900.0)
    quorum.wait_ready(300.0)
    assert_release(quorum, LAST)
    assert_at_the_top(quorum)
    assert set(found := differences(world)) == AT_THE_TOP, "\n".join(found)
    world.assert_nothing_lost()
    print(f"began with Kafka {VERSION}", flush=True)


def test_a_pool_goes_back_and_forth(
    quorum: Quorum, pools: Callable[[str], Pool], world: ZooKeeperWorld, randomly_seed: int
) -> None:
    """From dual write the pool returns to ZooKeeper by one field, while things are killed; then it migrates again."""
    dice = random.Random(randomly_seed)  # noqa: S311 - no secret
    print(f"seed {randomly_seed}", flush=True)
    pool = adopted_pool(quorum, pools, world)
    quorum.wait_condition("MigratedFromZooKeeper", "False", "DualWrite", _STAGE_TIMEOUT_S)
    began_s = time.monotonic()
    with operator_killed_at_random(dice, 20.0, 90.0):
        quorum.patch({"zookeeper": {"rollBack": True}})
        reach(quorum, "BrokersReturn", _STAGE_TIMEOUT_S)
        print(f"ZooKeeper's leader {world.ensemble.kill_leader()} is killed", flush=True)
        reach(quorum, "BrokersLeave", _STAGE_TIMEOUT_S)
        assert world.ensemble.read("/migration") is None
        assert '"kraftControllerEpoch":-1' in str(world.ensemble.read("/controller"))
        quorum.wait_condition("MigratedFromZooKeeper", "False", "RolledBack", _STAGE_TIMEOUT_S)
        pool.wait_ready(_STAGE_TIMEOUT_S)
    print(f"rolled back after {time.monotonic() - began_s:.1f} s: {quorum.status()['migration']}", flush=True)
    wait_until("the claims are released", lambda: not quorum.claims(), 120.0)
    assert not (found := differences(world)), "\n".join(found)
    quorum.patch({"zookeeper": {"rollBack": False}})
    quorum.wait_condition("MigratedFromZooKeeper", "False", "DualWrite", _STAGE_TIMEOUT_S)
    quorum.patch({"zookeeper": {"finalize": True}})
    quorum.wait_condition("MigratedFromZooKeeper", "True", "Finalized", _STAGE_TIMEOUT_S)
    pool.wait_ready(_STAGE_TIMEOUT_S)
    assert not (found := differences(world)), "\n".join(found)
    world.assert_nothing_lost()
