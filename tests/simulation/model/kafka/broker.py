"""A broker's process in the model: its disks, its lifecycle, what it leads, and what it asks the active controller."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from tests.simulation.model.kafka.broker_controller import BrokerController, Joining, NotAcceptedError
from tests.simulation.model.kafka.cluster_image import UNASSIGNED, ClusterImage, PartitionRow
from tests.simulation.model.kafka.disk import Disk, Registration
from tests.simulation.model.kafka.process import Process
from tests.simulation.model.kafka.releases import supported
from tests.simulation.model.kafka.replica_log import ReplicaLog

from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.ids import DirectoryID, NodeID

RECOVERY_S: Final = 2.0
"""How long a broker that was killed checks its logs before it registers."""
PATIENCE_S: Final = 300.0
"""How long a broker that shall stop waits for an active controller (Kafka's own bound)."""


class Stage(Enum):
    """How far a broker is."""

    STARTING = "starting"
    """It starts, and checks its logs."""
    REGISTERED = "registered"
    """It has an epoch, and reads the metadata log up to it."""
    RUNNING = "running"
    """It follows the metadata: it leads and fetches."""
    STOPPING = "stopping"
    """It was asked to stop."""


@dataclass(slots=True, kw_only=True)
class Lead:
    """What the leader of a partition keeps in one epoch. `hw` is the high watermark."""

    epoch: int
    start: int
    hw: int
    ends: dict[NodeID, int] = field(default_factory=dict)
    caught_up_s: dict[NodeID, float] = field(default_factory=dict)
    pending: list[int] = field(default_factory=list)
    """Offsets of records that a producer waits for."""


@dataclass(slots=True, kw_only=True, eq=False)
class Broker:
    """One running broker. Its first disk has the metadata log, and every disk has replicas."""

    process: Process
    disks: list[Disk]
    rack: str = ""
    properties: dict[str, str] = field(default_factory=dict)
    ports: tuple[int, ...] = ()
    replicates_by_tls: bool = False
    """Whether brokers fetch from it with mutual TLS, by what it has loaded for the controllers."""
    stage: Stage = Stage.STARTING
    ready_s: float = 0.0
    """When its logs are checked."""
    epoch: int = -1
    clean_epoch: int = -1
    fetches: int = 40
    """How many records one fetch of a replica brings at most."""
    broken: set[DirectoryID] = field(default_factory=set)
    """Log directories that fail under it."""
    asked_s: float = 0.0
    """When it was asked to stop."""
    ended: bool = False
    """It has stopped by itself."""
    leads: dict[TopicPartition, Lead] = field(default_factory=dict)

    @property
    def node_id(self) -> NodeID:
        """Its id."""
        return self.process.meta.node_id

    @property
    def image(self) -> ClusterImage:
        """Brokers and partitions as it knows them: what it has read of the committed log."""
        return self.process.committed.cluster

    @property
    def online(self) -> tuple[DirectoryID, ...]:
        """The directories that work."""
        ids = (disk.meta.directory_id for disk in self.disks if disk.meta is not None)
        return tuple(one for one in ids if one not in self.broken)

    @property
    def serves(self) -> bool:
        """Whether it answers requests, leads and fetches."""
        return self.stage is Stage.RUNNING or (self.stage is Stage.STOPPING and self.epoch >= 0)

    def log_of(self, at: TopicPartition) -> ReplicaLog | None:
        """Its log of a partition, if it has one on a disk that works."""
        for disk in self.disks:
            log = disk.replicas.get(at)
            if log is not None and disk.meta is not None and disk.meta.directory_id not in self.broken:
                return log
        return None

    def disk_of(self, at: TopicPartition) -> Disk | None:
        """The disk of its replica of a partition."""
        return next((disk for disk in self._working if at in disk.replicas), None)

    @property
    def _working(self) -> list[Disk]:
        return [one for one in self.disks if one.meta is not None and one.meta.directory_id not in self.broken]

    # Its lifecycle

    def live(self, controller: BrokerController, *, reaches: bool, now_s: float) -> None:
        """One step: register, send a heartbeat, or go on with its shutdown."""
        if now_s < self.ready_s:
            return
        if self.stage is Stage.STOPPING:
            self._go_on_stopping(controller, reaches=reaches, now_s=now_s)
            return
        if not reaches:
            return
        try:
            if self.stage is Stage.STARTING:
                self.epoch = controller.register(self._joining(), self._registration(now_s))
                self.stage = Stage.REGISTERED
            row = controller.heartbeat(self.node_id, self.epoch, reached=self._read, online=self.online)
        except NotAcceptedError as refused:
            if refused.code == "STALE_BROKER_EPOCH" and self.stage is Stage.REGISTERED:
                self.stage = Stage.STARTING  # its registration was not committed
            return
        if self.stage is Stage.REGISTERED and row.epoch == self.epoch and self._read > self.epoch:
            self.stage = Stage.RUNNING

    def ask_to_stop(self, now_s: float) -> None:
        """SIGTERM."""
        if self.stage is not Stage.STOPPING:
            self.stage, self.asked_s = Stage.STOPPING, now_s

    def _go_on_stopping(self, controller: BrokerController, *, reaches: bool, now_s: float) -> None:
        if self.epoch < 0 or now_s - self.asked_s > PATIENCE_S:
            self._end()
        elif reaches:
            try:
                if controller.stop(self.node_id, self.epoch):
                    self._end()
            except NotAcceptedError:
                pass

    def _end(self) -> None:
        """It ends by itself, and leaves its files of a clean shutdown."""
        self.ended = True
        for disk in self._working:
            disk.clean_epoch = self.epoch

    @property
    def _read(self) -> int:
        return self.process.high_watermark

    def _joining(self) -> Joining:
        return Joining(
            node_id=self.node_id,
            incarnation=self.process.incarnation,
            host=self.process.host,
            port=self.process.port,
            rack=self.rack,
            directories=self.online,
            clean_epoch=self.clean_epoch,
        )

    def _registration(self, now_s: float) -> Registration:
        return Registration(
            node_id=self.node_id,
            broker=True,
            incarnation=self.process.incarnation,
            supported=supported(self.process.release),
            at_s=now_s,
        )

    # Its replicas

    def follow(self, controller: BrokerController, *, reaches: bool) -> list[tuple[TopicPartition, Disk, ReplicaLog]]:
        """Make its replicas and what it leads as its own image says; returns the replicas that it deleted."""
        mine = {row.at: row for row in self.image.of_node(self.node_id)}
        gone = [
            (at, disk, disk.replicas.pop(at))
            for disk in self._working
            for at in [one for one in disk.replicas if one not in mine]
        ]
        for row in mine.values():
            disk = self.disk_of(row.at) or self._make(row)
            if disk is not None and disk.meta is not None and reaches:
                self._report(controller, row, disk.meta.directory_id)
            self._lead(row)
        for at in [one for one in self.leads if one not in mine]:
            del self.leads[at]
        return gone

    def _make(self, row: PartitionRow) -> Disk | None:
        """An empty replica, in its assigned directory, else in the one with the fewest."""
        assigned = row.directory(self.node_id)
        if assigned in self.broken:
            return None
        working = self._working
        own = next((one for one in working if one.meta is not None and one.meta.directory_id == assigned), None)
        disk = own or min(working, key=lambda one: len(one.replicas), default=None)
        if disk is not None:
            disk.replicas[row.at] = ReplicaLog()
        return disk

    def _report(self, controller: BrokerController, row: PartitionRow, directory: DirectoryID) -> None:
        if row.directory(self.node_id) not in (directory, UNASSIGNED) or row.directory(self.node_id) == UNASSIGNED:
            try:
                controller.place(row.at, self.node_id, directory)
            except NotAcceptedError:
                return

    def _lead(self, row: PartitionRow) -> None:
        lead, log = self.leads.get(row.at), self.log_of(row.at)
        if row.leader != self.node_id or log is None:
            self.leads.pop(row.at, None)
        elif lead is None or lead.epoch != row.leader_epoch:
            self.leads[row.at] = Lead(epoch=row.leader_epoch, start=log.end, hw=0)
