"""Releases of Kafka Streams that can be run: their jars, and the counting application compiled for each.

The jars are fetched by Maven once per machine, and the application is compiled by javac for each release, into the same
cache (`e2e/testbed streams-jars`).
"""

import functools
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.live.jars import LiveError

_TESTBED: Final = Path(__file__).resolve().parents[3] / "e2e" / "testbed"
_FETCH_TIMEOUT_S: Final = 900.0


def parsed(version: str) -> tuple[int, ...]:
    """`0.10.2.2` as numbers, which can be compared (ValueError)."""
    return tuple(int(word) for word in version.split("."))


def minor(version: str) -> str:
    """The release without its last number, as `upgrade.from` names it: `2.3` of `2.3.1`, `0.10.0` of `0.10.0.1`."""
    return version.rpartition(".")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams:
    """A release that can be run: its jars, the compiled application, and a Java."""

    version: str
    libs: Path
    classes: Path
    java: str

    def command(self, main: str, *arguments: str, options: tuple[str, ...] = ()) -> list[str]:
        """The command line of one of the application's programs: small heap, few threads, quick start."""
        small = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError")
        logging = (
            "-Dorg.slf4j.simpleLogger.showDateTime=true",
            "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
            "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.clients=warn",
            "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.clients.consumer.internals=info",
            "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.common=error",
        )
        return [self.java, *small, *logging, *options, "-cp", f"{self.classes}:{self.libs}/*", main, *arguments]


@functools.cache
def ensure_streams(version: str) -> Streams:
    """Fetches the jars and compiles the application, unless that was done before (LiveError)."""
    home = _fetch(version)
    java = shutil.which("java")
    if java is None or shutil.which("javac") is None:
        raise LiveError("Streams applications are compiled: install a JDK 17 (Debian: openjdk-17-jdk-headless)")
    return Streams(version=version, libs=home / "libs", classes=home / "classes", java=java)


def _fetch(version: str) -> Path:
    command = [sys.executable, str(_TESTBED), "streams-jars", version]
    result = subprocess.run(command, capture_output=True, text=True, timeout=_FETCH_TIMEOUT_S, check=False)
    if result.returncode != 0:
        raise LiveError(f"Kafka Streams {version}'s jars cannot be fetched: {result.stderr.strip()[-2000:]}")
    home = Path(result.stdout.strip().splitlines()[-1])
    if not (home / "libs" / f"kafka-streams-{version}.jar").exists():
        raise LiveError(f"{home} holds no Kafka Streams {version}")
    return home
