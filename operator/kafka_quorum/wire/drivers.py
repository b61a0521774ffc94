"""The state of a migration from ZooKeeper, as controllers report it through the agent in their pods."""

from typing import Protocol

from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.zookeeper import DriverSeen
from kafka_quorum.wire.metrics import read_driver


class Drivers(Protocol):
    """Reads the metrics of one controller."""

    async def read_driver(self, host: str, port: int, node_id: NodeID) -> DriverSeen:
        """What the controller at this address reports of the migration (KafkaError)."""


class AgentDrivers:
    """`Drivers` over HTTP, by the Prometheus JMX agent."""

    async def read_driver(self, host: str, port: int, node_id: NodeID) -> DriverSeen:
        """As `Drivers` says."""
        return await read_driver(host, port, node_id)
