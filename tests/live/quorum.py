"""A quorum of real controllers on loopback, without Kubernetes: format, start, crash, freeze, wipe, and wait.

`LiveQuorum` has only the processes and their directories; the state of the quorum is read over the wire. Everything
that it starts ends with `close()`. Logs and directories stay, for the search for a cause.
"""

import secrets
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tests.live.jars import Kafka
from tests.live.ports import HOST, free_port
from tests.live.process import ServerProcess
from tests.live.storage import Format, InitialControllers, Mode, ToolResult, read_properties, start_format
from tests.live.waiting import DEADLINE_S, NeverHappenedError, wait_for

from kafka_quorum.errors import KafkaError
from kafka_quorum.model.ids import ClusterID, DirectoryID, NodeID, ReplicaKey, usable_uuid, uuid_from_bytes
from kafka_quorum.model.quorum import Endpoint, Listener, QuorumAnswer
from kafka_quorum.model.security import PLAINTEXT, Security
from kafka_quorum.wire.protocol import Controllers

LISTENER = "CONTROLLER"
FATAL_REMOVAL = "Unexpected acknowledgement from non-voter"
"""In the log of a leader of 3.9 or 4.1 that ended: a replica that was just removed still answered its heartbeat."""
_AGAIN_S = 30.0
LOGGING = {
    "log4j2.xml": """<Configuration status="error"><Appenders><Console name="console" target="SYSTEM_OUT">
<PatternLayout pattern="[%d] %p %m (%c)%n"/></Console></Appenders>
<Loggers><Root level="INFO"><AppenderRef ref="console"/></Root></Loggers></Configuration>
""",
    "log4j.properties": """log4j.rootLogger=INFO, console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=[%d] %p %m (%c)%n
""",
}
"""The format that 4.x reads, and the one that 3.9 reads."""


def new_uuid() -> str:
    """A UUID that Kafka could have generated."""
    while not usable_uuid(raw := secrets.token_bytes(16)):
        pass
    return uuid_from_bytes(raw)


@dataclass(slots=True)
class LiveNode:
    """One controller: its address, its directory, and its process if it has one."""

    node_id: NodeID
    port: int
    home: Path
    kafka: Kafka
    process: ServerProcess | None = None
    security: Security = PLAINTEXT

    @property
    def endpoint(self) -> Endpoint:
        """The address where it listens, and how it is reached."""
        return Endpoint(node_id=self.node_id, host=HOST, port=self.port, security=self.security)

    @property
    def listener(self) -> Listener:
        """The listener that it advertises."""
        return Listener(name=LISTENER, host=HOST, port=self.port)

    @property
    def config(self) -> Path:
        """Its server.properties."""
        return self.home / "server.properties"

    @property
    def data(self) -> Path:
        """Its log directory."""
        return self.home / "data"

    @property
    def log(self) -> Path:
        """Its output, over all its runs."""
        return self.home / "server.log"

    @property
    def meta(self) -> dict[str, str]:
        """Its meta.properties."""
        return read_properties(self.data / "meta.properties")

    @property
    def key(self) -> ReplicaKey:
        """The replica key on its disk."""
        return ReplicaKey(node_id=self.node_id, directory_id=DirectoryID(self.meta["directory.id"]))

    @property
    def running(self) -> ServerProcess:
        """Its process, which must exist."""
        if self.process is None:
            raise RuntimeError(f"controller {self.node_id} was not started")
        return self.process


