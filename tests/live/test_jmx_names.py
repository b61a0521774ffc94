"""Kafka's own metrics: what real controllers show through the real agent, compared with the page by release and role.

The agent has the operator's configuration, and is copied as in a pod.
"""

import asyncio
import contextlib
import re
import time
import urllib.request
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from tests.live.jars import DEFAULT_VERSION, OLDER_VERSIONS, ensure_kafka
from tests.live.ports import HOST, free_port
from tests.live.quorum import LiveQuorum
from tests.live.storage import ModeMissing, NoInitialControllers
from tests.live.test_static import static
from tests.live.waiting import NeverHappenedError, wait_for
from tests.metrics_page import table

from kafka_quorum import agent as copying
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import QuorumAnswer
from kafka_quorum.model.zookeeper import DriverState
from kafka_quorum.resources.agent import AGENT_FILE, AGENT_JAR, FILTER_OPTION, KAFKAS
from kafka_quorum.resources.jmx import OF_JAVA
from kafka_quorum.wire.admin import KafkaControllers
from kafka_quorum.wire.metrics import MAX_PAGE_BYTES, read_driver
from testbed.agent import ensure_agent
from testbed.config import default_paths

pytestmark = [pytest.mark.live, pytest.mark.timeout(240), pytest.mark.asyncio(loop_scope="module")]

VOTERS = (3000, 3001, 3002)
OBSERVER = 3003
RELEASES = (
    *(f"{release} dynamic" for release in (DEFAULT_VERSION, *OLDER_VERSIONS)),
    f"{DEFAULT_VERSION} static",
    *(pytest.param(f"{release} dynamic", marks=pytest.mark.full) for release in ("3.9.0", "4.0.2", "4.3.1")),
)
SAMPLES = {
    "jvm_gc_collection_seconds": ("jvm_gc_collection_seconds_count", "jvm_gc_collection_seconds_sum"),
    "process_cpu_seconds": ("process_cpu_seconds_total",),
}
"""The names of samples, where they differ from that of the metric."""
SAMPLE = re.compile(r"([a-z_]+)(\{[^}]*\})? (\S+)")


Samples = dict[str, list[tuple[str, float]]]
"""Samples by name, each with its labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steady:
    """The leader's answer, and what every controller showed while it led."""

    answer: QuorumAnswer
    found: dict[NodeID, Samples]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A quorum whose controllers have the agent; `ports` are those of the agent, by node id."""

    quorum: LiveQuorum
    controllers: KafkaControllers
    ports: dict[NodeID, int]

    async def steady(self) -> Steady | None:
        """The pages of all controllers, if one leader led meanwhile, all know it, and all have applied records."""
        _, before = await self.quorum.leader(self.controllers)
        found = {node_id: self.scrape(node_id)[0] for node_id in self.quorum.nodes}
        _, after = await self.quorum.leader(self.controllers)
        known = all(  # a page lacks a metric that its controller has not registered yet
            page.get("kafka_raft_current_epoch") == [("", float(before.leader_epoch))]
            and page.get("kafka_raft_current_leader") == [("", float(before.leader_id))]
            and page.get("kafka_controller_last_applied_record_offset", [("", 0.0)])[0][1] > 0
            for page in found.values()
        )
        return Steady(answer=after, found=found) if known and before.leader_epoch == after.leader_epoch else None

    def scrape(self, node_id: NodeID) -> tuple[Samples, int, float]:
        """The samples of a page by name, each with its labels; the bytes of the page; the seconds that it took."""
        begin_s = time.monotonic()
        page = urllib.request.urlopen(f"http://{HOST}:{self.ports[node_id]}/metrics", timeout=20).read()
        took_s = time.monotonic() - begin_s
        found: Samples = {}
        for line in page.decode().splitlines():
            if not line.startswith("#"):
                sample = SAMPLE.fullmatch(line)
                assert sample is not None, line
                found.setdefault(sample[1], []).append((sample[2] or "", float(sample[3])))
        return found, len(page), took_s


def kafkas(found: Iterable[str]) -> set[str]:
    """The names of Kafka's own metrics among these."""
    return {name for name in found if name.startswith("kafka_")}


