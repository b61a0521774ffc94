"""Names, labels and annotations of everything that belongs to a pool. A change of one of these orphans what exists.

Claims and pods carry a generation, host names do not. None of these names is one that `kafka_quorum.model.names` makes,
so a pool and a quorum may have the same name.
"""

import re
from collections.abc import Iterable
from typing import Final

from kafka_brokers.model.pool import BrokerRuntime
from kafka_quorum.model import pools
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.names import GROUP, digest, without_defaults

LABEL_POOL: Final = pools.LABEL_POOL
LABEL_ROLE: Final = f"{GROUP}/role"
LABEL_NODE: Final = f"{GROUP}/node-id"
LABEL_DISK: Final = f"{GROUP}/disk"
LABEL_OF_QUORUM: Final = f"{GROUP}/of-quorum"
"""On pods of brokers: the quorum that they belong to. It is not the label that makes an object a quorum's own."""

HOLD: Final = f"{GROUP}/hold"
"""On a pod of a broker, set by a person: this broker is not stopped while it is `true`."""
ACCEPT_LOSS: Final = f"{GROUP}/accept-loss"
"""On the pool, set by a person: the data that may be given up although records are lost with it."""
RESTARTED_AT: Final = f"{GROUP}/restartedAt"
LATE: Final = f"{GROUP}/late-properties"
"""On a pod: the properties that are known only after it was scheduled, or the empty text if there are none."""
CLAIM_UIDS: Final = f"{GROUP}/claim-uids"
DIRECTORY_IDS: Final = f"{GROUP}/directory-ids"
"""On a pod: what it was made for, one entry for each volume by index, with commas between them."""
FOUND_EMPTY: Final = f"{GROUP}/found-empty"
"""On a pod: which runs of its script have found volumes empty."""
UNFENCED_GATE: Final = f"{GROUP}/unfenced"

BROKER_ROLE: Final = "broker"
FORMATTER_ROLE: Final = "broker-formatter"
REPLICATION: Final = "REPLICATION"
"""The listener between brokers and for the operator, which every pool has."""
REPLICATION_PORT: Final = 9091
DIRECTORY: Final = "kafka"
"""The log directory within each volume, because file systems put a `lost+found` beside it."""
_HASH: Final = "[0-9a-f]{10}"


def pool_labels(pool: str) -> dict[str, str]:
    """The labels that select every object of a pool."""
    return {LABEL_POOL: pool}


def record_name(pool: str) -> str:
    """The ConfigMap that holds the record."""
    return f"{pool}-broker-disks"


def contract_name(quorum: str) -> str:
    """The ConfigMap that holds the quorum's contract."""
    return f"{quorum}-brokers"


def token_name(quorum: str) -> str:
    """The Lease that whoever interrupts a server of this quorum or its pools holds."""
    return f"{quorum}-disruption"


def headless_name(pool: str) -> str:
    """The headless service of the brokers."""
    return pools.headless_name(pool)


def bootstrap_name(pool: str) -> str:
    """The service that clients inside the cluster begin at."""
    return pools.bootstrap_name(pool)


def external_name(pool: str, listener: str, node_id: NodeID | None) -> str:
    """The service of one broker for an external listener; without an id the one that clients begin at."""
    last = "bootstrap" if node_id is None else str(node_id)
    return f"{pool}-{listener.lower().replace('_', '-')}-{last}"


def service_prefixes(pool: str, external: Iterable[str]) -> tuple[str, ...]:
    """What the services for clients begin with: those of the pool, and those of its `external` listeners.

    Of two pools with one of these in common both want a service of the same name.
    """
    begin = (external_name(pool, listener, None) for listener in external)
    return tuple(name.removesuffix("-bootstrap") for name in (bootstrap_name(pool), *begin))


def budget_name(pool: str) -> str:
    """The disruption budget of the brokers."""
    return f"{pool}-brokers"


def host_label(pool: str, node_id: NodeID) -> str:
    """A broker's host name within the headless service."""
    return f"{pool}-{node_id}"


def host_name(namespace: str, pool: str, node_id: NodeID) -> str:
    """A broker's host name from anywhere in the cluster, without the cluster's own domain."""
    return pools.broker_host(namespace, pool, node_id)


def claim_name(pool: str, node_id: NodeID, index: int, generation: int) -> str:
    """The claim of this generation. `claim_parts` reads it."""
    return f"{pool}-{node_id}-d{index}-g{generation}"


def claim_parts(name: str) -> tuple[str, NodeID, int, int] | None:
    """Pool, node id, index and generation in the name of a claim; None for any other name."""
    found = re.fullmatch(r"(.+)-(0|[1-9][0-9]{0,9})-d(0|[1-9][0-9]?)-g([1-9][0-9]{0,9})", name)
    return None if found is None else (found[1], NodeID(int(found[2])), int(found[3]), int(found[4]))


def pod_name(pool: str, node_id: NodeID) -> str:
    """The pod that runs a broker: one name for each broker, so Kubernetes itself prevents a second one."""
    return f"{pool}-{node_id}-broker"


def pool_of(name: str, node_id: NodeID) -> str:
    """The pool of a broker's pod of this name: `pod_name` read backwards."""
    return name.removesuffix(f"-{node_id}-broker")


def formatter_name(pool: str, node_id: NodeID, generations: tuple[int, ...]) -> str:
    """The pod that formats these generations of a broker's claims."""
    return f"{pool}-{node_id}-broker-format-{'-'.join(map(str, generations))}"


def inputs_hash(runtime: BrokerRuntime) -> str:
    """What decides a restart: every field by name, without defaults. So a new field restarts nothing."""
    return digest(without_defaults(runtime))


def revision_name(pool: str, hash_: str) -> str:
    """The ControllerRevision of a runtime."""
    return f"{pool}-broker-{hash_}"


def is_revision_name(pool: str, name: str) -> bool:
    """Whether `revision_name` makes this name."""
    return re.fullmatch(rf"{re.escape(pool)}-broker-{_HASH}", name) is not None


def config_name(pool: str, hash_: str, inputs: object) -> str:
    """The immutable config map of a revision and what else its files say: its name determines its content."""
    return f"{pool}-broker-config-{digest([hash_, inputs])}"
