"""The metrics of a real controller of Kafka 3.9.2, through the real JMX agent with the operator's configuration."""

import urllib.request
from collections.abc import Iterator

import pytest
from tests.live.jars import ensure_kafka
from tests.live.ports import HOST, free_port
from tests.live.process import ServerProcess
from tests.live.quorum import LiveQuorum
from tests.live.storage import Standalone
from tests.live.waiting import wait_for
from tests.live.zookeeper_server import VERSION

from kafka_quorum import agent as copying
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.zookeeper import DriverSeen, DriverState
from kafka_quorum.resources.agent import AGENT_CONFIG, JAVA_OPTION, METRICS
from kafka_quorum.wire.metrics import MAX_PAGE_BYTES, metrics, read_driver
from testbed.agent import ensure_agent
from testbed.config import default_paths

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The agent's port of a controller that is alone, and does not migrate."""
    home = tmp_path_factory.mktemp("metrics")
    (home / "volume").mkdir()
    assert copying.main([str(home / "volume")], ensure_agent(default_paths())) == 0
    jar = next((home / "volume").iterdir())
    config = home / "agent.yaml"
    config.write_text(AGENT_CONFIG)
    chosen = free_port()
    quorum = LiveQuorum(kafka=ensure_kafka(VERSION), directory=home)
    node = quorum.add_node(3000)
    quorum.must_format([node], Standalone())
    place, _, _ = JAVA_OPTION.partition(":/opt/")
    command = node.kafka.command("kafka.Kafka", str(node.config), options=(f"{place}:{jar}={HOST}:{chosen}:{config}",))
    node.process = ServerProcess(command, node.log)
    yield chosen
    quorum.close()


async def test_a_controller_without_a_migration(port: int) -> None:
    """The active controller shows the state NONE, and the agent's page holds little else than the four metrics."""

    async def active() -> DriverSeen | None:
        seen = await read_driver(HOST, port, NodeID(3000))
        return seen if seen.active and seen.state is not DriverState.UNLOADED else None

    seen = await wait_for("an active controller with a state", active)
    assert (seen.state, seen.migrating) == (DriverState.NONE, 0)
    page = urllib.request.urlopen(f"http://{HOST}:{port}/metrics", timeout=10).read()  # noqa: ASYNC210
    assert len(page) < MAX_PAGE_BYTES / 4
    found = metrics(page.decode())
    assert set(found) <= set(METRICS.values())
    names = {line.split(b"{")[0].split(b" ")[0] for line in page.splitlines() if not line.startswith(b"#")}
    assert {name for name in names if name.startswith(b"kafka")} == {name.encode() for name in found}