def _start(quorum: LiveQuorum, home: Path) -> dict[NodeID, int]:
    """Start every controller with the agent, as its pod does; returns the agent's ports."""
    ports = {}
    for node in quorum.nodes.values():
        volume = home / f"agent-{node.node_id}"
        volume.mkdir()
        assert copying.main([str(volume), KAFKAS], ensure_agent(default_paths())) == 0
        (jar,) = volume.glob("*.jar")
        assert AGENT_JAR.rpartition("/")[2].removesuffix(".jar") in jar.name
        ports[node.node_id] = free_port()
        config = volume / Path(AGENT_FILE).name
        loads = f"-javaagent:{jar}={HOST}:{ports[node.node_id]}:{config}"
        quorum.start(node, options=(loads, FILTER_OPTION))
    return ports


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=RELEASES)
async def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """Three voters, and an observer if the quorum is dynamic, once each of them has caught up."""
    release, _, kind = str(request.param).partition(" ")
    home = tmp_path_factory.mktemp("jmx")
    quorum = LiveQuorum(kafka=ensure_kafka(release), directory=home)
    controllers = KafkaControllers()
    voters = [quorum.add_node(node_id) for node_id in VOTERS]
    if kind == "static":
        for node in voters:
            static(quorum, node)
        await asyncio.to_thread(quorum.must_format, voters, ModeMissing())
    else:
        observer = quorum.add_node(OBSERVER)
        await asyncio.to_thread(quorum.must_format, voters, quorum.initial_controllers(voters))
        await asyncio.to_thread(quorum.must_format, [observer], NoInitialControllers())
    try:
        ports = _start(quorum, home)
        await quorum.leader(controllers)
        if kind == "dynamic":
            await quorum.observer(controllers, quorum.nodes[NodeID(OBSERVER)].key)
        yield World(quorum=quorum, controllers=controllers, ports=ports)
    finally:
        quorum.close()
        await controllers.close()


async def test_exactly_the_names_of_the_page(world: World) -> None:
    """Leader, followers and observer show exactly the metrics of the page for their release, and little of Java."""
    release = world.quorum.kafka.version

    def expected(steady: Steady) -> dict[NodeID, set[str]]:
        return {
            node_id: {row.name for row in table() if row.on(release, leader=node_id == steady.answer.leader_id)}
            for node_id in steady.found
        }

    async def complete() -> bool | None:
        steady = await world.steady()
        found = None if steady is None else {node_id: kafkas(page) for node_id, page in steady.found.items()}
        return (steady is not None and found == expected(steady)) or None

    with contextlib.suppress(NeverHappenedError):  # a metric may appear a moment after the role that it is of
        await wait_for("every metric", complete, deadline_s=30)
    steady = await wait_for("a steady quorum", world.steady)
    for node_id, found in steady.found.items():
        assert kafkas(found) == expected(steady)[node_id]
        assert {name for name in found if not name.startswith("kafka_")} == {
            name for prefix in OF_JAVA for name in SAMPLES.get(prefix, (prefix,))
        }
        _, size, took_s = world.scrape(node_id)
        assert size < MAX_PAGE_BYTES / 16
        role, series = "leader" if node_id == steady.answer.leader_id else "other", sum(map(len, found.values()))
        print(f"{release} {role} {node_id}: {series} series, {size} bytes, {took_s:.3f} s")  # noqa: T201


async def test_what_they_say_is_true(world: World) -> None:
    """State, leader, epoch and voters are those that the leader answers over Kafka's protocol; units are seconds."""
    steady = await wait_for("a steady quorum", world.steady)
    leader_id, epoch = steady.answer.leader_id, steady.answer.leader_epoch
    old = world.quorum.kafka.version.startswith("3.")
    for node_id, found in steady.found.items():
        leads = node_id == leader_id
        state = "leader" if leads else "observer" if node_id == OBSERVER else "follower"
        assert found["kafka_raft_current_state"] == [(f'{{state="{state}"}}', 1.0)]
        assert found["kafka_raft_current_leader"] == [("", float(leader_id))]
        assert found["kafka_raft_current_epoch"] == [("", float(epoch))]
        assert found["kafka_controller_active"] == [("", float(leads))]
        assert 0 < found["kafka_raft_high_watermark"][0][1] <= found["kafka_raft_log_end_offset"][0][1]
        assert old or found["kafka_raft_number_of_voters"] == [("", float(len(VOTERS)))]
        age_s = time.time() - found["process_start_time_seconds"][0][1]
        assert 0 < found["kafka_snapshot_age_seconds"][0][1] <= age_s + 1
        assert 0 <= found["kafka_controller_last_applied_record_lag_seconds"][0][1] <= age_s + 60
        assert found["kafka_controller_metadata_errors_total"] == [("", 0.0)]
        assert all(len(samples) == 1 for name, samples in found.items() if name.startswith("kafka_"))
        if old:  # the only one that has a migration, which the operator reads from the same page
            assert (await read_driver(HOST, world.ports[node_id], node_id)).state is DriverState.NONE
        if leads and not old:
            observers = float(len(world.quorum.nodes) - len(VOTERS))
            assert found["kafka_raft_number_of_observers"] == [("", observers)]
