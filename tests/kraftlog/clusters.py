"""Real clusters that fill metadata logs: started, driven by Kafka's own admin client, and kept as files.

One combined node 1 and, if voters can change, the controllers 2 and 3, which join, lose a disk and come back.
"""

import random
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.live.jars import Kafka
from tests.live.process import ServerProcess

_SOURCES = Path(__file__).parent
_DEADLINE_S = 120.0
_RETRY_S = 1.0
_DYNAMIC_FROM = (3, 9)
_SCRAM_FROM = (3, 5)
_LOGGING = """<Configuration status="error"><Appenders><Console name="console" target="SYSTEM_OUT">
<PatternLayout pattern="[%d] %p %m (%c)%n"/></Console></Appenders>
<Loggers><Root level="WARN"><AppenderRef ref="console"/></Root></Loggers></Configuration>
"""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(what: str, attempt: Callable[[], bool], deadline_s: float = _DEADLINE_S) -> None:
    """Tries again each second until it succeeds (AssertionError after the deadline)."""
    begun = time.monotonic()
    while not attempt():
        if time.monotonic() - begun > deadline_s:
            raise AssertionError(f"{what} did not happen within {deadline_s} s")
        time.sleep(_RETRY_S)


@dataclass(slots=True)
class Node:
    """One server with its ports and its directory."""

    node_id: int
    home: Path
    controller_port: int = field(default_factory=_free_port)
    broker_port: int = field(default_factory=_free_port)
    process: ServerProcess | None = None

    @property
    def data(self) -> Path:
        """Its log directory."""
        return self.home / "data"

    @property
    def directory_id(self) -> str:
        """The directory id of the present disk."""
        lines = (self.data / "meta.properties").read_text().splitlines()
        return next(line.split("=", 1)[1].replace("\\", "") for line in lines if line.startswith("directory.id"))


class Cluster:
    """A small cluster of one release below `home`; `close` ends its processes and keeps its files."""

    def __init__(self, kafka: Kafka, home: Path, *, first_features: tuple[str, ...] = ()) -> None:
        """Starts nothing yet; `first_features`: more arguments of the first format."""
        self.kafka, self.home, self.first_features = kafka, home, first_features
        self.release = tuple(int(part) for part in kafka.version.split(".")[:2])
        self.dynamic = self.release >= _DYNAMIC_FROM
        self.cluster_id = "".join(random.Random(str(home)).choices("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef", k=21)) + "A"
        self.nodes = {number: Node(number, home / f"node-{number}") for number in ((1, 2, 3) if self.dynamic else (1,))}
        for node in self.nodes.values():
            node.home.mkdir(parents=True)
            self._write_config(node)
        (home / "log4j2.xml").write_text(_LOGGING)

    @property
    def bootstrap(self) -> str:
        """The broker's address."""
        return f"127.0.0.1:{self.nodes[1].broker_port}"

    def _write_config(self, node: Node) -> None:
        first = self.nodes[1]
        broker = f",PLAINTEXT://127.0.0.1:{node.broker_port}" if node is first else ""
        servers = ",".join(f"127.0.0.1:{each.controller_port}" for each in self.nodes.values())
        settings = {
            "process.roles": "broker,controller" if node is first else "controller",
            "node.id": node.node_id,
            "listeners": f"CONTROLLER://127.0.0.1:{node.controller_port}{broker}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": node.data,
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "metadata.log.max.record.bytes.between.snapshots": 4000,
            "offsets.topic.replication.factor": 1,
        }
        if self.dynamic:
            settings["controller.quorum.bootstrap.servers"] = servers
        else:
            settings["controller.quorum.voters"] = f"1@127.0.0.1:{first.controller_port}"
        (node.home / "server.properties").write_text("".join(f"{key}={value}\n" for key, value in settings.items()))

    def format(self, node: Node, *more: str) -> None:
        """Formats a node's directory."""
        config = str(node.home / "server.properties")
        self._run("kafka.tools.StorageTool", "format", f"--cluster-id={self.cluster_id}", "-c", config, *more)

    def start(self, node: Node) -> None:
        """Starts a server."""
        options = ("-Xmx512m", f"-Dlog4j2.configurationFile={self.home / 'log4j2.xml'}")
        command = self.kafka.command("kafka.Kafka", str(node.home / "server.properties"), options=options)
        node.process = ServerProcess(command, node.home / "server.log")

    def stop(self, node: Node) -> None:
        """Stops a server as Kubernetes would."""
        assert node.process is not None
        node.process.stop()

    def close(self) -> None:
        """Ends every process."""
        for node in self.nodes.values():
            if node.process is not None:
                node.process.kill()

    def drive(self, program: str, *arguments: str) -> bool:
        """Runs one of the Java programs beside this file; returns whether it succeeded."""
        command = [self.kafka.java, "-cp", f"{self.kafka.libs}/*", str(_SOURCES / program), self.bootstrap, *arguments]
        with (self.home / "drive.log").open("ab") as log:
            return subprocess.run(command, stdout=log, stderr=log, timeout=_DEADLINE_S, check=False).returncode == 0

    def must_drive(self, program: str, *arguments: str) -> None:
        """The same, repeated until it succeeds."""
        until(f"{program} {' '.join(arguments)}", lambda: self.drive(program, *arguments))

    def live_a_life(self, levels: tuple[int, ...] = (), topics: int = 30) -> None:
        """Topics, ACLs, quotas, SCRAM; feature steps; two controllers that join, one of which loses its disk."""
        first = self.nodes[1]
        self.format(first, *(("--standalone",) if self.dynamic else ()), *self.first_features)
        self.start(first)
        scram = str(self.release >= _SCRAM_FROM and not levels).lower()
        self.must_drive("Drive.java", "basic", str(topics), scram)
        for level in levels:
            self.must_drive("Drive.java", "feature", "metadata.version", str(level))
        if self.dynamic:
            self._change_voters()
        self.stop(first)
        self.start(first)
        until("a checkpoint", lambda: len(list(self.logs(first).glob("*.checkpoint"))) > 1)

    def _change_voters(self) -> None:
        for number in (2, 3):
            node = self.nodes[number]
            self.format(node, "--no-initial-controllers")
            self.start(node)
            self.must_drive("Voters.java", "add", str(number), node.directory_id, str(node.controller_port))
        lost = self.nodes[3]
        self.stop(lost)
        old = lost.directory_id
        shutil.rmtree(lost.data)
        self.format(lost, "--no-initial-controllers")
        self.start(lost)
        self.must_drive("Voters.java", "remove", "3", old)
        self.must_drive("Voters.java", "add", "3", lost.directory_id, str(lost.controller_port))

    def logs(self, node: Node) -> Path:
        """The place of its metadata log."""
        return node.data / "__cluster_metadata-0"

    def _run(self, main: str, *arguments: str) -> None:
        done = subprocess.run(self.kafka.command(main, *arguments), capture_output=True, timeout=60, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{main} {arguments}: {done.stdout.decode()} {done.stderr.decode()}")
