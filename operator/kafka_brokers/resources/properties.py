"""`server.properties` of a broker, without the properties that are known only after its pod was scheduled.

The operator and the quorum's contract own what is set here, and the spec may not set it. Dynamic properties are never
here: they are set on running brokers.
"""

from collections.abc import Iterator
from typing import Final

from kafka_brokers.model.contracted import keystore, truststore
from kafka_brokers.model.names import DIRECTORY, REPLICATION, REPLICATION_PORT, host_name
from kafka_brokers.model.pool import BrokerRuntime, External
from kafka_quorum.model.ids import NodeID
from kafka_quorum.resources import zookeeper
from kafka_quorum.resources.properties import lines

DATA_PATH: Final = "/var/lib/kafka/data"
"""The mount path of volume N is this, a hyphen and N."""
MOST_GENERATED: Final = 1000
"""Kafka's default for `reserved.broker.max.id`: ZooKeeper would generate ids above it."""
LATE_PATH: Final = "/etc/kafka-late"
LATE_FILE: Final = "late.properties"
_SCRAM: Final = "SCRAM-SHA-512"
_SCRAM_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
_PROTOCOLS: Final = "listener.security.protocol.map"


def volume_path(index: int) -> str:
    """Where a volume is mounted."""
    return f"{DATA_PATH}-{index}"


def directory_name(runtime: BrokerRuntime, node_id: NodeID, index: int) -> str:
    """The name of the log directory within a volume."""
    named = runtime.directories[index] if index < len(runtime.directories) else DIRECTORY
    return named.replace("{id}", str(node_id))


def log_dir(runtime: BrokerRuntime, node_id: NodeID, index: int) -> str:
    """The log directory on a volume."""
    return f"{volume_path(index)}/{directory_name(runtime, node_id, index)}"


def server_properties(
    namespace: str, pool: str, node_id: NodeID, runtime: BrokerRuntime, first_contact: tuple[tuple[str, str], ...]
) -> str:
    """The whole file: our properties first, then the contract's, then the spec's own.

    `first_contact` are the contract's settings that a broker needs at its first start only. They are as they were when
    the file was made.
    """
    contract = dict(runtime.contract)
    directories = [log_dir(runtime, node_id, index) for index in range(runtime.volumes)]
    between = "SSL" if runtime.replication_tls else "PLAINTEXT"
    own = [f"{REPLICATION}:{between}", *(f"{each.name}:{each.protocol}" for each in runtime.listeners)]
    theirs = [entry for entry in contract.pop(_PROTOCOLS, "").split(",") if entry]
    listeners = [(REPLICATION, REPLICATION_PORT), *((each.name, each.port) for each in runtime.listeners)]
    owned = (
        *_identity(node_id, runtime),
        ("listeners", ",".join(f"{name}://:{port}" for name, port in listeners)),
        ("advertised.listeners", _advertised(namespace, pool, node_id, runtime)),
        ("inter.broker.listener.name", REPLICATION),
        (_PROTOCOLS, ",".join([*theirs, *own])),
        ("log.dirs", ",".join(directories)),
        ("metadata.log.dir", directories[0]),
    )
    return lines((*owned, *_secured(runtime), *first_contact, *contract.items(), *runtime.config))


def _secured(runtime: BrokerRuntime) -> Iterator[tuple[str, str]]:
    """TLS of the brokers' own listeners, by the files that they show to the controllers, and users of SASL_SSL.

    Users are in the metadata of the cluster, so nothing here is secret.
    """
    if runtime.replication_tls:
        yield from _tls(runtime, REPLICATION, client_auth="required")
    for each in runtime.listeners:
        if each.encrypted:
            yield from _tls(runtime, each.name, client_auth="required" if each.client_auth else "none")
        if each.protocol == "SASL_SSL":
            prefix = f"listener.name.{each.name.lower()}"
            yield f"{prefix}.sasl.enabled.mechanisms", _SCRAM
            yield f"{prefix}.{_SCRAM.lower()}.sasl.jaas.config", _SCRAM_MODULE


def _tls(runtime: BrokerRuntime, listener: str, *, client_auth: str) -> Iterator[tuple[str, str]]:
    prefix = f"listener.name.{listener.lower()}.ssl"
    yield f"{prefix}.keystore.type", "PEM"
    yield f"{prefix}.keystore.location", keystore(runtime)
    yield f"{prefix}.truststore.type", "PEM"
    yield f"{prefix}.truststore.location", truststore(runtime)
    yield f"{prefix}.client.auth", client_auth


def _identity(node_id: NodeID, runtime: BrokerRuntime) -> tuple[tuple[str, str], ...]:
    """Who the broker is, and where the cluster's metadata is: in KRaft, or in ZooKeeper."""
    if runtime.zookeeper is None:
        return (("process.roles", "broker"), ("node.id", str(node_id)))
    return (
        ("broker.id", str(node_id)),
        ("broker.id.generation.enable", "false"),
        ("reserved.broker.max.id", str(max(MOST_GENERATED, node_id))),
        *zookeeper.properties(runtime.zookeeper),
    )


def _advertised(namespace: str, pool: str, node_id: NodeID, runtime: BrokerRuntime) -> str:
    """What a broker advertises inside the cluster. The late properties have the external listeners too."""
    host = host_name(namespace, pool, node_id)
    inside = [(each.name, each.port) for each in runtime.listeners if each.external is External.NONE]
    return ",".join(f"{name}://{host}:{port}" for name, port in [(REPLICATION, REPLICATION_PORT), *inside])
