"""What a valid `KafkaQuorum` asks for. Only `api.validation` makes one, so its users need not check it again."""

from dataclasses import dataclass, field
from enum import Enum

from kafka_quorum.model.ids import ClusterID, Member, NodeID, ReplicaKey
from kafka_quorum.model.known import Knowable, Known
from kafka_quorum.model.recovery_request import RecoveryRequest
from kafka_quorum.model.registered import BrokerAccess
from kafka_quorum.model.trust import TrustPolicy
from kafka_quorum.model.zookeeper import ZooKeeperAccess


class BootstrapMode(Enum):
    """How the first voters come to be (KIP-853)."""

    INITIAL_CONTROLLERS = "InitialControllers"
    STANDALONE = "Standalone"
    STATIC = "Static"
    """With `controller.quorum.voters`, at kraft.version 0, as all quorums were before KIP-853."""
    ADOPT = "Adopt"
    """Not formatted here: the disks of an existing quorum, static or dynamic, are adopted."""
    ZOOKEEPER = "ZooKeeper"
    """Static, beside a running cluster of ZooKeeper, whose cluster id it takes (KIP-866)."""


class FeaturePolicy(Enum):
    """Whether features are raised when a release allows it, or held until a person asks."""

    HOLD = "Hold"
    FOLLOW = "Follow"


class Downgrade(Enum):
    """Whether a level below the finalized one, if the spec names it, is a request or a mistake."""

    FORBID = "Forbid"
    SAFE = "Safe"
    """Step by step, if Kafka reports that nothing is lost."""


class VolumeFate(Enum):
    """What becomes of a volume when its quorum is deleted, or its controller scaled away."""

    RETAIN = "Retain"
    DELETE = "Delete"


class Cure(Enum):
    """Whether a lost disk or node is replaced unattended, or waits for a person."""

    AUTOMATIC = "Automatic"
    MANUAL = "Manual"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureLevel:
    """A feature level that was asked for, as a number (`4.4-IV2` is resolved by validation)."""

    name: str
    level: int


