"""What ZooKeeper and the controllers show of a migration (KIP-866), as values, and what a roll back writes.

`wire.zookeeper` reads ZooKeeper into `ZooKeeperSeen`, `wire.metrics` the controllers' metrics into `DriverSeen`; a
simulation produces the same ones. Every field is what one read showed: a read that fails in any part is no value.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from kafka_quorum.model.ids import NodeID


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperAccess:
    """Where ZooKeeper is, and how a connection is secured, as the spec requests it.

    `connect` is Kafka's `zookeeper.connect`: `host:port,host:port/chroot`. `secret_name` names a Secret with
    `username` and `password` (SASL DIGEST-MD5), and with `ca.crt`, `tls.crt` and `tls.key` (PEM); empty for none.
    """

    connect: str
    secret_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperSecret:
    """What a Secret gives a ZooKeeper client; empty texts for what it does not have. PEM, the key as PKCS#8.

    `tls` without a certificate of the client is possible: then only ZooKeeper shows one.
    """

    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    ca: str = ""
    certificate: str = ""
    key: str = field(default="", repr=False)

    @property
    def tls(self) -> bool:
        """Whether the connection is TLS: it is if there is an authority to trust."""
        return bool(self.ca)

    @property
    def sasl(self) -> bool:
        """Whether the client authenticates with a user and a password."""
        return bool(self.username)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerNode:
    """`/controller`: who leads. A KRaft controller writes its epoch, and the node is not ephemeral then.

    `version` is ZooKeeper's version of the data, for a compare-and-set.
    """

    node_id: NodeID
    kraft_epoch: int | None
    ephemeral: bool
    version: int
    raw: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochNode:
    """`/controller_epoch`: the epoch of ZooKeeper's controllers."""

    epoch: int
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationNode:
    """`/migration`: what the driver of the migration has copied, and who it was. `fault` says why it is malformed.

    Offsets and epochs are of the metadata log of the KRaft quorum; -1 before anything was copied.
    """

    version: int
    raw: str
    fault: str = ""
    kraft_controller_id: int = -1
    kraft_controller_epoch: int = -1
    kraft_metadata_offset: int = -1
    kraft_metadata_epoch: int = -1

    @property
    def copied(self) -> bool:
        """Whether the driver has copied anything, or claims to have."""
        return bool(self.fault) or self.kraft_metadata_offset >= 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperBroker:
    """A broker that is registered in `/brokers/ids`: it runs, and is connected.

    `listeners` are `PROTOCOL://host:port`.
    """

    node_id: NodeID
    listeners: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperSeen:
    """One read of everything that a migration depends on.

    `cluster_id` is empty if `/cluster/id` does not exist. `assigned` has every broker that has a replica, with one of
    its partitions for a message (`orders-3`). `state_epoch` is the highest controller epoch in any partition's state,
    0 if no partition has a state, and None if the read did not ask for them. `denied` are sentences, one for each
    right that the client lacks. `encoded` are the brokers' dynamic settings that are encrypted
    (`broker 1: listener.name.x.ssl.keystore.password`). `acls` and `users` are whether there is any ACL, and any
    SCRAM user.
    """

    cluster_id: str
    controller: ControllerNode | None
    controller_epoch: EpochNode | None
    migration: MigrationNode | None
    brokers: tuple[ZooKeeperBroker, ...]
    assigned: Mapping[NodeID, str]
    topics: int
    partitions: int
    state_epoch: int | None
    behind: Mapping[NodeID, int] | None = None
    """The brokers that are not in sync, with the number of their partitions; None as for `state_epoch`."""
    denied: tuple[str, ...] = ()
    encoded: tuple[str, ...] = ()
    acls: bool = False
    users: bool = False
    reassigning: tuple[str, ...] = ()
    """Partitions that are being moved: by the znodes of their topics (KIP-455), or by `/admin/reassign_partitions`."""
    deleting: tuple[str, ...] = ()
    """Topics that are being deleted (`/admin/delete_topics`)."""

    @property
    def registered(self) -> frozenset[NodeID]:
        """The ids in `/brokers/ids`."""
        return frozenset(broker.node_id for broker in self.brokers)

    @property
    def expected(self) -> frozenset[NodeID]:
        """Every broker that the driver waits for: those that run, and those that have a replica."""
        return self.registered | frozenset(self.assigned)


class DriverState(IntEnum):
    """`kafka.controller:type=KafkaController,name=ZkMigrationState`. 3.9.2's numbers differ from those of the KIP."""

    UNLOADED = -1
    NONE = 0
    MIGRATION = 1
    PRE_MIGRATION = 2
    POST_MIGRATION = 3
    ZK = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverSeen:
    """The metrics of one controller. Only the active controller's count; None for a metric that it does not have.

    `lag` is how many records ZooKeeper is behind the metadata log; `migrating` counts the registered brokers that are
    in migration mode and still use ZooKeeper.
    """

    node_id: NodeID
    active: bool
    state: DriverState
    migrating: int | None = None
    lag: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedNodes:
    """What `/controller`, `/controller_epoch` and `/migration` held before a roll back deleted them, for a person."""

    controller: str
    controller_epoch: str
    migration: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveBack:
    """The one write to ZooKeeper: both nodes are deleted, and the epoch is raised, all of it or nothing.

    Each with its version: what has changed since the look fails the whole transaction. None for a node that is not
    there; `controller` is None as well if a broker leads, which stays. `epoch` is the new controller epoch, None to
    leave it as it is: it never changes under a broker that stays the controller (`model.beside.to_give_back`).
    """

    controller: ControllerNode | None
    migration: MigrationNode | None
    controller_epoch: EpochNode | None
    epoch: int | None
