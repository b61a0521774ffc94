"""The spec of a `KafkaQuorum`: what a person may request. The CRD and the reference page are made from it."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field
from pydantic.config import JsonDict

from kafka_quorum.api import properties, rules, template
from kafka_quorum.api.metrics import MetricsSpec
from kafka_quorum.api.recovery import RecoverySpec
from kafka_quorum.api.trust import QuorumSecuritySpec
from kit.crd.model import Model, schema, section

MAX_LEVELS = 20
ServerProperties: TypeAlias = dict[str, Annotated[str, Field(max_length=properties.MAX_VALUE_CHARACTERS)]]
LabelMap: TypeAlias = dict[str, Annotated[str, Field(max_length=63)]]
AnnotationMap: TypeAlias = dict[str, Annotated[str, Field(max_length=4096)]]
_SERVER_PROPERTIES = schema(
    rules.CONFIG_OWNED, rules.CONFIG_LINES, rules.CONFIG_KEYS, maxProperties=properties.MAX_PROPERTIES, default={}
)
_LABELS = schema(rules.TEMPLATE_LABELS, maxProperties=64, default={})
_OPEN: JsonDict = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


class FeatureLevelSpec(Model):
    """One feature level that is asked for."""

    name: str = Field(
        max_length=100,
        description="Kafka's name of the feature, such as metadata.version or transaction.version.",
        json_schema_extra=schema(rules.LEVEL_NAME),
    )
    level: int | str = Field(
        description='The level: its number, or for metadata.version also a name such as "4.4-IV2" or "4.4" (the newest '
        "level of that release).",
    )


class FeaturesSpec(Model):
    """The cluster's feature levels (KIP-584)."""

    policy: Literal["Hold", "Follow"] = Field(
        default="Hold",
        description="Hold keeps every level that is not named here, and announces what could be raised. Follow raises "
        "them to the defaults of the release, one level at a time; kraft.version it leaves alone.",
    )
    downgrade: Literal["Forbid", "Safe"] = Field(
        default="Forbid",
        description="What a level below the finalized one means. Forbid: a mistake, nothing is lowered. Safe: it is "
        "lowered step by step where Kafka says that nothing is lost. An unsafe downgrade is never asked for.",
    )
    soak_seconds: int = Field(
        default=60,
        description="How long every voter must have been caught up at the present levels before the next step is "
        "taken, in seconds.",
        json_schema_extra=schema(minimum=0, maximum=604800),
    )
    levels: list[FeatureLevelSpec] = Field(
        default_factory=list,
        description="Levels to format the quorum with and to step it to; empty for the release's own defaults. "
        "kraft.version 1 turns a static quorum dynamic, for good.",
        json_schema_extra=schema(list_type="map", list_map_keys=["name"], maxItems=MAX_LEVELS, default=[]),
    )


class KafkaSpec(Model):
    """Which Kafka runs, and how it is configured."""

    version: str = Field(
        max_length=20,
        description="The Kafka release, X.Y.Z, from 3.9.0.",
        json_schema_extra=schema(rules.VERSION_FORM, rules.VERSION_TOO_OLD),
    )
    image: str = Field(
        default="",
        max_length=512,
        description="The image of this release; empty for the operator's template, apache/kafka:{version} by default.",
        json_schema_extra=schema(rules.IMAGE_FORM),
    )
    config: ServerProperties = Field(
        default_factory=dict,
        description="Server properties for every node. Those that the operator owns are refused.",
        json_schema_extra=_SERVER_PROPERTIES,
    )
    features: FeaturesSpec = section(FeaturesSpec, "Feature levels (KIP-584).")


