"""The spec of a `KafkaBrokerPool`: what a person may request. The CRD and the reference page are made from it."""

from typing import Literal

from pydantic import Field

from kafka_brokers.api import rules
from kafka_brokers.model.names import DIRECTORY
from kafka_quorum.api import properties
from kafka_quorum.api.security import SECRET_NAME
from kafka_quorum.api.spec import JvmSpec, ServerProperties, TemplateSpec
from kit.crd.model import Model, schema, section

_DEFAULT_LISTENER = {"name": "PLAINTEXT", "port": 9092, "protocol": "PLAINTEXT"}
_NO_EXTERNAL = {"clientAuth": "None", "external": "None", "host": "", "nodePort": 0}


class VolumeSpec(Model):
    """One volume of each broker."""

    size: str = Field(
        default="10Gi",
        max_length=40,
        description="The size of the volume. It may grow, never shrink.",
        json_schema_extra=schema(rules.SIZE_FORM, rules.SIZE_WHOLE),
    )
    storage_class: str = Field(
        default="",
        max_length=253,
        alias="class",
        description="The storage class; empty for the cluster's default one. It cannot be changed.",
        json_schema_extra=schema(rules.CLASS_NAME),
    )
    directory: str = Field(
        default=DIRECTORY,
        max_length=100,
        description="The directory within the volume that is the log directory, in which {id} stands for the node id. "
        "Set it for adopted volumes, whose directory has another name. It cannot be changed.",
        json_schema_extra=schema(rules.DIRECTORY_NAME),
    )


class BrokerListenerSpec(Model):
    """A listener of the brokers."""

    name: str = Field(
        max_length=15,
        description="Kafka's name of the listener.",
        json_schema_extra=schema(rules.LISTENER_NAME, rules.LISTENER_RESERVED),
    )
    port: int = Field(
        description="The port that brokers listen on.",
        json_schema_extra=schema(rules.LISTENER_PORT, rules.PORT_RESERVED, format="int32"),
    )
    protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        default="PLAINTEXT",
        description="The security protocol. SSL: TLS, with the pool's own certificate of the quorum's issuer. "
        "SASL_SSL: the same, and clients show a user name and a password (SCRAM-SHA-512). Both need controllers with "
        "TLS.",
        json_schema_extra=schema(rules.PROTOCOL_OPEN),
    )
    client_auth: Literal["None", "Required"] = Field(
        default="None",
        description="For SSL: whether clients must show a certificate of the quorum's authority.",
    )
    external: Literal["None", "NodePort", "LoadBalancer"] = Field(
        default="None",
        description="How clients outside the Kubernetes cluster reach the listener. None: they do not. NodePort: each "
        "broker has a port of every Kubernetes node. LoadBalancer: each broker has a load balancer.",
    )
    host: str = Field(
        default="",
        max_length=253,
        description="For an external listener: the host name that brokers advertise, in which {id} stands for the node "
        "id. Empty for the address that Kubernetes reports: of the broker's Kubernetes node, or of its load balancer.",
        json_schema_extra=schema(rules.HOST_SHAPE),
    )
    node_port: int = Field(
        default=0,
        description="For external NodePort: the node port of the broker with the lowest id. Another broker has the "
        "port that is higher by the difference of the ids. 0 lets Kubernetes choose.",
        json_schema_extra=schema(rules.NODE_PORT_RANGE, format="int32"),
    )


class PoolRetentionSpec(Model):
    """What becomes of volumes that are no longer used."""

    when_deleted: Literal["Retain", "Delete"] = Field(
        default="Retain",
        description="When the KafkaBrokerPool is deleted: Retain keeps the claims and their record, so that the same "
        "resource, created again, has the same brokers; Delete gives both to the garbage collector.",
    )
    when_scaled: Literal["Retain", "Delete"] = Field(
        default="Delete",
        description="What becomes of the claims of a broker that left the pool empty, and of a lost disk that was "
        "replaced: Delete deletes them, Retain marks them as retired. No later broker uses them either way.",
    )


class BrokerReplacementSpec(Model):
    """What is done unattended about lost disks and nodes."""

    lost_disk: Literal["Automatic", "Manual"] = Field(
        default="Automatic",
        description="Whether a broker whose volume is empty or gone gets a new disk unattended. It never does while a "
        "partition has its only complete replica on that broker.",
    )
    lost_node: Literal["Automatic", "Manual"] = Field(
        default="Automatic",
        description="Whether a broker whose Kubernetes node is lost is recreated on another one unattended.",
    )
    lost_node_after_seconds: int = Field(
        default=600,
        description="For how long Kubernetes (not ready, or gone) and the quorum (fenced) must agree that a node is "
        "down before it counts as lost, in seconds.",
        json_schema_extra=schema(minimum=rules.SHORTEST_NODE_LOSS_S, maximum=604800),
    )


class RollSpec(Model):
    """How brokers are restarted."""

    max_unavailable: int = Field(
        default=1,
        description="How many brokers may be stopped together. Only brokers of one rack that share no partition are.",
        json_schema_extra=schema(minimum=1, maximum=rules.REPLICA_LIMIT, format="int32"),
    )
    unavailable_partitions: Literal["Hold", "Allow"] = Field(
        default="Hold",
        description="What a restart does about partitions that cannot stay available without the broker (replication "
        "factor 1, or not above min.insync.replicas). Hold: it waits, and names them. Allow: they are unavailable for "
        "the time of the restart. No record is lost by that.",
    )


