"""Which brokers the operator has stopped and are not back: unfenced, and in each ISR in which they were before."""

from dataclasses import dataclass

from tests.simulation.model.kafka.broker import Broker
from tests.simulation.model.kafka.cluster_image import ClusterImage
from tests.simulation.model.world import World
from tests.simulation.rules.pool_glances import PoolGlances

from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.ids import ClusterID, NodeID


@dataclass(slots=True, kw_only=True)
class Away:
    """A broker that was stopped; `member` are the partitions in whose ISR it was for the last seconds."""

    pool: str
    cluster_id: ClusterID
    member: frozenset[TopicPartition]
    stopped_s: float
    broker: Broker
    served: bool
    """Whether it served when it was stopped: one that is fenced is stopped without the token."""
    started: bool = False
    waited: bool = False
    """It ran again, and missed only what brokers led whose certificates had ended: its pool may have no token since."""


def cut_off(world: World) -> frozenset[NodeID]:
    """The running brokers whose certificate has ended: nobody opens a connection to them."""
    now = world.clock.now()
    shown = ((one.node_id, one.process.tls) for one in world.pools.every())
    return frozenset(node for node, tls in shown if tls is not None and tls.served.not_after <= now)


def _waits_for(away: Away, node: NodeID, image: ClusterImage, those: frozenset[NodeID]) -> bool:
    """Whether a broker that was stopped runs again, and waits only for partitions that these brokers lead."""
    broker = image.brokers.get(node)
    rows = [row for at in away.member if (row := image.partitions.get(at)) is not None and node in row.replicas]
    missing = [row for row in rows if node not in row.isr]
    runs = away.started and broker is not None and broker.active
    return runs and all(row.leader is None or row.leader in those for row in missing)


class PoolAway:
    """Every broker that is away."""

    def __init__(self, world: World, glances: PoolGlances) -> None:
        """Begin with none."""
        self._world, self._glances = world, glances
        self._away: dict[NodeID, Away] = {}

    @property
    def nodes(self) -> frozenset[NodeID]:
        """Their ids, without those that run again and have waited for brokers whose certificates had ended.

        Such a one is out of the ISRs that it misses, and serves in all others: partitions are judged as they are.
        """
        return frozenset(node for node, away in self._away.items() if not self._has_waited(away, node))

    @property
    def disrupted(self) -> frozenset[NodeID]:
        """Those of them that served until they were stopped."""
        return frozenset(node for node in self.nodes if self._away[node].served)

    def _has_waited(self, away: Away, node: NodeID) -> bool:
        broker = self._glances.of(away.cluster_id, 0.0)[-1].image.brokers.get(node)
        return away.waited and broker is not None and broker.active

    def add(self, pool: str, broker: Broker) -> None:
        """The operator stopped this broker."""
        cluster_id = broker.process.cluster_id
        moments = self._glances.of(cluster_id)
        rows = moments[-1].image.of_node(broker.node_id)
        member = frozenset(
            row.at
            for row in rows
            if all(
                (one := moment.image.partitions.get(row.at)) is not None and broker.node_id in one.isr
                for moment in moments
            )
        )
        self._away[broker.node_id] = Away(
            pool=pool,
            cluster_id=cluster_id,
            member=member,
            stopped_s=self._world.clock.elapsed_s,
            broker=broker,
            served=all(broker.node_id in moment.live for moment in moments),
        )

    def started(self, broker: Broker) -> None:
        """A broker started."""
        away = self._away.get(broker.node_id)
        if away is not None and away.broker is not broker:
            away.started = True

    def look(self) -> None:
        """Remove those that are back, or are no longer registered; note which ones wait for ended certificates."""
        shut = cut_off(self._world)
        for node, away in list(self._away.items()):
            image = self._glances.of(away.cluster_id, 0.0)[-1].image
            broker = image.brokers.get(node)
            if broker is None:
                del self._away[node]
                continue
            rows = [row for at in away.member if (row := image.partitions.get(at)) is not None]
            if away.started and broker.active and all(node in row.isr for row in rows if node in row.replicas):
                del self._away[node]
            away.waited = away.waited or (bool(shut) and _waits_for(away, node, image, shut))

    def against(self, pool: str, broker: Broker, at_most: int, cut_off: frozenset[NodeID]) -> list[str]:
        """Why this broker must not be stopped beside those that are away.

        If its certificate has ended, those that run and miss nothing but what such brokers lead do not count; nor for
        another pool, which judges the ISRs, those that have waited so.
        """
        found, node = [], broker.node_id
        image = self._glances.of(broker.process.cluster_id, 0.0)[-1].image
        mine = {row.at for row in image.of_node(node)}
        excused = node in cut_off
        others = {
            one: away
            for one, away in self._away.items()
            if one != node
            and not (excused and _waits_for(away, one, image, cut_off))
            and not (away.pool != pool and self._has_waited(away, one))
        }
        for other, away in sorted(others.items()):
            shared = sorted(mine & {row.at for row in image.of_node(other)})
            if away.pool != pool:
                found.append(f"before broker {other} of pool {away.pool} is back")
            elif shared:
                found.append(f"before broker {other} is back, and both are replicas of {shared[0]}")
        serving = [other for other in others if image.of_node(other)]
        if mine and serving and len(serving) >= at_most:  # one without partitions leaves nothing without a leader
            found.append(f"while {len(serving)} brokers are away, and {at_most} may be")
        return found
