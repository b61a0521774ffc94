"""A real broker of 3.9.2 reaches a ZooKeeper that demands TLS, a certificate, and a user with a difficult password.

It gets what a pod gets: the properties, and the files that the shell lines make of the Secret.
"""

import shlex
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from kazoo.security import Permissions
from tests.live.broker_worlds import note
from tests.live.jars import Kafka, LiveError, ensure_kafka
from tests.live.ports import HOST, free_port
from tests.live.process import ServerProcess
from tests.live.quorum import LOGGING
from tests.live.storage import Format, ModeMissing, run_format
from tests.live.waiting import wait_for

from kafka_quorum.model.beside import to_give_back
from kafka_quorum.model.ids import ClusterID
from kafka_quorum.model.zookeeper import ZooKeeperAccess, ZooKeeperSecret, ZooKeeperSeen
from kafka_quorum.resources import zookeeper
from kafka_quorum.wire.zookeeper import KazooZooKeepers
from kafka_quorum.wire.zookeeper_nodes import parse_connect
from kafka_quorum.wire.zookeeper_session import Session

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

RELEASE = "3.9.2"
PROTOCOLS = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT"
_REFUSALS = 3
"""The number of refusals after which a broker that still runs counts as refused."""
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

    @property
    def access(self) -> ZooKeeperAccess:
        """As the spec has it."""
        return ZooKeeperAccess(connect=f"{HOST}:{self.port}/kafka", secret_name="zoo")  # noqa: S106 - a name

    def broker(self, log: Path, **more: str) -> ServerProcess:
        """Starts a broker as its pod would; `more` has `_` for `.` in the names."""
        own = {
            "broker.id": "1",
            "listeners": f"PLAINTEXT://{HOST}:{free_port()}",
            "log.dirs": str(self.home / f"{log.name}-data"),
            "zookeeper.connection.timeout.ms": "15000",
            **{name.replace("_", "."): value for name, value in more.items()},
        }
        return self.server(log, own)

    def server(self, log: Path, own: dict[str, str]) -> ServerProcess:
        """Starts a server with these settings, and with what its pod gets of ZooKeeper."""
        made = self.home / "made"
        script = zookeeper.shell(self.access) + 'printf %s "${KAFKA_OPTS:-}"\n'
        script = script.replace(zookeeper.SECRET_PATH, str(self.secret)).replace(zookeeper.FILES_PATH, str(made))
        done = subprocess.run(["sh", "-c", script], check=True, capture_output=True, text=True)
        config = self.home / f"{log.name}.properties"
        settings = {**own, **dict(zookeeper.properties(self.access))}
        lines = "".join(f"{name}={value}\n" for name, value in settings.items())
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
    """With user, password, authority and certificate the broker starts; with another password it does not.

    It ends, or it repeats its attempts, depending on when ZooKeeper refuses it. Both were measured.
    """
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

        async def refused() -> bool | None:
            text = log.read_text(errors="replace")
            assert "] started (kafka.server.KafkaServer)" not in text
            return broker.exit_code not in (None, 0) or text.count("SASL authentication failed") >= _REFUSALS or None

        await wait_for("the broker is refused", refused, deadline_s=60)
    finally:
        broker.kill()


@dataclass(frozen=True, slots=True)
class Asking:
    """The operator's own client of this ZooKeeper, with what its Secret has."""

    guarded: Guarded
    keepers: KazooZooKeepers
    secret: ZooKeeperSecret

    async def until(self, what: str, holds: Callable[[ZooKeeperSeen], bool]) -> ZooKeeperSeen:
        """Waits until a read shows this; an error of ZooKeeper is no read."""

        async def look() -> ZooKeeperSeen | None:
            found = await self.keepers.read(self.guarded.access, self.secret, rights=True, states=True)
            return found if holds(found) else None

        return await wait_for(what, look)


@pytest_asyncio.fixture
async def asking(guarded: Guarded) -> AsyncIterator[Asking]:
    """The Secret is complete."""
    texts = {name: (guarded.home / name).read_text() for name in ("ca.crt", "client.crt", "client.key")}
    guarded.put(username=USER, password=PASSWORD, ca_crt=texts["ca.crt"])
    guarded.put(tls_crt=texts["client.crt"], tls_key=texts["client.key"])
    secret = ZooKeeperSecret(
        username=USER, password=PASSWORD, ca=texts["ca.crt"], certificate=texts["client.crt"], key=texts["client.key"]
    )
    keepers = KazooZooKeepers()
    yield Asking(guarded, keepers, secret)
    await keepers.close()


