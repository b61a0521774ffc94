"""What a valid `KafkaBrokerPool` asks for. Only `api.validation` makes one, so its users need not check it again."""

from dataclasses import dataclass
from enum import Enum

from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.zookeeper import ZooKeeperAccess


class Fate(Enum):
    """What becomes of volumes when their pool is deleted, or their broker scaled away."""

    RETAIN = "Retain"
    DELETE = "Delete"


class Cure(Enum):
    """Whether a lost disk or node is replaced unattended, or waits for a person."""

    AUTOMATIC = "Automatic"
    MANUAL = "Manual"


class Drain(Enum):
    """What is done about the partitions of a broker that shall leave."""

    HOLD = "Hold"
    """They are named, and a person moves them."""
    AUTOMATIC = "Automatic"
    """They are moved by Kafka's reassignment."""


class Unavailable(Enum):
    """What a roll does about partitions that no order of restarts keeps available (RF 1, or RF ≤ min ISR)."""

    HOLD = "Hold"
    ALLOW = "Allow"
    """A person consents that they are unavailable while their broker restarts. No record is lost by that."""


class External(Enum):
    """How a listener is reached from outside the Kubernetes cluster."""

    NONE = "None"
    NODE_PORT = "NodePort"
    LOAD_BALANCER = "LoadBalancer"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerListener:
    """A listener of the brokers. `host` is a template of the advertised host name with `{id}`; empty: Kubernetes'.

    `node_port` is the first of the node ports, which broker `id` has at `node_port + id - lowest id`; 0: Kubernetes
    chooses. `client_auth`: clients must show a certificate.
    """

    name: str
    port: int
    protocol: str = "PLAINTEXT"
    external: External = External.NONE
    host: str = ""
    node_port: int = 0
    client_auth: bool = False

    @property
    def encrypted(self) -> bool:
        """Whether it has TLS."""
        return self.protocol in {"SSL", "SASL_SSL"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """One volume of each broker. `size` is a Kubernetes quantity, `size_bytes` the same as a number."""

    size: str
    size_bytes: int
    storage_class: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRuntime:
    """What a broker's pod is made from: the inputs whose change needs a restart, and nothing else.

    `release` and `image` are the contract's, `contract` its settings for the properties file except those that are a
    first contact only (`Match.SOME`). `config` holds the spec's properties that Kafka reads at its start, sorted by
    key; `volumes` counts the log directories. `template_metadata` and `template_spec` are canonical JSON. `heap` is a
    quantity; `rack_key` the label of a Kubernetes node that names its rack, empty for none.

    `zookeeper` is the contract's: the broker uses ZooKeeper. `directories` names the log directory within each volume,
    with `{id}` for the node id; empty if every volume has the usual one.

    `replication_tls`: the listener REPLICATION has mutual TLS. `certificates` is the generation of the brokers' own
    certificate, if no setting of the contract names its file; 0 otherwise.
    """

    release: str
    image: str
    contract: tuple[tuple[str, str], ...]
    config: tuple[tuple[str, str], ...]
    listeners: tuple[BrokerListener, ...]
    volumes: int
    heap: str
    jvm_options: tuple[str, ...]
    template_metadata: str
    template_spec: str
    rack_key: str = ""
    secrets: tuple[str, ...] = ()
    restarted_at: str = ""
    zookeeper: ZooKeeperAccess | None = None
    directories: tuple[str, ...] = ()
    replication_tls: bool = False
    certificates: int = 0

    @property
    def encrypted(self) -> bool:
        """Whether a listener of the brokers has TLS: then they have a certificate for their own names."""
        return self.replication_tls or any(each.encrypted for each in self.listeners)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolDesired:
    """One pool as its resource requests it. `runtime` has the release and settings of the contract of this look.

    `dynamic` holds the spec's properties that Kafka changes without a restart, sorted by key. `node_ids` is empty if
    `first_node_id` and `replicas` decide. `throttle_bytes_per_s` limits what a drain copies, for each broker.
    `adopt`: the claims exist, with the volumes of earlier brokers; none is created or formatted. `certificate_secret`
    is the Secret with the certificate of the brokers, if a person gives it.
    """

    namespace: str
    name: str
    uid: str
    generation: int
    paused: bool
    quorum: str
    replicas: int
    first_node_id: NodeID
    node_ids: tuple[NodeID, ...]
    volumes: tuple[Volume, ...]
    when_deleted: Fate
    when_scaled: Fate
    lost_disk: Cure
    lost_node: Cure
    lost_node_after_s: int
    max_unavailable: int
    unavailable: Unavailable
    drain: Drain
    throttle_bytes_per_s: int
    dynamic: tuple[tuple[str, str], ...]
    runtime: BrokerRuntime
    adopt: bool = False
    certificate_secret: str = ""
