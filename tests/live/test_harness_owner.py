"""The file that the owner of foreign brokers writes, on real Kafka: controllers by TLS or by PLAIN, clients both ways.

The page is made here, in the form in which a quorum publishes it; the operator has no part in it.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import confluent_kafka
import pytest
import pytest_asyncio
from confluent_kafka.admin import AdminClient
from tests.live.jars import Kafka, ensure_kafka
from tests.live.ports import HOST, free_port
from tests.live.process import ServerProcess
from tests.live.quorum import LISTENER, LiveNode, LiveQuorum
from tests.live.storage import Format, ModeMissing, start_format
from tests.live.waiting import wait_for

from harness.access import Access, to_controllers
from harness.authority import Authority, Leaf, add_user
from harness.client.ledger import judge
from harness.client.streams import Streams, read_back
from harness.client.topics import Topic, create
from harness.owner import PORT, SASL_PORT, TLS_PORT, Owner
from harness.page import FURTHER, Page, folders, page_of
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.resources.contract import DEFAULT_PROTOCOLS
from kafka_quorum.wire.admin import KafkaControllers

pytestmark = [pytest.mark.live, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

NODE_ID, WORD = 1, "word-of-a-test-1"
STORES = "/etc/kafka-tls"
MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


@dataclass(slots=True)
class World:
    """One controller whose listener has this protocol, and one broker of an owner who follows its page."""

    kafka: Kafka
    home: Path
    protocol: str
    quorum: LiveQuorum = field(init=False)
    node: LiveNode = field(init=False)
    theirs: Leaf = field(init=False)
    ours: Leaf = field(init=False)
    page: Page = field(init=False)
    secrets: dict[str, dict[str, str]] = field(default_factory=dict)
    ports: dict[int, int] = field(default_factory=lambda: {port: free_port() for port in (PORT, TLS_PORT, SASL_PORT)})
    broker: ServerProcess | None = None

    def open(self) -> None:
        """Start both."""
        self._make_controller()
        self._publish()
        self.quorum.must_format([self.node], self.quorum.initial_controllers([self.node]))
        self.quorum.start(self.node)
        config = self._make_broker()
        wanted = Format(cluster_id=self.quorum.cluster_id, mode=ModeMissing(), features=(), more=())
        result = start_format(self.kafka, config, wanted).result()
        assert result.exit_code == 0, result.output
        options = (f"-Dlog4j2.configurationFile={self.home / 'quorum' / 'log4j2.xml'}", "-Xmx256m")
        command = self.kafka.command("kafka.Kafka", str(config), options=options)
        self.broker = ServerProcess(command, self.home / "broker.log")

    def close(self) -> None:
        """End both."""
        if self.broker is not None:
            self.broker.kill()
        self.quorum.close()

    def client(self, port: int, access: Access) -> dict[str, str]:
        """The properties of a client of one of the broker's listeners."""
        return {"bootstrap.servers": f"{HOST}:{self.ports[port]}"} | access.settings()

    def _make_controller(self) -> None:
        authority = Authority(home=self._folder("controllers"), name="quorum-ca").make()
        self.theirs = authority.leaf("brokers", [HOST])
        leaf = authority.leaf("controllers", [HOST])
        keystore, trust = self.home / "controllers" / "keystore.pem", self.home / "controllers" / "ca.crt"
        keystore.write_text(leaf.keystore)
        self.quorum = LiveQuorum(kafka=self.kafka, directory=self._folder("quorum"))
        mapped = f"listener.name.{LISTENER.lower()}"
        self.quorum.config = {
            "listener.security.protocol.map": f"{LISTENER}:{self.protocol}",
            f"{mapped}.ssl.keystore.type": "PEM",
            f"{mapped}.ssl.keystore.location": str(keystore),
            f"{mapped}.ssl.truststore.type": "PEM",
            f"{mapped}.ssl.truststore.location": str(trust),
            f"{mapped}.ssl.client.auth": "required" if self.protocol == "SSL" else "none",
        }
        if self.protocol == "SASL_SSL":
            self.quorum.config |= {
                "sasl.mechanism.controller.protocol": "PLAIN",
                f"{mapped}.sasl.enabled.mechanisms": "PLAIN",
                f"{mapped}.plain.sasl.jaas.config": (
                    f'{MODULE} required username="controllers" password="{WORD}-c" user_controllers="{WORD}-c"'
                    f' user_brokers="{WORD}";'
                ),
            }
        self.node = self.quorum.add_node(3000)

    def _publish(self) -> None:
        """The page, and the Secrets that it names."""
        mapped = f"listener.name.{LISTENER.lower()}"
        rows = {
            "process.roles": "broker",
            "controller.listener.names": LISTENER,
            "listener.security.protocol.map": ",".join((f"{LISTENER}:{self.protocol}", *DEFAULT_PROTOCOLS)),
            "controller.quorum.bootstrap.servers": f"{HOST}:{self.node.port}",
            f"{mapped}.ssl.truststore.type": "PEM",
            f"{mapped}.ssl.truststore.location": f"{STORES}/trust-ab.pem",
        }
        tls = {"tls.crt": self.theirs.certificate, "tls.key": self.theirs.key, "trust-ab.pem": self.theirs.ca}
        self.secrets = {"demo-brokers-tls": tls}
        if self.protocol == "SSL":
            rows |= {
                f"{mapped}.ssl.keystore.type": "PEM",
                f"{mapped}.ssl.keystore.location": f"{STORES}/keystore-1.pem",
            }
            tls["keystore-1.pem"] = self.theirs.keystore
        else:
            rows["sasl.mechanism.controller.protocol"] = "PLAIN"
            line = f'{mapped}.plain.sasl.jaas.config={MODULE} required username="brokers" password="{WORD}";\n'
            self.secrets["demo-users"] = {"brokers.properties": line}
        body = {
            "cluster_id": str(self.quorum.cluster_id),
            "release": self.kafka.version,
            "controllers": [f"{HOST}:{self.node.port}"],
            "secrets": list(self.secrets),
        }
        text = "".join(f"{key}={value}\n" for key, value in rows.items())
        metadata = {"name": "demo-brokers", "annotations": {"kafkaquorum.io/contract-revision": "1"}}
        data = {"server.properties": text, "contract.json": json.dumps(body)}
        self.page = page_of({"metadata": metadata, "data": data})

    def _make_broker(self) -> Path:
        """The owner's file with the folders and ports of this machine, as its pod's start script makes it."""
        ca = Authority(home=self._folder("own")).make()
        self.ours = ca.leaf("broker", [HOST])
        (self.home / "own" / "keystore.pem").write_text(self.ours.keystore)
        owner = Owner(namespace="ns", quorum="demo", clients_secret="own")  # noqa: S106 - a name
        text = "".join(f"{key}={value}\n" for key, value in owner.settings(self.page, NODE_ID).items())
        for folder, names in folders(self.page, self.secrets).items():
            here = self._folder(folder.strip("/").replace("/", "-"))
            for name, content in ((name, content) for each in names for name, content in self.secrets[each].items()):
                (here / name).write_text(content)
            text = text.replace(f"{folder}/", f"{here}/")
            if folder.startswith(FURTHER):
                text += "".join(path.read_text() for path in here.glob("*.properties"))
        for port, ours in self.ports.items():
            text = text.replace(f"://:{port}", f"://{HOST}:{ours}").replace(
                f"{owner.host(NODE_ID)}:{port}", f"{HOST}:{ours}"
            )
        text = text.replace("/etc/owner-tls", str(self.home / "own")).replace("/data/log", str(self.home / "data"))
        text = text.replace("replication.factor=3", "replication.factor=1").replace("min.insync.replicas=2", "")
        config = self.home / "server.properties"
        config.write_text(text)
        return config

    def _folder(self, name: str) -> Path:
        found = self.home / name
        found.mkdir(exist_ok=True)
        return found


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["SSL", "SASL_SSL"])
async def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """Both, when the broker answers."""
    made = World(ensure_kafka(), tmp_path_factory.mktemp("owner"), str(request.param))
    try:
        await asyncio.to_thread(made.open)
        admin = AdminClient({**made.client(PORT, Access()), "log_level": 0})

        async def answers() -> bool | None:
            try:
                return NODE_ID in (await asyncio.to_thread(admin.list_topics, timeout=2)).brokers or None
            except confluent_kafka.KafkaException:
                return None

        await wait_for("the broker answers", answers, deadline_s=90)
        yield made
    finally:
        made.close()


