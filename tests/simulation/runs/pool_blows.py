"""Blows to pools in a storm, drawn at random: what people and accidents do to brokers, and how it is all undone.

None of them is an act of the operator: they change the world itself, and the rules hear only of what they took.
"""

import contextlib
import random
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from tests.simulation.model.kafka.broker_controller import NotAcceptedError
from tests.simulation.model.kubernetes.budgets import evict
from tests.simulation.model.kubernetes.machines import NAMES
from tests.simulation.model.kubernetes.pool_pods import LABEL_NODE, LABEL_POOL, LABEL_ROLE
from tests.simulation.model.place import NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.accidents import can_lose, freeze_for, happen, owner_of, sandbox_of
from tests.simulation.runs.faults import FINAL_LOSSES, Accident, Loss
from tests.simulation.runs.scenarios.pool_scenes import Topic, cluster_of, creates, lags, moves, quorum_stops
from tests.simulation.runs.scenarios.token_scenarios import gives_back, takes

from kafka_brokers.kind import POOLS
from kafka_quorum.model.ids import NodeID
from kit.errors import KubeError
from kit.kube.protocol import PODS, Json

HELD: Final = "kafkaquorum.io/hold"
_LONG_FREEZE_STEPS: Final = 30
"""Longer than a broker's session."""
_LAG_STEPS: Final = 100
"""Longer than a replica may lag in the ISR."""
_TOPICS: Final = 8
"""No more topics than this are created."""
_MACHINES_LOST: Final = 2


