"""What happens to a pool in its life, under clients: each change alone, and again with the operator killed at random.

A change is a row of `CHANGES`: the spec of quorum and pools before, and what a person or a fault does then.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import pytest

from harness import nodes, operator
from harness.client.topics import Topic
from harness.pool import Pool
from harness.quorum import Quorum
from harness.shell import Json, holds_for, wait_until
from harness.zones import ZONE, zone_of, zoned
from scenarios.pools import ORDERS, ROLL_TIMEOUT_S, Kafka, assert_available, assert_nothing_lost, in_use, wait_gone
from scenarios.rolls import assert_at_the_top, assert_release, operator_killed_at_random, wait_features

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(3600)]

OLD, NEW = "4.1.2", "4.4.0"
FOLLOW: Json = {"policy": "Follow", "soakSeconds": 1}
HELD: Json = {"kafka": {"version": OLD, "features": {"policy": "Hold"}}}
RACKS: Json = {"rack": {"topologyKey": ZONE}}
LOST_NODE: Json = {"replacement": {"lostNodeAfterSeconds": 30}}
METADATA, OLD_TOP = "metadata.version", 27
_LEVELS_TIMEOUT_S = 600.0
_STAYS_S = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A pool's spec for each name, the quorum's, and what is done to them; afterwards all are Ready.

    `kills_s` are the shortest and the longest time between two kills of the operator.
    """

    name: str
    act: Callable[[Kafka], None]
    quorum: Json
    pools: dict[str, Json]
    topics: tuple[Topic, ...] = (ORDERS,)
    kills_s: tuple[float, float] = (5.0, 40.0)


# --- changes ----------------------------------------------------------------------------------------------------------


def release(kafka: Kafka) -> None:
    """The quorum's release: controllers, then the pools, then the levels."""
    kafka.quorum.patch({"kafka": {"version": NEW, "features": FOLLOW}})
    rolled = {f"testbed/kafka:{NEW}"}
    limit_s = ROLL_TIMEOUT_S * kafka.patience
    wait_until("every broker is on the new release", lambda: _images(kafka) == rolled, limit_s, 1.0)
    assert set(kafka.quorum.images().values()) == rolled  # controllers come first
    kafka.wait_ready()
    wait_features(kafka.quorum, "True", "Settled", timeout_s=_LEVELS_TIMEOUT_S * kafka.patience)
    assert_at_the_top(kafka.quorum)
    assert_release(kafka.quorum, NEW)


def _images(kafka: Kafka) -> set[str]:
    return {image for pool in kafka.pools for image in pool.images().values()}


def downgrade(kafka: Kafka) -> None:
    """A newer release whose levels are held, and back: every broker is on the older one before any controller is."""
    _to(kafka, NEW)
    levels = kafka.quorum.levels()
    assert levels[METADATA] == OLD_TOP
    kafka.quorum.patch({"kafka": {"version": OLD}})
    limit_s = ROLL_TIMEOUT_S * kafka.patience
    first = wait_until("a controller is on the older release", lambda: _controllers_on(kafka, OLD), limit_s, 0.2)
    assert _images(kafka) == {_image(OLD)}, (first, [pool.images() for pool in kafka.pools])
    _settled(kafka, OLD)
    assert kafka.quorum.levels() == levels


def paused_and_resumed(kafka: Kafka) -> None:
    """A pause while brokers are rolled: during it nobody else is restarted, afterwards the others follow."""
    kafka.quorum.patch({"kafka": {"version": NEW}})
    _wait_half_way(kafka, NEW)
    kafka.pool.patch({"paused": True})
    _wait_paused(kafka)
    before = kafka.pool.running()
    holds_for("nobody is restarted", lambda: kafka.pool.running() == before, _STAYS_S)
    assert _image(OLD) in _images(kafka)
    kafka.pool.patch({"paused": False})
    _settled(kafka, NEW)


def turned_round(kafka: Kafka) -> None:
    """The release is taken back while brokers are rolled: those that have it go back, and the others stay."""
    before = kafka.pool.running()
    kafka.quorum.patch({"kafka": {"version": NEW}})
    _wait_half_way(kafka, NEW)
    kafka.quorum.patch({"kafka": {"version": OLD}})
    _settled(kafka, OLD)
    after = kafka.pool.running()
    assert any(after[node_id] == before[node_id] for node_id in before), (before, after)


