"""Brokers of another owner, from ZooKeeper to the newest release: KRaft, 4.1.2, a dynamic quorum, 4.4.0, all levels.

Hundreds of topics, ACLs, a SCRAM user, quotas, clients throughout. Each step after the end of the migration is one edit
of the resource, and what docs/brokers.md tells the owner of the brokers.
"""

import time
from collections.abc import Iterator

import pytest

from harness.quorum import Quorum
from harness.shell import wait_until
from scenarios.rolls import assert_at_the_top, assert_release, wait_features
from scenarios.test_static import DYNAMIC, FOLLOW, LAST, MIDDLE, VOTERS
from scenarios.test_zookeeper import page, reach, spec, until_parked
from scenarios.zookeeper_world import AT_THE_TOP, ZooKeeperWorld, zookeeper_world

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(5400)]

TOPICS = 200
_STEP_TIMEOUT_S = 900.0


@pytest.fixture
def world(quorum: Quorum, client_image: str, kafka_everywhere: None, older_kafka: None) -> Iterator[ZooKeeperWorld]:  # noqa: ARG001 - an order, not a value
    """A cluster of ZooKeeper with hundreds of topics."""
    with zookeeper_world(quorum.namespace, client_image, topics=TOPICS) as made:
        yield made


def test_to_the_newest_release(quorum: Quorum, world: ZooKeeperWorld) -> None:
    """From ZooKeeper to 4.4.0, dynamic, at the highest levels: no acknowledged record is lost, no fact is different."""
    began_s = time.monotonic()

    def told(what: str) -> None:
        print(f"{time.monotonic() - began_s:7.1f} s: {what}", flush=True)

    quorum.apply(spec(world))
    until_parked(quorum, world)
    told("parked in dual write")
    quorum.patch({"zookeeper": {"finalize": True}})
    quorum.wait_condition("MigratedFromZooKeeper", "True", "Finalized", _STEP_TIMEOUT_S)
    quorum.wait_ready(_STEP_TIMEOUT_S)
    told("finalized")
    world.ensemble.stop()

    new_release(quorum, world, MIDDLE)
    told(f"on {MIDDLE}")
    quorum.patch({"kafka": {"features": DYNAMIC}})
    reach(quorum, "Brokers", _STEP_TIMEOUT_S)
    wait_until("the page has no voters", lambda: not _has_voters(quorum), _STEP_TIMEOUT_S, 1.0)
    world.brokers.follow(page(quorum))
    wait_features(quorum, "True", "Settled", timeout_s=_STEP_TIMEOUT_S)
    quorum.wait_ready(_STEP_TIMEOUT_S)
    assert quorum.status()["quorum"]["type"] == "Dynamic"
    assert not _has_voters(quorum)
    told("dynamic")

    new_release(quorum, world, LAST)
    told(f"on {LAST}")
    assert_release(quorum, LAST)
    assert_at_the_top(quorum)
    world.assert_unchanged(made_by_kafka=AT_THE_TOP)
    world.assert_nothing_lost()


def _has_voters(quorum: Quorum) -> bool:
    """Whether brokers must still have the static voters."""
    return any(line.startswith(VOTERS) for line in page(quorum).splitlines())


def new_release(quorum: Quorum, world: ZooKeeperWorld, version: str) -> None:
    """One edit: controllers, then the owner's brokers, then the levels.

    The operator does not know the release of these brokers: a person lets the levels rise when the brokers are done.
    """
    quorum.patch({"kafka": {"version": version, "features": {"policy": "Hold"}}})

    def released() -> bool:
        return bool(quorum.status().get("brokerContract", {}).get("release") == version)

    wait_until(f"the controllers run {version}", released, _STEP_TIMEOUT_S, 1.0)
    world.brokers.version = version
    for restart in world.brokers.follow(page(quorum)):
        print(restart, flush=True)
    quorum.patch({"kafka": {"features": FOLLOW}})
    wait_features(quorum, "True", "Settled", timeout_s=_STEP_TIMEOUT_S)
    quorum.wait_ready(_STEP_TIMEOUT_S)