class BootstrapSpec(Model):
    """How the quorum comes to be, once."""

    mode: Literal["InitialControllers", "Standalone", "Static", "Adopt", "ZooKeeper"] = Field(
        default="InitialControllers",
        description="InitialControllers formats every first controller with one common voter set; Standalone starts "
        "with a single voter which the others join. Static makes a quorum of kraft.version 0 with "
        "controller.quorum.voters, to be turned dynamic by requesting kraft.version 1. Adopt uses the disks of a "
        "quorum that was made by other means. ZooKeeper makes a static quorum beside a running cluster of Kafka 3.9 "
        "that uses ZooKeeper, and migrates it (spec.zookeeper). It cannot be changed.",
        json_schema_extra=schema(rules.MODE_CHANGED),
    )


class ListenerSpec(Model):
    """A listener of the controllers."""

    name: str = Field(
        default="CONTROLLER",
        max_length=63,
        description="Kafka's name of the listener.",
        json_schema_extra=schema(rules.LISTENER_NAME),
    )
    port: int = Field(
        default=9093,
        description="The port that controllers listen on.",
        json_schema_extra=schema(rules.LISTENER_PORT, format="int32"),
    )
    protocol: Literal["PLAINTEXT", "SSL", "SASL_SSL"] | None = Field(
        default=None,
        description="The security protocol: SSL is mutual TLS, SASL_SSL has users with passwords in TLS (PLAIN). "
        "Unset, a quorum that exists keeps what it has, and a new one gets SSL.",
    )


class RetentionPolicySpec(Model):
    """What becomes of volumes that are no longer used."""

    when_deleted: Literal["Retain", "Delete"] = Field(
        default="Retain",
        description="When the KafkaQuorum is deleted: Retain keeps claims and identity, so that the same "
        "resource, created "
        "again, is the same cluster; Delete gives both to the garbage collector.",
    )
    when_scaled: Literal["Retain", "Delete"] = Field(
        default="Delete",
        description="What becomes of the claim of a controller that is removed, or given up with its node: Delete "
        "deletes it once its replica is no voter and its pod gone; Retain marks it as retired. No later "
        "controller uses it either way.",
    )


class StorageSpec(Model):
    """The volume of each controller."""

    size: str = Field(
        default="10Gi",
        max_length=40,
        description="The size of each controller's volume. It may grow, never shrink.",
        json_schema_extra=schema(rules.SIZE_FORM, rules.SIZE_WHOLE, rules.SIZE_SHRUNK),
    )
    storage_class_name: str = Field(
        default="",
        max_length=253,
        description="The storage class; empty for the cluster's default one. It cannot be changed once the quorum has "
        "started. Until then a change is for claims that are created later: delete those that wait for the old class.",
    )
    retention_policy: RetentionPolicySpec = section(
        RetentionPolicySpec, "What becomes of volumes that are no longer used."
    )


class JvmSpec(Model):
    """The Java process of each controller."""

    heap: str = Field(
        default="512Mi",
        max_length=40,
        description="The heap, as a quantity; it is passed as both -Xms and -Xmx.",
        json_schema_extra=schema(rules.HEAP_FORM),
    )
    options: list[Annotated[str, Field(max_length=1024)]] = Field(
        default_factory=list,
        description="Further options of the Java process, one each, such as -XX:+UseZGC.",
        json_schema_extra=schema(rules.OPTION_FORM, rules.OPTION_HEAP, maxItems=50, list_type="atomic", default=[]),
    )


class TemplateMetadataSpec(Model):
    """Labels and annotations of the pods."""

    labels: LabelMap = Field(
        default_factory=dict,
        description="Labels that the pods get besides the operator's own. Those of Kubernetes and its controllers are "
        "refused.",
        json_schema_extra=_LABELS,
    )
    annotations: AnnotationMap = Field(
        default_factory=dict,
        description="Annotations that the pods get besides the operator's own.",
        json_schema_extra=_LABELS,
    )


