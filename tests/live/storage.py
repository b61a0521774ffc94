"""Kafka's StorageTool: every way of formatting that the operator uses or must handle."""

import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from tests.live.jars import Kafka

from kafka_quorum.model.ids import ClusterID, ReplicaKey

_FORMAT_TIMEOUT_S = 60.0
STORAGE_TOOL = "kafka.tools.StorageTool"


@dataclass(frozen=True, slots=True, kw_only=True)
class InitialControllers:
    """`--initial-controllers`: the first voters, by replica key and address (host, port)."""

    voters: tuple[tuple[ReplicaKey, str, int], ...]

    def arguments(self) -> list[str]:
        """In the tool's format: `3000@host:9093:directoryid,…`."""
        rows = (f"{key.node_id}@{host}:{port}:{key.directory_id}" for key, host, port in self.voters)
        return ["--initial-controllers", ",".join(rows)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standalone:
    """`--standalone`: the only voter, with a directory id that the tool generates."""

    def arguments(self) -> list[str]:
        """In the tool's format."""
        return ["--standalone"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoInitialControllers:
    """`--no-initial-controllers`: an observer, which can be added later."""

    def arguments(self) -> list[str]:
        """In the tool's format."""
        return ["--no-initial-controllers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeMissing:
    """No mode at all."""

    def arguments(self) -> list[str]:
        """No arguments."""
        return []


Mode = InitialControllers | Standalone | NoInitialControllers | ModeMissing


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One run of `StorageTool format`; `features` as given on the command line (`metadata.version=27`)."""

    cluster_id: ClusterID
    mode: Mode
    features: tuple[str, ...] = ()
    more: tuple[str, ...] = field(default=())

    def arguments(self, config: Path) -> list[str]:
        """The tool's command line."""
        features = [word for feature in self.features for word in ("--feature", feature)]
        fixed = ["format", "--config", str(config), f"--cluster-id={self.cluster_id}"]
        return [*fixed, *self.mode.arguments(), *features, *self.more]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """How the tool ended, and its output."""

    exit_code: int
    output: str


def run_format(kafka: Kafka, config: Path, *formats: Format) -> ToolResult:
    """Runs the tool (the last result, if several runs follow each other)."""
    result = ToolResult(exit_code=0, output="")
    for each in formats:
        result = start_format(kafka, config, each).result()
    return result


@dataclass(frozen=True, slots=True)
class RunningFormat:
    """A run of the tool in the background: several nodes are formatted in the time of one."""

    process: subprocess.Popen[str]

    def result(self) -> ToolResult:
        """Waits for its end (TimeoutExpired)."""
        try:
            output, _ = self.process.communicate(timeout=_FORMAT_TIMEOUT_S)
        finally:
            self.process.kill()
        return ToolResult(exit_code=self.process.returncode, output=output)


def start_format(kafka: Kafka, config: Path, wanted: Format) -> RunningFormat:
    """Starts the tool."""
    command = kafka.command(STORAGE_TOOL, *wanted.arguments(config))
    return RunningFormat(
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    )


def read_properties(path: Path) -> dict[str, str]:
    """A Java properties file as Kafka writes it: no escapes, no continued lines."""
    lines = (line.strip() for line in path.read_text().splitlines())
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
