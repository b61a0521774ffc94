"""What the active controller does about brokers and partitions: registrations, sessions, ISRs, elections, moves.

Each act writes one record to the leader's log; it counts for others when it is committed. Without an active controller
nothing here changes. Sessions are kept in memory, as in Kafka: a new leader gives every unfenced broker a new one.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from tests.simulation.model.kafka.cluster_image import (
    CORDONED,
    UNASSIGNED,
    BrokerRow,
    ClusterImage,
    Nodes,
    PartitionRow,
)
from tests.simulation.model.kafka.disk import Registration
from tests.simulation.model.kafka.kraft_model import KraftModel
from tests.simulation.model.kafka.partition_changes import Rules, cancelled, changed, reassigned
from tests.simulation.model.kafka.process import Process
from tests.simulation.model.kafka.releases import level_of

from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.ids import ClusterID, DirectoryID, NodeID

SESSION_S: Final = 9.0
"""Kafka's default of broker.session.timeout.ms."""
_ELR: Final = "eligible.leader.replicas.version"


class NotAcceptedError(Exception):
    """The controller refuses a request; `code` is Kafka's name of the error."""

    def __init__(self, code: str, words: str = "") -> None:
        """Keep the name and the words."""
        super().__init__(f"{code}: {words}")
        self.code, self.words = code, words


@dataclass(frozen=True, slots=True, kw_only=True)
class Joining:
    """What a starting broker registers with."""

    node_id: NodeID
    incarnation: str
    host: str
    port: int
    rack: str
    directories: tuple[DirectoryID, ...]
    clean_epoch: int
    """The epoch in its files of a clean shutdown; -1 if one of its directories has none."""