async def test_clients_get_in_by_certificate_and_by_password(world: World) -> None:
    """Records go through both listeners, though the owner's authority is another one than the quorum's."""
    plain = AdminClient({**world.client(PORT, Access()), "log_level": 0})
    await asyncio.to_thread(add_user, plain, "ada", WORD)
    for name, port, access in (
        ("certificate", TLS_PORT, world.ours.access()),
        ("password", SASL_PORT, world.ours.user("ada", WORD)),
    ):
        way = world.client(port, access)
        topic = Topic(name=name, replication=1, min_isr=1)
        await asyncio.to_thread(
            create, AdminClient({**way, "log_level": 0}), (topic,), asyncio.get_running_loop().time() + 60
        )
        streams = Streams(way, topic.lanes, 0.05, 20)
        streams.start()

        async def flowing(streams: Streams = streams, lane: str = f"{name}-0") -> bool | None:
            return len(streams.lanes[lane].consumed) > 5 or None

        await wait_for(f"records by {name}", flowing, deadline_s=60)
        await asyncio.to_thread(streams.stop)
        found = await asyncio.to_thread(read_back, way, streams.lanes, 60.0)
        assert not judge(f"{name}-0", streams.lanes[f"{name}-0"], found[f"{name}-0"]).faults


async def test_a_look_at_the_controllers_uses_the_brokers_way_in(world: World) -> None:
    """The operator's client reaches the controller with what the page gives to brokers, and sees the broker observe."""
    security = to_controllers(world.page, world.secrets).security()
    endpoint = Endpoint(node_id=NodeID(3000), host=HOST, port=world.page.port, security=security)
    controllers = KafkaControllers()
    try:
        answer = await controllers.describe_quorum(endpoint)
    finally:
        await controllers.close()
    assert [row.key.node_id for row in answer.voters] == [3000]
    assert NODE_ID in [row.key.node_id for row in answer.observers]
