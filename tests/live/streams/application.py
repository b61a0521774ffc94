"""Three instances of the counting application: started, stopped and replaced like the pods of a StatefulSet.

Each instance keeps its directory, with the state and one log, over all its runs.
"""

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.live.ports import HOST
from tests.live.process import ServerProcess
from tests.live.streams.broker import Broker
from tests.live.streams.feed import Feed
from tests.live.streams.groups import Group, Offsets, describe, describe_streams
from tests.live.streams.releases import Streams

PARTITIONS: Final = 3
SESSION_MS: Final = 3000
STREAMS: Final = "streams"
"""The `group.protocol` of KIP-1071."""
_STOP_S: Final = 15.0


@dataclass(slots=True)
class Instance:
    """One pod's worth: a name, a directory, the release that runs, and its process."""

    name: str
    home: Path
    release: Streams | None = None
    process: ServerProcess | None = None
    log_offset: int = 0

    @property
    def state_dir(self) -> Path:
        """The local state."""
        return self.home / "state"

    @property
    def log(self) -> Path:
        """The output, over all runs."""
        return self.home / "app.log"

    @property
    def _report(self) -> Path:
        return self.home / "report"

    def run_log(self) -> str:
        """The output of the present or last run."""
        return self.log.read_bytes()[self.log_offset :].decode(errors="replace")

    def start(self, release: Streams, config: Mapping[str, str]) -> None:
        """Starts it with this configuration."""
        self.home.mkdir(parents=True, exist_ok=True)
        for each in (self._report, self.home / "tmp"):
            shutil.rmtree(each, ignore_errors=True) if each.is_dir() else each.unlink(missing_ok=True)
        (self.home / "tmp").mkdir()
        properties = {
            **config,
            "client.id": self.name,
            "state.dir": str(self.state_dir),
            "app.state": str(self._report),
        }
        path = self.home / "app.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        self.log_offset = self.log.stat().st_size if self.log.exists() else 0
        self.release = release
        options = (f"-Djava.io.tmpdir={self.home / 'tmp'}",)
        self.process = ServerProcess(release.command("Count", str(path), options=options), self.log)

    def stop(self) -> bool:
        """Ends it as Kubernetes does; whether it ended by itself in time."""
        process, self.process = self.process, None
        if process is None:
            return True
        process.terminate()
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            return False
        return True

    def report(self) -> tuple[str, int] | None:
        """State and live stream threads; None before the first report."""
        try:
            state, threads = self._report.read_text().split()
        except (FileNotFoundError, ValueError):
            return None
        return state, int(threads)

    def dead(self) -> str | None:
        """Why it does not work any more, or None: the process ended, or the stream thread did."""
        if self.process is None:
            return None
        if self.process.exit_code is not None:
            return f"the process ended with {self.process.exit_code}"
        seen = self.report()
        if seen is None:
            return None
        state, threads = seen
        if threads == 0 or state in {"ERROR", "NOT_RUNNING", "PENDING_ERROR"}:
            return f"no stream thread lives, state {state}"
        return None


@dataclass(slots=True)
class Application:
    """An application with its topics, its feed, and three instances. `config` is added to what each instance gets."""

    broker: Broker
    name: str
    home: Path
    config: dict[str, str] = field(default_factory=dict)
    instances: list[Instance] = field(default_factory=list)
    feed: Feed | None = None
    offsets: Offsets | None = None
    streams_protocol: bool = False

    @property
    def input(self) -> str:
        """The topic that is counted."""
        return f"{self.name}-input"

    @property
    def output(self) -> str:
        """The topic with the counts."""
        return f"{self.name}-output"

    def open(self, count: int = 3) -> None:
        """Makes topics and instances, and starts the feed; 0.10 would need ZooKeeper to make the changelog."""
        changelog = f"{self.name}-Counts-changelog"
        self.broker.topics({self.input: {}, self.output: {}, changelog: {"cleanup.policy": "compact"}}, PARTITIONS)
        self.instances = [Instance(name=f"app-{index}", home=self.home / f"app-{index}") for index in range(count)]
        self.offsets = Offsets(self.broker.bootstrap, self.name, self.input, PARTITIONS)
        self.feed = Feed(self.broker.bootstrap, self.input)

    def close(self) -> None:
        """Ends everything."""
        for each in self.instances:
            if each.process is not None:
                each.process.kill()
        if self.feed is not None:
            self.feed.stop()
        if self.offsets is not None:
            self.offsets.close()

    def start(self, instance: Instance, release: Streams, *, upgrade_from: str | None = None, **more: str) -> None:
        """Starts an instance; `more` has `_` for `.`."""
        properties = {
            "application.id": self.name,
            "bootstrap.servers": self.broker.bootstrap,
            "app.input": self.input,
            "app.output": self.output,
            "num.stream.threads": "1",
            "replication.factor": "1",
            "commit.interval.ms": "200",
            "poll.ms": "50",
            "session.timeout.ms": str(SESSION_MS),
            "heartbeat.interval.ms": "500",
            "metadata.max.age.ms": "5000",
            "auto.offset.reset": "earliest",  # 0.10.0 begins at the end otherwise, and misses what came before it
            **{f"{prefix}{kind}.serde": _STRING for prefix in ("", "default.") for kind in ("key", "value")},
            **({"upgrade.from": upgrade_from} if upgrade_from else {}),
            **self.config,
            **{name.replace("_", "."): value for name, value in more.items()},
        }
        if properties.get("group.protocol") == STREAMS:
            for coordinated in ("session.timeout.ms", "heartbeat.interval.ms"):  # the broker has them
                properties.pop(coordinated)
        instance.start(release, properties)

    def group(self) -> Group:
        """As the coordinator shows it; a broker before 4.0 closes the connection if asked for a streams group."""
        if not self.streams_protocol:
            return describe(HOST, self.broker.port, self.name)
        try:
            return describe_streams(HOST, self.broker.port, self.name)
        except ConnectionError:
            return Group(state="Unanswered", members=())


_STRING: Final = "org.apache.kafka.common.serialization.Serdes$StringSerde"