class RackSpec(Model):
    """Racks of brokers."""

    topology_key: str = Field(
        default="",
        max_length=317,
        description="The label of Kubernetes nodes whose value becomes broker.rack, such as "
        "topology.kubernetes.io/zone; empty for no racks.",
        json_schema_extra=schema(rules.TOPOLOGY_KEY),
    )


class KafkaBrokerPoolSpec(Model):
    """What the pool shall be."""

    paused: bool = Field(
        default=False,
        description="Stops every act of the operator on this pool. Its pods run on, and the status is kept up to date.",
    )
    quorum: str = Field(
        max_length=63,
        description="The KafkaQuorum in the same namespace that these brokers belong to. It decides the release. It "
        "cannot be changed.",
        json_schema_extra=schema(rules.QUORUM_FORM, rules.QUORUM_CHANGED),
    )
    replicas: int = Field(
        default=3,
        description="How many brokers the pool has. More takes the lowest free ids, fewer removes the highest: each "
        "of those is drained before it stops.",
        json_schema_extra=schema(rules.REPLICAS_RANGE, format="int32"),
    )
    first_node_id: int = Field(
        default=0,
        description="The lowest node id, if nodeIDs is empty. Brokers of other pools and controllers share the id "
        "space: give each pool a range of its own.",
        json_schema_extra=schema(rules.FIRST_NODE_ID_RANGE, format="int32"),
    )
    node_ids: list[int] = Field(
        default_factory=list,
        alias="nodeIDs",
        description="The exact node ids, as many as replicas; empty for firstNodeID and up.",
        json_schema_extra=schema(
            rules.NODE_IDS_RANGE, rules.NODE_IDS_UNIQUE, maxItems=rules.REPLICA_LIMIT, list_type="atomic", default=[]
        ),
    )
    storage: list[VolumeSpec] = Field(
        default_factory=lambda: [VolumeSpec()],
        description="The volumes of each broker, with a log directory on each (JBOD). A volume may grow, and volumes "
        "may be appended. None can be removed, because partitions are on it.",
        json_schema_extra=schema(
            rules.STORAGE_COUNT,
            rules.STORAGE_REMOVED,
            rules.STORAGE_SHRUNK,
            rules.STORAGE_CLASS_CHANGED,
            rules.STORAGE_DIRECTORY_CHANGED,
            maxItems=rules.VOLUME_LIMIT,
            list_type="atomic",
            default=[{"size": "10Gi", "class": "", "directory": DIRECTORY}],
        ),
    )
    adopt: bool = Field(
        default=False,
        description="Takes brokers over that exist already: their volumes are bound to claims with the names of this "
        "pool's. Until it is false again, the pool creates no claim for a broker's first volumes, and formats none. "
        "It reads whose they are, and refuses those of another cluster or node id.",
    )
    retention_policy: PoolRetentionSpec = section(PoolRetentionSpec, "What becomes of volumes that are no longer used.")
    listeners: list[BrokerListenerSpec] = Field(
        default_factory=lambda: [BrokerListenerSpec(name="PLAINTEXT", port=9092)],
        description="The listeners for clients. Brokers have another one, REPLICATION on port 9091, for each other "
        "and for the operator.",
        json_schema_extra=schema(
            rules.LISTENERS_SOME,
            rules.LISTENER_NAMES_UNIQUE,
            rules.LISTENER_PORTS_UNIQUE,
            rules.HOST_EXTERNAL,
            rules.HOST_DISTINCT,
            rules.NODE_PORT_EXTERNAL,
            rules.CLIENT_AUTH_SSL,
            maxItems=rules.LISTENER_LIMIT,
            list_type="map",
            list_map_keys=["name"],
            default=[_DEFAULT_LISTENER | _NO_EXTERNAL],
        ),
    )
    certificate_secret_name: str = Field(
        default="",
        max_length=253,
        description="If the quorum's issuer.type is Secret: the Secret with the certificate and key of these brokers "
        "(tls.crt and tls.key, PEM, not encrypted), for servers and clients, with the names "
        "*.POOL-brokers.NAMESPACE.svc and POOL-bootstrap.NAMESPACE.svc and the hosts of external listeners with TLS. "
        "Its subject is that of the quorum's Secret for brokers. It lists this pool in its annotation "
        "kafkaquorum.io/used-by. Empty otherwise.",
        json_schema_extra=schema(SECRET_NAME),
    )
    config: ServerProperties = Field(
        default_factory=dict,
        description="Server properties of the brokers. What Kafka can change without a restart is changed without one. "
        "Those that the operator or the quorum owns are refused.",
        json_schema_extra=schema(
            rules.CONFIG_OWNED,
            rules.CONFIG_LINES,
            rules.CONFIG_KEYS,
            maxProperties=properties.MAX_PROPERTIES,
            default={},
        ),
    )
    jvm: JvmSpec = section(JvmSpec, "The Java process of each broker.")
    template: TemplateSpec = section(TemplateSpec, "Labels, annotations, resources and scheduling of the pods.")
    rack: RackSpec = section(RackSpec, "Racks of brokers.")
    drain: Literal["Hold", "Automatic"] = Field(
        default="Hold",
        description="What is done about the partitions of a broker that leaves. Hold: they are named, and a person "
        "moves them. Automatic: they are moved to the other brokers by Kafka's reassignment.",
    )
    throttle_bytes_per_second: int = Field(
        default=52_428_800,
        description="The limit of what a drain copies, for each broker, in bytes per second.",
        json_schema_extra=schema(minimum=1024, maximum=2**53),
    )
    replacement: BrokerReplacementSpec = section(
        BrokerReplacementSpec, "What is done unattended about lost disks and nodes."
    )
    roll: RollSpec = section(RollSpec, "How brokers are restarted.")
