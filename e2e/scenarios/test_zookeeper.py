"""From ZooKeeper to KRaft, with brokers of another owner: a real ensemble, real brokers of 3.9.2, clients throughout.

The owner of the brokers reads the published page only: ConfigMap `NAME-brokers`.
"""

import random
import time
from collections.abc import Iterator

import pytest

from harness.naming import wait_named
from harness.nodes import kill_container
from harness.quorum import Quorum
from harness.shell import Json, get, wait_until
from scenarios.failures_named import PARKED
from scenarios.rolls import operator_killed_at_random
from scenarios.zookeeper_world import ZooKeeperWorld, zookeeper_world

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(3600)]

VERSION = "3.9.2"
_STAGE_TIMEOUT_S = 300.0
TOPICS = 40


@pytest.fixture
def world(quorum: Quorum, client_image: str, kafka_everywhere: None, older_kafka: None) -> Iterator[ZooKeeperWorld]:  # noqa: ARG001 - an order, not a value
    """A cluster of ZooKeeper beside which the quorum is made."""
    with zookeeper_world(quorum.namespace, client_image, topics=TOPICS) as made:
        yield made


def spec(world: ZooKeeperWorld, **beside: bool) -> Json:
    """A quorum beside this cluster."""
    return {
        "kafka": {"version": VERSION},
        "bootstrap": {"mode": "ZooKeeper"},
        "zookeeper": {"connect": world.ensemble.connect, **beside},
        "brokerAccess": {"bootstrapServers": [world.brokers.bootstrap.split(",")[0]]},
        "controllers": {
            "config": {
                "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
                "super.users": "User:ANONYMOUS;User:admin",
            }
        },
    }


def page(quorum: Quorum) -> str:
    """What the owner of the brokers reads."""
    return str(get(quorum.namespace, "configmap", f"{quorum.name}-brokers")["data"]["server.properties"])


def stage(quorum: Quorum) -> str:
    """The name of the present stage; empty if there is none."""
    return str((quorum.status().get("migration") or {}).get("name") or "")


def reach(quorum: Quorum, name: str, timeout_s: float = _STAGE_TIMEOUT_S) -> Json:
    """Wait for a stage; returns the row."""
    began_s = time.monotonic()
    wait_until(f"stage {name}", lambda: stage(quorum) == name, timeout_s, 1.0)
    row: Json = quorum.status()["migration"]
    print(f"stage {name} after {time.monotonic() - began_s:.1f} s: {row}", flush=True)
    return row


def until_parked(quorum: Quorum, world: ZooKeeperWorld) -> None:
    """The owner does what the page says, up to the parking place."""
    reach(quorum, "Brokers")
    print(page(quorum), flush=True)
    for restart in world.brokers.follow(page(quorum)):
        print(restart, flush=True)
    reach(quorum, "DualWrite")
    print(page(quorum), flush=True)
    for restart in world.brokers.follow(page(quorum)):
        print(restart, flush=True)
    quorum.wait_condition("MigratedFromZooKeeper", "False", "DualWrite", _STAGE_TIMEOUT_S)


def test_the_whole_way(quorum: Quorum, world: ZooKeeperWorld) -> None:
    """A dry run writes nothing, the migration parks, is finalized by a person, and nothing is lost or different."""
    quorum.apply(spec(world, dryRun=True))
    wait_until("the preflight", lambda: quorum.status().get("preflight"), 60.0)
    wait_until("it passes", lambda: quorum.status()["preflight"]["passed"], 60.0)
    assert not quorum.record()
    assert world.ensemble.read("/migration") is None
    began_s = time.monotonic()
    quorum.patch({"zookeeper": {"dryRun": False}})
    until_parked(quorum, world)
    wait_named(quorum, PARKED)
    print(quorum.status()["migration"], quorum.status()["conditions"], flush=True)
    world.assert_unchanged()
    quorum.patch({"zookeeper": {"finalize": True}})
    quorum.wait_condition("MigratedFromZooKeeper", "True", "Finalized", _STAGE_TIMEOUT_S)
    quorum.wait_ready(_STAGE_TIMEOUT_S)
    print(f"from ZooKeeper to KRaft: {time.monotonic() - began_s:.1f} s", flush=True)
    world.ensemble.stop()
    world.assert_unchanged()
    world.assert_nothing_lost()


