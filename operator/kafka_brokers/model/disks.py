"""The record of a pool: which disks belong to which broker, and which brokers a roll has stopped.

It is kept in the ConfigMap `NAME-broker-disks` and written by compare-and-swap, before an act that depends on it. The
claims carry copies in their annotations. This module holds the value and its only transitions, as pure functions.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.ids import ClusterID, DirectoryID, NodeID


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskIdentity:
    """One volume of a broker. `generation` counts its claims. `directory_id` is None until a formatter reports it.

    `retired` lists the directory ids that this volume had before: none of them may ever run again. `unproven`: the
    record was rebuilt from claims, and nothing shows that this volume never had data. Rule 10 decides its format.
    """

    index: int
    generation: int = 1
    claim_uid: str | None = None
    directory_id: DirectoryID | None = None
    retired: tuple[DirectoryID, ...] = ()
    unproven: bool = False

    @property
    def formatted(self) -> bool:
        """Whether a formatter has reported it."""
        return self.directory_id is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerIdentity:
    """One broker and its disks. `ran`: its Kafka may have run, so that a replica may be on its disks.

    `revision` names the ControllerRevision that its pod is made from. `leaving`: it shall leave the pool, and is
    drained. `stopped`: a pod of it that had run was stopped by us on purpose, and it is not back yet. `outside` are
    the partitions in whose ISR it was not at that moment, although it is a replica: they are not waited for.
    `outside_unknown`: they were not known at that moment, so no partition without a leader is waited for. `empty`: it
    leaves, was proved to have no replica, and is stopped for good. `kept`: it was to leave, and stays after all; the
    moves that its drain began are being cancelled.
    """

    node_id: NodeID
    disks: tuple[DiskIdentity, ...]
    ran: bool = False
    revision: str | None = None
    leaving: bool = False
    stopped: bool = False
    outside: tuple[TopicPartition, ...] = ()
    outside_unknown: bool = False
    empty: bool = False
    kept: bool = False

    def disk(self, index: int) -> DiskIdentity | None:
        """The volume of this index, if it has one."""
        return next((disk for disk in self.disks if disk.index == index), None)

    @property
    def formatted(self) -> bool:
        """Whether every volume is formatted."""
        return bool(self.disks) and all(disk.formatted for disk in self.disks)


@dataclass(frozen=True, slots=True, kw_only=True)
class FormerBroker:
    """A node id that was removed, and for each volume the generation of its last claim."""

    node_id: NodeID
    generations: tuple[int, ...]
    retired: tuple[DirectoryID, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Throttle:
    """What a drain has limited: the rate of these brokers, in bytes per second, for replicas of these topics.

    It is noted before it is set, and forgotten after it is removed. So it is removed by whichever operator runs then.
    """

    bytes_per_s: int
    brokers: tuple[NodeID, ...]
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRecord:
    """The record as the ConfigMap holds it. `resource_version` guards the next write; empty if it is not stored yet.

    `replication_tls`: the listener REPLICATION has mutual TLS. That is decided at the birth of the pool, for good.
    """

    cluster_id: ClusterID
    brokers: tuple[BrokerIdentity, ...] = ()
    former: tuple[FormerBroker, ...] = ()
    throttle: Throttle | None = None
    resource_version: str = ""
    replication_tls: bool = False

    def broker(self, node_id: NodeID) -> BrokerIdentity | None:
        """The broker of this id, if the pool has it."""
        return next((broker for broker in self.brokers if broker.node_id == node_id), None)

    def with_throttle(self, throttle: Throttle | None) -> "PoolRecord":
        """The record with these limits of a drain, or without any."""
        return replace(self, throttle=throttle)

    def gave_up(self, node_id: NodeID, index: int, generation: int) -> bool:
        """Whether this generation of a volume was given up, or its broker has left. What is not recorded was not."""
        broker = self.broker(node_id)
        if broker is not None:
            disk = broker.disk(index)
            return disk is not None and generation < disk.generation
        former = next((each for each in self.former if each.node_id == node_id), None)
        return former is not None and index < len(former.generations) and generation <= former.generations[index]

    @property
    def node_ids(self) -> tuple[NodeID, ...]:
        """Every node id that has disks, in order."""
        return tuple(broker.node_id for broker in self.brokers)


def adopts(broker: BrokerIdentity, *, wanted: bool) -> bool:
    """Whether volumes of a broker are to be adopted: the spec wants it, and one was never formatted here."""
    return wanted and any(is_first(disk) for disk in broker.disks)


def is_first(disk: DiskIdentity) -> bool:
    """Whether this is the first claim of a volume, and nothing was formatted on it or adopted."""
    return disk.generation == 1 and not disk.formatted and not disk.retired


def with_brokers(record: PoolRecord, added: Iterable[NodeID], volumes: int, *, adopt: bool = False) -> PoolRecord:
    """Add brokers with this many volumes; a node id that was here before gets other claims.

    `adopt`: their claims are a person's, who makes the first ones. A node id of which nothing was ever adopted or
    formatted here has none to avoid.
    """
    former = {each.node_id: each for each in record.former if each.retired or not adopt}
    new = tuple(_newcomer(node_id, volumes, former.get(node_id)) for node_id in added)
    kept = tuple(each for each in record.former if each.node_id not in {broker.node_id for broker in new})
    brokers = tuple(sorted((*record.brokers, *new), key=lambda broker: broker.node_id))
    return replace(record, brokers=brokers, former=kept)


def _newcomer(node_id: NodeID, volumes: int, before: FormerBroker | None) -> BrokerIdentity:
    last = () if before is None else before.generations
    retired = () if before is None else before.retired
    disks = tuple(
        DiskIdentity(
            index=index,
            generation=(last[index] if index < len(last) else 0) + 1,
            retired=retired if index == 0 else (),
        )
        for index in range(volumes)
    )
    return BrokerIdentity(node_id=node_id, disks=disks)


def without_broker(record: PoolRecord, node_id: NodeID) -> PoolRecord:
    """Remove a broker that was proved empty and is unregistered: its directory ids are retired for ever."""
    broker = _require(record, node_id)
    present = tuple(disk.directory_id for disk in broker.disks if disk.directory_id is not None)
    earlier = tuple(directory for disk in broker.disks for directory in disk.retired)
    gone = FormerBroker(
        node_id=node_id,
        generations=tuple(disk.generation for disk in broker.disks),
        retired=(*earlier, *present),
    )
    former = tuple(sorted((*record.former, gone), key=lambda each: each.node_id))
    brokers = tuple(each for each in record.brokers if each.node_id != node_id)
    return replace(record, brokers=brokers, former=former)


def changed(record: PoolRecord, broker: BrokerIdentity) -> PoolRecord:
    """The record with this broker in place of the one with its id (ValueError if there is none)."""
    _require(record, broker.node_id)
    brokers = tuple(broker if each.node_id == broker.node_id else each for each in record.brokers)
    return replace(record, brokers=brokers)


def with_disk(broker: BrokerIdentity, disk: DiskIdentity) -> BrokerIdentity:
    """The broker with this volume in place of the one of its index, or in addition."""
    others = tuple(each for each in broker.disks if each.index != disk.index)
    return replace(broker, disks=tuple(sorted((*others, disk), key=lambda each: each.index)))


def without_data(disk: DiskIdentity, *, new_claim: bool) -> DiskIdentity:
    """A volume whose data is lost: its directory id is retired for ever, and it is formatted again.

    `new_claim` says that the claim is gone too; else the emptied volume is used again.
    """
    retired = disk.retired if disk.directory_id is None else (*disk.retired, disk.directory_id)
    if not new_claim:
        return replace(disk, directory_id=None, retired=retired, unproven=False)
    return DiskIdentity(index=disk.index, generation=disk.generation + 1, retired=retired)


def _require(record: PoolRecord, node_id: NodeID) -> BrokerIdentity:
    broker = record.broker(node_id)
    if broker is None:
        raise ValueError(f"broker {node_id} is not in the record")
    return broker
