"""Rules 10 and 11 find what breaks them, and let pass what does not."""

import pytest
from tests.simulation.model.happened import BrokerFormatted, BrokerStarted, BrokerStop, Unregistered
from tests.simulation.model.kafka.broker import Broker
from tests.simulation.model.kafka.broker_model import Place
from tests.simulation.model.kafka.cluster_image import MIN_ISR
from tests.simulation.model.kafka.disk import Disk, Meta
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.tests.quorums import CLUSTER, disk, key

from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.ids import DirectoryID, NodeID
from kafka_quorum.model.quorum import Endpoint
from kit.kube.protocol import PODS

NAMESPACE, POOL = "kafka", "brokers"


class Scene:
    """A world with one controller and brokers in pods of a pool, without an operator."""

    def __init__(self, brokers: int = 3, pool: str = POOL) -> None:
        """Start them."""
        self.world = World()
        self.checker = Checker(self.world)
        keys = frozenset({key(3000)})
        self.world.kraft.start(
            disk(key(3000), keys), node_id=NodeID(3000), address="10.0.0.1", host="c", port=9093, listener="CONTROLLER"
        )
        self.pass_time(5)
        self.disks: dict[int, Disk] = {}
        for node_id in range(brokers):
            self.start(node_id, pool)
        self.pass_time(8)

    def start(self, node_id: int, pool: str = POOL) -> Broker:
        """Start a broker, on its own disk, in its pod."""
        one = self.disks.setdefault(node_id, disk(key(node_id), frozenset()))
        assert one.meta is not None
        self.world.tell(BrokerFormatted(pool=pool, pod="format", serial=one.serial, meta=one.meta))
        place = Place(address=f"10.1.0.{node_id}", host=f"b{node_id}", port=9091, release="4.4.0")
        broker = self.world.pools.start([one], NodeID(node_id), place)
        self.world.tell(BrokerStarted(pool=pool, pod=f"{pool}-{node_id}", broker=broker, pod_made=""))
        spec = {"containers": [{"name": "kafka"}], "volumes": [{"configMap": {"name": "none"}}]}  # it never starts here
        body = {"metadata": {"name": f"{pool}-{node_id}", "labels": {}}, "spec": spec}
        if self.world.kube.get(PODS, NAMESPACE, f"{pool}-{node_id}") is None:
            self.world.kube.create(PODS, NAMESPACE, body)
        return broker

    def topic(self, *replicas: int, min_isr: int = 2, name: str = "orders") -> TopicPartition:
        """Create a topic with one partition, which gets some records."""
        nodes = tuple(map(NodeID, replicas))
        self.world.pools.cluster(CLUSTER).controller.create(name, [nodes], {MIN_ISR: str(min_isr)})
        self.pass_time(5)
        return TopicPartition(topic=name, index=0)

    def broker(self, node_id: int) -> Broker:
        """The running broker of this id."""
        found = self.world.pools.cluster(CLUSTER).broker(NodeID(node_id))
        assert found is not None
        return found

    def stop(self, node_id: int, pool: str = POOL) -> None:
        """The operator evicts a broker's pod."""
        broker = self.broker(node_id)
        for sent in (True, False):
            self.world.tell(
                BrokerStop(
                    namespace=NAMESPACE, pool=pool, pod=f"{pool}-{node_id}", broker=broker, evicted=True, sent=sent
                )
            )
        self.world.pools.ask_to_stop(broker)

    def pass_time(self, seconds: float) -> None:
        """Let the world run; the rules look after each step."""
        for _ in range(int(seconds * 2)):
            self.world.step()

    @property
    def broken(self) -> set[str]:
        """The rules that were broken."""
        return {one.rule for one in self.checker.violations}


def test_a_good_roll_breaks_nothing() -> None:
    """Brokers that are stopped one after another, each when the one before is back, break no rule."""
    scene = Scene()
    scene.topic(0, 1, 2)
    for node_id in range(3):
        scene.stop(node_id)
        scene.pass_time(4)
        scene.start(node_id)
        scene.pass_time(10)
    assert scene.broken == set()


def test_the_second_stop_is_too_early() -> None:
    """A second broker of a partition is stopped before the first is back: below min ISR, and together."""
    scene = Scene()
    scene.topic(0, 1, 2)
    scene.stop(0)
    scene.pass_time(4)
    scene.stop(1)
    assert scene.broken == {"11", "11, together"}


def test_brokers_that_share_nothing_may_stop_together() -> None:
    """Two brokers without a common partition may be away together, if the pool allows two."""
    scene = Scene(6)
    scene.topic(0, 1, 2, name="one")
    scene.topic(3, 4, 5, name="two")
    scene.stop(0)
    scene.stop(3)
    assert scene.broken == {"11, together"}
    texts = [one.text for one in scene.checker.violations]
    assert texts == ["broker 3 is stopped while 1 brokers are away, and 1 may be"]


def test_a_partition_that_no_order_keeps() -> None:
    """Replication factor 1, or min ISR as large as the replicas, needs a person's consent."""
    scene = Scene()
    scene.topic(0, 1, min_isr=2)
    scene.stop(0)
    assert scene.broken == {"11, held"}


def test_a_stop_without_a_leader() -> None:
    """No broker is stopped while the quorum has no leader."""
    scene = Scene()
    controller = next(one for one in scene.world.kraft.processes if not one.broker)
    scene.world.kraft.stop(controller)
    scene.pass_time(4)
    scene.stop(0)
    assert "11, leaderless" in scene.broken


@pytest.mark.parametrize(("replicas", "rules"), [((0, 1), set()), ((0,), {"10, formats"})])
def test_a_format_of_the_only_eligible_broker(replicas: tuple[int, ...], rules: set[str]) -> None:
    """The disk of the only broker that may lead a partition is not formatted again; with another one it may be."""
    scene = Scene(2)
    scene.topic(*replicas, min_isr=1)
    scene.world.pools.ask_to_stop(scene.broker(0))
    scene.pass_time(20)
    meta = Meta(cluster_id=CLUSTER, node_id=NodeID(0), directory_id=DirectoryID("new"))
    scene.disks[0] = Disk(serial=99)
    scene.world.tell(BrokerFormatted(pool=POOL, pod="format", serial=99, meta=meta))
    assert scene.broken - {"10"} == rules


@pytest.mark.parametrize("runs", [True, False])
def test_an_unregistration_too_early(runs: bool) -> None:  # noqa: FBT001
    """A broker that runs, or is a replica, is not unregistered."""
    scene = Scene(4)
    at = scene.topic(0, 1, 2)
    if not runs:
        scene.world.pools.ask_to_stop(scene.broker(2))
        scene.pass_time(5)
    endpoint = Endpoint(node_id=NodeID(3000), host="10.0.0.1", port=9093)
    scene.world.tell(Unregistered(endpoint=endpoint, node_id=NodeID(2)))
    assert scene.broken == {"10, leaves"}
    assert str(at) in scene.checker.violations[-1].text


def test_a_record_that_no_disk_has() -> None:
    """If fewer copies were lost by accident than min ISR, a lost record is the operator's fault."""
    scene = Scene()
    at = scene.topic(0, 1, 2)
    for node_id in range(3):
        scene.disks[node_id].replicas[at].truncate(2)
    scene.pass_time(0.5)
    assert "10" in scene.broken
