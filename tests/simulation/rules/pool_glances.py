"""What was true of each cluster of brokers in the last seconds: a rule by knowledge must be broken in all of them."""

from collections import deque
from dataclasses import dataclass
from typing import Final

from tests.simulation.model.kafka.broker_model import Cluster
from tests.simulation.model.kafka.cluster_image import ClusterImage, PartitionRow
from tests.simulation.model.world import World

from kafka_quorum.model.ids import ClusterID, NodeID

LOOK_S: Final = 2.0
"""The greatest age of a look when a decision on it is sent."""
_REMEMBERED_S: Final = 12.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolGlance:
    """One moment. `image` is the committed one; `live` are the brokers that serve, and are active in it.

    `led`: the quorum has an active controller.
    """

    at_s: float
    led: bool
    image: ClusterImage
    live: frozenset[NodeID]

    def in_sync(self, row: PartitionRow) -> frozenset[NodeID]:
        """The live members of the ISR."""
        return self.live & frozenset(row.isr)

    def min_isr(self, row: PartitionRow) -> int:
        """The topic's effective `min.insync.replicas`."""
        return self.image.min_isr(row.at.topic)


class PoolGlances:
    """The last seconds of every cluster."""

    def __init__(self, world: World) -> None:
        """Begin without a moment."""
        self._world = world
        self._recent: dict[ClusterID, deque[PoolGlance]] = {}

    def look(self) -> None:
        """Note what is true now."""
        now_s = self._world.clock.elapsed_s
        for cluster_id, cluster in self._world.pools.clusters.items():
            recent = self._recent.setdefault(cluster_id, deque())
            recent.append(self._glance(cluster_id, cluster))
            while now_s - recent[0].at_s > _REMEMBERED_S:
                recent.popleft()

    def of(self, cluster_id: ClusterID, within_s: float = LOOK_S) -> tuple[PoolGlance, ...]:
        """The last seconds, and now."""
        since_s = self._world.clock.elapsed_s - within_s
        recent = (one for one in self._recent.get(cluster_id, ()) if one.at_s >= since_s)
        return (*recent, self._glance(cluster_id, self._world.pools.cluster(cluster_id)))

    def _glance(self, cluster_id: ClusterID, cluster: Cluster) -> PoolGlance:
        done = self._world.kraft.committed.get(cluster_id)
        image = done[-1].image.cluster if done else ClusterImage()
        kraft = self._world.kraft
        serving = (one.node_id for one in cluster.brokers if one.serves and kraft.is_up(one.process))
        live = frozenset(node for node in serving if (row := image.brokers.get(node)) is not None and row.active)
        led = cluster.controller.leader is not None
        return PoolGlance(at_s=self._world.clock.elapsed_s, led=led, image=image, live=live)
