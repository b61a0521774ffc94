"""`server.properties` of a broker, and the properties that are known only after its pod was scheduled.

The operator and the quorum's contract own what is set here, and the spec may not set it. Dynamic properties are never
here: they are set on running brokers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a listener of one broker is reached from outside."""

    host: str
    port: int


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
        ("advertised.listeners", _advertised(namespace, pool, node_id, runtime, {})),
        ("inter.broker.listener.name", REPLICATION),
        (_PROTOCOLS, ",".join([*theirs, *own])),
        ("log.dirs", directories),
        ("metadata.log.dir", log_dir(0)),
    )
    return lines((*owned, *first_contact, *contract.items(), *runtime.config))


def late_properties(
    namespace: str, pool: str, node_id: NodeID, runtime: BrokerRuntime, *, rack: str, addresses: Mapping[str, Address]
) -> str:
    """The late properties of a scheduled pod, which the start script appends to its file. Never empty.

    `rack` is the value of the rack's label of the pod's Kubernetes node, empty if it has none. `addresses` has the
    outside address of every external listener by the listener's name (KeyError if one is missing).
    """
    found = [("broker.rack", rack)] if rack else []
    if any(each.external is not External.NONE for each in runtime.listeners):
        found.append(("advertised.listeners", _advertised(namespace, pool, node_id, runtime, addresses)))
    return "# Known since the pod was scheduled\n" + lines(found)


def _advertised(
    namespace: str, pool: str, node_id: NodeID, runtime: BrokerRuntime, addresses: Mapping[str, Address]
) -> str:
    """What a broker advertises. Without addresses, the external listeners are left out."""
    host = host_name(namespace, pool, node_id)
    found = [f"{REPLICATION}://{host}:{REPLICATION_PORT}"]
    for each in runtime.listeners:
        if each.external is External.NONE:
            found.append(f"{each.name}://{host}:{each.port}")
        elif addresses:
            address = addresses[each.name]
            found.append(f"{each.name}://{_bracketed(address.host)}:{address.port}")
    return ",".join(found)


def _bracketed(host: str) -> str:
    """A host as it stands in a URL: an IPv6 address is in brackets."""
    return f"[{host}]" if ":" in host else host