def test_roll_back_and_again(quorum: Quorum, world: ZooKeeperWorld) -> None:
    """Parked in dual write, the cluster goes back to ZooKeeper; a second attempt then goes the whole way."""
    quorum.apply(spec(world))
    until_parked(quorum, world)
    roll_back(quorum, world)
    world.assert_unchanged()
    quorum.patch({"zookeeper": {"rollBack": False}})
    until_parked(quorum, world)
    quorum.patch({"zookeeper": {"finalize": True}})
    quorum.wait_condition("MigratedFromZooKeeper", "True", "Finalized", _STAGE_TIMEOUT_S)
    world.assert_unchanged()
    world.assert_nothing_lost()


def roll_back(quorum: Quorum, world: ZooKeeperWorld) -> None:
    """A person asks for it, and the owner of the brokers follows the page."""
    quorum.patch({"zookeeper": {"rollBack": True}})
    reach(quorum, "BrokersReturn")
    world.brokers.follow(page(quorum))
    reach(quorum, "BrokersLeave")
    assert world.ensemble.read("/migration") is None
    assert '"kraftControllerEpoch":-1' in str(world.ensemble.read("/controller"))
    world.brokers.follow(page(quorum))
    quorum.wait_condition("MigratedFromZooKeeper", "False", "RolledBack", _STAGE_TIMEOUT_S)
    print(quorum.status()["migration"], flush=True)
    wait_until("the claims are released", lambda: not quorum.claims(), 120.0)


def test_killed_all_along(quorum: Quorum, world: ZooKeeperWorld, randomly_seed: int) -> None:
    """The operator is killed again and again; so are a broker in each stage, ZooKeeper's leader, and a controller."""
    dice = random.Random(randomly_seed)  # noqa: S311 - no secret
    first, *others = world.brokers.node_ids

    killed: list[tuple[float, float]] = []

    def kill_one() -> None:
        killed.append(kill(world, dice.choice(world.brokers.node_ids)))

    print(f"seed {randomly_seed}", flush=True)
    with operator_killed_at_random(dice, 10.0, 60.0):
        quorum.apply(spec(world))
        wait_until("a controller has a pod", quorum.pods, 2 * _STAGE_TIMEOUT_S)
        kill_one()
        reach(quorum, "Brokers", 2 * _STAGE_TIMEOUT_S)
        print(f"ZooKeeper's leader {world.ensemble.kill_leader()} is killed", flush=True)
        world.brokers.follow(page(quorum), (first,))
        kill_one()
        world.brokers.follow(page(quorum), others)
        reach(quorum, "DualWrite", 2 * _STAGE_TIMEOUT_S)
        kill_one()
        world.brokers.follow(page(quorum))
        quorum.wait_condition("MigratedFromZooKeeper", "False", "DualWrite", 2 * _STAGE_TIMEOUT_S)
        leads = int(str(quorum.status()["migration"]["zookeeperController"]).split()[0])
        quorum.delete_pod(quorum.pods()[leads]["metadata"]["name"])
        print(f"ZooKeeper's leader {world.ensemble.kill_leader()} and controller {leads} are killed", flush=True)
        quorum.wait_condition("MigratedFromZooKeeper", "False", "DualWrite", 2 * _STAGE_TIMEOUT_S)
        kill_one()
        quorum.wait_condition("MigratedFromZooKeeper", "False", "DualWrite", 2 * _STAGE_TIMEOUT_S)
        quorum.patch({"zookeeper": {"finalize": True}})
        reach(quorum, "Finalize", 2 * _STAGE_TIMEOUT_S)
        kill_one()
        quorum.wait_condition("MigratedFromZooKeeper", "True", "Finalized", 2 * _STAGE_TIMEOUT_S)
    world.assert_unchanged()
    world.assert_nothing_lost(killed)


def kill(world: ZooKeeperWorld, node_id: int) -> tuple[float, float]:
    """End a broker's process at once; Kubernetes starts its container again. From when until when, since 1970."""
    began_s = time.time()
    kill_container(world.brokers.pod(node_id), "kafka")
    world.brokers.wait_back(node_id)
    ended_s = time.time()
    print(f"broker {node_id} was killed, and is back after {ended_s - began_s:.1f} s", flush=True)
    return began_s, ended_s