@dataclass(slots=True)
class LiveQuorum:
    """Controllers under one directory; a node may have another release than `kafka`, and change it.

    `config` is added to every server.properties.
    """

    kafka: Kafka
    directory: Path
    cluster_id: ClusterID = field(default_factory=lambda: ClusterID(new_uuid()))
    config: dict[str, str] = field(default_factory=dict)
    more_bootstrap_servers: tuple[str, ...] = ()
    nodes: dict[NodeID, LiveNode] = field(default_factory=dict)

    def add_node(self, node_id: int, kafka: Kafka | None = None) -> LiveNode:
        """Adds a controller, of the quorum's release or another one; nothing is formatted or started."""
        home = self.directory / f"controller-{node_id}"
        home.mkdir(parents=True)
        node = LiveNode(node_id=NodeID(node_id), port=free_port(), home=home, kafka=kafka or self.kafka)
        self.nodes[node.node_id] = node
        for each in self.nodes.values():
            self.write_config(each)
        return node

    def write_config(self, node: LiveNode, **changed: str) -> None:
        """Writes its server.properties, as the operator would.

        `changed` has `_` for `.` in the names; an empty value removes the setting.
        """
        servers = [*self.more_bootstrap_servers, *(f"{HOST}:{each.port}" for each in self.nodes.values())]
        properties = {
            "process.roles": "controller",
            "node.id": str(node.node_id),
            "controller.listener.names": LISTENER,
            "listeners": f"{LISTENER}://{HOST}:{node.port}",
            "controller.quorum.bootstrap.servers": ",".join(servers),
            "controller.quorum.auto.join.enable": "false",
            "log.dirs": str(node.data),
            **self.config,
            **{name.replace("_", "."): value for name, value in changed.items()},
        }
        node.config.write_text("".join(f"{name}={value}\n" for name, value in properties.items() if value))

    def initial_controllers(self, nodes: Iterable[LiveNode]) -> InitialControllers:
        """Pre-made replica keys for these nodes."""
        return InitialControllers(
            voters=tuple(
                (ReplicaKey(node_id=node.node_id, directory_id=DirectoryID(new_uuid())), HOST, node.port)
                for node in nodes
            )
        )

    def format(
        self, nodes: Iterable[LiveNode], mode: Mode, features: tuple[str, ...] = (), more: tuple[str, ...] = ()
    ) -> list[ToolResult]:
        """Formats these nodes at the same time; the results show how each ended."""
        wanted = Format(cluster_id=self.cluster_id, mode=mode, features=features, more=more)
        running = [start_format(node.kafka, node.config, wanted) for node in nodes]
        return [each.result() for each in running]

    def must_format(self, nodes: Iterable[LiveNode], mode: Mode, features: tuple[str, ...] = ()) -> None:
        """Formats, and accepts only success."""
        for result in self.format(nodes, mode, features):
            if result.exit_code != 0:
                raise AssertionError(f"format ended with {result.exit_code}: {result.output}")

    def start(self, *nodes: LiveNode, options: tuple[str, ...] = ()) -> None:
        """Starts servers, with these options of Java; they need some seconds before they answer."""
        for name, text in LOGGING.items():
            (self.directory / name).write_text(text)
        options = (
            *options,
            f"-Dlog4j2.configurationFile={self.directory / 'log4j2.xml'}",
            f"-Dlog4j.configuration=file:{self.directory / 'log4j.properties'}",
        )
        for node in nodes:
            if node.process is not None and node.process.exit_code is None:
                raise RuntimeError(f"controller {node.node_id} runs already")
            command = node.kafka.command("kafka.Kafka", str(node.config), options=options)
            node.process = ServerProcess(command, node.log)

    def start_ended(self) -> None:
        """Starts each leader again that ended by itself after a removal, as the kubelet would (`FATAL_REMOVAL`)."""
        ended = [
            node for node in self.nodes.values() if node.process is not None and node.process.exit_code is not None
        ]
        self.start(*(node for node in ended if FATAL_REMOVAL in node.log.read_text()))

    def wipe(self, node: LiveNode) -> None:
        """Loses its disk: the directory exists, and is empty."""
        if node.process is not None and node.process.exit_code is None:
            raise RuntimeError(f"controller {node.node_id} still runs")
        shutil.rmtree(node.data)
        node.data.mkdir()

    def close(self) -> None:
        """Ends every process."""
        for node in self.nodes.values():
            if node.process is not None:
                node.process.kill()

    async def look(self, controllers: Controllers) -> QuorumAnswer | None:
        """The leader's answer, if one of the running nodes leads; the highest epoch counts."""
        answers = []
        for node in self.nodes.values():
            if node.process is None or node.process.exit_code is not None or node.process.frozen:
                continue
            answer = await _answer(controllers, node.endpoint)
            if answer is not None:
                answers.append(answer)
        return max(answers, key=lambda answer: answer.leader_epoch, default=None)

    async def leader(
        self, controllers: Controllers, *, deadline_s: float = DEADLINE_S
    ) -> tuple[LiveNode, QuorumAnswer]:
        """The leader, when it has a high watermark, and its answer."""

        async def settled() -> QuorumAnswer | None:
            answer = await self.look(controllers)
            return answer if answer is not None and answer.high_watermark > 0 else None

        answer = await wait_for("a leader with a high watermark", settled, deadline_s=deadline_s)
        return self.nodes[answer.leader_id], answer

    async def observer_again(self, controllers: Controllers, node: LiveNode, *, or_voter: bool = False) -> QuorumAnswer:
        """The same, to restore the world between two cases: a controller that does not fetch is restarted.

        `or_voter`: to be a voter is enough. A removal that a leader appended, and that its successor truncates, makes
        a replica a voter again: it never becomes an observer then. In four of some thousand cases one did not.
        """
        try:
            return await self.observer(controllers, node.key, or_voter=or_voter, deadline_s=_AGAIN_S)
        except NeverHappenedError:
            node.running.kill()
            self.start(node)
            return await self.observer(controllers, node.key, or_voter=or_voter)

    async def observer(
        self,
        controllers: Controllers,
        key: ReplicaKey,
        *,
        fetched_after_ms: int = 0,
        or_voter: bool = False,
        deadline_s: float = DEADLINE_S,
    ) -> QuorumAnswer:
        """Waits until the leader shows this replica as an observer with everything up to the high watermark.

        A leader still shows a replica that has gone; `fetched_after_ms`, by the leader's clock, requires a later fetch.
        The replica must also answer a request, because a controller that starts may fetch before it listens.
        """
        seen: QuorumAnswer | None = None

        async def caught_up() -> QuorumAnswer | None:
            nonlocal seen
            seen = answer = await self.look(controllers)
            if answer is None or answer.high_watermark <= 0:
                return None
            if or_voter and any(row.key == key for row in answer.voters):
                return answer
            rows = [row for row in answer.observers if row.key == key]
            if not rows or rows[0].last_fetch_ms <= fetched_after_ms:
                return None
            if rows[0].log_end_offset < answer.high_watermark - 2:
                return None
            await controllers.api_versions(self.nodes[key.node_id].endpoint)  # `wait_for` repeats after an error
            return answer

        try:
            return await wait_for(f"{key} as a caught-up observer", caught_up, deadline_s=deadline_s)
        except NeverHappenedError as error:
            raise NeverHappenedError(f"{error}; the leader's last answer: {seen}") from None


async def _answer(controllers: Controllers, endpoint: Endpoint) -> QuorumAnswer | None:
    try:
        return await controllers.describe_quorum(endpoint)
    except KafkaError:
        return None