class Protocol(Enum):
    """How a listener of the controllers is secured, by Kafka's names."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    """Mutual TLS: both sides show a certificate."""
    SASL_SSL = "SASL_SSL"
    """TLS, in which the client shows a user name and a password (PLAIN)."""

    @property
    def encrypted(self) -> bool:
        """Whether servers of it need a certificate."""
        return self is not Protocol.PLAINTEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerListener:
    """The controllers' listener: Kafka's listener name, the port, and how it is secured."""

    name: str
    port: int
    protocol: Protocol = Protocol.PLAINTEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherListener:
    """A second listener, while the listeners of the controllers are changed.

    `preferred`: controllers reach each other by it. Otherwise they use the main one.
    """

    listener: ControllerListener
    preferred: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """What each controller's claim asks for. `size` is a Kubernetes quantity, `size_bytes` the same as a number.

    `storage_class` is empty for the cluster's default class.
    """

    size: str
    size_bytes: int
    storage_class: str
    when_deleted: VolumeFate
    when_scaled: VolumeFate


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """The policy for lost disks and lost nodes."""

    lost_disk: Cure
    lost_node: Cure
    lost_node_after_s: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideZooKeeper:
    """What a controller needs to write to ZooKeeper, and to speak to brokers that use it (KIP-866).

    `listener` and `protocol` are those that the brokers use among themselves.
    """

    access: ZooKeeperAccess
    listener: str
    protocol: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Migrate:
    """What the spec says of the migration from ZooKeeper. `dry_run`: only the preflight is done."""

    beside: BesideZooKeeper
    dry_run: bool = False
    finalize: bool = False
    roll_back: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """What a Kafka pod is made from: the inputs whose change needs a restart, and nothing else.

    `image` is empty if the operator's template decides. `config` holds the server properties of `spec.kafka.config`
    overlaid with `spec.controllers.config`, sorted by key. `template_metadata` and `template_spec` are canonical JSON.
    `heap` is a quantity (`512Mi`); `jvm_options` are passed as they are.
    """

    release: str
    image: str
    config: tuple[tuple[str, str], ...]
    listener: ControllerListener
    heap: str
    jvm_options: tuple[str, ...]
    template_metadata: str
    template_spec: str
    static_voters: tuple[NodeID, ...] = ()
    """The node ids in `controller.quorum.voters`; empty for a dynamic quorum. Set by the planner, never by the spec."""
    restarted_at: str = ""
    """The value of the annotation that requests a restart of every controller; empty if there never was one."""
    zookeeper: BesideZooKeeper | None = None
    """The ZooKeeper that the controllers write to as well. Set by the planner, never by the spec alone."""
    other: OtherListener | None = None
    """The listener beside the main one, while the listeners are changed. Set by the planner, never by the spec."""
    trust: str = ""
    """The authorities that are trusted, in PEM: certificates only. Set by the planner, never by the spec."""
    certificates: int = 0
    """The generation of certificates that a controller shows, as a client, at least. Set by the planner."""
    users: int = 0
    """The generation of the users of SASL. Set by the planner."""
    super_users: tuple[str, ...] = ()
    """Principals with all rights (`User:...`), with Kafka's StandardAuthorizer; empty without an authorizer."""
    measured: bool = False
    """Whether the controllers report the state of a migration from ZooKeeper as metrics. Set by the planner.

    It is no input of the hash, so that its end restarts nothing.
    """
    jmx: bool = False
    """Whether the controllers report Kafka's own metrics. Unlike `measured` it is an input of the hash."""

    @property
    def listeners(self) -> tuple[ControllerListener, ...]:
        """Every listener of the controllers: two while they are changed."""
        return (self.listener,) if self.other is None else (self.listener, self.other.listener)

    @property
    def preferred(self) -> ControllerListener:
        """The listener by which a controller reaches the others."""
        return self.other.listener if self.other is not None and self.other.preferred else self.listener

    @property
    def has_agent(self) -> bool:
        """Whether the controllers have an agent that reports metrics."""
        return self.measured or self.jmx

    @property
    def encrypted(self) -> bool:
        """Whether a listener of the controllers needs certificates."""
        return any(each.protocol.encrypted for each in self.listeners)

    @property
    def needs_users(self) -> bool:
        """Whether a listener of the controllers needs users with passwords."""
        return any(each.protocol is Protocol.SASL_SSL for each in self.listeners)


@dataclass(frozen=True, slots=True, kw_only=True)
class Desired:
    """One quorum as its resource requests it.

    `cluster_id` is None if the operator makes one. `node_ids` is empty if `replicas` alone decides. `features` holds
    the levels to format with and to keep; empty for the release's own defaults.
    """

    namespace: str
    name: str
    uid: str
    generation: int
    paused: bool
    cluster_id: ClusterID | None
    bootstrap: BootstrapMode
    replicas: int
    node_ids: tuple[NodeID, ...]
    allow_interruption: bool
    storage: Storage
    replacement: Replacement
    feature_policy: FeaturePolicy
    features: tuple[FeatureLevel, ...]
    downgrade: Downgrade
    soak_s: int
    runtime: Runtime
    broker_access: BrokerAccess = field(default_factory=BrokerAccess)
    says_protocol: bool = True
    """Whether the spec says how the listener is secured. If not, a quorum that exists keeps what it has."""
    trust: TrustPolicy = field(default_factory=TrustPolicy)
    migrate: Migrate | None = None
    """The migration from ZooKeeper; None for a quorum that does not begin beside one."""
    hold: Knowable[frozenset[NodeID]] = field(default_factory=lambda: Known(value=frozenset()))
    """The controllers that a person holds. If the annotation cannot be read, each of them may be one."""
    give_up: ReplicaKey | None = None
    """The replica whose disk a person gives up. Without a directory id it names no disk, and nothing is given up."""
    recovery: RecoveryRequest = field(default_factory=RecoveryRequest)
    """What is requested of the recovery of a lost majority."""

    def member(self, node_id: NodeID) -> Member:
        """The controller of this node id, in the pool of this resource."""
        return Member(self.name, node_id)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class FieldFault:
    """One thing wrong with a spec: the field (`spec.kafka.version`) and a sentence that says what to do about it."""

    field: str
    message: str
