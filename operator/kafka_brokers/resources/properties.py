"""`server.properties` of a broker, without the properties that are known only after its pod was scheduled.

The operator and the quorum's contract own what is set here, and the spec may not set it. Dynamic properties are never
here: they are set on running brokers.
"""

from typing import Final

from kafka_brokers.model.names import REPLICATION, REPLICATION_PORT, host_name
from kafka_brokers.model.pool import BrokerRuntime, External
from kafka_quorum.model.ids import NodeID
from kafka_quorum.resources.properties import lines

DATA_PATH: Final = "/var/lib/kafka/data"
"""The mount path of volume N is this, a hyphen and N."""
DIRECTORY: Final = "kafka"
"""The directory within each volume, because file systems put a `lost+found` beside it."""
LATE_PATH: Final = "/etc/kafka-late"
LATE_FILE: Final = "late.properties"
_PROTOCOLS: Final = "listener.security.protocol.map"


def volume_path(index: int) -> str:
    """Where a volume is mounted."""
    return f"{DATA_PATH}-{index}"


def log_dir(index: int) -> str:
    """The log directory on a volume."""
    return f"{volume_path(index)}/{DIRECTORY}"


def server_properties(
    namespace: str, pool: str, node_id: NodeID, runtime: BrokerRuntime, first_contact: tuple[tuple[str, str], ...]
) -> str:
    """The whole file: our properties first, then the contract's, then the spec's own.

    `first_contact` are the contract's settings that a broker needs at its first start only. They are as they were when
    the file was made.
    """
    contract = dict(runtime.contract)
    directories = ",".join(map(log_dir, range(runtime.volumes)))
    own = [f"{REPLICATION}:PLAINTEXT", *(f"{each.name}:{each.protocol}" for each in runtime.listeners)]
    theirs = [entry for entry in contract.pop(_PROTOCOLS, "").split(",") if entry]
    listeners = [(REPLICATION, REPLICATION_PORT), *((each.name, each.port) for each in runtime.listeners)]
    owned = (
        ("process.roles", "broker"),
        ("node.id", str(node_id)),
        ("listeners", ",".join(f"{name}://:{port}" for name, port in listeners)),
        ("advertised.listeners", _advertised(namespace, pool, node_id, runtime)),
        ("inter.broker.listener.name", REPLICATION),
        (_PROTOCOLS, ",".join([*theirs, *own])),
        ("log.dirs", directories),
        ("metadata.log.dir", log_dir(0)),
    )
    return lines((*owned, *first_contact, *contract.items(), *runtime.config))


def _advertised(namespace: str, pool: str, node_id: NodeID, runtime: BrokerRuntime) -> str:
    """What a broker advertises inside the cluster. The late properties have the external listeners too."""
    host = host_name(namespace, pool, node_id)
    inside = [(each.name, each.port) for each in runtime.listeners if each.external is External.NONE]
    return ",".join(f"{name}://{host}:{port}" for name, port in [(REPLICATION, REPLICATION_PORT), *inside])
