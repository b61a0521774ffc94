"""Brokers with partitions: replication, in-sync replicas, and a producer that remembers what was acknowledged.

The metadata is the KRaft model's: brokers are observers of the quorum, and act by what they have read of its committed
log, which may be old. Each step brokers live, replicate twice, change ISRs through the active controller, and every
partition gets a record with acks=all. Acknowledged records are the ground truth of rule 10.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from tests.simulation.model.clock import VirtualClock
from tests.simulation.model.kafka.broker import RECOVERY_S, Broker, Lead
from tests.simulation.model.kafka.broker_controller import BrokerController, NotAcceptedError
from tests.simulation.model.kafka.cluster_image import PartitionRow
from tests.simulation.model.kafka.disk import Disk
from tests.simulation.model.kafka.kraft_model import CannotStartError, KraftModel
from tests.simulation.model.kafka.process import Process, Software
from tests.simulation.model.kafka.releases import level_of
from tests.simulation.model.kafka.replica_log import ReplicaLog, Span
from tests.simulation.model.kafka.startup import INSTANT, Pace
from tests.simulation.model.kafka.tls import Tls

from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.ids import ClusterID, NodeID

LAG_S: Final = 30.0
"""Kafka's default of replica.lag.time.max.ms."""
LISTENER: Final = "CONTROLLER"
"""By which a broker reaches controllers, unless its properties name another one."""
REPLICATION: Final = "REPLICATION"
_ELR: Final = "eligible.leader.replicas.version"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a broker runs and listens: the ports besides the first one are those of its other listeners."""

    address: str
    host: str
    port: int
    ports: tuple[int, ...] = ()
    node: str = ""
    rack: str = ""
    release: str
    addressed_s: float | None = None
    pace: Pace = INSTANT
    tls: Tls | None = None
    """What it has loaded to reach controllers, and other brokers."""


@dataclass(slots=True)
class Cluster:
    """The brokers of one cluster, and what their clients know."""

    controller: BrokerController
    brokers: list[Broker] = field(default_factory=list)
    acked: dict[TopicPartition, list[Span]] = field(default_factory=dict)
    """The acknowledged records."""
    produced_s: dict[TopicPartition, float] = field(default_factory=dict)
    """When the last record of each partition was acknowledged."""
    longest_gap_s: dict[TopicPartition, float] = field(default_factory=dict)

    def broker(self, node_id: NodeID) -> Broker | None:
        """The process of this id that started last."""
        return next((one for one in reversed(self.brokers) if one.node_id == node_id), None)


class BrokerModel:
    """Every broker of every cluster."""

    def __init__(self, kraft: KraftModel, clock: VirtualClock) -> None:
        """Begin with no broker."""
        self._kraft, self._clock = kraft, clock
        self.clusters: dict[ClusterID, Cluster] = {}
        self.deleted: list[Callable[[TopicPartition, Broker, Disk, ReplicaLog], None]] = []
        """Called for each replica that a broker deletes, because the partition left it."""
        self.fetches = 40
        """How many records one fetch of a replica brings at most, of brokers that start."""
        self.producing = True
        """Whether the producers write."""

    def cluster(self, cluster_id: ClusterID) -> Cluster:
        """The brokers of this cluster."""
        if cluster_id not in self.clusters:
            self.clusters[cluster_id] = Cluster(BrokerController(self._kraft, cluster_id))
        return self.clusters[cluster_id]

    def every(self) -> Iterator[Broker]:
        """Every running broker."""
        for cluster in self.clusters.values():
            yield from cluster.brokers

    # Processes come and go

    def start(
        self, disks: list[Disk], node_id: NodeID, place: Place, properties: dict[str, str] | None = None
    ) -> Broker:
        """Start Kafka on these disks (CannotStartError)."""
        metas = [disk.meta for disk in disks if disk.meta is not None]
        if len(metas) < len(disks):
            raise CannotStartError("No readable meta.properties files found")
        if len({meta.cluster_id for meta in metas}) > 1 or {meta.node_id for meta in metas} != {node_id}:
            raise CannotStartError("The log directories are of several clusters or nodes")
        named, secured = reached_by(properties or {}), secured_in(properties or {})
        process = self._kraft.start(
            disks[0],
            node_id=node_id,
            address=place.address,
            host=place.host,
            port=place.port,
            listener=named,
            node=place.node,
            as_=Software(
                release=place.release,
                broker=True,
                registers=False,
                pace=place.pace,
                addressed_s=place.addressed_s,
                tls=place.tls,
                plain=frozenset({named}) - secured,
            ),
        )
        epochs = {disk.clean_epoch for disk in disks}
        clean = epochs.pop() if len(epochs) == 1 else -1
        broker = Broker(
            process=process,
            disks=list(disks),
            rack=place.rack,
            ports=(place.port, *place.ports),
            properties=dict(properties or {}),
            replicates_by_tls=REPLICATION in secured,
            clean_epoch=clean,
            fetches=self.fetches,
            ready_s=process.up_s + (RECOVERY_S if clean < 0 and any(disk.replicas for disk in disks) else 0.0),
        )
        for disk in disks:
            disk.clean_epoch, disk.ran = -1, True
        self.cluster(process.cluster_id).brokers.append(broker)
        return broker

    def kill(self, broker: Broker) -> None:
        """SIGKILL, or the end of a broker that has stopped by itself."""
        self.cluster(broker.process.cluster_id).brokers.remove(broker)
        if broker.process in self._kraft.processes:
            self._kraft.stop(broker.process)

    def ask_to_stop(self, broker: Broker) -> None:
        """SIGTERM: a controlled shutdown begins."""
        broker.ask_to_stop(self._clock.elapsed_s)

    def at(self, host: str, port: int) -> Broker | None:
        """The broker that listens at an address or a name."""
        found = (one for one in self.every() if host in (one.process.address, one.process.host) and port in one.ports)
        return next(found, None)

    # One step

    def step(self) -> None:
        """Half a second of every cluster."""
        for cluster in self.clusters.values():
            cluster.controller.step()
            for broker in list(cluster.brokers):
                self._live(cluster, broker)
            for _ in range(2):
                self._replicate(cluster)
            for broker in self._serving(cluster):
                for at, lead in broker.leads.items():
                    self._keep_isr(cluster, broker, at, lead)
            if self.producing:
                self._produce(cluster)
                self._replicate(cluster)
                self._acknowledge(cluster)

    def _live(self, cluster: Cluster, broker: Broker) -> None:
        if broker.process.failed:
            cluster.brokers.remove(broker)
            return
        if not self._kraft.is_up(broker.process):
            return
        reaches = self._reaches(cluster, broker)
        broker.live(cluster.controller, reaches=reaches, now_s=self._clock.elapsed_s)
        if broker.ended:
            self.kill(broker)
        elif broker.serves:
            for at, disk, log in broker.follow(cluster.controller, reaches=reaches):
                for listener in self.deleted:
                    listener(at, broker, disk, log)

    def _reaches(self, cluster: Cluster, broker: Broker) -> bool:
        leader = cluster.controller.leader
        return leader is not None and self._kraft.is_up(leader) and self._kraft.finds(broker.process, leader)

    def reaches_broker(self, one: Broker, other: Broker) -> bool:
        """Whether a broker has a connection to another one's listener for replication."""
        kraft = self._kraft
        if not kraft.connected(one.process, other.process) or not other.replicates_by_tls:
            return kraft.connected(one.process, other.process)
        client, server = one.process, other.process
        return kraft.connections.reach(client, server, kraft.wall(client), kraft.wall(server))

    def _serving(self, cluster: Cluster) -> list[Broker]:
        return [one for one in cluster.brokers if one.serves and self._kraft.is_up(one.process)]

    def _replicate(self, cluster: Cluster) -> None:
        """Every follower fetches from the leader that its image names, if both have the same epoch."""
        serving = self._serving(cluster)
        by_id = {one.node_id: one for one in serving}
        for follower in serving:
            for row in follower.image.of_node(follower.node_id):
                source = by_id.get(row.leader) if row.leader is not None else None
                if source is not None and source is not follower:
                    self._fetch(follower, source, row)
        for broker in serving:
            for at, lead in broker.leads.items():
                self._advance(broker, broker.image.partitions[at], lead)

    def _fetch(self, follower: Broker, source: Broker, row: PartitionRow) -> None:
        lead, log, theirs = source.leads.get(row.at), follower.log_of(row.at), source.log_of(row.at)
        if lead is None or lead.epoch != row.leader_epoch or log is None or theirs is None:
            return
        if follower.process.slow or not follower.fetches or not self.reaches_broker(follower, source):
            return
        log.fetch(theirs, follower.fetches)
        lead.ends[follower.node_id] = log.end
        if log.end >= theirs.end:
            lead.caught_up_s[follower.node_id] = self._clock.elapsed_s

    def _advance(self, leader: Broker, row: PartitionRow, lead: Lead) -> None:
        """The high watermark: what every member of the ISR has; with ELR only while the ISR is large enough."""
        log = leader.log_of(row.at)
        if log is None or (self._keeps_elr(leader.process) and len(row.isr) < effective(leader, row)):
            return
        joining = [node for node in row.replicas if self._may_join(leader, row, lead, node)]
        others = [node for node in dict.fromkeys((*row.isr, *joining)) if node != leader.node_id]
        reached = min((lead.ends.get(node, -1) for node in others), default=log.end)
        lead.hw = max(lead.hw, min(reached, log.end))

    def _may_join(self, leader: Broker, row: PartitionRow, lead: Lead, node: NodeID) -> bool:
        """Whether this replica is to join the ISR: it has what is committed, and all that was there at the start."""
        broker = leader.image.brokers.get(node)
        if node in row.isr or broker is None or not broker.active:
            return False
        return lead.ends.get(node, -1) >= max(lead.hw, lead.start)

    def _keep_isr(self, cluster: Cluster, leader: Broker, at: TopicPartition, lead: Lead) -> None:
        row, now_s = leader.image.partitions[at], self._clock.elapsed_s
        if row.leader_epoch != lead.epoch or not self._reaches(cluster, leader):
            return
        for node in row.isr:
            lead.caught_up_s.setdefault(node, now_s)
        late = {one for one in row.isr if one != leader.node_id and now_s - lead.caught_up_s[one] > LAG_S}
        joining = {node for node in row.replicas if self._may_join(leader, row, lead, node)}
        isr = tuple(node for node in row.replicas if (node in row.isr and node not in late) or node in joining)
        if set(isr) != set(row.isr):
            try:
                cluster.controller.alter_isr(at, leader.node_id, row.version, isr)
            except NotAcceptedError:
                return

    # Producers

    def leader_of(self, cluster: Cluster, at: TopicPartition) -> Broker | None:
        """The broker that leads a partition by its own knowledge, in the highest epoch."""
        led = [one for one in self._serving(cluster) if at in one.leads]
        return max(led, key=lambda one: one.leads[at].epoch, default=None)

    def _produce(self, cluster: Cluster) -> None:
        for at in sorted({at for one in self._serving(cluster) for at in one.leads}):
            leader = self.leader_of(cluster, at)
            log = leader.log_of(at) if leader is not None else None
            if leader is None or log is None:
                continue
            row = leader.image.partitions[at]
            if len(row.isr) >= effective(leader, row):
                log.append(leader.leads[at].epoch, 1)
                leader.leads[at].pending.append(log.end - 1)

    def _acknowledge(self, cluster: Cluster) -> None:
        now_s = self._clock.elapsed_s
        for broker in self._serving(cluster):
            for at, lead in broker.leads.items():
                row = broker.image.partitions[at]
                done = [offset for offset in lead.pending if offset < lead.hw]
                lead.pending = [offset for offset in lead.pending if offset >= lead.hw]
                if done and len(row.isr) >= effective(broker, row):
                    _note(cluster.acked.setdefault(at, []), lead.epoch, done)
                    gap_s = now_s - cluster.produced_s.get(at, now_s)
                    cluster.longest_gap_s[at] = max(gap_s, cluster.longest_gap_s.get(at, 0.0))
                    cluster.produced_s[at] = now_s

    def _keeps_elr(self, process: Process) -> bool:
        return level_of(process.committed.levels, _ELR) > 0


def reached_by(properties: Mapping[str, str]) -> str:
    """The controllers' listener that a broker uses: the first one that its properties name."""
    return properties.get("controller.listener.names", "").partition(",")[0] or LISTENER


def secured_in(properties: Mapping[str, str]) -> frozenset[str]:
    """The names of the listeners that have mutual TLS by these properties."""
    pairs = (each.partition(":") for each in properties.get("listener.security.protocol.map", "").split(","))
    return frozenset(name for name, _, protocol in pairs if protocol == "SSL")


def effective(leader: Broker, row: PartitionRow) -> int:
    """The smallest ISR with which a leader accepts records with acks=all."""
    return min(leader.image.min_isr(row.at.topic), len(row.replicas))


def _note(spans: list[Span], epoch: int, offsets: Iterable[int]) -> None:
    for offset in offsets:
        if spans and spans[-1].epoch == epoch and spans[-1].end == offset:
            spans[-1] = Span(epoch, spans[-1].start, offset + 1)
        else:
            spans.append(Span(epoch, offset, offset + 1))
