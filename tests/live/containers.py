"""Containers of our pods as processes of this machine: their own commands and environments, on other paths.

The parts of an image are replaced: the fixed paths of the pods, the two programs of Kafka that the scripts call, and
host names, which Java reads from a file. Each pod has its own loopback address, so that every controller listens at the
same port, as in a cluster. Only its listener gets that address as a setting.
"""

import os
import shlex
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.live.jars import Kafka
from tests.live.process import ServerProcess
from tests.live.storage import STORAGE_TOOL

from kafka_quorum.resources.properties import CONFIG_PATH, DATA_PATH
from kit.kube.protocol import Json

_KAFKA_BIN: Final = "/opt/kafka/bin"
_TERMINATION_LOG: Final = "/dev/termination-log"
_MOUNTS: Final = "/proc/self/mountinfo"
_MESSAGE_LIMIT: Final = 4096
"""Bytes of a termination message, as in the kubelet."""


@dataclass(slots=True, kw_only=True, eq=False)
class Sandbox:
    """One pod on its node: an address, a directory for its files, the volume, and the container that runs now."""

    namespace: str
    name: str
    uid: str
    claim_uid: str
    address: str
    home: Path
    volume: Path
    host: str = ""
    """The name by which others find it; empty for a formatter."""
    port: int = 0
    verified: bool = False
    process: ServerProcess | None = None
    retry_s: float = 0.0
    said: Json | None = None
    """The last termination of the container that runs or waits."""
    done: bool = False
    end_by_s: float | None = None
    """Set while the pod is being deleted: the end of its grace period."""

    @property
    def termination_log(self) -> Path:
        """The file for a container's termination message."""
        return self.home / "termination-log"

    @property
    def log(self) -> Path:
        """The output of its containers, over all their runs."""
        return self.home / "output.log"

    @property
    def running(self) -> bool:
        """Whether the pod's main container runs."""
        return self.process is not None and self.verified


@dataclass(slots=True, kw_only=True)
class Runtime:
    """Starts containers, with the programs of the Kafka release that their image is tagged with."""

    releases: tuple[Kafka, ...]
    directory: Path
    _hosts: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Puts the programs in their places."""
        for kafka in self.releases:
            place = self._bin(kafka.version)
            place.mkdir(parents=True, exist_ok=True)
            self._program(kafka, place / "kafka-storage.sh", STORAGE_TOOL)
            self._program(kafka, place / "kafka-server-start.sh", "kafka.Kafka")
            self._script(place / "sync", ":")  # only a process ends here, so written data is not lost
        self._write_hosts()

    def _bin(self, version: str) -> Path:
        return self.directory / f"bin-{version}"

    @property
    def _hosts_file(self) -> Path:
        return self.directory / "hosts"

    def prepare(self, sandbox: Sandbox, files: dict[str, str]) -> None:
        """Mounts the config map, and makes the pod's name resolvable."""
        config = sandbox.home / "config"
        config.mkdir(parents=True)
        (sandbox.home / "mountinfo").write_text(f"1 0 8:1 / {sandbox.volume} rw - ext4 /dev/sda1 rw\n")
        for name, text in files.items():
            (config / name).write_text(self._placed(sandbox, text).replace("://:", f"://{sandbox.address}:"))
        if sandbox.host:
            self._hosts[sandbox.host] = sandbox.address
            self._write_hosts()

    def forget(self, sandbox: Sandbox) -> None:
        """Removes the address of its name, unless another pod has the name by now."""
        if self._hosts.get(sandbox.host) == sandbox.address:
            del self._hosts[sandbox.host]
            self._write_hosts()

    def start(self, sandbox: Sandbox, container: Json) -> ServerProcess:
        """Runs a container's command."""
        programs = self._bin(container["image"].rpartition(":")[2])
        if not programs.is_dir():
            raise LookupError(f"no Kafka of image {container['image']} is here: name its release to the cluster")
        command = [self._placed(sandbox, word).replace(_KAFKA_BIN, str(programs)) for word in container["command"]]
        own = {row["name"]: self._placed(sandbox, row.get("value", "")) for row in container["env"]}
        path = f"{programs}:{os.environ['PATH']}"
        sandbox.termination_log.unlink(missing_ok=True)
        return ServerProcess(command, sandbox.log, {**own, "PATH": path})

    def ended(self, sandbox: Sandbox, exit_code: int, finished_at: str) -> Json:
        """The kubelet's report of an ended container; after an error without a last message, the end of its log."""
        words = ""
        if sandbox.termination_log.exists():
            words = sandbox.termination_log.read_text(errors="replace")
        elif exit_code != 0:
            words = sandbox.log.read_text(errors="replace")
        return {
            "exitCode": 128 - exit_code if exit_code < 0 else exit_code,
            "reason": "Completed" if exit_code == 0 else "Error",
            "message": words[-_MESSAGE_LIMIT:],
            "finishedAt": finished_at,
        }

    def _placed(self, sandbox: Sandbox, text: str) -> str:
        places = {
            DATA_PATH: sandbox.volume,
            CONFIG_PATH: sandbox.home / "config",
            _TERMINATION_LOG: sandbox.termination_log,
            _MOUNTS: sandbox.home / "mountinfo",
        }
        for path, place in places.items():
            text = text.replace(path, str(place))
        return text

    def _program(self, kafka: Kafka, program: Path, main: str) -> None:
        java, *rest = kafka.command(main, options=(f"-Djdk.net.hosts.file={self._hosts_file}",))
        self._script(program, f'exec {shlex.quote(java)} $KAFKA_LOG4J_OPTS $KAFKA_OPTS {shlex.join(rest)} "$@"')

    def _script(self, program: Path, line: str) -> None:
        program.write_text(f"#!/bin/sh\n{line}\n")
        program.chmod(0o755)

    def _write_hosts(self) -> None:
        rows = {"localhost": "127.0.0.1", socket.gethostname(): "127.0.0.1", **self._hosts}
        written = self._hosts_file.with_suffix(".new")
        written.write_text("".join(f"{address} {host}\n" for host, address in rows.items()))
        written.replace(self._hosts_file)
