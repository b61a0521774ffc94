"""What the agent costs a controller: `PYTHONPATH=operator:e2e:. python -m tests.live.jmx_cost [MINUTES]`.

Two quorums of three controllers each run side by side at rest, with the options of Java that pods have: one with the
agent and the operator's configuration, scraped every 15 s, and one without. It prints the memory and CPU time of both.
"""

import asyncio
import os
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from statistics import median
from typing import Final

from tests.live.jars import DEFAULT_VERSION, ensure_kafka
from tests.live.ports import HOST, free_port
from tests.live.process import ServerProcess
from tests.live.quorum import LOGGING, LiveNode, LiveQuorum

from kafka_quorum import agent as copying
from kafka_quorum.resources.agent import FILTER_OPTION, KAFKAS
from kafka_quorum.wire.admin import KafkaControllers
from testbed.agent import ensure_agent
from testbed.config import default_paths

SCRAPED_EVERY_S: Final = 15.0
WARM_UP_S: Final = 30.0
IN_A_ROW: Final = 300
JAVA: Final = (
    *("-server", "-Xms512m", "-Xmx512m", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20"),
    *("-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent", "-XX:MaxInlineLevel=15"),
)
"""Those of Kafka's own script, and the default heap of a controller."""
_TICKS: Final = os.sysconf("SC_CLK_TCK")


def _command(node: LiveNode, home: Path, more: tuple[str, ...]) -> list[str]:
    log = (f"-Dlog4j2.configurationFile={home / 'log4j2.xml'}",)
    return [node.kafka.java, *JAVA, *log, *more, "-cp", f"{node.kafka.libs}/*", "kafka.Kafka", str(node.config)]


def _with_agent(home: Path, port: int) -> tuple[str, ...]:
    volume = Path(tempfile.mkdtemp(dir=home))
    if copying.main([str(volume), KAFKAS], ensure_agent(default_paths())) != 0:
        raise RuntimeError("the agent was not copied")
    (jar,) = volume.glob("*.jar")
    return f"-javaagent:{jar}={HOST}:{port}:{volume / 'agent.yaml'}", FILTER_OPTION


def _memory_mib(pid: int) -> float:
    """The resident memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


def _cpu_s(pid: int) -> float:
    """The CPU time of a process, in user and system mode."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


async def _open(home: Path, controllers: KafkaControllers, *, agent: bool) -> tuple[LiveQuorum, list[int], list[int]]:
    """A quorum, the ports of its agents, and the processes of its controllers."""
    quorum = LiveQuorum(kafka=ensure_kafka(), directory=home)
    nodes = [quorum.add_node(node_id) for node_id in (3000, 3001, 3002)]
    quorum.must_format(nodes, quorum.initial_controllers(nodes))
    for name, text in LOGGING.items():
        (home / name).write_text(text)
    ports = []
    for node in nodes:
        port = free_port()
        ports.append(port)
        node.process = ServerProcess(_command(node, home, _with_agent(home, port) if agent else ()), node.log)
    await quorum.leader(controllers)
    return quorum, ports if agent else [], [node.running.pid for node in nodes]


async def main(minutes: float) -> None:
    """Measure, and print."""
    home = Path(tempfile.mkdtemp(prefix="jmx-cost-"))
    controllers, quorums = KafkaControllers(), []
    try:
        pids: dict[bool, list[int]] = {}
        ports: list[int] = []
        for agent in (True, False):
            quorum, found, pids[agent] = await _open(Path(tempfile.mkdtemp(dir=home)), controllers, agent=agent)
            quorums.append(quorum)
            ports += found
        await asyncio.sleep(WARM_UP_S)
        before = {pid: _cpu_s(pid) for group in pids.values() for pid in group}
        took_s, sizes, begin_s = [], [], time.monotonic()
        while time.monotonic() - begin_s < minutes * 60:
            for port in ports:
                at_s = time.monotonic()
                sizes.append(len(await asyncio.to_thread(_page, port)))
                took_s.append(time.monotonic() - at_s)
            await asyncio.sleep(SCRAPED_EVERY_S)
        lasted_s = time.monotonic() - begin_s
        print(f"Kafka {DEFAULT_VERSION}, {lasted_s:.0f} s, {len(took_s)} scrapes")  # noqa: T201 - a command
        for agent, group in pids.items():
            memory = ", ".join(f"{_memory_mib(pid):.0f}" for pid in group)
            cpu = ", ".join(f"{(_cpu_s(pid) - before[pid]) / lasted_s * 1000:.1f}" for pid in group)
            print(f"{'with' if agent else 'without'} the agent: {memory} MiB resident; {cpu} millicores")  # noqa: T201
        in_a_row = await _cpu_of_scrapes_s(ports[0], pids[True][0])
        print(f"CPU time of a scrape: {in_a_row * 1000:.1f} ms")  # noqa: T201 - a command
        slowest = sorted(took_s)[int(len(took_s) * 0.99)]
        print(f"a scrape: median {median(took_s):.3f} s, p99 {slowest:.3f} s, {max(sizes)} bytes at most")  # noqa: T201
    finally:
        for quorum in quorums:
            quorum.close()
        await controllers.close()


async def _cpu_of_scrapes_s(port: int, pid: int) -> float:
    """The CPU time of one scrape, of many in a row. What the controller does meanwhile is part of it."""
    before_s = _cpu_s(pid)
    for _ in range(IN_A_ROW):
        await asyncio.to_thread(_page, port)
    return (_cpu_s(pid) - before_s) / IN_A_ROW


def _page(port: int) -> bytes:
    page: bytes = urllib.request.urlopen(f"http://{HOST}:{port}/metrics", timeout=20).read()
    return page


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]) if len(sys.argv) > 1 else 5.0))
