"""Kafka's and Java's own classes, asked about names, key stores and trust stores in one Java process."""

import base64
import subprocess
from pathlib import Path
from typing import Final

from tests.live.jars import Kafka

_PROGRAM: Final = Path(__file__).with_name("Pki.java")


class RefusedError(Exception):
    """What Java threw."""


class Java:
    """The process; `close()` ends it."""

    def __init__(self, kafka: Kafka) -> None:
        """Starts it: a Java of one source file needs a compiler, which a JDK has."""
        command = kafka.command(str(_PROGRAM))
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )

    def close(self) -> None:
        """Ends it."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    def name(self, der: bytes) -> str:
        """`X500Principal.getName()` of an encoded name (RefusedError)."""
        return _decoded(self._ask("name", base64.b64encode(der).decode()))

    def supers(self, text: str) -> set[str]:
        """The principals that Kafka's authorizer reads in `super.users` (RefusedError)."""
        answer = self._ask("supers", base64.b64encode(text.encode()).decode())
        return {_decoded(each) for each in answer.split(",") if each}

    def load(self, keystore: Path | None, truststore: Path | None) -> None:
        """Kafka loads these files (RefusedError)."""
        self._ask("load", str(keystore or "-"), str(truststore or "-"))

    def asks(self, server: str, keystore: Path | None, truststore: Path) -> str:
        """What cluster a real broker (`localhost:9093`) is of, as Kafka's own client sees it (RefusedError)."""
        return _decoded(self._ask("asks", server, str(keystore or "-"), str(truststore)))

    def handshake(self, server: tuple[Path, Path], client: tuple[Path | None, Path], host: str) -> str:
        """Mutual TLS, each side with key store and trust store; the client's name at the server (RefusedError)."""
        return _decoded(self._ask("handshake", *map(str, server), str(client[0] or "-"), str(client[1]), host))

    def _ask(self, *words: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\t".join(words) + "\n")
        self._process.stdin.flush()
        verdict, _, answer = self._process.stdout.readline().rstrip("\n").partition("\t")
        if verdict != "ok":
            raise RefusedError(answer or "the process has ended")
        return answer


def _decoded(text: str) -> str:
    return base64.b64decode(text).decode()