class TemplateSpec(Model):
    """What the pods of the controllers are given besides what the operator decides."""

    metadata: TemplateMetadataSpec = section(TemplateMetadataSpec, "Labels and annotations of the pods.")
    spec: dict[str, Any] = Field(
        default_factory=dict,
        description="Parts of a pod's spec: "
        + ", ".join(template.ALLOWED_POD_FIELDS)
        + ". Of containers only the one named kafka, with resources and env. Everything else belongs to "
        "the operator and is refused. The operator's policy for pods limits service accounts, sources of variables, "
        "users and profiles. Without affinity, the pods prefer different nodes and zones.",
        json_schema_extra={
            **schema(*(rules.owned_pod_field(name) for name in template.OWNED_POD_FIELDS), default={}).as_json(),
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {
                **{
                    name: {"type": kind, **({"items": _OPEN} if kind == "array" else {})}
                    for name, kind in template.OWNED_POD_FIELDS.items()
                },
                "containers": {
                    "type": "array",
                    "maxItems": 10,
                    "items": {**_OPEN, "required": ["name"], "properties": {"name": {"type": "string"}}},
                    **schema(rules.TEMPLATE_CONTAINERS).as_json(),
                },
            },
        },
    )


class ReplacementSpec(Model):
    """What is done unattended about lost disks and nodes."""

    lost_disk: Literal["Automatic", "Manual"] = Field(
        default="Automatic",
        description="Whether a controller whose volume is empty or gone gets a new disk unattended.",
    )
    lost_node: Literal["Automatic", "Manual"] = Field(
        default="Automatic",
        description="Whether a controller whose Kubernetes node is lost is recreated on another one unattended.",
    )
    lost_node_after_seconds: int = Field(
        default=600,
        description="For how long Kubernetes (not ready, or gone) and the quorum (does not fetch) must agree that a "
        "node is down before it counts as lost, in seconds.",
        json_schema_extra=schema(minimum=rules.SHORTEST_NODE_LOSS_S, maximum=604800),
    )


class ControllersSpec(Model):
    """The controllers of the quorum."""

    replicas: int = Field(
        default=3,
        description="How many controllers the quorum has. An odd number; 3 survive one failure, 5 survive two. More "
        "takes the lowest free ids, fewer the highest; one voter changes at a time.",
        json_schema_extra=schema(rules.REPLICAS_RANGE, format="int32"),
    )
    allow_interruption: bool | None = Field(
        default=None,
        description="Whether the operator may restart a controller of a quorum with one or two voters, "
        "which interrupts it. "
        "Unset means yes with one replica and no otherwise.",
    )
    node_ids: list[int] = Field(
        default_factory=list,
        alias="nodeIDs",
        description="The exact node ids, as many as replicas; empty for 3000 and up. Brokers share the id space. It "
        "may be changed: what is new joins first, then what is not named any more is removed.",
        json_schema_extra=schema(
            rules.NODE_IDS_RANGE,
            rules.NODE_IDS_UNIQUE,
            maxItems=rules.REPLICA_LIMIT,
            list_type="atomic",
            default=[],
        ),
    )
    config: ServerProperties = Field(
        default_factory=dict,
        description="Server properties for the controllers alone; they win over spec.kafka.config.",
        json_schema_extra=_SERVER_PROPERTIES,
    )
    listeners: list[ListenerSpec] = Field(
        default_factory=lambda: [ListenerSpec()],
        description="The controllers' listeners. Exactly one for now.",
        json_schema_extra=schema(
            rules.LISTENERS_ONE,
            maxItems=8,
            list_type="map",
            list_map_keys=["name"],
            default=[{"name": "CONTROLLER", "port": 9093}],
        ),
    )
    storage: StorageSpec = section(StorageSpec, "The volume of each controller.")
    jvm: JvmSpec = section(JvmSpec, "The Java process of each controller.")
    template: TemplateSpec = section(TemplateSpec, "Labels, annotations, resources and scheduling of the pods.")
    replacement: ReplacementSpec = section(ReplacementSpec, "What is done unattended about lost disks and nodes.")