def _to(kafka: Kafka, version: str) -> None:
    """Change the release, and wait until it runs everywhere."""
    kafka.quorum.patch({"kafka": {"version": version}})
    _settled(kafka, version)


def _settled(kafka: Kafka, version: str) -> None:
    """Wait until every server has this release, and all are Ready."""
    limit_s = ROLL_TIMEOUT_S * kafka.patience

    def reached() -> bool:
        return _images(kafka) | set(kafka.quorum.images().values()) == {_image(version)}

    wait_until(f"every server is on {version}", reached, limit_s, 1.0)
    kafka.wait_ready()
    assert_release(kafka.quorum, version)


def _controllers_on(kafka: Kafka, version: str) -> set[int]:
    return {node_id for node_id, image in kafka.quorum.images().items() if image == _image(version)}


def _wait_half_way(kafka: Kafka, version: str) -> None:
    """Wait until a broker has this release, and another one has not."""

    def some() -> bool:
        return _images(kafka) > {_image(version)}

    wait_until(f"some brokers are on {version}", some, ROLL_TIMEOUT_S * kafka.patience, 0.05)


def _wait_paused(kafka: Kafka) -> None:
    """Wait until the pool says, for the present spec, that it is paused."""

    def told() -> bool:
        resource = kafka.pool.resource()
        rows = {row["type"]: row for row in resource["status"]["conditions"]}
        row = rows.get("Progressing", {})
        fresh = bool(row) and row["observedGeneration"] == resource["metadata"]["generation"]
        return fresh and row["reason"] == "Paused"

    wait_until("the pool is paused", told, 120 * kafka.patience)


def _image(version: str) -> str:
    return f"testbed/kafka:{version}"


def scaled(kafka: Kafka) -> None:
    """Two brokers more, which get partitions with data; and away again, without a loss."""
    pool = kafka.pool
    pool.scale(5)
    pool.wait_ready(ROLL_TIMEOUT_S * kafka.patience)
    assert pool.brokers() == {0, 1, 2, 3, 4}
    moved = Topic(name="moved", assignment=((3, 4, 0), (4, 3, 1), (3, 0, 2), (4, 1, 2)))
    with kafka.clients(moved, name="more") as more:
        with kafka.client.measured("5 to 3"):
            pool.scale(3)
            wait_gone(kafka, pool, {3, 4})
            pool.wait_ready(ROLL_TIMEOUT_S * kafka.patience)
        assert not [name for name, (replicas, _) in pool.replicas().items() if {3, 4} & set(replicas)]
        assert_available(more)
        assert_nothing_lost(more)


def lost_disk(kafka: Kafka) -> None:
    """A broker's volumes are emptied and its pod deleted: the disk is formatted again, and the broker gets its data."""
    pool, node_id = kafka.pool, 1
    before = [pool.replicas()[f"orders-{index}"][0] for index in range(ORDERS.partitions)]
    old = pool.pods()[node_id]["metadata"]["uid"]
    for claim in pool.claims_of(node_id):
        nodes.wipe(pool.namespace, claim)
    pool.delete_pod(node_id)
    wait_until("another pod runs", lambda: _uid(pool, node_id) not in ("", old), 300 * kafka.patience)
    pool.wait_ready(ROLL_TIMEOUT_S * kafka.patience)
    pool.assert_in_sync()
    assert [pool.replicas()[f"orders-{index}"][0] for index in range(ORDERS.partitions)] == before


def lost_node(kafka: Kafka) -> None:
    """A Kubernetes node loses its power: its broker is recreated on another one, with an empty disk."""
    pool = kafka.pool
    serving = {pod["spec"].get("nodeName") for pod in operator.pods()}
    places = {node_id: pod["spec"]["nodeName"] for node_id, pod in pool.pods().items()}
    node_id, node = next((node_id, node) for node_id, node in sorted(places.items()) if node not in serving)
    with nodes.powered_off(node):
        pool.wait_told(str(node_id), node, timeout_s=120 * kafka.patience)

        def elsewhere() -> bool:
            pod = pool.pods().get(node_id)
            return pod is not None and pod["spec"].get("nodeName") not in (None, node)

        wait_until("the broker is on another node", elsewhere, 300 * kafka.patience)
        wait_until("it is in sync", lambda: _in_sync(pool), 300 * kafka.patience, 1.0)
    kafka.wait_ready()


