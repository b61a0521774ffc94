"""The place of the jars of a Kafka release: the test-bed fetches them by Maven, once per machine.

Nothing is skipped when something is missing: a test that needs a live quorum gets it, or an error with the missing
packages.
"""

import functools
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.live.class_archive import SMALL, ensure_archive

DEFAULT_VERSION = "4.4.0"
OLDER_VERSIONS = ("4.1.2", "3.9.2")
"""The operator depends on differences between these releases, so each is compared with the same tables."""
JARS_VARIABLE = "KAFKA_JARS"
"""Names a directory with `libs/` of the default version, to be used in place of the test-bed's."""

_TESTBED = Path(__file__).resolve().parents[2] / "e2e" / "testbed"
_FETCH_TIMEOUT_S = 900.0


class LiveError(Exception):
    """The machine cannot run live quorums; the text names what to install."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kafka:
    """A release that can be run: its class path and a Java to run it with."""

    version: str
    libs: Path
    java: str

    def command(self, main: str, *arguments: str, options: tuple[str, ...] = ()) -> list[str]:
        """The command line of a Java program of this release: small heap, few threads, quick start."""
        archive = ensure_archive(self.java, self.libs)
        quick = (*SMALL, f"-XX:SharedArchiveFile={archive}", "-Xlog:disable")
        return [self.java, *quick, *options, "-cp", f"{self.libs}/*", main, *arguments]


@functools.cache
def ensure_kafka(version: str = DEFAULT_VERSION) -> Kafka:
    """Fetches the jars unless they are there already (LiveError)."""
    named = os.environ.get(JARS_VARIABLE) if version == DEFAULT_VERSION else None
    libs = (Path(named) if named else _fetch(version)) / "libs"
    if not list(libs.glob(f"kafka_2.13-{version}.jar")):
        raise LiveError(f"{libs} holds no Kafka {version}")
    java = shutil.which("java")
    if java is None:
        raise LiveError("live tests run Kafka: install a Java 17 runtime (Debian: openjdk-17-jre-headless)")
    if shutil.which("setpriv") is None:
        raise LiveError("live tests tie Kafka's life to their own with setpriv: install util-linux 2.33 or later")
    return Kafka(version=version, libs=libs, java=java)


def _fetch(version: str) -> Path:
    result = subprocess.run(
        [sys.executable, _TESTBED, "kafka-jars", version],
        capture_output=True,
        text=True,
        timeout=_FETCH_TIMEOUT_S,
        check=False,
    )
    if result.returncode != 0:
        raise LiveError(
            f"Kafka {version}'s jars cannot be fetched; Maven and Java are needed"
            f" (Debian: maven, openjdk-17-jre-headless): {result.stderr.strip()[-2000:]}"
        )
    return Path(result.stdout.strip().splitlines()[-1])
