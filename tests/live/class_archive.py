"""Archives of loaded classes (Java's AppCDS), one for each release: with it a server starts with two thirds of the CPU.

Kafka itself writes it: one server with both roles is started and stopped with `-XX:ArchiveClassesAtExit`. The file is
kept outside the checkout, by a digest of the Java runtime and the jars: Java uses it with exactly these only.
"""

import fcntl
import functools
import hashlib
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Final

from tests.live.ports import HOST, free_port
from tests.live.process import ServerProcess

CACHE: Final = Path.home() / ".cache" / "kafka-quorum-operator" / "classes"
_START_S: Final = 90.0
_PAUSE_S: Final = 0.1
_CLUSTER_ID: Final = "AAAAAAAAAAAAAAAAAAAAAQ"
SMALL: Final = ("-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError")
"""What every Kafka of the tests starts with: a small heap, few threads, a quick start."""


class NoArchiveError(Exception):
    """Kafka did not start or did not stop; the text has its last lines."""


@functools.cache
def ensure_archive(java: str, libs: Path) -> Path:
    """The archive of this release, which is made if it is not there (NoArchiveError)."""
    path = CACHE / f"{_digest(java, libs)}.jsa"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                _make(java, libs, path)
    return path


def _digest(java: str, libs: Path) -> str:
    found = hashlib.sha256(str(libs).encode())
    for each in (Path(java).resolve(), *sorted(libs.glob("*.jar"))):
        about = each.stat()
        found.update(f"{each} {about.st_size} {about.st_mtime_ns}\n".encode())
    return found.hexdigest()[:24]


def _make(java: str, libs: Path, path: Path) -> None:
    with tempfile.TemporaryDirectory() as home:
        ports, begun, log = [free_port() for _ in range(2)], Path(home) / "classes.jsa", Path(home) / "log"
        config = Path(home) / "server.properties"
        config.write_text(_properties(Path(home), *ports))
        command = [java, *SMALL, "-Xmx512m", "-cp", f"{libs}/*"]
        tool = [*command, "kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", str(config)]
        with log.open("wb") as output:
            subprocess.run(tool, stdout=output, stderr=output, timeout=_START_S, check=False)
        dumping = [command[0], f"-XX:ArchiveClassesAtExit={begun}", *command[1:], "kafka.Kafka", str(config)]
        server = ServerProcess(dumping, log)
        try:
            _wait_for(server, ports[1])
            server.terminate()
            server.wait(_START_S)
        except (NoArchiveError, subprocess.TimeoutExpired) as error:
            raise NoArchiveError(f"{libs}: {error}: {log.read_text(errors='replace')[-1500:]}") from error
        finally:
            server.kill()
        if not begun.exists():
            raise NoArchiveError(f"{libs}: no archive was written: {log.read_text(errors='replace')[-1500:]}")
        complete = path.with_suffix(".new")
        shutil.move(begun, complete)
        complete.replace(path)


def _wait_for(server: ServerProcess, port: int) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        if server.exit_code is not None:
            raise NoArchiveError(f"Kafka ended with {server.exit_code}")
        with socket.socket() as probe:
            if probe.connect_ex((HOST, port)) == 0:
                return
        time.sleep(_PAUSE_S)
    raise NoArchiveError(f"Kafka did not listen within {_START_S:.0f} s")


def _properties(home: Path, controller: int, broker: int) -> str:
    return f"""process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{HOST}:{controller}
controller.listener.names=CONTROLLER
listeners=CONTROLLER://{HOST}:{controller},PLAINTEXT://{HOST}:{broker}
advertised.listeners=PLAINTEXT://{HOST}:{broker}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={home}/data
offsets.topic.replication.factor=1
"""