def controller(guarded: Guarded, log: Path, listener: int, cluster_id: str, **more: str) -> ServerProcess:
    """Formats a controller that migrates, and starts it as its pod would; `more` has `_` for `.` in the names."""
    own = {
        "process.roles": "controller",
        "node.id": "3000",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": f"3000@{HOST}:{listener}",
        "listeners": f"CONTROLLER://{HOST}:{listener}",
        "listener.security.protocol.map": PROTOCOLS,
        "log.dirs": str(guarded.home / "controller-data"),
        "zookeeper.metadata.migration.enable": "true",
        "inter.broker.listener.name": "PLAINTEXT",
        "zookeeper.connect": guarded.access.connect,
        **{name.replace("_", "."): value for name, value in more.items()},
    }
    config = guarded.home / "format.properties"
    config.write_text("".join(f"{name}={value}\n" for name, value in own.items()))
    done = run_format(guarded.kafka, config, Format(cluster_id=ClusterID(cluster_id), mode=ModeMissing()))
    assert done.exit_code == 0, done.output
    return guarded.server(log, own)


def leads(seen: ZooKeeperSeen) -> str:
    """Who leads: nobody, a broker or KRaft."""
    if seen.controller is None:
        return "nobody"
    return "a broker" if seen.controller.kraft_epoch is None else "KRaft"


@pytest.mark.full
@pytest.mark.parametrize("closed", [False, True])
async def test_whose_znodes_a_controller_makes(
    guarded: Guarded, asking: Asking, tmp_path: Path, *, closed: bool
) -> None:
    """A controller that migrates reaches it, too. Whose its znodes are is its own setting, not that of the brokers."""
    servers = [guarded.broker(tmp_path / "broker", zookeeper_set_acl="true")]
    try:
        before = await asking.until("a broker leads", lambda seen: leads(seen) == "a broker")
        assert before.denied == ()
        log = tmp_path / "controller"
        acl = str(closed).lower()
        servers.append(controller(guarded, log, free_port(), before.cluster_id, zookeeper_set_acl=acl))
        after = await asking.until("/migration exists", lambda seen: seen.migration is not None)
        assert after.denied == ()
        assert PASSWORD not in log.read_text(errors="replace")
        session = Session(parse_connect(guarded.access.connect), asking.secret, time.monotonic() + 30)
        session.open()
        writers = {
            path: {each.id.scheme for each in session.client.get_acls(path)[0] if each.perms & Permissions.WRITE}
            for path in ("/controller_epoch", "/migration")
        }
        session.close()
        note("writers", closed=closed, **{path[1:]: sorted(schemes) for path, schemes in writers.items()})
        assert "world" not in writers["/controller_epoch"]
        assert ("world" in writers["/migration"]) is not closed
    finally:
        for server in servers:
            server.kill()


@pytest.mark.full
async def test_dual_write_and_back_with_a_secret(guarded: Guarded, asking: Asking, tmp_path: Path) -> None:
    """Over SASL and TLS the metadata is copied and kept up to date, and the operator's write gives ZooKeeper back."""
    port, listener = free_port(), free_port()
    same = {"listeners": f"PLAINTEXT://{HOST}:{port}", "log_dirs": str(guarded.home / "data-of-the-broker")}
    first = guarded.broker(tmp_path / "broker", zookeeper_set_acl="true", **same)
    servers = [first]
    try:
        before = await asking.until("a broker leads", lambda seen: leads(seen) == "a broker")
        active = controller(guarded, tmp_path / "controller", listener, before.cluster_id, zookeeper_set_acl="true")
        servers.append(active)
        await asking.until("/migration exists", lambda seen: seen.migration is not None)
        first.kill()
        await asking.until("the end of its session", lambda seen: not seen.registered)
        servers.append(
            guarded.broker(
                tmp_path / "broker-migrates",
                **same,
                zookeeper_set_acl="true",
                zookeeper_metadata_migration_enable="true",
                controller_quorum_voters=f"3000@{HOST}:{listener}",
                controller_listener_names="CONTROLLER",
                listener_security_protocol_map=PROTOCOLS,
                inter_broker_listener_name="PLAINTEXT",
            )
        )
        dual = await asking.until(
            "dual write", lambda seen: leads(seen) == "KRaft" and seen.migration is not None and seen.migration.copied
        )
        assert dual.denied == ()
        active.kill()
        last = await asking.until("a look after its last write", lambda seen: leads(seen) == "KRaft")
        saved = await asking.keepers.give_back(guarded.access, asking.secret, to_give_back(last))
        assert '"brokerid":3000' in saved.controller
        after = await asking.until("a broker leads again", lambda seen: leads(seen) == "a broker")
        assert after.migration is None
        for name in ("broker", "broker-migrates", "controller"):
            assert PASSWORD not in (tmp_path / name).read_text(errors="replace")
    finally:
        for server in servers:
            server.kill()
