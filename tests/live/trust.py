"""Three controllers with mutual TLS on loopback, and what is needed to change their certificates under them.

Each has a keystore and a trust store of its own. Everything that it starts ends with `close()`.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from tests.live.jars import Kafka
from tests.live.ports import HOST
from tests.live.quorum import LISTENER, LiveNode, LiveQuorum
from tests.live.storage import ModeMissing
from tests.live.waiting import wait_for
from tests.wire.authorities import Authority, Leaf

from kafka_quorum.errors import KafkaError
from kafka_quorum.model.brokers import ConfigChange
from kafka_quorum.model.handshakes import Handshake, Served
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.wire.admin import KafkaControllers
from kafka_quorum.wire.broker_admin import KafkaBrokers
from kafka_quorum.wire.handshake import probe

NODES: Final = (3000, 3001, 3002)
UNIT: Final = "demo"
PROBES: Final = 9
"""Connections go to the three network threads of a listener in turn; other clients connect meanwhile."""
LISTENER_SETTINGS: Final = f"listener.name.{LISTENER.lower()}"


def name_of(node: LiveNode) -> str:
    """The name in its certificate."""
    return f"demo-{node.node_id}.demo-controllers.kafka.svc"


@dataclass(slots=True)
class TrustedThree:
    """`ca` is trusted at the beginning, `other` is not. `config` is added to that of every controller.

    `static`: their voters are those of their configuration.
    """

    kafka: Kafka
    home: Path
    config: dict[str, str] = field(default_factory=dict)
    static: bool = False
    operator_name: str = "operator"
    ca: Authority = field(default_factory=lambda: Authority("ca"))
    other: Authority = field(default_factory=lambda: Authority("other"))
    quorum: LiveQuorum = field(init=False)
    controllers: KafkaControllers = field(default_factory=KafkaControllers)
    settings: KafkaBrokers = field(default_factory=KafkaBrokers)
    operator: Leaf = field(init=False)

    async def open(self) -> None:
        """Starts them, and waits for a leader."""
        self.operator = self.ca.leaf(self.operator_name, unit=UNIT)
        self.home.mkdir(parents=True, exist_ok=True)
        self.quorum = LiveQuorum(kafka=self.kafka, directory=self.home / "quorum")
        self.quorum.config = {
            "listener.security.protocol.map": f"{LISTENER}:SSL",
            "ssl.client.auth": "required",
            "ssl.keystore.type": "PEM",
            "ssl.truststore.type": "PEM",
            "connection.failed.authentication.delay.ms": "0",
            **self.config,
        }
        nodes = [self.quorum.add_node(node_id) for node_id in NODES]
        for node in nodes:
            self.give(node, self.leaf(node))
            self.trust(node, self.ca)
            self.write(node)
        self.quorum.must_format(nodes, ModeMissing() if self.static else self.quorum.initial_controllers(nodes))
        self.quorum.start(*nodes)
        leader = await self.leader()

        async def registered() -> bool | None:
            found = await self.controllers.describe_cluster(self.at(leader))
            return True if set(found.controller_ids) == set(self.quorum.nodes) else None

        await wait_for("every controller is registered", registered)

    async def close(self) -> None:
        """Ends every process."""
        await self.controllers.close()
        await self.settings.close()
        self.quorum.close()

    def write(self, node: LiveNode, **changed: str) -> None:
        """Writes its server.properties."""
        stores = {
            "ssl_keystore_location": str(self.keystore(node)),
            "ssl_truststore_location": str(self.truststore(node)),
        }
        if self.static:
            voters = ",".join(f"{each.node_id}@{HOST}:{each.port}" for each in self.quorum.nodes.values())
            stores |= {"controller_quorum_voters": voters, "controller_quorum_bootstrap_servers": ""}
        self.quorum.write_config(node, **(stores | changed))

    def leaf(self, node: LiveNode, by: Authority | None = None, name: str = "controllers") -> Leaf:
        """A new leaf for this controller; controllers reach each other by address, clients of ours by name."""
        return (by or self.ca).leaf(name, dns=(name_of(node),), unit=UNIT)

    def keystore(self, node: LiveNode) -> Path:
        """The file of its key and chain."""
        return node.home / "keystore.pem"

    def truststore(self, node: LiveNode) -> Path:
        """The file of the authorities that it trusts."""
        return node.home / "trust.pem"

    def give(self, node: LiveNode, leaf: Leaf) -> None:
        """Puts a leaf where the controller finds it."""
        self.keystore(node).write_text(leaf.keystore)

    def trust(self, node: LiveNode, *authorities: Authority) -> None:
        """Puts authorities where the controller finds them."""
        self.truststore(node).write_text("".join(each.pem for each in authorities))

    def at(self, node: LiveNode, client: Leaf | None = None, trusted: Authority | None = None) -> Endpoint:
        """Where the operator reaches it, or another client."""
        security = (trusted or self.ca).trusting(client or self.operator)
        return replace(node.endpoint, security=security, name=name_of(node))

    async def leader(self) -> LiveNode:
        """The leader, when it has a high watermark."""

        async def look() -> LiveNode | None:
            for node in self.quorum.nodes.values():
                if node.process is None or node.process.exit_code is not None:
                    continue
                try:
                    answer = await self.controllers.describe_quorum(self.at(node))
                except KafkaError:
                    continue
                if answer.high_watermark > 0:
                    return node
            return None

        return await wait_for("a leader with a high watermark", look)

    async def followers(self) -> list[LiveNode]:
        """All others."""
        leader = await self.leader()
        return [node for node in self.quorum.nodes.values() if node is not leader]

    async def shown(self, node: LiveNode, client: Leaf | None = None, trusted: Authority | None = None) -> Handshake:
        """A probe."""
        return await probe(self.at(node, client, trusted))

    async def accepts(self, node: LiveNode, client: Leaf) -> bool:
        """Whether the listener answers this client."""
        found = await self.shown(node, client)
        return isinstance(found, Served) and found.accepted

    async def serials(self, node: LiveNode, trusted: Authority | None = None) -> list[int]:
        """What the listener serves to some clients in turn: each of its threads has a certificate of its own."""
        found = [await self.shown(node, trusted=trusted) for _ in range(PROBES)]
        return [int(each.leaf.serial, 16) if isinstance(each, Served) else 0 for each in found]

    async def serves(self, node: LiveNode, leaf: Leaf, trusted: Authority | None = None) -> None:
        """Waits until every thread of the listener serves this leaf."""

        async def look() -> bool | None:
            return True if set(await self.serials(node, trusted)) == {serial(leaf)} else None

        await wait_for(f"controller {node.node_id} serves another leaf", look, deadline_s=20.0)

    async def set(self, asked: LiveNode, node: LiveNode, setting: str, value: str) -> None:
        """A dynamic setting of a controller's listener, at any controller."""
        change = ConfigChange(name=f"{LISTENER_SETTINGS}.{setting}", value=value)
        await self.settings.alter_broker_config(self.at(asked), NodeID(node.node_id), (change,))


def serial(leaf: Leaf) -> int:
    """Of its certificate."""
    return leaf.certificate.serial_number
