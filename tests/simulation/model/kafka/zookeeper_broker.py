"""A broker of a cluster that migrates from ZooKeeper (KIP-866): its running settings, and the mode that they make."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from tests.simulation.model.kafka.process import Process

from kafka_quorum.model.ids import NodeID

CONNECT: Final = "zk-0:2181/kafka"
MIGRATES: Final = "zookeeper.metadata.migration.enable"
ROLES: Final = "process.roles"
VOTERS: Final = "controller.quorum.voters"
PROTOCOLS: Final = "listener.security.protocol.map"
DEFAULT_PROTOCOLS: Final = (
    "SASL_SSL:SASL_SSL",
    "PLAINTEXT:PLAINTEXT",
    "SSL:SSL",
    "SASL_PLAINTEXT:SASL_PLAINTEXT",
)
PORT: Final = 9092


class Mode(Enum):
    """How a broker stores metadata, by its settings."""

    PLAIN = "plain"
    MIGRATES = "migrates"
    KRAFT = "kraft"


def settings_of(node_id: int) -> dict[str, str | None]:
    """What a broker of ZooKeeper answers to DescribeConfigs before the migration (docs/zookeeper-measured.md)."""
    return {
        "inter.broker.protocol.version": "3.9-IV0",
        "zookeeper.connect": CONNECT,
        MIGRATES: "false",
        VOTERS: "",
        "controller.listener.names": None,
        PROTOCOLS: ",".join(DEFAULT_PROTOCOLS),
        ROLES: "",
        "node.id": str(node_id),
        "broker.id": str(node_id),
        "control.plane.listener.name": None,
        "authorizer.class.name": "",
        "reserved.broker.max.id": "1000",
        "broker.id.generation.enable": "true",
    }


@dataclass(slots=True, kw_only=True, eq=False)
class KeeperBroker:
    """One broker. `runs`: its process is there; `up_s` is the moment from which it answers."""

    node_id: NodeID
    settings: dict[str, str | None] = field(default_factory=dict)
    runs: bool = True
    up_s: float = 0.0
    held: bool = False
    """Its owner does not change it for now."""
    offline: tuple[str, ...] = ()
    """Log directories that failed."""
    process: Process | None = None
    """The process that fetches the metadata log, of a KRaft broker."""

    @property
    def mode(self) -> Mode:
        """How it stores metadata."""
        if self.settings.get(ROLES):
            return Mode.KRAFT
        return Mode.MIGRATES if self.settings.get(MIGRATES) == "true" else Mode.PLAIN

    @property
    def address(self) -> str:
        """Where it answers."""
        return f"broker-{self.node_id}:{PORT}"
