"""Fixtures for tests that need real Kafka processes. One live quorum at a time: the machine may be small."""

from collections.abc import AsyncIterator, Callable, Generator, Iterator

import pytest
import pytest_asyncio
from tests.live.jars import Kafka, ensure_kafka
from tests.live.quorum import LiveQuorum

from kafka_quorum.wire.admin import KafkaControllers

_LAST_LINES = 25


@pytest.fixture(scope="session")
def kafka() -> Kafka:
    """The release under test; an error, not a skip, if it cannot be fetched."""
    return ensure_kafka()


@pytest.fixture(scope="module")
def new_quorum(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], LiveQuorum]]:
    """Makes a quorum without nodes; everything that is started in it ends with the module at the latest."""
    made: list[LiveQuorum] = []

    def make(name: str) -> LiveQuorum:
        made.append(LiveQuorum(kafka=kafka, directory=tmp_path_factory.mktemp(name)))
        return made[-1]

    yield make
    for quorum in made:
        quorum.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def controllers() -> AsyncIterator[KafkaControllers]:
    """The operator's own client for controllers."""
    client = KafkaControllers()
    yield client
    await client.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds the last lines of every server's log to the report of a failed test."""
    report = yield
    if report.failed and isinstance(item, pytest.Function):
        for quorum in (value for value in item.funcargs.values() if isinstance(value, LiveQuorum)):
            for node in quorum.nodes.values():
                if node.log.exists():
                    lines = node.log.read_text(errors="replace").splitlines()[-_LAST_LINES:]
                    report.sections.append((f"controller {node.node_id}: {node.log}", "\n".join(lines)))
    return report