class PoolBlows:
    """What strikes the brokers of a world."""

    def __init__(self, world: World, checker: Checker, draw: random.Random, counts: Counter[str]) -> None:
        """Draw from this sequence, and count what happens."""
        self._world, self._checker, self._draw, self._counts = world, checker, draw, counts
        self._topics = 0

    @property
    def topics(self) -> int:
        """How many topics there are."""
        return self._topics

    def nodes(self) -> list[int]:
        """The ids of all brokers that have a pod."""
        labels = (pod["metadata"].get("labels") or {} for pod in self._world.kube.all(PODS))
        return sorted({int(one[LABEL_NODE]) for one in labels if LABEL_POOL in one})

    def strike(self, *, may_lose: bool) -> None:
        """One blow. `may_lose`: a disk may be gone for ever."""
        if not self._world.pools.clusters:
            return  # no broker has ever run
        acts: tuple[Callable[[], bool], ...] = (
            *[partial(self._loses, may_lose=may_lose)] * 8,
            self._freezes,
            self._freezes,
            self._evicts,
            self._evicts,
            self._lags,
            self._holds,
            self._moves,
            self._leader,
            self._leader,
            self._token,
            self._cordons,
        )
        self._draw.choice(acts)()

    def _done(self, what: str) -> bool:
        self._counts[what] += 1
        return True

    def _node(self) -> int | None:
        """The next one to be struck: while a broker writes to files that are gone, no other one, which has them."""
        hollow = self._hollow()
        nodes = [node for node in self.nodes() if not hollow or node in hollow]
        return self._draw.choice(nodes) if nodes else None

    def _hollow(self) -> set[NodeID]:
        """The brokers that run on volumes which were emptied under them: what only they have is lost with them."""
        present = {id(one.disk) for one in self._world.volumes.by_claim.values() if not one.dead}
        return {one.node_id for one in cluster_of(self._world).brokers if {id(disk) for disk in one.disks} - present}

    # Accidents

    def _loses(self, *, may_lose: bool) -> bool:
        loss, node = self._draw.choice(tuple(Loss)), self._node()
        if node is None or not can_lose(self._world, loss, node):
            return False
        if loss in FINAL_LOSSES:
            if not may_lose or not self._can_spare(self._hit(loss, node)):
                return False
            self._counts["final"] += 1
        return happen(self._world, Accident(step=0, loss=loss, node_id=node)) and self._done(f"broker {loss.value}")

    def _hit(self, loss: Loss, node: int) -> set[NodeID] | None:
        """The brokers whose disks are gone after this loss; None if that would be more than a storm may lose."""
        if loss not in (Loss.NODE_KILLED, Loss.NODE_DELETED):
            return {NodeID(node)}
        machines = self._world.machines.by_name.values()
        name = self._world.machine_of(NAMESPACE, owner_of(self._world, node), node)
        volumes = [one for one in self._world.volumes.by_claim.values() if one.node == name and not one.dead]
        if sum(one.gone for one in machines) >= _MACHINES_LOST or any(not one.pool for one in volumes):
            return None
        metas = (one.disk.meta for one in volumes)
        return {meta.node_id for meta in metas if meta is not None}

    def _can_spare(self, hit: set[NodeID] | None) -> bool:
        """Whether every partition has another live member of its ISR, so that nothing is lost by this accident."""
        if hit is None:
            return False
        cluster = cluster_of(self._world)
        if cluster.controller.leader is None:
            return False
        image = cluster.controller.image
        live = {one.node_id for one in cluster.brokers if one.serves} - hit - self._hollow()
        live = {node for node in live if (row := image.brokers.get(node)) is not None and row.active}
        rows = [row for row in image.partitions.values() if hit & set(row.replicas)]
        return all(len(live & set(row.isr)) >= min(len(row.replicas) - 1, 2) for row in rows)

    def _freezes(self) -> bool:
        """A broker is frozen until its session is over."""
        node = self._node()
        sandbox = None if node is None else sandbox_of(self._world, node)
        if sandbox is None or sandbox.process is None:
            return False
        freeze_for(self._world, sandbox.process, _LONG_FREEZE_STEPS)
        return self._done("broker frozen for long")

    def _lags(self) -> bool:
        node = self._node()
        if node is not None:
            lags(node, _LAG_STEPS)(self._world, self._checker)
        return node is not None and self._done("broker lags")

    def _leader(self) -> bool:
        """The active controller is gone, or a majority of the quorum for a while."""
        bare = self._world.bare
        if bare is None:
            return False
        quorum_stops(self._draw.choice((1, 1, len(bare.node_ids))))(self._world, self._checker)
        self._world.later(self._draw.choice((4, 10, 40)), bare.start)
        return self._done("quorum leader")

    def _cordons(self) -> bool:
        """A person cordons a Kubernetes node for a while."""
        name = self._draw.choice(NAMES)
        if self._world.machines.by_name[name].cordoned_s is not None:
            return False
        self._world.machines.cordon(name, cordoned=True)
        self._world.later(60, lambda: self._world.machines.cordon(name, cordoned=False))
        return self._done("node cordoned")

    # People, and other programs

    def _pods(self) -> list[Json]:
        labelled = ((pod, pod["metadata"].get("labels") or {}) for pod in self._world.kube.all(PODS))
        return [pod for pod, labels in labelled if LABEL_POOL in labels and labels.get(LABEL_ROLE) == "broker"]

    def _evicts(self) -> bool:
        """Something else evicts a broker, as its disruption budget allows."""
        pods = self._pods()
        if not pods or self._hollow():
            return False
        metadata = self._draw.choice(pods)["metadata"]
        name, uid, version = metadata["name"], metadata["uid"], metadata["resourceVersion"]
        with contextlib.suppress(KubeError):
            evict(self._world.kube, NAMESPACE, name, uid=uid, resource_version=version)
            return self._done("broker evicted by another")
        return False

    def _holds(self) -> bool:
        """A person holds a broker, or releases all of them."""
        pods = self._pods()
        held = [pod for pod in pods if HELD in (pod["metadata"].get("annotations") or {})]
        if held:
            self.release_holds()
            return self._done("holds released")
        if not pods:
            return False
        name = self._draw.choice(pods)["metadata"]["name"]
        self._world.kube.patch(PODS, NAMESPACE, name, {"metadata": {"annotations": {HELD: "true"}}})
        return self._done("broker held")

    def release_holds(self) -> None:
        """Every hold is removed."""
        for pod in self._pods():
            if HELD in (pod["metadata"].get("annotations") or {}):
                body = {"metadata": {"annotations": {HELD: None}}}
                self._world.kube.patch(PODS, NAMESPACE, pod["metadata"]["name"], body)

    def _moves(self) -> bool:
        """A person reassigns a partition."""
        image = cluster_of(self._world).controller.image
        rows = sorted(image.partitions, key=str)
        if not rows:
            return False
        at = self._draw.choice(rows)
        brokers = sorted(image.brokers)
        count = len(image.partitions[at].target)  # while it is moved, it has more replicas than it will have
        if at.index or len(brokers) < count:
            return False
        with contextlib.suppress(NotAcceptedError):
            moves(at.topic, *self._draw.sample(brokers, count))(self._world, self._checker)
            return self._done("partition moved by another")
        return False

    def _token(self) -> bool:
        """Something else takes the disruption token, if it is free, and gives it back later."""
        takes(self._world, self._checker)
        self._world.later(30, lambda: gives_back(self._world, self._checker))
        return self._done("token taken by another")

    # Topics

    def create_topic(self) -> None:
        """A topic of one or two partitions, on brokers that are unfenced; its min ISR leaves one of them over."""
        if not self._world.pools.clusters or self._topics >= _TOPICS:
            return
        cluster = cluster_of(self._world)
        if cluster.controller.leader is None:
            return
        brokers = sorted(node for node, row in cluster.controller.image.brokers.items() if row.active)
        if len(brokers) < 3:
            return
        count = self._draw.choice((2, 3, 3, 3))
        replicas = tuple(tuple(self._draw.sample(brokers, count)) for _ in range(self._draw.choice((1, 2))))
        self._topics += 1
        topic = Topic(name=f"topic-{self._topics}", replicas=replicas, min_isr=self._draw.randint(1, count - 1))
        creates(topic)(self._world, self._checker)
        self._counts["topic created"] += 1

    # The end

    def heal(self) -> None:
        """Everything temporary is over. What remains are lost disks and machines, and specs."""
        world = self._world
        if world.bare is not None:
            world.bare.start()
        self.release_holds()
        gives_back(world, self._checker)
        for name in NAMES:
            if world.machines.by_name[name].cordoned_s is not None:
                world.machines.cordon(name, cordoned=False)
        for broker in world.pools.every():
            broker.fetches = world.pools.fetches


def names_of(world: World) -> Iterator[str]:
    """The pools by name."""
    yield from sorted(str(body["metadata"]["name"]) for body in world.kube.all(POOLS))
