"""A real broker of 3.9.2 reaches a ZooKeeper that demands TLS, a certificate, and a user with a difficult password.

It gets what a pod gets: the properties, and the files that the shell lines make of the Secret.
"""

import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.live.jars import Kafka, LiveError, ensure_kafka
from tests.live.process import ServerProcess
from tests.live.quorum import HOST, LOGGING, free_port
from tests.live.waiting import wait_for

from kafka_quorum.model.zookeeper import ZooKeeperAccess
from kafka_quorum.resources import zookeeper

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

RELEASE = "3.9.2"
USER, PASSWORD = "ada", 'p"a\\s$s ${user.dir} é'
ZOO = """\
dataDir={home}/data
secureClientPort={port}
serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory
admin.enableServer=false
ssl.keyStore.location={home}/server.pem
ssl.keyStore.type=PEM
ssl.trustStore.location={home}/ca.crt
ssl.trustStore.type=PEM
ssl.clientAuth=need
authProvider.x509=org.apache.zookeeper.server.auth.X509AuthenticationProvider
authProvider.sasl=org.apache.zookeeper.server.auth.SASLAuthenticationProvider
enforce.auth.enabled=true
enforce.auth.schemes=sasl
"""


def openssl(home: Path, *arguments: str) -> None:
    """Runs openssl in a directory (LiveError)."""
    program = shutil.which("openssl")
    if program is None:
        raise LiveError("this test makes certificates: install openssl (Debian: openssl)")
    done = subprocess.run([program, *arguments], cwd=home, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise LiveError(f"openssl {arguments[0]}: {done.stderr}")


def certificates(home: Path) -> None:
    """An authority, and a certificate with a key for a server on loopback and for a client."""
    key = ("-newkey", "rsa:2048", "-nodes", "-days", "2")
    openssl(home, "req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=authority")
    (home / "san").write_text(f"subjectAltName=IP:{HOST}\n")
    for name in ("server", "client"):
        openssl(home, "req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        made = ("-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "san")
        openssl(home, "x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.crt", *made)
    (home / "server.pem").write_text((home / "server.key").read_text() + (home / "server.crt").read_text())


@dataclass(slots=True)
class Guarded:
    """A ZooKeeper that demands everything, and what a pod has of its Secret."""

    kafka: Kafka
    home: Path
    port: int
    process: ServerProcess | None = None

    @property
    def secret(self) -> Path:
        """The Secret's mount."""
        return self.home / "secret"

    def open(self) -> None:
        """Makes the certificates and starts ZooKeeper."""
        for place in (self.secret, self.home / "made", self.home / "data"):
            place.mkdir(parents=True)
        certificates(self.home)
        for name, text in LOGGING.items():
            (self.home / name).write_text(text)
        (self.home / "zoo.cfg").write_text(ZOO.format(home=self.home, port=self.port))
        word = PASSWORD.replace("\\", "\\\\").replace('"', '\\"').replace("$", "${d}")
        jaas = f'Server {{ org.apache.zookeeper.server.auth.DigestLoginModule required user_{USER}="{word}"; }};'
        (self.home / "server.jaas").write_text(jaas)
        options = (self.logging, f"-Djava.security.auth.login.config={self.home / 'server.jaas'}", "-Dd=$")
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        command = self.kafka.command(main, str(self.home / "zoo.cfg"), options=options)
        self.process = ServerProcess(command, self.home / "zookeeper.log")

    @property
    def logging(self) -> str:
        """Java's option for log4j."""
        return f"-Dlog4j.configuration=file:{self.home / 'log4j.properties'}"

    def put(self, **keys: str) -> None:
        """Writes keys of the Secret; `_` in a name stands for a dot."""
        for key, text in keys.items():
            (self.secret / key.replace("_", ".")).write_text(text)

    def broker(self, log: Path) -> ServerProcess:
        """Starts a broker as its pod would."""
        access = ZooKeeperAccess(connect=f"{HOST}:{self.port}/kafka", secret_name="zoo")  # noqa: S106 - a name
        made = self.home / "made"
        script = zookeeper.shell(access) + 'printf %s "${KAFKA_OPTS:-}"\n'
        script = script.replace(zookeeper.SECRET_PATH, str(self.secret)).replace(zookeeper.FILES_PATH, str(made))
        done = subprocess.run(["sh", "-c", script], check=True, capture_output=True, text=True)
        config = self.home / f"{log.name}.properties"
        own = {
            "broker.id": "1",
            "listeners": f"PLAINTEXT://{HOST}:{free_port()}",
            "log.dirs": str(self.home / f"{log.name}-data"),
            "zookeeper.connection.timeout.ms": "15000",
            **dict(zookeeper.properties(access)),
        }
        lines = "".join(f"{name}={value}\n" for name, value in own.items())
        config.write_text(lines + (made / "tls.properties").read_text())
        options = (self.logging, "-Xmx256m", *shlex.split(done.stdout.replace("$", "\\$")))
        return ServerProcess(self.kafka.command("kafka.Kafka", str(config), options=options), log)


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Guarded]:
    """It runs."""
    made = Guarded(kafka=ensure_kafka(RELEASE), home=tmp_path / "guarded", port=free_port())
    try:
        made.open()
        yield made
    finally:
        if made.process is not None:
            made.process.kill()


async def test_a_broker_with_its_secret(guarded: Guarded, tmp_path: Path) -> None:
    """With user, password, authority and certificate the broker starts; with another password it ends."""
    home = guarded.home
    guarded.put(username=USER, password=PASSWORD, ca_crt=(home / "ca.crt").read_text())
    guarded.put(tls_crt=(home / "client.crt").read_text(), tls_key=(home / "client.key").read_text())
    log = tmp_path / "good"
    broker = guarded.broker(log)
    try:

        async def started() -> bool | None:
            text = log.read_text(errors="replace")
            assert broker.exit_code is None, text[-3000:]
            return True if "] started (kafka.server.KafkaServer)" in text else None

        await wait_for("the broker starts", started)
    finally:
        broker.kill()
    text = log.read_text(errors="replace")
    assert PASSWORD not in text
    guarded.put(password="another")  # noqa: S106 - of this test alone
    log = tmp_path / "bad"
    broker = guarded.broker(log)
    try:

        async def ended() -> bool | None:
            return broker.exit_code is not None or None

        await wait_for("the broker ends", ended, deadline_s=60)
    finally:
        broker.kill()