class BrokerController:
    """The active controller of one cluster, whichever process it is."""

    def __init__(self, kraft: KraftModel, cluster_id: ClusterID) -> None:
        """Begin without a session."""
        self._kraft, self.cluster_id = kraft, cluster_id
        self._heard_s: dict[NodeID, float] = {}
        self._of: Process | None = None

    @property
    def leader(self) -> Process | None:
        """The active controller: it leads, and has a high watermark."""
        leader = self._kraft.leader_of(self.cluster_id)
        return leader if leader is not None and leader.high_watermark >= 0 else None

    @property
    def image(self) -> ClusterImage:
        """The newest image; an empty one without a leader."""
        leader = self.leader
        return ClusterImage() if leader is None else leader.disk.image.cluster

    def step(self) -> None:
        """Fence every broker whose session has expired."""
        leader = self.leader
        if leader is None:
            return
        if leader is not self._of:
            self._of = leader
            self._heard_s = {one: self._kraft.now_s for one, row in self.image.brokers.items() if not row.fenced}
        for node_id, row in self.image.brokers.items():
            if not row.fenced and not self._has_session(node_id):
                self._fence(row, stopping=row.stopping)

    # Brokers

    def register(self, joining: Joining, registration: Registration) -> int:
        """A new incarnation; returns its epoch. DUPLICATE_BROKER_REGISTRATION while the session before it is valid."""
        leader = self._active()
        before = self.image.brokers.get(joining.node_id)
        if before is not None and before.incarnation == joining.incarnation:
            return before.epoch
        if before is not None and self._has_session(joining.node_id) and not before.stopping:
            raise NotAcceptedError("DUPLICATE_BROKER_REGISTRATION", "Another broker is registered with that broker id.")
        if before is not None:
            unclean = self._keeps_elr and before.epoch != joining.clean_epoch
            self._leave(joining.node_id, unclean=unclean)
        epoch = leader.disk.end
        row = BrokerRow(
            node_id=joining.node_id,
            epoch=epoch,
            incarnation=joining.incarnation,
            host=joining.host,
            port=joining.port,
            rack=joining.rack,
            directories=joining.directories,
        )
        self._kraft.append_registration(leader, registration)
        self._write(f"registers broker {row.node_id}", self.image.with_broker(row))
        self._heard_s[joining.node_id] = self._kraft.now_s
        return epoch

    def heartbeat(self, node_id: NodeID, epoch: int, *, reached: int, online: tuple[DirectoryID, ...]) -> BrokerRow:
        """A broker lives, has read the log up to `reached`, and has these directories; STALE_BROKER_EPOCH."""
        self._active()
        row = self.image.brokers.get(node_id)
        if row is None or row.epoch != epoch:
            raise NotAcceptedError("STALE_BROKER_EPOCH")
        self._heard_s[node_id] = self._kraft.now_s
        if gone := tuple(one for one in row.directories if one not in online):
            row = replace(row, directories=tuple(one for one in row.directories if one in online))
            self._write(f"directories {gone} of broker {node_id} are offline", self.image.with_broker(row))
            for partition in self.image.of_node(node_id):
                if partition.directory(node_id) in gone:
                    self._without(partition, node_id)
        if row.fenced and not row.stopping and reached > epoch:
            row = replace(row, fenced=False)
            self._write(f"unfences broker {node_id}", self.image.with_broker(row))
            for partition in self.image.of_node(node_id):
                if partition.leader is None:
                    self._change(partition)
        return row

    def stop(self, node_id: NodeID, epoch: int) -> bool:
        """A broker asks for its controlled shutdown; True once it leads nothing, and is fenced."""
        self._active()
        row = self.image.brokers.get(node_id)
        if row is None or row.epoch != epoch:
            raise NotAcceptedError("STALE_BROKER_EPOCH")
        self._heard_s[node_id] = self._kraft.now_s
        if not row.stopping:
            self._write(f"broker {node_id} stops", self.image.with_broker(replace(row, stopping=True)))
            for partition in self._with_isr(node_id):
                self._without(partition, node_id)
            return False
        if any(one.leader == node_id for one in self.image.partitions.values()):
            return False
        self._fence(self.image.brokers[node_id], stopping=True)
        return True

    def unregister(self, node_id: NodeID) -> None:
        """Forget a registration (BROKER_ID_NOT_REGISTERED)."""
        leader = self._active()
        if node_id not in self.image.brokers:
            raise NotAcceptedError("BROKER_ID_NOT_REGISTERED", f"Broker ID {node_id} is not currently registered.")
        self._write(f"unregisters broker {node_id}", self.image.without_broker(node_id))
        kept = tuple(one for one in leader.disk.image.registered if not one.broker or one.node_id != node_id)
        self._kraft.append(leader, f"unregisters {node_id}", registered=kept)
        self._heard_s.pop(node_id, None)
        for partition in self._with_isr(node_id):
            self._without(partition, node_id)

    # Partitions

    def create(self, topic: str, assignment: list[Nodes], settings: dict[str, str]) -> None:
        """A topic with these replicas for each partition; a fenced replica is not in its first ISR."""
        self._active()
        image = self.image
        image = replace(image, of_topic={**image.of_topic, topic: settings})
        for index, replicas in enumerate(assignment):
            isr = tuple(one for one in replicas if (row := image.brokers.get(one)) is not None and row.active)
            image = image.with_partition(
                PartitionRow(
                    at=TopicPartition(topic=topic, index=index),
                    replicas=replicas,
                    directories=tuple(UNASSIGNED for _ in replicas),
                    isr=isr,
                    leader=isr[0] if isr else None,
                )
            )
        self._write(f"creates {topic}", image)

    def alter_isr(self, at: TopicPartition, leader: NodeID, version: int, isr: Nodes) -> PartitionRow:
        """A partition's leader asks for another ISR; INVALID_UPDATE_VERSION if it has an old row."""
        self._active()
        row = self.image.partitions.get(at)
        if row is None or row.leader != leader or row.version != version:
            raise NotAcceptedError("INVALID_UPDATE_VERSION")
        brokers = self.image.brokers
        if any(node not in row.replicas or node not in brokers or not brokers[node].active for node in isr):
            raise NotAcceptedError("INELIGIBLE_REPLICA")
        self._change(row, isr=isr)
        return self.image.partitions[at]

    def place(self, at: TopicPartition, node_id: NodeID, directory: DirectoryID) -> None:
        """A broker reports the directory of a replica."""
        self._active()
        row = self.image.partitions.get(at)
        if row is not None and node_id in row.replicas and row.directory(node_id) != directory:
            self._put(f"{at} of broker {node_id} is in {directory}", row.placed(node_id, directory))
            if row.leader is None:
                self._change(self.image.partitions[at])

    def reassign(self, at: TopicPartition, target: Nodes | None) -> None:
        """Begin a reassignment, or cancel the running one; refused with Kafka's own names."""
        self._active()
        row = self.image.partitions.get(at)
        if row is None:
            raise NotAcceptedError("UNKNOWN_TOPIC_OR_PARTITION", "Unable to find a topic with the specified name.")
        moving = bool(row.adding or row.removing)
        if target is None:
            if not moving:
                raise NotAcceptedError("NO_REASSIGNMENT_IN_PROGRESS", "No partition reassignment is in progress.")
            self._put(f"cancels the reassignment of {at}", cancelled(row))
        else:
            if why := self._why_not(row, target):
                raise NotAcceptedError("INVALID_REPLICA_ASSIGNMENT", why)
            row = cancelled(row) if moving else row
            if target == row.replicas and not moving:
                return
            self._put(f"reassigns {at} to {target}", reassigned(row, target))
        self._change(self.image.partitions[at])

    def elect_preferred(self, at: TopicPartition) -> None:
        """The first replica leads, if it can."""
        self._active()
        row = self.image.partitions.get(at)
        if row is not None:
            self._change(row, preferred=True)

    def configure(self, change: Callable[[ClusterImage], ClusterImage]) -> None:
        """Change dynamic settings."""
        self._active()
        self._write("settings", change(self.image))

    # Inside

    @property
    def _keeps_elr(self) -> bool:
        leader = self.leader
        return leader is not None and level_of(leader.disk.image.levels, _ELR) > 0

    def _active(self) -> Process:
        leader = self.leader
        if leader is None:
            raise NotAcceptedError("NOT_CONTROLLER")
        return leader

    def _has_session(self, node_id: NodeID) -> bool:
        return self._kraft.now_s - self._heard_s.get(node_id, -SESSION_S) < SESSION_S

    def _fence(self, row: BrokerRow, *, stopping: bool) -> None:
        self._write(
            f"fences broker {row.node_id}", self.image.with_broker(replace(row, fenced=True, stopping=stopping))
        )
        self._leave(row.node_id)

    def _leave(self, node_id: NodeID, *, unclean: bool = False) -> None:
        """A broker leaves the ISRs; after an unclean end the ELRs, too."""
        for partition in self._with_isr(node_id):
            self._without(partition, node_id, unclean=unclean)
        if unclean:
            for partition in self.image.of_node(node_id):
                if node_id in partition.elr:
                    self._without(partition, node_id, unclean=True)

    def _with_isr(self, node_id: NodeID) -> list[PartitionRow]:
        rows = self.image.partitions.values()
        return [one for one in rows if node_id in one.isr or one.leader == node_id]

    def _without(self, row: PartitionRow, node_id: NodeID, *, unclean: bool = False) -> None:
        isr = tuple(one for one in row.isr if one != node_id)
        self._change(row, isr=isr, unclean=(node_id,) if unclean else (), gone=node_id)

    def _change(
        self,
        row: PartitionRow,
        *,
        isr: Nodes | None = None,
        unclean: Nodes = (),
        gone: NodeID | None = None,
        preferred: bool = False,
    ) -> None:
        image = self.image
        rules = Rules(
            acceptable=lambda node: node != gone and image.is_acceptable(row, node),
            min_isr=image.min_isr(row.at.topic),
            elr=self._keeps_elr,
            preferred=preferred,
            unclean=unclean,
        )
        new = changed(row, rules, isr=isr)
        if new is not row:
            self._put(f"changes {row.at}", new)

    def _why_not(self, row: PartitionRow, target: Nodes) -> str:
        image = self.image
        if not target or len(set(target)) != len(target):
            return "The manual partition assignment is empty, or includes a broker more than once."
        for node in target:
            if node not in image.brokers:
                return f"The manual partition assignment includes broker {node}, but no such broker is registered."
            if node not in row.replicas and image.of_broker.get(node, {}).get(CORDONED) == "*":
                return f"The manual partition assignment includes broker {node}, which is cordoned."
        return ""

    def _put(self, what: str, row: PartitionRow) -> None:
        self._write(what, self.image.with_partition(row))

    def _write(self, what: str, image: ClusterImage) -> None:
        leader = self._active()
        self._kraft.append(leader, what, cluster=image)