class BrokerAccessSpec(Model):
    """How the operator asks brokers that others manage for their running settings."""

    bootstrap_servers: list[Annotated[str, Field(max_length=300)]] = Field(
        default_factory=list,
        description="Addresses (host:port) of some brokers. The operator reads the running settings of every "
        "registered broker there, before an act that depends on brokers.",
        json_schema_extra=schema(maxItems=32, list_type="atomic", default=[]),
    )
    secret_name: str = Field(
        default="",
        max_length=253,
        description="A Secret in this namespace with client properties of librdkafka as keys, such as "
        "security.protocol, ssl.ca.pem, sasl.mechanism, sasl.username and sasl.password. Empty for none.",
    )
    confirmed_revision: int = Field(
        default=0,
        description="The revision of the broker contract (status.brokerContract.revision) that every broker has which "
        "cannot be asked. It counts for exactly this revision.",
        json_schema_extra=schema(minimum=0, maximum=2147483646),
    )


class InterBrokerListenerSpec(Model):
    """The listener that brokers use among themselves."""

    name: str = Field(
        default="PLAINTEXT",
        max_length=63,
        description="Its name: inter.broker.listener.name of the brokers, or else security.inter.broker.protocol.",
        json_schema_extra=schema(rules.LISTENER_NAME),
    )
    protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        default="PLAINTEXT",
        description="Its security protocol. With another one than PLAINTEXT, spec.controllers.config needs the "
        "client's settings for it.",
    )


class ZooKeeperSpec(Model):
    """The migration from ZooKeeper (KIP-866)."""

    connect: str = Field(
        default="",
        max_length=1024,
        description="The ZooKeeper of the brokers, as their zookeeper.connect: host:port,host:port/chroot. It stays as "
        "it is once the controllers run.",
    )
    secret_name: str = Field(
        default="",
        max_length=253,
        description="A Secret in this namespace: username and password for SASL (DIGEST-MD5); ca.crt for TLS, with "
        "tls.crt and tls.key if ZooKeeper asks for a certificate. Empty for neither.",
    )
    inter_broker_listener: InterBrokerListenerSpec = section(
        InterBrokerListenerSpec, "The listener that brokers use among themselves; controllers speak to it, too."
    )
    dry_run: bool = Field(
        default=False,
        description="Only look whether anything is in the way (status.preflight): nothing is made, and nothing is "
        "changed. It counts until the controllers run.",
    )
    finalize: bool = Field(
        default=False,
        description="Give ZooKeeper up for good, when every broker is a KRaft broker. Until then the controllers keep "
        "ZooKeeper up to date, without a limit of time.",
    )
    roll_back: bool = Field(
        default=False,
        description="Go back to ZooKeeper, from any stage before the last. Set to false afterwards, the migration "
        "begins again on new volumes.",
    )


class KafkaQuorumSpec(Model):
    """What the quorum shall be."""

    paused: bool = Field(
        default=False,
        description="Stops every act of the operator on this quorum. Its pods run on, and the status is "
        "kept up to date.",
    )
    cluster_id: str = Field(
        default="",
        max_length=64,
        alias="clusterID",
        description="Kafka's cluster id. Leave it empty and the operator makes one. It cannot be changed.",
        json_schema_extra=schema(rules.CLUSTER_ID_FORM),
    )
    kafka: KafkaSpec = Field(description="Which Kafka runs, and how it is configured.")
    bootstrap: BootstrapSpec = section(BootstrapSpec, "How the quorum comes to be, once.")
    controllers: ControllersSpec = section(ControllersSpec, "The controllers of the quorum.", rules.NODE_IDS_COUNT)
    security: QuorumSecuritySpec = section(QuorumSecuritySpec, "Certificates, users and rights.")
    zookeeper: ZooKeeperSpec = section(ZooKeeperSpec, "The migration from ZooKeeper, for bootstrap mode ZooKeeper.")
    recovery: RecoverySpec = section(RecoverySpec, "The recovery of a quorum whose majority of disks is lost.")
    metrics: MetricsSpec = section(MetricsSpec, "What the controllers show of themselves.")
    broker_access: BrokerAccessSpec = section(
        BrokerAccessSpec, "How brokers that others manage are asked; pools of brokers need none of it."
    )
