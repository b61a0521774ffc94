"""One real ZooKeeper server on loopback, from the jars of Kafka 3.9.2: plain, with SASL DIGEST-MD5, or with TLS.

The certificates are made with the `openssl` command, for one test run each.
"""

import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kazoo.client import KazooClient
from tests.live.jars import Kafka
from tests.live.ports import HOST, free_port
from tests.live.process import ServerProcess
from tests.live.waiting import DEADLINE_S, NeverHappenedError

VERSION: Final = "3.9.2"
_LOG4J: Final = """log4j.rootLogger=INFO, console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=[%d] %p %m (%c)%n
"""


@dataclass(slots=True)
class ZooKeeperServer:
    """A server and its directory. `config` and `options` are added to its properties and to Java's command line."""

    kafka: Kafka
    home: Path
    config: dict[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    port: int = field(default_factory=free_port)
    secure_port: int = 0
    process: ServerProcess | None = None

    @property
    def connect(self) -> str:
        """Its address, without a chroot."""
        return f"{HOST}:{self.port}"

    @property
    def running(self) -> ServerProcess:
        """Its process, which must exist."""
        assert self.process is not None
        return self.process

    def start(self) -> None:
        """Start it, and wait until it accepts connections."""
        self.home.mkdir(parents=True, exist_ok=True)
        properties = {
            "dataDir": str(self.home / "data"),
            "clientPort": str(self.port),
            "clientPortAddress": HOST,
            "tickTime": "1000",
            "maxClientCnxns": "0",
            "admin.enableServer": "false",
            **({"secureClientPort": str(self.secure_port)} if self.secure_port else {}),
            **self.config,
        }
        (self.home / "zoo.cfg").write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        (self.home / "log4j.properties").write_text(_LOG4J)
        logging = f"-Dlog4j.configuration=file:{self.home / 'log4j.properties'}"
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        command = self.kafka.command(main, str(self.home / "zoo.cfg"), options=(logging, *self.options))
        self.process = ServerProcess(command, self.home / "server.log")
        for port in (self.port, self.secure_port):
            if port:
                self._accepts(port)

    def _accepts(self, port: int) -> None:
        end_s = time.monotonic() + DEADLINE_S
        while time.monotonic() < end_s:
            if self.running.exit_code is not None:
                raise AssertionError(self.running.log.read_text()[-2000:])
            with socket.socket() as probe:
                if probe.connect_ex((HOST, port)) == 0:
                    return
            time.sleep(0.05)
        raise NeverHappenedError(f"ZooKeeper does not accept connections at port {port}")

    def close(self) -> None:
        """End it."""
        if self.process is not None:
            if self.process.frozen:
                self.process.thaw()
            self.process.kill()

    def client(self) -> KazooClient:
        """A connected client without a user, to make nodes with and to look at them."""
        client = KazooClient(self.connect)
        client.start(timeout=30)
        return client


def jaas(home: Path, users: dict[str, str]) -> Path:
    """The file of a server's users, for `-Djava.security.auth.login.config`."""
    path = home / "jaas.conf"
    home.mkdir(parents=True, exist_ok=True)
    entries = " ".join(f'user_{name}="{password}"' for name, password in users.items())
    path.write_text(f"Server {{ org.apache.zookeeper.server.auth.DigestLoginModule required {entries}; }};\n")
    return path


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate authority of a test: `issue` makes certificates."""

    home: Path

    @classmethod
    def make(cls, home: Path) -> "Authority":
        """A new one in a directory."""
        home.mkdir(parents=True)
        subject = ("-subj", f"/CN={home.name}", "-days", "2", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
        files = ("-keyout", home / "ca.key", "-out", home / "ca.crt")
        _openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", *subject, *files)
        return cls(home)

    @property
    def certificate(self) -> str:
        """Its own certificate, PEM."""
        return (self.home / "ca.crt").read_text()

    def issue(self, name: str, *names: str) -> tuple[str, str]:
        """A certificate and its key (PKCS#8) in PEM, for these alternative names (`DNS:localhost`, `IP:127.0.0.1`)."""
        key, request, certificate, extra = (self.home / f"{name}.{end}" for end in ("key", "csr", "crt", "ext"))
        alternative = f"subjectAltName={','.join(names)}\n" if names else ""
        extra.write_text(alternative + "authorityKeyIdentifier=keyid\n")
        _openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout", key, "-out", request)
        issuer = ("-CA", self.home / "ca.crt", "-CAkey", self.home / "ca.key", "-CAcreateserial", "-days", "2")
        _openssl("x509", "-req", "-in", request, *issuer, "-extfile", extra, "-out", certificate)
        return certificate.read_text(), key.read_text()


def _openssl(*arguments: object) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=60)