def _uid(pool: Pool, node_id: int) -> str:
    return str(pool.pods().get(node_id, {}).get("metadata", {}).get("uid", ""))


def _in_sync(pool: Pool) -> bool:
    return all(sorted(replicas) == isr for replicas, isr in pool.replicas().values())


CHANGES = (
    Change(
        name="a release of quorum and two pools over three racks",
        act=release,
        quorum={"kafka": {"version": OLD}},
        pools={"alpha": RACKS, "beta": {**RACKS, "firstNodeID": 100, "jvm": {"heap": "224Mi"}}},
        topics=(Topic(name="orders", partitions=12),),
    ),
    Change(name="a downgrade", act=downgrade, quorum=HELD, pools={"brokers": {}}),
    Change(name="a release paused and resumed", act=paused_and_resumed, quorum=HELD, pools={"brokers": {}}),
    Change(name="a release turned round", act=turned_round, quorum=HELD, pools={"brokers": {}}),
    Change(name="three to five to three", act=scaled, quorum={}, pools={"brokers": {"drain": "Automatic"}}),
    Change(name="a lost disk", act=lost_disk, quorum={}, pools={"brokers": {}}),
    Change(
        name="a lost node",
        act=lost_node,
        quorum={},
        pools={"brokers": LOST_NODE},
        kills_s=(5.0, 90.0),  # one operator must see the node down for the whole time that the spec waits
    ),
)


# --- how a change is tested -------------------------------------------------------------------------------------------


@pytest.fixture
def running(
    quorum: Quorum,
    pools: Callable[[str], Pool],
    client_image: str,
    older_kafka: None,  # noqa: ARG001 - an order, not a value
) -> Callable[[Change], Kafka]:
    """Starts the Kafka of a change; returns when it is Ready."""

    def start(change: Change) -> Kafka:
        kafka = Kafka(quorum=quorum, pools=[pools(name) for name in change.pools], image=client_image)
        quorum.apply(change.quorum)
        for pool, spec in zip(kafka.pools, change.pools.values(), strict=True):
            pool.apply(spec)
        kafka.wait_ready(300)
        return kafka

    return start


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.name.replace(" ", "-"))
def test_a_change_under_clients(change: Change, running: Callable[[Change], Kafka]) -> None:
    """Nothing acknowledged is lost, no partition of three replicas is offline, and the spec is reached."""
    with _racks(change):
        kafka = running(change)
        with in_use(kafka, *change.topics):
            assert_racks(kafka, change)
            with kafka.client.measured(change.name):
                change.act(kafka)
            kafka.pool.assert_in_sync()


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.name.replace(" ", "-"))
def test_the_same_with_the_operator_killed(
    change: Change, running: Callable[[Change], Kafka], randomly_seed: int
) -> None:
    """With kills at random gaps throughout, the same holds."""
    dice = random.Random(randomly_seed)  # noqa: S311 - moments of crashes, not cryptography
    with _racks(change):
        kafka = running(change)
        kafka.patience = 3.0
        with in_use(kafka, *change.topics):
            with operator_killed_at_random(dice, *change.kills_s) as gaps_s, kafka.client.measured(change.name):
                change.act(kafka)
            print(f"seed {randomly_seed}: {len(gaps_s)} crashes")
            kafka.wait_ready()
            kafka.pool.assert_in_sync()


@contextmanager
def _racks(change: Change) -> Iterator[None]:
    """Zones, if a pool of the change has racks."""
    with zoned() if any("rack" in spec for spec in change.pools.values()) else nullcontext():
        yield


def assert_racks(kafka: Kafka, change: Change) -> None:
    """The brokers of a pool with racks are in all zones, and each partition has a replica in each zone."""
    if not any("rack" in spec for spec in change.pools.values()):
        return
    zones = {node_id: zone_of(pod["spec"]["nodeName"]) for pool in kafka.pools for node_id, pod in pool.pods().items()}
    for pool in kafka.pools:
        assert len({zones[node_id] for node_id in pool.pods()}) == 3
    for name, (replicas, _) in kafka.pool.replicas().items():
        assert len({zones[node_id] for node_id in replicas}) == 3, name
